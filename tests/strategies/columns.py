"""Columns of odd types, one for each row."""

from decimal import Decimal

import numpy as np
import pandas as pd
from hypothesis import strategies as st

SEEDS = st.integers(0, 2**32)

WORDS = ["a", "b", "a\0", "é", "👩‍⚖️", "", " ", "07", "7", "-1", "nan", "a" * 300, "<b>&", "=1+1"]
HUGE = [0.0, -0.0, 1.0, -1.0, 1e-320, 1e-12, 1e12, 1e99, 1e150, 1e308, 2.0**53, np.nan]


def _choice(rng, values, n):
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found[rng.integers(0, len(values), n)]


def _holes(rng, values, share=0.3):
    return [
        None if hole else value for value, hole in zip(values, rng.random(len(values)) < share, strict=True)
    ]


LABELS = {
    "codes with holes": lambda rng, n: rng.integers(-1, 2, n),
    "three codes": lambda rng, n: rng.integers(-1, 3, n),
    "floats with holes": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, rng.integers(0, 2, n)),
    "words": lambda rng, n: _holes(rng, _choice(rng, ["no", "yes"], n)),
    "odd words": lambda rng, n: _holes(rng, _choice(rng, WORDS[:5], n)),
    "nullable": lambda rng, n: pd.array(_holes(rng, rng.integers(0, 2, n)), dtype="Int64"),
    "beyond 2**53": lambda rng, n: pd.array(
        _holes(rng, [2**53 + int(k) for k in rng.integers(0, 2, n)]), dtype="Int64"
    ),
    "booleans": lambda rng, n: pd.array(_holes(rng, rng.random(n) < 0.5), dtype="boolean"),
    "unused levels": lambda rng, n: pd.Categorical(
        _holes(rng, _choice(rng, ["no", "yes"], n)), categories=["yes", "never", "no"]
    ),
    "one class": lambda rng, n: _holes(rng, ["yes"] * n),
    "nothing": lambda rng, n: [None] * n,
    "one in many": lambda rng, n: np.where(np.arange(n) == 0, 1, np.where(rng.random(n) < 0.2, -1, 0)),
    "Decimal": lambda rng, n: _holes(rng, [Decimal(int(k)) for k in rng.integers(0, 2, n)]),
    "mixed": lambda rng, n: list(_choice(rng, [True, 1, 0, None, "1"], n)),
    "measurements": lambda rng, n: rng.normal(size=n),
    "dates": lambda rng, n: (
        pd.Timestamp("2024-01-01", tz="Asia/Tokyo") + pd.to_timedelta(rng.integers(0, 3, n), "D")
    ),
    "lists": lambda rng, n: pd.Series([[1]] * n, dtype=object),
}
MAKERS = {
    "few": lambda rng, n: rng.integers(0, 3, n),
    "words": lambda rng, n: _choice(rng, WORDS, n),
    "one": lambda rng, n: ["a"] * n,
    "everybody once": lambda rng, n: [f"judge {k}" for k in range(n)],
    "large numbers": lambda rng, n: pd.array([2**53 + int(k) for k in rng.integers(0, 3, n)], dtype="Int64"),
    "fractions": lambda rng, n: rng.normal(size=n),
    "mixed": lambda rng, n: list(_choice(rng, [1, "1", 1.5], n)),
    "levels": lambda rng, n: pd.Categorical(_choice(rng, ["a", "b"], n), categories=list("cba")),
    "dates": lambda rng, n: pd.to_datetime(_choice(rng, ["2024-01-01", "2024-01-02"], n)),
    "holes": lambda rng, n: _holes(rng, _choice(rng, ["a", "b"], n)),
    "dicts": lambda rng, n: pd.Series([{}] * n, dtype=object),
}
FEATURES = {
    "numbers": lambda rng, n: rng.normal(size=n),
    "constant": lambda rng, n: np.ones(n),
    "holes": lambda rng, n: np.where(rng.random(n) < 0.5, np.nan, rng.normal(size=n)),
    "nothing": lambda rng, n: np.full(n, np.nan),
    "odd sizes": lambda rng, n: _choice(rng, HUGE, n).astype(float),
    "infinite": lambda rng, n: np.where(rng.random(n) < 0.1, np.inf, 1.0),
    "nullable": lambda rng, n: pd.array(_holes(rng, rng.integers(0, 9, n)), dtype="Int64"),
    "words": lambda rng, n: _holes(rng, _choice(rng, WORDS, n)),
    "levels": lambda rng, n: pd.Categorical(
        _choice(rng, ["a", "b"], n), categories=list("abcd"), ordered=True
    ),
    "Decimal": lambda rng, n: [Decimal(int(k)) / 7 for k in rng.integers(0, 9, n)],
    "dates": lambda rng, n: (
        pd.Timestamp("2024-03-31", tz="Europe/Berlin") + pd.to_timedelta(rng.integers(0, 90, n), "h")
    ),
    "durations": lambda rng, n: pd.to_timedelta(rng.integers(0, 90, n), "h"),
    "booleans": lambda rng, n: pd.array(_holes(rng, rng.random(n) < 0.5), dtype="boolean"),
    "sparse": lambda rng, n: pd.arrays.SparseArray(rng.integers(0, 2, n).astype(float)),
    "digits": lambda rng, n: [10 ** int(k) for k in rng.integers(0, 400, n)],
    "complex": lambda rng, n: rng.normal(size=n) + 1j,
    "lists": lambda rng, n: pd.Series([[1]] * n, dtype=object),
}
WEIGHTS = {
    "none": lambda rng, n: None,
    "ones": lambda rng, n: np.ones(n),
    "some zero": lambda rng, n: rng.integers(0, 3, n),
    "nearly all zero": lambda rng, n: (np.arange(n) == 0).astype(float),
    "extreme": lambda rng, n: 10.0 ** rng.integers(-300, 300, n),
    "denormal": lambda rng, n: np.full(n, 1e-320),
    "negative": lambda rng, n: rng.normal(size=n),
    "text": lambda rng, n: ["1"] * n,
}


# What may be refused is drawn less often, so that most tables get past the door.
ODD = 0.15
REFUSED = {
    *("one class", "nothing", "Decimal", "mixed", "measurements", "dates", "lists", "holes", "dicts"),
    *("infinite", "digits", "complex", "negative", "text", "odd sizes", "nearly all zero"),
}


def _one_of(table):
    """A name and a column of that kind, both from one seed: Hypothesis tries ends of ranges too often."""
    usual, names = sorted(set(table) - REFUSED), sorted(table)

    def choose(seed):
        rng = np.random.default_rng(seed)
        name = str(rng.choice(names if rng.random() < ODD else usual))
        return name, lambda n: table[name](np.random.default_rng(seed), n)

    return SEEDS.map(choose)


labels, decision_makers, features, weights = map(_one_of, (LABELS, MAKERS, FEATURES, WEIGHTS))
