"""Decision-makers dealt out anew within strata: the reference of what chance alone does."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from selective_labels.hypotheses.cells import sums_by


@dataclass(frozen=True, eq=False)
class Units:
    """What is assigned to decision-makers as a whole: rows, or groups of rows.

    Attributes
    ----------
    of_row : (n_rows,) int array or None
        The unit of each row; None: every row is a unit.
    decision_maker : (n_units,) int array
    cell : (n_units,) int array
    size : (n_units,) float array
        Rows in each unit.
    """

    of_row: np.ndarray | None
    decision_maker: np.ndarray
    cell: np.ndarray
    size: np.ndarray

    def total(self, columns: np.ndarray) -> np.ndarray:
        """Sum the columns over the rows of each unit."""
        return columns if self.of_row is None else sums_by(self.of_row, columns, len(self.size))


def assignment_units(decision_maker: np.ndarray, cell: np.ndarray, groups: np.ndarray | None) -> Units:
    """Find what was dealt to decision-makers: all rows of a group that one of them handled; else rows.

    Whoever returns to the same decision-maker was dealt out once, when first seen: such rows move together,
    within the cell of the first of them. The parts of a group that was divided move apart. They were dealt
    to different decision-makers, and may meet again when dealt anew; that makes chance a little wilder than
    it was, and the test a little careful.

    Examples
    --------
    >>> maker, cell = np.array([0, 0, 1]), np.zeros(3, dtype=int)
    >>> assignment_units(maker, cell, np.array([7, 7, 9])).size
    array([2., 1.])
    >>> assignment_units(maker, cell, np.array([7, 9, 9])).size
    array([1., 1., 1.])
    """
    if groups is None:
        return Units(None, decision_maker, cell, np.ones(len(cell)))
    part = groups.astype(np.int64) * (int(decision_maker.max()) + 1) + decision_maker
    _, first, of_row = np.unique(part, return_index=True, return_inverse=True)
    return Units(of_row, decision_maker[first], cell[first], np.bincount(of_row).astype(float))


def shuffles(
    codes: np.ndarray, cell: np.ndarray, n_permutations: int, generator: np.random.Generator
) -> Iterator[np.ndarray]:
    """Deal the codes out anew within cells, again and again.

    Examples
    --------
    >>> codes, cell = np.array([1, 2, 8, 9]), np.array([0, 0, 1, 1])
    >>> drawn = list(shuffles(codes, cell, 20, np.random.default_rng(0)))
    >>> sorted({tuple(each[:2].tolist()) for each in drawn})
    [(1, 2), (2, 1)]
    """
    if cell.min() == cell.max():
        for _ in range(n_permutations):
            yield generator.permutation(codes)
        return
    by_cell = np.argsort(cell, kind="stable")
    for _ in range(n_permutations):
        shuffled = np.empty_like(codes)
        shuffled[by_cell] = codes[np.argsort(cell + generator.random(len(cell)))]
        yield shuffled


# From the sums over the units of each decision-maker, (n_decision_makers, n_columns), to a statistic.
Statistic = Callable[[np.ndarray], np.ndarray]


def permutation_draws(
    units: Units,
    columns: np.ndarray,
    statistic: Statistic,
    n_permutations: int,
    generator: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Statistics of the sample, and of its permutations, from sums by decision-maker.

    Parameters
    ----------
    units : Units
    columns : (n_units, n_columns) array
    statistic : callable
        Returns an array of any number of statistics.
    n_permutations : int
    generator : Generator

    Returns
    -------
    (n_statistics,) array, (n_permutations, n_statistics) array
        Nothing is fitted again: columns stay with their units, only decision-makers move.
    """
    n_codes = int(units.decision_maker.max()) + 1
    observed = statistic(sums_by(units.decision_maker, columns, n_codes))
    drawn = [
        statistic(sums_by(codes, columns, n_codes))
        for codes in shuffles(units.decision_maker, units.cell, n_permutations, generator)
    ]
    return observed, np.array(drawn)


def permutation_p_value(observed: float, drawn: np.ndarray) -> float:
    """Share of permutations, the sample among them, that are at least as extreme.

    Examples
    --------
    >>> permutation_p_value(3.0, np.array([1.0, 2.0, 4.0]))
    0.5
    """
    return float((1 + np.sum(drawn >= observed)) / (1 + len(drawn)))
