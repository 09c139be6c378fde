"""An assumption about cases decided against: the part that users may write themselves."""

from abc import abstractmethod
from typing import Any

import numpy as np

from selective_labels.assumptions.assumption import Assumption
from selective_labels.assumptions.findings import Findings
from selective_labels.assumptions.permission import UNCHECKED, Permission, decided
from selective_labels.identification.atoms import AnyFloor, Floor
from selective_labels.nuisance.score_formulas import Rows, Scores
from selective_labels.support.errors import InputError

STEP = 1e-6


class Part(Assumption):
    """An assumption that narrows what another leaves possible: to be combined with ``&``."""

    needs_decision_makers = False
    identifies_value = False

    @property
    def title(self) -> str:
        """Heading on the report page."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def meaning(self) -> str:
        """The sentence, as it stands on the page."""
        return self.sentence[:1].upper() + self.sentence[1:]

    def score(self, rows: Rows, overlap: float) -> Scores:
        """As the combination of this part alone."""
        from selective_labels.assumptions.combination import Combination

        return Combination((self,)).score(rows, overlap)

    def permission(self, findings: Findings, given: str) -> Permission:
        """No check can do more than contradict it."""
        return decided(UNCHECKED, False, f"it would be refuted by {self.refuted_by}")


class Atom(Part):
    """P(A | D=0, x, z) >= g(P(A | D=1, x, z)): cases decided against have A at least so often.

    A subclass says what g is, and in words what it assumes; the rest (bounds, scores, intervals, learning)
    follows. `adverse` is one class label, or a tuple of them: the event A.

    Examples
    --------
    Refused cases fail at least half as often as accepted ones:

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class HalfAsBad(Atom):
    ...     adverse: str
    ...     name = "half as bad"
    ...     sentence = "refused cases fail at least half as often as accepted ones alike."
    ...
    ...     def refused(self, accepted):
    ...         return accepted / 2
    >>> HalfAsBad("failed").floors(np.array(["failed", "fine"]))[0].event
    (0,)
    """

    adverse: Any

    formula = "P(A | D=0, x, z) >= g(P(A | D=1, x, z))"
    refuted_by = "floors that leave no room (SL1001)."

    @abstractmethod
    def refused(self, accepted: np.ndarray) -> np.ndarray:
        """g: the least share of A among refused cases, from its share among accepted ones."""

    def slope(self, accepted: np.ndarray) -> np.ndarray:
        """Derivative of g; by differences unless a subclass knows better."""
        low, high = np.maximum(accepted - STEP, 0.0), np.minimum(accepted + STEP, 1.0)
        return (self.refused(high) - self.refused(low)) / (high - low)

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """One floor, by each decision-maker."""
        return (Floor(event_codes(self.adverse, classes), self.refused, self.slope),)


def event_codes(labels: Any, classes: np.ndarray, argument: str = "adverse") -> tuple[int, ...]:
    """Codes of one class label or a tuple of them; neither all nor none of the classes.

    Examples
    --------
    >>> event_codes(("b", "c"), np.array(["a", "b", "c"]))
    (1, 2)
    """
    wanted = labels if isinstance(labels, tuple) else (labels,)
    known = np.asarray(classes).tolist()
    unknown = [each for each in wanted if each not in known]
    if unknown:
        words = ", ".join(map(repr, known))
        raise InputError(f"{argument}={unknown[0]!r} is not one of the classes {words}.", "assumption")
    codes = tuple(sorted({known.index(each) for each in wanted}))
    if not 0 < len(codes) < len(known):
        raise InputError(f"{argument}={labels!r} must be some of the classes, not all or none.", "assumption")
    return codes


def as_event(labels: Any) -> Any:
    """One label as it is, several as a tuple: hashable, and equal whatever they were given in."""
    return tuple(labels) if isinstance(labels, list | set | frozenset | np.ndarray) else labels


def in_words(labels: Any) -> str:
    """A label, or several joined by "or".

    Examples
    --------
    >>> in_words(("late", "lost")), in_words(1)
    ('late or lost', '1')
    """
    return " or ".join(map(str, labels)) if isinstance(labels, tuple) else str(labels)
