"""Probit models by maximum likelihood: of one outcome, and of one that is seen where another is one."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr, ndtr

Array = np.ndarray

NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(32)
# Probabilities are held above it before their logarithm is taken.
SMALLEST = 1e-300
LARGEST_CORRELATION = 0.999


def bivariate_cdf(first: Array, second: Array, correlation: float) -> Array:
    """P(W_1 <= h, W_2 <= k) of standard normal variables, row by row.

    Φ(h) Φ(k) + ∫_0^{asin ρ} exp(-(h² + k² - 2 h k sin t) / (2 cos² t)) dt / 2π,

    by Gauss and Legendre's rule (Drezner and Wesolowsky 1990).

    Examples
    --------
    >>> bivariate_cdf(np.zeros(1), np.zeros(1), 0.5).round(6)
    array([0.333333])
    """
    angle = np.arcsin(correlation) * (NODES + 1.0) / 2.0
    weight = np.arcsin(correlation) / 2.0 * NODE_WEIGHTS / (2.0 * np.pi)
    total = ndtr(first) * ndtr(second)
    for each, mass in zip(angle, weight, strict=True):
        square = first**2 + second**2 - 2.0 * first * second * np.sin(each)
        total = total + mass * np.exp(-square / (2.0 * np.cos(each) ** 2))
    return np.clip(total, 0.0, 1.0)


def density(values: Array) -> Array:
    """Standard normal density."""
    return np.exp(-(values**2) / 2.0) / np.sqrt(2.0 * np.pi)


def fit_probit(X: Array, y: Array, weights: Array, ridge: float) -> Array:
    """argmin_b -Σ w_i log Φ((2 y_i - 1) x_i b) + ridge/2 Σ_{j>0} b_j²; the first column is the constant.

    Returns
    -------
    (n_columns,) array
    """
    sign, free = 2.0 * y - 1.0, _penalty(X.shape[1], ridge)

    def loss(b: Array) -> tuple[float, Array]:
        index = sign * (X @ b)
        ratio = np.exp(-(index**2) / 2.0 - log_ndtr(index)) / np.sqrt(2.0 * np.pi)
        value = -weights @ log_ndtr(index) + free @ b**2 / 2.0
        return float(value), -X.T @ (weights * sign * ratio) + free * b

    return minimize(loss, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options=_OPTIONS).x


def selection_loss(
    parameters: Array, X: Array, W: Array, y: Array, seen: Array, weights: Array, ridge: float
) -> tuple[float, Array]:
    """Minus the log-likelihood of the probit with selection, penalised, and its gradient.

    D = 1{w c + u > 0},  Y* = 1{x b + e > 0},  corr(u, e) = ρ = tanh(r):

        Σ_{D=0} log Φ(-w c) + Σ_{D=1} log Φ₂(q x b, w c; q ρ),   q = 2 y - 1

    Parameters are b, c, r in one vector.
    """
    n_outcome, n_choice = X.shape[1], W.shape[1]
    b, c, r = parameters[:n_outcome], parameters[n_outcome:-1], parameters[-1]
    rho = float(np.clip(np.tanh(r), -LARGEST_CORRELATION, LARGEST_CORRELATION))
    choice, sign = W @ c, np.where(y == 1, 1.0, -1.0)[seen]
    index, there = sign * (X[seen] @ b), choice[seen]
    # Rows of either sign have a correlation of their own.
    chance = np.where(sign > 0, bivariate_cdf(index, there, rho), bivariate_cdf(index, there, -rho))
    chance = np.maximum(chance, SMALLEST)
    free = np.concatenate([_penalty(n_outcome, ridge), _penalty(n_choice, ridge), [ridge]])
    away = choice[~seen]
    value = -weights[~seen] @ log_ndtr(-away) - weights[seen] @ np.log(chance) + free @ parameters**2 / 2.0
    own, scale = sign * rho, np.sqrt(1.0 - rho**2)
    by_index = density(index) * ndtr((there - own * index) / scale) / chance
    by_choice = density(there) * ndtr((index - own * there) / scale) / chance
    joint = np.exp(-(index**2 + there**2 - 2.0 * own * index * there) / (2.0 * scale**2))
    by_rho = sign * joint / (2.0 * np.pi * scale) / chance
    ratio = np.exp(-(away**2) / 2.0 - log_ndtr(-away)) / np.sqrt(2.0 * np.pi)
    gradient = np.concatenate(
        [
            -X[seen].T @ (weights[seen] * sign * by_index),
            -W[seen].T @ (weights[seen] * by_choice) + W[~seen].T @ (weights[~seen] * ratio),
            [-(weights[seen] @ by_rho) * (1.0 - rho**2)],
        ]
    )
    return float(value), gradient + free * parameters


def fit_selection(
    X: Array, W: Array, y: Array, seen: Array, weights: Array, ridge: float
) -> tuple[Array, float]:
    """Coefficients of the outcome and the correlation, by maximum (penalised) likelihood."""
    start = np.concatenate(
        [
            fit_probit(X[seen], (y == 1)[seen].astype(float), weights[seen], ridge),
            fit_probit(W, seen.astype(float), weights, ridge),
            [0.0],
        ]
    )
    given = X, W, y, seen, weights, ridge
    found = minimize(selection_loss, start, given, jac=True, method="L-BFGS-B", options=_OPTIONS).x
    return found[: X.shape[1]], float(np.tanh(found[-1]))


_OPTIONS = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-12, "gtol": 1e-8}


def _penalty(n_columns: int, ridge: float) -> Array:
    """Ridge on all but the constant."""
    return np.concatenate([[0.0], np.full(n_columns - 1, ridge)])
