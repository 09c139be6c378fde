"""Spark, two local workers: they score their rows, and only sums come back."""

import os
import signal
import sys

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import selective_labels as sl
from selective_labels import InputError, SelectiveLabels
from selective_labels._errors import WorkerError
from selective_labels.data.relations import RelationSource
from selective_labels.data.row_hash import SAMPLE, hash_folds, row_hash, row_keys
from tests.evaluation.partitioned.tables import (
    FEATURES,
    NAMED,
    QUESTIONS,
    QUICK,
    assert_same_answers,
    from_folder,
    make_table,
    write,
)
from tests.evaluation.partitioned.test_relations import IDS, N_ROWS, WORDS, agree, cases

sql = pytest.importorskip("pyspark.sql", reason="elsewhere: Spark")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning:pyspark")  # of versions of pandas, not ours


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    os.environ["PYSPARK_PYTHON"] = sys.executable  # of the workers
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    # A task is tried again once, as on a cluster.
    builder = sql.SparkSession.builder.master("local[2, 2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
    del os.environ["PYSPARK_PYTHON"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(cases(), tmp_path_factory.mktemp("cases"), 2)


def lazy(spark, folder, **others):
    named = NAMED | {"features": FEATURES, "case_id": "case", "fit_rows": 500} | others
    return SelectiveLabels.from_relation(spark.read.parquet(str(folder)), **named)


def test_every_id_has_the_same_hash(spark):
    values = pd.DataFrame({"number": IDS, "word": WORDS})
    relation = spark.createDataFrame(values.to_dict("records"), "number bigint, word string")
    for key in values:
        rows, expression = RelationSource.of(relation, None, key)._key()
        asked = rows.select(
            nw.col(key), hash=row_hash(expression, SAMPLE, 7), fold=hash_folds(expression, 5, 3)
        )
        found = sorted(tuple(row) for row in asked.to_native().collect())
        keys = row_keys(values[key])
        wanted = zip(
            values[key].tolist(),
            row_hash(keys, SAMPLE, 7).tolist(),
            hash_folds(keys, 5, 3).tolist(),
            strict=True,
        )
        assert found == sorted(wanted)


def test_spark_says_what_parquet_says(spark, folder):
    how = {"metric": ["accuracy", "tpr", "auc"], "by": "region"}
    wanted = from_folder(folder, case_id="name", fit_rows=500).split(0.7, random_state=1)[1]
    found = lazy(spark, folder, case_id="name").split(0.7, random_state=1)[1]
    agree(sl.evaluate("guess", found, **how, **QUICK), sl.evaluate("guess", wanted, **how, **QUICK))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.filterwarnings("ignore:two ways to use the known share")
def test_every_question(spark, folder, question):
    ask = QUESTIONS[question]
    assert_same_answers(ask(lazy(spark, folder)), ask(from_folder(folder, case_id="case", fit_rows=500)))


def test_predictions_become_a_table_of_spark(spark, folder):
    data = lazy(spark, folder)
    model = sl.UCLClassifier(estimator="plug-in", nuisance="logistic", random_state=0).fit(data)
    assert data.write_predictions(model, "scored") == N_ROWS
    found = pd.DataFrame([row.asDict() for row in spark.table("scored").orderBy("case").collect()])
    X = make_table(N_ROWS)[FEATURES]
    assert found["prediction"].tolist() == model.predict(X).tolist()
    assert_allclose(found["lower_0.0"], model.predict_bounds(X, confidence_level=0.9).lower[:, 0])


class Killer:
    """Predicts; workers that are asked are killed, as often as it says."""

    classes_ = np.array([0.0, 1.0])

    def __init__(self, folder, times):
        self.folder, self.times, self.driver = str(folder), times, os.getpid()

    def predict(self, X):
        if os.getpid() != self.driver and len(os.listdir(self.folder)) < self.times:
            open(f"{self.folder}/{os.getpid()}", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return np.where(X["x_1"] > 0, 0.0, 1.0)


def test_a_worker_that_is_killed_changes_nothing(spark, folder, tmp_path):
    wanted = sl.evaluate("guess", from_folder(folder, case_id="case", fit_rows=500), **QUICK)
    agree(sl.evaluate(Killer(tmp_path, 1), lazy(spark, folder), **QUICK), wanted)
    assert len(os.listdir(tmp_path)) == 1


def test_workers_that_are_killed_again_and_again_are_told_in_a_sentence(spark, folder, tmp_path):
    with pytest.raises(WorkerError, match=r"^The engine \(pyspark\) failed .* repeat the call\.$") as told:
        sl.evaluate(Killer(tmp_path, 100), lazy(spark, folder), **QUICK)
    assert "\n" not in str(told.value)


class Refuser:
    """Finds something wrong with the rows on a worker."""

    classes_ = np.array([0.0, 1.0])

    def __init__(self):
        self.driver = os.getpid()

    def predict(self, X):
        if os.getpid() != self.driver:
            raise InputError("x_1 is not what it was.", "X")
        return np.where(X["x_1"] > 0, 0.0, 1.0)


def test_what_a_worker_refuses_is_told_as_it_is(spark, folder):
    with pytest.raises(InputError, match=r"^x_1 is not what it was\.$"):
        sl.evaluate(Refuser(), lazy(spark, folder), **QUICK)
