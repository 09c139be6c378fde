"""How often each decision-maker decides in favour, and what is then seen."""

from dataclasses import replace

import numpy as np

from selective_labels.assessment.sections import Part
from selective_labels.data import SelectiveLabels
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.effective_f import adjusted_leniency
from selective_labels.diagnostics.results import NotApplicableError
from selective_labels.support.errors import UndefinedError

MOST_SHOWN = 200


def leniency_part(data: SelectiveLabels, event: int) -> Part:
    """Acceptance rates, adjusted for strata, and shares of the event among labeled cases, of all rows.

    Decision-makers with fewer than two cases to compare have no standard error and are not shown.
    """
    try:
        rates = adjusted_leniency(Context(replace(data, X=np.zeros((len(data), 0)))))
    except NotApplicableError as reason:
        raise UndefinedError(f"Leniency cannot be compared: {reason}", "decision_maker") from None
    codes, n_makers = data.decision_maker_codes, data.n_decision_makers
    labeled = np.bincount(codes, data.decision, n_makers)
    events = np.bincount(codes, data.y == event, n_makers)
    rate = events / np.maximum(labeled, 1.0)
    rate_error = np.sqrt(rate * (1.0 - rate) / np.maximum(labeled, 1.0))
    known = np.flatnonzero(rates.rows > 1)
    largest = known[np.argsort(-rates.rows[known], kind="stable")][:MOST_SHOWN]
    shown = largest[np.argsort(rates.mean[largest], kind="stable")]
    people = [
        {
            "id": str(data.decision_makers[place]),
            "n": int(rates.rows[place]),
            "leniency": float(rates.mean[place]),
            "error": float(rates.error[place]),
            "label_rate": float(rate[place]) if labeled[place] else None,
            "label_rate_error": float(rate_error[place]) if labeled[place] else None,
        }
        for place in shown
    ]
    return Part(
        {
            "pos_label": str(data.classes[event]),
            "n_decision_makers": n_makers,
            "note": _note(n_makers, len(known), len(shown)),
            "decision_makers": people,
        }
    )


def _note(n_makers: int, n_known: int, n_shown: int) -> str | None:
    notes = []
    if n_shown < n_known:
        notes.append(f"The {n_shown:,} of {n_makers:,} decision-makers with the most cases are shown.")
    if n_known < n_makers:
        notes.append(
            f"{n_makers - n_known:,} have fewer than two cases that others could have had, and are not shown."
        )
    return " ".join(notes) or None
