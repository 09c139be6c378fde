"""Can this data answer the question: the checks, and what they allow."""

from dataclasses import dataclass
from typing import Any

from selective_labels.assessment.sections import Part
from selective_labels.assumptions.findings import FAMILIES
from selective_labels.data import SelectiveLabels
from selective_labels.diagnostics import Diagnosis, diagnose
from selective_labels.diagnostics.display import questions
from selective_labels.evaluation.results import plain


def diagnosis_part(data: SelectiveLabels, *, nuisance: Any, cv: Any, n_jobs: int | None, seed: int) -> Part:
    """Run all checks; the fast model serves if none was chosen."""
    diagnosis = diagnose(
        data,
        nuisance="logistic" if nuisance is None else nuisance,
        cv=cv,
        n_jobs=n_jobs,
        random_state=seed,
    )
    return Part(diagnosis_content(diagnosis))


def diagnosis_content(diagnosis: Diagnosis) -> dict[str, Any]:
    """Checks and verdict as plain values."""
    verdict = []
    for assumption, given, _ in questions():
        allowed = diagnosis.allows(assumption, given=given)
        # What assignment is random within is told where there is a choice.
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
    }


def _could_see(diagnosis: Diagnosis, families: tuple[str, ...]) -> list[str]:
    """What the checks of some families would have found four times in five."""
    return [each.detects for each in diagnosis if each.family in families and each.detects]


@dataclass(frozen=True)
class Basis:
    """The weakest assumption that is allowed and better than none.

    Attributes
    ----------
    assumption : "instrument" or "none"
    given : "strata", "features", "all seen" or None
        What assignment is as good as random within; "all seen" if no label is missing.
    reason : str
        Why, in the plain words of the diagnosis.
    """

    assumption: str
    given: str | None
    reason: str


def basis_of(diagnosis: dict[str, Any]) -> Basis:
    """Read the verdict: the instrument within strata, else given the features, else nothing.

    Examples
    --------
    >>> refused = {"assumption": "instrument", "given": "strata", "allowed": False, "plain": "No."}
    >>> basis_of({"verdict": [refused]})
    Basis(assumption='none', given=None, reason='No.')
    """
    if "missing" in diagnosis:
        return Basis("none", None, f"The checks could not be run: {diagnosis['missing']}")
    asked = [each for each in diagnosis["verdict"] if each["assumption"] == "instrument"]
    for each in asked:
        if each["allowed"]:
            return Basis("instrument", each["given"], each["plain"])
    return Basis("none", None, asked[-1]["plain"])
