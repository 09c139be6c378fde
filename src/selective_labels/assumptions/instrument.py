"""Decision-makers as an instrument: random given strata or features, and without an effect on the label."""

from dataclasses import dataclass

from selective_labels.assumptions.assumption import Assumption
from selective_labels.assumptions.findings import NOT_APPLICABLE, OK, VIOLATED, Findings
from selective_labels.assumptions.permission import Permission
from selective_labels.nuisance.bound_scores import bound_scores
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
        "cases reach decision-makers as if at random (within strata, if given), and who decides "
        "does not change the label."
    )
    title = "Instrument"
    meaning = (
        "Which decision-maker gets a case is as good as random, and who decides does not change the outcome."
    )
    needs_decision_makers = True
    identifies_value = False
    questions = (
        ("strata", "instrument, cases random within strata"),
        ("features", "instrument, cases random given features"),
    )

    def score(self, rows: Rows, overlap: float) -> Scores:
        """See :func:`selective_labels.nuisance.bound_scores.pooled_envelope_scores`."""
        return bound_scores(rows, overlap)

    def permission(self, findings: Findings, given: str) -> Permission:
        """Refuse it where there is nobody to compare with, or bounds or assignment contradict it."""
        if findings.status("overlap") == NOT_APPLICABLE:
            return Permission(False, "There is only one decision-maker (SL301).")
        if findings.status("overlap") == VIOLATED:
            return Permission(False, "Most cases could have gone to one decision-maker only (SL302).")
        contradicted = findings.codes(VIOLATED, "inequality", "crossing")
        if contradicted:
            return Permission(
                False,
                f"The lower bounds contradict each other ({contradicted}): the instrument is not valid.",
            )
        allowed, reason = _assigned(given, findings)
        weak = findings.status("relevance") != OK
        use = " But decision-makers hardly differ (SL101), so it will add little." if allowed and weak else ""
        return Permission(allowed, reason + use)


def _assigned(given: str, findings: Findings) -> tuple[bool, str]:
    """Whether cases may be taken as dealt out at random, and why."""
    status = findings.status("assignment")
    if status == VIOLATED and given == "strata":
        codes = findings.codes(VIOLATED, "assignment")
        return False, f"Cases are not dealt to decision-makers at random within strata ({codes})."
    if status == VIOLATED:
        return True, (
            "Cases are not dealt out at random within strata, but decision-makers remain a valid instrument "
            "if everything that drives assignment is among the features; the data cannot tell whether it "
            'is. Use propensity="model".'
        )
    if status == NOT_APPLICABLE:
        return True, (
            "Whether cases are dealt out at random could not be tested: it rests on what you know of how "
            "they are assigned."
        )
    if status != OK:
        codes = findings.codes(status, "assignment")
        return True, f"Nothing refutes an instrument, but mind the warning about assignment ({codes})."
    return True, "Cases look dealt out at random, and nothing contradicts an instrument."
