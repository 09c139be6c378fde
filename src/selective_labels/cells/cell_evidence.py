"""What cells say about class probabilities: the same questions as of rows, answered by linear forms."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np

from selective_labels.cells.cells import Cells, ClusterSums
from selective_labels.identification.bounds import Array, Bounds
from selective_labels.identification.earmarked import Earmarked
from selective_labels.identification.earmarks import Earmarks
from selective_labels.inference.evidence import Evidence


@dataclass(frozen=True, eq=False)
class CellEvidence(Evidence):
    """What cells say about class probabilities: scores are linear forms of λ, (n_cells, n_parts) arrays.

    Attributes
    ----------
    cells : Cells
    sums : ClusterSums or None
        Of the same cells, by cluster; None: every row is a unit of its own.
    """

    cells: Cells = field(kw_only=True)
    sums: ClusterSums | None = None

    @classmethod
    def of(cls, cells: Cells, sums: ClusterSums | None = None) -> Self:
        """Forms of the lower bounds, of pots and of the slack; the model's bounds in the mean of a cell."""
        n_cells, n_parts = cells.first.shape
        n_classes = cells.lower.shape[1]
        forms = np.broadcast_to(np.eye(n_parts), (n_cells, n_parts, n_parts))
        model = cells.lower / _mass(cells)
        earmarks = None
        if cells.events:
            pots = forms[:, n_classes:-1]
            earmarks = Earmarks(cells.events, pots, cells.amounts / _mass(cells))
        return cls(forms[:, :n_classes], forms[:, -1], model, earmarks, cells=cells, sums=sums)

    @cached_property
    def bounds(self) -> Bounds:
        """The model's identified set in the mean of each cell."""
        cells = self.cells
        mass = _mass(cells)
        if cells.events:
            return Earmarked(cells.lower / mass, cells.upper / mass, cells.events, cells.amounts / mass)
        return Bounds(cells.lower / mass, cells.upper / mass)

    @property
    def unit(self) -> Array | None:
        """The weight of every row where scores are labels."""
        return self.cells.unit

    @property
    def even(self) -> Array | None:
        """The weight of every row where weights are equal."""
        return self.cells.even

    @property
    def times(self) -> Array | None:
        """How many rows each cell has."""
        return self.cells.rows

    def covariance(self, influences: Sequence[Array]) -> Array:
        """Covariance matrix of estimates from their influences, by rows or clusters."""
        if self.sums is None:
            number = float(self.cells.rows.sum())
            return number / (number - 1.0) * self.cells.covariance(influences)
        totals = self.sums.sums(influences)
        return totals.shape[1] / (totals.shape[1] - 1.0) * totals @ totals.T

    def count_units(self, weights: Array) -> int:
        """How many independent units have a positive weight."""
        inside = np.asarray(weights.any(axis=1))
        if self.sums is None:
            return int(self.cells.rows[inside].sum())
        return len(np.unique(self.sums.key[inside[self.sums.key[:, 1]], 0]))


def _mass(cells: Cells) -> Array:
    return np.maximum(cells.weights, np.finfo(float).tiny)[:, None]
