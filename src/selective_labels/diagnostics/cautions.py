"""Doubts about assumptions, from a few quick checks of fitted models, for results that nobody asked to check.

`diagnose` runs all checks at their own level. What runs unasked has to be quick, and silent where nothing is
wrong: each test of an instrument is at 1 % corrected for the eight that there are.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from selective_labels._errors import DiagnosticWarning
from selective_labels.assumptions.base import OK, VIOLATED, WARNING, Assumption
from selective_labels.assumptions.instrument import DOUBT_LEVEL, Instrument
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.assignment_residuals import doubt
from selective_labels.diagnostics.balance import quick_assignment
from selective_labels.diagnostics.combinations import direction_against, stated_directions
from selective_labels.diagnostics.context import Context, panel_cases_of_fit
from selective_labels.diagnostics.exclusion import (
    INEQUALITY_CHECK,
    INEQUALITY_LEAVES_CHECK,
    QUICK_MONOTONICITY,
)
from selective_labels.diagnostics.overlap import QUICK_DECISION_OVERLAP
from selective_labels.diagnostics.results import CheckResult
from selective_labels.nuisance.assignment import SHARES
from selective_labels.nuisance.cross_fit import CrossFit, FittingSettings
from selective_labels.nuisance.score_formulas import Scores
from selective_labels.nuisance.scores import cross_fit_scores

EITHER = (
    "if cases reach decision-makers at random, either who decides changes the outcome, and then "
    "decision-makers are not an instrument, or decision-makers rank cases differently, which an instrument "
    "allows"
)


def cautions_of(
    data: SelectiveLabels,
    fit: CrossFit,
    assumptions: Iterable[Assumption],
    scores: Mapping[str, Scores] | None = None,
    *,
    doubts: Sequence[CheckResult] | None = None,
    seed: int | None = None,
) -> dict[str, tuple[str, ...]]:
    """Sentences on what makes results under each assumption doubtful; no entry where nothing does.

    SL205, SL401, SL402 and SL501 bear on every assumption that uses who decided. SL303 bears on those that
    say something of cases of a kind that is hardly ever accepted. SL1006 bears on a stated direction.

    Parameters
    ----------
    data : SelectiveLabels
        The rows that `fit` was fitted to.
    fit : CrossFit
    assumptions : iterable of Assumption
    scores : dict of Scores, optional
        Scores of the rows under the instrument, if they were computed, without a label range.
    doubts : sequence of CheckResult, optional
        Those of :func:`doubts_of_instrument`, if these were asked for.
    seed : int, optional

    Returns
    -------
    dict of tuple of str
        By name of the assumption.

    Examples
    --------
    >>> from selective_labels.datasets import make_decision_makers
    >>> from selective_labels.nuisance.cross_fit import cross_fit
    >>> sample = make_decision_makers(600, random_state=0)
    >>> data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> cautions_of(data, cross_fit(data, "logistic", random_state=0), [Instrument()], seed=0)
    {}
    """
    chosen = list(assumptions)
    # A sensitivity curve scores the same rows under many assumptions: each check runs once for a fit.
    known = _found.setdefault(fit, {})

    def once(key: Any, find: Callable[[], list[str]]) -> list[str]:
        if key not in known:
            known[key] = find()
        return known[key]

    def of_instrument() -> list[str]:
        against = doubts_of_instrument(data, fit, scores, seed=seed) if doubts is None else doubts
        return [in_words(each) for each in against]

    found = {}
    for each in chosen:
        sentences: list[str] = []
        if each.needs_decision_makers:
            sentences += once("who decides", lambda: _of_who_decides(data, fit, seed))
            sentences += once("instrument", of_instrument)
        if each.extrapolates:
            sentences += once("overlap", lambda: _of_overlap(data, fit, seed))
        for part in stated_directions(each, data):
            sentences += once(part, partial(direction_against, part, data, fit))
        if sentences:
            found[each.name] = tuple(sentences)
    return found


# What the checks said of fitted models, as long as these exist.
_found: WeakKeyDictionary[CrossFit, dict[Any, list[str]]] = WeakKeyDictionary()


def doubts_of_instrument(
    data: SelectiveLabels,
    fit: CrossFit,
    scores: Mapping[str, Scores] | None = None,
    *,
    level: float = DOUBT_LEVEL,
    seed: int | None = None,
) -> list[CheckResult]:
    """Checks among SL401, SL402 and SL501 that reject an instrument at the level.

    SL501 compares decision-makers within strata. It is left out where assignment is modelled or given, and
    where a quick test says that assignment depends on features: decision-makers then show different labels
    because their cases differ.
    """
    if data.n_decision_makers < 2 or data.labeled.all() or not len(fit.held_out):
        return []
    fitting = FittingSettings(seed=seed)
    known = cross_fit_scores(fit, data, [Instrument()]) if scores is None else scores
    whole = Context(data, fitting, level=level, fit=fit, scores=known)
    found = [whole.result_of(each) for each in (INEQUALITY_CHECK, INEQUALITY_LEAVES_CHECK)]
    if fit.report.assignment is None or fit.report.assignment.chosen == SHARES:
        cases = data if data.panels is None else panel_cases_of_fit(data, fit)[0]
        found.append(Context(cases, fitting, level=level, fit=fit).result_of(QUICK_MONOTONICITY))
    rejecting = [each for each in found if each.status in (WARNING, VIOLATED)]
    by_cases = [each for each in rejecting if each.code == QUICK_MONOTONICITY.code]
    if by_cases and quick_assignment(data, seed).status != OK:
        rejecting.remove(by_cases[0])
    return rejecting


def caution_warning(sentence: str) -> DiagnosticWarning:
    """A caution as a warning, for estimators, with the code that the sentence names.

    Examples
    --------
    >>> caution_warning("Who decides is not described well (SL205): ...").code
    'SL205'
    """
    code = re.search(r"\bSL\d+", sentence)
    assert code is not None, sentence
    return DiagnosticWarning(code[0], f"(caution): {sentence}")


def instrument_warning(found: CheckResult, labeled_only: bool = False) -> DiagnosticWarning:
    """The same doubt as a warning, for estimators."""
    then = " The classifier is fitted to the labeled rows alone." if labeled_only else ""
    return DiagnosticWarning(found.code, f"({found.name}): {in_words(found)}{then}")


def in_words(found: CheckResult) -> str:
    """The doubt that a check raises about the instrument, in one or two sentences."""
    if found.code == QUICK_MONOTONICITY.code:
        return f"The instrument is doubtful here ({found.code}): {EITHER}. The data cannot tell which."
    return f"The instrument is not to be trusted here ({found.code}). {found.message}"


def _of_who_decides(data: SelectiveLabels, fit: CrossFit, seed: int | None) -> list[str]:
    found = doubt(data, fit, seed)
    return [found] if found else []


def _of_overlap(data: SelectiveLabels, fit: CrossFit, seed: int | None) -> list[str]:
    cases, models = (data, fit) if data.panels is None else panel_cases_of_fit(data, fit)
    found = Context(cases, FittingSettings(seed=seed), fit=models).result_of(QUICK_DECISION_OVERLAP)
    if found.status != WARNING:
        return []
    return [
        f"What follows for {found.statistic:.0%} of the cases is doubtful ({found.code}): hardly any cases "
        "like these are accepted, so the assumption extrapolates from other cases."
    ]
