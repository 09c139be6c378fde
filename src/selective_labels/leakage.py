"""Columns that give the label or the decision away."""

import numpy as np
import pandas as pd

N_BINS = 64
# A column leaks if guessing from it alone errs on less than this share of held-out rows ...
MAX_ERROR = 0.01
# ... and on less than this part of what guessing the commonest value errs.
MAX_RELATIVE_ERROR = 0.05
MIN_ROWS = 20


def leaking_columns(frame: pd.DataFrame, target: np.ndarray) -> list[str]:
    """Name the columns from each of which alone the target can (nearly) be read.

    The commonest target in each bin of a column (its values, or quantiles if there are many) is learned
    on every other row and tried on the rest. A column leaks if this errs on less than 1 % of the rows and
    less than a twentieth of what the commonest target of all errs.

    Parameters
    ----------
    frame : pandas.DataFrame
    target : (n_samples,) int array

    Returns
    -------
    list of str

    Examples
    --------
    >>> target = np.arange(100) % 2
    >>> leaking_columns(pd.DataFrame({"copy": 5 - target, "noise": np.arange(100) // 7}), target)
    ['copy']
    """
    target = np.asarray(target)
    if len(target) < MIN_ROWS or len(np.unique(target)) < 2:
        return []
    # Rows often come sorted; halves drawn at random have both ends of every order in each.
    learn = np.random.default_rng(0).permutation(len(target)) % 2 == 0
    commonest = int(np.bincount(target[learn]).argmax())
    baseline = np.mean(target[~learn] != commonest)
    threshold = min(MAX_ERROR, MAX_RELATIVE_ERROR * baseline)
    return [
        str(column)
        for column in frame.columns
        if _error(_bins(frame[column]), target, learn, commonest) < threshold
    ]


def _bins(column: pd.Series) -> np.ndarray:
    """Codes from 0; a missing value is a value."""
    numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if numeric and column.nunique() > N_BINS:
        column = pd.qcut(column.astype(float), N_BINS, labels=False, duplicates="drop")
    return np.asarray(pd.factorize(column)[0]) + 1


def _error(bins: np.ndarray, target: np.ndarray, learn: np.ndarray, commonest: int) -> float:
    counts = np.zeros((bins.max() + 1, target.max() + 1), dtype=int)
    np.add.at(counts, (bins[learn], target[learn]), 1)
    guess = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), commonest)
    return float(np.mean(guess[bins[~learn]] != target[~learn]))
