"""An assumption about cases decided against: the part that users may write themselves."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from selective_labels._errors import InputError
from selective_labels.identification.event_bounds import AnyFloor, Floor
from selective_labels.nuisance.score_formulas import Rows, Scores

REFUTED, NOT_REFUTED, UNCHECKED = "refuted", "not refuted", "cannot be checked"
# No check can do more for an assumption than fail to refute it.
VERDICTS = (REFUTED, NOT_REFUTED, UNCHECKED)


@dataclass(frozen=True)
class CheckVerdict:
    """Whether an assumption may be used, and why: true or false as a condition, words as text.

    Attributes
    ----------
    allowed : bool
    reason : str
        Begins with the verdict: "refuted", "not refuted" or "cannot be checked". A reason that is given
        without one gets "not refuted" if allowed, else "refuted".

    plain : str
        The same without verdict, codes of checks and what the checks could have seen; made of `reason` if it
        is not given.

    Examples
    --------
    >>> bool(Permission(True, "nothing speaks against it.")), Permission(False, "SL401 rejects.") == False
    (True, True)
    >>> print(Permission(False, "SL401 rejects."))
    refuted: SL401 rejects.
    >>> Permission(False, "cannot be checked: there is one decision-maker.").verdict
    'cannot be checked'
    """

    allowed: bool
    reason: str
    plain: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not self.plain:
            sample_summary = next((each for each in VERDICTS if self.reason.startswith(f"{each}: ")), None)
            object.__setattr__(
                self,
                "plain",
                self.reason if sample_summary is None else self.reason[len(sample_summary) + 2 :],
            )
        if not self.reason.startswith(VERDICTS):
            verdict = NOT_REFUTED if self.allowed else REFUTED
            object.__setattr__(self, "reason", f"{verdict}: {self.reason}")

    @property
    def verdict(self) -> str:
        """One of VERDICTS, with which the reason begins."""
        return next(verdict for verdict in VERDICTS if self.reason.startswith(verdict))

    def __bool__(self) -> bool:
        return self.allowed

    def __eq__(self, other: object) -> bool:
        if isinstance(other, CheckVerdict):
            return (self.allowed, self.reason) == (other.allowed, other.reason)
        return self.allowed == other if isinstance(other, bool) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.allowed)

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class Sentence:
    """Words with a place, {}, for the codes of the checks that they rest on.

    Examples
    --------
    >>> sentence = Sentence("labels depend on who decided{}.", ("SL901",))
    >>> sentence.full, sentence.plain
    ('labels depend on who decided (SL901).', 'labels depend on who decided.')
    """

    text: str
    codes: tuple[str, ...]

    @property
    def full(self) -> str:
        """With the codes in brackets."""
        return self.text.format(*(f" ({each})" for each in self.codes))

    @property
    def plain(self) -> str:
        """Without them."""
        return self.text.format(*("" for _ in self.codes))


def said(text: str, *codes: str) -> Sentence:
    """A sentence with codes of checks."""
    return Sentence(text, codes)


def decided(verdict: str, allowed: bool, *sentences: Sentence | str, power: str = "") -> CheckVerdict:
    """A permission from a verdict and sentences; those that are empty are left out.

    `power`, what the checks could have seen, is part of the reason and not of the plain words.

    Examples
    --------
    >>> contradiction = said("lower bounds contradict each other{}.", "SL401")
    >>> found = decided("refuted", False, contradiction, "", power="Less may go unseen.")
    >>> print(found)
    refuted: lower bounds contradict each other (SL401). Less may go unseen.
    >>> found.plain
    'lower bounds contradict each other.'
    """
    sample_summary = [
        each if isinstance(each, Sentence) else Sentence(each.replace("{", "{{").replace("}", "}}"), ())
        for each in sentences
        if each
    ]
    reason = " ".join([*(each.full for each in sample_summary), *([power] if power else [])])
    return CheckVerdict(allowed, f"{verdict}: {reason}", " ".join(each.plain for each in sample_summary))


OK, WARNING, VIOLATED, NOT_APPLICABLE = "ok", "warning", "violated", "not applicable"
# From the best to the worst.
STATUSES = (NOT_APPLICABLE, OK, WARNING, VIOLATED)
# Of checks; each is about one thing that can fail.
FAMILIES = (
    "relevance",
    "assignment",
    "overlap",
    "inequality",
    "monotonicity",
    "nucem",
    "crossing",
    "skill",
    "unconfounded",
)
# Of checks that are made of what a user assumes, and of nothing else.
ALGEBRA = "algebra"


class Found(Protocol):
    """What a coded check found."""

    @property
    def code(self) -> str:
        """Such as "SL101"."""

    @property
    def family(self) -> str:
        """One of FAMILIES."""

    @property
    def status(self) -> str:
        """One of STATUSES."""

    @property
    def detects(self) -> str:
        """What it would have found four times in five at this size; empty if that is not known."""


def worst(statuses: Iterable[str]) -> str:
    """The worst status that applied; "not applicable" if none did.

    Examples
    --------
    >>> worst(["ok", "not applicable", "warning"]), worst(["not applicable"])
    ('warning', 'not applicable')
    """
    return max(statuses, key=STATUSES.index, default=NOT_APPLICABLE)


@dataclass(frozen=True)
class Findings:
    """What all checks found.

    Attributes
    ----------
    results : tuple of Found
        Such as the `CheckResult` of a diagnosis.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> findings = Findings((SimpleNamespace(code="SL202", family="assignment", status="violated"),))
    >>> findings.status("assignment"), findings.status("SL101"), findings.codes("violated", "assignment")
    ('violated', 'not applicable', 'SL202')
    """

    results: tuple[Found, ...]

    def status(self, *names: str) -> str:
        """The worst status among the checks of these families or with these codes."""
        return worst(each.status for each in self.results if each.family in names or each.code in names)

    def codes(self, status: str, *families: str) -> str:
        """Codes of the checks of some families that found this, in words."""
        return ", ".join(
            each.code for each in self.results if each.family in families and each.status == status
        )

    def disagreement(self, *families: str) -> str:
        """A sentence if some checks of these families reject and others, which could have, do not.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> tried = [SimpleNamespace(code=str(n), family="assignment", status="ok") for n in range(3)]
        >>> failed = SimpleNamespace(code="SL202", family="assignment", status="violated")
        >>> print(Findings((*tried, failed)).disagreement("assignment"))
        The checks disagree: 1 of 4 rejects and 3 do not; see what each of them looks at.
        """
        request = [each.status for each in self.results if each.family in families]
        rejected, applied = request.count(VIOLATED), len(request) - request.count(NOT_APPLICABLE)
        if not 0 < rejected < applied:
            return ""
        verb = "rejects" if rejected == 1 else "reject"
        return (
            f"The checks disagree: {rejected} of {applied} {verb} and {applied - rejected} do not; see what "
            "each of them looks at."
        )

    def power(self, *families: str) -> str:
        """A sentence on what the checks of these families could have seen; empty if that is not known.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> tried = SimpleNamespace(code="SL401", family="inequality", status="ok", detects="sums of 1.1")
        >>> Findings((tried,)).power("inequality")
        'With power .8 the checks find at this size: sums of 1.1 (SL401). Less may go unseen.'
        """
        known = [
            f"{each.detects} ({each.code})"
            for each in self.results
            if each.family in families and each.status != NOT_APPLICABLE and each.detects
        ]
        if not known:
            return ""
        return f"With power .8 the checks find at this size: {'; '.join(known)}. Less may go unseen."


class Assumption(ABC):
    """What is assumed about the labels that were not seen.

    Every assumption is a frozen dataclass: equal by value, hashable, picklable. One without settings has the
    properties below as plain attributes of its class. ``a & b`` assumes both.

    Examples
    --------
    >>> from selective_labels.assumptions import Informed, Instrument, Nucem
    >>> Instrument() == Instrument(), Nucem().identifies_value
    (True, True)
    >>> (Instrument() & Informed("failed")).name
    'instrument & informed(failed)'
    """

    # What it says as a formula, and what in the data would speak against it.
    formula: str = ""
    refuted_by: str = ""
    # Families of the checks that could refute it.
    spoken_to_by: tuple[str, ...] = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """One word, by which users, results and files call it."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """What is assumed, in one sentence."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Heading on the report page."""

    @property
    @abstractmethod
    def meaning(self) -> str:
        """What is assumed, for readers of the page."""

    @property
    @abstractmethod
    def needs_decision_makers(self) -> bool:
        """Whether it uses who decided."""

    @property
    @abstractmethod
    def identifies_value(self) -> bool:
        """Whether it leaves one value, rather than bounds (but for rows that its scores call bounded)."""

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """Lower bounds that it puts on the probability of events.

        See :mod:`selective_labels.identification.event_bounds`.

        Parameters
        ----------
        classes : labels of the classes, in the order of their codes
        """
        return ()

    def __and__(self, other: Any) -> "Assumption":
        """Assume both: see :func:`selective_labels.assumptions.combination.combined`."""
        from selective_labels.assumptions.combination import combined

        return combined(self, other) if isinstance(other, Assumption) else NotImplemented

    @property
    def caption(self) -> str:
        """What is assumed and what would refute it, as it stands below every number.

        Examples
        --------
        >>> from selective_labels.assumptions import Unconfounded
        >>> Unconfounded().caption
        'among cases with equal features, the decision has nothing to do with the label. What would refute it:
        labels of like cases that depend on who decided (SL901).'
        """
        return (
            f"{self.sentence} What would refute it: {self.refuted_by}" if self.refuted_by else self.sentence
        )

    @property
    def needs_halves(self) -> bool:
        """Whether its scores need models on two disjoint halves of the rows."""
        return False

    @property
    def questions(self) -> tuple[tuple[str, str], ...]:
        """How `diagnose` asks about it: what assignment is random within, and the question in words.

        Nothing is asked about an assumption without questions.
        """
        return ()

    @abstractmethod
    def score(self, rows: Rows, overlap: float) -> Scores:
        """Score rows: the mean is a lower bound, or the value, of each class in the whole population.

        Parameters
        ----------
        rows : Rows
        overlap : float
            Probabilities below this are not inverted.
        """

    @abstractmethod
    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        """Say whether it may be used after these findings, and why; a reason names its checks.

        Parameters
        ----------
        findings : Findings
        given : "strata" or "features"
            What assignment is as good as random within.
        """


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

    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        """No check can do more than contradict it."""
        return decided(UNCHECKED, False, f"it would be refuted by {self.refuted_by}")


class Restriction(Part):
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
