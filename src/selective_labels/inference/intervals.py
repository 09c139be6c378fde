"""Confidence intervals for a parameter that is known to lie between two estimated ends."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar
from scipy.special import betaincinv, ndtr, ndtri, owens_t
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
    :func:`selective_labels.inference.standard_errors.effective_number`.

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


# Probability of a normal variable beyond one standard error.
ONE_ERROR = 0.16


@dataclass(frozen=True)
class Counts:
    """Rows behind a share, or behind the difference of two shares among the same rows.

    Attributes
    ----------
    plus : int
        Rows that count one.
    minus : int
        Rows that count minus one: where the second of two classifiers is right alone.
    trials : int
        Rows that meet the condition.
    signed : bool
        Whether a row may count minus one.
    """

    plus: int
    minus: int
    trials: int
    signed: bool = False

    def interval(self, tails: tuple[float, float]) -> Interval:
        """Interval that misses the value below (above) with probability `tails` at most."""
        if self.signed:
            return paired_interval(self.plus, self.minus, self.trials, tails)
        return clopper_pearson(self.plus, self.trials, tails)


def count_scores(
    above: np.ndarray,
    below: np.ndarray,
    weights: ArrayLike | None,
    signed: bool = False,
    unit: np.ndarray | None = None,
) -> Counts | None:
    """Count rows, if scores are counts: values of -1, 0 and 1 among rows of equal weight.

    Parameters
    ----------
    above, below : (n_samples,) arrays
        Scores of numerator and denominator of a ratio.
    weights : (n_samples,) array, optional
        Rows of weight zero are outside the population.
    signed : bool
    unit : (n_cells,) array, optional
        Of cells, whose scores are forms: the weight of every row where scores are labels, else -1.

    Returns
    -------
    Counts, or None if some score is another number or rows have different weights

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
    """Count the rows of cells: a row is of one part, and each part scores 0, 1 or -1."""
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


def clopper_pearson(successes: int, trials: int, tails: tuple[float, float] = (0.025, 0.025)) -> Interval:
    """Exact interval of a probability (Clopper and Pearson 1934).

    lower: the p with P(Bin(n, p) >= k) = tail, 0 if k = 0;   upper: P(Bin(n, p) <= k) = tail, 1 if k = n

    Holds at every n and p, at the price of covering more than it says: Wilson's interval is shorter, but
    below its level near the ends (n = 50, p = .98: .922 of .95).

    Examples
    --------
    >>> [round(end, 4) for end in clopper_pearson(8, 8)], [round(end, 4) for end in clopper_pearson(5, 10)]
    ([0.6306, 1.0], [0.1871, 0.8129])
    """
    low = betaincinv(successes, trials - successes + 1, tails[0]) if successes > 0 else 0.0
    high = betaincinv(successes + 1, trials - successes, 1.0 - tails[1]) if successes < trials else 1.0
    return Interval(float(low), float(high))


def paired_interval(
    plus: int, minus: int, trials: int, tails: tuple[float, float] = (0.025, 0.025)
) -> Interval:
    """Interval of P(+) - P(-) of a row that counts 1, -1 or 0: the difference of two paired shares.

    θ = q (2p - 1),   q = P(row counts),   p = P(+ | row counts)

    p has the exact interval given the rows that count, so zero is outside exactly if McNemar's exact test
    rejects p = ½. What q adds is joined by squares, each reach standing for a multiple of an error (the
    method of variance estimates recovery), and at least the end of p is taken with q one error larger.
    Enumerated for 8 to 100 rows: a level of .95 covers .955 and more wherever p and q are.

    Parameters
    ----------
    plus, minus : int
        Rows in which the first, the second alone is right.
    trials : int
        All rows.
    tails : pair of float

    Examples
    --------
    Four rows of a hundred, all for the first: a fair coin does that once in eight times.

    >>> [round(end, 3) for end in paired_interval(4, 0, 100)]
    [-0.016, 0.099]
    >>> [round(end, 3) for end in paired_interval(30, 0, 100)]
    [0.188, 0.4]
    """
    counting = plus + minus
    share = clopper_pearson(counting, trials, tails)
    if counting == 0:
        return Interval(-share.upper, share.upper)
    chance = clopper_pearson(plus, counting, tails)
    low, high = 2.0 * chance.lower - 1.0, 2.0 * chance.upper - 1.0
    middle, size = (plus - minus) / counting, counting / trials
    less, more = size - share.lower, share.upper - size
    below = np.hypot(size * (middle - low), middle * (less if middle > 0.0 else more))
    above = np.hypot(size * (high - middle), middle * (more if middle > 0.0 else less))
    lower, upper = middle * size - below, middle * size + above
    larger = clopper_pearson(counting, trials, (ONE_ERROR, ONE_ERROR)).upper
    # The exact test decides about zero, whatever the squares say.
    lower = min(lower, low * larger) if low < 0.0 else max(lower, low * share.lower)
    upper = max(upper, high * larger) if high > 0.0 else min(upper, high * share.lower)
    return Interval(float(max(lower, -1.0)), float(min(upper, 1.0)))
