"""SL501: monotonicity with exclusion: a lenient decision-maker accepts whatever a strict one does."""

import numpy as np

from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import VIOLATED, Check, Finding, need, status_of_test
from selective_labels.hypotheses.cells import decision_makers_per_cell, holm
from selective_labels.hypotheses.marginal_curve import MarginalCurve, Shares, marginal_curve, n_parameters

FEWEST_ROWS = 20
FEWEST_DECISION_MAKERS = 5
# Shares of fewer labels of a class, expected, are too skewed for χ².
FEWEST_EXPECTED = 3
# Those with most cases, if there are more: their noise is a matrix of so many squared.
MOST_DECISION_MAKERS = 1500


def _find(context: Context) -> Finding:
    need(context.n_classes > 1, "one class only was seen.")
    context.need_rejected()
    generator = context.generator(501)
    found = [(label, _curve(context, label, generator)) for label in range(context.n_classes)]
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
            "Avoid methods that need monotonicity (extrapolation to full leniency, contraction); bounds from "
            "an instrument do not.",
        )
    return Finding(
        status,
        "Decision-makers may differ by a threshold alone: all lie on one curve of leniency, with possible "
        "slopes.",
        curve.fit_statistic,
        p_value,
    )


def _curve(context: Context, label: int, generator: np.random.Generator) -> MarginalCurve | None:
    """The curve of a class; None where too few decision-makers can be compared."""
    codes, cells, rows = context.decision_maker, context.cell, context.compared
    counts = np.bincount(codes[rows], minlength=context.n_decision_makers)
    large = counts >= max(FEWEST_ROWS, np.sort(counts)[-MOST_DECISION_MAKERS:][0])
    # By what is to be expected of their labels, not by what was seen: nobody is chosen for her luck.
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
    shares = Shares.of(context.seen_labels[rows, label], context.data.decision[rows], maker, cell)
    leniency = shares.pairs().left(shares.leniency[:, None]).round(12)
    if len(np.unique(leniency)) <= n_parameters(len(makers)):
        return None
    return marginal_curve(shares, generator)


CHECK = Check("SL501", "monotonicity with exclusion", "monotonicity", _find)
