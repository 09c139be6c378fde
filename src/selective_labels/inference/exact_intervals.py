"""Intervals of shares from counts: Clopper and Pearson, Wilson, and the difference of two paired shares."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import beta

from selective_labels.identification.bounds import Array

# Counts that are products of a share and a number are whole up to this.
COUNT_ROUNDING = 1e-9


class Interval(NamedTuple):
    """A confidence interval; empty if `lower` exceeds `upper`."""

    lower: float
    upper: float


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
