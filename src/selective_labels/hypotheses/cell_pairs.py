"""How the cases of decision-makers spread over cells, and what is left of their means within cells."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from selective_labels.hypotheses.cells import sums_by

# Directions within a cell that are weaker than this are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class CellPairs:
    """Pairs of a decision-maker and a cell that share cases. Pure mathematics.

    Within each cell, means of pairs are regressed on some columns with the numbers of cases as weights; what
    is left is averaged over the cells of each decision-maker. With a column of ones cells are centred; with
    leniency besides, each cell has a line of its own.

    Attributes
    ----------
    maker, cell : (n_pairs,) int arrays
    rows : (n_pairs,) array
        Cases of each pair.
    along : (n_pairs, n_columns) array
        What is taken off within cells.
    """

    maker: np.ndarray
    cell: np.ndarray
    rows: np.ndarray
    along: np.ndarray

    @cached_property
    def rows_of_maker(self) -> np.ndarray:
        """Cases of each decision-maker."""
        return np.bincount(self.maker, self.rows)

    @cached_property
    def _loading(self) -> np.ndarray:
        """The row n φ' (Σ n φ φ')⁻ of each pair, (n_pairs, n_columns)."""
        gram = self._products(self.rows)
        inverse = np.linalg.pinv(gram, rcond=ROUNDING, hermitian=True)
        return np.einsum("pa,pab->pb", self.rows[:, None] * self.along, inverse[self.cell])

    def _products(self, weight: np.ndarray) -> np.ndarray:
        """Σ w φ φ' of each cell, (n_cells, n_columns, n_columns)."""
        n_columns = self.along.shape[1]
        products = (weight[:, None, None] * self.along[:, :, None] * self.along[:, None, :]).reshape(
            len(weight), -1
        )
        return sums_by(self.cell, products, int(self.cell.max()) + 1).reshape(-1, n_columns, n_columns)

    def left(self, values: np.ndarray) -> np.ndarray:
        """What is left of values of pairs, averaged over the cases of each decision-maker.

        Parameters
        ----------
        values : (n_pairs, n_values) array

        Returns
        -------
        (n_decision_makers, n_values) array

        Examples
        --------
        >>> ones = np.ones((3, 1))
        >>> pairs = CellPairs(np.arange(3), np.array([0, 0, 1]), np.array([1.0, 3.0, 5.0]), ones)
        >>> pairs.left(np.array([[4.0], [0.0], [7.0]])).ravel()
        array([ 3., -1.,  0.])
        """
        n_cells, n_values = int(self.cell.max()) + 1, values.shape[1]
        products = (self._loading[:, :, None] * values[:, None, :]).reshape(len(values), -1)
        coefficients = sums_by(self.cell, products, n_cells).reshape(n_cells, -1, n_values)
        rest = values - np.einsum("pa,pav->pv", self.along, coefficients[self.cell])
        n_makers = len(self.rows_of_maker)
        return sums_by(self.maker, self.rows[:, None] * rest, n_makers) / self.rows_of_maker[:, None]

    def covariance(self, variance: np.ndarray) -> np.ndarray:
        """Covariance of what is left of means of independent rows, (n_decision_makers, n_decision_makers).

        diag(Σ_c n σ²) - X W' - W X' + X T X'   over n_z n_z',

        W = n σ² φ and X = n φ' (Σ n φ φ')⁻ of each pair, T = Σ n σ² φ φ' of each cell.

        Parameters
        ----------
        variance : (n_pairs,) array
            Of one row of each pair.
        """
        noise = self.rows * variance
        noisy = noise[:, None] * self.along
        half = noisy - 0.5 * np.einsum("pa,pab->pb", self._loading, self._products(noise)[self.cell])
        shared = self._matrix(self._loading) @ self._matrix(half).T
        total = np.diag(np.bincount(self.maker, noise)) - (shared + shared.T).toarray()
        return total / np.outer(self.rows_of_maker, self.rows_of_maker)

    def _matrix(self, values: np.ndarray) -> csr_array:
        """Values of pairs as a matrix of decision-makers by columns of cells."""
        n_columns = values.shape[1]
        column = self.cell[:, None] * n_columns + np.arange(n_columns)
        row = np.broadcast_to(self.maker[:, None], column.shape)
        shape = (len(self.rows_of_maker), (int(self.cell.max()) + 1) * n_columns)
        return csr_array((values.ravel(), (row.ravel(), column.ravel())), shape=shape)
