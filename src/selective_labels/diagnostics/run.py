"""All checks in order: can this data answer the question."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from selective_labels.assumptions import Assumption
from selective_labels.data import GivenRoles, read_table, with_instrument
from selective_labels.data.instruments import LENIENCY
from selective_labels.data.lazy import PartitionedLabels
from selective_labels.diagnostics import (
    balance,
    classifier,
    conditional_strength,
    crossing,
    decision_overlap,
    effective_f,
    flexible,
    inequality,
    inequality_leaves,
    leniency_regression,
    leniency_spread,
    monotonicity,
    numeric_ids,
    overidentification,
    overlap,
    point_in_bounds,
    sizes,
    skill,
    unconfounded,
    worth_of_bounds,
)
from selective_labels.diagnostics.algebra import algebra_results
from selective_labels.diagnostics.balance import balance_by_decision_maker
from selective_labels.diagnostics.cases import panel_cases, said_of_panels
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.diagnosis import Diagnosis, Figures
from selective_labels.diagnostics.effective_f import adjusted_leniency
from selective_labels.diagnostics.results import NotApplicableError
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.support.errors import InputError
from selective_labels.support.options import require_count, require_share
from selective_labels.support.progress import followed

CHECKS = (
    conditional_strength.CHECK,
    effective_f.CHECK,
    leniency_spread.CHECK,
    worth_of_bounds.CHECK,
    balance.CHECK,
    classifier.CHECK,
    leniency_regression.CHECK,
    flexible.CHECK,
    sizes.CHECK,
    overlap.CHECK,
    decision_overlap.CHECK,
    numeric_ids.CHECK,
    inequality.CHECK,
    inequality_leaves.CHECK,
    monotonicity.CHECK,
    overidentification.CHECK,
    point_in_bounds.CHECK,
    crossing.CHECK,
    skill.CHECK,
    unconfounded.CHECK,
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
        sharing, data = said_of_panels(data), panel_cases(data, fitting.seed)
    context = Context(data, fitting, level=level, n_permutations=n_permutations)
    results = tuple(followed(map(context.result_of, CHECKS), "checking assumptions", len(CHECKS)))
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
