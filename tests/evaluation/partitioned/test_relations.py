"""Tables of engines say what the same table in Parquet says, in whatever order their rows come."""

import sqlite3
import warnings
from contextlib import closing
from functools import cache

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import selective_labels as sl
from selective_labels import InputError, SelectiveLabels
from selective_labels._errors import WorkerError
from selective_labels.data import relations
from selective_labels.data.row_hash import SAMPLE, SPLIT, HashRange, hash_folds, row_hash, row_keys
from selective_labels.nuisance.learning_curve import draw_rows
from tests.evaluation.partitioned.tables import (
    FEATURES,
    NAMED,
    QUESTIONS,
    QUICK,
    ROLES,
    assert_same_answers,
    from_folder,
    make_table,
    numbers,
    write,
)

duckdb = pytest.importorskip("duckdb", reason="optional: duckdb")

N_ROWS = 1500
# Ids at both ends of what a column holds; words of one, two, three and four bytes a letter.
IDS = [0, 1, -1, 7, 10**15, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63)]
WORDS = ["", "a", "A", "loan 7", "ä", "Ωmega", "日本", "🙂", "it's", 'a "b"']


def cases():
    frame = make_table(N_ROWS)
    frame["case"] = np.arange(N_ROWS) * 3 - 100
    frame["name"] = [f"Fall {number:04}" for number in range(N_ROWS)]
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(N_ROWS) % 400, unit="D")
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(cases(), tmp_path_factory.mktemp("cases"))


@pytest.fixture
def connection():
    with duckdb.connect() as found:
        frame = cases().sample(frac=1.0, random_state=1)
        found.register("shown", frame)
        found.execute("CREATE TABLE cases AS SELECT * FROM shown")
        yield found


def of_duckdb(connection):
    return connection.table("cases")


def of_ibis(connection):
    ibis = pytest.importorskip("ibis", reason="optional: ibis")
    return ibis.duckdb.from_connection(connection).table("cases")


def of_polars(connection):
    polars = pytest.importorskip("polars", reason="optional: polars")
    return polars.LazyFrame(connection.table("cases").to_arrow_table())


def of_narwhals(connection):
    return nw.from_native(connection.table("cases"))


ENGINES = {"duckdb": of_duckdb, "ibis": of_ibis, "polars": of_polars, "narwhals": of_narwhals}


@pytest.fixture(params=ENGINES)
def relation(request, connection):
    # Ibis asks pandas and DuckDB in ways that newer versions of them deprecate.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="ibis")
        yield ENGINES[request.param](connection)


def lazy(relation, *roles, **others):
    given = {role: ROLES[role] for role in roles}
    named = NAMED | {"features": FEATURES, "case_id": "case", "fit_rows": 700} | given | others
    return SelectiveLabels.from_relation(relation, **named)


def agree(found, wanted):
    found, wanted = (
        [each] if isinstance(each, sl.Evaluation | sl.Comparison) else each for each in (found, wanted)
    )
    for one, other in zip(found, wanted, strict=True):
        assert_allclose(numbers(one), numbers(other), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("key", ["case", "name"])
def test_the_hash_of_an_engine_is_that_of_numpy(relation, key):
    source = relations.RelationSource.of(relation, None, key)
    found = source._key()
    if found is None:  # Polars has no MD5: rows are filtered here
        assert (source.engine, key) == ("polars", "name")
        return
    rows, expression = found
    asked = rows.select(
        nw.col(key), hash=row_hash(expression, SAMPLE, 7), fold=hash_folds(expression, 5, 3)
    ).collect("pyarrow")
    there = asked.to_native().to_pandas()
    keys = row_keys(there[key])
    assert len(there) == N_ROWS
    assert_array_equal(there["hash"], row_hash(keys, SAMPLE, 7))
    assert_array_equal(there["fold"], hash_folds(keys, 5, 3))
    part = HashRange(SPLIT, 1, 0.2, 0.7)
    kept = source._subset(found, [part]).select(key).collect("pyarrow").to_native().to_pandas()[key]
    assert set(kept) == set(there[key][part.holds(keys)])


@pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("values", [IDS, WORDS], ids=["numbers", "texts"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ibis", "ignore::Warning:ibis")
def test_every_id_has_the_same_hash(make, values):
    with duckdb.connect() as connection:
        frame = pd.DataFrame({"case": values})
        connection.register("shown", frame)
        connection.execute("CREATE TABLE cases AS SELECT * FROM shown")
        source = relations.RelationSource.of(make(connection), None, "case")
        if (key := source._key()) is None:
            assert source.engine == "polars"
            return
        there = key[0].select(nw.col("case"), hash=row_hash(key[1], SAMPLE, 2**32 - 1)).collect("pyarrow")
        found = dict(there.to_native().to_pandas().itertuples(index=False))
    assert found == dict(zip(values, row_hash(row_keys(values), SAMPLE, 2**32 - 1).tolist(), strict=True))


def test_evaluate_says_what_parquet_says(relation, folder):
    how = {"metric": ["accuracy", "tpr", "auc", "ppv"], "by": "region", "assumption": ["instrument", "none"]}
    wanted = sl.evaluate("guess", from_folder(folder, case_id="case", fit_rows=700), **how, **QUICK)
    agree(sl.evaluate("guess", lazy(relation), **how, **QUICK), wanted)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:ibis", "ignore::Warning:ibis")
def test_a_database_whose_arithmetic_differs_is_not_trusted_with_the_hash(folder, tmp_path):
    ibis = pytest.importorskip("ibis", reason="optional: ibis")
    frame = cases().assign(day=lambda each: each["day"].astype(str))
    with closing(sqlite3.connect(tmp_path / "cases.db")) as connection:
        frame.to_sql("cases", connection, index=False)
    relation = ibis.sqlite.connect(tmp_path / "cases.db").table("cases")
    source = relations.RelationSource.of(relation, None, "case")
    assert source._key_of_engine is not None
    assert source._key() is None
    how = {"metric": ["accuracy", "auc"], "by": "region"}
    wanted = from_folder(folder, "sample_weight", case_id="case", fit_rows=700).split(0.6)[0]
    found = lazy(relation, "sample_weight").split(0.6)[0]
    agree(sl.evaluate("guess", found, **how, **QUICK), sl.evaluate("guess", wanted, **how, **QUICK))


def test_ids_that_are_texts(relation, folder):
    wanted = sl.evaluate("guess", from_folder(folder, case_id="name", fit_rows=700).split(0.4)[0], **QUICK)
    found = sl.evaluate("guess", lazy(relation, case_id="name").split(0.4)[0], **QUICK)
    agree(found, wanted)


@pytest.mark.parametrize("roles", [("sample_weight", "strata"), ("groups",), ("groups", "sample_weight")])
def test_every_role(connection, folder, roles):
    how = {"metric": ["accuracy", "tpr"], "cluster": "groups" if "groups" in roles else None}
    wanted = sl.evaluate("guess", from_folder(folder, *roles, fit_rows=700, case_id="case"), **how, **QUICK)
    agree(sl.evaluate("guess", lazy(connection.table("cases"), *roles), **how, **QUICK), wanted)


@pytest.fixture(scope="module")
def answers(folder):
    """Answers of the Parquet files, each asked for once."""
    wanted = from_folder(folder, case_id="case", fit_rows=700)
    return cache(lambda question: QUESTIONS[question](wanted))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:ibis", "ignore::Warning:ibis", "ignore:two ways to use the known share"
)
def test_every_question(connection, answers, engine, question):
    """Rows that come in another order."""
    found = lazy(ENGINES[engine](connection))
    assert_same_answers(QUESTIONS[question](found), answers(question))


def test_halves_are_those_of_parquet(connection, folder):
    found, wanted = lazy(connection.table("cases")), from_folder(folder, case_id="case", fit_rows=700)
    assert len(found) == len(wanted) == N_ROWS
    assert len(found.split(0.3, random_state=2)[1]) == len(wanted.split(0.3, random_state=2)[1])


@pytest.mark.parametrize("n_rows", [100, 333])
def test_chunks_of_any_length_in_any_number_of_processes(connection, monkeypatch, n_rows):
    whole = sl.evaluate("guess", lazy(connection.table("cases")), **QUICK)
    monkeypatch.setattr(relations, "ROWS_AT_ONCE", n_rows)
    monkeypatch.setattr(relations, "FEW_ROWS", 0)
    agree(sl.evaluate("guess", lazy(connection.table("cases"), n_jobs=2), **QUICK), whole)


def test_a_rare_class_is_drawn_more_often_by_the_engine(connection, tmp_path):
    frame = cases()
    frame.loc[np.flatnonzero(frame["released"])[:40], "failed"] = 2.0
    connection.register("rare", frame)
    tables = (
        lazy(connection.table("rare"), fit_rows=300),
        from_folder(write(frame, tmp_path), case_id="case", fit_rows=300),
    )
    found, wanted = (draw_rows(each, 0).frame for each in tables)
    assert (found["failed"] == 2.0).sum() > 12  # chance alone would give 8
    assert found["case"].tolist() == wanted["case"].tolist()


def test_only_the_drawn_rows_leave_the_engine(connection, monkeypatch):
    seen = []
    frames = relations.frames_of
    monkeypatch.setattr(
        relations, "frames_of", lambda *given: (seen.append(len(each)) or each for each in frames(*given))
    )
    data = lazy(connection.table("cases"))
    assert len(data.survey().decision_makers) == 6
    assert seen == []
    assert len(data.sample_frame(50)) == 50
    assert sum(seen) < 100


def test_a_query_or_the_name_of_a_table(connection):
    for sql in ("cases", "SELECT * FROM cases WHERE court = 'north'"):
        named = NAMED | {"features": FEATURES, "case_id": "case"}
        data = SelectiveLabels.from_relation(connection, sql=sql, **named)
        assert len(data) == connection.sql(f"SELECT 1 FROM ({'FROM ' * (sql == 'cases')}{sql})").shape[0]
        assert "a relation of duckdb" in repr(data)
    with pytest.raises(InputError, match=r"sql: the engine refuses 'SELECT 1 FROM nothing': .*nothing"):
        SelectiveLabels.from_relation(connection, sql="SELECT 1 FROM nothing", **named)
    with pytest.raises(InputError, match="sql: list is no connection"):
        SelectiveLabels.from_relation([], sql="cases", **named)


def test_decimals_are_numbers(connection, folder):
    asked = 'SELECT * REPLACE (x_1::DECIMAL(18, 9) AS x_1, "case"::DECIMAL(18, 0) AS "case") FROM cases'
    drawn = lazy(connection.sql(asked)).sample_frame(200)
    assert drawn["x_1"].dtype == float
    assert drawn["case"].tolist() == lazy(connection.table("cases")).sample_frame(200)["case"].tolist()


def test_what_cannot_be_streamed_is_refused_in_a_sentence(connection):
    frame = cases()
    with pytest.raises(InputError, match=r"a DataFrame is in memory; SelectiveLabels\.from_frame takes it"):
        lazy(frame)
    with pytest.raises(InputError, match="relation: dict is no lazy table; give a DuckDB relation"):
        lazy({})
    with pytest.raises(InputError, match="case_id is missing: rows of a relation have no numbers"):
        lazy(connection.table("cases"), case_id=None)
    with pytest.raises(InputError, match="keep_scores: scores of a relation cannot be found again"):
        sl.evaluate("guess", lazy(connection.table("cases"), keep_scores="scores"), **QUICK)
    with pytest.raises(InputError, match="case_id='cas' is not a column of the table; there are"):
        lazy(connection.table("cases"), case_id="cas")
    model = sl.UCLClassifier(estimator="plug-in", **QUICK_MODEL).fit(lazy(connection.table("cases")))
    with pytest.raises(InputError, match="rows of a relation have no order"):
        model.predict(lazy(connection.table("cases")))


QUICK_MODEL = {"nuisance": "logistic", "random_state": 0}


@pytest.mark.parametrize(
    ("column", "value", "roles", "message"),
    [
        ("case", None, (), "case_id is missing in 1 rows: give every case an id"),
        ("person", None, ("groups",), "groups is missing in 1 rows: give every case an id"),
        ("weight", -1.0, ("sample_weight",), "sample_weight is negative or not a number in 1 rows"),
        ("weight", None, ("sample_weight",), "sample_weight is negative or not a number in 1 rows"),
        (
            "weight",
            np.inf,
            ("sample_weight",),
            "sample_weight is negative or not a number in 1 rows",
        ),
        ("judge", None, (), "decision_maker is missing"),
    ],
)
def test_rows_that_cannot_be_used_are_counted_by_the_engine(connection, column, value, roles, message):
    frame = cases().astype({column: object})
    frame.loc[17, column] = value
    connection.register("broken", frame)
    with pytest.raises(InputError, match=message):
        len(lazy(connection.table("broken"), *roles).classes)


def test_a_query_that_changes_between_passes_is_told(connection):
    data = lazy(connection.sql("SELECT * FROM cases USING SAMPLE 50 PERCENT (bernoulli)"))
    with pytest.raises(InputError, match="relation: its rows have changed since the first look at it"):
        sl.evaluate("guess", data, **QUICK)
    data = lazy(connection.table("cases"))
    assert len(data.classes) == 2
    connection.execute('UPDATE cases SET "case" = -7 WHERE "case" = 200')  # as many rows, another case
    with pytest.raises(InputError, match="1,500 rows then, 1,500 now, or other cases"):
        sl.evaluate("guess", data, **QUICK)


GONE = {
    "the table": (lambda connection: connection.execute("DROP TABLE cases"), "cases"),
    "a feature": (lambda connection: connection.execute("ALTER TABLE cases RENAME x_2 TO gone"), "x_2"),
    "a role": (
        lambda connection: connection.execute("ALTER TABLE cases RENAME judge TO who"),
        "judge|columns were not found",
    ),
    "the connection": (lambda connection: connection.close(), "closed"),
}


@pytest.mark.parametrize("what", GONE)
@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.parametrize("looked", ["never", "counted", "evaluated"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ibis", "ignore::Warning:ibis")
def test_what_is_gone_between_two_looks_is_told_in_a_sentence(connection, engine, what, looked):
    data = lazy(ENGINES[engine](connection))
    if looked == "counted":
        assert len(data.classes) == 2
    elif looked == "evaluated":
        sl.evaluate("guess", data, **QUICK)
    remove, named = GONE[what]
    remove(connection)
    with pytest.raises(WorkerError, match=rf"^The engine \({engine}\) failed .*({named})") as told:
        sl.evaluate("guess", data, **QUICK)
    assert "\n" not in str(told.value)


class Interrupter:
    """Ends the query of its connection in the middle of a pass, as an administrator or a timeout does."""

    classes_ = np.array([0.0, 1.0])

    def __init__(self, connection, rows):
        self.connection, self.rows = connection, rows

    def predict(self, X):
        self.rows -= len(X)
        if self.rows < 0:
            self.connection.interrupt()
        return np.where(X["x_1"] > 0, 0.0, 1.0)


def test_a_query_that_is_ended_in_the_middle_is_told_in_a_sentence(monkeypatch):
    monkeypatch.setattr(relations, "ROWS_AT_ONCE", 2048)
    connection = duckdb.connect()
    frame = pd.concat([cases()] * 20, ignore_index=True).assign(case=np.arange(20 * N_ROWS))
    connection.register("shown", frame)
    connection.execute("CREATE TABLE cases AS SELECT * FROM shown")
    data = lazy(connection.table("cases"))
    with pytest.raises(
        WorkerError,
        match=r"The engine \(duckdb\) failed .* nothing was written\. See that .* repeat the call\.$",
    ):
        sl.evaluate(Interrupter(connection, 5000), data, **QUICK)


@pytest.mark.parametrize("engine", ["duckdb", "ibis"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ibis", "ignore::Warning:ibis")
def test_predictions_become_a_table_of_the_engine(connection, engine):
    data = lazy(ENGINES[engine](connection))
    model = sl.UCLClassifier("point", "plug-in", **QUICK_MODEL).fit(data)
    assert data.write_predictions(model, "scored", keep=["court"]) == N_ROWS
    found = connection.sql('FROM scored ORDER BY "case"').df()
    frame = cases()
    assert found["case"].tolist() == frame["case"].tolist()
    assert found["court"].tolist() == frame["court"].tolist()
    assert_array_equal(found["prediction"], model.predict(frame[FEATURES]))
    assert_allclose(
        found["upper_1.0"], model.predict_bounds(frame[FEATURES], confidence_level=0.9).upper[:, 1]
    )
    assert_allclose(found["probability_0.0"], model.predict_proba(frame[FEATURES])[:, 0])
    assert_array_equal(found["decided"], model.decided(frame[FEATURES]))
    half = data.split(0.5)[1]
    assert half.write_predictions(model, "half") == len(half) < N_ROWS
    with pytest.raises(InputError, match=r"table: 'scored' was not written: .*already exists"):
        data.write_predictions(model, "scored")


def test_a_table_of_predictions_appears_whole_or_not_at_all(connection, folder, monkeypatch):
    monkeypatch.setattr(relations, "ROWS_AT_ONCE", 100)
    data = lazy(connection.table("cases"))
    for model, kind in ((Interrupter(connection, 500), WorkerError), (Failing(), ValueError)):
        with pytest.raises(kind):
            data.write_predictions(model, "scored")
        assert connection.sql("SHOW TABLES").fetchall() == [("cases",), ("shown",)]
    with pytest.raises(InputError, match="this table is no relation of an engine"):
        from_folder(folder).write_predictions(Failing(), "scored")


class Failing:
    classes_ = np.array([0.0, 1.0])

    def predict(self, X):
        raise ValueError("no prediction")
