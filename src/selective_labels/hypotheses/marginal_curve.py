"""What decision-makers see of a class as a smooth curve of their leniency. Pure mathematics."""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline
from scipy.stats import chi2

from selective_labels.hypotheses.cell_pairs import CellPairs
from selective_labels.hypotheses.cells import sums_by

ITERATIONS = 10
DRAWS = 2000
MOST_KNOTS = 3
DECISION_MAKERS_PER_KNOT = 6
SMALLEST = 1e-4
DEGREE = 2
ROUNDING = 1e-9
FEW_LABELS = 10.0


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


@dataclass(frozen=True, eq=False)
class Shares:
    """What decision-makers decide and see in each cell.

    Attributes
    ----------
    maker, cell : (n_pairs,) int arrays
        Pairs that have cases; decision-makers and cells are numbered from zero without a gap.
    rows : (n_pairs,) array
        Numbers of cases.
    seen, leniency : (n_pairs,) arrays
        Shares D Y_k and D.
    """

    maker: np.ndarray
    cell: np.ndarray
    rows: np.ndarray
    seen: np.ndarray
    leniency: np.ndarray

    @classmethod
    def of(cls, seen: np.ndarray, decision: np.ndarray, maker: np.ndarray, cell: np.ndarray) -> "Shares":
        """From rows: D Y_k and D, who decided, and the cell.

        Examples
        --------
        >>> zeros = np.zeros(4, dtype=int)
        >>> Shares.of(np.array([1, 0, 0, 0]), np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1]), zeros).leniency
        array([1., 0.])
        """
        n_cells = int(cell.max()) + 1
        code, pair, rows = np.unique(maker * n_cells + cell, return_inverse=True, return_counts=True)
        means = sums_by(pair, np.column_stack([seen, decision]).astype(float), len(code)) / rows[:, None]
        return cls(code // n_cells, code % n_cells, rows.astype(float), means[:, 0], means[:, 1])

    def pairs(self, *columns: np.ndarray) -> CellPairs:
        """Cells compared with themselves: a constant, and further columns, are taken off within each."""
        along = np.column_stack([np.ones(len(self.rows)), *columns])
        return CellPairs(self.maker, self.cell, self.rows, along)

    def row_variance(self, bent: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Variance of D (Y_k - s') of a row of each pair, as curve and cell imply it, (n_pairs,).

        p (1 - p) - 2 s' p (1 - λ) + s'² λ (1 - λ),   p = m_c λ + b,   s' = m_c - m̄ + s,

        λ the pair's own share, m_c the share of the class among all labels of the cell.

        Parameters
        ----------
        bent : (n_decision_makers,) array
            How far the curve lies above the line m̄ λ, b.
        slope : (n_decision_makers,) array
            Of the curve, s.
        """
        labels = np.bincount(self.cell, self.rows * self.leniency)
        rate = np.sum(self.rows * self.seen) / max(np.sum(self.rows * self.leniency), np.finfo(float).tiny)
        # A cell with few labels has about the rate of all.
        of_cell = (np.bincount(self.cell, self.rows * self.seen) + FEW_LABELS * rate) / (labels + FEW_LABELS)
        own = of_cell[self.cell]
        level = np.clip(own * self.leniency + bent[self.maker], 0.0, self.leniency)
        steep = np.clip(own - rate + slope[self.maker], 0.0, 1.0)
        variance = level * (1.0 - level) - 2.0 * steep * level * (1.0 - self.leniency)
        return np.maximum(variance + steep**2 * self.leniency * (1.0 - self.leniency), SMALLEST)


def marginal_curve(shares: Shares, generator: np.random.Generator) -> MarginalCurve:
    """Fit p(λ) and test that all decision-makers lie on it, with slopes in [0, 1].

    If a stricter decision-maker decides for a case only when a more lenient one does (monotonicity) and who
    decides does not change the label (exclusion), then p_kz = P(D=1, Y=k | z) depends on z through λ_z
    only, and dp_k/dλ = P(Y*=k | at the margin) lies in [0, 1]. Frandsen, Lefgren and Leslie test both; here
    the label is seen only when D is one, which makes the range of slopes [0, 1].

    Leniency λ_z is centred within cells and never clipped: labels would not be clipped with it. Slopes: the
    curve is p_kzc = α_c + s(λ_z); the largest studentised excess over the knots, against its simulated
    distribution with every slope on its limit. Fit: each cell has a line of its own, for kinds of cases may
    differ in risk, and p_kzc = α_c + β_c λ_zc + s(λ_z); r' V⁻ r, r the residuals and V their covariance,
    which counts the noise of λ̂ and what the cells' lines take off and make residuals share; χ² with the
    rank of V minus that of the spline.

    Parameters
    ----------
    shares : Shares
        Of more decision-makers than `n_parameters`.
    generator : Generator

    Examples
    --------
    >>> leniency, zeros = np.linspace(0.2, 0.8, 10), np.zeros(10, dtype=int)
    >>> shares = Shares(np.arange(10), zeros, np.full(10, 500.0), 0.3 * leniency, leniency)
    >>> curve = marginal_curve(shares, np.random.default_rng(0))
    >>> curve.slopes.round(6), curve.fit_p_value
    (array([0.3, 0.3]), 1.0)
    """
    centred, lines = shares.pairs(), shares.pairs(shares.leniency)
    rows = centred.rows_of_maker
    seen, surplus = centred.left(np.column_stack([shares.seen, shares.leniency])).T
    average = np.average(np.column_stack([shares.seen, shares.leniency]), axis=0, weights=shares.rows)
    leniency, rate = surplus + average[1], average[0] / max(average[1], np.finfo(float).tiny)
    spline_knots, knots = _knots(leniency, rows)
    functions = _evaluate(spline_knots, leniency)
    slope_functions = _evaluate(spline_knots, leniency, derivative=True)
    basis = centred.left(functions[shares.maker])
    # Cells that differ in risk bend the common curve; the noise in each follows its own rate then.
    one_cell = not shares.cell.any()
    variance = np.full(len(shares.rows), 0.25)
    for _ in range(ITERATIONS):
        root = rows / np.sqrt(np.bincount(shares.maker, shares.rows * variance))
        coefficients = np.linalg.lstsq(basis * root[:, None], seen * root, rcond=None)[0]
        slope = np.clip(slope_functions @ coefficients, 0.0, 1.0)
        bent = (basis @ coefficients - rate * surplus) * one_cell
        variance = shares.row_variance(bent, slope)
    curve = _least_squares(centred.covariance(variance), basis, seen)
    at_knots = _evaluate(spline_knots, knots, derivative=True)
    slopes = at_knots @ curve.coefficients
    # For the same reason decision-makers scatter about the common curve by more than noise.
    scatter = 1.0 if one_cell else max(1.0, curve.distance / max(curve.freedom, 1))
    error = scatter * at_knots @ curve.covariance @ at_knots.T
    fit = _least_squares(
        lines.covariance(variance),
        lines.left(functions[shares.maker]),
        lines.left(shares.seen[:, None])[:, 0],
    )
    fit_p_value = float(chi2.sf(fit.distance, fit.freedom)) if fit.freedom > 0 else 1.0
    return MarginalCurve(fit_p_value, slope_p_value(slopes, error, generator), fit.distance, knots, slopes)


@dataclass(frozen=True, eq=False)
class _Fit:
    coefficients: np.ndarray
    covariance: np.ndarray
    distance: float
    freedom: int


def _least_squares(noise: np.ndarray, design: np.ndarray, values: np.ndarray) -> _Fit:
    """Generalised least squares with noise of any rank: what has no noise was taken off, and says nothing."""
    variances, vectors = np.linalg.eigh(noise)
    kept = variances > ROUNDING * max(variances[-1], np.finfo(float).tiny)
    white = (vectors[:, kept] / np.sqrt(variances[kept])).T
    left, singular, right = np.linalg.svd(white @ design, full_matrices=False)
    large = singular > SMALLEST * max(singular[0], np.finfo(float).tiny) if len(singular) else singular > 0
    back = right[large].T / singular[large]
    target = white @ values
    explained = left[:, large].T @ target
    distance = float(np.round(np.sum(target**2) - np.sum(explained**2), 9))
    return _Fit(back @ explained, back @ back.T, max(distance, 0.0), int(kept.sum() - large.sum()))


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
