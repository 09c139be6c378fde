"""SL501: monotonicity with exclusion: a lenient decision-maker accepts whatever a strict one does."""

import numpy as np

from selective_labels.diagnostics.cells import decision_makers_per_cell, holm
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.marginal_curve import Shares, marginal_curve, n_parameters
from selective_labels.diagnostics.results import VIOLATED, Check, Finding, need, status_of_test

FEWEST_ROWS = 20
FEWEST_DECISION_MAKERS = 5
# Those with most cases, if there are more: their noise is a matrix of so many squared.
MOST_DECISION_MAKERS = 1500


def _find(context: Context) -> Finding:
    need(context.n_classes > 1, "one class only was seen.")
    context.need_rejected()
    rows = _rows_of_large(context)
    _, maker = np.unique(context.decision_maker[rows], return_inverse=True)
    _, cell = np.unique(context.cell[rows], return_inverse=True)
    decision = context.data.decision[rows]
    shares = [Shares.of(seen, decision, maker, cell) for seen in context.seen_labels[rows].T]
    pairs = shares[0].pairs()
    leniency = pairs.left(shares[0].leniency[:, None])[:, 0]
    need(
        len(np.unique(leniency.round(12))) > n_parameters(len(leniency)),
        "decision-makers have hardly any difference in leniency.",
    )
    generator = context.generator(501)
    curves = [marginal_curve(each, generator) for each in shares]
    adjusted = holm(np.array([curve.p_value for curve in curves]))
    worst = int(adjusted.argmin())
    curve, p_value = curves[worst], float(adjusted[worst])
    label = context.data.classes.tolist()[worst]
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


def _rows_of_large(context: Context) -> np.ndarray:
    """Rows of decision-makers with cases enough, in cells where they can be compared with each other."""
    codes = context.decision_maker
    counts = np.bincount(codes[context.compared], minlength=context.n_decision_makers)
    large = counts >= max(FEWEST_ROWS, np.sort(counts)[-MOST_DECISION_MAKERS:][0])
    rows = context.compared[large[codes[context.compared]]]
    if len(rows):
        rows = rows[decision_makers_per_cell(context.cell[rows], codes[rows])[context.cell[rows]] > 1]
    need(
        len(np.unique(codes[rows])) >= FEWEST_DECISION_MAKERS,
        f"fewer than {FEWEST_DECISION_MAKERS} decision-makers have {FEWEST_ROWS} cases or more.",
    )
    return rows


CHECK = Check("SL501", "monotonicity with exclusion", "monotonicity", _find)
