"""Critical values against closed forms and against multipliers drawn for every row."""

import numpy as np
import pytest
from scipy.special import ndtri

from selective_labels.inference.evidence import Estimate, covariance, mean_estimate
from selective_labels.inference.simultaneous import critical_value, joint_covariance

# Five standard errors of a .95 quantile from 20,000 draws, whose density there is above .08.
CLOSE = 5.0 * np.sqrt(0.05 * 0.95 / 20_000) / 0.08


@pytest.mark.parametrize("number", [1, 5, 41])
def test_independent_errors(number):
    """P(max <= c) = Φ(c)^M."""
    assert critical_value(np.eye(number), 0.95) == pytest.approx(ndtri(0.95 ** (1 / number)), abs=CLOSE)


def test_copies_and_scales_do_not_count():
    """The largest of equal standardized errors is each of them."""
    scale = np.array([1.0, 3.0, 0.2])
    found = critical_value(np.outer(scale, scale), 0.95)
    assert found == pytest.approx(ndtri(0.95), abs=CLOSE)
    padded = np.zeros((4, 4))
    padded[:3, :3] = np.outer(scale, scale)
    assert critical_value(padded, 0.95) == pytest.approx(found, abs=1e-9), "an error of zero cannot be large"


def test_without_errors_nothing_is_added():
    assert critical_value(np.zeros((3, 3)), 0.95) == 0.0


def test_results_do_not_change_from_call_to_call():
    matrix = np.cov(np.random.default_rng(0).standard_normal((6, 30)))
    assert critical_value(matrix, 0.9) == critical_value(matrix, 0.9)


@pytest.mark.parametrize("clustered", [False, True])
def test_draws_from_the_matrix_are_those_of_multipliers_for_rows(clustered):
    """max |Σ ξ ψ| / s over rows, or clusters, with a multiplier for each."""
    generator = np.random.default_rng(5)
    scores = generator.standard_normal((90, 1)) + generator.uniform(size=(90, 6)).cumsum(axis=1)
    ends = [(mean_estimate(low), mean_estimate(low + 0.3 * scores[:, 0] ** 2)) for low in scores.T]
    unit = np.arange(90) // 3 if clustered else np.arange(90)
    found = critical_value(joint_covariance(ends, lambda each: covariance(each, unit)), 0.95)
    signed = np.array([low.influence for low, _ in ends] + [-high.influence for _, high in ends])
    sums = np.stack([np.bincount(unit, row) for row in signed])
    drawn = generator.standard_normal((20_000, sums.shape[1])) @ sums.T / np.sqrt((sums**2).sum(axis=1))
    # Both sides are simulated.
    assert found == pytest.approx(np.quantile(drawn.max(axis=1), 0.95), abs=np.sqrt(2.0) * CLOSE)


def test_errors_of_known_shares_are_part_of_the_matrix():
    """An estimate moves with an external number, and its lower and upper bound in opposite directions."""
    still = np.zeros(4)
    low, high = Estimate(0.2, still, outside=(0.1,)), Estimate(0.5, still, outside=(0.3,))
    matrix = joint_covariance([(low, high)], lambda each: covariance(each))
    np.testing.assert_allclose(matrix, [[0.01, -0.03], [-0.03, 0.09]])
