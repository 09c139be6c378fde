"""Calibration of predicted probabilities by scores: a logistic line, shrunk, with its covariance."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

# Probabilities are clipped here before the logit, so that no row has an extreme leverage.
CLIP = 1e-3
# Keeps the logit of the prediction itself finite; a small probability stays small.
SMALLEST = 1e-12
MAX_STEPS = 50
TOLERANCE = 1e-10
# A fitted intercept or slope beyond this does not correct a prediction, it replaces it.
FARTHEST = 10.0
# Predictions that differ by less than this (standard deviation of the logit) cannot have a slope.
LEAST_SPREAD = 1e-6


@dataclass(frozen=True, eq=False)
class Calibration:
    """Correction of predicted probabilities p on the logit scale.

    l = expit(logit(p) + a + b (z - z̄)),   z = logit(p), clipped

    Attributes
    ----------
    centre : float
        z̄.
    coefficients : (2,) array
        a and b, shrunk.
    covariance : (2, 2) array
        Covariance of a and b, times their shrinkage factor.
    """

    centre: float
    coefficients: np.ndarray
    covariance: np.ndarray

    def apply(self, probability: np.ndarray) -> np.ndarray:
        """Corrected probabilities; zeros and negative numbers, which are known limits, stay as they are."""
        if not self.coefficients.any():
            return probability
        shift = self.coefficients[0] + self.coefficients[1] * (_logit(probability) - self.centre)
        return np.where(probability > 0.0, expit(_offset(probability) + shift), probability)

    def variance(self, probability: np.ndarray, calibrated: np.ndarray) -> np.ndarray:
        """Variance that estimating a and b adds to the corrected probabilities."""
        if not self.covariance.any():
            return np.zeros_like(probability)
        distance = _logit(probability) - self.centre
        (first, both), (_, second) = self.covariance
        own = first + 2.0 * both * distance + second * distance**2
        found = own * (calibrated * (1.0 - calibrated)) ** 2
        return np.where(probability > 0.0, found, 0.0)


NONE = Calibration(0.0, np.zeros(2), np.zeros((2, 2)))


def fit_calibration(
    scores: np.ndarray,
    probability: np.ndarray,
    weights: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
) -> Calibration:
    """Fit a logistic line of scores on predicted probabilities, and shrink it towards no correction.

    Σ_i w_i (φ_i - expit(logit(p_i) + a + b (z_i - z̄))) (1, z_i - z̄)' = 0,
    (a, b) is multiplied by max(0, 1 - 2 / Q),   Q = (a, b) V⁻¹ (a, b)'

    V is the sandwich covariance, summed within clusters. The shrinkage is that of James and Stein: if the
    predictions are calibrated, Q is about two and nothing changes.

    Parameters
    ----------
    scores : (n_samples,) array
        φ, with E[φ | x] equal to the probability that p predicts. They may lie outside [0, 1].
    probability : (n_samples,) array
        p, from models that were not fitted on the row. Rows with p <= 0 are left out.
    weights : (n_samples,) array, optional
    clusters : (n_samples,) int array, optional
        Codes of dependent rows.

    Returns
    -------
    Calibration
        No correction if there is no solution.

    Examples
    --------
    Predictions that are too small by a factor of about two:

    >>> generator = np.random.default_rng(0)
    >>> p = generator.uniform(0.05, 0.3, 4000)
    >>> happened = (generator.random(4000) < 2 * p).astype(float)
    >>> fit_calibration(happened, p).apply(np.array([0.1, 0.2])).round(2)
    array([0.21, 0.4 ])
    """
    used = probability > 0.0
    weights = np.ones(len(scores)) if weights is None else weights
    scores, weights = scores[used], weights[used]
    if not weights.sum() > 0.0:
        return NONE
    z = _logit(probability[used])
    centre = float(np.average(z, weights=weights))
    design = np.column_stack([np.ones(len(z)), z - centre])
    solution = None
    if np.sqrt(np.average((z - centre) ** 2, weights=weights)) > LEAST_SPREAD:
        solution = _solve(design, _offset(probability[used]), scores, weights)
    # A slope below -1 would turn the order of the predictions round, which few scores cannot justify.
    if solution is None or solution[0][1] <= -1.0:
        design = design[:, :1]
        solution = _solve(design, _offset(probability[used]), scores, weights)
    if solution is None:
        return NONE
    coefficients, information, residual = solution
    size = len(coefficients)
    moments = (weights * residual)[:, None] * design
    if clusters is not None:
        moments = np.stack([np.bincount(clusters[used], column) for column in moments.T], axis=1)
    bread = np.linalg.inv(information)
    covariance = bread @ (moments.T @ moments) @ bread
    strength = float(coefficients @ np.linalg.pinv(covariance) @ coefficients)
    factor = max(0.0, 1.0 - 2.0 / strength) if strength > 0.0 else 0.0
    full, spread = np.zeros(2), np.zeros((2, 2))
    full[:size], spread[:size, :size] = factor * coefficients, factor * covariance
    return Calibration(centre, full, spread)


def _solve(
    design: np.ndarray, offset: np.ndarray, scores: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Newton's method: coefficients, information and residuals; None if it does not converge."""
    coefficients = np.zeros(design.shape[1])

    def at(values: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        line = offset + design @ values
        mean = expit(line)
        return float(weights @ (scores * line - np.logaddexp(0.0, line))), mean, scores - mean

    value, mean, residual = at(coefficients)
    for _ in range(MAX_STEPS):
        information = (design * (weights * mean * (1.0 - mean))[:, None]).T @ design
        if not np.linalg.cond(information) < 1e12:
            return None
        step = np.linalg.solve(information, design.T @ (weights * residual))
        for _ in range(MAX_STEPS):
            tried = at(coefficients + step)
            if tried[0] >= value - TOLERANCE * abs(value):
                break
            step = step / 2.0
        coefficients, (value, mean, residual) = coefficients + step, tried
        if not np.abs(coefficients).max() < FARTHEST:
            return None
        if np.abs(step).max() < TOLERANCE**0.5:
            return coefficients, information, residual
    return None


def _offset(probability: np.ndarray) -> np.ndarray:
    return np.asarray(logit(np.clip(probability, SMALLEST, 1.0 - SMALLEST)))


def _logit(probability: np.ndarray) -> np.ndarray:
    return np.asarray(logit(np.clip(probability, CLIP, 1.0 - CLIP)))
