"""Which assumptions may be used here, and why."""

from collections.abc import Sequence

from selective_labels.assumptions import Assumption, Combination, Findings, Permission, known, named
from selective_labels.assumptions.findings import ALGEBRA
from selective_labels.diagnostics.results import CheckResult
from selective_labels.support.errors import require_choice

GIVEN = ("strata", "features")


def permission(assumption: str | Assumption, given: str, results: Sequence[CheckResult]) -> Permission:
    """Decide from the findings of all checks; a reason names the checks that it rests on.

    Parameters
    ----------
    assumption : str or Assumption
        One that checks can speak about: "instrument", "nucem" or "unconfounded".
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
    Permission(allowed=False, reason='refuted: cases are not dealt ... at random within strata (SL202).')
    >>> bool(permission("instrument", "features", skewed))
    True
    """
    require_choice("given", given, GIVEN)
    if isinstance(assumption, Assumption) and isinstance(whole := named(assumption), Combination):
        about = [each for each in results if each.family != ALGEBRA or each.name.endswith(f"({whole.name})")]
        return whole.permission(Findings(tuple(about)), given)
    name = assumption.name if isinstance(assumption, Assumption) else assumption
    require_choice("assumption", name, tuple(each.name for each in known() if each.questions))
    return named(assumption).permission(Findings(tuple(results)), given)
