"""How high water stands in basins with a bottom and a brim each."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def water_level(lower: Array, upper: Array, total: Array) -> Array:
    """Solve Σ_j clip(level, lower_j, upper_j) = total for the level of each row.

    The sum is piecewise linear in the level: its slope grows by one at each lower end and falls by one at
    each upper end.

    Parameters
    ----------
    lower, upper : (n_samples, n_classes) arrays
    total : (n_samples,) array
        Between the sums of the two.

    Examples
    --------
    >>> water_level(np.array([[0.0, 0.2]]), np.array([[0.5, 0.3]]), np.array([0.7]))
    array([0.4])
    """
    ends = np.concatenate([lower, upper], axis=1)
    order = np.argsort(ends, axis=1)
    knots = np.take_along_axis(ends, order, axis=1)
    slopes = np.cumsum(np.where(order < lower.shape[1], 1.0, -1.0), axis=1)
    rises = slopes[:, :-1] * np.diff(knots, axis=1)
    heights = lower.sum(axis=1, keepdims=True) + np.cumsum(rises, axis=1)
    # The piece that reaches the total: the number of knots that stay below it.
    piece = np.minimum((heights < total[:, None]).sum(axis=1), heights.shape[1] - 1)[:, None]
    height, knot, slope = (
        np.take_along_axis(values, index, axis=1)[:, 0]
        for values, index in ((heights, piece), (knots, piece + 1), (slopes, piece))
    )
    # At the end of the piece the sum has risen to `height`; go back by what is too much.
    return knot - (height - total) / np.maximum(slope, 1.0)
