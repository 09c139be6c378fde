"""SL401, SL402, SL501, SL701: the instrumental inequality, monotonicity with exclusion, crossing bounds."""

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import ndtri
from sklearn.tree import DecisionTreeRegressor

from selective_labels.assumptions.base import OK, VIOLATED, WARNING
from selective_labels.diagnostics.context import Context, excess
from selective_labels.diagnostics.hypothesis_tests import (
    POWER,
    decision_makers_per_cell,
    holm,
    mean_above_zero,
)
from selective_labels.diagnostics.marginal_curve import MarginalCurve, Shares, marginal_curve, n_parameters
from selective_labels.diagnostics.results import Check, Finding, need, status_of_test
from selective_labels.nuisance.models.encoders import one_hot_columns


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
        "allow. Only gross violations would show.",
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
    tree = DecisionTreeRegressor(max_leaf_nodes=MOST_LEAVES, min_samples_leaf=smallest, random_state=0)
    features = one_hot_columns(context.model_data.categorical).fit_transform(context.model_data.features)
    leaf = tree.fit(features, expected).apply(features)
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
            f"Estimated bounds cross for {share:.0%} of cases, and not by chance (SL401, SL402).",
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
