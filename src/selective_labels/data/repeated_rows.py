"""Rows that are exactly alike in their features, and whether they look like repeated rows of one person."""

import numpy as np
import pandas as pd

from selective_labels.data.selective_labels import SelectiveLabels

# Share of rows that must have a copy. With fewer, dependence between copies hardly widens an interval.
LEAST_SHARE = 0.1
# Agreement of rows on some columns, given the others, net of chance.
LEAST_AGREEMENT = 0.6
# With fewer distinct rows, or more copies of each, a table is a cross-classification of a few categories.
FEWEST_DISTINCT = 30
MOST_COPIES = 100
# Columns that are compared one by one: those with the fewest values.
MOST_COLUMNS = 10


def repeated_rows_caution(data: SelectiveLabels) -> str | None:
    """Return a caution if rows seem to belong to the same persons and `groups` is not given; else None.

    Rows alike in all features are common where features are coarse, so copies alone say nothing. If persons
    appear repeatedly, rows that agree on some columns are the same person, and agree on all. If rows are
    independent, they often differ on the others.

    agreement = (A - q) / (1 - q)
    A = mean over rows of (copies of the row) / (other rows that agree on some columns),
    q = share of pairs of distinct rows that agree on the other columns

    The agreement must be high for the two halves of the columns, and for each column given all others but the
    one with the most values. Two features or more are needed, of which one may vary between the rows of a
    person, such as a date. If others vary, too, the repetition cannot be seen.

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
    hashes = _column_hashes(data.columns_given)
    values = np.array([len(pd.unique(column)) for column in hashes], dtype=int)
    hashes = hashes[np.argsort(-values, kind="stable")]
    found, features = _repeated(hashes), "all features"
    if found is None:  # a visit has a date or number of its own
        found, features = _repeated(hashes[1:]), "all features but one"
    if found is None:
        return None
    n_alike, n_distinct = found
    return (
        f"{n_alike:,} of {len(data):,} rows are exactly alike in {features} with another row, as if "
        f"{n_distinct:,} persons appeared repeatedly. Rows of one person are not independent, so the "
        'interval is not to be trusted: give groups=, or cluster="none" if the rows are different cases.'
    )


def _repeated(hashes: np.ndarray) -> tuple[int, int] | None:
    """Number of rows with a copy, and of distinct rows, if they look like repeated persons; else None."""
    whole = hashes.sum(axis=0, dtype=np.uint64)
    _, first, code, copies = np.unique(whole, return_index=True, return_inverse=True, return_counts=True)
    alike, n_rows = copies[copies > 1], len(whole)
    # Rows without any entry are alike, too; the most frequent row does not count.
    if not len(alike) or alike.sum() - alike.max() < LEAST_SHARE * n_rows:
        return None
    varying = hashes[[len(np.unique(column[first])) > 1 for column in hashes]]
    if len(varying) < 2 or len(first) < max(FEWEST_DISTINCT, n_rows / MOST_COPIES):
        return None
    parts = [varying[1::2].sum(axis=0, dtype=np.uint64), *varying[1:][-MOST_COLUMNS:]]
    if any(_agreement(whole - part, part[first], copies[code]) < LEAST_AGREEMENT for part in parts):
        return None
    return int(alike.sum()), len(first)


def _agreement(rest: np.ndarray, part: np.ndarray, copies: np.ndarray) -> float:
    """Agreement of rows on a part of the columns, given that they agree on the rest, net of chance."""
    _, code, number = np.unique(rest, return_inverse=True, return_counts=True)
    others = number[code] - 1
    shared = others > 0
    pairs = np.unique(part, return_counts=True)[1].astype(float)
    chance = float(np.sum(pairs * (pairs - 1.0)) / (len(part) * (len(part) - 1.0)))
    return (float(np.mean((copies - 1)[shared] / others[shared])) - chance) / (1.0 - chance)


def _column_hashes(X: np.ndarray) -> np.ndarray:
    """Hash of every cell, (n_columns, n_rows); sums over columns identify rows."""
    drawn = np.random.default_rng(0).integers(2**62, size=X.shape[1], dtype=np.uint64)
    odd = np.asarray(2 * drawn + 1)
    cells = [pd.util.hash_array(column + 0.0) for column in X.T]  # -0.0 equals 0.0, and their hashes differ
    return np.stack(cells) * odd[:, None] if cells else np.zeros((0, len(X)), dtype=np.uint64)
