"""How good is a classifier on everybody? Sharp bounds and honest intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selective_labels._errors import InputError, UndefinedError
from selective_labels.assumptions.base import Assumption
from selective_labels.data.reading import Table, read_table
from selective_labels.data.roles import GivenRoles, class_code
from selective_labels.evaluation.dispatch import Judged, classes_of, ground_on, judged_on
from selective_labels.evaluation.metrics import AnyMetric, Range
from selective_labels.evaluation.policy import COST, FAILURES, Policy, read_policy_measures
from selective_labels.evaluation.policy_value import PolicyValue
from selective_labels.evaluation.predictions import Predictions
from selective_labels.evaluation.requests import EvaluationRequest
from selective_labels.evaluation.results import (
    Evaluation,
    Evaluations,
    Scored,
    coefficients_of,
    design_of,
    estimated,
    judged,
    undefined,
)
from selective_labels.evaluation.scored_rows import NO_RANGE
from selective_labels.inference.bound_estimators import Functional, outer_difference
from selective_labels.inference.confidence_intervals import Basis, check_interval
from selective_labels.inference.evidence import Ends
from selective_labels.inference.known_prevalence import ContradictedError
from selective_labels.nuisance.settings import FittingSettings


def evaluate(
    classifier: Any,
    X: Any,
    y: Any = None,
    *,
    decision_maker: Any = None,
    decision: Any = None,
    metric: Any = "accuracy",
    assumption: str | Assumption | Sequence[str | Assumption] = "instrument",
    interval: str = "parameter",
    confidence_level: float = 0.95,
    sample_weight: Any = None,
    groups: Any = None,
    strata: Any = None,
    assignment: Any = None,
    cluster: str | None = None,
    by: Any = None,
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
) -> Evaluation | Evaluations:
    """Bound a metric of a classifier on all cases, labels missing for those decided against.

    accuracy in [E[l_t], E[l_t] + E[δ]],   l_k(x) = max_z P(Y=k, D=1 | x, z),   δ = 1 - Σ_k l_k

    and likewise for every metric: the sharp ends over all class probabilities that the data and the
    assumption leave possible. The ends are means of cross-fitted scores (under "instrument" of the envelope
    score: valid whichever decision-makers a row is compared with, and sharp if the best ones are found).

    The rows must not be those that the classifier was trained on.

    Parameters
    ----------
    classifier : fitted classifier, or array
        Array of one dimension: predicted class labels (scores, for "auc"). Of shape (n_samples, n_classes),
        in the order of the sorted classes: probabilities; where a metric is about predictions, a class is
        then predicted with its probability. A fitted classifier predicts with ``predict``. A
        :class:`selective_labels.Policy` is judged by what it accepts ("failures", "cost" ...; see `compare`).
    X : SelectiveLabels, or (n_samples, n_features) array or frame
        A SelectiveLabels has labels and roles in it: then no other role is given.
    y : (n_samples,) labels with holes (-1, NaN, None, NA)
    decision_maker : (n_samples,) ids, optional
        Who decided. Not needed for "none" and "unconfounded", nor if every label is seen.
    decision : (n_samples,) of 0 and 1, optional
        Says which labels count; -1 may then be a class.
    metric : str, metric object, or list of these
        "accuracy", "error", "cost", "share", "tpr", "fpr", "ppv", "f1", "balanced_accuracy", "auc",
        "log_loss", "brier", "regret" or "calibration" (the share of `pos_label` in ten bins of its predicted
        probability); see :mod:`selective_labels.evaluation.metrics` for objects, and
        :class:`selective_labels.evaluation.metrics.Metric` to define one. The upper end of "regret" needs a
        margin condition.
    assumption : "none", "instrument", "nucem", "unconfounded", "tilt", "all", or a list of these
        "nucem" and "unconfounded" identify the value; so does "tilt", for accuracy, error, share and
        differences of accuracies, with an interval that holds however weak the instrument is, and lies within
        the instrument's. "all": all that the input allows, but "tilt". With "nucem" among them, the models
        are fitted on halves of the rows, so the other assumptions' numbers move a little.
        For a name, its object of :mod:`selective_labels.assumptions` will do.
    interval : "parameter" or "set"
        "parameter" covers the value with the given probability (Imbens and Manski; Stoye where the ends may
        meet); "set" covers the whole identified interval.
    confidence_level : float
        Above one half.
    sample_weight : (n_samples,) array, optional
    groups : (n_samples,) array, optional
        Repeated cases, kept together in folds.
    strata : (n_samples,) array, optional
        Cells within which assignment is random.
    assignment : (n_samples, n_decision_makers) array or callable of X, optional
        Known probabilities of decision-makers.
    cluster : "groups", "decision_maker", "none" or None
        What standard errors take as independent units: "none" is every row; None, the default, is groups if
        they are given, else every row. Few clusters widen the interval.
    by : (n_samples,) array, optional
        Subgroups: one evaluation for each, and the sharp bounds of the gaps between them in ``.gaps``.
    pos_label : class label, optional
        The class of "share", "tpr", "fpr", "ppv", "f1", "auc" and "calibration". Default: the last.
    cost : (n_classes, n_classes) array, optional
        C[true, predicted] over the sorted classes, for "cost".
    label_range : pair (lowest, highest)
        What is known of P(label = k | features, hidden features): numbers, arrays per class, or callables of
        the coded features. Bounds lie within it; values under point assumptions do not use it.
    instrument : "leniency" or "numeric"
        "numeric": `decision_maker` is a number that means something (a distance, a time, a rate), not an id;
        twenty of its quantiles stand for it, each row at the nearest, and models are smooth in it.
    nuisance, cv, n_jobs, random_state
        As for :class:`selective_labels.UCLClassifier`.
    propensity : "auto", "shares" or "model"
        Unless `assignment` is known: shares of decision-makers (within strata), a model of the features, or
        ("auto") such a model if it predicts who decides significantly better than shares, on rows held out.
        The result says so if it does.
    n_repeats : int
        Repetitions of cross-fitting; the median is reported, with an error that contains their spread.

    Returns
    -------
    Evaluation, or Evaluations for a list of metrics, several assumptions or `by`

    Examples
    --------
    >>> from selective_labels import SelectiveLabels
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(2000, random_state=0)
    >>> data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> guess = np.where(sample.X[:, 0] > 0, 0, 2)
    >>> evaluate(guess, data, nuisance="logistic", random_state=0)
    accuracy: between 0... and 0...
    95 % interval: [0..., 0...]; it covers the value, wherever it lies between the ends, with
    probability 0.95.
    The bounds are valid, and some 0... wider than sharp (accuracy): decision-makers who cannot be told from
    the best of a class are pooled.
    Assumption (instrument): cases alike in features (and stratum, if given) reach decision-makers as if at
    random, and who decides does not change the label. What would refute it: lower bounds that sum to more
    than one (SL401, SL402), or cases not dealt out at random.
    Sample: 2,000 cases, ... of them (...%) with a label, 8 decision-makers.
    """
    fitting = FittingSettings.read(nuisance, propensity, cv, n_repeats, n_jobs, random_state)
    check_interval(interval, confidence_level)
    single = by is None and isinstance(assumption, str | Assumption) and assumption != "all"
    one_metric = not isinstance(metric, list | tuple) and metric != "calibration"  # which has several bins
    table = read_table(X, y, GivenRoles(decision_maker, decision, sample_weight, groups, strata, assignment))
    request = EvaluationRequest(
        (classifier,), metric, assumption, cluster, fitting, label_range, instrument, pos_label, cost, by
    )
    if isinstance(classifier, Policy):
        return evaluate_policy(request, table, classifier, interval, confidence_level)
    results = evaluate_judged(judged_on(request, table), interval, confidence_level)
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
        if found is not None and item.assumption in sample.repeats[0]:  # not under the event tilt
            design = design_of(sample, item.assumption, found)
        items.append(replace(item, design=design))
    return replace(results, items=tuple(items))


def evaluate_policy(
    request: EvaluationRequest, table: Table, policy: Policy, interval: str, confidence_level: float
) -> Evaluation | Evaluations:
    """Evaluate a policy, alone or as a team with the human."""
    if request.by is not None:
        raise InputError("a Policy is evaluated on all cases: leave by out.", "by")
    metric = request.metric
    if metric == "accuracy":  # the default of classifiers, which a policy does not have
        metric = FAILURES if request.cost is None else COST
    names = [metric] if isinstance(metric, str) else list(metric)
    classes = classes_of(table, [policy.score])
    read_policy_measures(
        names, classes, class_code(request.pos_label, classes), request.cost
    )  # before any fit
    policy_sample = ground_on(request, table, {"score": policy})
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
