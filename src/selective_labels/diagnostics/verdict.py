"""Which assumptions may be used here, and why."""

from collections.abc import Sequence
from dataclasses import dataclass

from selective_labels.diagnostics.results import NOT_APPLICABLE, OK, VIOLATED, CheckResult, worst

ASSUMPTIONS = ("instrument", "nucem", "unconfounded")
GIVEN = ("strata", "features")


@dataclass(frozen=True)
class Permission:
    """Whether an assumption may be used, and why: true or false as a condition, words as text.

    Attributes
    ----------
    allowed : bool
    reason : str

    Examples
    --------
    >>> bool(Permission(True, "Nothing speaks against it.")), Permission(False, "SL401 is violated.") == False
    (True, True)
    """

    allowed: bool
    reason: str

    def __bool__(self) -> bool:
        return self.allowed

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Permission):
            return (self.allowed, self.reason) == (other.allowed, other.reason)
        return self.allowed == other if isinstance(other, bool) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.allowed)

    def __str__(self) -> str:
        return f"{'yes' if self.allowed else 'no'}: {self.reason}"


def permission(assumption: str, given: str, results: Sequence[CheckResult]) -> Permission:
    """Decide from the findings of all checks; a reason names the checks that it rests on.

    Parameters
    ----------
    assumption : "instrument", "nucem" or "unconfounded"
    given : "strata" or "features"
        For "instrument": what assignment is as good as random within. The others always condition on
        features.
    results : sequence of CheckResult

    Examples
    --------
    >>> def found(code, family, status):
    ...     return CheckResult(code, "name", family, status, None, None, "message")
    >>> skewed = [found("SL202", "assignment", "violated"), found("SL301", "overlap", "ok")]
    >>> permission("instrument", "strata", skewed)
    Permission(allowed=False, reason='Cases are not dealt ... at random within strata (SL202).')
    >>> bool(permission("instrument", "features", skewed))
    True
    """
    if assumption not in ASSUMPTIONS:
        raise ValueError(f"assumption={assumption!r} is not one of {', '.join(map(repr, ASSUMPTIONS))}.")
    if given not in GIVEN:
        raise ValueError(f"given={given!r} is not one of {', '.join(map(repr, GIVEN))}.")
    findings = _Findings(tuple(results))
    if assumption == "instrument":
        return _instrument(given, findings)
    return _nucem(findings) if assumption == "nucem" else _unconfounded(findings)


@dataclass(frozen=True)
class _Findings:
    results: tuple[CheckResult, ...]

    def status(self, *names: str) -> str:
        """The worst status among the checks of these families or with these codes."""
        return worst(each.status for each in self.results if each.family in names or each.code in names)

    def codes(self, status: str, *families: str) -> str:
        """Codes of the checks of some families that found this, in words."""
        return ", ".join(
            each.code for each in self.results if each.family in families and each.status == status
        )


def _instrument(given: str, findings: _Findings) -> Permission:
    if findings.status("overlap") == NOT_APPLICABLE:
        return Permission(False, "There is only one decision-maker (SL301).")
    if findings.status("overlap") == VIOLATED:
        return Permission(False, "Most cases could have gone to one decision-maker only (SL302).")
    contradicted = findings.codes(VIOLATED, "inequality", "crossing")
    if contradicted:
        return Permission(
            False, f"The lower bounds contradict each other ({contradicted}): the instrument is not valid."
        )
    allowed, reason = _assigned(given, findings)
    weak = findings.status("relevance") != OK
    use = " But decision-makers hardly differ (SL101), so it will add little." if allowed and weak else ""
    return Permission(allowed, reason + use)


def _assigned(given: str, findings: _Findings) -> tuple[bool, str]:
    """Whether cases may be taken as dealt out at random, and why."""
    status = findings.status("assignment")
    if status == VIOLATED and given == "strata":
        codes = findings.codes(VIOLATED, "assignment")
        return False, f"Cases are not dealt to decision-makers at random within strata ({codes})."
    if status == VIOLATED:
        return True, (
            "Cases are not dealt out at random within strata, but decision-makers remain a valid instrument "
            "if everything that drives assignment is among the features; the data cannot tell whether it "
            'is. Use propensity="model".'
        )
    if status == NOT_APPLICABLE:
        return True, (
            "Whether cases are dealt out at random could not be tested: it rests on what you know of how "
            "they are assigned."
        )
    if status != OK:
        codes = findings.codes(status, "assignment")
        return True, f"Nothing refutes an instrument, but mind the warning about assignment ({codes})."
    return True, "Cases look dealt out at random, and nothing contradicts an instrument."


def _nucem(findings: _Findings) -> Permission:
    instrument = _instrument("features", findings)
    if not instrument:
        return instrument
    if findings.status("relevance") != OK:
        return Permission(False, "Decision-makers differ too little for a point estimate (SL101).")
    if findings.status("nucem") == VIOLATED:
        return Permission(False, f"The data contradict NUCEM ({findings.codes(VIOLATED, 'nucem')}).")
    # SL602 alone sees gross violations only: it does not stand in for the test that could not be made.
    if findings.status("SL601") != OK:
        return Permission(False, "NUCEM could not be tested here (SL601), and is not to be taken on trust.")
    codes = findings.codes(OK, "nucem")
    return Permission(
        True, f"Decision-makers differ enough (SL101), and NUCEM is not contradicted ({codes})."
    )


def _unconfounded(findings: _Findings) -> Permission:
    if findings.status("unconfounded") == VIOLATED:
        return Permission(False, "Labels of like cases depend on who decided (SL901).")
    if findings.status("unconfounded") != OK:
        return Permission(False, "Whether decisions are unconfounded could not be tested (SL901).")
    return Permission(True, "Labels of like cases do not depend on who decided (SL901).")
