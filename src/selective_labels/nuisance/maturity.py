"""Pending outcomes: one joint model of decision, maturity and label, and the weights of a row's labels.

With R = 1 where the outcome has matured (seen only where D = 1)::

    ρ(x, z) = P(R=1 | D=1, x, z),   μ_k(x, z) = P(Y=k | D=1, R=1, x, z),   λ_z(x) = P(D=1 | x, z)

At random: R is independent of Y given D = 1, x and z, so that P(D=1, Y=k | x, z) = λ_z(x) μ_k(x, z). The
indicator 1{D=1, Y=k} of a row is replaced by the weight

    W_k = D [R / ρ (1{Y=k} - μ_k) + μ_k],   Σ_k W_k = D,

    E[W_k | x, z] = P(D=1, Y=k | x, z) if ρ or μ is right.

1/ρ is calibrated on the columns φ of the features, an intercept among them, as survey weights are (Deville
and Särndal 1992), so that matured cases stand for all accepted ones::

    r = (1 + φ'λ) / ρ,   Σ_{D=1, R=1} r φ = Σ_{D=1} φ

An error of μ that is linear in φ then has no effect, and what the estimation of μ costs is part of the
residuals r (1{Y=k} - μ_k), and so of the standard errors. Without it, outcomes that no date has reached yet
are extrapolated for free.

Any score f(D, Y) is a sum over what may have happened, so that its expectation given W is

    (1 - D) f(0, -) + Σ_k W_k f(1, k).

Worst case: nothing is known of the label of a pending case, so that only P(Y=k, D=1, R=1 | x, z) bounds a
class from below. The decision is known.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from selective_labels.data.pending import AT_RANDOM
from selective_labels.data.roles import HOLE

if TYPE_CHECKING:
    from selective_labels.nuisance.model_selection import JointModel

# No outcome counts for more than 1 / LEAST_MATURED pending ones like it.
LEAST_MATURED = 0.02


@dataclass(frozen=True)
class MaturingJoint:
    """Joint model of decision and label, from one that also has an outcome for pending cases, the last.

    At random, probabilities of the labels include those of pending cases. In the worst case they are those of
    labels that are seen; with the probability of a no they sum to less than one.
    """

    model: "JointModel"
    pending: str

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of every row under every arm, (n_arms, n, n_classes + 1)."""
        return without_pending(self.model.joint(X), self.pending)

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Probabilities of every row under its own arm, (n, n_classes + 1)."""
        return without_pending(self.with_pending(X, arm), self.pending)

    def with_pending(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Probabilities under the row's own arm, that of a pending outcome last, (n, n_classes + 2)."""
        return self.model.own(X, arm)


def without_pending(chances: np.ndarray, pending: str) -> np.ndarray:
    """Probabilities of no and of each label, from those of no, each label and a pending outcome (last axis).

    Examples
    --------
    >>> chances = np.array([[0.2, 0.3, 0.1, 0.4]])
    >>> without_pending(chances, "at-random"), without_pending(chances, "worst-case")
    (array([[0.2, 0.6, 0.2]]), array([[0.2, 0.3, 0.1]]))
    """
    declined, labeled = chances[..., :1], chances[..., 1:-1]
    if pending == AT_RANDOM:
        labeled = (1.0 - declined) * _among_matured(labeled)
    return np.concatenate([declined, labeled], axis=-1)


def label_weights(
    chances: np.ndarray,
    outcome: np.ndarray,
    columns: np.ndarray | None = None,
    sample_weight: np.ndarray | None = None,
) -> np.ndarray:
    """W_k of every row, (n_samples, n_classes); see the module.

    Parameters
    ----------
    chances : (n_samples, n_classes + 2) array
        Probabilities of no, each label and a pending outcome under the row's own arm, by models without it.
    outcome : (n_samples,) int array
        See :func:`outcomes_of`.
    columns : (n_samples, n_columns) array, optional
        φ without the intercept, scaled; with it, 1/ρ is calibrated.
    sample_weight : (n_samples,) array, optional

    Examples
    --------
    Half of the accepted cases have matured, half of these with either label:

    >>> label_weights(np.array([[0.2, 0.2, 0.2, 0.4]] * 3), np.array([0, 2, 3]))
    array([[ 0. ,  0. ],
           [-0.5,  1.5],
           [ 0.5,  0.5]])
    """
    labeled = chances[:, 1:-1]
    n_classes = labeled.shape[1]
    among = _among_matured(labeled)
    accepted = 1.0 - chances[:, :1]
    matured = np.clip(
        labeled.sum(axis=1, keepdims=True) / np.maximum(accepted, LEAST_MATURED), LEAST_MATURED, 1.0
    )
    seen = (outcome[:, None] - 1) == np.arange(n_classes)
    inverse = ((outcome > 0) & (outcome <= n_classes)) / matured[:, 0]
    if columns is not None:
        inverse = _calibrated(inverse, outcome > 0, columns, sample_weight)
    return np.where(outcome[:, None] > 0, among + inverse[:, None] * (seen - among), 0.0)


def _calibrated(
    inverse: np.ndarray, accepted: np.ndarray, columns: np.ndarray, sample_weight: np.ndarray | None
) -> np.ndarray:
    """Return r from R / ρ, (n_samples,); a little ridge is for columns that vary little where R = 1."""
    phi = np.column_stack([np.ones(len(columns)), columns])
    weighted = phi if sample_weight is None else phi * (sample_weight / sample_weight.mean())[:, None]
    gram = weighted.T @ (inverse[:, None] * phi) + np.eye(phi.shape[1])
    slope = np.linalg.solve(gram, weighted.T @ (accepted - inverse))
    return np.clip(inverse * (1.0 + phi @ slope), -1.0 / LEAST_MATURED, 1.0 / LEAST_MATURED)


def label_terms(weights: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """What may have happened to each row, as label codes (-1 if declined), and its weight.

    The terms are: all are declined, with weight 1 - D; then, for each class k, the accepted rows have its
    label, with weight W_k.

    Examples
    --------
    >>> [(y.tolist(), weight.tolist()) for y, weight in label_terms(np.array([[0.0, 0.0], [0.25, 0.75]]))]
    [([-1, -1], [1.0, 0.0]), ([-1, 0], [0.0, 0.25]), ([-1, 1], [0.0, 0.75])]
    """
    accepted = weights.sum(axis=1) > 0.5
    yield np.full(len(weights), HOLE), 1.0 - accepted
    for code, weight in enumerate(weights.T):
        yield np.where(accepted, code, HOLE), weight


def over_labels(
    score: Callable[[np.ndarray], np.ndarray], y: np.ndarray, weights: np.ndarray | None
) -> np.ndarray:
    """Expectation of a score over what the label of each row may be: (1 - D) f(-1) + Σ_k W_k f(k).

    Parameters
    ----------
    score : callable
        Maps label codes of the rows, -1 if declined, to an array whose last axis has the rows.
    y : (n_samples,) int array
    weights : (n_samples, n_classes) array or None
        W; without weights, `y` holds all that is known, and its score is returned.

    Examples
    --------
    >>> over_labels(lambda y: 10.0 * y, np.array([-1, -1]), np.array([[0.0, 0.0], [0.25, 0.75]]))
    array([-10. ,   7.5])
    """
    if weights is None:
        return score(y)
    return np.sum([weight * score(codes) for codes, weight in label_terms(weights)], axis=0)


def _among_matured(labeled: np.ndarray) -> np.ndarray:
    """μ_k, even where no outcome matures."""
    total = labeled.sum(axis=-1, keepdims=True)
    even = np.full_like(labeled, 1.0 / labeled.shape[-1])
    return np.divide(labeled, total, out=even, where=total > 0.0)
