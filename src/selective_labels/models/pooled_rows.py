"""Training rows as pooled logistic models read them: sorted by arm, a line for each column."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from sklearn.pipeline import Pipeline

from selective_labels.models.features import standardised, standardised_numbers
from selective_labels.models.products import product_moments
from selective_labels.support.weighting import require_weight


@dataclass(frozen=True, eq=False)
class PooledRows:
    """Standardised features and outcomes, made once for all models that are fitted to the same rows.

    Attributes
    ----------
    scale : fitted Pipeline
    lines : (1 + n_columns, n_samples) array
        A line of ones, the numbers, the indicators of categories.
    n_numbers : int
    edges : (n_arms + 1,) int array
        The rows of arm z are ``edges[z]:edges[z + 1]``.
    outcomes : (n_outcomes,) int array
        Codes of the outcomes that occur.
    happened : (n_outcomes, n_samples) array
        Weight of the row at its outcome, zero at others; all weights sum to one.
    total : float
        What the weights summed to.
    """

    scale: Pipeline
    lines: np.ndarray
    n_numbers: int
    edges: np.ndarray
    outcomes: np.ndarray
    happened: np.ndarray
    total: float

    @classmethod
    def read(
        cls,
        X: np.ndarray,
        arm: np.ndarray,
        outcome: np.ndarray,
        sample_weight: np.ndarray | None,
        n_arms: int,
        categorical: tuple[int, ...],
    ) -> "PooledRows":
        """Standardise the rows and sort them by arm."""
        order = np.argsort(arm, kind="stable")
        scale = standardised(categorical).fit(X)
        lines = feature_lines(scale, X, order)
        weight = np.ones(len(order)) if sample_weight is None else sample_weight[order].astype(float)
        require_weight(weight)
        total = float(weight.sum())
        outcomes = np.unique(outcome)
        happened = np.where(outcome[order] == outcomes[:, None], weight / total, 0.0)
        n_numbers = number_columns(scale, len(lines) - 1)[1]
        edges = np.searchsorted(arm[order], np.arange(n_arms + 1))
        return cls(scale, lines, n_numbers, edges, outcomes, happened, total)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.lines.shape[1]

    @property
    def n_arms(self) -> int:
        """Number of arms, with rows or without."""
        return len(self.edges) - 1

    @cached_property
    def weight(self) -> np.ndarray:
        """Weights that sum to one, (n_samples,)."""
        return self.happened.sum(axis=0)

    @cached_property
    def product_scale(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation of the columns and of their squares and products."""
        mean, deviation = product_moments(self.lines[1:])
        columns = self.lines[1:]
        spread = columns.std(axis=1)
        spread[spread <= 1e-12 * np.abs(columns).max(axis=1, initial=0.0)] = 1.0
        return np.append(columns.mean(axis=1), mean), np.append(spread, deviation)

    def spaced(self, n_samples: int) -> "PooledRows":
        """Every so many-th row, about `n_samples` of them: the arms keep their shares."""
        if n_samples >= self.n_samples:
            return self
        kept = np.linspace(0, self.n_samples - 1, n_samples).astype(int)
        happened = self.happened[:, kept]
        part = happened.sum()
        return PooledRows(
            self.scale,
            self.lines[:, kept],
            self.n_numbers,
            np.searchsorted(kept, self.edges),
            self.outcomes,
            happened / part,
            self.total * part,
        )


def arm_slices(edges: np.ndarray) -> list[slice]:
    """Where the rows of each arm are, among rows sorted by arm.

    Examples
    --------
    >>> arm_slices(np.array([0, 2, 5]))
    [slice(0, 2, None), slice(2, 5, None)]
    """
    return [slice(start, stop) for start, stop in pairwise(edges.tolist())]


def number_columns(scale: Pipeline, n_columns: int) -> tuple[int, int]:
    """Place of the first column that comes from a number, and how many there are."""
    first, last, _ = standardised_numbers(scale).indices(n_columns)
    return (first, last - first) if last > first else (n_columns, 0)


def feature_lines(scale: Pipeline, X: np.ndarray, order: np.ndarray | slice = slice(None)) -> np.ndarray:
    """Lines of ones, numbers and indicators, (1 + n_columns, n_samples), of rows in some order."""
    columns = scale.transform(X)
    first, count = number_columns(scale, columns.shape[1])
    lines = np.empty((1 + columns.shape[1], len(columns)))
    lines[0] = 1.0
    lines[1 : 1 + count] = columns[order, first : first + count].T
    lines[1 + count :] = columns[order, :first].T
    return lines
