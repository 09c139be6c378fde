"""The pass is a plain function of a frame: other engines map it, as docs/large.md shows."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from selective_labels import evaluate
from selective_labels.evaluation.evaluate import evaluate_judged
from selective_labels.evaluation.partitioned.question import partition_pass
from tests.evaluation.partitioned.tables import from_folder, make_table, numbers, write

HOW = {"metric": ["accuracy", "tpr"], "nuisance": "logistic", "propensity": "shares", "random_state": 0}


@pytest.fixture
def folder(tmp_path):
    return write(make_table(900).assign(case=np.arange(900)), tmp_path)


def agree(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert_allclose(numbers(one), numbers(other), rtol=1e-8, atol=1e-8)


def test_a_loop_over_frames_in_any_order(folder):
    data = from_folder(folder, case_id="case", fit_rows=600)
    question = partition_pass("guess", data, **HOW)
    step = pickle.loads(pickle.dumps(question.function))
    frame = pd.concat([pd.read_parquet(path, columns=question.columns) for path in folder.iterdir()])
    shuffled = frame.sample(frac=1.0, random_state=0)
    parts = [step(shuffled.iloc[start : start + 250]) for start in range(0, 900, 250)]
    agree(evaluate_judged(question.subjects(*parts)), evaluate("guess", data, **HOW))


def test_duckdb(folder):
    duckdb = pytest.importorskip("duckdb", reason="optional: duckdb")
    data = from_folder(folder, case_id="case")
    question = partition_pass("guess", data, **HOW)
    columns = ", ".join(f'"{name}"' for name in question.columns)
    reader = duckdb.sql(f"SELECT {columns} FROM '{folder}/*.parquet'").to_arrow_reader(200)
    parts = [question.function(batch.to_pandas()) for batch in reader]
    agree(evaluate_judged(question.subjects(*parts)), evaluate("guess", data, **HOW))


@pytest.mark.filterwarnings("ignore::FutureWarning:pyspark")  # of versions of pandas, not ours
def test_spark(folder, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)  # of the workers
    sql = pytest.importorskip("pyspark.sql", reason="elsewhere: Spark")
    data = from_folder(folder, case_id="case")
    question = partition_pass("guess", data, **HOW)

    def step(frames):
        for frame in frames:
            yield pd.DataFrame({"sums": [pickle.dumps(question.function(frame))]})

    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = spark.read.parquet(str(folder)).select(question.columns)
        rows = frame.mapInPandas(step, "sums binary").collect()
    finally:
        spark.stop()
    parts = [pickle.loads(row.sums) for row in rows]
    agree(evaluate_judged(question.subjects(*parts)), evaluate("guess", data, **HOW))
