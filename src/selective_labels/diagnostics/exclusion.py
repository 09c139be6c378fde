"""SL401, SL402, SL501, SL701: the instrumental inequality, monotonicity with exclusion, crossing bounds.

The statistic of SL501 is a smooth curve of the observed share of a class as a function of leniency.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.interpolate import BSpline
from scipy.special import ndtri
from scipy.stats import chi2
from sklearn.tree import DecisionTreeRegressor

from selective_labels.assumptions.base import OK, VIOLATED, WARNING
from selective_labels.diagnostics.context import Context, excess
from selective_labels.diagnostics.hypothesis_tests import (
    POWER,
    CellPairs,
    decision_makers_per_cell,
    holm,
    mean_above_zero,
    sums_by,
)
from selective_labels.diagnostics.results import Check, Finding, need, status_of_test
from selective_labels.nuisance.model_selection import spaced
from selective_labels.nuisance.models.encoders import one_hot_columns

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


def _find_inequality(context: Context) -> Finding:
    values = excess(context)
    statistic, p_value = _above_zero(context, values)
    mean = float(np.average(values, weights=context.model_data.weights))
    total = 1.0 + mean
    status = status_of_test(p_value, context.level)
    error = mean / statistic if statistic else 0.0
    seen = 1.0 + (ndtri(1.0 - context.level) + ndtri(POWER)) * error
    detects = f"lower bounds that sum to {seen:.2f} or more on average"
    if status == VIOLATED:
        return Finding(
            status,
            f"The best lower bounds of the classes sum to {total:.2f} on average: no probabilities fit. "
            "Cases are not comparable across decision-makers, or who decides changes the label.",
            statistic,
            p_value,
            "Do not use decision-makers as an instrument before finding out which of the two.",
            detects,
        )
    return Finding(
        status,
        f"The best lower bounds of the classes sum to {total:.2f} on average, within what probabilities "
        "allow. Only large violations would be found.",
        statistic,
        p_value,
        detects=detects,
    )


def _above_zero(context: Context, values: np.ndarray, rows: np.ndarray | None = None) -> tuple[float, float]:
    """Statistic and p-value of the null "the weighted mean among some rows is at most zero", by groups."""
    data = context.model_data
    kept = np.ones(len(data), dtype=bool) if rows is None else rows
    units = None if data.groups is None else data.groups[kept]
    return mean_above_zero(values[kept], data.weights[kept], units)


INEQUALITY_CHECK = Check("SL401", "instrumental inequality", "inequality", _find_inequality)


MOST_LEAVES = 8
SMALLEST_LEAF = 200
# A score depends mostly on the rows of one arm; with fewer of them in a leaf, its mean is far from normal.
SMALLEST_LEAF_PER_ARM = 40
# Kinds of cases are coarse, and predictions have little noise: more rows cost time and change no cut much.
MOST_ROWS_OF_TREE = 4_000


def _find_inequality_leaves(context: Context) -> Finding:
    need(context.has_features, "there is no feature that varies.")
    values = excess(context)
    per_arm = SMALLEST_LEAF_PER_ARM * context.fit.n_arms
    smallest = max(SMALLEST_LEAF, per_arm, len(values) // (4 * MOST_LEAVES))
    need(
        len(values) >= 2 * smallest,
        f"fewer than {2 * smallest:,} cases cannot be cut into kinds with {SMALLEST_LEAF_PER_ARM} cases per "
        "decision-maker (or group of them).",
    )
    # The tree is fitted to predictions, not to scores: leaves selected on the scores would bias the test.
    expected = context.scores["instrument"].plug_in.sum(axis=1)
    features = one_hot_columns(context.model_data.categorical).fit_transform(context.model_data.features)
    some = spaced(np.arange(len(values)), MOST_ROWS_OF_TREE)
    fewest = max(int(smallest * len(some) / len(values)), 1)
    tree = DecisionTreeRegressor(max_leaf_nodes=MOST_LEAVES, min_samples_leaf=fewest, random_state=0)
    leaf = tree.fit(features[some], expected[some]).apply(features)
    leaves = np.unique(leaf)
    tests = np.array([_above_zero(context, values, leaf == each) for each in leaves])
    adjusted = holm(tests[:, 1])
    worst = int(adjusted.argmin())
    statistic, p_value = float(tests[worst, 0]), float(adjusted[worst])
    status = status_of_test(p_value, context.level)
    here = leaf == leaves[worst]
    total = 1.0 + float(np.average(values[here], weights=context.model_data.weights[here]))
    cases = int(here.sum())
    if status == VIOLATED:
        return Finding(
            status,
            f"Among {cases:,} cases of one kind the best lower bounds sum to {total:.2f}: no probabilities "
            "fit.",
            statistic,
            p_value,
            "Do not use decision-makers as an instrument for such cases.",
        )
    return Finding(
        status,
        f"In each of {len(leaves)} kinds of cases the lower bounds fit into one probability.",
        statistic,
        p_value,
    )


INEQUALITY_LEAVES_CHECK = Check(
    "SL402", "instrumental inequality by kind of case", "inequality", _find_inequality_leaves
)


FEWEST_ROWS = 20
FEWEST_DECISION_MAKERS = 5
# With fewer expected labels of a class, shares are too skewed for the χ² approximation.
FEWEST_EXPECTED = 3
# If there are more, those with most cases are used: the covariance matrix grows with the square.
MOST_DECISION_MAKERS = 1500


# The same where the check runs unasked; the time grows with the cube.
QUICK_DECISION_MAKERS = 150


def _find_monotonicity(context: Context, most: int = MOST_DECISION_MAKERS) -> Finding:
    context.need_outcomes()
    need(context.n_classes > 1, "one class only was seen.")
    context.need_rejected()
    generator = context.generator(501)
    found = [(label, _curve(context, label, generator, most)) for label in range(context.n_classes)]
    tested = [(label, curve) for label, curve in found if curve is not None]
    need(
        tested,
        f"fewer than {FEWEST_DECISION_MAKERS} decision-makers have {FEWEST_ROWS} cases and {FEWEST_EXPECTED} "
        "labels of a class or more, and differ in leniency.",
    )
    curves = [curve for _, curve in tested]
    adjusted = holm(np.array([curve.p_value for curve in curves]))
    worst = int(adjusted.argmin())
    curve, p_value = curves[worst], float(adjusted[worst])
    label = context.data.classes.tolist()[tested[worst][0]]
    status = status_of_test(p_value, context.level)
    if status == VIOLATED:
        reason = (
            f"decision-makers of equal leniency see different shares of {label!r}"
            if curve.fit_p_value <= curve.slope_p_value
            else f"the share of {label!r} among cases at the margin would be {curve.slopes.min():.2f} to "
            f"{curve.slopes.max():.2f}, outside [0, 1]"
        )
        return Finding(
            status,
            f"Decision-makers do not differ by a threshold alone: {reason}.",
            curve.fit_statistic,
            p_value,
            "Either who decides changes the outcome, or decision-makers rank cases differently. Ask which: "
            "bounds from an instrument allow the second and not the first; extrapolation to full leniency "
            "and contraction allow neither.",
        )
    return Finding(
        status,
        "Decision-makers may differ by a threshold alone: all lie on one curve of leniency, with possible "
        "slopes.",
        curve.fit_statistic,
        p_value,
    )


def _curve(context: Context, label: int, generator: np.random.Generator, most: int) -> MarginalCurve | None:
    """Marginal curve of a class; None if too few decision-makers can be compared."""
    codes, cells, rows = context.decision_maker, context.cell, context.compared
    rows = rows[context.data.weights[rows] > 0.0]  # a decision-maker without weight has no leniency
    counts = np.bincount(codes[rows], minlength=context.n_decision_makers)
    large = counts >= max(FEWEST_ROWS, np.sort(counts)[-most:][0])
    # Select decision-makers by expected labels: selecting on observed labels would bias the test.
    seen, decided = context.seen_labels[rows, label], context.data.decision[rows]
    rate = np.bincount(cells[rows], seen) / np.maximum(np.bincount(cells[rows], decided), 1.0)
    rarer = np.minimum(rate, 1.0 - rate)[cells[rows]]
    large &= np.bincount(codes[rows], decided * rarer, context.n_decision_makers) >= FEWEST_EXPECTED
    rows = rows[large[codes[rows]]]
    if not len(rows):
        return None
    rows = rows[decision_makers_per_cell(cells[rows], codes[rows])[cells[rows]] > 1]
    makers, maker = np.unique(codes[rows], return_inverse=True)
    if len(makers) < FEWEST_DECISION_MAKERS:
        return None
    _, cell = np.unique(cells[rows], return_inverse=True)
    shares = Shares.of(
        context.seen_labels[rows, label],
        context.data.decision[rows],
        maker,
        cell,
        None if context.data.sample_weight is None else context.data.weights[rows],
        None if context.data.groups is None else context.data.groups[rows],
    )
    leniency = shares.pairs().left(shares.leniency[:, None]).round(12)
    if len(np.unique(leniency)) <= n_parameters(len(makers)):
        return None
    return marginal_curve(shares, generator)


MONOTONICITY_CHECK = Check("SL501", "monotonicity with exclusion", "monotonicity", _find_monotonicity)
QUICK_MONOTONICITY = replace(MONOTONICITY_CHECK, find=partial(_find_monotonicity, most=QUICK_DECISION_MAKERS))


# Sampling error alone makes some bounds cross. Above these shares of rows: a warning, a possible violation.
SOME, MANY = 0.01, 0.05


def _find_crossing(context: Context) -> Finding:
    context.need_outcomes()
    share = float(context.bounds[1].mean())
    if share <= SOME:
        return Finding(OK, f"Estimated bounds cross for {share:.1%} of cases.", share)
    refuted = VIOLATED in (
        context.result_of(INEQUALITY_CHECK).status,
        context.result_of(INEQUALITY_LEAVES_CHECK).status,
    )
    if share > MANY and refuted:
        return Finding(
            VIOLATED,
            f"Estimated bounds cross for {share:.0%} of cases, by more than sampling error (SL401, SL402).",
            share,
            advice="Do not use decision-makers as an instrument here.",
        )
    return Finding(
        WARNING,
        f"Estimated bounds cross for {share:.0%} of cases: noise of the models, as far as can be told.",
        share,
        advice="Merge decision-makers with few cases, or use fewer features.",
    )


CROSSING_CHECK = Check("SL701", "crossing bounds", "crossing", _find_crossing)
