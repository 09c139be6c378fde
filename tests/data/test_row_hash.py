"""The hash of cases: even, independent, and the same numbers in numpy and in every engine."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import stats

from selective_labels._errors import InputError
from selective_labels.data.row_hash import (
    FOLDS,
    INNER,
    PRIMES,
    SAMPLE,
    SIZE,
    SPLIT,
    HashRange,
    hash_folds,
    row_hash,
    row_keys,
    uniform,
)

N_ROWS = 200_000
# Ids as tables have them.
IDS = {
    "counted": np.arange(N_ROWS),
    "every tenth": np.arange(N_ROWS) * 10 + 7,
    "snowflakes": np.arange(N_ROWS) * 2**22 + 10**15,
    "negative": -np.arange(N_ROWS),
    "random": np.random.default_rng(0).integers(0, 2**63 - 1, N_ROWS),
}
# Chance that a correct hash fails one comparison; there are 60 of them.
LEVEL = 1e-7


def evenly(first, second=None):
    """p-value of the chi-squared test that points fill a square (or an interval) evenly."""
    if second is None:
        counts = np.histogram(first, bins=1000, range=(0, 1))[0]
    else:
        counts = np.histogram2d(first, second, bins=40, range=[[0, 1], [0, 1]])[0].ravel()
    return stats.chisquare(counts).pvalue


def test_the_primes_are_primes_and_no_product_leaves_an_integer():
    for prime in PRIMES:
        divisors = np.arange(2, int(np.sqrt(prime)) + 1)
        assert (prime % divisors).all()
    assert len(set(PRIMES)) == 7
    assert max(PRIMES) ** 2 < 2**63
    assert max(PRIMES) * 2**30 + 2**30 < 2**63


@pytest.mark.parametrize("kind", IDS)
def test_hashes_are_even_and_independent(kind):
    keys = row_keys(IDS[kind])
    one = uniform(keys, FOLDS)
    assert evenly(one) > LEVEL
    for lag in (1, 2, 10):
        assert evenly(one[:-lag], one[lag:]) > LEVEL
    for purpose, seed in ((SAMPLE, 0), (SPLIT, 0), (INNER, 0), (FOLDS, 1), (FOLDS, 2**32 - 1)):
        assert evenly(one, uniform(keys, purpose, seed)) > LEVEL
    drawn = keys[uniform(keys, SAMPLE) < 0.1]
    assert evenly(uniform(drawn, FOLDS)) > LEVEL


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(0, 2**40))
def test_the_arithmetic_is_that_of_unlimited_integers(ids, seed):
    found = row_hash(np.array(ids, dtype="int64"), SAMPLE, seed)
    wanted = row_hash(pd.Series(ids, dtype=object), SAMPLE, seed)
    assert found.tolist() == wanted.tolist()
    assert all(0 <= each < SIZE for each in wanted)


def test_the_key_of_a_text_is_the_beginning_of_its_digest():
    words = ["a", "ä", "", "loan 7", "a"]
    wanted = [int(hashlib.md5(each.encode()).hexdigest()[:12], 16) for each in words]
    assert row_keys(words).tolist() == wanted
    assert_array_equal(row_keys(pd.Series(words, dtype="category")), wanted)


def test_ids_are_hashed_by_value_whatever_their_type():
    mixed = row_keys([3.0, 3.5])
    assert mixed[0] == 3
    assert mixed[1] not in (3, 4)
    for kind in ("int8", "int64", "Int64", "float32", "uint16"):
        assert row_keys(pd.Series([3], dtype=kind)).tolist() == [3]


def test_an_id_that_is_missing_is_named_by_its_role():
    with pytest.raises(InputError, match="groups is missing in 1 rows: give every case an id"):
        row_keys(["a", None], "groups")


def test_two_halves_share_no_row_and_lose_none():
    keys = np.arange(10_000)
    for low in (0.0, 1e-12, 0.3, 1 / 3, 1.0):
        first, second = HashRange(SPLIT, 0, 0.0, low), HashRange(SPLIT, 0, low, 1.0)
        assert_array_equal(first.holds(keys), ~second.holds(keys))


def test_folds_are_those_of_the_numbers():
    keys = np.arange(10_000)
    assert_array_equal(hash_folds(keys, 5, 3), np.floor(uniform(keys, FOLDS, 3) * 5))
