"""Results about people speak the words of the table."""

import numpy as np

import selective_labels as sl
from tests.decider_designs import Bench


def test_printed_results_speak_the_domain():
    X, maker, decision, label = Bench.draw(6, np.random.default_rng(0)).cases(600, np.random.default_rng(1))
    seen = np.where(decision == 1, label, -1)
    data = sl.SelectiveLabels.from_arrays(
        X, seen, decision=decision, decision_maker=maker, vocabulary="lending"
    )
    evaluator = sl.Evaluator(data, nuisance="logistic", propensity="shares", random_state=0)
    said = str(evaluator.deciders())
    assert "approved (expected)" in said
    assert "With 6 loan officers the spread" in said
    gaps = str(evaluator.disparity(np.where(X[:, 1] > 0, "a", "b")))
    assert "P(approved)" in gaps
    assert "applications" in gaps
