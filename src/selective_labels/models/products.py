"""Squares and products of features that are never written out: quadratic forms in their place."""

import numpy as np

# A chunk of this many rows, times features and outcomes, stays in a processor's cache.
CHUNK_ROWS = 2048


def product_pairs(n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Which two features each product is of: squares and products, each pair once.

    Examples
    --------
    >>> product_pairs(2)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return np.triu_indices(n_features)


def product_moments(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of every product; one for the deviation of a constant.

    Parameters
    ----------
    features : (n_features, n_samples) array

    Examples
    --------
    >>> product_moments(np.array([[1.0, 1.0], [0.0, 2.0]]))
    (array([1., 1., 2.]), array([1., 1., 2.]))
    """
    n_features, n_samples = features.shape
    second, fourth = np.zeros((2, n_features, n_features))
    for start in range(0, n_samples, CHUNK_ROWS):
        chunk = features[:, start : start + CHUNK_ROWS]
        second += chunk @ chunk.T
        squares = chunk**2
        fourth += squares @ squares.T
    pairs = product_pairs(n_features)
    mean, square = second[pairs] / n_samples, fourth[pairs] / n_samples
    variance = square - mean**2
    constant = variance <= 1e-12 * square  # what rounding leaves
    return mean, np.sqrt(np.where(constant, 1.0, variance))


def add_quadratic(logits: np.ndarray, features: np.ndarray, curvature: np.ndarray) -> None:
    """Add Σ_{i<=j} q_cij x_i x_j to the logits, in place.

    Parameters
    ----------
    logits : (n_outcomes, n_samples) array
    features : (n_features, n_samples) array
    curvature : (n_outcomes, n_features, n_features) array
        Zero below the diagonal.

    Examples
    --------
    >>> logits = np.zeros((1, 2))
    >>> add_quadratic(logits, np.array([[1.0, 2.0], [1.0, 3.0]]), np.array([[[1.0, 10.0], [0.0, 0.0]]]))
    >>> logits
    array([[11., 64.]])
    """
    n_outcomes, n_features, _ = curvature.shape
    flat = curvature.reshape(-1, n_features)
    for start in range(0, features.shape[1], CHUNK_ROWS):
        chunk = features[:, start : start + CHUNK_ROWS]
        terms = (flat @ chunk).reshape(n_outcomes, n_features, -1)
        terms *= chunk
        logits[:, start : start + CHUNK_ROWS] += terms.sum(axis=1)


def quadratic_gradient(residual: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Σ_rows r_c x_i x_j of every product, (n_outcomes, n_products).

    Parameters
    ----------
    residual : (n_outcomes, n_samples) array
    features : (n_features, n_samples) array

    Examples
    --------
    >>> quadratic_gradient(np.array([[1.0, -1.0]]), np.array([[1.0, 2.0], [1.0, 3.0]]))
    array([[-3., -5., -8.]])
    """
    n_outcomes, n_features = len(residual), len(features)
    total = np.zeros((n_outcomes * n_features, n_features))
    for start in range(0, features.shape[1], CHUNK_ROWS):
        chunk = features[:, start : start + CHUNK_ROWS]
        weighted = residual[:, None, start : start + CHUNK_ROWS] * chunk
        total += weighted.reshape(n_outcomes * n_features, -1) @ chunk.T
    return total.reshape(n_outcomes, n_features, n_features)[:, *product_pairs(n_features)]
