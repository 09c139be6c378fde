"""Sums and means by code, and comparisons within strata."""

import numpy as np
from scipy.sparse import csc_array


def sums_by(codes: np.ndarray, columns: np.ndarray, n_codes: int) -> np.ndarray:
    """Sum each column over the rows of each code, shape (n_codes, n_columns).

    Examples
    --------
    >>> sums_by(np.array([0, 1, 0]), np.array([[1.0], [2.0], [3.0]]), 2)
    array([[4.],
           [2.]])
    """
    n_rows = len(codes)
    members = csc_array((np.ones(n_rows), codes, np.arange(n_rows + 1)), shape=(n_codes, n_rows))
    return members @ columns


def centred(values: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Values minus their mean within the row's cell; one or two dimensions.

    Examples
    --------
    >>> centred(np.array([1.0, 3.0, 5.0]), np.array([0, 0, 1]))
    array([-1.,  1.,  0.])
    """
    columns = values if values.ndim == 2 else values[:, None]
    n_cells = int(cells.max()) + 1
    counts = np.maximum(np.bincount(cells, minlength=n_cells), 1)
    means = sums_by(cells, columns, n_cells) / counts[:, None]
    return (columns - means[cells]).reshape(values.shape)


def decision_makers_per_cell(cells: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """How many different codes each cell holds, shape (n_cells,).

    Examples
    --------
    >>> decision_makers_per_cell(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 2]))
    array([2, 1])
    """
    n_codes = int(codes.max()) + 1
    pairs = np.unique(cells * n_codes + codes)
    return np.bincount(pairs // n_codes, minlength=int(cells.max()) + 1)


def holm(p_values: np.ndarray) -> np.ndarray:
    """P-values adjusted for the number of tests by Holm's method.

    Examples
    --------
    >>> holm(np.array([0.01, 0.5, 0.03]))
    array([0.03, 0.5 , 0.06])
    """
    order = np.argsort(p_values)
    factors = len(p_values) - np.arange(len(p_values))
    adjusted = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    result = np.empty(len(p_values))
    result[order] = adjusted
    return result
