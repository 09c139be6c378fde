"""What a check finds: a status, a number, a sentence, and what to do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from selective_labels.assumptions.findings import NOT_APPLICABLE, OK, VIOLATED, WARNING

if TYPE_CHECKING:
    from selective_labels.diagnostics.context import Context

UNTESTED = "Not tested: "
# SL201, SL202, SL203 and SL204 all ask whether cases are dealt out at random.
ASSIGNMENT_LOOKS = 4


class NotApplicableError(Exception):
    """A check has nothing to work with; the text says why."""


@dataclass(frozen=True)
class Finding:
    """What a check says about a sample, before it is signed with code and name.

    Attributes
    ----------
    status : "ok", "warning", "violated" or "not applicable"
    message : str
        One or two sentences for a practitioner.
    statistic, p_value : float or None
    advice : str
        What to do; empty if nothing needs doing.
    detects : str
        What the check would have found with power .8, as a noun; empty if that was not computed.
    """

    status: str
    message: str
    statistic: float | None = None
    p_value: float | None = None
    advice: str = ""
    detects: str = ""


@dataclass(frozen=True)
class CheckResult:
    """The finding of one coded check.

    Attributes
    ----------
    code : str
        Stable; docs/diagnostics.md lists them all.
    name, family : str
    status : "ok", "warning", "violated" or "not applicable"
        The last is not a pass: nothing was tested.
    statistic : float or None
    p_value : float or None
        Of the check's null hypothesis, where it is a test.
    message : str
        What was found, in words.
    advice : str
        What to do about it; empty if nothing needs doing.
    detects : str
        What the check would have found in four of five such samples, by the design at hand (its size, its
        decision-makers, its noise); empty if that was not computed.
    """

    code: str
    name: str
    family: str
    status: str
    statistic: float | None
    p_value: float | None
    message: str
    advice: str = ""
    detects: str = ""


@dataclass(frozen=True)
class Check:
    """A coded check: calling it never raises for want of data.

    Attributes
    ----------
    code, name, family : str
    find : callable
        From a :class:`Context` to a :class:`Finding`; raises :class:`NotApplicableError` with the reason.
    """

    code: str
    name: str
    family: str
    find: Callable[["Context"], Finding]

    def __call__(self, context: "Context") -> CheckResult:
        """Run the check."""
        try:
            finding = self.find(context)
        except NotApplicableError as reason:
            finding = Finding(NOT_APPLICABLE, f"{UNTESTED}{reason}")
        except np.linalg.LinAlgError:
            words = "the data leave nothing to compare (a singular system of equations)."
            finding = Finding(NOT_APPLICABLE, f"{UNTESTED}{words}")
        return CheckResult(
            self.code,
            self.name,
            self.family,
            finding.status,
            finding.statistic,
            finding.p_value,
            finding.message,
            finding.advice,
            finding.detects,
        )


def need(condition: object, reason: str) -> None:
    """Raise :class:`NotApplicableError` with the reason unless the condition holds."""
    if not condition:
        raise NotApplicableError(reason)


def status_of_test(p_value: float, level: float, n_looks: int = 1) -> str:
    """Status of a test of an assumption: violated if rejected at the level.

    At the level itself too: of 199 permutations and the sample, just one in twenty is among the first ten.
    Where several checks look at the same assumption, one of them rejects by chance more often than the level
    says; a rejection that does not survive the number of looks (Bonferroni) is a warning only.

    Examples
    --------
    >>> status_of_test(0.03, 0.05), status_of_test(0.03, 0.05, n_looks=3)
    ('violated', 'warning')
    """
    if p_value > level:
        return OK
    return VIOLATED if p_value <= level / n_looks else WARNING
