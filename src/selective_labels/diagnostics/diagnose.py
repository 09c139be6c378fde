"""All checks in order: can this data answer the question."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from selective_labels._errors import DiagnosticWarning, InputError
from selective_labels._parallel import with_progress
from selective_labels._validation import require_count, require_share
from selective_labels.assumptions.base import OK, Assumption
from selective_labels.assumptions.instrument import Instrument
from selective_labels.data.partitioned import PartitionedLabels
from selective_labels.data.reading import LENIENCY, read_table, with_instrument
from selective_labels.data.roles import GivenRoles
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics import balance, exclusion, nucem, overlap, relevance
from selective_labels.diagnostics.balance import balance_by_decision_maker
from selective_labels.diagnostics.combinations import algebra_results
from selective_labels.diagnostics.context import Context, describe_panels, panel_cases, panel_cases_of_fit
from selective_labels.diagnostics.hypothesis_tests import one_sided
from selective_labels.diagnostics.relevance import adjusted_leniency
from selective_labels.diagnostics.results import Diagnosis, Figures, NotApplicableError
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.scores import cross_fit_scores
from selective_labels.nuisance.settings import FittingSettings

CHECKS = (
    relevance.CONDITIONAL_STRENGTH_CHECK,
    relevance.EFFECTIVE_F_CHECK,
    relevance.LENIENCY_SPREAD_CHECK,
    relevance.WORTH_OF_BOUNDS_CHECK,
    balance.BALANCE_CHECK,
    balance.CLASSIFIER_CHECK,
    balance.LENIENCY_REGRESSION_CHECK,
    balance.FLEXIBLE_CHECK,
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
    decision_maker: Any = None,
    decision: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    strata: Any = None,
    assignment: Any = None,
    instrument: str = "leniency",
    nuisance: Any = "logistic",
    cv: Any = 5,
    level: float = 0.05,
    n_permutations: int = 199,
    n_jobs: int | None = None,
    random_state: Any = None,
    assumptions: Sequence[str | Assumption] = (),
) -> Diagnosis:
    """Check whether decision-makers differ, get like cases, and fit what assumptions say.

    Models are fitted once, on 50,000 random rows at most; counts and permutations use all rows. Of a table in
    partitions, `fit_rows` of its rows are checked, drawn by hash, and the text says so.

    Parameters
    ----------
    X : SelectiveLabels, array of numbers, table of numbers, text, categories and dates, or None
        What was known of the case before the decision; holes are allowed. A SelectiveLabels has labels and
        roles in it: then no other role is given.
    y : (n_samples,) labels with holes (-1, NaN, None, NA)
    decision_maker : (n_samples,) ids
    decision : (n_samples,) of 0 and 1, optional
        Says which labels count; -1 may then be a class.
    sample_weight : (n_samples,) array, optional
        Used by the models and by SL204. Other tests compare the rows at hand, each counted once.
    groups : (n_samples,) array, optional
        Repeated cases, kept together in folds. All rows of a group that one decision-maker handled are
        permuted as one; the parts of a divided group are permuted apart. Where a SelectiveLabels shares
        labels within groups, each case counts once, and checks compare panels (above twenty: bands of
        panels by off-fold leniency).
    strata : (n_samples,) array, optional
        Cells within which assignment is random.
    assignment : (n_samples, n_decision_makers) array or callable of X, optional
        Known probabilities of decision-makers.
    instrument : "leniency" or "numeric"
        "numeric": `decision_maker` is a number that means something, not an id; checks compare the rows at
        twenty of its quantiles, each row at the nearest, and models are smooth in it.
    nuisance, cv, n_jobs, random_state
        As for :class:`selective_labels.UCLClassifier`; the default model is the fast one.
    level : float
        Of every test: a check is "violated" if its p-value is not above it.
    n_permutations : int
    assumptions : list of assumption objects
        Combinations to be checked besides (SL1001 to SL1005), such as ``Instrument() & Informed("failed")``.

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
    roles = GivenRoles(decision_maker, decision, sample_weight, groups, strata, assignment)
    data = read_table(X, y, roles, need_features=False)
    sharing = ""
    if isinstance(data, PartitionedLabels):
        sharing = f"The table has {len(data):,} cases; these were drawn from it by hash."
        data = data.checked_sample(random_state)
    if not data.decision_makers_given:
        raise InputError("decision_maker is missing: the checks are about who decided.", "decision_maker")
    if instrument != LENIENCY:  # of ids that look like measurements SL304 tells
        data = with_instrument(data, instrument, nuisance=nuisance)
    fitting = FittingSettings.read(nuisance, cv=cv, n_jobs=n_jobs, random_state=random_state)
    if data.panels is not None:
        sharing, data = describe_panels(data), panel_cases(data, fitting.seed)
    context = Context(data, fitting, level=level, n_permutations=n_permutations)
    results = tuple(with_progress(map(context.result_of, CHECKS), "checking assumptions", len(CHECKS)))
    results += tuple(algebra_results(context, data, assumptions))
    counts = len(data), data.n_decision_makers, len(context.model_rows)
    return Diagnosis(results, *counts, _figures(context), sharing)


def _figures(context: Context) -> Figures:
    """Keep what the plots need, as far as it can be computed."""
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


# Enough to tell a p-value from one in twenty.
FEW_PERMUTATIONS = 99


def warn_if_not_allowed(
    data: SelectiveLabels,
    fit: CrossFit,
    *,
    level: float = 0.05,
    random_state: int | None = None,
    stacklevel: int = 2,
) -> bool:
    """Warn, with the code, if a point estimate under NUCEM is not to be trusted here.

    Runs SL101 (do decision-makers differ enough?) and SL601 (is one slope enough for all?) on models that
    are fitted already: one prediction of every row under every decision-maker, 99 permutations, no fit.

    Parameters
    ----------
    data : SelectiveLabels
        The rows that `fit` was made from, with numeric features.
    fit : CrossFit
        Made with ``in_halves=True``.
    level : float
    random_state : int, optional
    stacklevel : int
        Of the warning, counted from the caller.

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


def instrument_refuted(
    data: SelectiveLabels, fit: CrossFit, *, level: float = 0.05
) -> DiagnosticWarning | None:
    """What SL401 says of an instrument on models that are fitted already, if it refutes it; else None.

    One prediction of every row under every decision-maker, no fit.
    """
    scores = cross_fit_scores(fit, data, [Instrument()])["instrument"]
    total, (_, p_value) = 1.0 - float(scores.slack.mean()), one_sided(-scores.slack)
    if p_value > level:
        return None
    text = (
        f"(instrumental inequality, violated): the best lower bounds of the classes sum to {total:.2f} on "
        "average, so decision-makers are not an instrument here. See diagnose() for all checks."
    )
    return DiagnosticWarning("SL401", text)


def nucem_warning(
    data: SelectiveLabels, fit: CrossFit, *, level: float = 0.05, random_state: int | None = None
) -> DiagnosticWarning | None:
    """What :func:`warn_if_not_allowed` warns of, or None; for results that say so themselves."""
    if data.panels is not None:
        data, fit = panel_cases_of_fit(data, fit)
    fitting = FittingSettings(seed=random_state)
    context = Context(data, fitting, level=level, n_permutations=FEW_PERMUTATIONS, fit=fit)
    for check in (relevance.CONDITIONAL_STRENGTH_CHECK, nucem.OVERIDENTIFICATION_CHECK):
        result = context.result_of(check)
        if result.status != OK:
            parts = (result.message, result.advice, "See diagnose() for all checks.")
            text = f"({result.name}, {result.status}): {' '.join(filter(None, parts))}"
            return DiagnosticWarning(result.code, text)
    return None
