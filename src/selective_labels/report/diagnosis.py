"""The sections about the checks, the assumption that they allow, and the leniency of decision-makers."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selective_labels._errors import UndefinedError
from selective_labels.assumptions.base import FAMILIES
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.diagnose import diagnose
from selective_labels.diagnostics.results import Diagnosis, NotApplicableError, questions
from selective_labels.diagnostics.strength import adjusted_leniency
from selective_labels.evaluation.results import plain
from selective_labels.report.document import Part


def diagnosis_part(data: SelectiveLabels, *, nuisance: Any, cv: Any, n_jobs: int | None, seed: int) -> Part:
    """Run all checks; nuisance models are logistic unless chosen otherwise."""
    diagnosis = diagnose(
        data,
        nuisance="logistic" if nuisance is None else nuisance,
        cv=cv,
        n_jobs=n_jobs,
        random_state=seed,
    )
    return Part(diagnosis_content(diagnosis))


def diagnosis_content(diagnosis: Diagnosis) -> dict[str, Any]:
    """Checks and verdicts as JSON-serializable values."""
    verdict = []
    for assumption, given, _ in questions():
        allowed = diagnosis.allows(assumption, given=given)
        # The conditioning is reported only where an assumption has more than one form.
        about = given if len(assumption.questions) > 1 else None
        verdict.append(
            {
                "assumption": assumption.name,
                "given": about,
                "allowed": bool(allowed),
                "verdict": allowed.verdict,
                "reason": allowed.reason,
                "plain": allowed.plain,
                "could_see": _could_see(diagnosis, assumption.spoken_to_by),
            }
        )
    return {
        "checks": [{name: plain(value) for name, value in vars(each).items()} for each in diagnosis],
        "families": {family: diagnosis.status(family) for family in FAMILIES},
        "verdict": verdict,
        "n_model_rows": diagnosis.n_model_rows,
        "strength": None if diagnosis.strength is None else diagnosis.strength.content(),
    }


def _could_see(diagnosis: Diagnosis, families: tuple[str, ...]) -> list[str]:
    """Violations that the checks of some families detect with 80 % power."""
    return [each.detects for each in diagnosis if each.family in families and each.detects]


@dataclass(frozen=True)
class Basis:
    """The weakest assumption that is allowed and narrows the bounds.

    Attributes
    ----------
    assumption : "instrument" or "none"
    given : "strata", "features", "all seen" or None
        Conditioning under which assignment is as good as random; "all seen" if no label is missing.
    reason : str
        The reason, as the diagnosis states it.
    """

    assumption: str
    given: str | None
    reason: str


def basis_of(diagnosis: dict[str, Any]) -> Basis:
    """Choose the basis from the verdicts: the instrument within strata, else given the features, else none.

    Examples
    --------
    >>> refused = {"assumption": "instrument", "given": "strata", "allowed": False, "plain": "No."}
    >>> basis_of({"verdict": [refused]})
    Basis(assumption='none', given=None, reason='No.')
    """
    if "missing" in diagnosis:
        return Basis("none", None, f"The checks could not be run: {diagnosis['missing']}")
    request = [each for each in diagnosis["verdict"] if each["assumption"] == "instrument"]
    for each in request:
        if each["allowed"]:
            return Basis("instrument", each["given"], each["plain"])
    return Basis("none", None, request[-1]["plain"])


MOST_SHOWN = 200


def leniency_part(data: SelectiveLabels, event: int) -> Part:
    """Acceptance rate (adjusted for strata) and share of the event among labels, by decision-maker.

    All rows are used. Decision-makers with fewer than two comparable cases have no standard error and are not
    shown.
    """
    try:
        rates = adjusted_leniency(Context(replace(data, X=np.zeros((len(data), 0)))))
    except NotApplicableError as reason:
        raise UndefinedError(f"Leniency cannot be compared: {reason}", "decision_maker") from None
    codes, n_makers = data.decision_maker_codes, data.n_decision_makers
    labeled = np.bincount(codes, data.labeled, n_makers)
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
