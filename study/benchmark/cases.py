"""Cases of one draw, and how they are split: what a contestant sees, and what it is judged by."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import selective_labels as sl

# Rows for learning and for judging, at most, unless a table says otherwise; larger ones are sampled.
MOST_ROWS = 4000
# Draws of a table, unless it says otherwise.
DRAWS = 6


@dataclass(frozen=True)
class Cases:
    """A table of one draw.

    Attributes
    ----------
    X : frame or array
    y : (n,) int array
        Class codes where a label was seen, else -1.
    decision_maker : (n,) array
    y_true : (n,) int array or None
        Class codes of everybody; None where nobody knows them.
    groups, strata : (n,) arrays or None
    """

    X: Any
    y: np.ndarray
    decision_maker: np.ndarray
    y_true: np.ndarray | None = None
    groups: np.ndarray | None = None
    strata: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> "Cases":
        """Some of the rows."""
        return Cases(
            self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows],
            *(
                None if each is None else each[rows]  # type: ignore[arg-type]
                for each in (self.y, self.decision_maker, self.y_true, self.groups, self.strata)
            ),
        )

    def data(self) -> sl.SelectiveLabels:
        """What contestants get: never the labels of everybody."""
        return sl.SelectiveLabels.from_arrays(
            self.X, self.y, decision_maker=self.decision_maker, groups=self.groups, strata=self.strata
        )


class Halves(NamedTuple):
    """Cases to learn from, cases to judge by, and cases that give the truth."""

    train: Cases
    test: Cases
    population: Cases


class Cell(NamedTuple):
    """One table of the benchmark.

    Attributes
    ----------
    draw : callable (mirrored, SeedSequence, most rows) -> Halves
    mirrors : bool
        Whether selection can be turned round.
    truth : bool
        Whether labels of everybody are known.
    rows : int
        For learning and for judging, at most.
    draws : int
    """

    draw: Callable[[bool, np.random.SeedSequence, int], Halves]
    mirrors: bool
    truth: bool
    rows: int = MOST_ROWS
    draws: int = DRAWS


def halved(cases: Cases, seed: np.random.SeedSequence, most: int) -> Halves:
    """Split at random, no group in both halves, at most so many rows in each; the test half gives the truth.

    Examples
    --------
    >>> cases = Cases(np.zeros((6, 1)), np.zeros(6), np.zeros(6), groups=np.array([0, 0, 1, 1, 2, 2]))
    >>> halves = halved(cases, np.random.SeedSequence(0), 100)
    >>> set(halves.train.groups) & set(halves.test.groups)
    set()
    """
    units = (
        np.arange(len(cases.y)) if cases.groups is None else np.unique(cases.groups, return_inverse=True)[1]
    )
    generator = np.random.default_rng(seed)
    half = generator.permutation(units.max() + 1) % 2
    parts = []
    for side in (0, 1):
        rows = np.flatnonzero(half[units] == side)
        if len(rows) > most:
            # Rows of many cases, not all rows of few.
            rows = np.sort(generator.choice(rows, most, replace=False))
        parts.append(cases.take(rows))
    return Halves(parts[0], parts[1], parts[1])
