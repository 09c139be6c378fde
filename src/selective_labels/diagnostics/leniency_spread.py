"""SL103: how far acceptance rates of decision-makers lie apart, sampling noise taken out."""

import numpy as np

from selective_labels.diagnostics.conditional_strength import CHECK as STRENGTH
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.effective_f import adjusted_leniency, explained_and_noise
from selective_labels.diagnostics.results import NOT_APPLICABLE, OK, Check, Finding, need


def _find(context: Context) -> Finding:
    context.need_rejected()
    leniency = adjusted_leniency(context)
    need(np.sum(leniency.rows > 1) > 1, "fewer than two decision-makers have more than one case.")
    explained, noise = explained_and_noise(leniency)
    rows = leniency.rows[leniency.rows > 1].sum()
    spread = np.sqrt(max(explained - noise, 0.0) / rows)
    seen = np.sqrt(explained / rows)
    decided = context.result_of(STRENGTH).status
    return Finding(
        OK if decided == NOT_APPLICABLE else decided,
        f"Acceptance rates {context.place} have a standard deviation of {100 * seen:.1f} points over "
        f"decision-makers, {100 * spread:.1f} of which are not sampling noise.",
        float(spread),
    )


CHECK = Check("SL103", "spread of leniency", "relevance", _find)
