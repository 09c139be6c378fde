"""A factor of the curvature of a pooled logistic model, by which its minimisation becomes well conditioned.

Coefficients of features touch all rows, those of an arm only the rows of the arm: the curvature is an arrow,
a block for the features, a block for each arm, and what couples them. Its Cholesky factor keeps that shape.
"""

from dataclasses import dataclass

import numpy as np

from selective_labels.models.pooled_rows import arm_slices

# So many columns of features, and of an arm, are taken together; further ones each on its own.
MOST_BASE = 512
MOST_LOCAL = 64
# Added to a diagonal, as a part of it, so that columns which repeat each other do no harm.
JITTER = 1e-8


@dataclass(frozen=True, eq=False)
class ArrowFactor:
    """Inverse factors: the curvature is about L L', and `whiten` takes a gradient g to inverse(L) g.

    Outcomes are turned to directions in which their curvature is uncorrelated; the common direction of all
    outcomes, which changes no probability, is left out.

    Attributes
    ----------
    directions : (n_outcomes, n_outcomes - 1) array
    base : (n_directions, n_base, n_base) array
    local : (n_directions, n_arms, n_local, n_local) array
    coupling : (n_directions, n_arms, n_base, n_local) array
    rest_base : (n_directions, ...) array
    rest_local : (n_directions, n_arms, ...) array
    """

    directions: np.ndarray
    base: np.ndarray
    local: np.ndarray
    coupling: np.ndarray
    rest_base: np.ndarray
    rest_local: np.ndarray

    @property
    def size(self) -> int:
        """Length of a flat vector."""
        dense = self.base[..., 0].size + self.local[..., 0].size
        return dense + self.rest_base.size + self.rest_local.size

    def whiten(self, base: np.ndarray, local: np.ndarray) -> np.ndarray:
        """From a gradient, (n_outcomes, n_base) and (n_outcomes, n_arms, n_local), to a flat vector."""
        base = self.directions.T @ base
        local = np.tensordot(self.directions.T, local, 1)
        n_base, n_local = self.base.shape[-1], self.local.shape[-1]
        tips = np.einsum("kzij,kzj->kzi", self.local, local[..., :n_local])
        back = base[:, :n_base] - np.einsum("kzal,kzl->ka", self.coupling, tips)
        shaft = np.einsum("kij,kj->ki", self.base, back)
        rest = base[:, n_base:] * self.rest_base, local[..., n_local:] * self.rest_local
        return np.concatenate([part.ravel() for part in (shaft, tips, *rest)])

    def colour(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From a flat vector u to coefficients inverse(L') u, (n_outcomes, n_base) and those of arms."""
        n_directions, n_base, _ = self.base.shape
        n_arms, n_local = self.local.shape[1:3]
        sizes = np.cumsum([n_directions * n_base, self.local[..., 0].size, self.rest_base.size])
        shaft, tips, rest_base, rest_local = np.split(flat, sizes)
        base = np.einsum("kij,ki->kj", self.base, shaft.reshape(n_directions, n_base))
        tips = tips.reshape(n_directions, n_arms, n_local)
        tips = tips - np.einsum("kzal,ka->kzl", self.coupling, base)
        local = np.einsum("kzij,kzi->kzj", self.local, tips)
        base = np.hstack([base, rest_base.reshape(self.rest_base.shape) * self.rest_base])
        rest = rest_local.reshape(self.rest_local.shape) * self.rest_local
        local = np.concatenate([local, rest], axis=2)
        return self.directions @ base, np.tensordot(self.directions, local, 1)


def arrow_factor(
    base: np.ndarray,
    local: np.ndarray,
    edges: np.ndarray,
    probabilities: np.ndarray,
    weight: np.ndarray,
    base_ridge: np.ndarray,
    local_ridge: np.ndarray,
) -> ArrowFactor:
    """Factor the curvature of the mean log-loss plus ridge, as a sample of rows shows it.

    Parameters
    ----------
    base : (n_base, n_samples) array
        Columns of the features, ones first, of rows sorted by arm.
    local : (n_local, n_samples) array
        Columns that every arm has coefficients of its own for, ones first.
    edges : (n_arms + 1,) int array
        Where the rows of an arm begin and end.
    probabilities : (n_outcomes, n_samples) array
        Of the outcomes, where the curvature is wanted.
    weight : (n_samples,) array
        Sums to one.
    base_ridge : (n_base,) array
    local_ridge : (n_local,) array
    """
    weighted = probabilities * weight
    curvature = np.diag(weighted.sum(axis=1)) - weighted @ probabilities.T
    directions = np.linalg.eigh(curvature)[1][:, 1:]
    bend = (directions.T**2) @ probabilities - (directions.T @ probabilities) ** 2
    bend = np.maximum(bend, 1e-3 * bend.max()) * weight
    n_base, n_local = min(len(base), MOST_BASE), min(len(local), MOST_LOCAL)
    rest_base = bend @ base[n_base:].T ** 2 + base_ridge[n_base:]
    squares = [bend[:, rows] @ local[n_local:, rows].T ** 2 for rows in arm_slices(edges)]
    rest_local = np.stack(squares, axis=1) + local_ridge[n_local:]
    parts = [
        _factor(base[:n_base], local[:n_local], edges, each, base_ridge[:n_base], local_ridge[:n_local])
        for each in bend
    ]
    shaft, tips, coupling = (np.stack(part) for part in zip(*parts, strict=True))
    return ArrowFactor(directions, shaft, tips, coupling, _inverse_root(rest_base), _inverse_root(rest_local))


def _factor(
    base: np.ndarray,
    local: np.ndarray,
    edges: np.ndarray,
    bend: np.ndarray,
    base_ridge: np.ndarray,
    local_ridge: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Blocks of one direction; the arms come first, so that the factor has no new entries."""
    bent = base * bend
    tips = np.stack([(local[:, rows] * bend[rows]) @ local[:, rows].T for rows in arm_slices(edges)])
    inverse = _inverse_cholesky(tips + np.diag(local_ridge))
    joint = np.stack([bent[:, rows] @ local[:, rows].T for rows in arm_slices(edges)])
    coupling = joint @ inverse.transpose(0, 2, 1)
    flat = coupling.transpose(1, 0, 2).reshape(len(base), -1)
    shaft = bent @ base.T + np.diag(base_ridge)
    jitter = JITTER * np.diag(np.diag(shaft))
    return _inverse_cholesky(shaft - flat @ flat.T + jitter), inverse, coupling


def _inverse_cholesky(matrices: np.ndarray) -> np.ndarray:
    return np.linalg.inv(np.linalg.cholesky(matrices))


def _inverse_root(values: np.ndarray) -> np.ndarray:
    return 1.0 / np.sqrt(np.maximum(values, np.finfo(float).tiny))
