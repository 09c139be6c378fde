"""A share that is known up to an interval: where in it a separation of an event is largest."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from selective_labels.identification.bounds import Array


def widest_share(
    slopes: ArrayLike, intercepts: ArrayLike, mean_gain: float, between: Sequence[float]
) -> float:
    """argmax_s of (J(s) - s E[gain]) / (s (1 - s)), J(s) = min_ν (ν s + I_ν): Cov(gain, η) / (s (1 - s)).

    J(s) is the largest E[gain η] with E[η] = s, by multipliers ν. Where one of them is the smallest, the
    value is I/s + (I + ν - E[gain]) / (1 - s). If both numerators are negative this is concave with its top
    where s / (1 - s) is the root of their ratio, else it is convex or monotone. So the largest is at a top,
    at a crossing of two lines, or at an end of the interval: all are compared, and the answer is exact.

    Parameters
    ----------
    slopes, intercepts : (n_multipliers,) arrays
        ν and I_ν = E[max_η (gain - ν) η].
    mean_gain : float
        E[gain].
    between : low and high
        Strictly between 0 and 1.

    Returns
    -------
    float

    Examples
    --------
    Two cells of equal mass, with gains 1 and 0 and η between .2 and .6 in each. Unknown, the share would be
    .4 at the largest separation; it is known to be larger.

    >>> round(widest_share([0.0, 1.0], [0.3, -0.1], 0.5, (0.2, 0.6)), 3)
    0.4
    >>> round(widest_share([0.0, 1.0], [0.3, -0.1], 0.5, (0.45, 0.6)), 3)
    0.45
    """
    slope, intercept = (np.asarray(each, dtype=float) for each in (slopes, intercepts))
    first, second = np.triu_indices(len(slope), k=1)
    apart = slope[second] - slope[first]
    crossings = (intercept[first] - intercept[second])[apart != 0.0] / apart[apart != 0.0]
    below, above = (np.sqrt(np.maximum(-each, 0.0)) for each in (intercept, intercept + slope - mean_gain))
    concave = (below > 0.0) & (above > 0.0)
    tops = below[concave] / (below + above)[concave]
    places = np.concatenate([crossings, tops])
    low, high = between
    places = np.append([low, high], places[(places > low) & (places < high)])
    return float(places[np.argmax(_separations(places, slope, intercept, mean_gain))])


def _separations(shares: Array, slope: Array, intercept: Array, mean_gain: float) -> Array:
    joint = (shares[:, None] * slope + intercept).min(axis=1)
    return np.asarray((joint - shares * mean_gain) / (shares * (1.0 - shares)))
