"""What checks say about an assumption: refuted, not refuted, or not to be checked, with the reason."""

from dataclasses import dataclass, field

REFUTED, NOT_REFUTED, UNCHECKED = "refuted", "not refuted", "cannot be checked"
# No check can do more for an assumption than fail to refute it.
VERDICTS = (REFUTED, NOT_REFUTED, UNCHECKED)


@dataclass(frozen=True)
class Permission:
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
            told = next((each for each in VERDICTS if self.reason.startswith(f"{each}: ")), None)
            object.__setattr__(self, "plain", self.reason if told is None else self.reason[len(told) + 2 :])
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
        if isinstance(other, Permission):
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


def decided(verdict: str, allowed: bool, *sentences: Sentence | str, power: str = "") -> Permission:
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
    told = [
        each if isinstance(each, Sentence) else Sentence(each.replace("{", "{{").replace("}", "}}"), ())
        for each in sentences
        if each
    ]
    reason = " ".join([*(each.full for each in told), *([power] if power else [])])
    return Permission(allowed, f"{verdict}: {reason}", " ".join(each.plain for each in told))
