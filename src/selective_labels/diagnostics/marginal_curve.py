"""What decision-makers see of a class as a smooth curve of their leniency. Pure mathematics."""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline
from scipy.stats import chi2

ITERATIONS = 10
DRAWS = 2000
MOST_KNOTS = 3
DECISION_MAKERS_PER_KNOT = 6
SMALLEST = 1e-4
DEGREE = 2


@dataclass(frozen=True, eq=False)
class MarginalCurve:
    """A fitted curve, and the p-values of its two tests.

    Attributes
    ----------
    fit_p_value : float
        Do all decision-makers lie on one curve?
    slope_p_value : float
        Are slopes within [0, 1]?
    fit_statistic : float
    knots, slopes : arrays
        Where the slope was read (it is linear in between), and its values.
    """

    fit_p_value: float
    slope_p_value: float
    fit_statistic: float
    knots: np.ndarray
    slopes: np.ndarray

    @property
    def p_value(self) -> float:
        """Smaller of the two, doubled."""
        return min(1.0, 2.0 * min(self.fit_p_value, self.slope_p_value))


def n_parameters(n_decision_makers: int) -> int:
    """Parameters of a quadratic spline with an interior knot for every six decision-makers, three at most.

    Examples
    --------
    >>> n_parameters(8), n_parameters(40)
    (3, 6)
    """
    interior = min(MOST_KNOTS, max(0, n_decision_makers // DECISION_MAKERS_PER_KNOT - 1))
    return DEGREE + 1 + interior


def marginal_curve(
    seen: np.ndarray, leniency: np.ndarray, rows: np.ndarray, generator: np.random.Generator
) -> MarginalCurve:
    """Fit p(λ) and test that all decision-makers lie on it, with slopes in [0, 1].

    If a stricter decision-maker decides for a case only when a more lenient one does (monotonicity) and who
    decides does not change the label (exclusion), then p_kz = P(D=1, Y=k | z) depends on z through λ_z
    only, and dp_k/dλ = P(Y*=k | at the margin) lies in [0, 1]. Frandsen, Lefgren and Leslie test both; here
    the label is seen only when D is one, which makes the range of slopes [0, 1].

    Fit: Σ_z r_z² / Var(r_z), r_z = p̂_z - s(λ̂_z), χ² with J minus the spline's parameters; the variance counts
    the noise of λ̂: n_z Var(r_z) = p (1 - p) - 2 s' p (1 - λ) + s'² λ (1 - λ). Slopes: the largest
    studentised excess over the knots, against its simulated distribution with every slope on its limit.

    Parameters
    ----------
    seen, leniency, rows : (n_decision_makers,) arrays
        Shares D Y_k and D, and numbers of cases. More decision-makers than `n_parameters`.
    generator : Generator

    Examples
    --------
    >>> leniency = np.linspace(0.2, 0.8, 10)
    >>> curve = marginal_curve(0.3 * leniency, leniency, np.full(10, 500.0), np.random.default_rng(0))
    >>> curve.slopes.round(6), curve.fit_p_value
    (array([0.3, 0.3]), 1.0)
    """
    spline_knots, knots = _knots(leniency, rows)
    basis = _evaluate(spline_knots, leniency)
    slope_basis = _evaluate(spline_knots, leniency, derivative=True)
    variance = np.full(len(rows), 0.25) / rows
    for _ in range(ITERATIONS):
        root = 1.0 / np.sqrt(variance)[:, None]
        coefficients = np.linalg.lstsq(basis * root, seen * root[:, 0], rcond=None)[0]
        slope = np.clip(slope_basis @ coefficients, 0.0, 1.0)
        level = np.clip(basis @ coefficients, SMALLEST, 1.0 - SMALLEST)
        variance = level * (1.0 - level) - 2.0 * slope * level * (1.0 - leniency)
        variance += slope**2 * leniency * (1.0 - leniency)
        variance = np.maximum(variance, SMALLEST) / rows
    residual = seen - basis @ coefficients
    statistic = float(np.round(np.sum(residual**2 / variance), 9))
    at_knots = _evaluate(spline_knots, knots, derivative=True)
    covariance = at_knots @ np.linalg.pinv(basis.T @ (basis / variance[:, None])) @ at_knots.T
    slopes = at_knots @ coefficients
    return MarginalCurve(
        float(chi2.sf(statistic, len(rows) - basis.shape[1])),
        slope_p_value(slopes, covariance, generator),
        statistic,
        knots,
        slopes,
    )


def slope_p_value(slopes: np.ndarray, covariance: np.ndarray, generator: np.random.Generator) -> float:
    """P-value of "all slopes lie in [0, 1]", by the largest studentised excess in the least favourable case.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> slope_p_value(np.array([0.5, 1.4]), 0.01 * np.eye(2), generator) < 0.01
    True
    >>> slope_p_value(np.array([0.5, 0.6]), 0.01 * np.eye(2), generator) > 0.5
    True
    """
    error = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    side = np.where(slopes < 0.5, -1.0, 1.0)
    excess = np.where(slopes < 0.5, -slopes, slopes - 1.0) / error
    correlation = covariance / np.outer(error, error)
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = (generator.standard_normal((DRAWS, len(error))) @ root.T * side).max(axis=1)
    return float((1 + np.sum(drawn >= excess.max())) / (1 + DRAWS))


def _knots(leniency: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Knots of the spline with repeated ends, and its distinct knots."""
    interior = n_parameters(len(leniency)) - DEGREE - 1
    order = np.argsort(leniency)
    position = (np.cumsum(rows[order]) - rows[order] / 2) / rows.sum()
    inner = np.interp(np.arange(1, interior + 1) / (interior + 1), position, leniency[order])
    low, high = leniency.min(), leniency.max()
    distinct = np.unique(np.concatenate([[low], inner, [high]]))
    return np.concatenate([[low] * DEGREE, distinct, [high] * DEGREE]), distinct


def _evaluate(knots: np.ndarray, points: np.ndarray, derivative: bool = False) -> np.ndarray:
    """Values (or slopes) of all basis functions at the points, (n_points, n_functions)."""
    spline = BSpline(knots, np.eye(len(knots) - DEGREE - 1), DEGREE)
    return (spline.derivative() if derivative else spline)(points)
