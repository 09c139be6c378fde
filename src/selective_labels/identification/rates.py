"""Sharp bounds on rates, predictive values, F1, balanced accuracy and AUC, by one sort and cumulative sums.

Each metric depends on one probability per row, η(x) = P(event | x), where the event is a class or a set of
classes. `functionals.event_range` gives its bounds l(x) and u(x), and η(x) can take any value in [l(x), u(x)]
in each row. At the optimum, η = u on one side of a cut-off of the prediction or score and η = l on the other
side. The bounds on several ratios are each sharp, but need not be attained by the same η.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from selective_labels._errors import UndefinedError
from selective_labels.identification.bounds import ROUNDING, Array, Mask
from selective_labels.identification.functionals import normalized_weights

# Rounding of probabilities near 0 or 1 leaves shares below this; dividing by them would give noise.
NEGLIGIBLE = 1e-14


@dataclass(frozen=True)
class Extremes:
    """Sharp bounds on a functional, and the η that attain them.

    Each bound is the value of the functional at η = lower + at_upper · (upper - lower). Inference replaces
    the bounds of the rows by scores and keeps this selector. The cut-off is optimal, so to first order it
    does not affect the bound.

    Attributes
    ----------
    minimum, maximum : float
        Sharp bounds.
    minimum_at_upper, maximum_at_upper : ndarray of shape (n_samples,)
        Boolean, true where η is the upper bound. For balanced accuracy and AUC the array is float, because η
        of one row can lie strictly between its bounds.
    """

    minimum: float
    maximum: float
    minimum_at_upper: Array | Mask
    maximum_at_upper: Array | Mask


def balanced_accuracy_extremes(
    prediction: ArrayLike, lower: ArrayLike, upper: ArrayLike, weights: ArrayLike | None = None
) -> Extremes:
    """min_η and max_η of ½ (P(t=1 | event) + P(t=0 | no event)) = ½ + ½ Cov(π, η) / (E[η] (1 - E[η])).

    The bounds are exact; see `_separation_maximum`. A hard classifier attains the bounds on its two rates
    together (η = u where the event is predicted and l elsewhere, or the reverse), so its bounds are the means
    of theirs. A stochastic classifier does not, and its bounds are narrower than these means. The cost is O(n
    log n).

    Parameters
    ----------
    prediction : array-like of shape (n_samples,)
        Probability π of predicting the event.
    lower, upper : array-like of shape (n_samples,)
        Bounds on the probability of the event.
    weights : array-like of shape (n_samples,), optional
        Sample weights.

    Returns
    -------
    Extremes

    Examples
    --------
    >>> ends = balanced_accuracy_extremes([1.0, 0.0], lower=[0.4, 0.1], upper=[0.6, 0.4])
    >>> round(ends.minimum, 3), round(ends.maximum, 3)
    (0.5, 0.775)
    """
    prediction, lower, upper, weights = _as_rows(prediction, lower, upper, weights)
    return _separation_extremes(prediction, lower, upper, weights, scale=0.5)


def _as_rows(
    prediction: ArrayLike, lower: ArrayLike, upper: ArrayLike, weights: ArrayLike | None
) -> tuple[Array, Array, Array, Array]:
    """Convert to float arrays, clip the bounds to [0, 1] and normalise the weights."""
    prediction, lower, upper = (np.asarray(values, dtype=float) for values in (prediction, lower, upper))
    # A programming error: the package computes these bounds itself.
    if not ((lower >= -ROUNDING) & (lower <= upper + ROUNDING) & (upper <= 1 + ROUNDING)).all():
        raise ValueError("Bounds of the event must satisfy 0 <= lower <= upper <= 1 in every row.")
    weights = normalized_weights(weights, len(prediction))
    return prediction, np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0), weights


def _cutoff_sums(at_upper: Array, at_lower: Array) -> Array:
    """Σ of the first j entries at upper and of the others at lower, for j = 0..n.

    The two parts are summed separately, not through their difference, so that a sum of zeros is exactly zero.
    """
    return np.append(0.0, np.cumsum(at_upper)) + np.append(np.cumsum(at_lower[::-1])[::-1], 0.0)


def _defined_argmax(values: Array) -> int:
    """Index of the maximum; raise an error if all values are -inf, that is undefined."""
    best = int(np.argmax(values))
    if values[best] == -np.inf:
        raise UndefinedError(
            "A condition has probability zero: the event, or its complement, occurs in no row.", "metric"
        )
    return best


def _separation_extremes(gain: Array, lower: Array, upper: Array, weights: Array, scale: float) -> Extremes:
    """min_η and max_η of ½ + scale (E[gain | event] - E[gain | no event])."""
    maximum, maximum_at_upper = _separation_maximum(gain, lower, upper, weights)
    minimum, minimum_at_upper = _separation_maximum(-gain, lower, upper, weights)
    return Extremes(0.5 - scale * minimum, 0.5 + scale * maximum, minimum_at_upper, maximum_at_upper)


def _separation_maximum(gain: Array, lower: Array, upper: Array, weights: Array) -> tuple[float, Array]:
    """max_η of E[gain η] / E[η] - E[gain (1 - η)] / E[1 - η], and the share of upper - lower in each row.

    For a fixed s = E[η] the problem is linear: η is upper for the rows with the highest gain and lower for
    the rest, with one row of gain g in between. As η of that row increases, the value is a/s + b/(1-s), with
    constants a = E[(gain - g) η] and b = E[(g - gain) (1 - η)]. If a and b are negative (the event is less
    likely at higher gains), this is concave with the maximum -(√-a + √-b)² at s/(1-s) = √(a/b). Otherwise it
    is convex or monotone, and largest at a cut-off between rows. All cut-offs and all maxima within rows are
    compared; cut-offs alone miss the bound by O(1 / n). Rows with equal gain are merged into one.
    """
    levels, level = np.unique(gain, return_inverse=True)
    if len(levels) < len(gain):
        mass = np.bincount(level, weights)
        whole = np.maximum(mass, np.finfo(float).tiny)
        low, high = (np.bincount(level, weights * each) / whole for each in (lower, upper))
        value, at_upper = _separation_maximum(levels, low, high, np.asarray(mass, dtype=np.float64))
        return value, at_upper[level]
    order = np.argsort(-gain, kind="stable")
    gain, weights, low, high = gain[order], weights[order], lower[order], upper[order]
    rise = weights * (high - low)
    share = _cutoff_sums(weights * high, weights * low)
    rest = _cutoff_sums(weights * (1 - high), weights * (1 - low))
    gain_share = _cutoff_sums(weights * gain * high, weights * gain * low)
    gain_rest = _cutoff_sums(weights * gain * (1 - high), weights * gain * (1 - low))
    at_cutoffs = _separation(gain_share, share, gain_rest, rest)

    root_a = np.sqrt(np.maximum(gain * share[:-1] - gain_share[:-1], 0.0))
    root_b = np.sqrt(np.maximum(gain_rest[:-1] - gain * rest[:-1], 0.0))
    concave = (root_a > 0) & (root_b > 0)
    top = np.divide(root_a, root_a + root_b, out=np.zeros_like(root_a), where=concave)
    inside = concave & (share[:-1] < top) & (top < share[1:])
    within_rows = np.where(inside, -((root_a + root_b) ** 2), -np.inf)

    best, best_row = _defined_argmax(at_cutoffs), int(np.argmax(within_rows))
    at_upper = np.zeros(len(gain))
    if at_cutoffs[best] >= within_rows[best_row]:
        at_upper[order[:best]] = 1.0
        return float(at_cutoffs[best]), at_upper
    at_upper[order[:best_row]] = 1.0
    at_upper[order[best_row]] = (top[best_row] - share[best_row]) / rise[best_row]
    return float(within_rows[best_row]), at_upper


def _separation(gain_share: Array, share: Array, gain_rest: Array, rest: Array) -> Array:
    """E[gain | event] - E[gain | no event]; -inf where the event or its complement has probability zero."""
    defined = (share > NEGLIGIBLE) & (rest > NEGLIGIBLE)
    values = np.full(share.shape, -np.inf)
    values[defined] = gain_share[defined] / share[defined] - gain_rest[defined] / rest[defined]
    return values
