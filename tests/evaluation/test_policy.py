"""What a yes means: scores that run the wrong way, and people who accept what a score calls risky."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

import selective_labels as sl
from selective_labels.evaluation.policy import area_under, people_act_otherwise, warn_if_reversed

COST = [[0, 1], [20, 0]]
QUICK = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}


def drawn(n=600, direction=1.0, seed=0):
    """Cases with a risk score; people say yes to those with high scores (or low, if direction is -1)."""
    generator = np.random.default_rng(seed)
    risk = generator.standard_normal(n)
    label = (risk + generator.standard_normal(n) > 1.0).astype(int)
    maker = generator.integers(4, size=n)
    yes = direction * risk + generator.standard_normal(n) + 0.5 * maker > 0.5
    data = sl.SelectiveLabels.from_arrays(
        generator.standard_normal((n, 1)), np.where(yes, label, -1), decision_maker=maker
    )
    return risk, data


def test_area_is_scikit_learns():
    generator = np.random.default_rng(1)
    score, positive = generator.integers(5, size=80).astype(float), generator.random(80) < 0.3
    assert_allclose(area_under(score, positive)[0], roc_auc_score(positive, score))


def test_people_who_test_where_risk_is_high_are_noticed():
    risk, data = drawn()
    assert people_act_otherwise(risk, data)
    with pytest.warns(UserWarning, match=r"If a yes is a test or a search, say decision_means='inspect'"):
        warn_if_reversed(risk, data, failure=1)


def test_a_comparison_with_people_says_so():
    risk, data = drawn()
    with pytest.warns(UserWarning, match="people accepted cases with higher scores"):
        sl.compare(sl.Policy(risk), "human", data, cost=COST, **QUICK)


def test_words_turned_round_are_left_alone():
    risk, data = drawn()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_reversed(-risk, data, failure=0)


def test_lenders_are_left_alone():
    risk, data = drawn(direction=-1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_reversed(risk, data, failure=1)


def test_the_difference_to_people_holds_the_truth_once_words_are_turned_round():
    risk, data = drawn(3000)
    # The same draws give the labels that nobody saw.
    generator = np.random.default_rng(0)
    score = generator.standard_normal(3000)
    label = (score + generator.standard_normal(3000) > 1.0).astype(int)
    yes = data.row_decision == 1
    chosen = risk > np.quantile(risk, 1.0 - yes.mean())

    def cost(tests):
        return np.where(tests, label == 0, 20 * (label == 1)).mean()

    found = sl.compare(sl.Policy(-risk), "human", data, pos_label=0, cost=COST, **QUICK)
    assert found.ci_lower <= cost(chosen) - cost(yes) <= found.ci_upper
