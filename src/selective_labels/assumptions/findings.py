"""What checks found, as assumptions read it: the words that both sides share."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

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
        asked = [each.status for each in self.results if each.family in families]
        rejected, applied = asked.count(VIOLATED), len(asked) - asked.count(NOT_APPLICABLE)
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
