"""What a cut-off on a score does to everybody: accuracy, rates and acceptance, threshold by threshold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from selective_labels._errors import InputError
from selective_labels._validation import the_only
from selective_labels.assumptions.base import Assumption
from selective_labels.data.reading import read_table
from selective_labels.data.roles import GivenRoles
from selective_labels.evaluation.dispatch import cut_on
from selective_labels.evaluation.display import Described, assumption_text, frame_along, sample_text
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.metrics import AnyMetric, Metric, default_thresholds, named_metrics
from selective_labels.evaluation.partitioned.cell_sample import CellSample
from selective_labels.evaluation.predictions import ArrayPredictions
from selective_labels.evaluation.requests import EvaluationRequest
from selective_labels.evaluation.results import Evaluation, Scored
from selective_labels.evaluation.scored_rows import NO_RANGE
from selective_labels.identification.bounds import Array
from selective_labels.nuisance.settings import FittingSettings

ACCEPTANCE = "acceptance"
# Those that are defined at every threshold.
METRICS = ("accuracy", "error", "tpr", "fpr")
DEFAULT_METRICS = ("accuracy", "tpr", "fpr")


@dataclass(frozen=True, eq=False, kw_only=True)
class ThresholdCurve(Described):
    """Metrics of the rule "flag a case if its score of the event is at or above the threshold".

    Attributes
    ----------
    pos_label : class label
        The event that is flagged, against all other classes.
    thresholds : (n_points,) array
        Ascending.
    evaluations : dict of list of Evaluation
        By metric, one for each threshold. "acceptance", the share of cases below the threshold, is always
        among them; its interval is sampling error only.
    """

    pos_label: Any
    thresholds: np.ndarray
    evaluations: Mapping[str, Sequence[Evaluation]]

    @property
    def title(self) -> str:  # type: ignore[override]
        """Say what is flagged."""
        return f"Flagging {self.pos_label!r} by a threshold on its score"

    def __len__(self) -> int:
        return len(self.thresholds)

    def to_frame(self) -> pd.DataFrame:
        """One row per threshold: the ends and the interval of every metric."""
        return frame_along("threshold", self.thresholds, self.evaluations)

    def sentences(self) -> list[str]:
        """Say what the rule is, what the numbers assume, and of which sample."""
        first = self.evaluations[ACCEPTANCE][0]
        return [
            f"Rule: a case is flagged as {self.pos_label!r} if its score is at or above the threshold, and "
            "accepted if it is below.",
            f"{assumption_text(first.assumption, first.sample.sentence)} The share accepted needs none.",
            f"Sample: {sample_text(first.sample)} Each {first.confidence_level:.0%} interval covers the "
            "value at one threshold.",
        ]


def threshold_curve(
    classifier: Any,
    X: Any,
    y: Any = None,
    *,
    decision_maker: Any = None,
    decision: Any = None,
    pos_label: Any = None,
    thresholds: ArrayLike | None = None,
    metric: str | Sequence[str] = DEFAULT_METRICS,
    assumption: str | Assumption = "instrument",
    confidence_level: float = 0.95,
    sample_weight: Any = None,
    groups: Any = None,
    strata: Any = None,
    assignment: Any = None,
    cluster: str | None = None,
    label_range: Any = NO_RANGE,
    instrument: str = "leniency",
    nuisance: Any = None,
    propensity: str = "auto",
    cv: Any = 5,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> ThresholdCurve:
    """Bound accuracy, true and false positive rate of a score cut at many thresholds.

    t(x) = event if s(x) >= c, else the rest;   accuracy(c) = P(1{Y* = event} = 1{s(X) >= c})

    and at every c the numbers are those of `evaluate` for t. Models are fitted once for all thresholds: the
    cost is that of one `evaluate`, and O(n) for each threshold and metric. With more than two classes the
    event is set against the rest, and the bounds use all classes, which makes them narrower than those of a
    label recoded to event and rest.

    Parameters
    ----------
    classifier : fitted classifier, (n_samples,) scores, or (n_samples, n_classes) probabilities
        Of a classifier, ``decision_function`` is the score if there is one, else the event's probability.
    X, y, decision_maker, decision
        As in :func:`selective_labels.evaluate`.
    pos_label : class label, optional
        The event that is flagged. Default: the last class.
    thresholds : array of numbers, optional
        Default: 41 quantiles of the score, and one above all.
    metric : "accuracy", "error", "tpr" or "fpr", or a list of these
    assumption : "none", "instrument", "nucem", "unconfounded", "tilt" (accuracy and error), or an object
    confidence_level, sample_weight, groups, strata, assignment, cluster, label_range
        As in `evaluate`.
    instrument, nuisance, propensity, cv, n_repeats, n_jobs, random_state
        As in `evaluate`.

    Returns
    -------
    ThresholdCurve

    Examples
    --------
    >>> from selective_labels import SelectiveLabels
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(1000, n_classes=2, random_state=0)
    >>> data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> curve = threshold_curve(-sample.X[:, 0], data, thresholds=[-1.0, 0.0, 1.0], nuisance="logistic",
    ...                         random_state=0)
    >>> curve.to_frame()["acceptance_lower"].round(1).tolist()
    [0.2, 0.5, 0.8]
    """
    fitting = FittingSettings.read(nuisance, propensity, cv, n_repeats, n_jobs, random_state)
    metrics = [metric] if isinstance(metric, str) else list(metric)
    table = read_table(X, y, GivenRoles(decision_maker, decision, sample_weight, groups, strata, assignment))
    request = EvaluationRequest(
        (classifier,), metrics, assumption, cluster, fitting, label_range, instrument, pos_label
    )
    given = None if thresholds is None else _read_thresholds(thresholds)
    sample, scores, event, cuts = cut_on(request, table, given)
    assumed = the_only(sample.assumptions, "assumption", "threshold_curve takes one assumption.")
    return threshold_curve_of_sample(sample, scores, event, assumed, cuts, metrics, confidence_level)


def threshold_curve_of_sample(
    sample: Scored,
    scores: Array,
    event: int,
    assumption: str,
    thresholds: ArrayLike | None = None,
    metrics: Sequence[str] = DEFAULT_METRICS,
    confidence_level: float = 0.95,
) -> ThresholdCurve:
    """Cut a score of the class with code `event` on rows that are scored already: nothing is fitted."""
    unknown = [name for name in metrics if name not in METRICS]
    if unknown:
        raise InputError(f"metric {unknown[0]!r} is not one of {', '.join(map(repr, METRICS))}.", "metric")
    if thresholds is None:
        cuts = default_thresholds(scores, weights=sample.weights)
    else:
        cuts = _read_thresholds(thresholds)
    classes = sample.sample_summary.classes if isinstance(sample, CellSample) else sample.data.classes
    measures = [acceptance_metric(classes[event]), *(_against_rest(name, classes, event) for name in metrics)]
    rest = 1 if event == 0 else 0
    rows = []
    for cut in cuts:
        rule = ArrayPredictions(classes[np.where(scores >= cut, event, rest)], classes, "the rule")
        points = evaluate_sample(
            sample, rule, measures, confidence_level=confidence_level, assumptions=[assumption]
        )
        rows.append(points)
    columns = dict(zip([ACCEPTANCE, *metrics], zip(*rows, strict=True), strict=True))
    return ThresholdCurve(pos_label=classes.tolist()[event], thresholds=cuts, evaluations=columns)


def acceptance_metric(event: Any) -> Metric:
    """P(t ≠ event): the share of cases that are not flagged, known whatever the labels are."""
    return Metric(ACCEPTANCE, lambda truth, predicted: predicted != event)


def _against_rest(name: str, classes: np.ndarray, event: int) -> AnyMetric:
    label = classes[event]
    if name == "accuracy":
        return Metric(name, lambda truth, predicted: (truth == label) == (predicted == label))
    if name == "error":
        return Metric(
            name, lambda truth, predicted: (truth == label) != (predicted == label), greater_is_better=False
        )
    return named_metrics(name, classes, label)[0]


def _read_thresholds(thresholds: ArrayLike) -> Array:
    values = np.unique(np.atleast_1d(np.asarray(thresholds, dtype=float)))
    if not len(values) or not np.isfinite(values).all():
        raise InputError.about("thresholds", "must be finite numbers, one or more.")
    return values
