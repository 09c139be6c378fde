"""Evaluation of tables in partitions: the same numbers from sums over cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selective_labels.assumptions import Assumption, Combination, Prevalence
from selective_labels.cells.cell_sample import CellSample
from selective_labels.data import class_code
from selective_labels.data.lazy import PartitionedLabels
from selective_labels.identification.bounds import Array
from selective_labels.measures.asked import LENIENCY, Asked
from selective_labels.measures.metrics import (
    AnyMetric,
    Auc,
    BalancedAccuracy,
    CalibrationBin,
    Metric,
    ProbabilityMetric,
    RegretMetric,
)
from selective_labels.measures.named import named_metrics
from selective_labels.measures.seen import Seen
from selective_labels.measures.thresholds import default_thresholds
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.passes.cell_keys import (
    LABELS,
    MEAN,
    OUTCOMES,
    RANKS,
    CellKeys,
    CellSubject,
    CutKeys,
    Judged,
    SummedMean,
    Within,
    edges_of,
    table_of,
)
from selective_labels.passes.partition_pass import PartitionPass, PassSums
from selective_labels.passes.partitioned import Prepared, prepare
from selective_labels.support.errors import InputError

# Metrics that cells tell: of predicted labels, of ranks, of bins, and means of one number a row.
OF_CELLS = (Metric, BalancedAccuracy, Auc, CalibrationBin, ProbabilityMetric, RegretMetric)


class RowsPass:
    """A question about a table in partitions, as a plain function of some of its rows.

    Models are fitted when it is made. Then its `function` is mapped over the rows by whichever engine there
    is, and :func:`selective_labels.evaluation.evaluate_judged` makes results of what comes back.

    Parameters
    ----------
    asked : Asked
    lazy : PartitionedLabels
    with_outcomes : bool
        Whether what was decided and seen is summed too.
    """

    def __init__(self, asked: Asked, lazy: PartitionedLabels, with_outcomes: bool = False) -> None:
        judged, within, prepared = prepared_for(asked, lazy)
        self.metrics = read_metrics(asked.metric, prepared.data.classes, asked.pos_label, asked.cost)
        refuse_shares(prepared.passing.assumptions, self.metrics, len(judged) > 1)
        keys = _keys(judged, prepared, self.metrics, within)
        self._keys = replace(keys, outcomes=with_outcomes)
        self._prepared = prepared

    @property
    def columns(self) -> list[str]:
        """Columns that it reads."""
        return self._prepared.columns(self._keys.columns)

    @property
    def function(self) -> PartitionPass:
        """From a frame of rows to sums, which `added` adds; small enough to be sent to every worker."""
        return self._prepared.with_keys(self._keys)

    def run(self) -> "PartitionedSubjects":
        """Pass over all partitions."""
        return self.subjects(self._prepared.run(self._keys, self._keys.columns))

    def subjects(self, *parts: PassSums) -> "PartitionedSubjects":
        """Make cells of what all rows left, in any order of the parts."""
        keys, sums = self._keys, PassSums.added(parts)
        size = keys.within.size
        ties = {RANKS: tuple(range(size, size + len(keys.judged)))}
        samples = self._prepared.samples(sums, ties, keys.within.places)
        return PartitionedSubjects.of(samples, self.metrics, self._prepared.data.classes, keys)


@dataclass(frozen=True, eq=False)
class PartitionedSubjects:
    """What is judged on a table in partitions, after one pass over it.

    Attributes
    ----------
    samples : dict of CellSample
        By table of cells.
    metrics : list of metrics
    classes : array
    keys : CellKeys
    """

    samples: Mapping[str, CellSample]
    metrics: Sequence[AnyMetric]
    classes: np.ndarray
    keys: CellKeys

    @classmethod
    def of(
        cls,
        samples: Mapping[str, CellSample],
        metrics: Sequence[AnyMetric],
        classes: np.ndarray,
        keys: CellKeys,
    ) -> "PartitionedSubjects":
        """Bins of calibration that hold no row are left out; means are what they were summed as."""
        found = cls(samples, metrics, classes, keys)
        kept: list[AnyMetric] = []
        for each in metrics:
            if table_of(each, found.paired).startswith(MEAN):
                kept.append(SummedMean(each))
            elif not isinstance(each, CalibrationBin) or each.rows(found.subject(each)).any():
                kept.append(each)
        return replace(found, metrics=kept)

    @property
    def paired(self) -> bool:
        """Whether two are compared."""
        return len(self.keys.judged) > 1

    def sample(self, metric: AnyMetric) -> CellSample:
        """Cells that a metric is computed from."""
        return self.samples[self._table(metric)]

    def subject(self, metric: AnyMetric, place: int = 0) -> CellSubject:
        """One of what is judged, on these cells."""
        table, key = self._table(metric), self.sample(metric).cells.key
        # Means of one number a row have groups alone.
        own = key[:, min(self.keys.within.size + place, key.shape[1] - 1)]
        return CellSubject(own, self.classes, table, self.keys.event, self.keys.bins)

    def cells(self, metric: AnyMetric) -> Mapping[Any, np.ndarray] | None:
        """Masks of the cells of each subgroup; None without subgroups."""
        return self.keys.within.masks(self.sample(metric).cells.key[:, 0])

    @property
    def seen(self) -> Seen:
        """What was decided and seen in every subgroup, if it was asked for."""
        cells = self.samples[OUTCOMES].cells
        masks = self.keys.within.masks(cells.key[:, 0])
        return Seen(masks or {}, cells.key[:, -1], cells.rows, cells.weights, cells.square_weights)

    def _table(self, metric: AnyMetric) -> str:
        return table_of(metric.metric if isinstance(metric, SummedMean) else metric, self.paired)


def read_metrics(metric: Any, classes: np.ndarray, pos_label: Any, cost: ArrayLike | None) -> list[AnyMetric]:
    """Metric objects of what the user asked for, of those that cells tell."""
    found: list[AnyMetric] = []
    for each in metric if isinstance(metric, list | tuple) else [metric]:
        found += named_metrics(each, classes, pos_label, cost) if isinstance(each, str) else [each]
    for each in found:
        if not isinstance(each, OF_CELLS):
            name = getattr(each, "name", each)
            raise InputError(
                f"metric {name!r} is not available on data in partitions; take rows into memory with "
                "data.sample(n).",
                "metric",
            )
    return found


def refuse_shares(assumptions: Sequence[Assumption], metrics: Sequence[AnyMetric], paired: bool) -> None:
    """Refuse means of one number a row under a known share: every row would have a multiplier of its own."""
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
    # What is wrong with predictions is said before the pass, by the rows at hand.
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
    asked: Asked, lazy: PartitionedLabels, thresholds: Array | None
) -> tuple[CellSample, Array, int, Array]:
    """Cut a score on a table in partitions: cells lie between thresholds."""
    (one,), within, prepared = prepared_for(asked, lazy)
    event = class_code(asked.pos_label, prepared.data.classes)
    cuts = thresholds
    if cuts is None:
        scores = one.subject(prepared.frame, prepared.data).score(event)
        cuts = default_thresholds(scores, weights=prepared.data.weights)
    keys = CutKeys(one, within, event, cuts)
    sample = prepared.samples(prepared.run(keys, keys.columns), {}, within.places)[RANKS]
    return sample, np.append(-np.inf, cuts)[sample.cells.key[:, -1]], event, cuts


def prepared_for(
    asked: Asked, lazy: PartitionedLabels, given: Mapping[str, Any] | None = None
) -> tuple[tuple[Judged, ...], Within, Prepared]:
    """Those who are judged, groups told apart, and models fitted; what is not available is refused before."""
    if asked.instrument != LENIENCY:
        raise InputError(
            "instrument= is not available on data in partitions; take rows into memory with data.sample(n).",
            "instrument",
        )
    lazy = lazy.with_jobs(asked.fitting.n_jobs)
    named = dict(zip(asked.names, asked.given, strict=True)) if given is None else given
    judged = tuple(Judged.read(each, lazy, name) for name, each in named.items())
    within = Within.read(asked.by, asked.assumption, lazy)
    columns = [name for each in judged for name in each.columns]
    classifiers = [each.given for each in judged]
    how = asked.assumption, asked.cluster, asked.fitting, [*columns, *within.columns], asked.label_range
    return judged, within, prepare(lazy, classifiers, *how)


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
    """`evaluate` on a table in partitions, for who has another engine than Dask: fit now, map later.

    Parameters
    ----------
    classifier, metric, assumption, by, pos_label, cost, cluster
        As for :func:`selective_labels.evaluate`.
    data : PartitionedLabels
        With a `case_id` or `groups`, unless frames are indexed by row numbers: hashes of these are folds.
    fitting
        nuisance, propensity, cv, n_repeats, n_jobs, random_state.

    Returns
    -------
    RowsPass
        ``function(frame)`` for every frame with the columns of ``columns``; then
        ``evaluate_judged(rows_pass.subjects(*parts))``.
    """
    settings = FittingSettings.read(**fitting)
    asked = Asked((classifier,), metric, assumption, cluster, settings, pos_label=pos_label, cost=cost, by=by)
    return RowsPass(asked, data)
