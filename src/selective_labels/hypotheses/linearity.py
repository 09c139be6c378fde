"""Tests that what decision-makers see of each class is linear in their leniency: pure mathematics."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

ITERATIONS = 25
# Model-implied probabilities are held above this, so that variances stay positive.
SMALLEST = 1e-4


@dataclass(frozen=True)
class LinearityTest:
    """Two statistics of departure from linearity, each with its degrees of freedom.

    Attributes
    ----------
    total, total_freedom
        Any departure.
    curvature, curvature_freedom
        Departure along a parabola in leniency only: what decision-makers that follow one hidden variable
        show first, and far more powerful against it.
    bend_error : float
        Standard error of the parabola's coefficient, the largest over classes; infinite if it was not found.
    """

    total: float
    total_freedom: int
    curvature: float
    curvature_freedom: int
    bend_error: float = float("inf")

    def __add__(self, other: "LinearityTest") -> "LinearityTest":
        """Combine independent tests."""
        return LinearityTest(
            self.total + other.total,
            self.total_freedom + other.total_freedom,
            self.curvature + other.curvature,
            self.curvature_freedom + other.curvature_freedom,
            float((self.bend_error**-2 + other.bend_error**-2) ** -0.5),
        )

    @property
    def p_value(self) -> float:
        """Smaller of the two p-values, doubled; the single one if both are the same statistic.

        Examples
        --------
        >>> round(LinearityTest(21.03, 12, 0.0, 2).p_value, 3)
        0.1
        """
        total = float(chi2.sf(self.total, self.total_freedom))
        if self.total_freedom == self.curvature_freedom and np.isclose(self.total, self.curvature):
            return total
        return min(1.0, 2.0 * min(total, float(chi2.sf(self.curvature, self.curvature_freedom))))


def cell_linearity(counts: np.ndarray) -> LinearityTest:
    """Test p_kz = κ_k + η_k λ_z for all decision-makers z of one cell of cases.

    T = Σ_z n_z g_z' Σ_z⁻¹ g_z,   g_z = p̂_z - λ̂_z η̂ - κ̂ over all classes but the last,
    Σ_z = diag(p_z) - p_z η' - η p_z' + λ_z η η' - κ κ',   p_z = κ + λ_z η,

    χ² with (K - 1)(J - 2) degrees of freedom under NUCEM for every pair of decision-makers (Proposition A.1,
    E4b). The variance is the one that the fitted line implies: decision-makers' own sample variances are
    nearly singular when they have few cases, and the test then rejects far too often.

    Parameters
    ----------
    counts : (n_decision_makers, n_classes + 1) array
        Cases by outcome, the unlabeled first; three decision-makers or more, each with a case.

    Returns
    -------
    LinearityTest

    Examples
    --------
    >>> line = np.array([[600, 300, 100], [400, 400, 200], [200, 500, 300]])
    >>> bool(cell_linearity(line).total < 1e-6)
    True
    """
    rows = counts.sum(axis=1)
    shares = counts[:, 1:] / rows[:, None]
    leniency, seen = shares.sum(axis=1), shares[:, :-1]
    ones = np.ones(len(rows))
    line = np.column_stack([leniency, ones])
    coefficients = np.vstack([rows @ seen / (rows @ leniency), np.zeros(seen.shape[1])])
    for _ in range(ITERATIONS):
        weight = rows[:, None, None] * _inverse(implied_variance(leniency, *coefficients))
        coefficients = _weighted_fit(line, seen, weight)
    weight = rows[:, None, None] * _inverse(implied_variance(leniency, *coefficients))
    total = _distance(line, seen, weight)
    # A centred parabola spans the same as a plain one, and is better conditioned.
    parabola = np.column_stack([line, (leniency - np.average(leniency, weights=rows)) ** 2])
    curvature = total - _distance(parabola, seen, weight)
    n_free, n_others = seen.shape[1], len(rows) - 2
    variance = np.diag(np.linalg.pinv(_normal_matrix(parabola, weight)))[-n_free:]
    bend_error = float(np.sqrt(np.maximum(variance.max(), np.finfo(float).tiny)))
    return LinearityTest(total, n_free * n_others, max(curvature, 0.0), n_free, bend_error)


def implied_variance(leniency: np.ndarray, slope: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """Covariance of D (Y_k - η_k) at each leniency if the line is right, (J, K - 1, K - 1)."""
    expected = np.maximum(intercept + leniency[:, None] * slope, SMALLEST)
    mean = expected - leniency[:, None] * slope
    cross = expected[:, :, None] * slope
    variance = leniency[:, None, None] * np.outer(slope, slope) - cross - np.swapaxes(cross, 1, 2)
    variance -= mean[:, :, None] * mean[:, None, :]
    return variance + expected[:, :, None] * np.eye(len(slope))


def _inverse(matrices: np.ndarray) -> np.ndarray:
    """Inverses of symmetric matrices, eigenvalues held away from zero."""
    values, vectors = np.linalg.eigh(matrices)
    floor = np.maximum(1e-3 * values[:, -1:], SMALLEST**2)
    return np.einsum("zik,zk,zjk->zij", vectors, 1.0 / np.maximum(values, floor), vectors)


def _weighted_fit(design: np.ndarray, seen: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Generalised least squares of all classes at once, coefficients (n_columns, K - 1)."""
    right = np.einsum("za,zkl,zl->ak", design, weight, seen).ravel()
    coefficients = np.linalg.lstsq(_normal_matrix(design, weight), right, rcond=None)[0]
    return coefficients.reshape(design.shape[1], seen.shape[1])


def _normal_matrix(design: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Of that fit, (n_columns (K - 1), n_columns (K - 1)); its inverse is the covariance of the fit."""
    size = design.shape[1] * weight.shape[1]
    return np.einsum("za,zkl,zb->akbl", design, weight, design).reshape(size, size)


def _distance(design: np.ndarray, seen: np.ndarray, weight: np.ndarray) -> float:
    residual = seen - design @ _weighted_fit(design, seen, weight)
    return float(np.einsum("zk,zkl,zl->", residual, weight, residual))


def covariate_linearity(
    seen: np.ndarray,
    labeled: np.ndarray,
    posterior: np.ndarray,
    deviation: np.ndarray,
    parabola: np.ndarray,
    arm: np.ndarray,
    propensity: np.ndarray,
) -> LinearityTest:
    """Test p_kz(x) = κ_k(x) + η_k(x) λ_z(x) for all decision-makers z, features given.

    E[(D Y_k - m_k(X) - η_k(X) (D - m_D(X))) (c_Z - E[c_Z | X])] = 0

    for every contrast c of decision-makers that is orthogonal to their leniency, and for the parabola
    c = (λ_Z(X) - λ̄(X))², in which decision-makers may differ case by case. η = posterior + φ β, with
    φ = (1, m_D, posterior), is fitted by the moments of f φ, f the leniency of the row's decision-maker
    minus the average; the contrasts are made orthogonal to these, so that errors of m and of β do not
    matter to first order. Variances of the residuals are taken as linear in leniency. χ² with
    (K - 1)(J - 2) degrees of freedom for the contrasts, K - 1 for the parabola.

    Parameters
    ----------
    seen : (n_samples, n_classes) array
        1{D=1, Y=k}.
    labeled, posterior, deviation, parabola, arm, propensity
        Of :class:`selective_labels.diagnostics.predictions.RowModel`; each arm with some rows.
    """
    n_samples, n_free = len(arm), seen.shape[1] - 1
    surplus = seen.sum(axis=1) - labeled.sum(axis=1)
    residual = (seen - labeled - posterior * surplus[:, None])[:, :n_free]
    basis = np.column_stack([np.ones(n_samples), labeled.sum(axis=1), posterior[:, :n_free]])
    instrument = deviation[:, None] * basis
    regressor = basis * surplus[:, None]
    rows = np.bincount(arm, minlength=propensity.shape[1])
    leniency = np.bincount(arm, surplus, len(rows)) / rows
    contrast = _contrasts(leniency, rows / n_samples)
    weights = np.column_stack([parabola, contrast[arm] - propensity @ contrast])
    first_stage = instrument.T @ regressor
    beta = np.linalg.lstsq(first_stage, instrument.T @ residual, rcond=None)[0]
    weights = weights - instrument @ np.linalg.lstsq(first_stage.T, regressor.T @ weights, rcond=None)[0]
    variance = _linear_variance(residual - regressor @ beta, leniency, arm)
    covariance = np.zeros((weights.shape[1], n_free, weights.shape[1], n_free))
    for each in range(len(rows)):
        own = weights[arm == each]
        covariance += np.einsum("ab,kl->akbl", own.T @ own, variance[each])
    moments = (weights.T @ residual).ravel()
    matrix = covariance.reshape(len(moments), -1)
    bent, others = moments[:n_free], moments[n_free:]
    total = others @ np.linalg.solve(matrix[n_free:, n_free:], others)
    curvature = bent @ np.linalg.solve(matrix[:n_free, :n_free], bent)
    bend = max(abs(float(weights[:, 0] @ parabola)), np.finfo(float).tiny)
    bend_error = float(np.sqrt(np.diag(matrix)[:n_free].max())) / bend
    return LinearityTest(float(total), len(others), float(curvature), n_free, bend_error)


def _contrasts(leniency: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Contrasts of decision-makers orthogonal to one and to leniency, (J, J - 2)."""
    root = np.sqrt(share)[:, None]
    columns = np.column_stack([np.ones(len(share)), leniency - share @ leniency, np.eye(len(share))])
    return np.linalg.qr(columns * root)[0][:, 2 : len(share)] / root


def _linear_variance(residual: np.ndarray, leniency: np.ndarray, arm: np.ndarray) -> np.ndarray:
    """Covariance of residuals as a linear function of leniency, (J, K - 1, K - 1)."""
    n_free = residual.shape[1]
    products = (residual[:, :, None] * residual[:, None, :]).reshape(len(arm), -1)
    design = np.column_stack([np.ones(len(leniency)), leniency])
    coefficients = np.linalg.lstsq(design[arm], products, rcond=None)[0]
    matrices = (design @ coefficients).reshape(-1, n_free, n_free)
    values, vectors = np.linalg.eigh(matrices)
    floor = 0.05 * products.mean(axis=0).reshape(n_free, n_free).trace() / n_free
    return np.einsum("zik,zk,zjk->zij", vectors, np.maximum(values, floor), vectors)
