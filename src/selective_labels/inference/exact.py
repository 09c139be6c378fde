"""Intervals from counts, where scores are labels: exact at any number of rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from selective_labels.inference.intervals import Interval

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
