"""Sharp bounds on linear functionals of the class probabilities, and on the regret, of a fixed classifier.

The class probabilities of each row vary freely within its identified set. The expectation of the row minima
is therefore attained and is the sharp lower bound; the same holds for the maxima.

A classifier is given as ``prediction`` of shape (n_samples, n_classes), the probability of predicting each
class; a hard classifier is the one-hot case. Ratios of expectations are in `rates`.
"""

import numpy as np
from numpy.typing import ArrayLike

from selective_labels._errors import InputError
from selective_labels.identification.bounds import Array, Bounds


def normalized_weights(weights: ArrayLike | None, n_samples: int) -> Array:
    """Normalised weights w_i / Σ_j w_j; 1 / n without weights.

    Parameters
    ----------
    weights : array-like of shape (n_samples,) or None
        Non-negative sample weights. Weights of zero outside a subgroup restrict a functional to that
        subgroup.
    n_samples : int
        Number of rows.

    Returns
    -------
    ndarray of shape (n_samples,)
        Weights that sum to one.

    Examples
    --------
    >>> normalized_weights([1, 0, 3], 3)
    array([0.25, 0.  , 0.75])
    """
    if weights is None:
        return np.full(n_samples, 1.0 / n_samples)
    weights = np.asarray(weights, dtype=float)
    if weights.shape != (n_samples,):  # a programming error: user weights are validated earlier
        raise ValueError(f"weights have shape {weights.shape}, but there are {n_samples} rows.")
    if (weights < 0).any() or not weights.sum() > 0:
        raise InputError("Weights must be non-negative and at least one must be positive.", "sample_weight")
    return weights / weights.sum()


def log_loss_coefficients(probabilities: ArrayLike) -> Array:
    """Coefficients c_k(x) = -log q_k(x) of the log loss, with q_k clipped at machine epsilon.

    Both q, the predicted class probabilities, and c have shape (n_samples, n_classes).

    Examples
    --------
    >>> log_loss_coefficients([[0.5, 0.5]]).round(3)
    array([[0.693, 0.693]])
    """
    return -np.log(np.maximum(np.asarray(probabilities, dtype=float), np.finfo(float).eps))


def brier_coefficients(probabilities: ArrayLike) -> Array:
    """Coefficients c_k(x) = Σ_j (q_j(x) - 1{j=k})² = Σ_j q_j² - 2 q_k + 1 of the Brier score, in [0, 2].

    Shapes as in :func:`log_loss_coefficients`.

    Examples
    --------
    >>> brier_coefficients([[0.5, 0.5], [0, 1]])
    array([[0.5, 0.5],
           [2. , 0. ]])
    """
    probabilities = np.asarray(probabilities, dtype=float)
    return (probabilities**2).sum(axis=1, keepdims=True) - 2 * probabilities + 1


def class_coefficients(classes: ArrayLike, n_classes: int) -> Array:
    """Coefficients c_k = 1{k in classes} of the share of these classes.

    With weights that are zero outside a score bin, the functional is the calibration in that bin.

    Parameters
    ----------
    classes : int or array-like of int
        Codes of the classes that count.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_classes,)

    Examples
    --------
    >>> class_coefficients([0, 2], 3)
    array([1., 0., 1.])
    """
    return np.isin(np.arange(n_classes), classes).astype(np.float64)


def smallest_cap(bounds: Bounds) -> Array:
    """Smallest feasible cap min_η max_k η_k: the smallest τ ≥ max_k l_k with Σ_k min(u_k, τ) ≥ 1.

    The sum of minima is the smallest of the lines Σ_{i≤c} u_(i) + (K - c) τ, with u_(1) ≤ u_(2) ≤ ... and
    c = 0..K-1. The condition is therefore τ ≥ (1 - Σ_{i≤c} u_(i)) / (K - c) for every c.

    Examples
    --------
    >>> smallest_cap(Bounds(np.array([[0.1, 0.2, 0.1]]), np.array([[0.2, 0.8, 0.7]])))
    array([0.4])
    """
    n_classes = bounds.upper.shape[1]
    upper = np.sort(bounds.upper, axis=1)
    below = np.cumsum(upper, axis=1) - upper
    level = ((1 - below) / (n_classes - np.arange(n_classes))).max(axis=1)
    return np.maximum(bounds.lower.max(axis=1), level)
