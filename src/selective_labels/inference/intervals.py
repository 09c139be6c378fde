"""Confidence intervals for a parameter that is known to lie between two estimated ends."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr, ndtri, owens_t
from scipy.stats import t as student

# A correlation this close to one is one: the bivariate normal law has no density beyond.
LARGEST_CORRELATION = 1.0 - 1e-9
# No constant of an interval is larger than this at any level that a double can tell from one.
LARGEST_CONSTANT = 40.0
# The share of the error probability that one end gets at least; the best division is rarely so unequal.
SMALLEST_TAIL = 1e-4


class Interval(NamedTuple):
    """A confidence interval; empty if `lower` exceeds `upper`."""

    lower: float
    upper: float


def parameter_interval(
    lower: float,
    upper: float,
    errors: tuple[float, float],
    correlation: float,
    n_samples: int,
    confidence_level: float = 0.95,
) -> Interval:
    """Interval that covers the parameter, wherever it lies between the two ends, with the given probability.

    [θ̂_L - c_L s_L, θ̂_U + c_U s_U]

    Where the estimated width exceeds max(s_L, s_U) √(ln n), both constants are those of Imbens and Manski;
    where it does not, the width may be zero, and they are Stoye's at Δ = 0 (his pretest, which makes the
    coverage uniform over widths). A point estimate is the case of equal ends with correlation one.

    Parameters
    ----------
    lower, upper : float
        Estimated ends. They may cross; an interval that is empty then says that the assumption fails.
    errors : pair of float
        Standard errors of the ends.
    correlation : float
        Of the estimated ends.
    n_samples : int
        Rows, or clusters.
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


def parameter_constants(
    width: float,
    errors: tuple[float, float],
    correlation: float,
    n_samples: float,
    confidence_level: float = 0.95,
) -> tuple[float, float]:
    """Constants c_L and c_U of :func:`parameter_interval`; one error at least is positive.

    Examples
    --------
    >>> [round(each, 3) for each in parameter_constants(0.5, (0.01, 0.01), 0.0, n_samples=2000)]
    [1.645, 1.645]
    """
    largest = max(errors)
    if width > largest * np.sqrt(np.log(n_samples)):
        constant = imbens_manski_constant(width / largest, confidence_level)
        return constant, constant
    # An end without error costs nothing; a tiny one keeps the program defined.
    error_lower, error_upper = np.maximum(errors, 1e-9 * largest)
    return stoye_constants(0.0, error_lower, error_upper, correlation, confidence_level)


def set_interval(
    lower: float, upper: float, errors: tuple[float, float], confidence_level: float = 0.95
) -> Interval:
    """Interval that covers the whole identified interval with the given probability.

    [θ̂_L - z_{1-α/2} s_L, θ̂_U + z_{1-α/2} s_U], at least 1 - α by Bonferroni's inequality.

    Examples
    --------
    >>> interval = set_interval(0.4, 0.7, (0.02, 0.02))
    >>> round(interval.lower, 3), round(interval.upper, 3)
    (0.361, 0.739)
    """
    constant = float(ndtri((1.0 + confidence_level) / 2.0))
    return Interval(lower - constant * errors[0], upper + constant * errors[1])


def few_clusters_factor(n_clusters: float, confidence_level: float = 0.95) -> float:
    """How much wider an interval must be because few rows, or clusters, carry its error.

    t_{G-1, 1-α/2} / z_{1-α/2}: standard errors are multiplied by it. Below about forty it matters; below
    ten, treat the interval as a rough guide. G need not be whole: see
    :func:`selective_labels.inference.spread.effective_number`.

    Examples
    --------
    >>> round(few_clusters_factor(8), 3), round(few_clusters_factor(10_000), 3)
    (1.206, 1.0)
    """
    tail = (1.0 + confidence_level) / 2.0
    return float(student.ppf(tail, n_clusters - 1) / ndtri(tail))


def imbens_manski_constant(relative_width: float, confidence_level: float = 0.95) -> float:
    """Constant C of the interval that covers the parameter.

    Φ(C + Δ / max(s_L, s_U)) - Φ(-C) = 1 - α

    Imbens and Manski (2004). C is z_{1-α/2} when the identified interval is a point, and falls to z_{1-α}
    as it grows wide, because the parameter is then near one end at most.

    Parameters
    ----------
    relative_width : float
        Δ / max(s_L, s_U), not negative.
    confidence_level : float

    Examples
    --------
    >>> round(imbens_manski_constant(0.0), 3), round(imbens_manski_constant(10.0), 3)
    (1.96, 1.645)
    """
    narrow, wide = ndtri((1.0 + confidence_level) / 2.0), ndtri(confidence_level)
    if relative_width >= LARGEST_CONSTANT:
        return float(wide)

    def excess(constant: float) -> float:
        return float(ndtr(constant + relative_width) - ndtr(-constant)) - confidence_level

    return float(brentq(excess, wide - 1e-9, narrow + 1e-9, xtol=1e-12))


def stoye_constants(
    width: float, error_lower: float, error_upper: float, correlation: float, confidence_level: float = 0.95
) -> tuple[float, float]:
    """Constants of the shortest interval that covers the parameter, given the correlation of the ends.

    minimise c_L s_L + c_U s_U subject to
    P(W_L <= c_L,  W_U >= -c_U - Δ/s_U) >= 1 - α   (the parameter at the lower end),
    P(W_U >= -c_U, W_L <= c_L + Δ/s_L) >= 1 - α    (the parameter at the upper end),

    W_L and W_U standard normal with correlation ρ. Stoye (2009), his third interval. Unlike the
    constant of Imbens and Manski it does not need the ends to be ordered in every sample.

    Parameters
    ----------
    width : float
        Δ, not negative.
    error_lower, error_upper : float
        Standard errors s_L, s_U, positive.
    correlation : float
        ρ of the estimated ends.
    confidence_level : float
        Above one half.

    Returns
    -------
    c_L, c_U

    Examples
    --------
    >>> [round(each, 3) for each in stoye_constants(0.0, 1.0, 1.0, correlation=0.0)]
    [1.955, 1.955]
    >>> [round(each, 3) for each in stoye_constants(9.0, 1.0, 1.0, correlation=0.0)]
    [1.645, 1.645]
    """
    opposite = -float(np.clip(correlation, -LARGEST_CORRELATION, LARGEST_CORRELATION))
    room_lower, room_upper = (min(width / error, LARGEST_CONSTANT) for error in (error_lower, error_upper))

    def shortfall(upper: float, lower: float) -> float:
        at_lower = bivariate_normal(lower, upper + room_upper, opposite)
        at_upper = bivariate_normal(lower + room_lower, upper, opposite)
        return confidence_level - min(at_lower, at_upper)

    # Neither constant can be smaller than the one-sided one, where the other would have to be infinite.
    smallest, largest = ndtri(confidence_level), ndtri(1.0 - (1.0 - confidence_level) * SMALLEST_TAIL)

    def upper_for(lower: float) -> float:
        """Smallest c_U that goes with c_L."""
        if shortfall(smallest, lower) <= 0.0:
            return float(smallest)
        return float(brentq(shortfall, smallest, LARGEST_CONSTANT, args=(lower,), xtol=1e-10))

    def length(lower: float) -> float:
        return lower * error_lower + upper_for(lower) * error_upper

    best = minimize_scalar(length, bounds=(smallest, largest), method="bounded", options={"xatol": 1e-7})
    return float(best.x), upper_for(float(best.x))


def bivariate_normal(first: float, second: float, correlation: float) -> float:
    """P(W_1 <= first, W_2 <= second) of standard normal variables, for positive limits.

    ½ Φ(h) + ½ Φ(k) - T(h, (k - ρh) / (h √(1-ρ²))) - T(k, (h - ρk) / (k √(1-ρ²)))

    with Owen's function T (Owen 1956); exact to rounding, where general routines integrate numerically.

    Examples
    --------
    >>> bool(abs(bivariate_normal(1.0, 2.0, 0.0) - ndtr(1.0) * ndtr(2.0)) < 1e-15)
    True
    """
    scale = np.sqrt(1.0 - correlation**2)
    tilt_first = owens_t(first, (second - correlation * first) / (first * scale))
    tilt_second = owens_t(second, (first - correlation * second) / (second * scale))
    return float((ndtr(first) + ndtr(second)) / 2.0 - tilt_first - tilt_second)
