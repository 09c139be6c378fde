"""Calibration by scores: against scipy's optimiser, weights as repeated rows, clusters by hand."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit, logit

from selective_labels.nuisance.calibrated_bounds import fit_calibration

RNG = np.random.default_rng(0)
N = 600
P = RNG.uniform(0.02, 0.9, N)
SCORES = (RNG.random(N) < expit(0.8 + 0.6 * logit(P))) + RNG.normal(scale=0.4, size=N)  # outside [0, 1]


def by_scipy(scores, probability, weights):
    """Coefficients, residuals and design of the quasi-likelihood, by a general optimiser."""
    z = logit(probability)
    design = np.column_stack([np.ones(len(z)), z - np.average(z, weights=weights)])

    def loss(values):
        line = z + design @ values
        return -weights @ (scores * line - np.logaddexp(0.0, line))

    found = minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-10}).x
    return found, design, expit(z + design @ found)


def by_hand(scores, probability, weights, clusters):
    coefficients, design, mean = by_scipy(scores, probability, weights)
    bread = np.linalg.inv((design * (weights * mean * (1 - mean))[:, None]).T @ design)
    moments = (weights * (scores - mean))[:, None] * design
    sums = np.stack([moments[clusters == each].sum(axis=0) for each in np.unique(clusters)])
    covariance = bread @ sums.T @ sums @ bread
    factor = max(0.0, 1 - 2 / (coefficients @ np.linalg.inv(covariance) @ coefficients))
    return factor * coefficients, factor * covariance


def test_coefficients_and_covariance_are_those_of_the_formula():
    weights, clusters = RNG.uniform(0.5, 2.0, N), np.arange(N) // 3
    found = fit_calibration(SCORES, P, weights, clusters)
    coefficients, covariance = by_hand(SCORES, P, weights, clusters)
    assert_allclose(found.coefficients, coefficients, atol=1e-4)
    assert_allclose(found.covariance, covariance, rtol=1e-3)
    line = logit(P) + coefficients @ [np.ones(N), logit(P) - found.centre]
    assert_allclose(found.apply(P), expit(line), atol=1e-4)


def test_weights_are_repeated_rows():
    times = np.arange(N) % 3
    rows = np.repeat(np.arange(N), times)
    weighted = fit_calibration(SCORES, P, times.astype(float))
    repeated = fit_calibration(SCORES[rows], P[rows], None, rows)
    assert_allclose(weighted.coefficients, repeated.coefficients, atol=1e-8)
    assert_allclose(weighted.covariance, repeated.covariance, atol=1e-10)


def test_calibrated_predictions_are_left_alone_most_of_the_time():
    """The shrinkage is complete if Q < 2, which has probability 1 - e^-1 without miscalibration."""
    rng, n_draws = np.random.default_rng(1), 200
    kept = [not fit_calibration(rng.random(N) < P, P).coefficients.any() for _ in range(n_draws)]
    chance = 1 - np.exp(-1)
    assert abs(np.mean(kept) - chance) < 5 * np.sqrt(chance * (1 - chance) / n_draws)  # false alarm 6e-7


def test_the_order_of_predictions_never_turns_round():
    turned = fit_calibration((RNG.random(N) < 1 - P).astype(float), P)
    assert (np.diff(turned.apply(np.sort(P))) >= 0.0).all()


def test_known_limits_stay():
    found = fit_calibration(SCORES, np.where(np.arange(N) % 2, P, 0.0))
    assert_array_equal(found.apply(np.array([0.0, -0.1])), [0.0, -0.1])
    assert_array_equal(found.variance(np.zeros(2), np.zeros(2)), 0.0)


def test_small_predictions_stay_small():
    raised = fit_calibration(SCORES, P)
    assert raised.coefficients.any()
    assert raised.apply(np.array([1e-6]))[0] < 1e-4


def test_scores_without_a_solution_change_nothing():
    """A mean outside [0, 1] is no probability; nor can one value of the predictions have a slope."""
    for scores in (np.full(N, 1.5), np.full(N, -0.5)):
        assert not fit_calibration(scores, P).coefficients.any()
    constant = fit_calibration((RNG.random(N) < 0.5).astype(float), np.full(N, 0.2))
    assert_allclose(constant.apply(np.array([0.2])), 0.5, atol=0.1)  # five standard errors
    assert constant.coefficients[1] == 0.0
