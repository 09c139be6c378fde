"""Hashes of cases, by arithmetic that every database engine has, so that no row needs a number.

    u_i = ((x mod p_i) a_i + b_i) mod p_i,   i = 1..4
    h   = ((u_1 u_2 mod p_5) (u_3 u_4 mod p_6)) mod p_7

x is the key of a case, p_i are primes below 2^31, and a_i < 2^30 and b_i are drawn for each purpose and seed,
so no product leaves a 64-bit integer. Folds, samples and halves of a table are intervals of h / p_7.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from selective_labels._errors import InputError

# Purposes of draws from one key. Each uses an independent hash.
FOLDS, SAMPLE, SPLIT, INNER = 1, 2, 3, 4
# Offset between the purposes of successive levels of subsets.
LEVELS = 8
# Primes below 2^31; the last one is the number of values of the hash.
PRIMES = (2147483647, 2147483629, 2147483587, 2147483579, 2147483563, 2147483549, 2147483543)
SIZE = PRIMES[-1]
# Hexadecimal digits of the MD5 digest of a text that make its key: 48 bits.
DIGITS = 12
# Constants of SplitMix64, which draws a_i and b_i from a purpose and a seed.
STEP, FIRST, SECOND, LARGEST = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 2**64 - 1

# An array of integers, or an expression of an engine with Python's %.
Integers = TypeVar("Integers")


def row_keys(values: Any, role: str = "case_id") -> np.ndarray:
    """Integer key of each id, which depends on its value and not on its position, (n_samples,) int64 array.

    Integers, and floats of the same value, are their own keys. The key of any other id is the beginning of
    the MD5 digest of its text. MD5 protects nothing here: it is the hash of texts that all engines have.

    Examples
    --------
    >>> keys = row_keys(["a", "b", "a"])
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1]), bool((row_keys([3]) == row_keys([3.0])).all())
    (True, False, True)
    """
    column = pd.Series(values).reset_index(drop=True)
    if column.isna().any():
        raise InputError.about(role, f"is missing in {column.isna().sum()} rows: give every case an id.")
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        return _text_keys(column)
    if not pd.api.types.is_float_dtype(column):
        return column.to_numpy(dtype="int64")
    numbers = column.to_numpy(dtype=float)
    whole = (numbers == np.round(numbers)) & (np.abs(numbers) < 2.0**53)
    return np.where(whole, np.where(whole, numbers, 0.0).astype("int64"), numbers.view("int64"))


def _text_keys(column: pd.Series) -> np.ndarray:
    codes, values = pd.factorize(column.astype(str).to_numpy())
    digests = [hashlib.md5(each.encode(), usedforsecurity=False).digest()[: DIGITS // 2] for each in values]
    octets = np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, DIGITS // 2).astype("int64")
    return (octets @ 256 ** np.arange(DIGITS // 2 - 1, -1, -1))[codes]


def row_hash(keys: Integers, purpose: int, seed: int = 0) -> Integers:
    """Hash of each key, an integer from 0 to `SIZE` - 1; independent across purposes and seeds.

    Parameters
    ----------
    keys : int64 array, or an expression of an engine
        Only +, * and % are used, the latter with Python's sign.

    Examples
    --------
    >>> row_hash(np.array([1, 2, 3]), FOLDS).tolist()
    [1113825938, 1999273088, 584067099]
    """
    scale, shift = _constants(purpose, seed % 2**32)
    x: Any = keys
    u = [((x % prime) * a + b) % prime for prime, a, b in zip(PRIMES[:4], scale, shift, strict=True)]
    return (((u[0] * u[1]) % PRIMES[4]) * ((u[2] * u[3]) % PRIMES[5])) % SIZE


@cache
def _constants(purpose: int, seed: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Multipliers and shifts, from 1 to 2^30."""
    state = _mixed(((seed * 2**8 + purpose) * STEP + STEP) & LARGEST)
    drawn = [1 + (_mixed((state + step * STEP) & LARGEST) >> 34) for step in range(1, 9)]
    return tuple(drawn[::2]), tuple(drawn[1::2])


def _mixed(value: int) -> int:
    value = ((value ^ (value >> 30)) * FIRST) & LARGEST
    value = ((value ^ (value >> 27)) * SECOND) & LARGEST
    return value ^ (value >> 31)


def uniform(keys: np.ndarray, purpose: int, seed: int = 0) -> np.ndarray:
    """A number in [0, 1) for each key, independent across purposes and seeds.

    Examples
    --------
    >>> keys = row_keys(np.arange(10_000))
    >>> one, other = uniform(keys, FOLDS), uniform(keys, SPLIT)
    >>> float(one.mean().round(1)), abs(float(np.corrcoef(one, other)[0, 1].round(1)))
    (0.5, 0.0)
    """
    return row_hash(keys, purpose, seed) / SIZE


def hash_folds(keys: Integers, n_folds: int, seed: int = 0, purpose: int = FOLDS) -> Integers:
    """Fold of each row, (n_samples,) int array, or an expression of an engine.

    Examples
    --------
    >>> np.bincount(hash_folds(row_keys(np.arange(9000)), 3), minlength=3).round(-3)
    array([3000, 3000, 3000])
    """
    hashed: Any = row_hash(keys, purpose, seed)
    return (hashed * n_folds) // SIZE


@dataclass(frozen=True)
class HashRange:
    """A subset of the rows by hash: those with low <= h / SIZE < high.

    Examples
    --------
    >>> half = HashRange(SPLIT, 0, 0.0, 0.5)
    >>> float(half.holds(np.arange(10_000)).mean().round(1))
    0.5
    """

    purpose: int
    seed: int
    low: float
    high: float

    def holds(self, keys: Any) -> Any:
        """Which keys are in the subset: a mask of an array, or a condition of an engine."""
        hashed = row_hash(keys, self.purpose, self.seed)
        # Rounded alike in every engine, so that two halves of a table share no row and lose none.
        return (hashed >= round(self.low * SIZE)) & (hashed < round(self.high * SIZE))
