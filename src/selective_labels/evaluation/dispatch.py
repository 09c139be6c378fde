"""What a question finds on a table: the one place that knows whether rows are in memory or in partitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selective_labels._errors import InputError
from selective_labels.data.partitioned import PartitionedLabels
from selective_labels.data.reading import Table, with_instrument
from selective_labels.data.roles import as_series, class_code, refuse_strange_cells, require_two_classes
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.evaluation.metrics import AnyMetric, read_metrics
from selective_labels.evaluation.partitioned.question import (
    CellPolicySample,
    JudgedCells,
    RowsPass,
    cut_in_passing,
    ground_in_passing,
)
from selective_labels.evaluation.policy import (
    Policy,
    PolicySample,
    checked_policy_actions,
    read_policy_actions,
)
from selective_labels.evaluation.predictions import Predictions, read_predictions
from selective_labels.evaluation.requests import EvaluationRequest, ObservedOutcomes
from selective_labels.evaluation.results import Scored
from selective_labels.evaluation.scored_rows import ScoredSample, score_sample, with_classes_of
from selective_labels.identification.bounds import Array


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """What is judged on rows in memory, which are scored; the same of partitions is `JudgedCells`.

    Attributes
    ----------
    scored : ScoredSample
    subjects : tuple of Predictions
    metrics : sequence of metrics
    masks : dict of bool arrays, or None
        Rows of each subgroup.
    """

    scored: ScoredSample
    subjects: tuple[Predictions, ...]
    metrics: Sequence[AnyMetric]
    masks: Mapping[Any, np.ndarray] | None

    def sample(self, metric: AnyMetric) -> ScoredSample:
        """Rows that a metric is computed from."""
        return self.scored

    def subject(self, metric: AnyMetric, place: int = 0) -> Predictions:
        """One of what is judged."""
        return self.subjects[place]

    def cells(self, metric: AnyMetric) -> Mapping[Any, np.ndarray] | None:
        """Masks of the rows of each subgroup; None without subgroups."""
        return self.masks

    @property
    def seen(self) -> ObservedOutcomes:
        """What was decided and seen in every subgroup."""
        return ObservedOutcomes.of_rows(self.scored.data, self.masks or {})


Judged = JudgedRows | JudgedCells
Ground = PolicySample | CellPolicySample


def judged_on(request: EvaluationRequest, table: Table, with_outcomes: bool = False) -> Judged:
    """Score all rows of a table for a question; all that can be wrong is found before anything is fitted.

    `with_outcomes`: what was decided and seen is asked for too.
    """
    if isinstance(table, PartitionedLabels):
        return RowsPass(request, table, with_outcomes).run()
    data = with_instrument(table, request.instrument, nuisance=request.fitting.nuisance)
    known = with_classes_of(data, list(request.given))
    require_two_classes(known.classes)
    subjects = [
        read_predictions(each, known, name) for each, name in zip(request.given, request.names, strict=True)
    ]
    metrics = read_metrics(request.metric, subjects[0], request.pos_label, request.cost)
    for metric in metrics:
        if len(subjects) == 1 or metric.difference(*subjects) is None:
            for subject in subjects:
                metric.functional(subject)
    masks = None if request.by is None else _read_subgroups(request.by, len(data))
    return JudgedRows(_scored(request, data), tuple(subjects), metrics, masks)


def cut_on(
    request: EvaluationRequest, table: Table, thresholds: Array | None
) -> tuple[Scored, Array, int, Array | None]:
    """Scored rows (or cells) for a score that is cut, the score, the event's code, and the thresholds."""
    if isinstance(table, PartitionedLabels):
        return cut_in_passing(request, table, thresholds)
    sample = _scored(request, with_instrument(table, request.instrument, nuisance=request.fitting.nuisance))
    event = class_code(request.pos_label, sample.data.classes)
    return sample, read_predictions(request.given[0], sample.data).score(event), event, thresholds


def ground_on(
    request: EvaluationRequest, table: Table, policies: Mapping[str, Policy], thresholds: Sequence[float] = ()
) -> Ground:
    """Score all rows of a table, and lay policies out on them; what is wrong is found before that.

    Parameters
    ----------
    asked : EvaluationRequest
    table : SelectiveLabels or PartitionedLabels
    policies : dict of Policy
        One or two, by what messages call them.
    thresholds : sequence of float
        Cut-offs of the score besides those that the policies have.
    """
    scores, names = [each.score for each in policies.values()], tuple(policies)
    if isinstance(table, PartitionedLabels):
        return ground_in_passing(request, table, policies, thresholds)
    data = with_instrument(table, request.instrument, nuisance=request.fitting.nuisance)
    known = with_classes_of(data, scores)
    require_two_classes(known.classes)
    failure = class_code(request.pos_label, known.classes)
    for name, policy in policies.items():
        # Of a classifier that is set against the human it is known which way its score runs.
        lay_out = (
            checked_policy_actions if any(policy is each for each in request.given) else read_policy_actions
        )
        lay_out(policy, known, failure, name)
    return PolicySample(_scored(replace(request, given=tuple(scores)), data), failure, names)


def classes_of(table: Table, classifiers: Sequence[Any]) -> np.ndarray:
    """Classes of a table, and those besides that a fitted classifier knows."""
    if not isinstance(table, PartitionedLabels):
        return with_classes_of(table, list(classifiers)).classes
    known = [np.asarray(getattr(each, "classes_", []), dtype=table.classes.dtype) for each in classifiers]
    return np.unique(np.concatenate([table.classes, *known]))


def _scored(request: EvaluationRequest, data: SelectiveLabels) -> ScoredSample:
    how = request.assumption, request.cluster, request.fitting, request.label_range
    return score_sample(data, list(request.given), *how)


def _read_subgroups(by: Any, n_samples: int) -> dict[Any, np.ndarray]:
    column = as_series(by, "by", n_samples)
    refuse_strange_cells(column, "by")
    if len({type(value) for value in column}) > 1 and column.dtype == object:
        raise InputError.about("by", "holds subgroups of several types; use one type, such as strings.")
    if column.isna().any():
        raise InputError.about("by", f"is missing in {column.isna().sum()} rows: give every case a subgroup.")
    values = column.to_numpy()
    return {label: values == label for label in np.unique(values).tolist()}
