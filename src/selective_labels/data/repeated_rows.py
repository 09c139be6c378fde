"""Rows that are exactly alike in their features, and whether they look like repeated rows of one person."""

import numpy as np
import pandas as pd

from selective_labels.data.selective_labels import SelectiveLabels

# Share of rows that must have a copy. With fewer, dependence between copies hardly widens an interval.
LEAST_SHARE = 0.1
# Share of the agreement between two halves of the columns that chance does not explain.
LEAST_AGREEMENT = 0.6
# With fewer distinct rows, or more copies of each, a table is a cross-classification of a few categories.
FEWEST_DISTINCT = 30
MOST_COPIES = 100


def repeated_rows_caution(data: SelectiveLabels) -> str | None:
    """Return a caution if rows seem to belong to the same persons and `groups` is not given; else None.

    Rows alike in all features are common where features are coarse, so copies alone say nothing. Columns are
    divided into two halves. If rows are independent, rows that agree on the first half often differ on the
    second. If persons appear repeatedly, rows that agree on the first half are the same person, and agree on
    all columns.

    agreement = (A - q) / (1 - q)
    A = mean over rows of (copies of the row) / (other rows that agree on the first half),
    q = share of pairs of distinct rows that agree on the second half

    Two features or more are needed, of which one may vary between the rows of a person, such as a date. If
    others vary, too, the repetition cannot be seen.

    Examples
    --------
    >>> person = np.repeat(np.arange(50), 4)
    >>> X = np.random.default_rng(0).normal(size=(50, 2))[person]
    >>> data = SelectiveLabels.from_arrays(X, person % 2, decision_maker=np.zeros(200))
    >>> repeated_rows_caution(data)
    '200 of 200 rows are exactly alike in all features with another row, as if 50 persons appeared
    repeatedly. Rows of one person are not independent, so the interval is not to be trusted: give groups=,
    or cluster="none" if the rows are different cases.'
    """
    if data.groups is not None:
        return None
    frame = pd.DataFrame(data.columns_given + 0.0)  # -0.0 equals 0.0, and their hashes differ
    found, features = _repeated(frame), "all features"
    if found is None and frame.shape[1] > 1:  # a visit has a date or number of its own
        found, features = _repeated(frame.drop(columns=frame.nunique().idxmax())), "all features but one"
    if found is None:
        return None
    n_alike, n_distinct = found
    return (
        f"{n_alike:,} of {len(data):,} rows are exactly alike in {features} with another row, as if "
        f"{n_distinct:,} persons appeared repeatedly. Rows of one person are not independent, so the "
        'interval is not to be trusted: give groups=, or cluster="none" if the rows are different cases.'
    )


def _repeated(frame: pd.DataFrame) -> tuple[int, int] | None:
    """Number of rows with a copy, and of distinct rows, if they look like repeated persons; else None."""
    first, code, copies = _counts(frame)
    alike = copies[copies > 1]
    # Rows without any entry are alike, too; the most frequent row does not count.
    if not len(alike) or alike.sum() - alike.max() < LEAST_SHARE * len(frame):
        return None
    distinct = frame.iloc[first]
    values = distinct.nunique(dropna=False)
    columns = values[values > 1].sort_values(ascending=False, kind="stable").index
    halves = columns[::2], columns[1::2]
    if not max(FEWEST_DISTINCT, len(frame) / MOST_COPIES) <= len(distinct) or not len(halves[1]):
        return None
    _, half_code, agreeing = _counts(frame[halves[0]])
    others = agreeing[half_code] - 1
    shared = others > 0
    agreement = float(np.mean((copies[code] - 1)[shared] / others[shared]))
    pairs = _counts(distinct[halves[1]])[2].astype(float)
    chance = float(np.sum(pairs * (pairs - 1.0)) / (len(distinct) * (len(distinct) - 1.0)))
    if agreement - chance < LEAST_AGREEMENT * (1.0 - chance):
        return None
    return int(alike.sum()), len(distinct)


def _counts(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First row of each distinct row, the code of every row, and the number of rows of each code."""
    hashes = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    _, first, code, number = np.unique(hashes, return_index=True, return_inverse=True, return_counts=True)
    return first, code, number
