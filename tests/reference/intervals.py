"""Intervals of a bounded parameter from two bounds and their standard errors."""

from scipy.special import ndtri

from selective_labels.inference.confidence_intervals import parameter_constants
from selective_labels.inference.exact_intervals import Interval


def parameter_interval(
    lower: float,
    upper: float,
    errors: tuple[float, float],
    correlation: float,
    n_samples: int,
    confidence_level: float = 0.95,
) -> Interval:
    """Interval that covers the parameter with the given probability, wherever it lies between the bounds.

    [θ̂_L - c_L s_L, θ̂_U + c_U s_U]

    If the estimated width exceeds max(s_L, s_U) √(ln n), both constants are those of Imbens and Manski.
    Otherwise the width may be zero, and the constants are Stoye's at Δ = 0. This pretest, also due to Stoye,
    makes the coverage uniform over widths. A point estimate is the case of equal bounds with correlation one.

    Parameters
    ----------
    lower, upper : float
        Estimated bounds. They may cross; if the interval is empty, the assumption fails.
    errors : pair of float
        Standard errors of the bounds.
    correlation : float
        Correlation of the estimated bounds.
    n_samples : int
        Number of rows or clusters.
    confidence_level : float
        Above one half.

    Examples
    --------
    >>> interval = parameter_interval(0.4, 0.7, (0.02, 0.02), correlation=0.5, n_samples=2000)
    >>> round(interval.lower, 3), round(interval.upper, 3)
    (0.367, 0.733)
    >>> interval = parameter_interval(0.5, 0.5, (0.02, 0.02), correlation=1.0, n_samples=2000)
    >>> round(interval.lower, 3), round(interval.upper, 3)
    (0.461, 0.539)
    """
    if max(errors) <= 0.0:
        return Interval(lower, upper)
    constants = parameter_constants(upper - lower, errors, correlation, n_samples, confidence_level)
    return Interval(lower - constants[0] * errors[0], upper + constants[1] * errors[1])


def set_interval(
    lower: float, upper: float, errors: tuple[float, float], confidence_level: float = 0.95
) -> Interval:
    """Interval that covers the whole identified interval with the given probability.

    [θ̂_L - z_{1-α/2} s_L, θ̂_U + z_{1-α/2} s_U]

    By Bonferroni's inequality the coverage is at least 1 - α.

    Examples
    --------
    >>> interval = set_interval(0.4, 0.7, (0.02, 0.02))
    >>> round(interval.lower, 3), round(interval.upper, 3)
    (0.361, 0.739)
    """
    constant = float(ndtri((1.0 + confidence_level) / 2.0))
    return Interval(lower - constant * errors[0], upper + constant * errors[1])
