"""Evaluation of tables in partitions: the same numbers from sums over cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selective_labels.assumptions import Assumption
from selective_labels.data import class_code
from selective_labels.data.lazy import PartitionedLabels
from selective_labels.identification.bounds import Array
from selective_labels.inference.cell_sample import CellSample
from selective_labels.inference.sample import NO_RANGE
from selective_labels.measures.asked import LENIENCY, Asked
from selective_labels.measures.metrics import AnyMetric, Auc, BalancedAccuracy, Metric
from selective_labels.measures.named import named_metrics
from selective_labels.measures.thresholds import default_thresholds
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.passes.cell_keys import LABELS, RANKS, CellKeys, CellSubject, CutKeys, Judged, edges_of
from selective_labels.passes.partition_pass import PartitionPass, PassSums
from selective_labels.passes.partitioned import Prepared, prepare
from selective_labels.support.errors import InputError

# Metrics that cells tell: of predicted labels, and of ranks.
OF_CELLS = (Metric, BalancedAccuracy, Auc)


class RowsPass:
    """A question about a table in partitions, as a plain function of some of its rows.

    Models are fitted when it is made. Then its `function` is mapped over the rows by whichever engine there
    is, and :func:`selective_labels.evaluation.evaluate_judged` makes results of what comes back.

    Parameters
    ----------
    asked : Asked
    lazy : PartitionedLabels
    """

    def __init__(self, asked: Asked, lazy: PartitionedLabels) -> None:
        by = asked.by
        if by is not None and not isinstance(by, str):
            raise InputError.about("by", "is an array; on data in partitions it names a column.")
        if by is not None:
            lazy.require_columns("by", [by])
        judged, prepared = _prepared(asked, lazy, [] if by is None else [by])
        self.metrics = read_metrics(asked.metric, prepared.data.classes, asked.pos_label, asked.cost)
        self.subgroups = None if by is None else lazy.survey([by]).values[by]
        self._keys = _keys(judged, prepared, self.metrics, by, self.subgroups)
        self._prepared, self._n_judged = prepared, len(judged)

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
        sums = PassSums.added(parts)
        ties = {RANKS: tuple(range(self._n_judged))}
        samples = self._prepared.samples(sums, ties)
        return PartitionedSubjects(samples, self.metrics, self._prepared.data.classes, self.subgroups)


@dataclass(frozen=True, eq=False)
class PartitionedSubjects:
    """What is judged on a table in partitions, after one pass over it.

    Attributes
    ----------
    samples : dict of CellSample
        By table of cells.
    metrics : list of metrics
    classes : array
    subgroups : array or None
    """

    samples: Mapping[str, CellSample]
    metrics: Sequence[AnyMetric]
    classes: np.ndarray
    subgroups: np.ndarray | None

    def sample(self, metric: AnyMetric) -> CellSample:
        """Cells that a metric is computed from."""
        return self.samples[RANKS if isinstance(metric, Auc) else LABELS]

    def subject(self, metric: AnyMetric, place: int = 0) -> CellSubject:
        """One of what is judged, on these cells."""
        key = self.sample(metric).cells.key
        return CellSubject(key[:, place], self.classes, isinstance(metric, Auc))

    def cells(self, metric: AnyMetric) -> dict[Any, np.ndarray] | None:
        """Masks of the cells of each subgroup; None without subgroups."""
        if self.subgroups is None:
            return None
        own = self.sample(metric).cells.key[:, -1]
        return {label: own == code for code, label in enumerate(self.subgroups.tolist())}


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


def _keys(
    judged: tuple[Judged, ...],
    prepared: Prepared,
    metrics: Sequence[AnyMetric],
    by: str | None,
    subgroups: np.ndarray | None,
) -> CellKeys:
    ranked = [each for each in metrics if isinstance(each, Auc)]
    events = {class_code(each.pos_label, prepared.data.classes) for each in ranked}
    if len(events) > 1:
        raise InputError("metric: on data in partitions, the AUC of one class at a time.", "metric")
    event = events.pop() if events else 0
    edges: tuple[np.ndarray, ...] = ()
    if ranked:
        subjects = [each.subject(prepared.frame, prepared.data) for each in judged]
        edges = edges_of(subjects, event)
    return CellKeys(judged, len(ranked) < len(metrics), event, edges, by, subgroups)


def cut_in_passing(
    asked: Asked, lazy: PartitionedLabels, thresholds: Array | None
) -> tuple[CellSample, Array, int, Array]:
    """Cut a score on a table in partitions: cells lie between thresholds."""
    judged, prepared = _prepared(asked, lazy)
    one = judged[0]
    event = class_code(asked.pos_label, prepared.data.classes)
    cuts = thresholds
    if cuts is None:
        scores = one.subject(prepared.frame, prepared.data).score(event)
        cuts = default_thresholds(scores, weights=prepared.data.weights)
    sums = prepared.run(CutKeys(one, event, cuts), [] if one.column is None else [one.column])
    sample = prepared.samples(sums, {})[RANKS]
    return sample, np.append(-np.inf, cuts)[sample.cells.key[:, 0]], event, cuts


def _prepared(
    asked: Asked, lazy: PartitionedLabels, others: Sequence[str] = ()
) -> tuple[tuple[Judged, ...], Prepared]:
    """Those who are judged, and models fitted; what is not available is refused before."""
    pairs = ("instrument", asked.instrument, LENIENCY), ("label_range", asked.label_range, NO_RANGE)
    for name, given, usual in pairs:
        if given != usual:
            raise InputError(
                f"{name}= is not available on data in partitions; take rows into memory with data.sample(n).",
                name,
            )
    judged = tuple(Judged.read(each, lazy, name) for each, name in zip(asked.given, asked.names, strict=True))
    columns = [each.column for each in judged if each.column is not None]
    classifiers = [each.given for each in judged]
    how = asked.assumption, asked.cluster, asked.fitting, [*columns, *others]
    return judged, prepare(lazy, classifiers, *how)


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
    settings = FittingSettings.read(fitting.pop("nuisance", None), **fitting)
    return RowsPass(Asked((classifier,), metric, assumption, cluster, settings, pos_label, cost, by), data)
