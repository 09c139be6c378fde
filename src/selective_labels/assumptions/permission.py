"""What checks say about an assumption: refuted, not refuted, or not to be checked, with the reason."""

from dataclasses import dataclass

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

    def __post_init__(self) -> None:
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


def decided(verdict: str, allowed: bool, *sentences: str) -> Permission:
    """A permission from a verdict and sentences; those that are empty are left out.

    Examples
    --------
    >>> print(decided("refuted", False, "lower bounds contradict each other (SL401).", "", "SL501 rejects."))
    refuted: lower bounds contradict each other (SL401). SL501 rejects.
    """
    return Permission(allowed, f"{verdict}: {' '.join(filter(None, sentences))}")
