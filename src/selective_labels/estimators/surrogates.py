"""Surrogate losses: smooth approximations of the cost of the class with the highest score."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_softmax, softmax


@dataclass(frozen=True)
class CostSensitiveProblem:
    """Cost-sensitive classification: the problem of Algorithm 1 once its weights are estimated.

    Attributes
    ----------
    X : (n_samples, n_features) array
    costs : (n_samples, n_classes) array
        Cost of predicting each class, from held-out models.
    gains : (n_samples, n_classes) array
        Non-negative value of each class. The largest gain is where the cost is smallest.
    sample_weight : (n_samples,) array
    categorical : tuple of int
        Columns of `X` that hold category codes.
    labels : (n_samples,) int array or None
        Codes of the observed labels, -1 where there is none: skewed columns are scaled as suits them.
    """

    X: np.ndarray
    costs: np.ndarray
    gains: np.ndarray
    sample_weight: np.ndarray
    categorical: tuple[int, ...] = ()
    labels: np.ndarray | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.costs.shape[1]

    @property
    def signed_weight(self) -> np.ndarray:
        """Two classes: cost of predicting the first minus cost of predicting the second.

        The sign indicates the better class, and the absolute value is the cost of a mistake.
        """
        return self.costs[:, 0] - self.costs[:, 1]


# Width of the smoothed corner that lets L-BFGS minimise the hinge. It is rounded from above: the loss is
# nowhere below the hinge, and above it by at most an eighth of the width.
ROUNDED_CORNER = 0.01
MARGIN_LOSSES = ("logistic", "hinge", "exponential")
SCORE_LOSSES = ("softmax", "cross-entropy")

Loss = tuple[np.ndarray, np.ndarray]


def softmax_cost(scores: np.ndarray, costs: np.ndarray) -> Loss:
    """Costs averaged with the softmax of the scores (the paper's surrogate), and the gradient.

    Σ_k w_k exp(h_k) / Σ_p exp(h_p)

    Theorem 6.1: the excess risk is at most K times the excess of this surrogate, for the infimum over all
    score functions (E10b: a restricted class leaves an approximation term). It is not convex in the scores.

    Parameters
    ----------
    scores, costs : (n_samples, n_classes) arrays

    Returns
    -------
    values : (n_samples,) array
    gradient : (n_samples, n_classes) array

    Examples
    --------
    >>> softmax_cost(np.array([[0.0, 0.0]]), np.array([[0.2, 0.6]]))
    (array([0.4]), array([[-0.1,  0.1]]))
    """
    shares = softmax(scores, axis=1)
    values = np.sum(costs * shares, axis=1)
    return values, shares * (costs - values[:, None])


def cross_entropy(scores: np.ndarray, gains: np.ndarray) -> Loss:
    """Soft-label cross-entropy with gains as label weights, and its gradient.

    -Σ_k v_k log softmax_k(h)

    Its pointwise minimiser has softmax ∝ v, so the largest gain gets the highest score. It is convex in the
    scores.

    Examples
    --------
    >>> values, gradient = cross_entropy(np.array([[0.0, 0.0]]), np.array([[0.25, 0.75]]))
    >>> values.round(3), gradient
    (array([0.693]), array([[ 0.25, -0.25]]))
    """
    logs = log_softmax(scores, axis=1)
    total = gains.sum(axis=1, keepdims=True)
    return -np.sum(gains * logs, axis=1), total * np.exp(logs) - gains


def margin_loss(name: str) -> Callable[[np.ndarray], Loss]:
    """Return φ and φ' of a margin, with φ(0) >= 1 so that φ bounds the 0-1 loss (Proposition 6.2, E9).

    logistic: log2(1 + e^-a); exponential: e^-a; hinge: max(1 - a, 0) with its corner rounded from above,
    between 0.995 and 1.005.

    Examples
    --------
    >>> [float(margin_loss(name)(np.zeros(1))[0][0]) for name in MARGIN_LOSSES]
    [1.0, 1.0, 1.0]
    """
    return {"logistic": _logistic, "hinge": _hinge, "exponential": _exponential}[name]


def _logistic(margin: np.ndarray) -> Loss:
    return np.logaddexp(0.0, -margin) / np.log(2.0), -expit(-margin) / np.log(2.0)


def _exponential(margin: np.ndarray) -> Loss:
    # Beyond this the exponential would overflow. Its tangent continues it and keeps it convex.
    capped = np.maximum(margin, -30.0)
    value = np.exp(-capped)
    return value * (1.0 + (capped - margin)), -value


def _hinge(margin: np.ndarray) -> Loss:
    short = np.maximum(1.0 + ROUNDED_CORNER / 2.0 - margin, 0.0)
    corner = short < ROUNDED_CORNER
    values = np.where(corner, short**2 / (2.0 * ROUNDED_CORNER), 1.0 - margin)
    return values, -np.where(corner, short / ROUNDED_CORNER, 1.0)
