"""Bounds of rows from cross-fitted probabilities: which models speak, with how much noise, in which range."""

from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels import Bounds, SelectiveLabels
from selective_labels.datasets import make_decision_makers
from selective_labels.diagnostics.context import identified_bounds
from selective_labels.identification.bounds import (
    jackknife_noise,
    raw_bounds,
    repair,
    shrink_across_decision_makers,
)
from selective_labels.nuisance.cross_fit import cross_fit

SAMPLE = make_decision_makers(400, n_decision_makers=4, random_state=0)
DATA = SelectiveLabels.from_arrays(SAMPLE.X, SAMPLE.y, decision_maker=SAMPLE.decision_maker)
FIT = cross_fit(DATA, "logistic", cv=3, random_state=0)


def bounds_by_hand(joint, noise, label_range=(0.0, 1.0)):
    raw = raw_bounds(shrink_across_decision_makers(joint, noise), *label_range)
    return repair(raw, *label_range)[0]


def assert_equal(found: Bounds, expected: Bounds) -> None:
    assert_allclose(found.lower, expected.lower, atol=1e-12)
    assert_allclose(found.upper, expected.upper, atol=1e-12)


def test_new_rows_get_the_mean_of_all_models_and_the_noise_of_their_disagreement():
    X = SAMPLE.X[:50] + 0.1
    by_fold = np.stack([fold.joint(X) for fold in FIT.folds])
    expected = bounds_by_hand(by_fold.mean(axis=0), jackknife_noise(by_fold))
    assert_equal(identified_bounds(FIT, X, 3)[0], expected)


def test_training_rows_get_the_model_that_has_not_seen_them_and_the_mean_noise():
    noise = jackknife_noise(np.stack([fold.joint(SAMPLE.X) for fold in FIT.folds])).mean()
    found, _ = identified_bounds(FIT, SAMPLE.X, 3, held_out=True)
    for row in range(0, 400, 41):
        joint = FIT.folds[FIT.held_out[row]].joint(SAMPLE.X[[row]])
        expected = bounds_by_hand(joint, np.array([noise]))
        assert_allclose(found.lower[row], expected.lower[0], atol=1e-12)
        assert_allclose(found.upper[row], expected.upper[0], atol=1e-12)


RANGES = {
    "numbers": ((0.05, 0.8), lambda rows: (0.05, 0.8)),
    "arrays": (([0.0, 0.1, 0.2], [0.9, 0.5, 0.6]), lambda rows: ([0.0, 0.1, 0.2], [0.9, 0.5, 0.6])),
    "callables": (
        (0.0, lambda X: np.linspace(0.4, 1.0, len(X))[:, None] * np.ones(3)),
        lambda rows: (0.0, np.linspace(0.4, 1.0, 400)[rows, None]),
    ),
}


@pytest.mark.parametrize("name", RANGES)
def test_a_label_range_goes_to_its_rows_whatever_the_chunks(name, monkeypatch):
    given, of_rows = RANGES[name]
    # Small chunks, so that rows have to find their own range.
    monkeypatch.setattr(import_module("selective_labels.nuisance.cross_fit"), "CHUNK_NUMBERS", 1)
    fit = cross_fit(DATA, SAMPLE.oracle.joint)
    joint = np.moveaxis(SAMPLE.oracle.joint(SAMPLE.X), 1, 0)
    expected = bounds_by_hand(joint, np.zeros(400), of_rows(np.arange(400)))
    for held_out in (False, True):
        assert_equal(identified_bounds(fit, SAMPLE.X, 3, given, held_out=held_out)[0], expected)


def test_rows_that_crossed_are_told():
    def contradicting(X):
        """The two decision-makers of even rows leave no common probabilities."""
        good, bad = [[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]], [[0.1, 0.9, 0.0], [0.1, 0.0, 0.9]]
        return np.array([bad if x == 0 else good for x in X[:, 0]])

    X = np.arange(20)[:, None] % 2
    data = SelectiveLabels.from_arrays(X, np.arange(20) % 3 - 1, decision_maker=np.arange(20) % 4 // 2)
    bounds, crossed = identified_bounds(cross_fit(data, contradicting), X, 2)
    assert_array_equal(crossed, X[:, 0] == 0)
    assert_allclose(bounds.lower[0], 0.5)  # mended
