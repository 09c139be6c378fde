"""Combine several assumptions into one whose identified set is the intersection of theirs."""

from dataclasses import dataclass, replace

import numpy as np

from selective_labels._errors import InputError
from selective_labels.assumptions.base import (
    ALGEBRA,
    DOUBTFUL,
    REFUTED,
    UNCHECKED,
    VIOLATED,
    Assumption,
    CheckVerdict,
    Findings,
    decided,
    event_codes,
    said,
)
from selective_labels.assumptions.event_scores import combined_scores
from selective_labels.assumptions.instrument import Instrument, NoAssumption
from selective_labels.assumptions.refused import Informed, LabelRange, Population, Prevalence
from selective_labels.identification.event_bounds import AnyFloor, Floor, boxed, crossing, laminar
from selective_labels.identification.prevalence import Share
from selective_labels.nuisance.score_formulas import Rows, Scores


@dataclass(frozen=True)
class Combination(Assumption):
    """Assumptions that hold together.

    The identified set is the intersection of the parts' identified sets, and as sharp as they are. ``&``
    builds a combination; the order does not matter, and duplicates count once.

    Examples
    --------
    >>> both = Informed("failed") & Instrument()
    >>> both.name, both == Instrument() & Informed("failed") & Instrument()
    ('instrument & informed(failed)', True)
    >>> Instrument() & NoAssumption()
    Instrument()
    """

    parts: tuple[Assumption, ...]

    identifies_value = False

    @property
    def takes_worst_case(self) -> bool:  # type: ignore[override]
        """Whether all parts do."""
        return all(each.takes_worst_case for each in self.parts)

    @property
    def name(self) -> str:
        """Names of the parts, joined by "&"."""
        return " & ".join(each.name for each in self.parts) or NoAssumption.name

    @property
    def sentence(self) -> str:
        """Sentences of the parts."""
        return " Besides: ".join(each.sentence for each in self.parts)

    @property
    def title(self) -> str:
        """Heading on the report page."""
        return " & ".join(each.title for each in self.parts)

    @property
    def meaning(self) -> str:
        """Meanings of the parts."""
        return " ".join(each.meaning for each in self.parts)

    @property
    def formula(self) -> str:  # type: ignore[override]
        """Formulas of the parts."""
        return "; ".join(each.formula for each in self.parts)

    @property
    def refuted_by(self) -> str:  # type: ignore[override]
        """Evidence that would refute any of the parts."""
        return " Or: ".join(each.refuted_by for each in self.parts if each.refuted_by)

    @property
    def needs_decision_makers(self) -> bool:
        """Whether any part uses who decided."""
        return any(each.needs_decision_makers for each in self.parts)

    @property
    def extrapolates(self) -> bool:  # type: ignore[override]
        """Whether any part does."""
        return any(each.extrapolates for each in self.parts)

    @property
    def label_range(self) -> LabelRange | None:
        """The label range among the parts, or None."""
        return next((each for each in self.parts if isinstance(each, LabelRange)), None)

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """Lower bounds of all parts.

        Without the instrument, a bound that holds for each decision-maker applies only to their average, or
        to all of them pooled where the bound allows that.
        """
        found = [floor for each in self.parts for floor in each.floors(classes)]
        if Instrument() in self.parts:
            return tuple(found)
        return tuple(
            replace(each, singled_out=False, averaged=each.singled_out and not each.pooled)
            if isinstance(each, Floor)
            else each
            for each in found
        )

    def shares(self, data: Population) -> tuple[Share, ...]:
        """Known population shares among the parts."""
        return tuple(
            share for each in self.parts if isinstance(each, Prevalence) for share in each.shares(data)
        )

    def check(self, classes: np.ndarray) -> None:
        """Raise if the bounds have no closed form with these classes, or a label is not a class."""
        if not self.has_ceilings(classes):
            laminar([each for each in self._events(classes) if len(each) > 1], len(classes))
        for part in self.parts:
            if isinstance(part, Prevalence):
                event_codes(part.label, classes, "label")

    def has_ceilings(self, classes: np.ndarray) -> bool:
        """Whether events cross and all bounds are lower or upper bounds on single classes."""
        events = self._events(classes)
        return crossing(events) and boxed(events, len(classes))

    def _events(self, classes: np.ndarray) -> list[tuple[int, ...]]:
        return [tuple(sorted(each.event)) for each in self.floors(classes)]

    def score(self, rows: Rows, overlap: float) -> Scores:
        """Scores of the instrument's or worst-case lower bounds, tightened by the other parts."""
        base = Instrument() if Instrument() in self.parts else NoAssumption()
        if rows.classes is None:
            rows = replace(rows, classes=np.arange(rows.joint.shape[2] - 1))
        assert rows.classes is not None
        scores = base.score(rows, overlap)
        floors = self.floors(rows.classes)
        return combined_scores(rows, scores, floors, overlap) if floors else scores

    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        """Never allowed: refuted or doubtful by a check of it or of the instrument, else taken on trust."""
        codes = findings.codes(VIOLATED, ALGEBRA)
        if codes:
            return decided(REFUTED, False, said("the data contradict it{}.", codes))
        parts = [each.permission(findings, given) for each in self.parts if isinstance(each, Instrument)]
        if parts and not parts[0]:
            return parts[0]
        if codes := findings.rejecting(DIRECTION_LEVEL, "SL1006"):
            doubt = "more lenient decision-makers show the opposite of the stated direction{}."
            return decided(DOUBTFUL, False, said(doubt, codes))
        return decided(UNCHECKED, False, f"it would be refuted by {self.refuted_by}")


# Level of SL1006 for a doubt about a stated direction.
DIRECTION_LEVEL = 0.01
# Order of the parts in a name; users' own parts follow, then Prevalence.
ORDER = ("Instrument", "LabelRange", "Informed", "Refused", "RisingRisk", "SimilarBias", "SameRanking")


def combined(*assumptions: Assumption) -> Assumption:
    """Assume all of them.

    NoAssumption adds nothing, duplicates count once, and the order does not matter. An assumption that
    identifies a point cannot be combined with others. Neither can two label ranges or two prevalences.

    Examples
    --------
    >>> from selective_labels.assumptions.instrument import Nucem
    >>> combined().name
    'none'
    >>> combined(Nucem(), Informed("failed"))
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: 'nucem' leaves one value, so nothing can be combined with it;
    leave it or the others out.
    """
    parts = [
        part
        for each in assumptions
        for part in (each.parts if isinstance(each, Combination) else (each,))
        if part != NoAssumption()
    ]
    kept = tuple(sorted(dict.fromkeys(parts), key=_place))
    point = [each for each in kept if each.identifies_value]
    if point and len(kept) > 1:
        raise InputError(
            f"{point[0].name!r} leaves one value, so nothing can be combined with it; leave it or the others "
            "out.",
            "assumption",
        )
    for kind, words in ((LabelRange, "ranges of labels"), (Prevalence, "prevalences")):
        if sum(isinstance(each, kind) for each in kept) > 1:
            raise InputError(f"two {words} cannot be combined; state one of them.", "assumption")
    if not kept:
        return NoAssumption()
    return kept[0] if len(kept) == 1 else Combination(kept)


def whole(assumption: Assumption) -> Assumption:
    """Wrap a part so that it can be evaluated; raise if it needs the instrument and lacks it."""
    from selective_labels.assumptions.base import Part

    if not isinstance(assumption, Part | Combination):
        return assumption
    found = assumption if isinstance(assumption, Combination) else Combination((assumption,))
    if Instrument() in found.parts:
        return found
    alone = [each for each in found.parts if each.needs_decision_makers or _one_by_one(each)]
    if alone:
        more = " (or given='features')" if isinstance(alone[0], Informed) else ""
        raise InputError(
            f"{alone[0].name!r} compares decision-makers, so it needs the instrument: write "
            f"Instrument() & {type(alone[0]).__name__}(...){more}.",
            "assumption",
        )
    return found


def _one_by_one(part: Assumption) -> bool:
    return isinstance(part, Informed) and part.given == "decision_maker"


def _place(part: Assumption) -> tuple[int, str]:
    kind = type(part).__name__
    last = len(ORDER) + (kind == "Prevalence")
    return (ORDER.index(kind) if kind in ORDER else last), part.name
