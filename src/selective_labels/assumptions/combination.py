"""Several assumptions at once: what they leave possible together."""

from dataclasses import dataclass, replace

import numpy as np

from selective_labels._errors import InputError
from selective_labels.assumptions.base import (
    ALGEBRA,
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
    """Assumptions that hold together: the intersection of what each leaves possible, and sharp as they are.

    Made by ``&``; the order does not matter, and doubles count once.

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
    def name(self) -> str:
        """Names joined."""
        return " & ".join(each.name for each in self.parts) or NoAssumption.name

    @property
    def sentence(self) -> str:
        """Sentences, one after the other."""
        return " Besides: ".join(each.sentence for each in self.parts)

    @property
    def title(self) -> str:
        """Heading on the report page."""
        return " & ".join(each.title for each in self.parts)

    @property
    def meaning(self) -> str:
        """Meanings, one after the other."""
        return " ".join(each.meaning for each in self.parts)

    @property
    def formula(self) -> str:  # type: ignore[override]
        """Formulas, one after the other."""
        return "; ".join(each.formula for each in self.parts)

    @property
    def refuted_by(self) -> str:  # type: ignore[override]
        """What speaks against any of them."""
        return " Or: ".join(each.refuted_by for each in self.parts if each.refuted_by)

    @property
    def needs_decision_makers(self) -> bool:
        """Whether one of them does."""
        return any(each.needs_decision_makers for each in self.parts)

    @property
    def label_range(self) -> LabelRange | None:
        """The range of labels among them."""
        return next((each for each in self.parts if isinstance(each, LabelRange)), None)

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """Those of all; without the instrument, what they say of the mean over decision-makers."""
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
        """Known shares of the population."""
        return tuple(
            share for each in self.parts if isinstance(each, Prevalence) for share in each.shares(data)
        )

    def check(self, classes: np.ndarray) -> None:
        """Refuse what has no closed form with these classes."""
        if not self.has_ceilings(classes):
            laminar([each for each in self._events(classes) if len(each) > 1], len(classes))
        for part in self.parts:
            if isinstance(part, Prevalence):
                event_codes(part.label, classes, "label")

    def has_ceilings(self, classes: np.ndarray) -> bool:
        """Whether floors cross and are ceilings on single classes."""
        events = self._events(classes)
        return crossing(events) and boxed(events, len(classes))

    def _events(self, classes: np.ndarray) -> list[tuple[int, ...]]:
        return [tuple(sorted(each.event)) for each in self.floors(classes)]

    def score(self, rows: Rows, overlap: float) -> Scores:
        """Lower bounds by the instrument (or without), and what the other parts add."""
        base = Instrument() if Instrument() in self.parts else NoAssumption()
        if rows.classes is None:
            rows = replace(rows, classes=np.arange(rows.joint.shape[2] - 1))
        assert rows.classes is not None
        scores = base.score(rows, overlap)
        floors = self.floors(rows.classes)
        return combined_scores(rows, scores, floors, overlap) if floors else scores

    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        """As for the instrument, if it is among them; what else is assumed is taken on trust."""
        codes = findings.codes(VIOLATED, ALGEBRA)
        if codes:
            return decided(REFUTED, False, said("the data contradict it{}.", codes))
        parts = [each.permission(findings, given) for each in self.parts if isinstance(each, Instrument)]
        if parts and not parts[0]:
            return parts[0]
        return decided(UNCHECKED, False, f"it would be refuted by {self.refuted_by}")


# In this order they are named; others follow by name.
ORDER = ("Instrument", "LabelRange", "Informed", "Refused", "RisingRisk", "SimilarBias", "SameRanking")


def combined(*assumptions: Assumption) -> Assumption:
    """Assume all of them.

    NoAssumption adds nothing, doubles count once, the order does not matter. A point assumption leaves one
    value and is refused beside others; so are two ranges of labels and two prevalences.

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
    """What is assumed, as a whole that can be evaluated; refused where a part is missing."""
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
