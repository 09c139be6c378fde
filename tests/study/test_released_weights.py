"""The released weights, against what their formulas give by hand."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from study.published import weights
from study.published.splits import BEST, MEAN, over_splits
from study.task_memory import TaskMemory

RNG = np.random.default_rng(0)
N_ROWS = 200


class Answers:
    """Models that give what they are told, one answer after the other."""

    def __init__(self, *answers):
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


def test_noise_multiplies_all_that_a_model_says(rows, priors):
    memory = TaskMemory()
    at = [rows.X[:2], rows.X[2:4]]
    clean, noisy = (
        weights.Models(level, (1, 2), memory).means(rows.X, rows.decision, at) for level in (0.0, 3.0)
    )
    assert len(np.unique((noisy / clean).round(12))) == 1, "one factor for a model"
    assert not np.allclose(noisy, clean)
    assert len(priors) == 1, "one fit for all levels"


def test_a_task_reports_the_best_and_the_mean_of_its_splits():
    found = over_splits([0.5, 0.7], lambda split: {("full", "network"): split}, {"labeled_share": 0.4})
    assert {row["setting"]: row["accuracy"] for row in found} == pytest.approx({BEST: 0.7, MEAN: 0.6})
    assert all(row["labeled_share"] == 0.4 for row in found)
