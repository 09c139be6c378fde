"""Where a score is cut, unless said otherwise."""

import numpy as np
from numpy.typing import ArrayLike

from selective_labels.identification.bounds import Array

N_THRESHOLDS = 41
SHARE_ROUNDING = 1e-9


def default_thresholds(
    scores: ArrayLike, n_thresholds: int = N_THRESHOLDS, weights: ArrayLike | None = None
) -> Array:
    """Quantiles of a score, each a value that occurs, and one more above all: nobody is flagged there.

    A quantile is the smallest value that at least so large a share of the weight does not exceed.

    Examples
    --------
    >>> default_thresholds([0.0, 0.0, 1.0, 3.0], n_thresholds=3).round(2)
    array([0., 3., 3.])
    >>> default_thresholds([0.0, 1.0, 3.0], n_thresholds=3, weights=[1, 2, 1]).round(2)
    array([0., 1., 3., 3.])
    """
    values = np.asarray(scores, dtype=float)
    mass = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(mass[order]) / mass.sum()
    # Sums of shares are rounded: what reaches a quantile up to rounding reaches it.
    places = np.searchsorted(shares, np.linspace(0.0, 1.0, n_thresholds) - SHARE_ROUNDING)
    quantiles = values[order][np.minimum(places, len(values) - 1)]
    return np.unique([*quantiles, np.nextafter(values.max(), np.inf)])
