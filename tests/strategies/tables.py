"""Whole tables of odd columns, from no row to some thousands."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from .columns import SEEDS, decision_makers, features, labels, weights


@dataclass(frozen=True)
class Case:
    """Features and roles, of one length; says of what kinds they are."""

    kinds: str
    X: Any
    y: Any
    roles: dict[str, Any]
    n: int

    def __repr__(self) -> str:
        return f"{self.n} rows: {self.kinds}"


# Nearly always enough rows to get past the door, sometimes none to two, and once in a hundred thousands: of
# decision-makers with one case, or of cases with one label in 5,000.
SIZES = {0: 2, 1: 2, 2: 3, 8: 6, 20: 14, 40: 26, 60: 30, 200: 16, 5_001: 1}


def _size(seed: int) -> int:
    shares = np.array(list(SIZES.values()))
    return int(np.random.default_rng(seed).choice(list(SIZES), p=shares / shares.sum()))


@st.composite
def cases(draw: Any) -> Case:
    """Draw a table; two columns are plain in most of them, so that some work begins."""
    n = draw(SEEDS.map(_size))
    plain = draw(st.booleans())
    columns = draw(st.lists(features, min_size=1, max_size=3))
    label, label_column = draw(labels)
    maker, maker_column = draw(decision_makers)
    weight, weight_column = draw(weights)
    rng = np.random.default_rng(n)
    X = pd.DataFrame({f"{name} {place}": column(n) for place, (name, column) in enumerate(columns)})
    kinds = [name for name, _ in columns]
    if plain:
        X, kinds = pd.DataFrame(rng.normal(size=(n, 2)), columns=["p", "q"]), ["plain"]
    frame = draw(st.sampled_from(["frame", "named by tuples", "array"]))
    if frame == "named by tuples":
        X = X.set_axis(pd.MultiIndex.from_tuples([("x", name) for name in X.columns]), axis=1)
    elif frame == "array" and plain:
        X = X.to_numpy()
    roles = {"decision_maker": maker_column(n), "sample_weight": weight_column(n)}
    if draw(st.booleans()):
        roles["groups"] = rng.integers(0, draw(st.sampled_from([1, 2, 10])), n)
    if draw(st.booleans()):
        roles["strata"] = rng.choice(["s", "t"], n)
    kinds += [label, maker, weight, frame, *roles]
    return Case(", ".join(kinds), X, label_column(n), roles, n)
