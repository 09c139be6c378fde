"""A partitioned table with fitted models answers requests from sums over cells, in one pass over the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from selective_labels._errors import InputError
from selective_labels._vocabulary import ACCEPT
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.combination import Combination
from selective_labels.assumptions.refused import Prevalence
from selective_labels.data.partitioned import PartitionedLabels
from selective_labels.data.reading import LENIENCY
from selective_labels.data.selective_labels import SelectiveLabels, class_code
from selective_labels.evaluation.fitted_table import FittedRows
from selective_labels.evaluation.metrics import (
    AnyMetric,
    Auc,
    BalancedAccuracy,
    CalibrationBin,
    Metric,
    ProbabilityMetric,
    RegretMetric,
    default_thresholds,
    metric_objects,
)
from selective_labels.evaluation.partitioned.cell_sample import CellSample
from selective_labels.evaluation.partitioned.keys import (
    LABELS,
    MEAN,
    OUTCOMES,
    RANKS,
    CellKeys,
    CellPredictions,
    CutKeys,
    Judged,
    SummedMean,
    Within,
    binned,
    edges_of,
    edges_of_scores,
    outcomes,
    table_of,
)
from selective_labels.evaluation.partitioned.partition_pass import CellTable, PartitionPass, PassSums
from selective_labels.evaluation.partitioned.scored_partitions import Prepared, ScoredPartitions
from selective_labels.evaluation.periods import Periods, read_periods
from selective_labels.evaluation.policy import (
    TEAMS,
    UNDECIDED,
    DeciderOutcomes,
    Policy,
    PolicyActions,
    acting_order,
    acting_threshold,
    deferred_by,
    modes,
    risk_of,
    warn_if_reversed,
)
from selective_labels.evaluation.prediction_check import Checked
from selective_labels.evaluation.predictions import (
    EvaluationRequest,
    HumanPredictions,
    ObservedOutcomes,
    Predictions,
    is_human,
)
from selective_labels.evaluation.scored_rows import Assumed, chosen_assumptions
from selective_labels.identification.bounds import Array
from selective_labels.nuisance.cross_fit import FittingSettings

# Metrics that cells support: of predicted labels, ranks and bins, and means of one number per row.
OF_CELLS = (Metric, BalancedAccuracy, Auc, CalibrationBin, ProbabilityMetric, RegretMetric)


class RowsPass:
    """A request to a partitioned table, as a plain function of some of its rows.

    The constructor fits the models. Any engine can map `function` over the rows, and
    :func:`selective_labels.evaluation.evaluate.evaluate_judged` makes results from the sums.

    Parameters
    ----------
    with_outcomes : bool
        Whether to count decisions and labels, too.
    """

    def __init__(
        self, fitted: ScoredPartitions, request: EvaluationRequest, with_outcomes: bool = False
    ) -> None:
        judged, within, prepared = prepared_for(fitted, request)
        self.metrics = read_metrics(request, prepared.data.classes, prepared.data.decision_means)
        refuse_shares(prepared.passing.assumptions, self.metrics, len(judged) > 1)
        if request.labels:
            refuse_joint(self.metrics)
        keys = _keys(judged, prepared, self.metrics, within)
        prepared = checked(judged, prepared, within)
        self._keys = replace(keys, outcomes=with_outcomes)
        self._prepared = prepared

    @property
    def columns(self) -> list[str]:
        """Columns that the function reads."""
        return self._prepared.columns(self._keys.columns)

    @property
    def function(self) -> PartitionPass:
        """Function from a frame of rows to sums, to be added by `PassSums.added`; small enough to send."""
        return self._prepared.with_keys(self._keys)

    def run(self) -> "JudgedCells":
        """Pass over all partitions."""
        return self.subjects(self._prepared.run(self._keys, self._keys.columns))

    def subjects(self, *parts: PassSums) -> "JudgedCells":
        """Make cells from the sums of all rows, in any order of the parts."""
        keys, sums = self._keys, PassSums.added(parts)
        size = keys.within.size
        ties = {RANKS: tuple(range(size, size + len(keys.judged)))}
        samples = self._prepared.samples(sums, ties, keys.within.places)
        data = self._prepared.data
        return JudgedCells.of(samples, self.metrics, data.classes, keys, data.decision_means)


@dataclass(frozen=True, eq=False)
class JudgedCells:
    """Predictions on the cells of a partitioned table, after one pass over it.

    Attributes
    ----------
    samples : dict of CellSample
        By table of cells.
    """

    samples: Mapping[str, CellSample]
    metrics: Sequence[AnyMetric]
    classes: np.ndarray
    keys: CellKeys
    decision_means: str = ACCEPT

    @classmethod
    def of(
        cls,
        samples: Mapping[str, CellSample],
        metrics: Sequence[AnyMetric],
        classes: np.ndarray,
        keys: CellKeys,
        decision_means: str = ACCEPT,
    ) -> "JudgedCells":
        """Drop calibration bins without rows, and replace means by the shares as which they were summed."""
        found = cls(samples, metrics, classes, keys, decision_means)
        kept: list[AnyMetric] = []
        for each in metrics:
            if table_of(each, found.paired).startswith(MEAN):
                kept.append(SummedMean(each))
            elif not isinstance(each, CalibrationBin) or each.rows(found.subject(each)).any():
                kept.append(each)
        return replace(found, metrics=kept)

    @property
    def paired(self) -> bool:
        """Whether two classifiers are compared."""
        return len(self.keys.judged) > 1

    def sample(self, metric: AnyMetric) -> CellSample:
        """Return the cells from which a metric is computed."""
        return self.samples[self._table(metric)]

    def subject(self, metric: AnyMetric, place: int = 0) -> Predictions:
        """Return the predictions of the classifier at this position, on these cells."""
        table, key = self._table(metric), self.sample(metric).cells.key
        judged = self.keys.judged[place]
        if is_human(judged.given):
            event = class_code(judged.pos_label, self.classes)
            cases = CellCases.of(self.classes, key[:, -1], self.decision_means)
            return HumanPredictions(cases, self.classes, event)
        # Tables of means have no key for predictions.
        own = key[:, min(self.keys.within.size + place, key.shape[1] - 1)]
        return CellPredictions(own, self.classes, table, self.keys.event, self.keys.bins)

    def cells(self, metric: AnyMetric) -> Mapping[Any, np.ndarray] | None:
        """Return a mask of cells for each subgroup; None without subgroups."""
        return self.keys.within.masks(self.sample(metric).cells.key[:, 0])

    @property
    def seen(self) -> ObservedOutcomes:
        """Decisions and labels in every subgroup, if they were requested."""
        sample = self.samples[OUTCOMES]
        cells = sample.cells
        masks = self.keys.within.masks(cells.key[:, 0])
        return ObservedOutcomes(masks or {}, cells.key[:, -1], cells.rows, cells.weights, sample.n_units)

    def _table(self, metric: AnyMetric) -> str:
        return table_of(metric.metric if isinstance(metric, SummedMean) else metric, self.paired)


def read_metrics(
    request: EvaluationRequest, classes: np.ndarray, decision_means: str = ACCEPT
) -> list[AnyMetric]:
    """Return the requested metric objects; raise an error for metrics that need rows in memory."""
    how = request.cost, request.with_human, decision_means
    found = metric_objects(request.metric, classes, request.pos_label, *how)
    for each in found:
        if not isinstance(each, OF_CELLS):
            name = getattr(each, "name", each)
            raise InputError(
                f"metric {name!r} is not available on data in partitions; take rows into memory with "
                "data.sample(n).",
                "metric",
            )
    return found


def refuse_joint(metrics: Sequence[AnyMetric]) -> None:
    """Raise an error for metrics of which cells do not hold several candidates together."""
    for metric in metrics:
        if not isinstance(metric, Metric | BalancedAccuracy):
            raise InputError(
                f"metric {metric.name!r}: on data in partitions, choose takes metrics of predicted labels, "
                "such as 'accuracy' and 'tpr'; take rows into memory with data.sample(n).",
                "metric",
            )


def refuse_shares(assumptions: Sequence[Assumption], metrics: Sequence[AnyMetric], paired: bool) -> None:
    """Raise an error for means of one number per row under a known share: they need a multiplier per row."""
    for each in assumptions:
        shared = isinstance(each, Combination) and any(isinstance(part, Prevalence) for part in each.parts)
        for metric in metrics if shared else ():
            if table_of(metric, paired).startswith(MEAN):
                raise InputError(
                    f"metric {metric.name!r} under {each.name!r} is not available on data in partitions; "
                    "leave the prevalence out, or take rows into memory with data.sample(n).",
                    "metric",
                )


def _keys(
    judged: tuple[Judged, ...], prepared: Prepared, metrics: Sequence[AnyMetric], within: Within
) -> CellKeys:
    paired = len(judged) > 1
    of_event = [each for each in metrics if isinstance(each, Auc | CalibrationBin)]
    events = {class_code(each.pos_label, prepared.data.classes) for each in of_event}
    if len(events) > 1:
        raise InputError(
            "metric: on data in partitions, the AUC and the calibration of one class at a time.", "metric"
        )
    event = events.pop() if events else 0
    tables = {table_of(each, paired) for each in metrics}
    subjects = [each.subject(prepared.frame, prepared.data) for each in judged]
    edges = edges_of(subjects, event) if RANKS in tables else ()
    shown = [each for each in metrics if isinstance(each, CalibrationBin)]
    bins = np.unique([end for each in shown for end in (each.low, each.high)]) if shown else None
    means = tuple(each for each in metrics if table_of(each, paired).startswith(MEAN))
    # Check the predictions on the sampled rows, so that errors are raised before the pass.
    for metric in [*means, *shown]:
        if isinstance(metric, ProbabilityMetric | CalibrationBin) and any(
            len(each.columns) == 1 for each in judged
        ):
            raise InputError(
                f"metric {metric.name!r} needs probabilities: give a list of columns, one for each class, or "
                "a fitted classifier.",
                "classifier",
            )
        metric.functional(subjects[0])
    return CellKeys(judged, within, LABELS in tables, event, edges, bins, means)


def cut_in_passing(
    fitted: ScoredPartitions, request: EvaluationRequest, thresholds: Array | None
) -> tuple[CellSample, Array, int, Array]:
    """Return cells between the thresholds of a score, their score, the event's code, and the thresholds."""
    (one,), within, prepared = prepared_for(fitted, request)
    event = class_code(request.pos_label, prepared.data.classes)
    prepared, cuts = checked([one], prepared, within), thresholds
    if cuts is None:
        scores = one.subject(prepared.frame, prepared.data).score(event)
        cuts = default_thresholds(scores, weights=prepared.data.weights)
    keys = CutKeys(one, within, event, cuts)
    sample = prepared.samples(prepared.run(keys, keys.columns), {}, within.places)[RANKS]
    return sample, np.append(-np.inf, cuts)[sample.cells.key[:, -1]], event, cuts


def checked(judged: Sequence[Judged], prepared: Prepared, within: Within) -> Prepared:
    """Add the doubts about predictions and subgroups, on the sampled rows."""
    found: list[tuple[str, Checked]] = [
        (each.name, each.subject(prepared.frame, prepared.data)) for each in judged
    ]
    masks = within.masks(within(prepared.frame)[0])
    return prepared.doubtful(found if masks is None else [*found, ("by", masks)])


def prepared_for(
    fitted: ScoredPartitions, request: EvaluationRequest, given: Mapping[str, Any] | None = None
) -> tuple[tuple[Judged, ...], Within, Prepared]:
    """Return classifiers, subgroups and fitted models; unsupported requests raise an error first."""
    lazy = fitted.table
    named = dict(zip(request.names, request.given, strict=True)) if given is None else given
    judged = tuple(Judged.read(each, lazy, name, request.pos_label) for name, each in named.items())
    within = Within.read(request.by, request.assumption, lazy)
    columns = [name for each in judged for name in each.columns]
    classifiers = [each.given for each in judged]
    others = [*columns, *within.columns]
    how = request.assumption, request.cluster, others, request.label_range
    return judged, within, fitted.prepare(classifiers, *how)


def partition_pass(
    classifier: Any,
    data: PartitionedLabels,
    *,
    metric: Any = "accuracy",
    assumption: str | Assumption | Sequence[str | Assumption] = "instrument",
    by: str | None = None,
    pos_label: Any = None,
    cost: ArrayLike | None = None,
    cluster: str | None = None,
    **fitting: Any,
) -> RowsPass:
    """Prepare `evaluate` on a partitioned table for other engines than Dask: fit now, map later.

    Parameters
    ----------
    classifier, metric, assumption, by, pos_label, cost, cluster
        As for :func:`selective_labels.evaluate`.
    data : PartitionedLabels
        With a `case_id` or `groups`, unless frames are indexed by row number; their hashes define the folds.
    fitting
        nuisance, propensity, cv, n_repeats, n_jobs, random_state.

    Returns
    -------
    RowsPass
        Call ``function(frame)`` for every frame with the columns ``columns``; then
        ``evaluate_judged(rows_pass.subjects(*parts))``.
    """
    fitted = ScoredPartitions(data, FittingSettings.read(**fitting))
    request = EvaluationRequest(
        (classifier,), metric, assumption, cluster, pos_label=pos_label, cost=cost, by=by
    )
    return RowsPass(fitted, request)


COURSES, DECIDERS = "courses", "deciders"


@dataclass(frozen=True, eq=False)
class PolicyKeys:
    """Maps rows to bins of risks, deferral and outcome; sent to other processes.

    Attributes
    ----------
    judged : tuple of Judged
        The scores of one policy, or of two.
    deferring : tuple of (classifier or None)
        For each policy that defers undecided cases to the human, its classifier.
    edges : tuple of arrays
        Edges of the bins of each risk.
    """

    judged: tuple[Judged, ...]
    deferring: tuple[Any, ...]
    within: Within
    failure: int
    edges: tuple[np.ndarray, ...]

    @property
    def columns(self) -> list[str]:
        """Columns to read."""
        return [*(name for each in self.judged for name in each.columns), *self.within.columns]

    def __call__(self, frame: pd.DataFrame, data: SelectiveLabels) -> dict[str, CellTable]:
        """Return the keys of every row: groups, bins, deferral, and the outcome last."""
        risks = [
            acting_order(risk_of(each.subject(frame, data), self.failure), data.decision_means)
            for each in self.judged
        ]
        bins = [binned(risk, edges) for risk, edges in zip(risks, self.edges, strict=True)]
        deferred = [
            np.zeros(len(data), dtype=int) if each is None else deferred_by(each, data).astype(int)
            for each in self.deferring
        ]
        outcome = outcomes(data)
        return {
            COURSES: CellTable(np.column_stack([*self.within(frame), *bins, *deferred, outcome])),
            DECIDERS: CellTable(np.column_stack([data.decision_maker_codes, outcome]), clustered=False),
        }


@dataclass(frozen=True, eq=False)
class CellCases:
    """Cells as cases: all rows of a cell have the same decision, and the same label if accepted."""

    classes: np.ndarray
    row_decision: np.ndarray
    y: np.ndarray
    decision_means: str = ACCEPT
    label_weights: np.ndarray | None = None

    @classmethod
    def of(cls, classes: np.ndarray, outcome: np.ndarray, decision_means: str) -> "CellCases":
        """Make cases from outcome codes: 0 if refused, k + 1 if accepted with label k."""
        return cls(classes, (outcome > 0).astype(int), outcome - 1, decision_means)

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class CellPolicySample:
    """Cells on which policies act.

    Attributes
    ----------
    failure : int
        Code of the failure class.
    by_decision_maker : CellSample
        Cells by decision-maker and outcome.
    decision_makers : array
        Sorted ids.
    """

    sample: CellSample
    failure: int
    keys: PolicyKeys
    by_decision_maker: CellSample
    decision_makers: np.ndarray
    decision_means: str = ACCEPT

    @property
    def cases(self) -> CellCases:
        """The cells."""
        classes, outcome = self.sample.sample_summary.classes, self.sample.cells.key[:, -1]
        return CellCases.of(classes, outcome, self.decision_means)

    @property
    def deciders(self) -> DeciderOutcomes:
        """Outcomes by decision-maker."""
        cells = self.by_decision_maker.cells
        sums = cells.rows, cells.weights, cells.square_weights
        return DeciderOutcomes(self.decision_makers, cells.key[:, 0], cells.key[:, 1], *sums)

    def actions(self, policy: Policy, place: int = 0) -> PolicyActions:
        """Return the actions of the policy at this position."""
        first = self.keys.within.size
        bins = self.sample.cells.key[:, first + place]
        deferred = self.sample.cells.key[:, first + len(self.keys.judged) + place].astype(float)
        below, above = modes(policy, len(bins), deferred)
        risk = values_of_bins(bins, self.keys.edges[place])
        threshold = acting_threshold(policy.threshold, self.decision_means)
        return PolicyActions(below, above, risk, policy.acceptance, threshold, between=bins % 2 == 0)


def values_of_bins(bins: np.ndarray, edges: np.ndarray) -> Array:
    """Return a value for each bin: its edge, or the largest number below the next edge.

    At a threshold that is an edge, each bin is then on the same side as its rows.

    Examples
    --------
    >>> values_of_bins(np.array([0, 1, 2, 3, 4]), np.array([1.0, 2.0])).round(2)
    array([ 1.,  1.,  2.,  2., inf])
    """
    upper = np.append(edges, np.inf)[bins // 2]
    return np.where((bins % 2 == 0) & np.isfinite(upper), np.nextafter(upper, -np.inf), upper)


def policies_in_passing(
    fitted: ScoredPartitions,
    request: EvaluationRequest,
    policies: Mapping[str, Policy],
    thresholds: Sequence[float] = (),
) -> CellPolicySample:
    """Pass once over a partitioned table, and return the cells on which policies act.

    `policies` maps names in messages to one or two policies; `thresholds` adds thresholds to theirs.
    """
    chosen = list(policies.values())
    for policy in chosen:
        if policy.with_human is not None and not isinstance(policy.with_human, str):
            raise InputError.about(
                "with_human",
                f"is an array; on data in partitions give {', '.join(map(repr, TEAMS))}, or take rows into "
                "memory with data.sample(n).",
            )
    judged, within, prepared = prepared_for(
        fitted, request, {name: each.score for name, each in policies.items()}
    )
    failure = class_code(request.pos_label, prepared.data.classes)
    risks = [risk_of(each.subject(prepared.frame, prepared.data), failure) for each in judged]
    for policy, risk in zip(chosen, risks, strict=True):
        if any(policy is each for each in request.given):
            warn_if_reversed(risk, prepared.data, failure)
    means = prepared.data.decision_means
    wanted = [each.threshold for each in chosen if each.threshold is not None]
    found = [acting_threshold(each, means) for each in (*wanted, *thresholds)]
    cuts = [each for each in found if each is not None]
    orders = [acting_order(each, means) for each in risks]
    edges = tuple(np.union1d(each, cuts) for each in edges_of_scores(orders))
    deferring = tuple(
        each.score if isinstance(each.with_human, str) and each.with_human == UNDECIDED else None
        for each in chosen
    )
    for classifier in deferring:  # checked on the sampled rows, before the pass
        if classifier is not None:
            deferred_by(classifier, prepared.data)
    prepared = checked(judged, prepared, within)
    keys = PolicyKeys(judged, deferring, within, failure, edges)
    samples = prepared.samples(prepared.run(keys, keys.columns), {}, within.places)
    makers = prepared.data.decision_makers
    return CellPolicySample(samples[COURSES], failure, keys, samples[DECIDERS], makers, means)


class FittedPartitions:
    """A partitioned table: models are fitted to a sample, and every request is one pass over all rows.

    The methods are those of :class:`selective_labels.evaluation.fitted_table.FittedTable`.
    """

    def __init__(
        self, table: PartitionedLabels, fitting: FittingSettings, instrument: str = LENIENCY
    ) -> None:
        if instrument != LENIENCY:
            raise InputError(
                "instrument= is not available on data in partitions; take rows into memory with "
                "data.sample(n).",
                "instrument",
            )
        self._fitted = ScoredPartitions(table, fitting)

    @property
    def table(self) -> PartitionedLabels:
        """The table."""
        return self._fitted.table

    @property
    def has_instrument(self) -> bool:
        """Whether there are two or more decision-makers."""
        return self.table.decision_makers_given and len(self.table.decision_makers) > 1

    def fit(self, assumption: Assumed) -> None:
        """Fit the models that an assumption needs; later requests reuse them."""
        chosen = chosen_assumptions(assumption, self.has_instrument)
        self._fitted.prepare([], chosen, None)

    def judge(self, request: EvaluationRequest, with_outcomes: bool = False) -> JudgedCells:
        """Pass over all partitions; input errors are raised before the pass."""
        return RowsPass(self._fitted, request, with_outcomes).run()

    def cut(
        self, request: EvaluationRequest, thresholds: Array | None
    ) -> tuple[CellSample, Array, int, Array]:
        """Return cells between thresholds, their score, the event's code, and the thresholds."""
        return cut_in_passing(self._fitted, request, thresholds)

    def policy_sample(
        self, request: EvaluationRequest, policies: Mapping[str, Policy], thresholds: Sequence[float] = ()
    ) -> CellPolicySample:
        """Return the cells on which policies act."""
        return policies_in_passing(self._fitted, request, policies, thresholds)

    def classes_with(self, classifiers: Sequence[Any]) -> np.ndarray:
        """Return the classes of the table and those that only a fitted classifier knows."""
        classes = self.table.classes
        known = [np.asarray(getattr(each, "classes_", []), dtype=classes.dtype) for each in classifiers]
        return np.unique(np.concatenate([classes, *known]))

    def periods(self, period: Any, every: str | None) -> Any:
        """Return the column of periods, or the rule that makes periods from its dates."""
        if not isinstance(period, str):
            raise InputError.about("period", "names a column of a table in partitions.")
        self.table.require_columns("period", [period])
        if every is not None:
            return Periods(period, every)
        values = self.table.survey([period]).values[period]
        read_periods(values, None, len(values))  # raises an error for too many periods, and for dates
        return period

    def rows(self, method: str) -> FittedRows:
        """Raise an error: the rows are not in memory."""
        raise InputError(
            f"{method} needs rows in memory, and the table is in partitions; give data.sample(n).",
            "X",
        )

    def name_of(self, given: Any) -> str:
        """Return the name of a column, or the class of a classifier."""
        if isinstance(given, str):
            return given
        if isinstance(given, Policy):
            return repr(given)
        return type(given).__name__ if hasattr(given, "predict") else repr(given)
