"""No unobserved confounding: labels are missing at random given the features."""

from dataclasses import dataclass

from selective_labels.assumptions.assumption import Assumption
from selective_labels.assumptions.findings import OK, VIOLATED, Findings
from selective_labels.assumptions.permission import Permission
from selective_labels.nuisance.score_formulas import Rows, Scores, aipw_scores


@dataclass(frozen=True)
class Unconfounded(Assumption):
    """Among cases with equal features, the decision has nothing to do with the label.

    Examples
    --------
    >>> Unconfounded().name, Unconfounded().needs_decision_makers
    ('unconfounded', False)
    """

    name = "unconfounded"
    sentence = "among cases with equal features, the decision has nothing to do with the label."
    title = "Unconfounded"
    meaning = "Among cases with equal features, whether a label was seen has nothing to do with the outcome."
    needs_decision_makers = False
    identifies_value = True
    questions = (("features", "unconfounded"),)

    def score(self, rows: Rows, overlap: float) -> Scores:
        """See :func:`selective_labels.nuisance.score_formulas.aipw_scores`."""
        return aipw_scores(rows.labeled, rows.y, overlap)

    def permission(self, findings: Findings, given: str) -> Permission:
        """Refuse it unless the labels of like cases were seen not to depend on who decided."""
        if findings.status("unconfounded") == VIOLATED:
            return Permission(False, "Labels of like cases depend on who decided (SL901).")
        if findings.status("unconfounded") != OK:
            return Permission(False, "Whether decisions are unconfounded could not be tested (SL901).")
        return Permission(True, "Labels of like cases do not depend on who decided (SL901).")
