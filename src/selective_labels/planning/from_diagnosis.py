"""What the checks of a sample know of acceptance rates, and what widths these lead one to expect."""

from typing import Any

import numpy as np

from selective_labels.diagnostics import Diagnosis
from selective_labels.planning.formulas import largest_leniency, study_width
from selective_labels.support.errors import InputError


def acceptance_rates(diagnosis: Diagnosis) -> tuple[float, float]:
    """Mean and standard deviation of decision-makers' acceptance rates, the noise of each taken off."""
    rates, errors = diagnosis.figures.leniency, diagnosis.figures.leniency_error
    if rates is None or errors is None:
        raise InputError("this diagnosis knows no acceptance rates of decision-makers.", "diagnosis")
    known = np.isfinite(rates) & np.isfinite(errors)
    if known.sum() < 2:
        raise InputError("fewer than two decision-makers have an acceptance rate.", "diagnosis")
    spread = np.sqrt(max(np.var(rates[known], ddof=1) - np.mean(errors[known] ** 2), 0.0))
    return float(np.mean(rates)), float(spread)


def ways_from_diagnosis(
    diagnosis: Diagnosis, cases: float, decision_makers: float, leniency: float | None, width: float | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Expected widths for any classifier, by the formulas of a study yet to be made.

    Returns
    -------
    rows : list of dict
        As those of a plan.
    answers : list of str
    """
    mean, spread = acceptance_rates(diagnosis)
    n_samples, n_makers = diagnosis.n_samples, diagnosis.n_decision_makers
    now = largest_leniency(mean, spread, n_makers)

    def row(way: str, size: float = 1.0, makers: int = n_makers, slack: float = 1.0) -> dict[str, Any]:
        bounds, interval = study_width(size * n_samples, makers, mean, spread, None, 0.95)
        return {"way": way, "bounds": bounds * slack, "interval": interval - bounds * (1.0 - slack)}

    more = round(n_makers * decision_makers)
    rows = [
        row("as it is, expected"),
        row(f"{cases:g} times the cases", cases),
        row(f"{more} decision-makers", makers=more),
    ]
    if now < 1.0:
        wanted = 1.0 - (1.0 - now) / 2.0 if leniency is None else leniency
        way = f"some who accept {wanted:.0%} (the most lenient now: {now:.0%})"
        rows.append(row(way, slack=min((1.0 - wanted) / (1.0 - now), 1.0)))
    answers = []
    if width is not None:
        reached = [each["way"] for each in rows if each["interval"] <= width]
        answers.append(
            f"An interval of {width:g} or less is to be expected with: {', '.join(reached)}."
            if reached
            else f"None of these leads one to expect an interval as narrow as {width:g}."
        )
    return rows, answers
