"""The Evaluator holds the table and the settings, fits the models once, and runs every analysis on them."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypedDict, TypeVar, Unpack

from numpy.typing import ArrayLike

from selective_labels._display import Display
from selective_labels._validation import Fitting, Roles, split_keywords, the_only
from selective_labels.assumptions.base import Assumption
from selective_labels.data.named_costs import Costs, cost_matrix, question_transposed
from selective_labels.data.partitioned import PartitionedLabels
from selective_labels.data.reading import LENIENCY, Table, read_table
from selective_labels.data.roles import GivenRoles
from selective_labels.data.selective_labels import class_code
from selective_labels.evaluation.advice import Advice, AdviceQuestion, advice_request
from selective_labels.evaluation.choose import Choice, choose_request, read_candidates
from selective_labels.evaluation.compare import compare_request
from selective_labels.evaluation.deciders import Deciders, deciders_request
from selective_labels.evaluation.disparity import Disparity, DisparityQuestion, disparity_request
from selective_labels.evaluation.drift import Drift, drift_of_judged
from selective_labels.evaluation.evaluate import evaluate_request
from selective_labels.evaluation.fitted_table import FittedRows, FittedTable
from selective_labels.evaluation.ladder import Ladder, ladder_request
from selective_labels.evaluation.partitioned.fitted_partitions import FittedPartitions
from selective_labels.evaluation.plan import Plan, plan
from selective_labels.evaluation.policy_curve import PolicyCurve, policy_curve_request
from selective_labels.evaluation.predictions import EvaluationRequest
from selective_labels.evaluation.results import Comparison, Evaluation, Evaluations
from selective_labels.evaluation.scored_rows import NO_RANGE, Assumed, ScoredSample
from selective_labels.evaluation.sensitivity import SensitivityCurve, sensitivity_request
from selective_labels.evaluation.thresholds import DEFAULT_METRICS, ThresholdCurve, threshold_request
from selective_labels.inference.confidence_intervals import check_interval
from selective_labels.nuisance.cross_fit import FittingSettings

Result = TypeVar("Result", bound=Display)
Given = ParamSpec("Given")


def in_words(
    method: "Callable[Concatenate[Evaluator, Given], Result]",
) -> "Callable[Concatenate[Evaluator, Given], Result]":
    """Let a method return its result in the words of the table's domain."""

    @wraps(method)
    def spoken(self: "Evaluator", *args: Given.args, **keywords: Given.kwargs) -> Result:
        return method(self, *args, **keywords).in_words(self._fitted.table.vocabulary)

    return spoken


class Inference(TypedDict, total=False):
    """Keywords that control the confidence intervals.

    interval : "parameter" or "set"
        "parameter" covers the true value with the given probability (Imbens and Manski; Stoye where the
        bounds may meet). "set" covers the whole identified set.
    confidence_level : float
        Above one half.
    cluster : "groups", "decision_maker", "none" or None
        Independent units for the standard errors. "none" treats every row as independent. None, the default,
        uses the groups if they are given, and rows otherwise. Few clusters give a wider interval.
    label_range : pair (lowest, highest)
        Known range of P(label = k | features, hidden features): numbers, arrays per class, or callables of
        the coded features. Bounds respect it; point estimates do not use it.
    instrument : "leniency" or "numeric"
        "numeric" means that `decision_maker` is a number with a meaning (a distance, a time, a rate), not an
        id. Each row takes the nearest of twenty quantiles of the number, and models are smooth in it.
    """

    interval: str
    confidence_level: float
    cluster: str | None
    label_range: Any
    instrument: str


class EvaluatorSettings(Roles, Fitting, Inference, total=False):
    """All keywords that the :class:`Evaluator` and the functions of the package share."""


class Evaluator:
    """Evaluate, compare and plan on one table with models that are fitted once.

    The constructor takes the table, its roles and the settings, and fits the nuisance models. Each method
    reuses these models and returns the same numbers as the function of the same name. A partitioned table
    (:meth:`selective_labels.SelectiveLabels.from_parquet`) works the same way: the models are fitted to a
    sample of its rows, and each method makes one pass over all of them.

    Parameters
    ----------
    X : SelectiveLabels, or (n_samples, n_features) array or frame
        A SelectiveLabels carries labels and roles; give no other role with it.
    y : (n_samples,) labels, missing (-1, NaN, None, NA) where not observed
    assumption : name or object of :mod:`selective_labels.assumptions`, or a list of these
        Default assumption of every method; another one can be given to each. Models are fitted once for all
        assumptions, and once more on two halves of the rows for "nucem", which needs that. So the figures of
        an assumption are the same whatever else is asked.
    pos_label : class label, optional
        The event; default of every method. Default: the last class.
    cost : (n_classes, n_classes) array or dict, optional
        C[true, predicted] over the sorted classes, or costs by name: ``{"default": 5000, "declined_good":
        600}``, or where a yes inspects ``{"inspect": 400, "missed": 3000}``; default of every method.
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
        cost: Costs | None = None,
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
        cost: Costs | None = None,
    ) -> "Evaluator":
        """Return an evaluator without models, so that a request is validated before anything is fitted."""
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
        cost: Costs | None,
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

    @in_words
    def evaluate(
        self,
        classifier: Any,
        *,
        metric: Any = "accuracy",
        assumption: Assumed | None = None,
        by: Any = None,
        pos_label: Any = None,
        cost: Costs | None = None,
    ) -> Evaluation | Evaluations:
        """Bound metrics of a classifier on all cases: :func:`selective_labels.evaluate`."""
        request = self._request((classifier,), metric, assumption, pos_label, cost, by)
        return evaluate_request(self._fitted, request, self._interval, self._confidence_level)

    @in_words
    def compare(
        self,
        a: Any,
        b: Any,
        *,
        metric: Any = None,
        assumption: str | Assumption | None = None,
        pos_label: Any = None,
        cost: Costs | None = None,
    ) -> Comparison:
        """Bound metric(a) - metric(b) on all cases: :func:`selective_labels.compare`."""
        request = self._request((a, b), metric, assumption, pos_label, cost)
        return compare_request(self._fitted, request, self._interval, self._confidence_level)

    @in_words
    def threshold_curve(
        self,
        classifier: Any,
        *,
        thresholds: ArrayLike | None = None,
        metric: str | Sequence[str] = DEFAULT_METRICS,
        assumption: str | Assumption | None = None,
        pos_label: Any = None,
        simultaneous: bool = False,
    ) -> ThresholdCurve:
        """Bound metrics of a score at many thresholds: :func:`selective_labels.threshold_curve`."""
        request = self._request((classifier,), metric, assumption, pos_label)
        how = self._interval, self._confidence_level, simultaneous
        return threshold_request(self._fitted, request, thresholds, *how)

    @in_words
    def choose(
        self,
        candidates: Mapping[str, Any],
        *,
        metric: Any = "accuracy",
        assumption: str | Assumption | None = None,
        pos_label: Any = None,
        cost: Costs | None = None,
    ) -> Choice:
        """Choose the best of several classifiers, with an interval that holds after choosing.

        The best one has the best guarantee: the largest estimated lower bound of a metric of which more is
        better, the smallest estimated upper bound of one of which less is better. The usual interval of the
        best of many covers too rarely. The intervals here are wider: [lower - c s, upper + c s] covers the
        values of all candidates at once with the stated probability, and therefore that of the chosen one,
        whatever the rule of choice. c is a quantile of the largest error of all bounds, which a multiplier
        bootstrap of their influence functions gives.

        Parameters
        ----------
        candidates : dict
            Classifiers or predictions by name, each as in `evaluate`.
        metric, assumption, pos_label, cost
            As in `evaluate`; one metric and one assumption. On a partitioned table, metrics of predicted
            labels.

        Returns
        -------
        Choice

        Examples
        --------
        >>> import selective_labels as sl
        >>> sample = sl.datasets.make_decision_makers(1000, n_classes=2, random_state=0)
        >>> data = sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
        >>> rules = {"first": sample.X[:, 0] < 0, "second": sample.X[:, 1] < 0}
        >>> evaluator = sl.Evaluator(data, nuisance="logistic", random_state=0)
        >>> found = evaluator.choose({name: rule.astype(int) for name, rule in rules.items()})
        >>> found.best, found.chosen.ci_lower < evaluator.evaluate(rules["first"].astype(int)).ci_lower
        ('first', True)
        """
        request = read_candidates(candidates, self._request((), metric, assumption, pos_label, cost))
        return choose_request(self._fitted, request, self._interval, self._confidence_level)

    @in_words
    def policy_curve(
        self,
        scores: Any,
        *,
        rates: ArrayLike | None = None,
        rule: str = "score",
        assumption: str | Assumption | None = None,
        pos_label: Any = None,
        cost: Costs | None = None,
        simultaneous: bool = False,
    ) -> PolicyCurve:
        """Bound the outcomes of accepting cases by a score: :func:`selective_labels.policy_curve`."""
        request = self._request((scores,), None, assumption, pos_label, cost)
        return policy_curve_request(
            self._fitted, request, rates, rule, self._confidence_level, bands=simultaneous
        )

    @in_words
    def ladder(
        self,
        classifier: Any,
        assumptions: Assumed = (),
        *,
        metric: Any = "accuracy",
        pos_label: Any = None,
        cost: Costs | None = None,
    ) -> Ladder:
        """Bound one metric under increasingly strong assumptions: :func:`selective_labels.ladder`."""
        request = self._request((classifier,), metric, assumptions, pos_label, cost)
        return ladder_request(self._fitted, request, self._interval, self._confidence_level)

    @in_words
    def drift(
        self,
        classifier: Any,
        *,
        period: Any,
        every: str | None = None,
        metric: Any = "accuracy",
        assumption: str | Assumption | None = None,
        pos_label: Any = None,
        cost: Costs | None = None,
    ) -> Drift:
        """Track the bounds on a metric over time: :func:`selective_labels.drift`."""
        by = self._fitted.periods(period, every)
        request = self._request((classifier,), metric, assumption, pos_label, cost, by)
        judged = self._fitted.judge(request, with_outcomes=True)
        one = the_only(judged.metrics, "metric", "drift is of one metric.")
        assumed = the_only(judged.sample(one).assumptions, "assumption", "drift takes one assumption.")
        return drift_of_judged(judged, assumed, request.pos_label, self._confidence_level)

    @in_words
    def sensitivity_curve(
        self,
        classifier: Any,
        *,
        metric: Any = "accuracy",
        pos_label: Any = None,
        cost: Costs | None = None,
        compare_to: Any = None,
        parameter: str = "gamma",
        assumption: Callable[[float], Assumption] | None = None,
        values: Any = None,
        limit: str | None = None,
        threshold: float | None = None,
    ) -> SensitivityCurve:
        """Bound a metric as an assumption is relaxed: :func:`selective_labels.sensitivity_curve`."""
        given = (classifier,) if compare_to is None else (classifier, compare_to)
        request = self._request(given, metric, None, pos_label, cost)
        return sensitivity_request(
            self._fitted,
            request,
            parameter,
            assumption,
            values,
            limit,
            threshold,
            self._confidence_level,
        )

    @in_words
    def plan(
        self,
        classifier: Any,
        compare_to: Any = None,
        *,
        metric: Any = None,
        assumption: str | Assumption | None = None,
        pos_label: Any = None,
        cost: Costs | None = None,
        **wishes: Any,
    ) -> Plan:
        """Predict what narrows an interval: :func:`selective_labels.plan` for `evaluate` or `compare`.

        Parameters
        ----------
        classifier : as in `evaluate`
        compare_to : as `b` in `compare`, optional
            If given, plan for the comparison of the two.
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

    @in_words
    def advice(
        self,
        advice: Any,
        shown: Any,
        *,
        high: str | None = None,
        probability: Any = None,
        adjust: bool = True,
        by: Any = None,
        assumption: str | Assumption | None = None,
        pos_label: Any = None,
        cost: Costs | None = None,
    ) -> Advice:
        """Compare people with and without advice, and the advice alone: :func:`selective_labels.advice`."""
        request = self._request((), None, assumption, pos_label, cost, by)
        question = AdviceQuestion(
            advice=advice, shown=shown, high=high, probability=probability, adjust=adjust
        )
        fitted = self._fitted.rows("advice")
        return advice_request(fitted, request, question, self._interval, self._confidence_level)

    @in_words
    def disparity(
        self,
        by: Any,
        *,
        score: Any = None,
        threshold: float | None = None,
        reference: Any = None,
        assumption: str | Assumption | None = None,
        pos_label: Any = None,
    ) -> Disparity:
        """Bound gaps between groups given the outcome: :func:`selective_labels.disparity`."""
        request = self._request((), None, assumption, pos_label)
        question = DisparityQuestion(by=by, score=score, threshold=threshold, reference=reference)
        fitted = self._fitted.rows("disparity")
        return disparity_request(fitted, request, question, self._interval, self._confidence_level)

    @in_words
    def deciders(
        self,
        score: Any = None,
        *,
        anonymous: bool = False,
        assumption: str | Assumption | None = None,
        pos_label: Any = None,
    ) -> Deciders:
        """Compare decision-makers with each other and with a score: :func:`selective_labels.deciders`."""
        request = self._request((), None, assumption, pos_label)
        fitted = self._fitted.rows("deciders")
        return deciders_request(fitted, request, score, anonymous, self._confidence_level)

    def doubts(self, classifier: Any) -> list[str]:
        """Return why results on predictions are doubtful; raise an error if they depend on who decides."""
        request = self._request((classifier,), None, None, None)
        return self._fitted.rows("doubts").doubts_of(request)

    def scores(self, assumption: Assumed | None = None) -> ScoredSample:
        """Return the scores of all rows in memory under an assumption, from the models already fitted."""
        request = self._request((), None, assumption, None)
        return self._fitted.rows("scores").scored(request)

    def _request(
        self,
        given: tuple[Any, ...],
        metric: Any,
        assumption: Assumed | None,
        pos_label: Any,
        cost: Costs | None = None,
        by: Any = None,
    ) -> EvaluationRequest:
        event = self._pos_label if pos_label is None else pos_label
        return EvaluationRequest(
            given,
            metric,
            self._assumption if assumption is None else assumption,
            self._cluster,
            self._label_range,
            event,
            self._costs(self._cost if cost is None else cost, event),
            by,
        )

    def _costs(self, cost: Any, pos_label: Any) -> Any:
        """Return costs by name as a matrix; question a matrix that looks transposed."""
        if cost is None:
            return None
        table = self._fitted.table
        how = table.classes, class_code(pos_label, table.classes), table.decision_means
        question_transposed(cost, *how)
        return cost_matrix(cost, *how)


def _fitted_table(table: Table, fitting: FittingSettings, instrument: str) -> FittedTable:
    """Return the fitted table for rows in memory or for partitions; no other code makes this distinction."""
    if isinstance(table, PartitionedLabels):
        return FittedPartitions(table, fitting, instrument)
    return FittedRows(table, fitting, instrument)
