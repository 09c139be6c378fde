"""The event tilt: among like cases, the refused have so many times the odds of the event, alike for all."""

from dataclasses import dataclass

from selective_labels.assumptions.assumption import Assumption
from selective_labels.assumptions.findings import Findings
from selective_labels.assumptions.instrument import Instrument
from selective_labels.assumptions.permission import UNCHECKED, Permission, decided
from selective_labels.nuisance.score_formulas import Rows, Scores


@dataclass(frozen=True)
class EventTilt(Assumption):
    """An instrument, and one odds ratio between the refused and the accepted within each predicted class.

    For accuracy, error, share and differences of accuracies. It is asked for by its name; "all" leaves it
    out.

    Examples
    --------
    >>> EventTilt().name, EventTilt().identifies_value
    ('tilt', True)
    """

    name = "tilt"
    sentence = (
        "as for an instrument, and within a predicted class the odds that the prediction is right (or of the "
        "class in question) among the refused are the same multiple of those among like accepted cases, for "
        "all cases and decision-makers. No test is known to notice if they are not."
    )
    title = "Tilt"
    meaning = (
        "As for the instrument; besides, refusal changes the odds of a right prediction by one factor for "
        "all cases of a predicted class. No test is known to notice if it does not."
    )
    formula = (
        "odds of P(C | D=0, x, z) = e^-γ times the odds of P(C | D=1, x, z), one γ for a predicted class"
    )
    refuted_by = "what refutes the instrument (SL401, SL402); a tilt that varies is not noticed."
    needs_decision_makers = True
    identifies_value = True

    def score(self, rows: Rows, overlap: float) -> Scores:
        """Scores of the instrument's bounds, within which the tilt's interval lies."""
        return Instrument().score(rows, overlap)

    def permission(self, findings: Findings, given: str) -> Permission:
        """Refuse it with the instrument; else say that nothing checks it."""
        instrument = Instrument().permission(findings, given)
        if not instrument:
            return instrument
        return decided(UNCHECKED, False, "no test is known to notice if the tilt is not constant.")
