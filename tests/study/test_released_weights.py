"""The released weights, against what their formulas give by hand."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from study.published import weights
from study.published.splits import BEST, MEAN, ReleasedSplit, over_splits
from study.task_memory import TaskMemory

RNG = np.random.default_rng(0)
N_ROWS = 200


class Answers(weights.Models):
    """Models that give what they are told, one answer after the other."""

    def __init__(self, *answers, level=0.0, random_state=0):
        super().__init__(level, random_state)
        self.answers = iter(answers)

    def means(self, X, y, at):
        return np.asarray(next(self.answers), dtype=float)[: len(at), None]


@pytest.fixture
def rows():
    return weights.Rows(
        RNG.normal(size=(N_ROWS, 2)),
        RNG.integers(3, size=N_ROWS),
        RNG.integers(2, size=N_ROWS),
        np.arange(N_ROWS) % 5,
    )


@pytest.fixture
def priors(monkeypatch):
    """Models that know nothing of the features: their expectations are means of the training rows."""
    fits = []

    def prior(**settings):
        fits.append(settings)
        return DummyClassifier(strategy="prior")

    monkeypatch.setattr(weights, "HistGradientBoostingClassifier", prior)
    return fits


def test_partial_costs_take_quantiles_for_extremes(rows):
    models = Answers(
        [0.5, 0.6, 0.7, 0.8, 0.9],  # P(D=1 | x, z)
        [0.1, 0.2, 0.3, 0.4, 0.5],  # P(D=1, Y=0 | x, z)
        [0.05] * 5,
        [0.35] * 5,
    )
    costs = weights.partial_costs(rows, rows.take(np.arange(1)), 3, models)
    # Lower: .8 of the second largest and .2 of the largest, .42, .05, .35.
    # Upper, from P(D=1, Y=k | x, z) + P(D=0 | x, z): .6, .15 + .08, .45 + .08; the largest is .6.
    np.testing.assert_allclose(costs, [[0.18, 0.55, 0.25]])


def test_two_classes_take_the_extremes_themselves(rows):
    models = Answers([0.1, 0.2, 0.3, 0.4, 0.45], [0.5, 0.6, 0.7, 0.8, 0.9])
    weight = weights.binary_partial_weight(rows, rows.take(np.arange(5)), 2, models)
    # Lower .45, upper min(.6, .6, .6, .6, .55) = .55: (.55 - .5) - (.5 - .45).
    np.testing.assert_allclose(weight[0], 0.0, atol=1e-12)


def test_without_the_instrument_there_is_one_bound(rows):
    costs = weights.partial_costs_without_instrument(
        rows, rows.take(np.arange(1)), 3, Answers([0.8], [0.5], [0.2], [0.1])
    )
    np.testing.assert_allclose(costs, [[0.2, 0.5, 0.6]])


def test_point_costs_are_ratios_of_covariances(rows, priors):
    costs = weights.point_costs(rows, rows.take(np.arange(3)), 3, weights.Models())
    seen = [rows.decision * (rows.y == label) for label in range(3)]
    eta = np.array([np.cov(each, rows.decision_maker)[0, 1] for each in seen])
    eta /= np.cov(rows.decision, rows.decision_maker)[0, 1]
    np.testing.assert_allclose(costs, np.tile(eta.max() - eta, (3, 1)), atol=1e-9)


def test_partial_noise_is_new_for_every_class_and_decision_maker(rows):
    """P(D=0 | x, z) is multiplied, not P(D=1 | x, z), and anew for every class."""
    accepted = np.array([0.5, 0.6, 0.7, 0.8, 0.9])
    labeled = np.array([[0.1, 0.2, 0.3, 0.4, 0.5], [0.05] * 5, [0.35] * 5])
    models = Answers(accepted, *labeled, level=3.0, random_state=5)
    costs = weights.partial_costs(rows, rows.take(np.arange(1)), 3, models)
    factors = 1.0 + 3.0 * np.random.default_rng(5).standard_normal((3, 2, 5))  # class, (unseen, labeled), z
    lower = factors[:, 1] * labeled
    upper = lower + factors[:, 0] * (1.0 - accepted)
    expected = np.quantile(upper, 0.2, axis=1).max() - np.quantile(lower, 0.8, axis=1)
    np.testing.assert_allclose(costs[0], np.maximum(expected, 0.0))


def test_point_noise_is_one_factor_for_each_model(rows, priors):
    clean, noisy = (
        weights.point_costs(rows, rows.take(np.arange(3)), 3, weights.Models(level, (1, 2)))
        for level in (0.0, 3.0)
    )
    assert np.ptp(noisy, axis=0).max() < 1e-12, "every row has the same noise"
    assert not np.allclose(noisy, clean)


def test_models_are_fitted_once_for_all_levels(rows, priors):
    memory = TaskMemory()
    for level in (0.0, 3.0):
        weights.Models(level, 0, memory).means(rows.X, rows.decision, [rows.X[:2]])
    assert len(priors) == 1


def test_a_task_reports_the_best_and_the_mean_of_its_splits():
    y_test = np.repeat([0, 1], [6, 4])
    splits = [ReleasedSplit(None, None, y_test, state) for state in (0, 1)]
    codes = [np.zeros(10, dtype=int), y_test]  # a constant rule, .6; all right, 1
    found = over_splits(
        splits, lambda split: {("full", "network"): codes[split.random_state]}, {"labeled_share": 0.4}
    )
    assert {row["setting"]: row["accuracy"] for row in found} == pytest.approx({BEST: 1.0, MEAN: 0.8})
    assert {row["setting"]: row["constant"] for row in found} == {BEST: 0.0, MEAN: 0.5}
    assert all(row["labeled_share"] == 0.4 for row in found)
