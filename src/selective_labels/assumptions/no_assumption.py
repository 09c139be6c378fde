"""Manski's worst case: what the seen labels alone say."""

from dataclasses import dataclass

from selective_labels.assumptions.assumption import Assumption
from selective_labels.assumptions.findings import Findings
from selective_labels.assumptions.permission import Permission
from selective_labels.nuisance.label_range import ranged_manski_scores
from selective_labels.nuisance.score_formulas import Rows, Scores, manski_scores


@dataclass(frozen=True)
class NoAssumption(Assumption):
    """Nothing is assumed: each case without a label could have turned out either way.

    Examples
    --------
    >>> NoAssumption().name, NoAssumption().needs_decision_makers
    ('none', False)
    """

    name = "none"
    sentence = "nothing is assumed about the labels that were not seen (Manski's worst case)."
    title = "Nothing assumed"
    meaning = "Nothing is assumed about cases without a label: each could have turned out either way."
    formula = "η_k >= P(Y=k, D=1 | x)"
    refuted_by = "nothing."
    needs_decision_makers = False
    identifies_value = False

    def score(self, rows: Rows, overlap: float) -> Scores:
        """See :func:`selective_labels.nuisance.score_formulas.manski_scores`; a label range is used."""
        if rows.label_range is not None:
            return ranged_manski_scores(rows, rows.label_range)
        return manski_scores(rows.y, rows.labeled)

    def permission(self, findings: Findings, given: str) -> Permission:
        """Allow it whatever was found."""
        return Permission(True, "it assumes nothing.")
