"""The Evaluator: roles and settings in the constructor, models fitted once, then every question."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict, Unpack

from numpy.typing import ArrayLike

from selective_labels._keywords import Fitting, Roles, split_keywords
from selective_labels._validation import the_only
from selective_labels.assumptions.base import Assumption
from selective_labels.data.partitioned import PartitionedLabels
from selective_labels.data.reading import LENIENCY, Table, read_table
from selective_labels.data.roles import GivenRoles
from selective_labels.evaluation.compare import compare_request
from selective_labels.evaluation.drift import Drift, drift_of_judged
from selective_labels.evaluation.evaluate import evaluate_request
from selective_labels.evaluation.fitted_table import FittedRows, FittedTable
from selective_labels.evaluation.ladder import ladder_request
from selective_labels.evaluation.ladder_results import Ladder
from selective_labels.evaluation.partitioned.fitted_partitions import FittedPartitions
from selective_labels.evaluation.plan import Plan, plan
from selective_labels.evaluation.policy_curve import PolicyCurve, policy_curve_request
from selective_labels.evaluation.requests import EvaluationRequest
from selective_labels.evaluation.results import Comparison, Evaluation, Evaluations
from selective_labels.evaluation.scored_rows import NO_RANGE, Assumed, ScoredSample
from selective_labels.evaluation.sensitivity import SensitivityCurve, sensitivity_request
from selective_labels.evaluation.thresholds import DEFAULT_METRICS, ThresholdCurve, threshold_request
from selective_labels.inference.confidence_intervals import check_interval
from selective_labels.nuisance.settings import FittingSettings


class Inference(TypedDict, total=False):
    """How bounds become intervals.

    interval : "parameter" or "set"
        "parameter" covers the value with the given probability (Imbens and Manski; Stoye where the bounds may
        meet); "set" covers the whole identified interval.
    confidence_level : float
        Above one half.
    cluster : "groups", "decision_maker", "none" or None
        What standard errors take as independent units: "none" is every row; None, the default, is groups if
        they are given, else every row. Few clusters widen the interval.
    label_range : pair (lowest, highest)
        What is known of P(label = k | features, hidden features): numbers, arrays per class, or callables of
        the coded features. Bounds lie within it; values under point assumptions do not use it.
    instrument : "leniency" or "numeric"
        "numeric": `decision_maker` is a number that means something (a distance, a time, a rate), not an id;
        twenty of its quantiles stand for it, each row at the nearest, and models are smooth in it.
    """

    interval: str
    confidence_level: float
    cluster: str | None
    label_range: Any
    instrument: str


class EvaluatorSettings(Roles, Fitting, Inference, total=False):
    """All keywords that the :class:`Evaluator` and its shorthands share."""


class Evaluator:
    """Evaluate, compare and plan on one table with models that are fitted once.

    The constructor takes the table, its roles and the settings, and fits the nuisance models. Each method
    answers one question from the same models, with the numbers of the function of the same name. A table
    in partitions (:meth:`selective_labels.SelectiveLabels.from_parquet`) works alike: models are fitted to a
    sample of its rows, and each question is one pass over all of them.

    Parameters
    ----------
    X : SelectiveLabels, or (n_samples, n_features) array or frame
        A SelectiveLabels has labels and roles in it: then no other role is given.
    y : (n_samples,) labels with holes (-1, NaN, None, NA)
    assumption : name or object of :mod:`selective_labels.assumptions`, or a list of these
        The default of every question. Models are fitted for it: with "nucem" among them, on halves of the
        rows. A question may bring its own assumption, on the same models.
    pos_label : class label, optional
        The event, the default of every question. Default: the last class.
    cost : (n_classes, n_classes) array, optional
        C[true, predicted] over the sorted classes, the default of every question.
    **settings
        Roles (`decision_maker`, `decision`, `sample_weight`, `groups`, `strata`, `assignment`); fitting
        (`nuisance`, `propensity`, `cv`, `n_repeats`, `n_jobs`, `random_state`); inference (`interval`,
        `confidence_level`, `cluster`, `label_range`, `instrument`). See :class:`EvaluatorSettings`.

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(1000, n_classes=2, random_state=0)
    >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> guess, other = (sample.X[:, 0] < 0).astype(int), (sample.X[:, 1] < 0).astype(int)
    >>> evaluator = sl.Evaluator(data, nuisance="logistic", random_state=0)
    >>> evaluator.evaluate(guess).lower == sl.evaluate(guess, data, nuisance="logistic", random_state=0).lower
    True
    >>> evaluator.compare(guess, other).verdict
    'undecided'
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        assumption: Assumed = "instrument",
        pos_label: Any = None,
        cost: ArrayLike | None = None,
        **settings: Unpack[EvaluatorSettings],
    ) -> None:
        self._open("Evaluator", X, y, assumption, pos_label, cost, settings)
        self._fitted.fit(assumption)

    @classmethod
    def unfitted(
        cls,
        function: str,
        X: Any,
        y: Any,
        assumption: Assumed,
        settings: EvaluatorSettings,
        pos_label: Any = None,
        cost: ArrayLike | None = None,
    ) -> "Evaluator":
        """An evaluator for one question, which is checked before the models are fitted for it."""
        made = cls.__new__(cls)
        made._open(function, X, y, assumption, pos_label, cost, settings)
        return made

    def _open(
        self,
        function: str,
        X: Any,
        y: Any,
        assumption: Assumed,
        pos_label: Any,
        cost: ArrayLike | None,
        settings: EvaluatorSettings,
    ) -> None:
        roles, fitting, own = split_keywords(function, settings, Roles, Fitting, Inference)
        how = FittingSettings.read(**fitting)
        self._interval: str = own.get("interval", "parameter")
        self._confidence_level: float = own.get("confidence_level", 0.95)
        check_interval(self._interval, self._confidence_level)
        self._cluster: str | None = own.get("cluster")
        self._label_range: Any = own.get("label_range", NO_RANGE)
        self._assumption, self._pos_label, self._cost = assumption, pos_label, cost
        table = read_table(X, y, GivenRoles(**roles))
        self._fitted = _fitted_table(table, how, own.get("instrument", LENIENCY))

    def evaluate(
        self,
        classifier: Any,
        *,
        metric: Any = "accuracy",
        assumption: Assumed | None = None,
        by: Any = None,
        pos_label: Any = None,
        cost: ArrayLike | None = None,
    ) -> Evaluation | Evaluations:
        """Bound metrics of a classifier on all cases: :func:`selective_labels.evaluate`."""
        request = self._request((classifier,), metric, assumption, pos_label, cost, by)
        return evaluate_request(self._fitted, request, self._interval, self._confidence_level)

    def compare(
        self,
        a: Any,
        b: Any,
        *,
        metric: Any = None,
        assumption: str | Assumption | None = None,
        pos_label: Any = None,
        cost: ArrayLike | None = None,
    ) -> Comparison:
        """Bound metric(a) - metric(b) on all cases: :func:`selective_labels.compare`."""
        request = self._request((a, b), metric, assumption, pos_label, cost)
        return compare_request(self._fitted, request, self._interval, self._confidence_level)

    def threshold_curve(
        self,
        classifier: Any,
        *,
        thresholds: ArrayLike | None = None,
        metric: str | Sequence[str] = DEFAULT_METRICS,
        assumption: str | Assumption | None = None,
        pos_label: Any = None,
    ) -> ThresholdCurve:
        """Bound metrics of a score cut at many thresholds: :func:`selective_labels.threshold_curve`."""
        request = self._request((classifier,), metric, assumption, pos_label)
        return threshold_request(self._fitted, request, thresholds, self._interval, self._confidence_level)

    def policy_curve(
        self,
        scores: Any,
        *,
        rates: ArrayLike | None = None,
        rule: str = "score",
        assumption: str | Assumption | None = None,
        pos_label: Any = None,
        cost: ArrayLike | None = None,
    ) -> PolicyCurve:
        """Bound the outcomes of accepting by a score: :func:`selective_labels.policy_curve`."""
        request = self._request((scores,), None, assumption, pos_label, cost)
        return policy_curve_request(self._fitted, request, rates, rule, self._confidence_level)

    def ladder(
        self,
        classifier: Any,
        assumptions: Assumed = (),
        *,
        metric: Any = "accuracy",
        pos_label: Any = None,
        cost: ArrayLike | None = None,
    ) -> Ladder:
        """Bound one metric under assumptions from weak to strong: :func:`selective_labels.ladder`."""
        request = self._request((classifier,), metric, assumptions, pos_label, cost)
        return ladder_request(self._fitted, request, self._interval, self._confidence_level)

    def drift(
        self,
        classifier: Any,
        *,
        period: Any,
        every: str | None = None,
        metric: Any = "accuracy",
        assumption: str | Assumption | None = None,
        pos_label: Any = None,
        cost: ArrayLike | None = None,
    ) -> Drift:
        """Follow the bounds of a metric over time: :func:`selective_labels.drift`."""
        by = self._fitted.periods(period, every)
        request = self._request((classifier,), metric, assumption, pos_label, cost, by)
        judged = self._fitted.judge(request, with_outcomes=True)
        one = the_only(judged.metrics, "metric", "drift is of one metric.")
        assumed = the_only(judged.sample(one).assumptions, "assumption", "drift takes one assumption.")
        return drift_of_judged(judged, assumed, request.pos_label, self._confidence_level)

    def sensitivity_curve(
        self,
        classifier: Any,
        *,
        metric: Any = "accuracy",
        pos_label: Any = None,
        cost: ArrayLike | None = None,
        compare_to: Any = None,
        parameter: str = "gamma",
        assumption: Callable[[float], Assumption] | None = None,
        values: Any = None,
        limit: str | None = None,
        threshold: float | None = None,
    ) -> SensitivityCurve:
        """Bound a metric as an assumption varies: :func:`selective_labels.sensitivity_curve`."""
        given = (classifier,) if compare_to is None else (classifier, compare_to)
        request = self._request(given, metric, None, pos_label, cost)
        return sensitivity_request(
            self._fitted.rows("sensitivity_curve"),
            request,
            parameter,
            assumption,
            values,
            limit,
            threshold,
            self._confidence_level,
        )

    def plan(
        self,
        classifier: Any,
        compare_to: Any = None,
        *,
        metric: Any = None,
        assumption: str | Assumption | None = None,
        pos_label: Any = None,
        cost: ArrayLike | None = None,
        **wishes: Any,
    ) -> Plan:
        """Plan for one model, for two, or for a width: :func:`selective_labels.plan` of what they get here.

        Parameters
        ----------
        classifier : as in `evaluate`
        compare_to : as `b` in `compare`, optional
            With it, the plan is for the comparison of the two.
        metric, assumption, pos_label, cost
            As in `evaluate` and `compare`; one metric.
        **wishes
            Keywords of :func:`selective_labels.plan`: `cases`, `decision_makers`, `leniency`, `lottery`,
            `width`, `power`.
        """
        how: dict[str, Any] = {"assumption": assumption, "pos_label": pos_label, "cost": cost}
        if compare_to is not None:
            return plan(self.compare(classifier, compare_to, metric=metric, **how), **wishes)
        found = self.evaluate(classifier, metric="accuracy" if metric is None else metric, **how)
        if isinstance(found, Evaluations):
            found = the_only(found.items, "metric", "a plan is for one metric and one assumption.")
        return plan(found, **wishes)

    def scores(self, assumption: Assumed | None = None) -> ScoredSample:
        """Scores of all rows in memory, for further work on them; the models are those of every question."""
        request = self._request((), None, assumption, None)
        return self._fitted.rows("scores").scored(request)

    def _request(
        self,
        given: tuple[Any, ...],
        metric: Any,
        assumption: Assumed | None,
        pos_label: Any,
        cost: ArrayLike | None = None,
        by: Any = None,
    ) -> EvaluationRequest:
        return EvaluationRequest(
            given,
            metric,
            self._assumption if assumption is None else assumption,
            self._cluster,
            self._label_range,
            self._pos_label if pos_label is None else pos_label,
            self._cost if cost is None else cost,
            by,
        )


def _fitted_table(table: Table, fitting: FittingSettings, instrument: str) -> FittedTable:
    """The one place that asks whether rows are in memory or in partitions."""
    if isinstance(table, PartitionedLabels):
        return FittedPartitions(table, fitting, instrument)
    return FittedRows(table, fitting, instrument)
