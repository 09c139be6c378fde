"""SL303: whether every kind of case is decided in favour of now and then."""

import numpy as np

from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import OK, WARNING, Check, Finding

# A label of such a case stands for twenty cases or more.
RARELY = 0.05
# Share of cases above which it matters.
MANY_CASES = 0.05


def _find(context: Context) -> Finding:
    context.need_rejected()
    chance = context.case_model.decision
    decided = context.data.decision[context.compared]
    rare = chance < RARELY
    share = float(rare.mean())
    if share <= MANY_CASES:
        return Finding(
            OK,
            f"{1 - share:.1%} of cases are of a kind that is decided in favour of in {RARELY:.0%} or more.",
            share,
        )
    n_seen = int(np.sum(decided[rare]))
    return Finding(
        WARNING,
        f"{share:.0%} of cases are of a kind that is hardly ever decided in favour of (in fewer than "
        f"{RARELY:.0%}, by the models): {n_seen:,} labels stand for {int(rare.sum()):,} cases.",
        share,
        advice="What 'unconfounded' or 'nucem' say of such cases is extrapolated, and their bounds are wide: "
        "leave them out, or ask only about cases like those that are decided in favour of.",
    )


CHECK = Check("SL303", "overlap of decisions", "overlap", _find)
