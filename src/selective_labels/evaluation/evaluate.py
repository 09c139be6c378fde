"""Evaluation of one classifier or policy: bounds and confidence intervals, by metric, subgroup and gap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from selective_labels._errors import InputError, UndefinedError
from selective_labels.assumptions.base import Assumption
from selective_labels.data.selective_labels import class_code
from selective_labels.evaluation.fitted_table import FittedTable, Judged
from selective_labels.evaluation.metrics import AnyMetric, Range
from selective_labels.evaluation.policy import COST, MEASURES_OF, Policy, read_policy_measures
from selective_labels.evaluation.policy_value import PolicyValue
from selective_labels.evaluation.predictions import EvaluationRequest, Predictions
from selective_labels.evaluation.results import (
    Evaluation,
    Evaluations,
    coefficients_of,
    design_of,
    estimated,
    judged,
    undefined,
)
from selective_labels.evaluation.scored_rows import Scored, ScoredSample
from selective_labels.identification.bounds import Array
from selective_labels.inference.bound_estimators import Functional, outer_difference
from selective_labels.inference.confidence_intervals import Basis, check_interval
from selective_labels.inference.evidence import Ends, Evidence
from selective_labels.inference.known_prevalence import ContradictedError

# Subgroups whose ends are kept for their gaps: two numbers for each row and subgroup.
MOST_KEPT = 20


def evaluate_request(
    fitted: FittedTable, request: EvaluationRequest, interval: str, confidence_level: float
) -> Evaluation | Evaluations:
    """Evaluate the classifier or policy of a request."""
    classifier, metric, assumption = request.given[0], request.metric, request.assumption
    if isinstance(classifier, Policy):
        return evaluate_policy(fitted, request, classifier, interval, confidence_level)
    results = evaluate_judged(fitted.judge(request), interval, confidence_level)
    single = request.by is None and isinstance(assumption, str | Assumption) and assumption != "all"
    one_metric = not isinstance(metric, list | tuple) and metric != "calibration"  # several bins
    return results[0] if single and len(results) == 1 and one_metric else results


def evaluate_judged(
    judged: Judged, interval: str = "parameter", confidence_level: float = 0.95
) -> Evaluations:
    """Evaluate all metrics on scored rows, or on the cells of a partitioned table."""
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
    """Attach to each population mean the moments from which `plan` works."""
    found = coefficients_of(metric.functional(subject))
    items = []
    for item in results:
        design = None
        if found is not None and sample.has_scores(item.assumption):  # False under the event tilt
            design = design_of(sample, item.assumption, found)
        items.append(replace(item, design=design))
    return replace(results, items=tuple(items))


def evaluate_policy(
    fitted: FittedTable, request: EvaluationRequest, policy: Policy, interval: str, confidence_level: float
) -> Evaluation | Evaluations:
    """Evaluate a policy, alone or in combination with the human."""
    if request.by is not None:
        raise InputError("a Policy is evaluated on all cases: leave by out.", "by")
    metric, means = request.metric, fitted.table.decision_means
    if metric == "accuracy":  # default metric of classifiers; policies have their own
        metric = MEASURES_OF[means].main if request.cost is None else COST
    names = [metric] if isinstance(metric, str) else list(metric)
    classes = fitted.classes_with([policy.score])
    event = class_code(request.pos_label, classes)
    read_policy_measures(names, classes, event, request.cost, means)  # raises before anything is fitted
    policy_sample = fitted.policy_sample(request, {"score": policy})
    sample, actions = policy_sample.sample, policy_sample.actions(policy)
    items = []
    for policy_measure in read_policy_measures(
        names, policy_sample.cases.classes, policy_sample.failure, request.cost, means
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
    """Evaluate one classifier on rows that are already scored: no fit, O(n) for each metric.

    `by` holds the subgroup of every row, or maps each subgroup to a boolean mask of rows.
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
            how = metric.name, assumption, interval, confidence_level, limits
            levels, differences = by_subgroup(sample, functional, *how, cells, [*combinations(cells, 2)])
            items += levels
            gaps += differences
    return Evaluations(tuple(items), Evaluations(tuple(gaps)) if gaps else None)


def by_subgroup(
    sample: Scored,
    functional: Functional,
    name: str,
    assumption: str,
    interval: str,
    confidence_level: float,
    limits: Range,
    cells: Mapping[Any, np.ndarray],
    pairs: Sequence[tuple[Any, Any]],
) -> tuple[list[Evaluation], list[Evaluation]]:
    """Evaluate one functional in each subgroup, and its gap in each pair (first minus second)."""
    summary = _Summary(sample, name, assumption, interval, confidence_level, limits)
    keep = isinstance(sample, ScoredSample) and assumption in sample.repeats[0] and len(cells) <= MOST_KEPT
    found = {
        label: summary.find(_Kept(functional) if keep and pairs else functional, rows)
        for label, rows in cells.items()
    }
    items = [summary.evaluation(found[each], cells[each], subgroup=each) for each in cells]
    gaps = []
    for first, second in pairs:
        rows = cells[first] | cells[second]
        between = summary.between(found[first], found[second], rows)
        gaps.append(summary.evaluation(between, rows, subgroup=first, reference=second))
    return items, gaps


@dataclass(frozen=True, eq=False)
class _Kept:
    """A functional of one subgroup that remembers its ends, since each gap needs them again."""

    functional: Functional
    kept: dict[int, tuple[Evidence, Ends]] = field(default_factory=dict)

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Return the lower and the upper bound."""
        if id(evidence) not in self.kept:
            self.kept[id(evidence)] = evidence, self.functional.ends(evidence, weights)
        return self.kept[id(evidence)][1]


@dataclass(frozen=True)
class _Summary:
    """Settings shared by all results of one metric under one assumption."""

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
        """Subtract bounds; subgroups have no case in common, so their bounds do not constrain each other."""
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
        # With shared clusters the two subgroups are correlated: only the sums over clusters are valid.
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
    """Basis of an interval for a metric among some rows, or the reason why there is none."""

    limits: Range
    functional: Functional | None = None
    rows: np.ndarray | None = None
    basis: Basis | None = None
    reason: str | None = None
    contradicted: bool = False
