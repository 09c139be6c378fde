"""The commands on a folder of Parquet: the same words, all rows, files whole or not at all."""

import json

import pandas as pd
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

from selective_labels import evaluate
from selective_labels.assumptions import Instrument, Prevalence
from selective_labels.cli.app import app
from selective_labels.io.table_roles import MANY_ROWS, partitions_of
from tests.evaluation.partitioned.tables import FEATURES, from_folder, make_table, write

ROLES = ["--label", "failed", "--decision", "released", "--decision-maker", "judge", "--features", "x_*"]
QUICK = ["--nuisance", "logistic", "--format", "json"]


@pytest.fixture
def folder(tmp_path):
    target = tmp_path / "cases"
    target.mkdir()
    return write(make_table(900), target)


def run(*arguments):
    found = CliRunner().invoke(app, [str(each) for each in arguments])
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


@pytest.mark.parametrize("glob", [False, True])
def test_evaluate(folder, glob):
    source = f"{folder}/*.parquet" if glob else folder
    metrics = ["--metric", "accuracy", "--metric", "auc"]
    asked = ["--predictions", "guess", *metrics, "--by", "region", "--fit-rows", 500]
    found = run("evaluate", source, *ROLES, *QUICK, *asked)
    assert found["data"]["n_cases"] == 900
    assert {each["n_fitted"] for each in found["evaluations"]} == {500}
    assert len(found["gaps"]) == 2


def test_scores_are_kept_and_found_again(folder, tmp_path):
    asked = ["evaluate", folder, *ROLES, *QUICK, "--predictions", "guess", "--seed", 1]
    kept = ["--keep-scores", tmp_path / "scores"]
    first = run(*asked, *kept)["evaluations"][0]
    times = {each: each.stat().st_mtime_ns for each in (tmp_path / "scores").iterdir()}
    accuracy, tpr = run(*asked, *kept, "--metric", "accuracy", "--metric", "tpr")["evaluations"]
    assert accuracy == first
    assert tpr["metric"] == "tpr"
    assert times == {each: each.stat().st_mtime_ns for each in (tmp_path / "scores").iterdir()}


def test_compare_check_and_fit_and_predict_that_resumes(folder, tmp_path):
    found = run("compare", folder, *ROLES, *QUICK, "--a", "guess", "--b", "other")
    assert found["comparison"]["n"] == 900
    found = run("check", folder, *ROLES, *QUICK, "--fit-rows", 600)
    assert found["data"]["n_cases"] == 900
    model, out = tmp_path / "model.skops", tmp_path / "predicted"
    fitting = ["--estimator", "linear", "--fit-rows", 600, "--model", model]
    assert run("fit", folder, *ROLES, *QUICK, *fitting)["data"]["n_cases"] == 900
    found = run("evaluate", folder, *ROLES, *QUICK, "--model", model, "--metric", "auc")
    assert found["evaluations"][0]["n"] == 900
    wanted = run("predict", model, folder, "--out", out, "--keep", "person", "--format", "json")
    assert wanted["n_rows"] == 900
    names = sorted(each.name for each in out.iterdir())
    assert names == [f"part-{number:02}.parquet" for number in range(3)]
    whole = pd.concat([pd.read_parquet(out / name) for name in names])
    assert whole["person"].tolist() == make_table(900)["person"].tolist()
    before = (out / names[0]).stat().st_mtime_ns
    (out / names[1]).unlink()
    assert run("predict", model, folder, "--out", out, "--keep", "person", "--format", "json") == wanted
    assert (out / names[0]).stat().st_mtime_ns == before
    assert (out / names[1]).exists()


def test_report_says_that_it_is_of_a_sample(folder, tmp_path):
    out = tmp_path / "report.html"
    asked = ["--predictions", "guess", "--fit-rows", 400, "--metric", "accuracy", "--out", out]
    run("report", folder, *ROLES, *QUICK, *asked)
    assert "400 of its 900 cases, drawn by hash" in out.read_text()


def test_what_is_read_in_parts(folder, tmp_path, monkeypatch):
    assert partitions_of(str(folder)).n_rows == 900
    assert partitions_of(str(folder / "part-00.parquet")) is None
    assert MANY_ROWS > 900
    monkeypatch.setattr("selective_labels.io.table_roles.MANY_ROWS", 200)
    assert partitions_of(str(folder / "part-00.parquet")).n_rows == 300
    for other in ("more.csv", "more.tsv.gz"):  # a table that would be left out
        (folder / other).write_text("a\n1\n")
        assert partitions_of(str(folder)) is None
        (folder / other).unlink()


def test_a_mistake_is_one_sentence(folder):
    make_table(50).drop(columns="x_2").to_parquet(folder / "part-03.parquet")
    found = CliRunner().invoke(app, ["check", str(folder), *ROLES])
    assert found.exit_code == 1
    assert "part-03.parquet has no column 'x_2'" in " ".join(found.output.split())


def test_policies_ladder_and_drift_use_all_rows(folder):
    asked = [*ROLES, *QUICK, "--predictions"]
    found = run("policy", folder, *asked, "score", "--cost", "[[0,1],[5,0]]", "--rates", "0.3,0.6")
    assert found["data"]["n_cases"] == 900
    assert [each["rate"] for each in found["policies"]] == [0.3, 0.6]
    assert "900 cases" in " ".join(found["sentences"])
    assumed = ["--assume", "informed:0.0", "--assume", "prevalence:1.0=0.2..0.6"]
    found = run("ladder", folder, *asked, "guess", *assumed)
    assert len(found["rungs"]) == 4
    found = run("drift", folder, *asked, "guess", "--period", "region")
    assert sum(each["n"] for each in found["periods"]) == 900


@pytest.mark.filterwarnings("ignore:two ways to use the known share")
def test_known_shares_of_groups(folder):
    asked = ["evaluate", folder, *ROLES, *QUICK, "--predictions", "guess"]
    found = run(*asked, "--assume", "prevalence:1.0,by=region,a=0.3..0.45,b=0.4")["evaluations"][0]
    stated = Instrument() & Prevalence(1.0, (("a", (0.3, 0.45)), ("b", 0.4)), by="region")
    lazy = from_folder(folder, features=FEATURES[:4])
    wanted = evaluate("guess", lazy, assumption=stated, nuisance="logistic", random_state=0)
    for name in ("lower", "upper", "ci_lower", "ci_upper"):
        assert_allclose(found[name], getattr(wanted, name), rtol=1e-8)
    # A number that is written as text on the command line.
    found = run(*asked, "--assume", "prevalence:1.0,by=judge,3=0.4")["evaluations"][0]
    assert found["assumption"] == "instrument & prevalence(1.0 by judge, 3: 0.4)"
    assert found["lower"] < found["upper"]


def test_accepted_cases_and_the_human_on_all_rows(folder):
    asked = [*ROLES, *QUICK]
    found = run(
        "evaluate", folder, *asked, "--predictions", "score", "--metric", "failures", "--acceptance", 0.4
    )
    assert found["evaluations"][0]["n"] == 900
    found = run("compare", folder, *asked, "--a", "score", "--b", "human", "--with-human", "both")
    assert found["comparison"]["metric"] == "failures"
    assert found["comparison"]["n"] == 900
    found = run("evaluate", folder, *asked, "--predictions", "human", "--metric", "tpr")
    assert found["evaluations"][0]["n"] == 900
    for wrong, words in (
        (["evaluate", "--predictions", "score", "--threshold", "0.5"], "need rows in memory"),
        (["compare", "--a", "score", "--b", "human", "--with-human", "undecided"], "give both or either"),
    ):
        command, *options = wrong
        failed = CliRunner().invoke(app, [command, str(folder), *asked, *options])
        assert failed.exit_code == 1
        assert words in " ".join(failed.output.split())
