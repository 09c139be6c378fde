"""Comparison of two classifiers or policies: sharp bounds on the difference of a metric or outcome."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selective_labels._errors import InputError
from selective_labels._validation import the_only
from selective_labels.data.selective_labels import class_code
from selective_labels.evaluation.fitted_table import FittedTable
from selective_labels.evaluation.metrics import AnyMetric
from selective_labels.evaluation.policy import (
    COST,
    MEASURES_OF,
    PLAIN,
    PROFIT,
    AnyPolicySample,
    Policy,
    PolicyActions,
    PolicyMeasure,
    read_policy_measures,
)
from selective_labels.evaluation.policy_value import PolicyValue
from selective_labels.evaluation.predictions import EvaluationRequest, Predictions, is_human
from selective_labels.evaluation.results import (
    Comparison,
    coefficients_of,
    design_of,
    found_on_rows,
)
from selective_labels.evaluation.scored_rows import Scored
from selective_labels.identification.bounds import Array
from selective_labels.inference.bound_estimators import Functional, outer_difference
from selective_labels.inference.confidence_intervals import Basis
from selective_labels.inference.evidence import Ends, Evidence


def compare_request(
    fitted: FittedTable, request: EvaluationRequest, interval: str, confidence_level: float
) -> Comparison:
    """Compare two classifiers or policies, or one of them with the human."""
    a, b = request.given
    policies = isinstance(a, Policy) or isinstance(b, Policy)
    if policies or (request.with_human and _at_equal_rates(request)):
        sample, difference = _policies(fitted, request)
    else:
        sample, difference = _pair(fitted, replace(request, metric=request.metric or "accuracy"))
    assumed = the_only(sample.assumptions, "assumption", "compare takes one assumption.")
    names = fitted.name_of(a), fitted.name_of(b)
    return compare_sample(sample, difference, assumed, interval, confidence_level, names)


def _at_equal_rates(request: EvaluationRequest) -> bool:
    """Whether a classifier and the human are compared by policies at equal rates, the default."""
    metric = request.metric
    if isinstance(metric, str) and metric in (*PLAIN, PROFIT):
        raise InputError(
            f"metric {metric!r} is one of policies: leave metric out to compare at equal rates, or give a "
            "Policy.",
            "metric",
        )
    if metric is None and is_human(request.given[0]):
        raise InputError('"human" is given as a: give it as b, or name a metric of predicted classes.', "a")
    return metric is None


def _pair(fitted: FittedTable, request: EvaluationRequest) -> tuple[Scored, "MetricDifference"]:
    """Return the scored sample and the difference of two classifiers in one metric."""
    judged = fitted.judge(request)
    metric = the_only(judged.metrics, "metric", "compare takes one metric.")
    return judged.sample(metric), paired_difference(judged.subject(metric), judged.subject(metric, 1), metric)


def _policies(fitted: FittedTable, request: EvaluationRequest) -> tuple[Scored, "MetricDifference"]:
    """Return the scored sample and the difference of two policies; one may be a classifier or the human."""
    means = fitted.table.decision_means
    metric, policies = _read_policies(request, means)
    given = {name: each for name, each in policies.items() if each is not None}
    classes = fitted.classes_with([each.score for each in given.values()])
    event = class_code(request.pos_label, classes)
    read_policy_measures([metric], classes, event, request.cost, means)  # raises before anything is fitted
    policy_sample = fitted.policy_sample(request, given)
    human = PolicyActions.human(len(policy_sample.cases))
    first, second = (
        human if each is None else policy_sample.actions(each, [*given].index(name))
        for name, each in policies.items()
    )
    policy_measure = read_policy_measures(
        [metric], policy_sample.cases.classes, policy_sample.failure, request.cost, means
    )[0]
    return policy_sample.sample, policy_difference(policy_sample, first, second, policy_measure)


@dataclass(frozen=True, eq=False)
class MetricDifference:
    """A difference to bound.

    Attributes
    ----------
    limits : pair of float
        Possible values of the difference.
    differ : (n_samples,) array
        Probability that the two treat a case differently.
    functional : Functional or None
        The difference as a single functional, if it has that form.
    coefficients : (n_samples, n_classes) array, optional
        Contribution of a case of each class, if the difference is a mean; `plan` uses it.
    seen : (n_samples,) array or float
        Additional contribution of accepted cases.
    """

    metric: str
    ends: Callable[[Evidence, Array], Ends]
    limits: tuple[float, float]
    greater_is_better: bool
    sharp: bool
    differ: Array
    functional: Functional | None = None
    coefficients: Array | None = None
    seen: Array | float = 0.0


def paired_difference(first: Predictions, second: Predictions, metric: AnyMetric) -> MetricDifference:
    """Return the difference of a metric between two classifiers on the same cases."""
    difference = metric.difference(first, second)
    if difference is None:
        ones = metric.functional(first), metric.functional(second)

        def ends(evidence: Evidence, weights: Array) -> Ends:
            one, other = (each.ends(evidence, weights) for each in ones)
            return outer_difference(one, other)
    else:
        ends = difference.ends
    low, high = metric.range(first.classes)
    return MetricDifference(
        metric.name,
        ends,
        (low - high, high - low),
        metric.greater_is_better,
        difference is not None,
        _disagreement(first, second),
        difference,
        coefficients_of(difference),
    )


def _read_policies(request: EvaluationRequest, means: str) -> tuple[str, dict[str, Policy | None]]:
    """Return the measure to compare by, and the policies by name; None stands for the human."""
    a, b = request.given
    if not (isinstance(a, Policy) or isinstance(b, Policy)):
        return MEASURES_OF[means].main, {"a": Policy(a), "b": None}
    found: dict[str, Policy | None] = {}
    for given, name in ((a, "a"), (b, "b")):
        if isinstance(given, Policy):
            found[name] = given
        elif is_human(given):
            found[name] = None
        else:
            raise InputError(f"{name}: a Policy is compared with another Policy or with 'human'.", name)
    metric = request.metric
    if metric is None:
        metric = MEASURES_OF[means].main if request.cost is None else COST
    if not isinstance(metric, str):
        raise InputError("policies are compared by one measure, given by its name.", "metric")
    return metric, found


def policy_difference(
    policy_sample: AnyPolicySample, first: PolicyActions, second: PolicyActions, policy_measure: PolicyMeasure
) -> MetricDifference:
    """Return the difference of a measure between two policies on the same cases."""
    functional = PolicyValue.of(policy_measure, policy_sample.cases, (1.0, first), (-1.0, second))
    decision, weights = policy_sample.cases.row_decision.astype(float), policy_sample.sample.weights
    differ = np.abs(first.accepted(decision, weights) - second.accepted(decision, weights))
    coefficients, seen = functional.additions(weights)
    how = functional.limits, policy_measure.greater_is_better, True, differ
    return MetricDifference(policy_measure.name, functional.ends, *how, functional, coefficients, seen)


def compare_sample(
    sample: Scored,
    contest: MetricDifference,
    assumption: str,
    interval: str = "parameter",
    confidence_level: float = 0.95,
    names: tuple[str, str] = ("a", "b"),
) -> Comparison:
    """Bound a difference on rows that are already scored."""

    def basis(rows: np.ndarray) -> Basis:
        if contest.functional is not None:
            return sample.basis(contest.functional, assumption, rows, contest.limits)
        ends = sample.ends_by(contest.ends, assumption, rows)
        return Basis(sample.spread(ends, rows, assumption), contest.limits)

    how = contest.metric, assumption, contest.limits, interval, confidence_level
    shared = found_on_rows(sample, basis, *how)
    plans: dict[str, Any] = {}
    if contest.coefficients is not None and sample.has_scores(assumption):
        plans["design"] = design_of(sample, assumption, contest.coefficients, contest.seen)
        plans["worth"] = sample.worth_of_labels(assumption, contest.coefficients)
    return Comparison(
        metric=contest.metric,
        **shared,
        **plans,
        verdict=_verdict(shared["ci_lower"], shared["ci_upper"], contest.greater_is_better),
        a=names[0],
        b=names[1],
        greater_is_better=contest.greater_is_better,
        disagreement=float(np.average(np.broadcast_to(contest.differ, sample.size), weights=sample.weights)),
        sharp=contest.sharp,
    )


def _verdict(ci_lower: float, ci_upper: float, greater_is_better: bool) -> str:
    # NaN, where there is no interval, leads to "undecided".
    if ci_lower > 0.0:
        return "a" if greater_is_better else "b"
    if ci_upper < 0.0:
        return "b" if greater_is_better else "a"
    return "undecided"


def _disagreement(first: Predictions, second: Predictions) -> Array:
    """½ Σ_k |π_k - π'_k|: 0 or 1 for hard predictions, NaN for ranking scores, which predict no class."""
    try:
        return np.abs(first.chosen - second.chosen).sum(axis=1) / 2.0
    except InputError:
        return np.array(np.nan)
