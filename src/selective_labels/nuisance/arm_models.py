"""A model of the arm that a case goes to, as a tilt of the shares of arms."""

from dataclasses import dataclass

import numpy as np

from selective_labels.nuisance.selection import JointModel


@dataclass(frozen=True, eq=False)
class ArmModel:
    """A model of the arm given features and stratum, as a tilt of the shares.

    e_z(x, s) ∝ share_sz · m_z(x, s) / mean_sz,   mean_sz the mean prediction of m_z among the rows fitted to

    so that a model which does not depend on x within strata gives the shares, and a decision-maker who never
    works in a stratum has probability zero there.

    Attributes
    ----------
    base : model or None
        None: the shares themselves.
    shares, means : (n_cells, n_arms) arrays
        Of the rows fitted to, by stratum.
    overall_mean : (n_arms,) array
    cell_shares : (n_cells,) array
    pooled : bool
        Whether the base model does not know the strata.
    """

    base: JointModel | None
    shares: np.ndarray
    means: np.ndarray
    overall_mean: np.ndarray
    cell_shares: np.ndarray
    pooled: bool

    def at(self, X: np.ndarray, cells: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Probabilities of rows whose strata are known, (n, n_arms); `shares` as in :attr:`shares`."""
        if self.base is None:
            return shares[cells]
        known = self.base.own(X, np.zeros(len(X), dtype=int) if self.pooled else cells)
        return _tilted(known / self.means[cells], shares[cells])

    def anywhere(self, X: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Probabilities of rows whose strata are not known; `shares`, (n_arms,), are those of all strata."""
        rows = np.broadcast_to(shares, (len(X), len(shares)))
        if self.base is None:
            return rows
        joint = self.base.joint(X)
        weights = np.ones(1) if self.pooled else self.cell_shares
        return _tilted(np.tensordot(weights, joint, 1) / self.overall_mean, rows)


def cell_shares(
    cells: np.ndarray, arm: np.ndarray, weight: np.ndarray, n_cells: int, n_arms: int
) -> np.ndarray:
    """Weighted shares of arms in every stratum, (n_cells, n_arms); even in a stratum without weight.

    Examples
    --------
    >>> cell_shares(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([1.0, 3.0, 1.0]), 2, 2)
    array([[0.25, 0.75],
           [0.  , 1.  ]])
    """
    mass = np.bincount(cells * n_arms + arm, weight, n_cells * n_arms).reshape(n_cells, n_arms)
    total = mass.sum(axis=1, keepdims=True)
    return np.divide(mass, total, out=np.full_like(mass, 1.0 / n_arms), where=total > 0.0)


def _tilted(odds: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Shares times odds, summing to one; where nothing is left, the shares."""
    chances = odds * shares
    total = chances.sum(axis=1, keepdims=True)
    return np.divide(chances, total, out=np.array(shares), where=total > 0.0)
