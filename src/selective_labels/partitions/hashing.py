"""Folds, halves and samples by hash: the same row falls to the same side wherever it stands."""

from typing import Any

import numpy as np
import pandas as pd

from selective_labels.support.errors import InputError

# What is drawn from one key, each by a hash of its own.
FOLDS, SAMPLE, SPLIT, INNER = 1, 2, 3, 4
# Parts of parts of rows: purposes of each level are so far apart.
LEVELS = 8
# Constants of SplitMix64, a bijection of 64 bits that leaves no pattern.
STEP, FIRST = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


def row_keys(values: Any) -> np.ndarray:
    """64 bits for each id, by what it is and not by where it stands.

    Whole numbers have the same key as integers and as floats.

    Examples
    --------
    >>> keys = row_keys(["a", "b", "a"])
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1]), bool((row_keys([3]) == row_keys([3.0])).all())
    (True, False, True)
    """
    column = pd.Series(values).reset_index(drop=True)
    if column.isna().any():
        raise InputError.about("case_id", f"is missing in {column.isna().sum()} rows: give every case an id.")
    if pd.api.types.is_float_dtype(column):
        numbers = column.to_numpy(dtype=float)
        whole = (numbers == np.round(numbers)) & (np.abs(numbers) < 2.0**53)
        as_integers = np.where(whole, numbers, 0.0).astype("int64")
        return np.where(whole, pd.util.hash_array(as_integers), pd.util.hash_array(numbers))
    if pd.api.types.is_integer_dtype(column):
        return pd.util.hash_array(column.to_numpy(dtype="int64"))
    return pd.util.hash_array(column.astype(str).to_numpy())


def uniform(keys: np.ndarray, purpose: int, seed: int = 0) -> np.ndarray:
    """A number in [0, 1) for each key, independent between purposes and seeds.

    Examples
    --------
    >>> keys = row_keys(np.arange(10_000))
    >>> one, other = uniform(keys, FOLDS), uniform(keys, SPLIT)
    >>> float(one.mean().round(1)), abs(float(np.corrcoef(one, other)[0, 1].round(1)))
    (0.5, 0.0)
    """
    salt = np.uint64(((seed % 2**32) * 2**8 + purpose) % 2**64)
    with np.errstate(over="ignore"):
        mixed = keys.astype(np.uint64) ^ _mixed(salt * STEP + STEP)
        mixed = _mixed(mixed * STEP + STEP)
    return (mixed >> np.uint64(11)).astype(float) / 2.0**53


def hash_folds(keys: np.ndarray, n_folds: int, seed: int = 0) -> np.ndarray:
    """Fold of each row, (n_samples,) int array.

    Examples
    --------
    >>> np.bincount(hash_folds(row_keys(np.arange(9000)), 3), minlength=3).round(-3)
    array([3000, 3000, 3000])
    """
    return (uniform(keys, FOLDS, seed) * n_folds).astype(int)


def _mixed(value: Any) -> Any:
    value = (value ^ (value >> np.uint64(30))) * FIRST
    value = (value ^ (value >> np.uint64(27))) * SECOND
    return value ^ (value >> np.uint64(31))
