"""Decision-makers as an instrument: random given strata or features, and without an effect on the label."""

from dataclasses import dataclass

from selective_labels.assumptions.assumption import Assumption
from selective_labels.assumptions.findings import NOT_APPLICABLE, OK, VIOLATED, Findings
from selective_labels.assumptions.permission import (
    NOT_REFUTED,
    REFUTED,
    UNCHECKED,
    Permission,
    Sentence,
    decided,
    said,
)
from selective_labels.nuisance.bound_scores import bound_scores
from selective_labels.nuisance.label_range import ranged_envelope_scores
from selective_labels.nuisance.score_formulas import Rows, Scores


@dataclass(frozen=True)
class Instrument(Assumption):
    """Cases reach decision-makers as if at random, and who decides does not change the label.

    Examples
    --------
    >>> Instrument().name, Instrument().identifies_value
    ('instrument', False)
    """

    name = "instrument"
    sentence = (
        "cases alike in features (and stratum, if given) reach decision-makers as if at random, and who "
        "decides does not change the label."
    )
    title = "As if by lot"
    meaning = (
        "Which decision-maker gets a case is as good as random, and who decides does not change the outcome."
    )
    formula = "η_k >= max_z P(Y=k, D=1 | x, z)"
    refuted_by = "lower bounds that sum to more than one (SL401, SL402), or cases not dealt out at random."
    spoken_to_by = ("assignment", "inequality")
    needs_decision_makers = True
    identifies_value = False
    questions = (
        ("strata", "instrument, cases random within strata"),
        ("features", "instrument, cases random given features"),
    )

    def score(self, rows: Rows, overlap: float) -> Scores:
        """See :func:`selective_labels.nuisance.bound_scores.bound_scores`; a label range is used."""
        if rows.label_range is not None:
            return ranged_envelope_scores(rows, rows.label_range, overlap)
        return bound_scores(rows, overlap)

    def permission(self, findings: Findings, given: str) -> Permission:
        """Refuse it where there is nobody to compare with, or bounds or assignment contradict it."""
        if findings.status("SL301", "SL302") == NOT_APPLICABLE:
            return decided(UNCHECKED, False, said("there is only one decision-maker{}.", "SL301"))
        if findings.status("SL302") == VIOLATED:
            alone = said("most cases could have gone to one decision-maker only{}.", "SL302")
            return decided(UNCHECKED, False, alone)
        contradictions = [contradicted(findings)]
        if given == "strata":
            contradictions += _not_random(findings)
        if any(contradictions):
            return decided(REFUTED, False, *contradictions, besides(findings))
        verdict, reason = _assigned(given, findings)
        weak = findings.status("relevance") != OK
        use = said("But decision-makers hardly differ{}, so it will add little.", "SL101") if weak else ""
        power = findings.power("assignment", "inequality")
        return decided(verdict, True, reason, besides(findings), use, power=power)


def contradicted(findings: Findings) -> Sentence | str:
    """What refutes every instrument, whatever assignment depends on; empty if nothing does."""
    codes = findings.codes(VIOLATED, "inequality", "crossing")
    return (
        said("the lower bounds contradict each other{}: the instrument is not valid.", codes) if codes else ""
    )


def besides(findings: Findings) -> Sentence | str:
    """What refutes an instrument together with something else, so that it cannot be told which of them."""
    codes = findings.codes(VIOLATED, "monotonicity", "nucem")
    if not codes:
        return ""
    return said(
        "Another check rejects{}: who decides changes the label, in which case no instrument is left, or "
        "decision-makers differ by more than a threshold{}, or hidden reasons do not move them all alike{}, "
        "which an instrument does not need. The data cannot tell which.",
        codes,
        "SL501",
        "SL601, SL602",
    )


def _not_random(findings: Findings) -> list[Sentence | str]:
    codes = findings.codes(VIOLATED, "assignment")
    if not codes:
        return []
    dealt = said("cases are not dealt to decision-makers at random within strata{}.", codes)
    return [dealt, findings.disagreement("assignment")]


def _assigned(given: str, findings: Findings) -> tuple[str, Sentence | str]:
    """The verdict, and why, where nothing contradicts an instrument."""
    status = findings.status("assignment")
    if status == VIOLATED:
        codes = findings.codes(VIOLATED, "assignment")
        return NOT_REFUTED, said(
            "cases are not dealt out at random within strata{}, but decision-makers remain a valid "
            "instrument if everything that drives assignment is among the features; that cannot be checked. "
            "Results then rest on a model of who decides, and say so.",
            codes,
        )
    if status == NOT_APPLICABLE:
        return UNCHECKED, (
            "whether cases are dealt out at random could not be tested: it rests on what you know of how "
            "they are assigned."
        )
    if status != OK:
        codes = findings.codes(status, "assignment")
        return NOT_REFUTED, said("nothing contradicts it, but mind the warning about assignment{}.", codes)
    return NOT_REFUTED, "cases look dealt out at random, and the lower bounds do not contradict each other."
