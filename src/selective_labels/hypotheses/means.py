"""Whether a mean lies above zero, by weights and by units that may have several rows."""

import numpy as np
from scipy.stats import t as student


def mean_above_zero(
    values: np.ndarray, weights: np.ndarray, units: np.ndarray | None = None, error: float = 0.0
) -> tuple[float, float]:
    """T statistic of a weighted mean, and the p-value of "not above zero".

    s² = G / (G - 1) · Σ_g (Σ_{i in g} w_i (v_i - mean))² / (Σ w)² + error²,   t with G - 1 degrees of freedom

    Parameters
    ----------
    values : (n_samples,) array
    weights : (n_samples,) array
        Not negative, not all zero.
    units : (n_samples,) int array, optional
        Rows of one unit depend on each other; None: every row is one.
    error : float
        Standard error of what was subtracted from all values, from other cases.

    Examples
    --------
    >>> values = np.array([1.0, 1.0, 3.0, 3.0])
    >>> [round(each, 3) for each in mean_above_zero(values, np.ones(4))]
    [3.464, 0.02]
    >>> [round(each, 3) for each in mean_above_zero(values, np.ones(4), np.array([0, 0, 1, 1]))]
    [2.0, 0.148]
    """
    share = weights / weights.sum()
    mean = float(share @ values)
    sums = share * (values - mean)
    if units is not None:
        codes = np.unique(units, return_inverse=True)[1]
        sums = np.bincount(codes, sums)
    number = len(sums)
    spread = np.sum(sums**2) * number / max(number - 1, 1)
    noise = float(np.sqrt(spread + error**2))
    statistic = mean / noise if noise > 0.0 and number > 1 else 0.0
    return float(statistic), float(student.sf(statistic, max(number - 1, 1)))
