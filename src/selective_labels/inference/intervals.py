"""Confidence intervals for a parameter between two estimated bounds, and exact intervals for shares.

The first part has the constants of Imbens and Manski and of Stoye; the second has intervals from counts.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr, ndtri, owens_t
from scipy.stats import beta
from scipy.stats import t as student

from selective_labels.identification.bounds import Array

# Correlations are capped here, because the bivariate normal distribution has no density at one.
LARGEST_CORRELATION = 1.0 - 1e-9
# Larger than the constant at any confidence level that differs from one in double precision.
LARGEST_CONSTANT = 40.0
# Smallest share of the error probability for one bound; the optimal division is rarely so unequal.
SMALLEST_TAIL = 1e-4


# Counts that are products of a share and a number are whole up to this.
COUNT_ROUNDING = 1e-9


class Interval(NamedTuple):
    """A confidence interval; empty if `lower` exceeds `upper`."""

    lower: float
    upper: float


def parameter_constants(
    width: float,
    errors: tuple[float, float],
    correlation: float,
    n_samples: float,
    confidence_level: float = 0.95,
) -> tuple[float, float]:
    """Constants c_L and c_U of :func:`parameter_interval`; at least one error must be positive.

    Examples
    --------
    >>> [round(each, 3) for each in parameter_constants(0.5, (0.01, 0.01), 0.0, n_samples=2000)]
    [1.645, 1.645]
    """
    largest = max(errors)
    if width > largest * np.sqrt(np.log(n_samples)):
        constant = imbens_manski_constant(width / largest, confidence_level)
        return constant, constant
    # A bound without error adds no length; a tiny error keeps the optimisation well defined.
    error_lower, error_upper = np.maximum(errors, 1e-9 * largest)
    return stoye_constants(0.0, error_lower, error_upper, correlation, confidence_level)


def few_clusters_factor(n_clusters: float, confidence_level: float = 0.95) -> float:
    """Factor on standard errors when few rows or clusters carry the variance.

    t_{G-1, 1-α/2} / z_{1-α/2}

    The factor matters below about forty units. Below ten, treat the interval as a rough guide. G need not be
    an integer: see :func:`selective_labels.inference.standard_errors.effective_number`.

    Examples
    --------
    >>> round(few_clusters_factor(8), 3), round(few_clusters_factor(10_000), 3)
    (1.206, 1.0)
    """
    tail = (1.0 + confidence_level) / 2.0
    return float(student.ppf(tail, n_clusters - 1) / ndtri(tail))


def imbens_manski_constant(relative_width: float, confidence_level: float = 0.95) -> float:
    """Constant C of the interval that covers the parameter (Imbens and Manski 2004).

    Φ(C + Δ / max(s_L, s_U)) - Φ(-C) = 1 - α

    C is z_{1-α/2} when the identified interval is a point. It falls to z_{1-α} as the interval becomes wide,
    because the parameter is then close to at most one bound.

    Parameters
    ----------
    relative_width : float
        Δ / max(s_L, s_U), non-negative.
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
    """Constants of the shortest interval that covers the parameter, given the correlation of the bounds.

    minimise c_L s_L + c_U s_U subject to
    P(W_L <= c_L,  W_U >= -c_U - Δ/s_U) >= 1 - α   (the parameter at the lower bound),
    P(W_U >= -c_U, W_L <= c_L + Δ/s_L) >= 1 - α    (the parameter at the upper bound),

    with W_L and W_U standard normal with correlation ρ. This is the third interval of Stoye (2009). Unlike
    the constant of Imbens and Manski, it does not require that the bounds are ordered in every sample.

    Parameters
    ----------
    width : float
        Δ, non-negative.
    error_lower, error_upper : float
        Standard errors s_L, s_U, positive.
    correlation : float
        Correlation ρ of the estimated bounds.
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

    # Neither constant can be below the one-sided constant, at which the other one is infinite.
    smallest, largest = ndtri(confidence_level), ndtri(1.0 - (1.0 - confidence_level) * SMALLEST_TAIL)

    def upper_for(lower: float) -> float:
        """Smallest feasible c_U for a given c_L."""
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

    with Owen's function T (Owen 1956). The result is exact up to rounding, whereas general routines integrate
    numerically.

    Examples
    --------
    >>> bool(abs(bivariate_normal(1.0, 2.0, 0.0) - ndtr(1.0) * ndtr(2.0)) < 1e-15)
    True
    """
    scale = np.sqrt(1.0 - correlation**2)
    tilt_first = owens_t(first, (second - correlation * first) / (first * scale))
    tilt_second = owens_t(second, (first - correlation * second) / (second * scale))
    return float((ndtr(first) + ndtr(second)) / 2.0 - tilt_first - tilt_second)


# Probability that a normal variable exceeds its mean by one standard deviation.
ONE_ERROR = 0.16


@dataclass(frozen=True)
class Counts:
    """Counts behind a share, or behind the difference of two shares among the same rows.

    Attributes
    ----------
    plus : int
        Rows that count as one.
    minus : int
        Rows that count as minus one: only the second of two classifiers is right.
    trials : int
        Rows that meet the condition.
    signed : bool
        Whether a row can count as minus one.
    """

    plus: int
    minus: int
    trials: int
    signed: bool = False

    def interval(self, tails: tuple[float, float]) -> Interval:
        """Interval that misses the value below (above) with probability at most `tails`."""
        if self.signed:
            return paired_interval(self.plus, self.minus, self.trials, tails)
        return _exact(self.plus, self.trials, tails)


def count_scores(
    above: np.ndarray,
    below: np.ndarray,
    weights: ArrayLike | None,
    signed: bool = False,
    unit: np.ndarray | None = None,
) -> Counts | None:
    """Count rows if the scores are counts: values of -1, 0 and 1 among rows with equal weights.

    Parameters
    ----------
    above, below : (n_samples,) arrays
        Scores of the numerator and denominator of a ratio.
    weights : (n_samples,) array, optional
        Rows with weight zero are outside the population.
    signed : bool
    unit : (n_cells,) array, optional
        For cells, whose scores are linear forms: the common row weight where scores are labels, otherwise -1.

    Returns
    -------
    Counts, or None if a score has another value or the weights differ

    Examples
    --------
    >>> count_scores(np.array([1.0, 0.0, 1.0]), np.ones(3), None)
    Counts(plus=2, minus=0, trials=3, signed=False)
    >>> count_scores(np.array([1.0, 0.0, 0.5]), np.ones(3), None) is None
    True
    """
    if above.ndim > 1:
        return _count_cells(above, below, np.asarray(weights, dtype=float), signed, unit)
    if weights is not None:
        given = np.asarray(weights, dtype=float)
        inside = given > 0.0
        if not (given[inside] == given.max()).all():
            return None
        above, below = above[inside], below[inside]
    possible = (0.0, 1.0, -1.0) if signed else (0.0, 1.0)
    if not (np.isin(below, (0.0, 1.0)).all() and np.isin(above, possible).all()):
        return None
    if (np.abs(above) > below).any():
        return None
    return Counts(int((above > 0).sum()), int((above < 0).sum()), int(below.sum()), signed)


def _count_cells(
    above: np.ndarray, below: np.ndarray, weights: np.ndarray, signed: bool, unit: np.ndarray | None
) -> Counts | None:
    """Count the rows of cells: each row belongs to one part, and each part has a score of 0, 1 or -1."""
    inside = weights.any(axis=1)
    if unit is None or not inside.any() or not (unit[inside] == max(unit[inside][0], 0.0)).all():
        return None
    possible = (0.0, 1.0, -1.0) if signed else (0.0, 1.0)
    above, below, rows = above[inside], below[inside], weights[inside] / unit[inside][0]
    if not (np.isin(below, (0.0, 1.0)).all() and np.isin(above, possible).all()):
        return None
    if (np.abs(above) > below).any():
        return None
    found = [round(float(rows[which].sum())) for which in (above > 0.0, above < 0.0, below > 0.0)]
    return Counts(found[0], found[1], found[2], signed)


def clopper_pearson(
    successes: ArrayLike, trials: ArrayLike, tails: tuple[float, float] = (0.025, 0.025)
) -> tuple[Array, Array]:
    """Exact intervals for probabilities (Clopper and Pearson 1934), elementwise.

    lower: the p with P(Bin(n, p) >= k) = tail, 0 if k = 0;   upper: P(Bin(n, p) <= k) = tail, 1 if k = n

    The interval is valid for every n and p, but conservative. Wilson's interval is shorter, but its coverage
    is below the nominal level near 0 and 1 (n = 50, p = .98: .922 instead of .95). Numbers that are not
    integers, such as effective sample sizes, are allowed; without trials there is no interval (NaN).

    Examples
    --------
    >>> low, high = clopper_pearson([8, 5], [8, 10])
    >>> low.round(4), high.round(4)
    (array([0.6306, 0.1871]), array([1.    , 0.8129]))
    """
    k, n = np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
    # Products of a share and a number reach their ends up to rounding.
    none, every = k <= 0.0, k >= n - COUNT_ROUNDING
    low = beta.ppf(tails[0], np.where(none, 1.0, k), np.where(none, 1.0, n - k + 1.0))
    high = beta.ppf(1.0 - tails[1], k + 1.0, np.where(every, 1.0, n - k))
    empty = ~(n > 0.0)
    low, high = np.where(none, 0.0, low), np.where(every, 1.0, high)
    return np.where(empty, np.nan, low), np.where(empty, np.nan, high)


def wilson(rate: Array, number: float | Array, confidence_level: float) -> tuple[Array, Array]:
    """Wilson's interval of a share: the values θ with |rate - θ| <= z √(θ (1 - θ) / n), elementwise.

    Unlike rate ± z · error, it stays within [0, 1] and has a width where the rate is 0 or 1. The number of
    cases may be an effective one, which scipy's ``binomtest`` does not take.

    Examples
    --------
    >>> [end.round(3) for end in wilson(np.array([0.0, 0.5]), 100, 0.95)]
    [array([0.   , 0.404]), array([0.037, 0.596])]
    """
    constant = ndtri((1.0 + confidence_level) / 2.0) ** 2 / number
    centre = (rate + constant / 2.0) / (1.0 + constant)
    half = np.sqrt(rate * (1.0 - rate) * constant + constant**2 / 4.0) / (1.0 + constant)
    # The limits of a rate of 0 and of 1 are exact, not up to rounding.
    return np.where(rate <= 0.0, 0.0, centre - half), np.where(rate >= 1.0, 1.0, centre + half)


def _exact(successes: int, trials: int, tails: tuple[float, float]) -> Interval:
    low, high = clopper_pearson(successes, trials, tails)
    return Interval(float(low), float(high))


def paired_interval(
    plus: int, minus: int, trials: int, tails: tuple[float, float] = (0.025, 0.025)
) -> Interval:
    """Interval for P(+) - P(-), where a row counts 1, -1 or 0: the difference of two paired shares.

    θ = q (2p - 1),   q = P(row counts),   p = P(+ | row counts)

    p has its exact interval given the rows that count, so the interval excludes zero exactly if McNemar's
    exact test rejects p = ½. The uncertainty of q is added in squares, as in the method of variance estimates
    recovery. The limits are at least as wide as those of p with q one standard error larger. In an
    enumeration for 8 to 100 rows, the coverage at level .95 is at least .955 for all p and q.

    Parameters
    ----------
    plus, minus : int
        Rows in which only the first (second) classifier is right.
    trials : int
        Number of rows.
    tails : pair of float
        Error probabilities of the lower and upper limit.

    Examples
    --------
    Four of a hundred rows count, all for the first. A fair coin gives such a result one time in eight.

    >>> [round(end, 3) for end in paired_interval(4, 0, 100)]
    [-0.016, 0.099]
    >>> [round(end, 3) for end in paired_interval(30, 0, 100)]
    [0.188, 0.4]
    """
    counting = plus + minus
    share = _exact(counting, trials, tails)
    if counting == 0:
        return Interval(-share.upper, share.upper)
    chance = _exact(plus, counting, tails)
    low, high = 2.0 * chance.lower - 1.0, 2.0 * chance.upper - 1.0
    middle, size = (plus - minus) / counting, counting / trials
    less, more = size - share.lower, share.upper - size
    below = np.hypot(size * (middle - low), middle * (less if middle > 0.0 else more))
    above = np.hypot(size * (high - middle), middle * (more if middle > 0.0 else less))
    lower, upper = middle * size - below, middle * size + above
    larger = _exact(counting, trials, (ONE_ERROR, ONE_ERROR)).upper
    # The exact test decides whether the interval contains zero, not the sum of squares.
    lower = min(lower, low * larger) if low < 0.0 else max(lower, low * share.lower)
    upper = max(upper, high * larger) if high > 0.0 else min(upper, high * share.lower)
    return Interval(float(max(lower, -1.0)), float(min(upper, 1.0)))
