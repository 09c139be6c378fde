"""The pass is a plain function of a frame, and what it returns may be added in any order."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from selective_labels import evaluate
from selective_labels.evaluation.evaluate import evaluate_judged
from selective_labels.evaluation.partitioned.fitted_partitions import partition_pass
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
