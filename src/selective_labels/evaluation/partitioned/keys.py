"""Keys that assign the rows of a partition to cells: predictions, bins of scores, subgroups and outcomes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._errors import InputError
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.combination import Combination
from selective_labels.assumptions.refused import Prevalence, in_group
from selective_labels.data.partitioned import PartitionedLabels
from selective_labels.data.roles import HOLE
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.evaluation.metrics import (
    AnyMetric,
    Auc,
    CalibrationBin,
    ProbabilityMetric,
    RegretMetric,
)
from selective_labels.evaluation.partitioned.cells import RowMean, ShareOfFirst
from selective_labels.evaluation.partitioned.partition_pass import CellTable
from selective_labels.evaluation.periods import Periods
from selective_labels.evaluation.predictions import (
    HumanPredictions,
    Predictions,
    is_human,
    read_predictions,
)
from selective_labels.identification.bounds import Array

# Tables of cells: by predicted label, by bins of scores, by bins of a probability, and means by row.
LABELS, RANKS, CALIBRATION, MEAN = "labels", "ranks", "calibration", "mean of "
# Table of cells by decision and observed label.
OUTCOMES = "outcomes"
# Largest number of edges of the bins of a score: for one score, and for each of two compared scores.
MOST_EDGES, MOST_EDGES_OF_TWO = 8192, 192


@dataclass(frozen=True, eq=False)
class Judged:
    """Predictions on a partitioned table: a fitted classifier, columns of predictions, or one class.

    Attributes
    ----------
    columns : tuple of str
        One column of predicted labels or scores, or one column of probabilities for each class.
    name : str
        Name in messages.
    pos_label : class label or None
        The event that a refusal by the human predicts.
    """

    given: Any
    columns: tuple[str, ...]
    name: str
    pos_label: Any = None

    @classmethod
    def read(cls, given: Any, lazy: PartitionedLabels, name: str, pos_label: Any = None) -> "Judged":
        """Read a classifier, column names, a class label or "human"."""
        if is_human(given):
            return cls(given, (), name, pos_label)
        if hasattr(given, "predict"):
            return cls(given, (), name)
        columns = (
            (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else ()
        )
        if columns and all(isinstance(each, str) and each in lazy.source.columns for each in columns):
            return cls(None, columns, name)
        if np.ndim(given) == 0 and given in lazy.classes.tolist():
            return cls(given, (), name)
        what = repr(given) if np.ndim(given) == 0 else f"an array of shape {np.shape(given)}"
        raise InputError(
            f"{name}: on data in partitions, give a fitted classifier, a class, or the name of a column of "
            f"predictions (of probabilities: a list of columns, one for each class); got {what}.",
            "classifier" if name == "the classifier" else name,
        )

    def subject(self, frame: pd.DataFrame, data: SelectiveLabels) -> Predictions:
        """Return the predictions on some rows."""
        if not self.columns:
            return read_predictions(self.given, data, self.name, self.pos_label)
        for column in self.columns:
            missing = frame[column].isna()
            if missing.any():
                raise InputError(
                    f"{self.name}: column {column!r} has no prediction in {missing.sum():,} rows (the "
                    f"first is row {int(frame.index[missing][0]) + 1:,}); give every case one.",
                    "classifier",
                )
        values = frame[list(self.columns)].to_numpy()
        return read_predictions(values[:, 0] if len(self.columns) == 1 else values, data, self.name)


@dataclass(frozen=True, eq=False)
class Within:
    """Groups that separate rows in every table of cells: subgroups, and the groups of known shares.

    Attributes
    ----------
    by : str, Periods or None
        Column of subgroups, or of dates with the length of the periods.
    subgroups : array or None
        Sorted values of the column; None for periods, which have their own numbers.
    stated : dict of arrays
        Groups with a known share, by column.
    """

    by: str | Periods | None = None
    subgroups: np.ndarray | None = None
    stated: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        by: Any,
        assumption: str | Assumption | Sequence[str | Assumption],
        lazy: PartitionedLabels,
    ) -> "Within":
        """Read the column of subgroups, and the groups of the assumptions."""
        if by is not None and not isinstance(by, str | Periods):
            raise InputError.about("by", "is an array; on data in partitions it names a column.")
        stated = stated_groups(assumption)
        lazy.require_columns("assumption", list(stated))
        if isinstance(by, Periods):
            lazy.require_columns("period", [by.column])
        if not isinstance(by, str):
            return cls(by, stated=stated)
        lazy.require_columns("by", [by])
        return cls(by, lazy.survey([by]).values[by], stated)

    @property
    def columns(self) -> list[str]:
        """Columns to read."""
        column = self.by.column if isinstance(self.by, Periods) else self.by
        return [*([] if column is None else [column]), *self.stated]

    @property
    def size(self) -> int:
        """Number of these keys, which come before all others."""
        return 1 + len(self.stated)

    @property
    def places(self) -> dict[str, tuple[int, np.ndarray]]:
        """By column with a known share: the position of its key, and the group of each code (or None)."""
        return {
            name: (place, np.array([None, *values.tolist()], dtype=object))
            for place, (name, values) in enumerate(self.stated.items(), start=1)
        }

    def masks(self, codes: np.ndarray) -> Mapping[Any, np.ndarray] | None:
        """Return a mask of cells for each subgroup, from the first key; None without subgroups."""
        if isinstance(self.by, Periods):
            return self.by.masks(codes)
        if self.subgroups is None:
            return None
        return {label: codes == code for code, label in enumerate(self.subgroups.tolist())}

    def __call__(self, frame: pd.DataFrame) -> list[np.ndarray]:
        """Return the codes of every row."""
        subgroup = np.zeros(len(frame), dtype=int)
        if isinstance(self.by, Periods):
            subgroup = self.by.codes(frame)
        elif self.by is not None and self.subgroups is not None:
            subgroup = pd.Index(self.subgroups).get_indexer(pd.Index(frame[self.by]))
        return [subgroup, *(_group_codes(frame[name], values) for name, values in self.stated.items())]


def _group_codes(column: pd.Series, groups: np.ndarray) -> np.ndarray:
    """Return 1 for rows of the first group, 2 for the second, and so on; 0 for rows of none."""
    codes = np.zeros(len(column), dtype=int)
    for place, group in enumerate(groups.tolist(), start=1):
        codes[in_group(column, group)] = place
    return codes


def stated_groups(
    assumption: str | Assumption | Sequence[str | Assumption],
) -> dict[str, np.ndarray]:
    """Return the groups with a known share, by column."""
    wanted = [assumption] if isinstance(assumption, str | Assumption) else list(assumption)
    parts = [part for each in wanted for part in (each.parts if isinstance(each, Combination) else (each,))]
    found: dict[str, np.ndarray] = {}
    for part in parts:
        if isinstance(part, Prevalence) and part.by is not None:
            known = found.get(part.by, np.array([], dtype=object)).tolist()
            groups = [group for group, _ in part.ranges if group not in known]
            found[part.by] = np.array([*known, *groups], dtype=object)
    return found


@dataclass(frozen=True, eq=False)
class CellKeys:
    """Maps rows to tables of cells; sent to other processes.

    Attributes
    ----------
    labels : bool
        Whether predicted labels are needed.
    event : int
        The class whose scores are ranked, or whose probability is binned.
    edges : tuple of arrays
        Edges of the bins of each score; empty if ranks are not needed.
    bins : array or None
        Edges of the bins of the probability; None if they are not needed.
    means : tuple of metrics
        Metrics whose bounds are means of one number per row.
    outcomes : bool
        Whether to count decisions and labels, too.
    """

    judged: tuple[Judged, ...]
    within: Within
    labels: bool
    event: int = 0
    edges: tuple[np.ndarray, ...] = ()
    bins: np.ndarray | None = None
    means: tuple[AnyMetric, ...] = ()
    outcomes: bool = False

    @property
    def columns(self) -> list[str]:
        """Columns to read."""
        return [*(name for each in self.judged for name in each.columns), *self.within.columns]

    def __call__(self, frame: pd.DataFrame, data: SelectiveLabels) -> dict[str, CellTable]:
        """Return the keys of every row: groups, predictions, and the outcome where plans need it."""
        subjects = [each.subject(frame, data) for each in self.judged]
        within = self.within(frame)
        found = {}
        if self.outcomes:
            found[OUTCOMES] = CellTable(np.column_stack([*within, outcomes(data)]))
        if self.labels:
            codes = [hard(each) for each in subjects]
            found[LABELS] = CellTable(np.column_stack([*within, *codes, outcomes(data)]))
        if self.edges:
            bins = [
                binned(each.score(self.event), edges)
                for each, edges in zip(subjects, self.edges, strict=True)
            ]
            found[RANKS] = CellTable(np.column_stack([*within, *bins]))
        if self.bins is not None:
            shown = [each.probabilities[:, self.event] for each in subjects]
            bins = [np.searchsorted(self.bins, each, "right") for each in shown]
            found[CALIBRATION] = CellTable(np.column_stack([*within, *bins, outcomes(data)]))
        for metric in self.means:
            mean = metric.functional(subjects[0]) if len(subjects) == 1 else metric.difference(*subjects)
            assert isinstance(mean, RowMean)
            found[f"{MEAN}{metric.name}"] = CellTable(np.column_stack(within), mean)
        return found


@dataclass(frozen=True, eq=False)
class CutKeys:
    """Maps rows to the number of thresholds that their score reaches; sent to other processes."""

    judged: Judged
    within: Within
    event: int
    cuts: np.ndarray

    @property
    def columns(self) -> list[str]:
        """Columns to read."""
        return [*self.judged.columns, *self.within.columns]

    def __call__(self, frame: pd.DataFrame, data: SelectiveLabels) -> dict[str, CellTable]:
        """Return the keys of every row."""
        score = self.judged.subject(frame, data).score(self.event)
        cut = np.searchsorted(self.cuts, score, "right")
        return {RANKS: CellTable(np.column_stack([*self.within(frame), cut]))}


def table_of(metric: AnyMetric, paired: bool) -> str:
    """Return the table of cells from which a metric, or the difference of two, is computed."""
    if isinstance(metric, Auc):
        return RANKS
    if isinstance(metric, CalibrationBin):
        return CALIBRATION
    if isinstance(metric, ProbabilityMetric) or (isinstance(metric, RegretMetric) and not paired):
        return f"{MEAN}{metric.name}"
    return LABELS


@dataclass(frozen=True, eq=False)
class CellPredictions(Predictions):
    """Predictions on cells: the predicted class of each cell, or the bin of its score.

    Attributes
    ----------
    key : (n_cells,) int array
    table : str
        Name of the table of cells.
    bins : array or None
        Edges of the bins of the event's probability.
    """

    key: np.ndarray
    classes: np.ndarray
    table: str
    event: int = 0
    bins: np.ndarray | None = None

    @cached_property
    def chosen(self) -> Array:
        """One-hot predictions."""
        if self.table != LABELS:
            raise InputError("bins of a score predict nothing.", "classifier")
        return np.eye(len(self.classes))[self.key]

    @cached_property
    def probabilities(self) -> Array:
        """Lower edges of the bins of the event's probability."""
        assert self.bins is not None
        found = np.zeros((len(self.key), len(self.classes)))
        found[:, self.event] = np.append(-np.inf, self.bins)[self.key]
        return found

    @property
    def has_scores(self) -> bool:
        """Whether cells are bins of a score."""
        return self.table == RANKS

    def score(self, event: int) -> Array:
        """Return the bin."""
        return self.key.astype(float)


@dataclass(frozen=True)
class SummedMean(AnyMetric):
    """A metric whose bounds are means of one number per row, read from the share as which it was summed."""

    metric: AnyMetric

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name of the metric."""
        return self.metric.name

    @property
    def greater_is_better(self) -> bool:  # type: ignore[override]
        """As in the metric."""
        return self.metric.greater_is_better

    def functional(self, subject: Predictions) -> ShareOfFirst:
        """Return the share."""
        return ShareOfFirst()

    def difference(self, first: Predictions, second: Predictions) -> ShareOfFirst:
        """Return the share: the sums are those of the difference."""
        return ShareOfFirst()

    def range(self, classes: np.ndarray) -> tuple[float, float]:
        """As in the metric."""
        return self.metric.range(classes)


def outcomes(data: SelectiveLabels) -> np.ndarray:
    """Return 0 for refused cases, k + 1 for cases accepted with label k."""
    return np.where(data.y == HOLE, 0, data.y + 1)


def hard(subject: Predictions) -> np.ndarray:
    """Return the codes of predicted labels; raise an error for random predictions.

    The human needs none: every cell has one outcome, and so one decision.
    """
    if isinstance(subject, HumanPredictions):
        return np.zeros(len(subject.cases.y), dtype=int)
    chosen = subject.chosen
    codes = chosen.argmax(axis=1)
    if not (chosen[np.arange(len(codes)), codes] == 1.0).all():
        raise InputError(
            "on data in partitions, predictions must be labels; probabilities serve 'auc' only.", "classifier"
        )
    return codes


def edges_of(subjects: Sequence[Predictions], event: int) -> tuple[np.ndarray, ...]:
    """Return the edges of the bins of the scores of one class."""
    return edges_of_scores([each.score(event) for each in subjects])


def edges_of_scores(scores: Sequence[Array]) -> tuple[np.ndarray, ...]:
    """Return values that occur in a sample: all of them if they are few, else quantiles."""
    most = MOST_EDGES if len(scores) == 1 else MOST_EDGES_OF_TWO
    found = []
    for score in scores:
        values, times = np.unique(score, return_counts=True)
        if len(values) > most:
            steps = np.linspace(0.0, 1.0, most) * times.sum()
            values = np.unique(values[np.minimum(np.searchsorted(np.cumsum(times), steps), len(values) - 1)])
        found.append(values)
    return tuple(found)


def binned(score: Array, edges: np.ndarray) -> np.ndarray:
    """Return bins: odd ones hold one value, an edge; even ones lie between two edges.

    Examples
    --------
    >>> binned(np.array([0.0, 0.5, 0.7, 1.0, 2.0]), np.array([0.5, 1.0]))
    array([0, 1, 2, 3, 4])
    """
    return np.searchsorted(edges, score, "left") + np.searchsorted(edges, score, "right")
