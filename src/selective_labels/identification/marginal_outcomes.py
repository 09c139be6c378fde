"""Decision-makers' mean outcomes adjusted for case mix, and their extrapolation to a leniency of one."""

import numpy as np

from selective_labels._errors import UndefinedError
from selective_labels.identification.point import project_to_simplex

LEAST_RELIABILITY = 0.25


def adjusted_means(
    values: np.ndarray, code: np.ndarray, cells: np.ndarray, weight: np.ndarray, shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each code, adjusted to the same distribution of cells.

    α_j + Σ_s share_s γ_s   from the weighted least squares fit   value = α_code + γ_cell + error

    Parameters
    ----------
    values : (n_rows, n_values) array
    code, cells : (n_rows,) int arrays
        Code and cell of each row. Every code and every cell occurs, and shared cells connect all codes.
    weight : (n_rows,) array
        Positive weights.
    shares : (n_cells,) array
        Common distribution of cells; sums to one.

    Returns
    -------
    means : (n_codes, n_values) array
    precision : (n_codes,) array
        Weight of each code that cells do not explain: its inverse variance up to a factor.

    Examples
    --------
    >>> values = np.array([[1.0], [3.0], [4.0], [4.0]])
    >>> code, cells = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])
    >>> means, precision = adjusted_means(values, code, cells, np.ones(4), np.array([0.5, 0.5]))
    >>> means.ravel(), precision.round(2)
    (array([2., 3.]), array([0.67, 0.67]))
    """
    n_codes, n_cells = code.max() + 1, len(shares)
    if n_cells == 1:  # the common case needs no regression
        precision = np.bincount(code, weight)
        return _sums(values, code, weight, n_codes) / precision[:, None], precision
    counts = np.bincount(cells * n_codes + code, weight, n_cells * n_codes).reshape(n_cells, n_codes)
    by_code = _sums(values, code, weight, n_codes)
    by_cell = _sums(values, cells, weight, n_cells)
    within = counts / counts.sum(axis=1, keepdims=True)
    normal = np.diag(counts.sum(axis=0)) - counts.T @ within
    precision = np.diag(normal).copy()
    # Only differences of the α_j are identified; the added constant makes the α_j sum to zero.
    alpha = np.linalg.solve(normal + precision.mean(), by_code - within.T @ by_cell)
    gamma = (by_cell - counts @ alpha) / counts.sum(axis=1, keepdims=True)
    return alpha + shares @ gamma, precision


def expected_leniency(
    leniency: np.ndarray, cases: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, float]:
    """Expected leniency given a rate that was measured on few cases (regression calibration).

    E[λ_j | λ̂_j] = m + τ² / (τ² + s_j²) (λ̂_j - m),   s_j² = m (1-m) / n_j,   τ² = var(λ̂) - mean(s²)

    τ² is at least a quarter of var(λ̂), because a larger correction would itself be mostly noise. Measurement
    error attenuates a slope on the measured rates by the factor of their reliability. A slope on the expected
    leniency is not attenuated.

    Parameters
    ----------
    leniency, cases : (n_codes,) arrays
        Measured rates, and the number of cases behind each.
    weight : (n_codes,) array
        Regression weights.

    Returns
    -------
    expected : (n_codes,) array
    reliability : float
        1 - mean(s²) / var(λ̂), at least zero: the share of the variance of the rates that is not noise.

    Examples
    --------
    >>> rates, cases = np.array([0.2, 0.5, 0.8]), np.array([10.0, 10.0, 10.0])
    >>> expected, reliability = expected_leniency(rates, cases, np.ones(3))
    >>> expected.round(3), round(reliability, 3)
    (array([0.325, 0.5  , 0.675]), 0.583)
    """
    weight = np.maximum(weight, 0.0)
    mean = np.average(leniency, weights=weight)
    noise = np.clip(mean * (1.0 - mean), 0.0, None) / np.maximum(cases, np.finfo(float).tiny)
    variance = np.average((leniency - mean) ** 2, weights=weight)
    reliability = max(1.0 - np.average(noise, weights=weight) / variance, 0.0) if variance > 0.0 else 0.0
    between = max(reliability, LEAST_RELIABILITY) * variance
    total = np.maximum(between + noise, np.finfo(float).tiny)
    return mean + between / total * (leniency - mean), float(reliability)


def value_at_one(
    leniency: np.ndarray, means: np.ndarray, precision: np.ndarray, form: str, bandwidth: float | None = None
) -> np.ndarray:
    """Value at a leniency of one of a weighted least squares fit of means on leniency, (n_values,).

    Parameters
    ----------
    leniency, precision : (n_codes,) arrays
    means : (n_codes, n_values) array
    form : "linear", "quadratic" or "local"

    Examples
    --------
    >>> leniency = np.array([0.2, 0.5, 0.8])
    >>> value_at_one(leniency, np.column_stack([leniency, leniency**2]), np.ones(3), "quadratic").round(6)
    array([1., 1.])
    """
    distance = 1.0 - leniency
    weight = np.maximum(precision, 0.0)
    if form == "local":
        reach = 2.0 * np.median(distance) if bandwidth is None else bandwidth
        weight = weight * np.maximum(1.0 - distance / max(reach, np.finfo(float).tiny), 0.0)
    n_columns = 3 if form == "quadratic" else 2
    design = distance[:, None] ** np.arange(n_columns)
    root = np.sqrt(weight)[:, None]
    if np.linalg.matrix_rank(root * design, tol=1e-6 * max(root.max(), np.finfo(float).tiny)) < n_columns:
        raise UndefinedError(
            f"form={form!r} needs {n_columns} decision-makers of different leniency or more; "
            "these do not differ enough.",
            "form",
        )
    return np.linalg.lstsq(root * design, root * means, rcond=None)[0][0]


def coherent(joint: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Nearest joint distribution of class and prediction with the given distribution of predictions.

    Column a is projected onto {ω >= 0, Σ_k ω_ka = P(t=a)}.

    Parameters
    ----------
    joint : (n_classes, n_classes) array
        Estimates of P(Y*=k, t=a).
    predicted : (n_classes,) array
        P(t=a).

    Examples
    --------
    >>> coherent(np.array([[0.5, -0.1], [0.1, 0.5]]), np.array([0.6, 0.4]))
    array([[0.5, 0. ],
           [0.1, 0.4]])
    """
    scale = np.maximum(predicted, np.finfo(float).tiny)
    return project_to_simplex((joint / scale).T).T * predicted


def _sums(values: np.ndarray, code: np.ndarray, weight: np.ndarray, n_codes: int) -> np.ndarray:
    return np.stack([np.bincount(code, weight * column, n_codes) for column in values.T], axis=1)
