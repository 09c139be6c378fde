"""Evaluation of tables in partitions: the same numbers from sums over cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selective_labels.assumptions import Assumption
from selective_labels.data import class_code, refuse_doubled
from selective_labels.data.lazy import PartitionedLabels
from selective_labels.evaluation.cell_keys import LABELS, RANKS, CellKeys, CellSubject, Judged, edges_of
from selective_labels.evaluation.metrics import AnyMetric, Auc, BalancedAccuracy, Metric
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
# Metrics that cells tell: of predicted labels, and of ranks.
OF_CELLS = (Metric, BalancedAccuracy, Auc)


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
    pos_label, cost, by
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
        others = [each for each in (*(one.column for one in judged), by) if each is not None]
        prepared = prepare(lazy, [each.given for each in judged], assumption, cluster, fitting, others)
        self.metrics = read_metrics(metrics, prepared.data.classes, pos_label, cost)
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


def require_plain(roles: Mapping[str, Any], instrument: str, label_range: Any) -> None:
    """Refuse roles that a table in partitions has already, and what is not available on one."""
    refuse_doubled(roles)
    for name, given, usual in (("instrument", instrument, LENIENCY), ("label_range", label_range, NO_RANGE)):
        if given != usual:
            raise InputError(
                f"{name}= is not available on data in partitions; take rows into memory with data.sample(n).",
                name,
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
