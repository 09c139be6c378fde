"""Evaluation of tables in partitions: the same numbers from sums over cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selective_labels.assumptions import Assumption, Combination, Prevalence
from selective_labels.data import class_code, refuse_doubled
from selective_labels.data.lazy import PartitionedLabels
from selective_labels.evaluation.cell_keys import (
    LABELS,
    MEAN,
    RANKS,
    CellKeys,
    CellSubject,
    Judged,
    SummedMean,
    Within,
    edges_of,
    table_of,
)
from selective_labels.evaluation.metrics import (
    AnyMetric,
    Auc,
    BalancedAccuracy,
    CalibrationBin,
    Metric,
    ProbabilityMetric,
    RegretMetric,
)
from selective_labels.evaluation.named import named_metrics
from selective_labels.evaluation.policies import Policy
from selective_labels.evaluation.subject import UNNAMED
from selective_labels.inference.cell_sample import CellSample
from selective_labels.inference.sample import NO_RANGE
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.passes.partition_pass import PartitionPass, PassSums
from selective_labels.passes.partitioned import Prepared, prepare
from selective_labels.support.errors import InputError

LENIENCY, HUMAN = "leniency", "human"
# Metrics that cells tell: of predicted labels, of ranks, of bins, and means of one number a row.
OF_CELLS = (Metric, BalancedAccuracy, Auc, CalibrationBin, ProbabilityMetric, RegretMetric)


class RowsPass:
    """A question about a table in partitions, as a plain function of some of its rows.

    Models are fitted when it is made. Then its `function` is mapped over the rows by whichever engine there
    is, and :func:`selective_labels.evaluation.evaluate_partitions` makes results of what comes back.

    Parameters
    ----------
    given : sequence
        What is judged: one, or two that are compared.
    lazy : PartitionedLabels
    metrics : metric or sequence of metrics, as users give them
    assumption, cluster, fitting
        As for :func:`selective_labels.inference.sample.score_sample`.
    pos_label, cost, by, label_range
        As for :func:`selective_labels.evaluate`; `by` names a column.
    """

    def __init__(
        self,
        given: Sequence[Any],
        lazy: PartitionedLabels,
        metrics: Any,
        assumption: str | Assumption | Sequence[str | Assumption],
        cluster: str | None,
        fitting: FittingSettings,
        pos_label: Any = None,
        cost: ArrayLike | None = None,
        by: str | None = None,
        label_range: Any = NO_RANGE,
    ) -> None:
        names = [UNNAMED] if len(given) == 1 else ["a", "b"]
        if any(isinstance(each, Policy) for each in given):
            raise InputError(
                "a Policy is not evaluated on data in partitions; take rows into memory with data.sample(n).",
                names[0],
            )
        if len(given) > 1 and isinstance(given[1], str) and given[1] == HUMAN:
            raise InputError(
                "b='human' is not available on data in partitions; take rows into memory (data.sample(n)).",
                "b",
            )
        if by is not None and not isinstance(by, str):
            raise InputError.about("by", "is an array; on data in partitions it names a column.")
        if by is not None:
            lazy.require_columns("by", [by])
        judged = tuple(Judged.read(each, lazy, name) for each, name in zip(given, names, strict=True))
        stated = stated_groups(assumption)
        lazy.require_columns("assumption", list(stated))
        others = [*(name for each in judged for name in each.columns), *([] if by is None else [by]), *stated]
        classifiers = [each.given for each in judged]
        prepared = prepare(lazy, classifiers, assumption, cluster, fitting, others, label_range)
        self.metrics = read_metrics(metrics, prepared.data.classes, pos_label, cost)
        refuse_shares(prepared.passing.assumptions, self.metrics, len(judged) > 1)
        self.subgroups = None if by is None else lazy.survey([by]).values[by]
        self._keys = _keys(judged, prepared, self.metrics, Within(by, self.subgroups, stated))
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
        own = key[:, min(self.keys.within.size + place, key.shape[1] - 1)]
        return CellSubject(own, self.classes, table, self.keys.event, self.keys.bins)

    def cells(self, metric: AnyMetric) -> dict[Any, np.ndarray] | None:
        """Masks of the cells of each subgroup; None without subgroups."""
        if self.keys.within.subgroups is None:
            return None
        own = self.sample(metric).cells.key[:, 0]
        return {label: own == code for code, label in enumerate(self.keys.within.subgroups.tolist())}

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


def stated_groups(
    assumption: str | Assumption | Sequence[str | Assumption],
) -> dict[str, np.ndarray]:
    """Groups that known shares are about, by column."""
    wanted = [assumption] if isinstance(assumption, str | Assumption) else list(assumption)
    parts = [part for each in wanted for part in (each.parts if isinstance(each, Combination) else (each,))]
    found: dict[str, np.ndarray] = {}
    for part in parts:
        if isinstance(part, Prevalence) and part.by is not None:
            known = found.get(part.by, np.array([], dtype=object)).tolist()
            groups = [group for group, _ in part.ranges if group not in known]
            found[part.by] = np.array([*known, *groups], dtype=object)
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
    for metric in means:
        metric.functional(subjects[0])
    return CellKeys(judged, within, LABELS in tables, event, edges, bins, means)


def require_plain(roles: Mapping[str, Any], instrument: str) -> None:
    """Refuse roles that a table in partitions has already, and what is not available on one."""
    refuse_doubled(roles)
    if instrument != LENIENCY:
        raise InputError(
            "instrument= is not available on data in partitions; take rows into memory with data.sample(n).",
            "instrument",
        )


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
        ``evaluate_partitions(rows_pass.subjects(*parts))``.
    """
    settings = FittingSettings.read(fitting.pop("nuisance", None), **fitting)
    return RowsPass([classifier], data, metric, assumption, cluster, settings, pos_label, cost, by)
