"""The commands on tables that stay in their database: the same numbers as from Parquet."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

from selective_labels.cli.app import app
from selective_labels.io.engine_tables import IBIS_NAMES, relation_at
from tests.evaluation.partitioned.tables import make_table, write

duckdb = pytest.importorskip("duckdb", reason="optional: duckdb")

ROLES = ["--label", "failed", "--decision", "released", "--decision-maker", "judge", "--features", "x_*"]
CASE = ["--case-id", "case"]
QUICK = ["--nuisance", "logistic", "--format", "json"]
N_ROWS = 900


@pytest.fixture
def places(tmp_path):
    """A DuckDB file with the rows in another order, and a folder of Parquet."""
    frame = make_table(N_ROWS).assign(case=np.arange(N_ROWS))
    folder = tmp_path / "cases"
    folder.mkdir()
    shuffled = frame.sample(frac=1.0, random_state=0)
    with duckdb.connect(str(tmp_path / "loans.db")) as connection:
        connection.register("shown", shuffled)
        connection.execute("CREATE TABLE cases AS SELECT * FROM shown")
    return tmp_path / "loans.db", write(frame, folder)


def run(*arguments):
    found = CliRunner().invoke(app, [str(each) for each in arguments])
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def refused(*arguments):
    found = CliRunner().invoke(app, [str(each) for each in arguments])
    assert found.exit_code == 1
    return " ".join(found.output.split())


@pytest.mark.parametrize("asked", ["cases", "SELECT * FROM cases"])
def test_evaluate_says_what_parquet_says(places, asked):
    database, folder = places
    question = ["--predictions", "guess", "--metric", "accuracy", "--metric", "tpr", *ROLES, *CASE, *QUICK]
    found = run("evaluate", f"duckdb:{database}#{asked}", *question)["evaluations"]
    wanted = run("evaluate", folder, *question)["evaluations"]
    for one, other in zip(found, wanted, strict=True):
        for name in ("lower", "upper", "ci_lower", "ci_upper"):
            assert_allclose(one[name], other[name], rtol=1e-8, atol=1e-8)


def test_a_model_is_fitted_there_and_its_predictions_are_a_table_there(places, tmp_path):
    database, _ = places
    address, model = f"duckdb:{database}#cases", tmp_path / "model.skops"
    run("fit", address, *ROLES, *CASE, *QUICK, "--model", model, "--estimator", "plug-in")
    found = run("predict", model, address, "--out", "scored", "--keep", "case", "--format", "json")
    assert found["n_rows"] == N_ROWS
    with duckdb.connect(str(database), read_only=True) as connection:
        scored = connection.sql("FROM scored").df()
    assert sorted(scored["case"]) == list(range(N_ROWS))
    assert {"prediction", "decided"} < set(scored.columns)
    assert "'scored' was not written" in refused(
        "predict", model, address, "--out", "scored", "--keep", "case"
    )
    assert "--keep is missing" in refused("predict", model, address, "--out", "more")


def test_the_memory_of_duckdb_is_limited(places):
    source = relation_at(
        f"duckdb:{places[0]}#SELECT current_setting('memory_limit') AS kept FROM cases LIMIT 1", "kept"
    )
    assert source.some_rows(1)["kept"].tolist() == ["667.5 MiB"]


def test_what_is_missing_is_named(places):
    database, folder = places
    evaluate = ["--predictions", "guess", *ROLES]
    assert "--case-id is missing" in refused("evaluate", f"duckdb:{database}#cases", *evaluate)
    assert "names no table" in refused("evaluate", f"duckdb:{database}", *evaluate, *CASE)
    assert "There is no file" in refused("evaluate", "duckdb:nothing.db#cases", *evaluate, *CASE)
    assert "the engine refuses 'nothing'" in refused(
        "evaluate", f"duckdb:{database}#nothing", *evaluate, *CASE
    )
    assert "--case-id 'number' is not a column" in refused(
        "evaluate", f"duckdb:{database}#cases", *evaluate, "--case-id", "number"
    )
    single = next(folder.glob("*.parquet"))
    assert "--case-id is for tables in partitions" in refused("evaluate", single, *evaluate, *CASE)


def test_addresses_of_sqlalchemy_are_opened_by_ibis(monkeypatch):
    ibis = pytest.importorskip("ibis", reason="optional: ibis")
    asked = []

    def connect(url):
        asked.append(url)
        raise RuntimeError("postgres://me:secret@host is away\nmore")

    monkeypatch.setattr(ibis, "connect", connect)
    address = "postgresql+psycopg://me:secret@host/loans#cases"
    said = refused("evaluate", address, "--predictions", "guess", *ROLES, *CASE)
    assert asked == [f"{IBIS_NAMES['postgresql']}://me:secret@host/loans"]
    assert "cannot be opened" in said
    assert "secret" not in said
