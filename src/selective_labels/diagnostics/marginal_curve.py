"""Observed shares of a class as a function of leniency: tests of one smooth curve and of one line."""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline
from scipy.stats import chi2

from selective_labels.diagnostics.hypothesis_tests import CellPairs, sums_by

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
    """Fitted curve, and the p-values of its two tests.

    Attributes
    ----------
    fit_p_value : float
        Null: all decision-makers lie on one curve.
    slope_p_value : float
        Null: all slopes lie in [0, 1].
    knots, slopes : arrays
        Slopes of the curve at the knots; the slope is linear between knots.
    """

    fit_p_value: float
    slope_p_value: float
    fit_statistic: float
    knots: np.ndarray
    slopes: np.ndarray

    @property
    def p_value(self) -> float:
        """Smaller of the two p-values, doubled."""
        return min(1.0, 2.0 * min(self.fit_p_value, self.slope_p_value))


def n_parameters(n_decision_makers: int) -> int:
    """Parameters of a quadratic spline with J // 6 - 1 interior knots for J decision-makers, from 0 to 3.

    Examples
    --------
    >>> n_parameters(8), n_parameters(40)
    (3, 6)
    """
    interior = min(MOST_KNOTS, max(0, n_decision_makers // DECISION_MAKERS_PER_KNOT - 1))
    return DEGREE + 1 + interior


@dataclass(frozen=True, eq=False)
class Shares:
    """Acceptance rates and observed shares of a class, by decision-maker and cell.

    Attributes
    ----------
    maker, cell : (n_pairs,) int arrays
        Pairs that have cases; decision-makers and cells are numbered from zero without gaps.
    rows : (n_pairs,) array
        Number of cases, or their effective number with weights.
    seen, leniency : (n_pairs,) arrays
        Means of D Y_k and D.
    """

    maker: np.ndarray
    cell: np.ndarray
    rows: np.ndarray
    seen: np.ndarray
    leniency: np.ndarray

    @classmethod
    def of(
        cls,
        seen: np.ndarray,
        decision: np.ndarray,
        maker: np.ndarray,
        cell: np.ndarray,
        weight: np.ndarray | None = None,
        group: np.ndarray | None = None,
    ) -> "Shares":
        """Aggregate rows: D Y_k and D, decision-maker, and cell; `weight` and `group` if there are any.

        The rows of a group in one pair count as one, with their mean. Its variance is at most that of one
        row, so the tests keep their level however alike these rows are.

        Examples
        --------
        >>> zeros = np.zeros(4, dtype=int)
        >>> Shares.of(np.array([1, 0, 0, 0]), np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1]), zeros).leniency
        array([1., 0.])
        """
        n_cells = int(cell.max()) + 1
        code, pair = np.unique(maker * n_cells + cell, return_inverse=True)
        weight = np.ones(len(seen)) if weight is None else weight
        # Rows without weight would make a pair without cases.
        total = np.maximum(np.bincount(pair, weight), np.finfo(float).tiny)
        columns = weight[:, None] * np.column_stack([seen, decision])
        means = sums_by(pair, columns, len(code)) / total[:, None]
        of_unit, place = weight, pair
        if group is not None:
            unit = pair * (int(group.max()) + 1) + group
            place, first, number = np.unique(unit, return_index=True, return_inverse=True)
            of_unit, place = np.bincount(number, weight), pair[first]
        rows = total**2 / np.maximum(np.bincount(place, of_unit**2), np.finfo(float).tiny)
        return cls(code // n_cells, code % n_cells, rows, means[:, 0], means[:, 1])

    def pairs(self, *columns: np.ndarray) -> CellPairs:
        """Pairs from which a constant and further columns are projected out within each cell."""
        along = np.column_stack([np.ones(len(self.rows)), *columns])
        return CellPairs(self.maker, self.cell, self.rows, along)

    def row_variance(self, bent: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Variance of D (Y_k - s') for a row of each pair, as implied by curve and cell, (n_pairs,).

        p (1 - p) - 2 s' p (1 - λ) + s'² λ (1 - λ),   p = m_c λ + b,   s' = m_c - m̄ + s,

        with λ the acceptance rate of the pair and m_c the share of the class among all labels of the cell.

        Parameters
        ----------
        bent : (n_decision_makers,) array
            Difference b between the curve and the line m̄ λ.
        slope : (n_decision_makers,) array
            Slope s of the curve.
        """
        labels = np.bincount(self.cell, self.rows * self.leniency)
        rate = np.sum(self.rows * self.seen) / max(np.sum(self.rows * self.leniency), np.finfo(float).tiny)
        # Shrink the rate of a cell with few labels to the overall rate.
        of_cell = (np.bincount(self.cell, self.rows * self.seen) + FEW_LABELS * rate) / (labels + FEW_LABELS)
        own = of_cell[self.cell]
        level = np.clip(own * self.leniency + bent[self.maker], 0.0, self.leniency)
        steep = np.clip(own - rate + slope[self.maker], 0.0, 1.0)
        variance = level * (1.0 - level) - 2.0 * steep * level * (1.0 - self.leniency)
        return np.maximum(variance + steep**2 * self.leniency * (1.0 - self.leniency), SMALLEST)


def marginal_curve(shares: Shares, generator: np.random.Generator) -> MarginalCurve:
    """Fit p(λ) and test that all decision-makers lie on it, with slopes in [0, 1].

    If a stricter decision-maker accepts a case only when a more lenient one does (monotonicity), and who
    decides does not change the label (exclusion), then p_kz = P(D=1, Y=k | z) depends on z only through
    λ_z, and dp_k/dλ = P(Y*=k | at the margin) lies in [0, 1]. Frandsen, Lefgren and Leslie test both. Here
    the label is observed only when D is one, which makes the range of slopes [0, 1].

    Leniency λ_z is centred within cells. It is not clipped, because the labels would not be clipped with it.

    Test of the slopes: the curve is p_kzc = α_c + s(λ_z). The statistic is the largest studentised excess
    over the knots; its null distribution is simulated with every slope at its limit.

    Test of the fit: p_kzc = α_c + β_c λ_zc + s(λ_z), with a separate line in each cell, because kinds of
    cases may differ in risk. The statistic is r' V⁻ r, with r the residuals and V their covariance. V
    includes the noise of λ̂ and the dependence between residuals that the lines of the cells induce. The
    statistic is χ² with the rank of V minus that of the spline as degrees of freedom.

    Parameters
    ----------
    shares : Shares
        With more decision-makers than `n_parameters`.
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
    # Cells that differ in risk bend the common curve, so with several cells the variance ignores the bend
    # and uses the rate of each cell.
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
    # For the same reason, decision-makers deviate from the common curve by more than sampling error.
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
    """Generalised least squares with a singular covariance; directions without noise were projected out."""
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
    """P-value of the null "all slopes lie in [0, 1]", from the largest studentised excess.

    The null distribution is that of the least favourable case, with every slope at its limit.

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


LINEARITY_ITERATIONS = 25
# Model-implied probabilities are at least this large, so that variances are positive.
SMALLEST_PROBABILITY = 1e-4


@dataclass(frozen=True)
class LinearityTest:
    """Two statistics of departure from linearity, each with its degrees of freedom.

    Attributes
    ----------
    total, total_freedom
        Any departure.
    curvature, curvature_freedom
        Departure along a parabola in leniency. It is the main departure if decision-makers follow one
        unmeasured variable, and this statistic has far more power against it.
    bend_error : float
        Standard error of the parabola's coefficient, the largest over classes; infinite if not computed.
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
        """Smaller of the two p-values, doubled; not doubled if both statistics are the same.

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

    T is χ² with (K - 1)(J - 2) degrees of freedom under NUCEM for every pair of decision-makers
    (Proposition A.1, E4b). Variances are those that the fitted line implies. Sample variances of
    decision-makers with few cases are nearly singular and make the test reject far too often.

    Parameters
    ----------
    counts : (n_decision_makers, n_classes + 1) array
        Cases by outcome, unlabeled first; at least three decision-makers, each with a case.

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
    for _ in range(LINEARITY_ITERATIONS):
        weight = rows[:, None, None] * _inverse(implied_variance(leniency, *coefficients))
        coefficients = _weighted_fit(line, seen, weight)
    weight = rows[:, None, None] * _inverse(implied_variance(leniency, *coefficients))
    total = _distance(line, seen, weight)
    # A centred parabola spans the same space and is better conditioned.
    parabola = np.column_stack([line, (leniency - np.average(leniency, weights=rows)) ** 2])
    curvature = total - _distance(parabola, seen, weight)
    n_free, n_others = seen.shape[1], len(rows) - 2
    variance = np.diag(np.linalg.pinv(_normal_matrix(parabola, weight)))[-n_free:]
    bend_error = float(np.sqrt(np.maximum(variance.max(), np.finfo(float).tiny)))
    return LinearityTest(total, n_free * n_others, max(curvature, 0.0), n_free, bend_error)


def implied_variance(leniency: np.ndarray, slope: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """Covariance of D (Y_k - η_k) at each leniency if the line is correct, (J, K - 1, K - 1)."""
    expected = np.maximum(intercept + leniency[:, None] * slope, SMALLEST_PROBABILITY)
    mean = expected - leniency[:, None] * slope
    cross = expected[:, :, None] * slope
    variance = leniency[:, None, None] * np.outer(slope, slope) - cross - np.swapaxes(cross, 1, 2)
    variance -= mean[:, :, None] * mean[:, None, :]
    return variance + expected[:, :, None] * np.eye(len(slope))


def _inverse(matrices: np.ndarray) -> np.ndarray:
    """Inverses of symmetric matrices, with eigenvalues bounded away from zero."""
    values, vectors = np.linalg.eigh(matrices)
    floor = np.maximum(1e-3 * values[:, -1:], SMALLEST_PROBABILITY**2)
    return np.einsum("zik,zk,zjk->zij", vectors, 1.0 / np.maximum(values, floor), vectors)


def _weighted_fit(design: np.ndarray, seen: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Generalised least squares for all classes jointly; coefficients (n_columns, K - 1)."""
    right = np.einsum("za,zkl,zl->ak", design, weight, seen).ravel()
    coefficients = np.linalg.lstsq(_normal_matrix(design, weight), right, rcond=None)[0]
    return coefficients.reshape(design.shape[1], seen.shape[1])


def _normal_matrix(design: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Normal matrix of `_weighted_fit`; its inverse is the covariance of the coefficients.

    Shape (n_columns (K - 1), n_columns (K - 1)).
    """
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
    """Test p_kz(x) = κ_k(x) + η_k(x) λ_z(x) for all decision-makers z, given features.

    E[(D Y_k - m_k(X) - η_k(X) (D - m_D(X))) (c_Z - E[c_Z | X])] = 0

    for every contrast c of decision-makers that is orthogonal to their leniency, and for the parabola
    c = (λ_Z(X) - λ̄(X))², where leniency may differ by case. η = posterior + φ β, with
    φ = (1, m_D, posterior), is fitted by the moments of f φ, where f is the leniency of the row's
    decision-maker minus the average. The contrasts are made orthogonal to these moments, so that errors in m
    and β do not matter to first order. Variances of the residuals are modelled as linear in leniency. The
    statistics are χ² with (K - 1)(J - 2) degrees of freedom for the contrasts and K - 1 for the parabola.

    Parameters
    ----------
    seen : (n_samples, n_classes) array
        1{D=1, Y=k}.
    labeled, posterior, deviation, parabola, arm, propensity
        As in :class:`selective_labels.diagnostics.context.RowModel`; every arm has rows.
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
    """Contrasts of decision-makers orthogonal to the constant and to leniency, (J, J - 2)."""
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
