"""Bins of boosted trees under weights, with one sort per feature.

scikit-learn 1.8 and 1.9 sort the rows anew for each of 254 quantiles, which takes most of the time of a
weighted fit (scikit-learn#34304); later versions do not, and are left alone. The thresholds are the same to
the last bit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np
from sklearn.ensemble._hist_gradient_boosting import binning

# Private names of scikit-learn: where a version lacks one of them, nothing is replaced.
_theirs: Any = getattr(binning, "_find_binning_thresholds", None)
SLOW = hasattr(binning, "_weighted_percentile") and _theirs is not None
_LOCK = Lock()
_inside = 0


def find_thresholds(
    col_data: np.ndarray, max_bins: int, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Thresholds between at most `max_bins` bins of one column; names and order are those of scikit-learn.

    Examples
    --------
    >>> find_thresholds(np.arange(8.0), 2, np.array([1.0, 1, 1, 1, 1, 1, 1, 9]))
    array([7.])
    """
    if sample_weight is None:
        return _theirs(col_data, max_bins)
    kept = ~np.isnan(col_data) & (sample_weight != 0)
    values, weight = col_data[kept], sample_weight[kept]
    order = np.argsort(values)
    values, weight = values[order], weight[order]
    if len(np.unique(values)) <= max_bins:
        return _theirs(values, max_bins)
    ranks = np.linspace(0, 100, num=max_bins + 1)[1:-1]
    edges = np.unique(averaged_quantiles(values, weight, ranks))
    return np.clip(edges, None, binning.ALMOST_INF)


def averaged_quantiles(values: np.ndarray, weight: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Weighted quantiles, averaged where two values qualify; all weights are positive.

    Q(r) = inf {v : F(v) >= r},   and the mean of Q(r) and the next value where F(Q(r)) = r

    Examples
    --------
    >>> averaged_quantiles(np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0]), np.array([25, 50, 60]))
    array([1.5, 3. , 4. ])
    """
    # Ties are ordered as scikit-learn orders them: by a sort of one column, which need not keep their order.
    order = np.argsort(values[:, None], axis=0)[:, 0]
    total = np.cumsum(weight[order])
    asked = ranks / 100 * total[-1]
    last = len(values) - 1
    place = np.minimum(np.searchsorted(total, asked), last)
    here, after = values[order[place]], values[order[np.minimum(place + 1, last)]]
    return np.where(total[place] - asked > np.finfo(float).eps, here, (here + after) / 2)


@contextmanager
def sorting_once() -> Iterator[None]:
    """Inside, scikit-learn finds weighted bins by :func:`find_thresholds`, where its own way is slow.

    Fits in several threads overlap: the last one to leave restores the function.
    """
    global _inside
    if not SLOW:
        yield
        return
    with _LOCK:
        _inside += 1
        binning._find_binning_thresholds = find_thresholds
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if not _inside:
                binning._find_binning_thresholds = _theirs
