"""Which assumptions may be used here, and why."""

from collections.abc import Mapping
from dataclasses import dataclass

from selective_labels.diagnostics.results import NOT_APPLICABLE, OK, VIOLATED

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


def permission(assumption: str, given: str, status: Mapping[str, str]) -> Permission:
    """Decide from the status of every family.

    Parameters
    ----------
    assumption : "instrument", "nucem" or "unconfounded"
    given : "strata" or "features"
        For "instrument": what assignment is as good as random within. The others always condition on
        features.
    status : mapping
        Status by family.

    Examples
    --------
    >>> fine = dict.fromkeys(("relevance", "assignment", "inequality", "crossing", "overlap"), "ok")
    >>> bool(permission("instrument", "strata", fine | {"assignment": "violated"}))
    False
    >>> bool(permission("instrument", "features", fine | {"assignment": "violated"}))
    True
    """
    if assumption not in ASSUMPTIONS:
        raise ValueError(f"assumption={assumption!r} is not one of {', '.join(map(repr, ASSUMPTIONS))}.")
    if given not in GIVEN:
        raise ValueError(f"given={given!r} is not one of {', '.join(map(repr, GIVEN))}.")
    if assumption == "instrument":
        return _instrument(given, status)
    return _nucem(status) if assumption == "nucem" else _unconfounded(status)


def _instrument(given: str, status: Mapping[str, str]) -> Permission:
    if status["overlap"] == NOT_APPLICABLE:
        return Permission(False, "There is only one decision-maker (SL301).")
    if status["overlap"] == VIOLATED:
        return Permission(False, "Most cases could have gone to one decision-maker only (SL302).")
    if VIOLATED in (status["inequality"], status["crossing"]):
        return Permission(
            False,
            "The lower bounds contradict each other (SL401, SL402, SL701): the instrument is not valid.",
        )
    use = _use(status["relevance"])
    if status["assignment"] == VIOLATED:
        if given == "strata":
            return Permission(
                False, "Cases are not dealt to decision-makers at random within strata (SL201, SL202, SL203)."
            )
        return Permission(
            True,
            "Cases are not dealt out at random within strata, but decision-makers remain a valid instrument "
            "if everything that drives assignment is among the features; the data cannot tell whether it "
            f'is. Use propensity="model".{use}',
        )
    if status["assignment"] == NOT_APPLICABLE:
        return Permission(
            True,
            "Whether cases are dealt out at random could not be tested (no features): it rests on what you "
            f"know of how they are assigned.{use}",
        )
    if status["assignment"] != OK:
        return Permission(
            True,
            f"Nothing refutes an instrument, but mind the warning about assignment (SL201-SL203).{use}",
        )
    return Permission(True, f"Cases look dealt out at random, and nothing contradicts an instrument.{use}")


def _use(relevance: str) -> str:
    return "" if relevance == OK else " But decision-makers hardly differ (SL101), so it will add little."


def _nucem(status: Mapping[str, str]) -> Permission:
    instrument = _instrument("features", status)
    if not instrument:
        return instrument
    if status["relevance"] != OK:
        return Permission(False, "Decision-makers differ too little for a point estimate (SL101).")
    if status["nucem"] == VIOLATED:
        return Permission(False, "The data contradict NUCEM (SL601, SL602).")
    if status["nucem"] != OK:
        return Permission(False, "NUCEM could not be tested here (SL601), and is not to be taken on trust.")
    return Permission(
        True, "Decision-makers differ enough (SL101), and NUCEM is not contradicted (SL601, SL602)."
    )


def _unconfounded(status: Mapping[str, str]) -> Permission:
    if status["unconfounded"] == VIOLATED:
        return Permission(False, "Labels of like cases depend on who decided (SL901).")
    if status["unconfounded"] != OK:
        return Permission(False, "Whether decisions are unconfounded could not be tested (SL901).")
    return Permission(True, "Labels of like cases do not depend on who decided (SL901).")
