"""A label range makes bounds narrower, keeps them within it, and is the same everywhere it is given."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels import compare, evaluate, sensitivity_curve, threshold_curve
from selective_labels.datasets import make_decision_makers
from selective_labels.identification.bounds import raw_bounds, repair
from tests.evaluation.samples import LIMIT

RANGE = (0.1, 0.9)


@pytest.fixture(scope="module")
def sample():
    return make_decision_makers(3000, n_classes=2, random_state=5)


@pytest.fixture(scope="module")
def roles(sample):
    return {
        "decision_maker": sample.decision_maker,
        "nuisance": sample.oracle.joint,
        "propensity": "shares",
        "random_state": 0,
    }


def guess(sample):
    return (sample.X[:, 0] < 0).astype(int)


@pytest.mark.parametrize("assumption", ["none", "instrument"])
def test_ends_are_the_means_of_the_sharp_bounds(sample, roles, assumption):
    """Against the formula of identification, at the law that the rows come from."""
    result = evaluate(guess(sample), sample.X, sample.y, assumption=assumption, label_range=RANGE, **roles)
    joint = np.moveaxis(sample.oracle.joint(sample.X), 1, 0)
    if assumption == "none":
        shares = np.bincount(sample.decision_maker) / len(sample.y)
        joint = np.einsum("j,jnk->nk", shares, joint)[None]
    bounds = repair(raw_bounds(joint, *RANGE), *RANGE)[0]
    rows = np.arange(len(sample.y))
    ends = bounds.lower[rows, guess(sample)].mean(), bounds.upper[rows, guess(sample)].mean()
    free = evaluate(guess(sample), sample.X, sample.y, assumption=assumption, **roles)
    assert np.abs((np.array([result.lower, result.upper]) - ends) / free.standard_errors).max() < LIMIT
    assert result.width < free.width - 0.01


def test_points_stay_and_everything_takes_it(sample, roles):
    point = {"assumption": "unconfounded", **roles}
    free, known = (
        evaluate(guess(sample), sample.X, sample.y, label_range=each, **point) for each in ((0.0, 1.0), RANGE)
    )
    assert free == known
    y = sample.y, {"label_range": RANGE, **roles}
    one = evaluate(guess(sample), sample.X, y[0], **y[1])
    curve = threshold_curve(-sample.X[:, 0], sample.X, y[0], thresholds=[1e-12], **y[1])
    assert_allclose(curve.evaluations["accuracy"][0].lower, one.lower)
    duel = compare(guess(sample), 0, sample.X, y[0], **y[1])
    assert duel.width < compare(guess(sample), 0, sample.X, y[0], **roles).width


def test_a_range_that_the_data_contradict_leaves_no_value(sample, roles):
    """P(1) = .3 for everybody, where half of the labels are 1."""
    known = ([0.7, 0.3], [0.7, 0.3])
    result = evaluate(guess(sample), sample.X, sample.y, metric="share", label_range=known, **roles)
    assert result.empty
    assert np.isnan(result.lower)
    assert "contradicts the data" in result.reason


@pytest.mark.parametrize("limit", ["none", "instrument"])
def test_the_sensitivity_curve_lies_within_it(sample, roles, limit):
    free, known = (
        sensitivity_curve(
            None,
            sample.X,
            sample.y,
            metric="share",
            values=[5, 8, 1e6],
            limit=limit,
            label_range=each,
            **roles,
        )
        for each in ((0.0, 1.0), (0.3, 0.7))
    )
    assert (known.upper - known.lower < free.upper - free.lower + 1e-9).all()
    assert (known.lower >= 0.3 - 1e-9).all()
    assert (known.upper <= 0.7 + 1e-9).all()
    assert known.limit_upper - known.limit_lower < free.limit_upper - free.limit_lower


def test_callables_and_arrays_mean_what_numbers_mean(sample, roles):
    ranges = (RANGE, (np.full(2, 0.1), lambda X: np.full((len(X), 2), 0.9)))
    first, second = (
        evaluate(guess(sample), sample.X, sample.y, label_range=each, **roles) for each in ranges
    )
    assert (first.lower, first.upper) == (second.lower, second.upper)
    with pytest.raises(ValueError, match="label_range must"):
        evaluate(guess(sample), sample.X, sample.y, label_range=(0.9, 0.1), **roles)
