"""SL304: whether the ids of decision-makers are measurements."""

import numpy as np

from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import OK, WARNING, Check, Finding, need

# Fewer different fractions may be names of something; whole numbers usually are.
MANY_FRACTIONS = 20
MANY_NUMBERS = 100
# Whoever has decision-makers in mind has more cases of most of them.
FEW_ROWS = 2


def looks_measured(ids: np.ndarray, rows: np.ndarray) -> bool:
    """Whether ids are so many different numbers that they measure something rather than name somebody.

    Parameters
    ----------
    ids : (n_decision_makers,) array
        Different from each other.
    rows : (n_decision_makers,) array
        Cases of each.

    Examples
    --------
    >>> looks_measured(np.linspace(0, 1, 50), np.full(50, 9)), looks_measured(np.arange(50), np.full(50, 9))
    (True, False)
    >>> looks_measured(np.arange(500), np.ones(500)), looks_measured(np.arange(500).astype(str), np.ones(500))
    (True, False)
    """
    if not (np.issubdtype(ids.dtype, np.integer) or np.issubdtype(ids.dtype, np.floating)):
        return False
    fractions = bool(np.any(ids != np.floor(ids)))
    if fractions:
        return len(ids) > MANY_FRACTIONS
    return len(ids) > MANY_NUMBERS and float(np.median(rows)) <= FEW_ROWS


def _find(context: Context) -> Finding:
    need(context.n_decision_makers > 1, "there is only one decision-maker.")
    ids = context.data.decision_makers
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
