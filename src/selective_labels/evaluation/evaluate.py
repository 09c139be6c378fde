"""How good is a classifier on everybody? Sharp bounds and honest intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from selective_labels._errors import InputError, UndefinedError
from selective_labels.assumptions.base import Assumption
from selective_labels.data.roles import class_code
from selective_labels.evaluation.fitted_table import FittedTable, Judged
from selective_labels.evaluation.metrics import AnyMetric, Range
from selective_labels.evaluation.policy import COST, FAILURES, Policy, read_policy_measures
from selective_labels.evaluation.policy_value import PolicyValue
from selective_labels.evaluation.predictions import Predictions
from selective_labels.evaluation.requests import EvaluationRequest
from selective_labels.evaluation.results import (
    Evaluation,
    Evaluations,
    coefficients_of,
    design_of,
    estimated,
    judged,
    undefined,
)
from selective_labels.evaluation.scored_rows import Scored
from selective_labels.inference.bound_estimators import Functional, outer_difference
from selective_labels.inference.confidence_intervals import Basis, check_interval
from selective_labels.inference.evidence import Ends
from selective_labels.inference.known_prevalence import ContradictedError


def evaluate_request(
    fitted: FittedTable, request: EvaluationRequest, interval: str, confidence_level: float
) -> Evaluation | Evaluations:
    """Answer a question about one classifier or policy."""
    classifier, metric, assumption = request.given[0], request.metric, request.assumption
    if isinstance(classifier, Policy):
        return evaluate_policy(fitted, request, classifier, interval, confidence_level)
    results = evaluate_judged(fitted.judge(request), interval, confidence_level)
    single = request.by is None and isinstance(assumption, str | Assumption) and assumption != "all"
    one_metric = not isinstance(metric, list | tuple) and metric != "calibration"  # which has several bins
    return results[0] if single and len(results) == 1 and one_metric else results


def evaluate_judged(
    judged: Judged, interval: str = "parameter", confidence_level: float = 0.95
) -> Evaluations:
    """Evaluate what was judged on scored rows, or in one pass over the partitions of a table."""
    items: list[Evaluation] = []
    gaps: list[Evaluation] = []
    for metric in judged.metrics:
        sample, subject, cells = judged.sample(metric), judged.subject(metric), judged.cells(metric)
        found = evaluate_sample(sample, subject, [metric], cells, interval, confidence_level)
        if cells is None:
            found = _with_designs(found, sample, subject, metric)
        items += found.items
        gaps += [] if found.gaps is None else found.gaps.items
    return Evaluations(tuple(items), Evaluations(tuple(gaps)) if gaps else None)


def _with_designs(
    results: Evaluations, sample: Scored, subject: Predictions, metric: AnyMetric
) -> Evaluations:
    """Keep with each mean over everybody what plans are made from."""
    found = coefficients_of(metric.functional(subject))
    items = []
    for item in results:
        design = None
        if found is not None and sample.has_scores(item.assumption):  # not under the event tilt
            design = design_of(sample, item.assumption, found)
        items.append(replace(item, design=design))
    return replace(results, items=tuple(items))


def evaluate_policy(
    fitted: FittedTable, request: EvaluationRequest, policy: Policy, interval: str, confidence_level: float
) -> Evaluation | Evaluations:
    """Evaluate a policy, alone or as a team with the human."""
    if request.by is not None:
        raise InputError("a Policy is evaluated on all cases: leave by out.", "by")
    metric = request.metric
    if metric == "accuracy":  # the default of classifiers, which a policy does not have
        metric = FAILURES if request.cost is None else COST
    names = [metric] if isinstance(metric, str) else list(metric)
    classes = fitted.classes_with([policy.score])
    read_policy_measures(
        names, classes, class_code(request.pos_label, classes), request.cost
    )  # before any fit
    policy_sample = fitted.policy_sample(request, {"score": policy})
    sample, actions = policy_sample.sample, policy_sample.actions(policy)
    items = []
    for policy_measure in read_policy_measures(
        names, policy_sample.cases.classes, policy_sample.failure, request.cost
    ):
        value = PolicyValue.of(policy_measure, policy_sample.cases, (1.0, actions))
        for assumption in sample.assumptions:
            how = policy_measure.name, assumption, value.limits, confidence_level, interval
            items.append(judged(sample, value, *how))
    single = len(items) == 1 and isinstance(request.metric, str)
    return items[0] if single else Evaluations(tuple(items))


def evaluate_sample(
    sample: Scored,
    subject: Predictions,
    metrics: Sequence[AnyMetric],
    by: np.ndarray | Mapping[Any, np.ndarray] | None = None,
    interval: str = "parameter",
    confidence_level: float = 0.95,
    assumptions: Sequence[str] | None = None,
) -> Evaluations:
    """Evaluate one classifier on rows that are scored already: no fit, O(n) for each metric.

    `by` has the subgroup of every row, or the rows of every subgroup as a mapping of bool arrays.
    """
    check_interval(interval, confidence_level)
    cells: Mapping[Any, np.ndarray]
    if isinstance(by, Mapping):
        cells = by
    elif by is None:
        cells = {None: np.ones(sample.size, dtype=bool)}
    else:
        cells = {label: by == label for label in np.unique(by).tolist()}
    items, gaps = [], []
    for metric in metrics:
        functional, limits = metric.functional(subject), metric.range(subject.classes)
        for assumption in sample.assumptions if assumptions is None else assumptions:
            summary = _Summary(sample, metric.name, assumption, interval, confidence_level, limits)
            found = {label: summary.find(functional, rows) for label, rows in cells.items()}
            items += [summary.evaluation(found[each], cells[each], subgroup=each) for each in cells]
            for first, second in combinations(cells, 2):
                rows = cells[first] | cells[second]
                between = summary.between(found[first], found[second], rows)
                gaps.append(summary.evaluation(between, rows, subgroup=first, reference=second))
    return Evaluations(tuple(items), Evaluations(tuple(gaps)) if gaps else None)


@dataclass(frozen=True)
class _Summary:
    """Everything that the results of one metric under one assumption share."""

    sample: Scored
    metric: str
    assumption: str
    interval: str
    confidence_level: float
    limits: Range

    def find(self, functional: Functional, rows: np.ndarray) -> "_Found":
        try:
            basis = self.sample.basis(functional, self.assumption, rows, self.limits)
        except ContradictedError as error:
            return _Found(self.limits, reason=str(error), contradicted=True)
        except UndefinedError as error:
            reason = f"metric {self.metric!r} is not defined under assumption {self.assumption!r}: {error}"
            return _Found(self.limits, reason=reason)
        return _Found(self.limits, functional, rows, basis)

    def between(self, first: "_Found", second: "_Found", rows: np.ndarray) -> "_Found":
        """Subtract: subgroups are different cases, so the ends of one do not constrain those of the other."""
        span = self.limits[0] - self.limits[1], self.limits[1] - self.limits[0]
        if first.basis is None or second.basis is None:
            contradicted = first.contradicted or second.contradicted
            return _Found(span, reason=first.reason or second.reason, contradicted=contradicted)
        try:
            ends = [
                outer_difference(*pair) for pair in zip(self._ends(first), self._ends(second), strict=True)
            ]
        except UndefinedError as error:
            reason = f"a gap of {self.metric!r} is not defined under assumption {self.assumption!r}: {error}"
            return _Found(span, reason=reason)
        spread = self.sample.spread(ends, rows, self.assumption)
        shared = spread.n_clusters < first.basis.spread.n_clusters + second.basis.spread.n_clusters
        # What a cluster adds to one subgroup it may take from the other: then only sums over clusters count.
        parts = None if shared else (first.basis, second.basis)
        return _Found(span, basis=Basis(spread, span, parts))

    def _ends(self, found: "_Found") -> Sequence[Ends]:
        assert found.functional is not None
        assert found.rows is not None
        return self.sample.ends(found.functional, self.assumption, found.rows)

    def evaluation(self, found: "_Found", rows: np.ndarray, **roles: Any) -> Evaluation:
        how = self.assumption, rows, self.interval, self.confidence_level
        if found.basis is None:
            shared = undefined(
                self.sample, str(found.reason), *how, found.limits, contradicted=found.contradicted
            )
        else:
            shared = estimated(self.sample, found.basis, *how)
        return Evaluation(metric=self.metric, **shared, **roles)


@dataclass(frozen=True)
class _Found:
    """What an interval of a metric among some rows is made from, or why there is none."""

    limits: Range
    functional: Functional | None = None
    rows: np.ndarray | None = None
    basis: Basis | None = None
    reason: str | None = None
    contradicted: bool = False
