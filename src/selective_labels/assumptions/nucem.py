"""No unmeasured common effect modifier: the instrument, and decision-makers who differ alike for all."""

from dataclasses import dataclass

from selective_labels.assumptions.assumption import Assumption
from selective_labels.assumptions.findings import OK, VIOLATED, Findings
from selective_labels.assumptions.instrument import Instrument, contradicted
from selective_labels.assumptions.permission import (
    NOT_REFUTED,
    REFUTED,
    UNCHECKED,
    Permission,
    Sentence,
    decided,
    said,
)
from selective_labels.nuisance.bound_scores import slope_or_bound_scores
from selective_labels.nuisance.score_formulas import Rows, Scores


@dataclass(frozen=True)
class Nucem(Assumption):
    """An instrument, and nothing unmeasured that moves the label changes how decision-makers differ.

    Examples
    --------
    >>> Nucem().name, Nucem().identifies_value, Nucem().needs_halves
    ('nucem', True, True)
    """

    name = "nucem"
    sentence = (
        "as for an instrument, and nothing unmeasured both moves the label and changes how "
        "decision-makers differ (NUCEM)."
    )
    title = "One common strictness"
    meaning = (
        "As if by lot; besides, nothing unrecorded both moves the outcome and changes how decision-makers "
        "differ (called NUCEM)."
    )
    formula = "p_kz = κ_k + η_k λ_z for every z"
    refuted_by = "decision-makers who do not lie on one line (SL601, SL602)."
    spoken_to_by = ("nucem",)
    needs_decision_makers = True
    identifies_value = True
    needs_halves = True
    questions = (("features", "nucem"),)

    def score(self, rows: Rows, overlap: float) -> Scores:
        """See :func:`selective_labels.nuisance.bound_scores.slope_or_bound_scores`."""
        return slope_or_bound_scores(rows, overlap)

    def permission(self, findings: Findings, given: str) -> Permission:
        """Refuse it unless the instrument is valid given features, strong, and the line was tested."""
        codes = findings.codes(VIOLATED, "nucem")
        broken = [contradicted(findings), said("the data contradict NUCEM{}.", codes) if codes else ""]
        if any(broken):
            disagreement = findings.disagreement("nucem")
            return decided(REFUTED, False, *broken, disagreement, _monotonicity(findings))
        instrument = Instrument().permission(findings, "features")
        if not instrument:
            return instrument
        also = _monotonicity(findings)
        if findings.status("relevance") != OK:
            little = said("decision-makers differ too little for a point estimate{}.", "SL101")
            return decided(UNCHECKED, False, little, also)
        # SL602 alone sees gross violations only: it does not stand in for the test that could not be made.
        if findings.status("SL601") != OK:
            return decided(
                UNCHECKED,
                False,
                said(
                    "NUCEM could not be tested, or not with any power{}, and is not to be taken on trust.",
                    "SL601",
                ),
                also,
            )
        codes = findings.codes(OK, "nucem")
        return decided(
            NOT_REFUTED,
            True,
            said("decision-makers differ enough{}, and nothing contradicts NUCEM{}.", "SL101", codes),
            also,
            power=findings.power("nucem"),
        )


def _monotonicity(findings: Findings) -> Sentence | str:
    """NUCEM does not need one threshold, but its check may also see that who decides makes the label."""
    if findings.status("monotonicity") != VIOLATED:
        return ""
    return said(
        "One check rejects{}: decision-makers differ by more than a threshold, which NUCEM does not forbid, "
        "or who decides changes the label, which it does.",
        "SL501",
    )
