"""Columns that give the label or the decision away."""

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

# A tree cuts ordered columns into at most this many intervals.
N_INTERVALS = 64
# So many rows, drawn at random, tell a leak as well as all.
MAX_ROWS = 20_000
# A column leaks if guessing from it alone errs on less than this share of held-out rows ...
MAX_ERROR = 0.01
# ... and on less than this part of what guessing the commonest value errs.
MAX_RELATIVE_ERROR = 0.05
MIN_ROWS = 20


def leaking_columns(frame: pd.DataFrame, target: np.ndarray) -> list[str]:
    """Name the columns from each of which alone the target can (nearly) be read.

    The commonest target in each bin of a column (its values, its being missing, or, if it is ordered, the
    intervals of a tree) is learned on half of the rows and tried on the rest. A column leaks if one of these
    errs on less than 1 % of the rows and less than a twentieth of what the commonest target of all errs.

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
    drawn = np.random.default_rng(0).permutation(len(target))[:MAX_ROWS]
    frame, target = frame.iloc[drawn], target[drawn]
    learn = np.arange(len(target)) % 2 == 0
    commonest = int(np.bincount(target[learn]).argmax())
    baseline = np.mean(target[~learn] != commonest)
    threshold = min(MAX_ERROR, MAX_RELATIVE_ERROR * baseline)
    return [
        str(column)
        for column in frame.columns
        if min(_error(bins, target, learn, commonest) for bins in _bins(frame[column], target, learn))
        < threshold
    ]


def _bins(column: pd.Series, target: np.ndarray, learn: np.ndarray) -> list[np.ndarray]:
    """Ways to cut a column, each as codes from 0; a missing value is a value."""
    ways = [np.asarray(pd.factorize(column)[0]) + 1, column.isna().to_numpy(dtype=int)]
    if _is_ordered(column):
        tree = DecisionTreeClassifier(max_leaf_nodes=N_INTERVALS, random_state=0)
        values = _unit_scale(column)[:, None]
        ways.append(tree.fit(values[learn], target[learn]).apply(values))
    return ways


def _unit_scale(column: pd.Series) -> np.ndarray:
    """Ordered values between 0 and 1, because trees read single precision; infinities at the ends."""
    if not pd.api.types.is_numeric_dtype(column):
        column = column.astype("int64").where(column.notna())
    values = column.to_numpy(dtype=float, na_value=np.nan)
    finite = values[np.isfinite(values)]
    lowest, highest = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    return (np.clip(values, lowest, highest) - lowest) / max(highest - lowest, np.finfo(float).tiny)


def _is_ordered(column: pd.Series) -> bool:
    types = pd.api.types
    number = types.is_numeric_dtype(column) and not types.is_complex_dtype(column)
    return bool(number or types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column))


def _error(bins: np.ndarray, target: np.ndarray, learn: np.ndarray, commonest: int) -> float:
    counts = np.zeros((bins.max() + 1, target.max() + 1), dtype=int)
    np.add.at(counts, (bins[learn], target[learn]), 1)
    guess = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), commonest)
    return float(np.mean(guess[bins[~learn]] != target[~learn]))
