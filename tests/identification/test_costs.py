import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels import Bounds
from selective_labels.identification.bounds import raw_bounds
from selective_labels.identification.costs import (
    best_case_costs,
    contrast_extremes,
    gains,
    linear_extremes,
    point_costs,
    worst_case_costs,
)

ZERO_ONE = 1.0 - np.eye(3)


@pytest.fixture
def bounds():
    rng = np.random.default_rng(3)
    return raw_bounds(rng.dirichlet(np.ones(4), size=(1, 100)))


def test_zero_one_costs_are_a_cost_matrix_like_any_other(bounds):
    eta = bounds.lower + bounds.slack[:, None] / 3
    assert_allclose(point_costs(eta, ZERO_ONE), point_costs(eta), rtol=0, atol=1e-15)
    assert_allclose(worst_case_costs(bounds, ZERO_ONE), worst_case_costs(bounds), rtol=0, atol=1e-15)


def test_costs_are_regrets(bounds):
    eta = bounds.lower + bounds.slack[:, None] * np.random.default_rng(4).dirichlet(np.ones(3), size=100)
    cost = np.random.default_rng(5).normal(size=(3, 3))
    # The best prediction has none.
    assert_array_equal(point_costs(eta).min(axis=1), 0.0)
    assert_array_equal(point_costs(eta, cost).min(axis=1), 0.0)
    # At any η of the set the regret lies between its ends.
    assert (best_case_costs(bounds) <= point_costs(eta) + 1e-12).all()
    assert (worst_case_costs(bounds) >= point_costs(eta) - 1e-12).all()
    assert (worst_case_costs(bounds, cost) >= point_costs(eta, cost) - 1e-12).all()


def test_a_known_vector_has_equal_ends(bounds):
    eta = bounds.lower + bounds.slack[:, None] / 3
    known = Bounds(eta, eta)
    # Without width the worst and the best case are the regret itself.
    assert_allclose(worst_case_costs(known), point_costs(eta), rtol=0, atol=1e-12)
    assert_allclose(best_case_costs(known), point_costs(eta), rtol=0, atol=1e-12)


def test_rounding_does_not_lift_a_known_vector_off_the_ground():
    rng = np.random.default_rng(9)
    # Sums of many classes miss one in the last digits, on both sides.
    eta = rng.dirichlet(np.ones(7), size=500)
    assert_allclose(best_case_costs(Bounds(eta, eta)), point_costs(eta), rtol=0, atol=1e-12)


def test_contrasts_bracket_the_regret(bounds):
    cost = np.random.default_rng(6).normal(size=(3, 3))
    smallest, largest = contrast_extremes(bounds, cost)
    assert (smallest >= 0).all()
    assert (smallest <= largest).all()


def test_linear_extremes_share_one_vector_of_coefficients(bounds):
    coefficients = np.array([1.0, -2.0, 0.5])
    for one, repeated in zip(
        linear_extremes(coefficients, bounds),
        linear_extremes(np.tile(coefficients, (100, 1)), bounds),
        strict=True,
    ):
        assert_array_equal(one, repeated)


def test_linear_extremes_without_a_label_range(bounds):
    coefficients = np.random.default_rng(7).normal(size=(100, 3))
    smallest, largest = linear_extremes(coefficients, bounds)
    base = (coefficients * bounds.lower).sum(axis=1)
    # All the slack goes to the cheapest, or to the dearest, class.
    assert_allclose(smallest, base + bounds.slack * coefficients.min(axis=1), rtol=0, atol=1e-12)
    assert_allclose(largest, base + bounds.slack * coefficients.max(axis=1), rtol=0, atol=1e-12)


def test_gains_keep_the_best_class(bounds):
    costs = worst_case_costs(bounds)
    assert_array_equal(gains(costs).argmax(axis=1), costs.argmin(axis=1))
    # As sample weights they must not be negative, and the dearest class weighs nothing.
    assert_array_equal(gains(costs).min(axis=1), 0.0)


@pytest.mark.parametrize(
    "cost", [np.eye(2), np.full((3, 3), np.nan), np.where(np.eye(3) > 0, np.inf, 1.0), np.ones(3)]
)
def test_cost_matrix_is_checked(cost, bounds):
    with pytest.raises(ValueError, match="cost must be a finite matrix"):
        worst_case_costs(bounds, cost)
    with pytest.raises(ValueError, match="cost must be a finite matrix"):
        point_costs(bounds.lower, cost)
