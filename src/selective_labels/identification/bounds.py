"""Bounds on the class probabilities of each row: the set, the label range, repair and shrinkage.

`raw_bounds` and `realizable` compute the bounds, `repair` handles rows whose estimated bounds cross, and
`shrink_across_decision_makers` removes noise from the probabilities they are computed from.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from selective_labels._errors import InputError

Event = tuple[int, ...]


Array = NDArray[np.float64]


def clipped_sum_root(lower: Array, upper: Array, total: Array) -> Array:
    """Solve Σ_j clip(level, lower_j, upper_j) = total for the level of each row.

    The sum is piecewise linear in the level. Its slope increases by one at each lower limit and decreases by
    one at each upper limit.

    Parameters
    ----------
    lower, upper : (n_samples, n_classes) arrays
        Limits of each class.
    total : (n_samples,) array
        Target of the sum, between Σ_j lower_j and Σ_j upper_j.

    Examples
    --------
    >>> clipped_sum_root(np.array([[0.0, 0.2]]), np.array([[0.5, 0.3]]), np.array([0.7]))
    array([0.4])
    """
    ends = np.concatenate([lower, upper], axis=1)
    order = np.argsort(ends, axis=1)
    knots = np.take_along_axis(ends, order, axis=1)
    slopes = np.cumsum(np.where(order < lower.shape[1], 1.0, -1.0), axis=1)
    rises = slopes[:, :-1] * np.diff(knots, axis=1)
    heights = lower.sum(axis=1, keepdims=True) + np.cumsum(rises, axis=1)
    # The number of knots with a sum below the total is the index of the piece with the solution.
    piece = np.minimum((heights < total[:, None]).sum(axis=1), heights.shape[1] - 1)[:, None]
    height, knot, slope = (
        np.take_along_axis(values, index, axis=1)[:, 0]
        for values, index in ((heights, piece), (knots, piece + 1), (slopes, piece))
    )
    # The sum equals `height` at the right end of the piece; move left until it equals the total.
    return knot - (height - total) / np.maximum(slope, 1.0)


Mask = NDArray[np.bool_]

# Tolerance for sums of double-precision probabilities. It absorbs rounding, not sampling error.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Bounds:
    """Box-and-simplex set of class probabilities, row by row.

    {η : lower_k <= η_k <= upper_k for every class k, Σ_k η_k = 1}

    The set can be empty because estimated bounds can cross. `crossed` marks such rows; only `repair` changes
    them.

    Parameters
    ----------
    lower, upper : array of shape (n_samples, n_classes)
        Smallest and largest probability of each class.

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.3, 0.2], [0.7, 0.6]]), np.array([[0.8, 0.7], [0.7, 0.6]]))
    >>> bounds.slack
    array([ 0.5, -0.3])
    >>> bounds.crossed
    array([False,  True])
    >>> bounds.contains(np.array([[0.4, 0.6], [0.5, 0.5]]))
    array([ True, False])
    """

    lower: Array
    upper: Array

    def __post_init__(self) -> None:
        # A programming error, not a problem of the user's data, so not an InputError.
        if np.ndim(self.lower) != 2 or np.shape(self.lower) != np.shape(self.upper):
            raise ValueError(
                "lower and upper must both have shape (n_samples, n_classes), "
                f"got {np.shape(self.lower)} and {np.shape(self.upper)}"
            )

    def __len__(self) -> int:
        return len(self.lower)

    def __iter__(self) -> Iterator[Array]:
        """Unpack: ``lower, upper = bounds``."""
        return iter((self.lower, self.upper))

    @property
    def slack(self) -> Array:
        """1 - Σ_k lower_k, the probability that the lower bounds leave unassigned; shape (n_samples,)."""
        return 1.0 - self.lower.sum(axis=1)

    @property
    def width(self) -> Array:
        """Width upper_k - lower_k of each interval; shape (n_samples, n_classes)."""
        return self.upper - self.lower

    @property
    def crossed(self) -> Mask:
        """Rows whose set is empty, allowing for rounding; shape (n_samples,)."""
        ordered = (self.lower <= self.upper + ROUNDING).all(axis=1)
        room = (self.lower.sum(axis=1) <= 1.0 + ROUNDING) & (self.upper.sum(axis=1) >= 1.0 - ROUNDING)
        return ~(ordered & room)  # this form also marks rows with NaN

    def contains(self, probabilities: ArrayLike, tolerance: float = ROUNDING) -> Mask:
        """Rows whose probability vector lies in the set; shape (n_samples,)."""
        probabilities = np.asarray(probabilities, dtype=np.float64)
        inside = (probabilities >= self.lower - tolerance) & (probabilities <= self.upper + tolerance)
        return inside.all(axis=1) & (np.abs(probabilities.sum(axis=1) - 1.0) <= tolerance)


def raw_bounds(
    joint_by_decision_maker: Iterable[ArrayLike], lowest: ArrayLike = 0.0, highest: ArrayLike = 1.0
) -> Bounds:
    """Bound each class probability by the tightest bound that any decision-maker implies.

    lower_k = max(a_k, max_z [p_kz + a_k (1 - λ_z)]),   upper_k = min(b_k, min_z [p_kz + b_k (1 - λ_z)])

    with p_kz = P(Y=k, D=1 | x, z), λ_z = Σ_k p_kz and a_k <= P(Y*=k | x, u) <= b_k. This is Theorem 5.2. It
    assumes as-if-random assignment, Z ⟂ (U, Y*) | X, and D ⟂ Y* | X, U, Z (E3). Each interval is sharp for
    its class alone; `realizable` gives the sharp intervals for all classes together (E6). The outer max and
    min with a_k and b_k are valid because η_k is a mean of probabilities between a_k and b_k.

    Parameters
    ----------
    joint_by_decision_maker : iterable of arrays of shape (n_samples, n_classes + 1)
        One array per decision-maker, with the unlabeled class first. The arrays are read one at a time.
    lowest, highest : array broadcastable to (n_samples, n_classes)
        Label range a_k, b_k.

    Examples
    --------
    The example of E6: the raw upper bound of class 0 is 0.6, which no vector in the set attains.

    >>> strict, lenient = [[0.5, 0.1, 0.4, 0.0]], [[0.5, 0.1, 0.0, 0.4]]
    >>> bounds = raw_bounds([strict, lenient])
    >>> bounds.lower
    array([[0.1, 0.4, 0.4]])
    >>> bounds.upper
    array([[0.6, 0.5, 0.5]])
    """
    ends: tuple[Array, Array] | None = None
    for joint in joint_by_decision_maker:
        joint = np.asarray(joint, dtype=np.float64)
        unlabeled, labeled = joint[:, :1], joint[:, 1:]
        lower = labeled + np.asarray(lowest) * unlabeled
        upper = labeled + np.asarray(highest) * unlabeled
        if ends is None:
            ends = lower, upper
        else:
            np.maximum(ends[0], lower, out=ends[0])
            np.minimum(ends[1], upper, out=ends[1])
    if ends is None:  # a programming error
        raise ValueError("bounds need the joint probabilities of at least one decision-maker, got none")
    return Bounds(np.maximum(ends[0], lowest), np.minimum(ends[1], highest))


def realizable(bounds: Bounds) -> Bounds:
    """Shrink every interval to the values that some probability vector in the set attains.

    lower~_k = max(lower_k, 1 - Σ_{j≠k} upper_j),   upper~_k = min(upper_k, 1 - Σ_{j≠k} lower_j)

    These are the bounds of Theorem 5.3 (E5, E6). Without a label range (a = 0, b = 1) they are sharp and
    equal lower_k and lower_k + slack. If both a and b bind and there are three or more classes, the set is an
    outer set (E13). A crossed row stays crossed.

    Examples
    --------
    >>> realizable(Bounds(np.array([[0.1, 0.4, 0.4]]), np.array([[0.6, 0.5, 0.5]]))).upper
    array([[0.2, 0.5, 0.5]])
    """
    room_below = 1.0 - bounds.upper.sum(axis=1, keepdims=True) + bounds.upper
    room_above = 1.0 - bounds.lower.sum(axis=1, keepdims=True) + bounds.lower
    lower = np.maximum(bounds.lower, room_below)
    upper = np.minimum(bounds.upper, room_above)
    # Rounding alone can reverse the bounds of an uncrossed row without slack.
    upper = np.where(bounds.crossed[:, None], upper, np.maximum(lower, upper))
    return Bounds(lower, upper)


def repair(bounds: Bounds, lowest: ArrayLike = 0.0, highest: ArrayLike = 1.0) -> tuple[Bounds, Mask]:
    """Repair crossed rows by a fixed policy, and return which rows were repaired.

    The first case that applies to a row decides:

    1. Σ_k lower_k > 1: the set becomes the single vector lower / Σ_k lower_k, without slack;
    2. Σ_k upper_k < 1: the set becomes the single vector upper / Σ_k upper_k (uniform if all are zero);
    3. lower_k > upper_k for some k: the two bounds are swapped, so that the interval covers the disagreement
       between decision-makers;
    4. not crossed: the row is unchanged.

    Intervals are then clipped to the label range; a single vector is projected onto it. Finally all rows are
    made `realizable`. The result is never crossed.

    Parameters
    ----------
    lowest, highest : array broadcastable to (n_samples, n_classes)
        Label range.

    Returns
    -------
    bounds : Bounds
    repaired : bool array of shape (n_samples,)
        Rows that were crossed, because of sampling error or an invalid instrument.

    Examples
    --------
    >>> lower, upper = np.array([[0.75, 0.5], [0.2, 0.3]]), np.array([[0.5, 0.25], [0.7, 0.8]])
    >>> mended, repaired = repair(Bounds(lower, upper))
    >>> mended.lower
    array([[0.6, 0.4],
           [0.2, 0.3]])
    >>> repaired
    array([ True, False])
    """
    lower_total = bounds.lower.sum(axis=1, keepdims=True)
    upper_total = bounds.upper.sum(axis=1, keepdims=True)
    too_high = lower_total > 1.0 + ROUNDING
    too_low = ~too_high & (upper_total < 1.0 - ROUNDING)
    scaled_lower = bounds.lower / np.where(too_high, lower_total, 1.0)
    uniform = np.full_like(bounds.upper, 1.0 / bounds.upper.shape[1])
    scaled_upper = np.divide(bounds.upper, upper_total, out=uniform, where=upper_total > 0.0)
    lower = np.select(
        [too_high, too_low], [scaled_lower, scaled_upper], np.minimum(bounds.lower, bounds.upper)
    )
    upper = np.select(
        [too_high, too_low], [scaled_lower, scaled_upper], np.maximum(bounds.lower, bounds.upper)
    )
    single = (too_high | too_low)[:, 0]
    outside = single & ((lower < lowest) | (lower > highest)).any(axis=1)
    if outside.any():
        least, most = (np.broadcast_to(end, lower.shape)[outside] for end in (lowest, highest))
        lower[outside] = upper[outside] = _nearest_within(lower[outside], least, most)
    lower = np.where(single[:, None], lower, np.maximum(lower, lowest))
    upper = np.where(single[:, None], upper, np.minimum(upper, highest))
    return realizable(Bounds(lower, upper)), bounds.crossed


def _nearest_within(vector: Array, lowest: Array, highest: Array) -> Array:
    """Project onto {η : lowest <= η <= highest, Σ_k η_k = 1}, by a common shift and clipping."""
    least, most = lowest - vector, highest - vector
    shift = clipped_sum_root(least, most, 1.0 - vector.sum(axis=1))
    return vector + np.clip(shift[:, None], least, most)


def as_label_range(label_range: Any, X: Any, n_classes: int) -> tuple[Array, Array]:
    """Convert the user's label range to two arrays a and b with a_k <= P(Y*=k | x, u) <= b_k.

    The range is valid if 0 <= a_k <= b_k <= 1 and Σ_k a_k <= 1 <= Σ_k b_k in every row (Assumption 5.1).

    Parameters
    ----------
    label_range : pair
        Lower and upper limit. Each is a number, an array of shape (n_classes,), or a callable of X that
        returns an array of shape (n_classes,) or (n_samples, n_classes).
    X : array or frame with n_samples rows

    Returns
    -------
    lowest, highest : arrays of shape (n_classes,) or (n_samples, n_classes)

    Examples
    --------
    >>> lowest, highest = as_label_range((0.05, [0.5, 0.9, 0.9]), np.zeros((4, 1)), 3)
    >>> lowest, highest
    (array([0.05, 0.05, 0.05]), array([0.5, 0.9, 0.9]))
    """
    try:
        lowest, highest = label_range
    except (TypeError, ValueError):
        raise InputError.about(
            "label_range", f"must be a pair (lowest, highest), got {label_range!r}"
        ) from None
    a, b = (_label_range_end(end, X, n_classes) for end in (lowest, highest))
    ordered = (a >= 0.0) & (a <= b) & (b <= 1.0)
    # The condition is negated so that NaN fails as well.
    if not (
        ordered.all()
        and (a.sum(axis=-1) <= 1.0 + ROUNDING).all()
        and (b.sum(axis=-1) >= 1.0 - ROUNDING).all()
    ):
        raise InputError.about(
            "label_range",
            "must satisfy 0 <= lowest <= highest <= 1 for every class, "
            "with the lowest values summing to at most 1 and the highest to at least 1",
        )
    return a, b


def _label_range_end(end: float | ArrayLike | Callable[[Any], ArrayLike], X: Any, n_classes: int) -> Array:
    given = end(X) if callable(end) else end
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError.about("label_range", f"must hold numbers, got {given!r}") from None
    if values.ndim == 0:
        return np.full(n_classes, values)
    per_row = (np.shape(X)[0], n_classes)
    if values.shape == (n_classes,) or (callable(end) and values.shape == per_row):
        return values
    raise InputError.about(
        "label_range",
        f"must hold numbers, arrays of shape ({n_classes},) or callables that return shape "
        f"({n_classes},) or {per_row}, got shape {values.shape}",
    )


def shrink_across_decision_makers(joint: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Shrink each decision-maker's probabilities towards their common mean, according to the noise.

    p̃_z = m + max(0, 1 - s² / v) (p_z - m),   m = mean_z p_z,   v = Σ_z |p_z - m|² / (J - 1),

    with s² the mean noise variance of the deviations. The maximum of noisy estimates is biased upwards;
    shrinkage in the manner of James and Stein removes nearly all of this bias. The factor is the same for all
    outcomes of a row, so the shrunken probabilities stay non-negative and sum to one.

    Parameters
    ----------
    joint : (n_decision_makers, n_samples, n_classes + 1) array
    noise : (n_samples,) array
        Noise variance of p_z - m, summed over outcomes and averaged over decision-makers
        (see :func:`jackknife_noise`).

    Returns
    -------
    array of the same shape as `joint`

    Examples
    --------
    >>> joint = np.array([[[0.5, 0.5]], [[0.7, 0.3]]])
    >>> shrink_across_decision_makers(joint, np.array([0.02])).round(3)
    array([[[0.55, 0.45]],
           [[0.65, 0.35]]])
    """
    mean = joint.mean(axis=0)
    deviation = joint - mean
    spread = np.sum(deviation**2, axis=(0, 2)) / max(len(joint) - 1, 1)
    factor = np.maximum(0.0, 1.0 - noise / np.maximum(spread, np.finfo(float).tiny))
    return mean + factor[:, None] * deviation


def jackknife_noise(by_fold: np.ndarray) -> np.ndarray:
    """Noise variance of the deviations between decision-makers, from the models of several folds.

    s² = (L - 1) / L · Σ_l Σ_z Σ_c (d_lzc - d̄_zc)² / (J - 1),   d_lz = p_lz - mean_z p_lz.

    This is the delete-a-group jackknife: each fold's model leaves out one of L groups of rows.

    Parameters
    ----------
    by_fold : (n_folds, n_decision_makers, n_samples, n_classes + 1) array

    Returns
    -------
    (n_samples,) array

    Examples
    --------
    >>> jackknife_noise(np.ones((5, 3, 2, 4)))
    array([0., 0.])
    """
    n_folds, n_decision_makers = by_fold.shape[:2]
    deviation = by_fold - by_fold.mean(axis=1, keepdims=True)
    disagreement = np.sum((deviation - deviation.mean(axis=0)) ** 2, axis=(0, 1, 3))
    return (n_folds - 1) / n_folds * disagreement / max(n_decision_makers - 1, 1)


def allocate_slack(
    lower: Array, free: Array, gain: Array, events: Sequence[Event], event_slack: Array
) -> Array:
    """Add the slack of each event to the class of the event with the largest gain.

    The free slack goes to the class with the largest gain overall. All arguments but `gain` can have one more
    axis, for linear forms.

    Examples
    --------
    >>> gain = np.array([[0.0, 2.0, 1.0]])
    >>> allocate_slack(np.zeros((1, 3)), np.array([0.5]), gain, [(0, 2)], np.array([[0.5]]))
    array([[0. , 0.5, 0.5]])
    """
    found, first = np.array(lower, order="C"), np.arange(len(lower)) * lower.shape[1]
    by_cell = found.reshape(-1, *found.shape[2:])
    gain = np.broadcast_to(gain, found.shape[:2])
    for place, event in enumerate(events):
        members = np.asarray(event)
        by_cell[first + members[gain[:, members].argmax(axis=1)]] += event_slack[:, place]
    by_cell[first + gain.argmax(axis=1)] += free
    return found
