"""SL602: whether the point estimate (NUCEM) respects the bounds, which need no such assumption."""

import numpy as np

from selective_labels.diagnostics.conditional_strength import need_strength
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.inequality import one_sided
from selective_labels.diagnostics.results import VIOLATED, Check, Finding, need, status_of_test
from selective_labels.hypotheses.cells import holm


def shortfalls(lower: np.ndarray, point: np.ndarray) -> np.ndarray:
    """T statistic and p-value of E[lower_k] > E[point_k] for each class, (n_classes, 2)."""
    return np.array([one_sided(column) for column in (lower - point).T])


def _find(context: Context) -> Finding:
    need(context.n_classes > 1, "one class only was seen.")
    need_strength(context, "for a point estimate")
    slopes = context.scores["nucem"]
    # Rows with bounds in place of a slope have nothing to compare.
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


CHECK = Check("SL602", "point estimate within bounds", "nucem", _find)
