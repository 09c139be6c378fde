"""SL304: whether the ids of decision-makers are measurements."""

import numpy as np

from selective_labels.data.instruments import looks_measured
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import OK, WARNING, Check, Finding, need


def _find(context: Context) -> Finding:
    need(context.n_decision_makers > 1, "there is only one decision-maker.")
    ids = context.data.decision_makers
    if context.data.numeric:
        return Finding(
            OK,
            f"decision_maker is taken as a number: checks compare cases at {len(ids)} values, each case at "
            "the nearest, and call these values decision-makers.",
            float(len(ids)),
        )
    rows = np.bincount(context.decision_maker, minlength=len(ids))
    if looks_measured(ids, rows):
        return Finding(
            WARNING,
            f"The ids of decision-makers are {len(ids):,} different numbers, {np.median(rows):,.0f} cases "
            "each in the median: they look like a measurement, and are taken as names without an order.",
            float(len(ids)),
            advice="If they measure something (a distance, a time, a rate), give instrument='numeric'.",
        )
    return Finding(OK, "The ids of decision-makers look like names.", float(len(ids)))


CHECK = Check("SL304", "numbers as ids", "overlap", _find)
