"""No unobserved confounding: labels are missing at random given the features."""

from dataclasses import dataclass

from selective_labels.assumptions.assumption import Assumption
from selective_labels.assumptions.findings import NOT_APPLICABLE, VIOLATED, Findings
from selective_labels.assumptions.permission import (
    NOT_REFUTED,
    REFUTED,
    UNCHECKED,
    Permission,
    decided,
    said,
)
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
    title = "No hidden reasons"
    meaning = "Among cases with equal features, whether a label was seen has nothing to do with the outcome."
    formula = "η_k = P(Y=k | D=1, x)"
    refuted_by = "labels of like cases that depend on who decided (SL901)."
    spoken_to_by = ("unconfounded",)
    needs_decision_makers = False
    identifies_value = True
    questions = (("features", "unconfounded"),)

    def score(self, rows: Rows, overlap: float) -> Scores:
        """See :func:`selective_labels.nuisance.score_formulas.aipw_scores`."""
        return aipw_scores(rows.labeled, rows.y, overlap)

    def permission(self, findings: Findings, given: str) -> Permission:
        """Never allow it: a check that does not reject is not permission."""
        status = findings.status("unconfounded")
        if status == VIOLATED:
            codes = findings.codes(VIOLATED, "unconfounded")
            return decided(REFUTED, False, said("labels of like cases depend on who decided{}.", codes))
        if status == NOT_APPLICABLE:
            return decided(
                UNCHECKED,
                False,
                said("whether labels depend on who decided could not be tested{}.", "SL901"),
            )
        return decided(
            NOT_REFUTED,
            False,
            said(
                "labels of like cases are not seen to depend on who decided{}. That is no evidence that "
                "decisions know no more than the features: confounding that is alike for all decision-makers "
                "shows nowhere.",
                "SL901",
            ),
            power=findings.power("unconfounded"),
        )
