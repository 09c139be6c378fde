"""Which of two is better on everybody? Sharp bounds of the difference, through cases where they differ."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selective_labels._errors import InputError
from selective_labels._validation import the_only
from selective_labels.assumptions.base import Assumption
from selective_labels.data.partitioned import PartitionedLabels
from selective_labels.data.reading import Table, read_table
from selective_labels.data.roles import GivenRoles, class_code
from selective_labels.evaluation.dispatch import Ground, classes_of, ground_on, judged_on
from selective_labels.evaluation.metrics import AnyMetric
from selective_labels.evaluation.policy import (
    COST,
    FAILURES,
    Policy,
    PolicyActions,
    PolicyMeasure,
    PolicySample,
    read_policy_measures,
)
from selective_labels.evaluation.policy_value import PolicyValue
from selective_labels.evaluation.predictions import Predictions
from selective_labels.evaluation.requests import HUMAN, EvaluationRequest
from selective_labels.evaluation.results import (
    Comparison,
    Scored,
    coefficients_of,
    design_of,
    found_on_everybody,
    worth_of_labels,
)
from selective_labels.evaluation.scored_rows import NO_RANGE, ScoredSample
from selective_labels.identification.bounds import Array
from selective_labels.inference.bound_estimators import Functional, outer_difference
from selective_labels.inference.confidence_intervals import Basis, check_interval
from selective_labels.inference.evidence import Ends, Evidence
from selective_labels.nuisance.settings import FittingSettings


def compare(
    a: Any,
    b: Any,
    X: Any,
    y: Any = None,
    *,
    decision_maker: Any = None,
    decision: Any = None,
    metric: Any = None,
    assumption: str | Assumption = "instrument",
    interval: str = "parameter",
    confidence_level: float = 0.95,
    sample_weight: Any = None,
    groups: Any = None,
    strata: Any = None,
    assignment: Any = None,
    cluster: str | None = None,
    pos_label: Any = None,
    cost: ArrayLike | None = None,
    label_range: Any = NO_RANGE,
    instrument: str = "leniency",
    nuisance: Any = None,
    propensity: str = "auto",
    cv: Any = 5,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Comparison:
    """Bound metric(a) - metric(b) on all cases, and say which is better if the data can tell.

    accuracy(a) - accuracy(b) in E[1{a≠b} (l_a - l_b ∓ δ)],   l_k(x) = max_z P(Y=k, D=1 | x, z)

    Where the two predict the same they cancel, whatever the unseen label is. So the interval is far narrower
    than the difference of two intervals. Sharp for every metric but "f1", whose bounds are valid, not sharp.

    Parameters
    ----------
    a : fitted classifier, array of predictions, class label, or Policy
        As in :func:`selective_labels.evaluation.evaluate.evaluate`; a class label is the constant classifier.
        A :class:`selective_labels.Policy` accepts by a score, alone or together with the human.
    b : the same, or "human"
        "human": the decisions taken, see Notes.
    X, y, decision_maker, decision
        As in `evaluate`.
    metric : str or metric object, optional
        Default: "accuracy". Leave it out against "human". Of policies: "failures" (default), "failure_rate",
        "avoided", "good_lost", "acceptance", and with `cost` "cost" (then the default) or "profit".
    assumption : "none", "instrument", "nucem", "unconfounded", or one of these as an object
    interval, confidence_level, sample_weight, groups, strata, assignment, cluster
        As in `evaluate`.
    pos_label, cost, label_range, instrument, nuisance, propensity, cv, n_repeats, n_jobs, random_state
        As in `evaluate`. Against "human", `pos_label` (default: the last class) is the failure.

    Returns
    -------
    Comparison
        With verdict "a" or "b" if the confidence interval lies on one side of zero, else "undecided".

    Notes
    -----
    Against "human", policies are compared at the same share of accepted cases:

        failures(human) = P(D=1, Y=failure), which is seen;
        failures(a) = E[d(X) η_failure(X)], d accepting the cases of lowest risk, with E[d(X)] = P(D=1).

    The risk is `a`'s score of the failure (a hard prediction is a score of 0 or 1; equal scores are accepted
    with equal chance). The share accepted, and so the cut-off, is estimated; the standard error knows it.
    "a" is better if it has fewer failures among as many accepted.

    Policies are compared as they are, each at its own acceptance. Their difference is sharp: where both leave
    a case to the same, or do the same with it, it cancels. Does a score help the human?
    ``compare(Policy(score, with_human="both"), "human", data, cost=...)``.

    Examples
    --------
    >>> from selective_labels import SelectiveLabels
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(2000, n_classes=2, additive=False, random_state=0)
    >>> data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> good, bad = (sample.X[:, 0] < 0).astype(int), (sample.X[:, 0] > 0).astype(int)
    >>> compare(good, bad, data, nuisance="logistic", random_state=0).verdict
    'a'
    """
    fitting = FittingSettings.read(nuisance, propensity, cv, n_repeats, n_jobs, random_state)
    check_interval(interval, confidence_level)
    table = read_table(X, y, GivenRoles(decision_maker, decision, sample_weight, groups, strata, assignment))
    request = EvaluationRequest(
        (a, b), metric, assumption, cluster, fitting, label_range, instrument, pos_label, cost
    )
    against_human = isinstance(b, str) and b == HUMAN
    if against_human or isinstance(a, Policy) or isinstance(b, Policy):
        sample, contest = _judged_courses(request, table)
    else:
        sample, contest = _judged_pair(replace(request, metric=metric or "accuracy"), table)
    assumed = the_only(sample.assumptions, "assumption", "compare takes one assumption.")
    names = _name(a, table), _name(b, table)
    return compare_sample(sample, contest, assumed, interval, confidence_level, names)


def _judged_pair(request: EvaluationRequest, table: Table) -> tuple[Scored, "MetricDifference"]:
    """Two classifiers, by one metric."""
    judged = judged_on(request, table)
    metric = the_only(judged.metrics, "metric", "compare takes one metric.")
    return judged.sample(metric), paired_difference(judged.subject(metric), judged.subject(metric, 1), metric)


def _judged_courses(request: EvaluationRequest, table: Table) -> tuple[Scored, "MetricDifference"]:
    """Two courses of action: policies, a classifier as one, the human."""
    metric, policies = _read_policies(request)
    given = {name: each for name, each in policies.items() if each is not None}
    classes = classes_of(table, [each.score for each in given.values()])
    read_policy_measures(
        [metric], classes, class_code(request.pos_label, classes), request.cost
    )  # before any fit
    policy_sample = ground_on(request, table, given)
    human = PolicyActions.human(len(policy_sample.cases))
    first, second = (
        human if each is None else policy_sample.actions(each, [*given].index(name))
        for name, each in policies.items()
    )
    policy_measure = read_policy_measures(
        [metric], policy_sample.cases.classes, policy_sample.failure, request.cost
    )[0]
    return policy_sample.sample, policy_difference(policy_sample, first, second, policy_measure)


@dataclass(frozen=True, eq=False)
class MetricDifference:
    """A difference to be bounded.

    Attributes
    ----------
    metric : str
    ends : callable of (evidence, weights)
    limits : pair of float
        Possible values of the difference.
    greater_is_better : bool
    sharp : bool
    differ : (n_samples,) array
        Probability that the two differ on each case.
    functional : Functional or None
        The difference as one functional, where it has that form.
    coefficients : (n_samples, n_classes) array, optional
        What a case of each class adds, where the difference is a mean: plans are made from it.
    seen : (n_samples,) array or float
        What accepted cases add besides.
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
    """Set two classifiers against each other on the same cases."""
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


def human_difference(sample: ScoredSample, score: Any, pos_label: Any = None) -> MetricDifference:
    """Set a classifier's policy against the decisions taken, at the same share of accepted cases."""
    policy_sample = PolicySample(sample, class_code(pos_label, sample.data.classes))
    policy_measure = read_policy_measures([FAILURES], sample.data.classes, policy_sample.failure, None)[0]
    return policy_difference(
        policy_sample,
        policy_sample.actions(Policy(score)),
        PolicyActions.human(len(sample.data)),
        policy_measure,
    )


def _read_policies(request: EvaluationRequest) -> tuple[str, dict[str, Policy | None]]:
    """What they are compared by, and what the user gave as policies, by its name; None is the human."""
    a, b = request.given
    if not (isinstance(a, Policy) or isinstance(b, Policy)):
        if request.metric is not None:
            raise InputError(
                "b='human' is compared by failures among equally many accepted; leave metric out.", "metric"
            )
        return FAILURES, {"a": Policy(a), "b": None}
    found: dict[str, Policy | None] = {}
    for given, name in ((a, "a"), (b, "b")):
        if isinstance(given, Policy):
            found[name] = given
        elif isinstance(given, str) and given == HUMAN:
            found[name] = None
        else:
            raise InputError(f"{name}: a Policy is compared with another Policy or with 'human'.", name)
    metric = request.metric
    if metric is None:
        metric = FAILURES if request.cost is None else COST
    if not isinstance(metric, str):
        raise InputError("policies are compared by one measure, given by its name.", "metric")
    return metric, found


def policy_difference(
    policy_sample: Ground, first: PolicyActions, second: PolicyActions, policy_measure: PolicyMeasure
) -> MetricDifference:
    """Set two policies against each other on the same cases."""
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
    """Bound a difference on rows that are scored already."""

    def basis(rows: np.ndarray) -> Basis:
        if contest.functional is not None:
            return sample.basis(contest.functional, assumption, rows, contest.limits)
        ends = sample.ends_by(contest.ends, assumption, rows)
        return Basis(sample.spread(ends, rows, assumption), contest.limits)

    how = contest.metric, assumption, contest.limits, interval, confidence_level
    shared = found_on_everybody(sample, basis, *how)
    plans: dict[str, Any] = {}
    if contest.coefficients is not None and assumption in sample.repeats[0]:
        plans["design"] = design_of(sample, assumption, contest.coefficients, contest.seen)
        if isinstance(sample, ScoredSample):
            plans["worth"] = worth_of_labels(sample, assumption, contest.coefficients)
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
    # Without an interval (NaN) nothing is decided.
    if ci_lower > 0.0:
        return "a" if greater_is_better else "b"
    if ci_upper < 0.0:
        return "b" if greater_is_better else "a"
    return "undecided"


def _disagreement(first: Predictions, second: Predictions) -> Array:
    """½ Σ_k |π_k - π'_k|: 0 or 1 for hard predictions, NaN for scores of a ranking, which predict nothing."""
    try:
        return np.abs(first.chosen - second.chosen).sum(axis=1) / 2.0
    except InputError:
        return np.array(np.nan)


def _name(given: Any, table: Table) -> str:
    if isinstance(given, Policy):
        return repr(given)
    if isinstance(given, str) and isinstance(table, PartitionedLabels):  # of a column
        return given
    if hasattr(given, "predict"):
        return type(given).__name__
    return "predictions" if np.ndim(given) else repr(given)
