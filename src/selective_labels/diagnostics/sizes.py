"""SL301: how many cases and labels each decision-maker has, and whom to merge."""

import numpy as np

from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import OK, WARNING, Check, Finding, need

# Decision-makers with fewer cases than this say little on their own.
FEW_ROWS = 30
# Share of cases with such decision-makers above which it matters.
MANY_CASES = 0.05
SHOWN = 5


def _find(context: Context) -> Finding:
    need(context.n_decision_makers > 1, "there is only one decision-maker.")
    rows = np.bincount(context.decision_maker, minlength=context.n_decision_makers)
    labels = np.bincount(
        context.decision_maker, weights=context.data.decision, minlength=context.n_decision_makers
    ).astype(int)
    small = np.flatnonzero(rows < FEW_ROWS)
    share = float(rows[small].sum() / rows.sum())
    message = (
        f"{len(rows):,} decision-makers have {rows.min():,} to {rows.max():,} cases (median "
        f"{np.median(rows):,.0f}) and {labels.min():,} to {labels.max():,} labels."
    )
    if not len(small):
        return Finding(OK, message, float(rows.min()))
    names = [str(name) for name in context.data.decision_makers[small[:SHOWN]].tolist()]
    more = f" and {len(small) - SHOWN:,} more" if len(small) > SHOWN else ""
    return Finding(
        WARNING if share > MANY_CASES else OK,
        f"{message} {len(small):,} of them have fewer than {FEW_ROWS}, {share:.1%} of all cases.",
        float(rows.min()),
        advice=f"Merge decision-makers that work alike (by unit or office), first {', '.join(names)}{more}.",
    )


CHECK = Check("SL301", "sizes", "overlap", _find)
