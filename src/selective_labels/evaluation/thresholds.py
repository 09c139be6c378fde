"""Threshold curves: accuracy, error rates and acceptance rate of a score at many thresholds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from selective_labels._display import Described
from selective_labels._errors import InputError
from selective_labels._validation import the_only
from selective_labels.evaluation.display import assumption_text, caution_lines, frame_along, sample_text
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.fitted_table import FittedTable
from selective_labels.evaluation.metrics import Metric, against_rest
from selective_labels.evaluation.predictions import ArrayPredictions, EvaluationRequest
from selective_labels.evaluation.results import Evaluation
from selective_labels.evaluation.scored_rows import Scored
from selective_labels.evaluation.simultaneous import coverage_text, simultaneous_intervals
from selective_labels.identification.bounds import Array

ACCEPTANCE = "acceptance"
# Metrics that are defined at every threshold.
METRICS = ("accuracy", "error", "tpr", "fpr")
DEFAULT_METRICS = ("accuracy", "tpr", "fpr")


@dataclass(frozen=True, eq=False, kw_only=True)
class ThresholdCurve(Described):
    """Metrics of the rule that flags a case if its score of the event is at or above the threshold.

    Attributes
    ----------
    pos_label : class label
        The flagged event, against all other classes.
    thresholds : (n_points,) array
        Ascending.
    evaluations : dict of list of Evaluation
        By metric, one for each threshold. "acceptance", the share of cases below the threshold, is always
        included; its interval reflects sampling error only.
    simultaneous : bool
        Whether the intervals of a metric hold at all thresholds at once, also at one that is chosen.
    """

    pos_label: Any
    thresholds: np.ndarray
    evaluations: Mapping[str, Sequence[Evaluation]]
    simultaneous: bool = False

    @property
    def title(self) -> str:  # type: ignore[override]
        """Title with the flagged event."""
        return f"Flagging {self.pos_label!r} by a threshold on its score"

    def __len__(self) -> int:
        return len(self.thresholds)

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per threshold: bounds and interval of every metric."""
        return frame_along("threshold", self.thresholds, self.evaluations)

    def sentences(self) -> list[str]:
        """Describe the rule, the assumption and the sample."""
        first = self.evaluations[ACCEPTANCE][0]
        return [
            *caution_lines(first.sample),
            f"Rule: a case is flagged as {self.pos_label!r} if its score is at or above the threshold, and "
            "accepted if it is below.",
            f"{assumption_text(first.assumption, first.sample.sentence)} The share accepted needs none.",
            f"Sample: {sample_text(first.sample)} {coverage_text(first, self.simultaneous, 'threshold')}",
        ]


def threshold_request(
    fitted: FittedTable,
    request: EvaluationRequest,
    thresholds: ArrayLike | None,
    interval: str,
    confidence_level: float,
    bands: bool = False,
) -> ThresholdCurve:
    """Compute the threshold curve of a request."""
    metrics = [request.metric] if isinstance(request.metric, str) else list(request.metric)
    given = None if thresholds is None else _read_thresholds(thresholds)
    sample, scores, event, cuts = fitted.cut(request, given)
    assumed = the_only(sample.assumptions, "assumption", "threshold_curve takes one assumption.")
    return threshold_curve_of_sample(
        sample, scores, event, assumed, cuts, metrics, confidence_level, interval, bands
    )


def threshold_curve_of_sample(
    sample: Scored,
    scores: Array,
    event: int,
    assumption: str,
    cuts: Array,
    metrics: Sequence[str] = DEFAULT_METRICS,
    confidence_level: float = 0.95,
    interval: str = "parameter",
    bands: bool = False,
) -> ThresholdCurve:
    """Compute the curve for a score of the class with code `event` on scored rows or cells."""
    unknown = [name for name in metrics if name not in METRICS]
    if unknown:
        raise InputError(f"metric {unknown[0]!r} is not one of {', '.join(map(repr, METRICS))}.", "metric")
    classes = sample.classes
    measures = [acceptance_metric(classes[event]), *(against_rest(name, classes, event) for name in metrics)]
    codes = np.eye(len(classes))
    rest = 1 if event == 0 else 0
    rules = [
        ArrayPredictions(codes[np.where(scores >= cut, event, rest)], classes, "the rule") for cut in cuts
    ]
    columns: dict[str, Sequence[Evaluation]] = {}
    for name, measure in zip([ACCEPTANCE, *metrics], measures, strict=True):
        points = [
            evaluate_sample(sample, rule, [measure], None, interval, confidence_level, [assumption])[0]
            for rule in rules
        ]
        if bands:
            functionals = [measure.functional(rule) for rule in rules]
            columns[name] = simultaneous_intervals(sample, assumption, functionals, points)
        else:
            columns[name] = tuple(points)
    return ThresholdCurve(
        pos_label=classes.tolist()[event], thresholds=cuts, evaluations=columns, simultaneous=bands
    )


def acceptance_metric(event: Any) -> Metric:
    """P(t ≠ event): the share of cases that are not flagged, which does not depend on the labels."""
    return Metric(ACCEPTANCE, lambda truth, predicted: predicted != event)


def _read_thresholds(thresholds: ArrayLike) -> Array:
    values = np.unique(np.atleast_1d(np.asarray(thresholds, dtype=float)))
    if not len(values) or not np.isfinite(values).all():
        raise InputError.about("thresholds", "must be finite numbers, one or more.")
    return values
