"""Assumptions that the library does not have."""

from dataclasses import dataclass

from selective_labels.assumptions import Assumption, CheckVerdict, Findings, Restriction
from selective_labels.nuisance.score_formulas import Rows, Scores, manski_scores


@dataclass(frozen=True)
class Faith(Assumption):
    name = "faith"
    sentence = "all will be well."
    title = "Faith"
    meaning = "Whatever was not seen was fine."
    needs_decision_makers = False
    identifies_value = False
    questions = (("features", "faith, given features"),)

    def score(self, rows: Rows, overlap: float) -> Scores:
        return manski_scores(rows.y, rows.labeled)

    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        return CheckVerdict(True, f"Nothing can shake it, given {given}.")


@dataclass(frozen=True)
class HalfAsBad(Restriction):
    adverse: int
    name = "half as bad"
    sentence = "refused cases fail at least half as often as accepted ones alike."

    def refused(self, accepted):
        return accepted / 2
