"""Which tilts an instrument leaves: a test statistic for each, a confidence set and a quasi-posterior."""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax
from scipy.stats import chi2

from selective_labels.identification.bounds import Array


def contrasts(n_classes: int) -> Array:
    """Rows C with γ = c C, Σ_k γ_k = 0 and length 1/√2: coordinates of tilts, (n_classes - 1, n_classes).

    Orthogonal polynomials in the number of the class. For two classes c = γ_2 - γ_1. A normal prior of c does
    not depend on the order of the classes: all orthogonal coordinates of one scale give the same.

    Examples
    --------
    >>> contrasts(2)
    array([[-0.5,  0.5]])
    >>> contrasts(3)[1].round(3)
    array([ 0.289, -0.577,  0.289])
    """
    powers = np.vander(np.arange(n_classes) - (n_classes - 1) / 2, n_classes, increasing=True)
    orthogonal, triangle = np.linalg.qr(powers)
    return (orthogonal * np.sign(np.diag(triangle))).T[1:] / np.sqrt(2.0)


@dataclass(frozen=True)
class MomentSums:
    """Mean and covariance of moments, for each of several tilts.

    Attributes
    ----------
    mean : (n_tilts, n_moments) array
    covariance : (n_tilts, n_moments, n_moments) array
        Of one unit.
    n_units : float
    """

    mean: Array
    covariance: Array
    n_units: float

    @property
    def statistic(self) -> Array:
        """Q(γ) = n ḡ' Ω(γ)⁻¹ ḡ, (n_tilts,); χ² with as many degrees as moments at the true tilt.

        Anderson and Rubin's kind: honest however weak the instrument is. A moment that does not vary
        says nothing.
        """
        scale = np.trace(self.covariance, axis1=1, axis2=2) / self.mean.shape[1]
        floor = (1e-10 * scale + np.finfo(float).tiny)[:, None, None] * np.eye(self.mean.shape[1])
        solved = np.linalg.solve(self.covariance + floor, self.mean[:, :, None])[:, :, 0]
        return self.n_units * np.sum(self.mean * solved, axis=1)


@dataclass(frozen=True, eq=False)
class TiltWeights:
    """Tilts with their statistics and quasi-posterior weights.

    w(γ) ∝ exp(-Q(γ) / 2) · N(c; 0, 1) · volume,   γ = c C

    Attributes
    ----------
    tilts : (n_tilts, n_classes) array
        Infinite ones have weight zero, and count in the confidence set only.
    statistic : (n_tilts,) array
    weights : (n_tilts,) array
        Sum to one.
    """

    tilts: Array
    statistic: Array
    weights: Array

    @classmethod
    def from_grid(cls, tilts: Array, statistic: Array, log_volume: Array | float = 0.0) -> "TiltWeights":
        """Weigh the points of a grid; `log_volume` is that of the cell around each."""
        finite: np.ndarray = np.asarray(np.isfinite(tilts).all(axis=1))
        squares = 2.0 * np.sum(np.where(finite[:, None], tilts, 0.0) ** 2, axis=1)  # |c|² for γ = c C
        logs = np.where(finite, -(statistic + squares) / 2.0 + log_volume, -np.inf)
        return cls(tilts, statistic, softmax(logs))

    @property
    def mean(self) -> Array:
        """Weighted mean of γ, (n_classes,)."""
        return self._finite[1] @ self._finite[0]

    @property
    def spread(self) -> Array:
        """Weighted standard deviation of each γ_k, (n_classes,)."""
        tilts, weights = self._finite
        return np.sqrt(weights @ (tilts - self.mean) ** 2)

    def confidence_range(self, level: float = 0.95) -> tuple[Array, Array]:
        """Smallest and largest γ_k among tilts with Q(γ) <= χ²_{K-1}(level); infinite where unbounded.

        NaN if no tilt is left: the model does not fit.
        """
        n_classes = self.tilts.shape[1]
        left = self.tilts[self.statistic <= chi2.ppf(level, n_classes - 1)]
        if not len(left):
            return np.full(n_classes, np.nan), np.full(n_classes, np.nan)
        # Tilts sum to zero: where some are +∞, those beside them are -∞.
        limit = np.isinf(left).any(axis=1, keepdims=True)
        left = np.where(limit & np.isfinite(left), -np.inf, left)
        return left.min(axis=0), left.max(axis=0)

    def heaviest(self, share: float = 0.999) -> tuple[Array, Array]:
        """The tilts that hold so much of the weight, and their weights, which sum to one."""
        order = np.argsort(-self.weights)
        enough = int(np.searchsorted(np.cumsum(self.weights[order]), share)) + 1
        kept = order[:enough]
        return self.tilts[kept], self.weights[kept] / self.weights[kept].sum()

    @property
    def _finite(self) -> tuple[Array, Array]:
        finite = np.isfinite(self.tilts).all(axis=1)
        return self.tilts[finite], self.weights[finite]


def far_tilts(n_classes: int, distance: float = 8.0, along: Array | None = None) -> Array:
    """Tilts far out, and their limits: so far that a bounded grid would call an unbounded set bounded.

    Each class alone, and each two classes at finite odds (`along`) to each other, take all that is refused
    (γ of the others +∞); two classes: ±8 besides.

    Examples
    --------
    >>> far_tilts(2)
    array([[-4.,  4.],
           [ 4., -4.],
           [ 0., inf],
           [inf,  0.]])
    """
    alone = np.where(np.eye(n_classes, dtype=bool), 0.0, np.inf)
    if n_classes == 2:
        return np.vstack([distance * contrasts(2), -distance * contrasts(2), alone])
    along = np.linspace(-6.0, 6.0, 9) if along is None else along
    pairs = []
    for one in range(n_classes):
        for other in range(one + 1, n_classes):
            pair = np.full((len(along), n_classes), np.inf)
            pair[:, one], pair[:, other] = -along / 2, along / 2
            pairs.append(pair)
    return np.vstack([alone, *pairs])
