"""SL601, SL602, SL801, SL901: tests of NUCEM, of leniency apart from skill, and of unconfoundedness.

Under NUCEM the observed share of a class is linear in leniency; SL601 tests one line.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import chi2
from scipy.stats import t as t_distribution

from selective_labels.assumptions.base import OK, VIOLATED, WARNING
from selective_labels.diagnostics.context import Context, case_indices, labels_on_leniency
from selective_labels.diagnostics.hypothesis_tests import (
    detectable_noncentrality,
    holm,
    one_sided,
    sums_by,
)
from selective_labels.diagnostics.results import Check, Finding, NotApplicableError, need, status_of_test
from selective_labels.diagnostics.strength import CONDITIONAL_STRENGTH_CHECK as STRENGTH
from selective_labels.diagnostics.strength import USABLE, effective_f, need_strength

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


# Decision-makers with fewer cases, or fewer of either decision, are left out: their shares are not close to
# normal.
FEWEST_ROWS_PER_ARM = 20
FEWEST_OF_EACH = 5


def _large(rows: np.ndarray, accepted: np.ndarray) -> np.ndarray:
    enough = np.minimum(accepted, rows - accepted) >= FEWEST_OF_EACH
    return enough & (rows >= FEWEST_ROWS_PER_ARM)


def _by_cell(context: Context) -> LinearityTest:
    """Test every stratum with at least three decision-makers, and add up the tests."""
    n_makers = context.n_decision_makers
    n_outcomes = context.n_classes + 1
    code = (context.cell * n_makers + context.decision_maker) * n_outcomes + context.data.y + 1
    n_cells = int(context.cell.max()) + 1
    counts = np.bincount(code, minlength=n_cells * n_makers * n_outcomes).reshape(
        n_cells, n_makers, n_outcomes
    )
    tests = []
    for cell in counts.reshape(n_cells, n_makers, n_outcomes):
        large = cell[_large(cell.sum(axis=1), cell[:, 1:].sum(axis=1))]
        shown = large[:, 1:].any(axis=0)
        if len(large) >= 3 and shown.sum() > 1:
            tests.append(cell_linearity(large[:, np.append(True, shown)]))
    need(tests, f"no three decision-makers of one stratum have {FEWEST_ROWS_PER_ARM} cases or more.")
    return sum(tests[1:], start=tests[0])


def _given_features(context: Context) -> LinearityTest:
    need_strength(context, "for the test to hold its level given features")
    model = context.row_model
    rows = np.bincount(model.arm, minlength=model.propensity.shape[1])
    accepted = np.bincount(model.arm, context.model_data.decision, len(rows))
    large = _large(rows, accepted)
    need(large.sum() >= 3, f"fewer than three decision-makers have {FEWEST_ROWS_PER_ARM} cases or more.")
    kept = large[model.arm]
    propensity = model.propensity[kept][:, large]
    propensity = propensity / np.maximum(propensity.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return covariate_linearity(
        context.seen_labels[context.model_rows][kept],
        model.labeled[kept],
        model.posterior[kept],
        model.deviation[kept],
        model.parabola[kept],
        (np.cumsum(large) - 1)[model.arm[kept]],
        propensity,
    )


def first_stage(context: Context) -> float:
    """Effective F as a proxy for power: a test with a weak first stage cannot detect a curve."""
    try:
        return effective_f(context)
    except NotApplicableError:
        return 0.0


def _find_overidentification(context: Context) -> Finding:
    context.need_outcomes()
    need(context.n_decision_makers >= 3, "it takes three decision-makers to tell a line from a curve.")
    need(context.n_classes > 1, "one class only was seen.")
    context.need_rejected()
    test = _given_features(context) if context.has_features else _by_cell(context)
    p_value = test.p_value
    proxy = first_stage(context)
    figures = (
        f"χ² = {test.total:.1f} with {test.total_freedom} degrees of freedom; first-stage F = {proxy:.1f}"
    )
    detects = _detects(test, context.level)
    if status_of_test(p_value, context.level) == VIOLATED:
        return Finding(
            VIOLATED,
            f"Observed labels are not a straight line in leniency ({figures}): something unmeasured both "
            "moves the label and changes how decision-makers differ, or who decides changes the label.",
            test.total,
            p_value,
            "Use bounds (assumption='instrument'), not point estimates.",
            detects,
        )
    # Without features, conditional and average leniency are the same, so SL101 adds nothing.
    if proxy < USABLE or (context.has_features and context.result_of(STRENGTH).status != OK):
        return Finding(
            WARNING,
            f"NUCEM is not rejected ({figures}), but average leniencies differ too little for that to mean "
            "much.",
            test.total,
            p_value,
            "Use bounds (assumption='instrument'), not point estimates.",
            detects,
        )
    return Finding(
        OK,
        f"Observed labels are a straight line in leniency, as NUCEM says ({figures}).",
        test.total,
        p_value,
        detects=detects,
    )


def _detects(test: LinearityTest, level: float) -> str:
    """Curvature that the test detects with 80% power, at half of the level."""
    bend = np.sqrt(detectable_noncentrality(level / 2.0, test.curvature_freedom)) * test.bend_error
    if not np.isfinite(bend):
        return ""
    return f"a curve that leaves the line by {100 * bend * 0.1**2:.1f} points at ten points of leniency"


OVERIDENTIFICATION_CHECK = Check("SL601", "NUCEM over-identification", "nucem", _find_overidentification)


def shortfalls(lower: np.ndarray, point: np.ndarray) -> np.ndarray:
    """T statistic and p-value of the test for E[lower_k] > E[point_k], by class, (n_classes, 2)."""
    return np.array([one_sided(column) for column in (lower - point).T])


def _find_point_in_bounds(context: Context) -> Finding:
    context.need_outcomes()
    need(context.n_classes > 1, "one class only was seen.")
    need_strength(context, "for a point estimate")
    slopes = context.scores["nucem"]
    # Rows with bounds instead of a slope have no point estimate to compare.
    rows = ~slopes.by_bounds
    need(rows.sum() > 1, "decision-makers differ too little for a point estimate in any row.")
    lower, point = context.scores["instrument"].values[rows], slopes.values[rows]
    tests = shortfalls(lower, point)
    adjusted = holm(tests[:, 1])
    worst = int(adjusted.argmin())
    statistic, p_value = float(tests[worst, 0]), float(adjusted[worst])
    label = context.data.classes.tolist()[worst]
    status = status_of_test(p_value, context.level)
    figures = f"{point[:, worst].mean():.2f} against a lower bound of {lower[:, worst].mean():.2f}"
    if status == VIOLATED:
        return Finding(
            status,
            f"The point estimate contradicts the bounds: the share of {label!r} is {figures}.",
            statistic,
            p_value,
            "Use bounds, not point estimates.",
        )
    outside = point[:, worst].mean() < lower[:, worst].mean()
    where = "lies outside the bounds, by no more than noise" if outside else "lies within the bounds"
    return Finding(
        status,
        f"The point estimate {where} (closest: the share of {label!r}, {figures}).",
        statistic,
        p_value,
    )


POINT_IN_BOUNDS_CHECK = Check("SL602", "point estimate within bounds", "nucem", _find_point_in_bounds)


FEWEST_LABELS = 30
FEWEST_DECISION_MAKERS = 5
SMALLEST_RATE = 0.02


def biserial(codes: np.ndarray, decision: np.ndarray, index: np.ndarray, n_codes: int) -> np.ndarray:
    """Biserial correlation of an index with the latent normal variable behind a threshold decision, by code.

    (E[g | D=1] - E[g | D=0]) λ (1 - λ) / (φ(Φ⁻¹(λ)) sd(g))

    Unlike a Pearson correlation, it does not depend on the threshold: decision-makers who sort cases equally
    well have the same value at any leniency λ.

    Returns
    -------
    (n_codes,) array
        NaN where decisions or the index do not vary.

    Examples
    --------
    >>> index = np.array([0.0, 1.0, 2.0, 3.0])
    >>> biserial(np.zeros(4, dtype=int), np.array([0, 0, 1, 1]), index, 1).round(2)
    array([1.12])
    """
    columns = np.column_stack([np.ones(len(index)), decision, index, index**2, decision * index])
    rows, accepted, total, squares, both = sums_by(codes, columns, n_codes).T
    result = np.full(n_codes, np.nan)
    usable = (rows > 1) & (accepted > 0) & (accepted < rows)
    rate = accepted[usable] / rows[usable]
    mean = total[usable] / rows[usable]
    spread = np.sqrt(np.maximum(squares[usable] / rows[usable] - mean**2, 0.0))
    covariance = both[usable] / rows[usable] - rate * mean
    density = np.exp(-0.5 * ndtri(rate) ** 2) / np.sqrt(2.0 * np.pi)
    result[usable] = np.divide(
        covariance, density * spread, out=np.full(len(rate), np.nan), where=spread > 1e-9
    )
    return result


def slope_test(y: np.ndarray, x: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Slope of y on x by weighted least squares, and its robust p-value with J - 2 degrees of freedom.

    Examples
    --------
    >>> slope, p_value = slope_test(np.array([0.0, 1.1, 1.9, 3.0]), np.arange(4.0), np.ones(4))
    >>> round(slope, 2), p_value < 0.01
    (0.98, True)
    """
    x = x - np.average(x, weights=weight)
    y = y - np.average(y, weights=weight)
    scale = np.sum(weight * x**2)
    slope = float(np.sum(weight * x * y) / scale)
    residual = y - slope * x
    leverage = weight * (1.0 / weight.sum() + x**2 / scale)
    error = np.sqrt(np.sum((weight * x * residual / (1.0 - np.minimum(leverage, 0.99))) ** 2)) / scale
    statistic = slope / max(error, np.finfo(float).tiny)
    return slope, float(2.0 * t_distribution.sf(abs(statistic), len(y) - 2))


def _find_skill(context: Context) -> Finding:
    context.need_outcomes()
    need(context.n_classes > 1, "one class only was seen.")
    context.need_rejected()
    indices = case_indices(context)
    labels = [column for column, name in enumerate(indices.names) if name != "predicted decision"]
    need(labels, "features do not predict the label.")
    rows_of = context.compared
    codes, decision = context.decision_maker[rows_of], context.data.decision[rows_of]
    rows = np.bincount(codes, minlength=context.n_decision_makers)
    rate = np.bincount(codes, context.adjusted_outcomes[:, 0], context.n_decision_makers) / np.maximum(
        rows, 1
    )
    tests = []
    for column in labels:
        sorting = biserial(codes, decision, indices.values[:, column], context.n_decision_makers)
        kept = (rows >= FEWEST_LABELS) & np.isfinite(sorting)
        kept &= (rate > SMALLEST_RATE) & (rate < 1.0 - SMALLEST_RATE)
        need(
            kept.sum() >= FEWEST_DECISION_MAKERS,
            f"fewer than {FEWEST_DECISION_MAKERS} decision-makers have {FEWEST_LABELS} cases, some of each "
            "decision.",
        )
        average = np.average(sorting[kept], weights=rows[kept])
        slope, p_value = slope_test(np.sign(average) * sorting[kept], rate[kept], rows[kept].astype(float))
        tests.append((slope, p_value, abs(average)))
    adjusted = holm(np.array([p_value for _, p_value, _ in tests]))
    worst = int(adjusted.argmin())
    slope, _, average = tests[worst]
    p_value = float(adjusted[worst])
    how = f"decisions and predicted label have a correlation of {average:.2f}"
    if p_value <= context.level:
        kind = "Lenient" if slope > 0 else "Strict"
        return Finding(
            WARNING,
            f"{kind} decision-makers also sort cases better by what features tell ({how}, which changes by "
            f"{abs(slope):.2f} per unit of leniency).",
            slope,
            p_value,
            "Do not read differences along leniency as effects of leniency alone: contraction and "
            "extrapolation mix them with skill.",
        )
    return Finding(
        OK,
        f"Lenient and strict decision-makers sort cases equally well by what features tell ({how}).",
        slope,
        p_value,
    )


SKILL_CHECK = Check("SL801", "leniency apart from skill", "skill", _find_skill)


def _find_unconfounded(context: Context) -> Finding:
    test, n_free = labels_on_leniency(context), context.n_classes - 1
    statistic, p_value = test.statistic, test.p_value
    change = 10.0 * np.sqrt(detectable_noncentrality(context.level, n_free)) * test.error
    need(np.isfinite(change), "decision-makers are equally lenient with labeled cases.")
    detects = (
        f"shares of labels of comparable cases that change by {change:.1f} points with ten points of leniency"
    )
    status = status_of_test(p_value, context.level)
    if status == VIOLATED:
        return Finding(
            status,
            f"Among comparable cases, labels depend on leniency (χ² = {statistic:.1f}): "
            "decisions know more about the label than the features do.",
            statistic,
            p_value,
            "Do not assume that decisions are unconfounded; use bounds.",
            detects,
        )
    proxy = first_stage(context)
    figures = f"χ² = {statistic:.1f}; first-stage F = {proxy:.1f}"
    if proxy < USABLE:
        return Finding(
            WARNING,
            f"Among comparable cases, no dependence of labels on who decided was found ({figures}), but "
            "average leniencies differ too little for that to mean much.",
            statistic,
            p_value,
            "Do not take this as evidence that decisions are unconfounded.",
            detects,
        )
    return Finding(
        status,
        f"Among comparable cases, labels are not found to depend on who decided ({figures}).",
        statistic,
        p_value,
        detects=detects,
    )


UNCONFOUNDED_CHECK = Check("SL901", "labels given features", "unconfounded", _find_unconfounded)
