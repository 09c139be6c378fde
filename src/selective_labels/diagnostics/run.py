"""All checks in order: can this data answer the question."""

from collections.abc import Callable
from typing import Any

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.diagnostics import (
    balance,
    classifier,
    conditional_strength,
    crossing,
    effective_f,
    inequality,
    inequality_leaves,
    leniency_regression,
    leniency_spread,
    monotonicity,
    overidentification,
    overlap,
    point_in_bounds,
    sizes,
    skill,
    unconfounded,
    worth_of_bounds,
)
from selective_labels.diagnostics.balance import balance_by_decision_maker
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.diagnosis import Diagnosis, Figures
from selective_labels.diagnostics.effective_f import adjusted_leniency
from selective_labels.diagnostics.results import NotApplicableError
from selective_labels.features.coding import coded_features
from selective_labels.support.progress import followed
from selective_labels.support.seeding import as_seed

CHECKS = (
    conditional_strength.CHECK,
    effective_f.CHECK,
    leniency_spread.CHECK,
    worth_of_bounds.CHECK,
    balance.CHECK,
    classifier.CHECK,
    leniency_regression.CHECK,
    sizes.CHECK,
    overlap.CHECK,
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
    y: Any,
    *,
    decision_maker: Any,
    decision: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    strata: Any = None,
    assignment: Any = None,
    nuisance: Any = "logistic",
    cv: Any = 5,
    level: float = 0.05,
    n_permutations: int = 199,
    n_jobs: int | None = None,
    random_state: int | None = None,
) -> Diagnosis:
    """Check whether decision-makers differ, get like cases, and fit what assumptions say.

    Models are fitted once, on 50,000 random rows at most; counts and permutations use all rows.

    Parameters
    ----------
    X : (n_samples, n_features) array of numbers, table of numbers, text, categories and dates, or None
        What was known of the case before the decision; holes are allowed.
    y : (n_samples,) labels with holes (-1, NaN, None, NA)
    decision_maker : (n_samples,) ids
    decision : (n_samples,) of 0 and 1, optional
        Says which labels count; -1 may then be a class.
    sample_weight : (n_samples,) array, optional
        Used by the models. Tests compare the rows at hand, each counted once.
    groups : (n_samples,) array, optional
        Repeated cases, kept together in folds. Groups that went to one decision-maker as a whole are
        permuted as a whole.
    strata : (n_samples,) array, optional
        Cells within which assignment is random.
    assignment : (n_samples, n_decision_makers) array or callable of X, optional
        Known probabilities of decision-makers.
    nuisance, cv, n_jobs, random_state
        As for :class:`selective_labels.UCLClassifier`; the default model is the fast one.
    level : float
        Of every test: a check is "violated" if its p-value is not above it.
    n_permutations : int

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(2000, random_state=0)
    >>> diagnosis = diagnose(sample.X, sample.y, decision_maker=sample.decision_maker, random_state=0)
    >>> diagnosis.status("relevance"), bool(diagnosis.allows("instrument"))
    ('ok', True)
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level={level} must lie between 0 and 1, both excluded.")
    if n_permutations < 1:
        raise ValueError(f"n_permutations={n_permutations} must be one or more.")
    features, categorical = _features(X, y)
    data = SelectiveLabels.from_arrays(
        features,
        y,
        decision_maker=decision_maker,
        decision=decision,
        sample_weight=sample_weight,
        groups=groups,
        strata=strata,
        assignment=assignment(X) if callable(assignment) else assignment,
        categorical=categorical,
    )
    context = Context(
        data,
        nuisance=nuisance,
        cv=cv,
        level=level,
        n_permutations=n_permutations,
        n_jobs=n_jobs,
        random_state=as_seed(random_state),
    )
    results = tuple(followed(map(context.result_of, CHECKS), "checking assumptions", len(CHECKS)))
    return Diagnosis(results, len(data), data.n_decision_makers, len(context.model_rows), _figures(context))


def _features(X: Any, y: Any) -> tuple[np.ndarray, tuple[int, ...]]:
    if X is None or (np.ndim(X) == 2 and np.shape(X)[1] == 0):
        return np.zeros((len(y), 0)), ()
    return coded_features(X)


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
