"""SL501: monotonicity with exclusion: a lenient decision-maker accepts whatever a strict one does."""

import numpy as np

from selective_labels.diagnostics.cells import holm, sums_by
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.marginal_curve import marginal_curve, n_parameters
from selective_labels.diagnostics.results import VIOLATED, Check, Finding, need, status_of_test

FEWEST_ROWS = 20
FEWEST_DECISION_MAKERS = 5


def _find(context: Context) -> Finding:
    need(context.n_classes > 1, "one class only was seen.")
    context.need_rejected()
    codes = context.decision_maker[context.compared]
    columns = np.column_stack([np.ones(len(codes)), context.adjusted_outcomes])
    total = sums_by(codes, columns, context.n_decision_makers)
    total = total[total[:, 0] >= FEWEST_ROWS]
    need(
        len(total) >= FEWEST_DECISION_MAKERS,
        f"fewer than {FEWEST_DECISION_MAKERS} decision-makers have {FEWEST_ROWS} cases or more.",
    )
    rows = total[:, 0]
    means = total[:, 1:] / rows[:, None]
    leniency = np.clip(means[:, 0], 0.0, 1.0)
    need(
        len(np.unique(leniency)) > n_parameters(len(rows)),
        "decision-makers have hardly any difference in leniency.",
    )
    generator = context.generator(501)
    curves = [marginal_curve(column, leniency, rows, generator) for column in means[:, 1:].T]
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


CHECK = Check("SL501", "monotonicity with exclusion", "monotonicity", _find)
