"""Run all checks on a sample, or the few that estimators run before they report."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np

from selective_labels._errors import DiagnosticWarning, InputError
from selective_labels._parallel import with_progress
from selective_labels._validation import Roles, require_count, require_share, split_keywords
from selective_labels.assumptions.base import OK, Assumption
from selective_labels.data.partitioned import PartitionedLabels
from selective_labels.data.reading import LENIENCY, read_table, with_instrument
from selective_labels.data.roles import GivenRoles
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics import balance, exclusion, maturity, nucem, overlap, strength
from selective_labels.diagnostics.assignment_residuals import RESIDUALS_CHECK
from selective_labels.diagnostics.balance import balance_by_decision_maker
from selective_labels.diagnostics.cautions import repeated_rows_caution
from selective_labels.diagnostics.combinations import algebra_results
from selective_labels.diagnostics.context import Context, describe_panels, panel_cases, panel_cases_of_fit
from selective_labels.diagnostics.results import Diagnosis, Figures, NotApplicableError
from selective_labels.diagnostics.strength import adjusted_leniency, instrument_strength
from selective_labels.nuisance.cross_fit import CrossFit, FittingSettings

CHECKS = (
    strength.CONDITIONAL_STRENGTH_CHECK,
    strength.EFFECTIVE_F_CHECK,
    strength.LENIENCY_SPREAD_CHECK,
    strength.WORTH_OF_BOUNDS_CHECK,
    balance.BALANCE_CHECK,
    balance.CLASSIFIER_CHECK,
    balance.LENIENCY_REGRESSION_CHECK,
    balance.FLEXIBLE_CHECK,
    RESIDUALS_CHECK,
    overlap.SIZES_CHECK,
    overlap.OVERLAP_CHECK,
    overlap.DECISION_OVERLAP_CHECK,
    overlap.NUMERIC_IDS_CHECK,
    exclusion.INEQUALITY_CHECK,
    exclusion.INEQUALITY_LEAVES_CHECK,
    exclusion.MONOTONICITY_CHECK,
    nucem.OVERIDENTIFICATION_CHECK,
    nucem.POINT_IN_BOUNDS_CHECK,
    exclusion.CROSSING_CHECK,
    nucem.SKILL_CHECK,
    nucem.UNCONFOUNDED_CHECK,
)


def diagnose(
    X: Any,
    y: Any = None,
    *,
    instrument: str = "leniency",
    nuisance: Any = "logistic",
    cv: Any = 5,
    level: float = 0.05,
    n_permutations: int = 199,
    n_jobs: int | None = None,
    random_state: Any = None,
    assumptions: Sequence[str | Assumption] = (),
    **roles: Unpack[Roles],
) -> Diagnosis:
    """Check relevance, random assignment, overlap and the testable implications of the assumptions.

    Models are fitted once, on at most 50,000 random rows; counts and permutations use all rows. For a
    partitioned table, the checks use `fit_rows` of its rows, drawn by hash, and the printed text says so.

    Parameters
    ----------
    X : SelectiveLabels, array of numbers, table of numbers, text, categories and dates, or None
        Features known before the decision; missing values are allowed. A SelectiveLabels holds the labels
        and roles, so pass no other role with it.
    y : (n_samples,) array
        Labels; -1, NaN, None or NA where the label is missing.
    instrument : "leniency" or "numeric"
        "numeric" treats `decision_maker` as a measurement, not an id. The checks compare rows at twenty of
        its quantiles, each row at the nearest, and models are smooth in it.
    nuisance, cv, n_jobs, random_state
        As for :class:`selective_labels.UCLClassifier`; the default model is the fast one.
    level : float
        Level of every test: a check is "violated" if its p-value does not exceed it.
    n_permutations : int
    assumptions : list of assumption objects
        Combinations to check as well (SL1001 to SL1006), such as ``Instrument() & Informed("failed")``.
    **roles
        `decision_maker`, `decision`, `sample_weight`, `groups`, `strata`, `assignment`, as in
        :class:`selective_labels.Evaluator`. Weights are used by the models and by SL204, SL303, SL401,
        SL402 and SL501; all other tests count each row once. The rows of a group that one decision-maker
        handled are permuted together. The parts of a group that several decision-makers handled are
        permuted separately. If a SelectiveLabels shares labels within groups, each case counts once and the
        checks compare panels (with more than twenty, bands of panels by off-fold leniency).

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> from selective_labels import SelectiveLabels
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(2000, random_state=0)
    >>> data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> diagnosis = diagnose(data, random_state=0)
    >>> diagnosis.status("relevance"), bool(diagnosis.allows("instrument"))
    ('ok', True)
    """
    require_share("level", level)
    require_count("n_permutations", n_permutations)
    (given,) = split_keywords("diagnose", roles, Roles)
    data = read_table(X, y, GivenRoles(**given), need_features=False)
    sharing = ""
    if isinstance(data, PartitionedLabels):
        sharing = f"The table has {len(data):,} cases; these were drawn from it by hash."
        data = data.checked_sample(random_state)
    if not data.decision_makers_given:
        raise InputError("decision_maker is missing: the checks are about who decided.", "decision_maker")
    if instrument != LENIENCY:  # SL304 reports ids that look like measurements
        data = with_instrument(data, instrument, nuisance=nuisance)
    fitting = FittingSettings.read(nuisance, cv=cv, n_jobs=n_jobs, random_state=random_state)
    if data.panels is not None:
        sharing, data = describe_panels(data), panel_cases(data, fitting.seed)
    sharing = f"{sharing} {repeated_rows_caution(data) or ''}".strip()
    context = Context(data, fitting, level=level, n_permutations=n_permutations)
    checks = (*CHECKS, *maturity.CHECKS) if data.has_pending else CHECKS
    results = tuple(with_progress(map(context.result_of, checks), "checking assumptions", len(checks)))
    results += tuple(algebra_results(context, data, assumptions))
    counts = len(data), data.n_decision_makers, len(context.model_rows)
    strength = _if_possible(lambda: instrument_strength(context))
    return Diagnosis(results, *counts, _figures(context), sharing, strength).in_words(data.vocabulary)


def _figures(context: Context) -> Figures:
    """Compute the numbers behind the plots, as far as possible."""
    codes, n_makers = context.decision_maker, context.n_decision_makers
    counts = np.stack([np.bincount(codes, column, n_makers) for column in context.seen_labels.T], axis=1)
    labels = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    rate = np.where(counts.sum(axis=1, keepdims=True) > 0, counts / labels, np.nan)
    leniency = _if_possible(lambda: adjusted_leniency(context))
    spread = _if_possible(lambda: balance_by_decision_maker(context))
    return Figures(
        context.data.decision_makers,
        context.data.classes,
        None if leniency is None else leniency.mean,
        None if leniency is None else leniency.error,
        rate,
        np.sqrt(rate * (1.0 - rate) / labels),
        _if_possible(lambda: context.row_model.strength),
        None if spread is None else spread[0],
        None if spread is None else spread[1],
    )


def _if_possible(compute: Callable[[], Any]) -> Any:
    try:
        return compute()
    except NotApplicableError:
        return None


# Enough to compare a p-value with 0.05.
FEW_PERMUTATIONS = 99


def warn_if_not_allowed(
    data: SelectiveLabels,
    fit: CrossFit,
    *,
    level: float = 0.05,
    random_state: int | None = None,
    stacklevel: int = 2,
) -> bool:
    """Warn, with the check code, if a point estimate under NUCEM is not reliable.

    Runs SL101 (relevance) and SL601 (over-identification) on fitted models. This takes one prediction of
    every row under every decision-maker and 99 permutations; no model is fitted.

    Parameters
    ----------
    data : SelectiveLabels
        The rows that `fit` was fitted on, with numeric features.
    fit : CrossFit
        Fitted with ``in_halves=True``.
    stacklevel : int
        Stack level of the warning, counted from the caller.

    Returns
    -------
    bool
        Whether NUCEM may be used.
    """
    found = nucem_warning(data, fit, level=level, random_state=random_state)
    if found is None:
        return True
    warnings.warn(found, stacklevel=stacklevel + 1)
    return False


def nucem_warning(
    data: SelectiveLabels, fit: CrossFit, *, level: float = 0.05, random_state: int | None = None
) -> DiagnosticWarning | None:
    """Warning of :func:`warn_if_not_allowed`, or None, for results that report it themselves."""
    if data.panels is not None:
        data, fit = panel_cases_of_fit(data, fit)
    fitting = FittingSettings(seed=random_state)
    context = Context(data, fitting, level=level, n_permutations=FEW_PERMUTATIONS, fit=fit)
    for check in (strength.CONDITIONAL_STRENGTH_CHECK, nucem.OVERIDENTIFICATION_CHECK):
        result = context.result_of(check)
        if result.status != OK:
            parts = (result.message, result.advice, "See diagnose() for all checks.")
            text = f"({result.name}, {result.status}): {' '.join(filter(None, parts))}"
            return DiagnosticWarning(result.code, text)
    return None
