"""Base classes for assumptions about unobserved labels, and the verdicts that checks give on them.

Subclass :class:`Assumption` or :class:`Restriction` to write your own.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from selective_labels._errors import InputError
from selective_labels.identification.event_bounds import AnyFloor, Floor
from selective_labels.nuisance.score_formulas import Rows, Scores

REFUTED, DOUBTFUL = "refuted", "doubtful"
NOT_REFUTED, UNCHECKED = "not refuted", "cannot be checked"
# A check can refute an assumption but never prove it.
VERDICTS = (REFUTED, DOUBTFUL, NOT_REFUTED, UNCHECKED)


@dataclass(frozen=True)
class CheckVerdict:
    """Whether an assumption may be used, and why.

    A verdict is true as a condition if the assumption is allowed, and prints as its reason. It is never true
    where the assumption is refuted or doubtful.

    Attributes
    ----------
    reason : str
        Starts with the verdict: "refuted", "doubtful", "not refuted" or "cannot be checked". A reason given
        without a verdict gets "not refuted" if allowed, else "refuted".
    plain : str
        The reason without the verdict, the check codes and the statement about power. Defaults to `reason`
        without the verdict.

    Examples
    --------
    >>> bool(CheckVerdict(True, "nothing speaks against it.")), CheckVerdict(False, "SL401 rejects.") == False
    (True, True)
    >>> print(CheckVerdict(False, "SL401 rejects."))
    refuted: SL401 rejects.
    >>> CheckVerdict(False, "cannot be checked: there is one decision-maker.").verdict
    'cannot be checked'
    """

    allowed: bool
    reason: str
    plain: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if not self.plain:
            matched = next((each for each in VERDICTS if self.reason.startswith(f"{each}: ")), None)
            object.__setattr__(
                self,
                "plain",
                self.reason if matched is None else self.reason[len(matched) + 2 :],
            )
        if not self.reason.startswith(VERDICTS):
            verdict = NOT_REFUTED if self.allowed else REFUTED
            object.__setattr__(self, "reason", f"{verdict}: {self.reason}")

    @property
    def verdict(self) -> str:
        """The verdict that the reason starts with, one of VERDICTS."""
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
    """Text with a placeholder {} for each group of check codes that supports it.

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
        """Text with the codes in parentheses."""
        return self.text.format(*(f" ({each})" for each in self.codes))

    @property
    def plain(self) -> str:
        """Text without the codes."""
        return self.text.format(*("" for _ in self.codes))


def said(text: str, *codes: str) -> Sentence:
    """Sentence that cites check codes."""
    return Sentence(text, codes)


def decided(verdict: str, allowed: bool, *sentences: Sentence | str, power: str = "") -> CheckVerdict:
    """Build a verdict from sentences; empty sentences are skipped.

    `power` says what the checks could have detected. It is part of `reason` but not of `plain`.

    Examples
    --------
    >>> contradiction = said("lower bounds contradict each other{}.", "SL401")
    >>> found = decided("refuted", False, contradiction, "", power="Smaller violations may go unnoticed.")
    >>> print(found)
    refuted: lower bounds contradict each other (SL401). Smaller violations may go unnoticed.
    >>> found.plain
    'lower bounds contradict each other.'
    """
    found = [
        each if isinstance(each, Sentence) else Sentence(each.replace("{", "{{").replace("}", "}}"), ())
        for each in sentences
        if each
    ]
    reason = " ".join([*(each.full for each in found), *([power] if power else [])])
    return CheckVerdict(allowed, f"{verdict}: {reason}", " ".join(each.plain for each in found))


OK, WARNING, VIOLATED, NOT_APPLICABLE = "ok", "warning", "violated", "not applicable"
# Ordered for `worst`: a check that does not apply never hides one that does.
STATUSES = (NOT_APPLICABLE, OK, WARNING, VIOLATED)
# Families of checks; each family tests one assumption.
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
# Family of the checks on the combinations of assumptions that a user states.
ALGEBRA = "algebra"
# Family of the checks on pending outcomes, which run where there are any.
MATURITY = "maturity"


class Found(Protocol):
    """Result of a coded check."""

    @property
    def code(self) -> str:
        """Check code, such as "SL101"."""

    @property
    def family(self) -> str:
        """One of FAMILIES."""

    @property
    def status(self) -> str:
        """One of STATUSES."""

    @property
    def p_value(self) -> float | None:
        """P-value of the null hypothesis, if the check is a test."""

    @property
    def detects(self) -> str:
        """Violation that the check detects with 80% power at this sample size; empty if unknown."""


def worst(statuses: Iterable[str]) -> str:
    """Worst status among the checks that applied; "not applicable" if none did.

    Examples
    --------
    >>> worst(["ok", "not applicable", "warning"]), worst(["not applicable"])
    ('warning', 'not applicable')
    """
    return max(statuses, key=STATUSES.index, default=NOT_APPLICABLE)


@dataclass(frozen=True)
class Findings:
    """Results of all checks.

    Attributes
    ----------
    results : tuple of Found
        For example the `CheckResult` objects of a diagnosis.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> findings = Findings((SimpleNamespace(code="SL202", family="assignment", status="violated"),))
    >>> findings.status("assignment"), findings.status("SL101"), findings.codes("violated", "assignment")
    ('violated', 'not applicable', 'SL202')
    """

    results: tuple[Found, ...]

    def status(self, *names: str) -> str:
        """Worst status among the checks with these families or codes."""
        return worst(each.status for each in self.results if each.family in names or each.code in names)

    def codes(self, status: str, *families: str) -> str:
        """Codes of the checks in these families that have this status, separated by commas."""
        return ", ".join(
            each.code for each in self.results if each.family in families and each.status == status
        )

    def rejecting(self, level: float, *names: str) -> str:
        """Codes of the checks with these families or codes whose p-value is not above the level.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> tried = [SimpleNamespace(code="SL501", family="monotonicity", p_value=0.004),
        ...          SimpleNamespace(code="SL401", family="inequality", p_value=None)]
        >>> Findings(tuple(tried)).rejecting(0.01, "monotonicity", "inequality")
        'SL501'
        """
        return ", ".join(
            each.code
            for each in self.results
            if (each.family in names or each.code in names)
            and each.p_value is not None
            and each.p_value <= level
        )

    def disagreement(self, *families: str) -> str:
        """Sentence if some applicable checks of these families reject and others do not; else empty.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> tried = [SimpleNamespace(code=str(n), family="assignment", status="ok") for n in range(3)]
        >>> failed = SimpleNamespace(code="SL202", family="assignment", status="violated")
        >>> print(Findings((*tried, failed)).disagreement("assignment"))
        The checks disagree: 1 of 4 rejects, the others do not; see what each of them looks at.
        """
        request = [each.status for each in self.results if each.family in families]
        rejected, applied = request.count(VIOLATED), len(request) - request.count(NOT_APPLICABLE)
        if not 0 < rejected < applied:
            return ""
        verb = "rejects" if rejected == 1 else "reject"
        others = "other does not" if applied - rejected == 1 else "others do not"
        return (
            f"The checks disagree: {rejected} of {applied} {verb}, the {others}; see what each of them looks "
            "at."
        )

    def power(self, *families: str) -> str:
        """Sentence on the violations that the checks of these families can detect; empty if unknown.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> tried = SimpleNamespace(code="SL401", family="inequality", status="ok", detects="sums of 1.1")
        >>> Findings((tried,)).power("inequality")
        'With this sample the checks have 80% power to detect: sums of 1.1 (SL401). Smaller violations may go
        unnoticed.'
        """
        known = [
            f"{each.detects} ({each.code})"
            for each in self.results
            if each.family in families and each.status != NOT_APPLICABLE and each.detects
        ]
        if not known:
            return ""
        found = "; ".join(known)
        return (
            f"With this sample the checks have 80% power to detect: {found}. "
            "Smaller violations may go unnoticed."
        )


class Assumption(ABC):
    """Assumption about the labels that were not observed.

    Every assumption is a frozen dataclass: equal by value, hashable and picklable. An assumption without
    parameters defines the properties below as class attributes. ``a & b`` assumes both.

    Examples
    --------
    >>> from selective_labels.assumptions import Informed, Instrument, Nucem
    >>> Instrument() == Instrument(), Nucem().identifies_value
    (True, True)
    >>> (Instrument() & Informed("failed")).name
    'instrument & informed(failed)'
    """

    # The assumption as a formula, and the evidence that would refute it.
    formula: str = ""
    refuted_by: str = ""
    # Families of the checks that can refute it.
    spoken_to_by: tuple[str, ...] = ()
    # Whether it says something of refused cases from labels of others even where no like case is accepted.
    extrapolates: bool = False
    # Whether its bounds hold if nothing is known of the labels of accepted cases whose outcome is pending.
    takes_worst_case: bool = False
    # What follows "if" behind a number; empty for "(name) holds".
    condition: str = ""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name that identifies the assumption in calls, results and files."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The assumption in one sentence."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Heading on the report page."""

    @property
    @abstractmethod
    def meaning(self) -> str:
        """The assumption as explained on the report page."""

    @property
    @abstractmethod
    def needs_decision_makers(self) -> bool:
        """Whether the assumption uses who decided."""

    @property
    @abstractmethod
    def identifies_value(self) -> bool:
        """Whether it identifies a point rather than bounds.

        Rows that its scores mark as bounded still have bounds.
        """

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """Lower bounds that the assumption implies on the probabilities of events.

        See :mod:`selective_labels.identification.event_bounds`.

        Parameters
        ----------
        classes : (n_classes,) array
            Class labels in the order of their codes.
        """
        return ()

    def __and__(self, other: Any) -> "Assumption":
        """Assume both; see :func:`selective_labels.assumptions.combination.combined`."""
        from selective_labels.assumptions.combination import combined

        return combined(self, other) if isinstance(other, Assumption) else NotImplemented

    @property
    def caption(self) -> str:
        """The assumption and what would refute it, as printed below every number.

        Examples
        --------
        >>> from selective_labels.assumptions import Unconfounded
        >>> Unconfounded().caption
        'among cases with equal features, the decision is independent of the label. What would refute it:
        labels of comparable cases that depend on who decided (SL901).'
        """
        return (
            f"{self.sentence} What would refute it: {self.refuted_by}" if self.refuted_by else self.sentence
        )

    @property
    def needs_halves(self) -> bool:
        """Whether its scores need models fitted on two disjoint halves of the rows."""
        return False

    @property
    def questions(self) -> tuple[tuple[str, str], ...]:
        """Questions that `diagnose` answers about the assumption.

        Each is a pair: what assignment is random within ("strata" or "features"), and the question in words.
        `diagnose` gives no verdict on an assumption without questions.
        """
        return ()

    @abstractmethod
    def score(self, rows: Rows, overlap: float) -> Scores:
        """Score rows: the mean estimates the lower bound or the value of each class's population share.

        Parameters
        ----------
        rows : Rows
        overlap : float
            Probabilities below this are not inverted.
        """

    @abstractmethod
    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        """Decide from the check results whether the assumption may be used; the reason names the checks.

        Parameters
        ----------
        findings : Findings
        given : "strata" or "features"
            What assignment is as good as random within.
        """


STEP = 1e-6


class Part(Assumption):
    """Assumption that narrows the identified set of another; combine it with ``&``."""

    needs_decision_makers = False
    identifies_value = False

    @property
    def title(self) -> str:
        """Heading on the report page."""
        return self.name[:1].upper() + self.name[1:]

    @property
    def meaning(self) -> str:
        """The sentence with a capital letter, for the report page."""
        return self.sentence[:1].upper() + self.sentence[1:]

    def score(self, rows: Rows, overlap: float) -> Scores:
        """Score as a combination of this part alone."""
        from selective_labels.assumptions.combination import Combination

        return Combination((self,)).score(rows, overlap)

    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        """Never allowed: checks can only contradict it."""
        return decided(UNCHECKED, False, f"it would be refuted by {self.refuted_by}")


class Restriction(Part):
    """P(A | D=0, x, z) >= g(P(A | D=1, x, z)): a lower bound on the event A among refused cases.

    A subclass defines g and states the assumption in words. Bounds, scores, intervals and learning follow.
    `adverse` is a class label or a tuple of labels: the event A.

    Examples
    --------
    Refused cases fail at least half as often as accepted ones:

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class HalfAsBad(Restriction):
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
    refuted_by = "lower bounds that sum to more than one (SL1001)."
    extrapolates = True

    @abstractmethod
    def refused(self, accepted: np.ndarray) -> np.ndarray:
        """Lower bound g on the share of A among refused cases, given its share among accepted cases."""

    def slope(self, accepted: np.ndarray) -> np.ndarray:
        """Derivative of g, by finite differences unless a subclass overrides it."""
        low, high = np.maximum(accepted - STEP, 0.0), np.minimum(accepted + STEP, 1.0)
        return (self.refused(high) - self.refused(low)) / (high - low)

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """One lower bound on the event from each decision-maker."""
        return (Floor(event_codes(self.adverse, classes), self.refused, self.slope),)


def event_codes(labels: Any, classes: np.ndarray, argument: str = "adverse") -> tuple[int, ...]:
    """Codes of a class label or a tuple of labels; raise if it covers all or none of the classes.

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
    """Convert a collection of labels to a tuple, which is hashable and compares by value."""
    return tuple(labels) if isinstance(labels, list | set | frozenset | np.ndarray) else labels


def in_words(labels: Any) -> str:
    """Label, or several labels joined by "or".

    Examples
    --------
    >>> in_words(("late", "lost")), in_words(1)
    ('late or lost', '1')
    """
    return " or ".join(map(str, labels)) if isinstance(labels, tuple) else str(labels)


def event_words(labels: Any) -> str:
    """The event in the user's words, for sentences; the one place to change for a vocabulary.

    Examples
    --------
    >>> event_words("failed"), event_words(("late", "lost"))
    ("the event 'failed'", "the event 'late or lost'")
    """
    return f"the event '{in_words(labels)}'"
