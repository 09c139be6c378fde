"""SL104: what bounds will be worth here."""

import numpy as np

from selective_labels.diagnostics.conditional_strength import CHECK as STRENGTH
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.inequality import excess
from selective_labels.diagnostics.results import NOT_APPLICABLE, OK, Check, Finding, need
from selective_labels.identification.rules import decided as decided_rows

WIDE_RANGE = 0.1


def _find(context: Context) -> Finding:
    need(context.n_classes > 1, "one class only was seen.")
    wide = float(np.mean(context.row_model.leniency_range > WIDE_RANGE))
    bounds, _ = context.bounds
    # The same estimate as SL401's, so that what the two say adds up to one.
    slack = max(-float(excess(context).mean()), 0.0)
    unseen = 1.0 - float(context.model_data.decision.mean())
    settled = float(decided_rows(bounds).mean())
    decided = context.result_of(STRENGTH).status
    return Finding(
        OK if decided == NOT_APPLICABLE else decided,
        f"For {wide:.0%} of cases the most and the least lenient decision-maker differ by more than 10 "
        f"points. Labels of {unseen:.0%} are unseen; bounds leave {slack:.0%} open on average, and settle "
        f"the most probable class of {settled:.0%} of cases.",
        slack,
    )


CHECK = Check("SL104", "worth of bounds", "relevance", _find)
