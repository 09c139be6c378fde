"""Which cell a row of a partition belongs to: its predictions, bins of its scores, its subgroup."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._errors import InputError
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.combination import Combination
from selective_labels.assumptions.refused import Prevalence
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
from selective_labels.evaluation.predictions import Predictions, read_predictions
from selective_labels.identification.bounds import Array

# Tables of cells: by predicted labels, by bins of scores, by bins of a probability; and means row by row.
LABELS, RANKS, CALIBRATION, MEAN = "labels", "ranks", "calibration", "mean of "
# By what was decided and seen.
OUTCOMES = "outcomes"
# Values of a score that bins lie between; of two scores that are compared, each has so many fewer.
MOST_EDGES, MOST_EDGES_OF_TWO = 8192, 192


@dataclass(frozen=True, eq=False)
class Judged:
    """What is judged on a table in partitions: a fitted classifier, columns of predictions, or one class.

    Attributes
    ----------
    given : classifier, or class label
    columns : tuple of str
        One of predicted labels or scores, or one of probabilities for each class.
    name : str
        For messages.
    """

    given: Any
    columns: tuple[str, ...]
    name: str

    @classmethod
    def read(cls, given: Any, lazy: PartitionedLabels, name: str) -> "Judged":
        """Understand what the user gave."""
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
        """The same on some rows."""
        if not self.columns:
            return read_predictions(self.given, data, self.name)
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
    """Groups of rows that are told apart whatever is asked: subgroups, and those of known shares.

    Attributes
    ----------
    by : str, Periods or None
        Column of subgroups, or of dates that are cut into periods.
    subgroups : array or None
        Its sorted values; None of periods, which are numbered as they come.
    stated : dict of arrays
        Groups that a known share is about, by column.
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
        """Groups by a column that the user names, and those that assumptions are about."""
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
        """Columns that are read."""
        column = self.by.column if isinstance(self.by, Periods) else self.by
        return [*([] if column is None else [column]), *self.stated]

    @property
    def size(self) -> int:
        """How many keys they are: the first of all."""
        return 1 + len(self.stated)

    @property
    def places(self) -> dict[str, tuple[int, np.ndarray]]:
        """Of each column of a known share, which key it is, and the group of each code; others are None."""
        return {
            name: (place, np.array([None, *values.tolist()], dtype=object))
            for place, (name, values) in enumerate(self.stated.items(), start=1)
        }

    def masks(self, codes: np.ndarray) -> Mapping[Any, np.ndarray] | None:
        """Which cells are of which subgroup, from the first key; None without subgroups."""
        if isinstance(self.by, Periods):
            return self.by.masks(codes)
        if self.subgroups is None:
            return None
        return {label: codes == code for code, label in enumerate(self.subgroups.tolist())}

    def __call__(self, frame: pd.DataFrame) -> list[np.ndarray]:
        """Codes of every row."""
        subgroup = np.zeros(len(frame), dtype=int)
        if isinstance(self.by, Periods):
            subgroup = self.by.codes(frame)
        elif self.by is not None and self.subgroups is not None:
            subgroup = pd.Index(self.subgroups).get_indexer(pd.Index(frame[self.by]))
        groups = [
            pd.Index(values).get_indexer(pd.Index(frame[name])) + 1 for name, values in self.stated.items()
        ]
        return [subgroup, *groups]


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


@dataclass(frozen=True, eq=False)
class CellKeys:
    """From rows to tables of cells; sent to other processes.

    Attributes
    ----------
    judged : tuple of Judged
    within : Within
    labels : bool
        Whether predicted labels are asked for.
    event : int
        The class whose scores are ranked, or whose probability is binned.
    edges : tuple of arrays
        Values between which bins of each score lie; empty: ranks are not asked for.
    bins : array or None
        Ends of bins of the probability; None: they are not asked for.
    means : tuple of metrics
        Whose ends are means of one number a row.
    outcomes : bool
        Whether what was decided and seen is asked for too.
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
        """Columns that are read."""
        return [*(name for each in self.judged for name in each.columns), *self.within.columns]

    def __call__(self, frame: pd.DataFrame, data: SelectiveLabels) -> dict[str, CellTable]:
        """Keys of every row: groups, one for each that is judged, and where means may be made the outcome."""
        subjects = [each.subject(frame, data) for each in self.judged]
        within = self.within(frame)
        found = {}
        if self.outcomes:
            found[OUTCOMES] = CellTable(np.column_stack([*within, outcomes(data)]), clustered=False)
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
    """From rows to how many thresholds their score reaches; sent to other processes."""

    judged: Judged
    within: Within
    event: int
    cuts: np.ndarray

    @property
    def columns(self) -> list[str]:
        """Columns that are read."""
        return [*self.judged.columns, *self.within.columns]

    def __call__(self, frame: pd.DataFrame, data: SelectiveLabels) -> dict[str, CellTable]:
        """Keys of every row."""
        score = self.judged.subject(frame, data).score(self.event)
        cut = np.searchsorted(self.cuts, score, "right")
        return {RANKS: CellTable(np.column_stack([*self.within(frame), cut]))}


def table_of(metric: AnyMetric, paired: bool) -> str:
    """The table of cells that a metric, or the difference of two, is computed from."""
    if isinstance(metric, Auc):
        return RANKS
    if isinstance(metric, CalibrationBin):
        return CALIBRATION
    if isinstance(metric, ProbabilityMetric) or (isinstance(metric, RegretMetric) and not paired):
        return f"{MEAN}{metric.name}"
    return LABELS


@dataclass(frozen=True, eq=False)
class CellPredictions(Predictions):
    """A classifier seen through cells: what is predicted in each, or in which bin its score lies.

    Attributes
    ----------
    key : (n_cells,) int array
    classes : array
    table : str
        Which table of cells it is.
    event : int
    bins : array or None
        Ends of bins of the event's probability.
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
        """Lower ends of the bins of the event's probability."""
        assert self.bins is not None
        found = np.zeros((len(self.key), len(self.classes)))
        found[:, self.event] = np.append(-np.inf, self.bins)[self.key]
        return found

    @property
    def has_scores(self) -> bool:
        """Whether cells are bins of a score."""
        return self.table == RANKS

    def score(self, event: int) -> Array:
        """The bin."""
        return self.key.astype(float)


@dataclass(frozen=True)
class SummedMean(AnyMetric):
    """A metric whose ends were means of one number a row, as the share that they were summed as."""

    metric: AnyMetric

    @property
    def name(self) -> str:  # type: ignore[override]
        """The same."""
        return self.metric.name

    @property
    def greater_is_better(self) -> bool:  # type: ignore[override]
        """The same."""
        return self.metric.greater_is_better

    def functional(self, subject: Predictions) -> ShareOfFirst:
        """The share."""
        return ShareOfFirst()

    def difference(self, first: Predictions, second: Predictions) -> ShareOfFirst:
        """What was summed is the difference already."""
        return ShareOfFirst()

    def range(self, classes: np.ndarray) -> tuple[float, float]:
        """The same."""
        return self.metric.range(classes)


def outcomes(data: SelectiveLabels) -> np.ndarray:
    """0 where a case was refused, k + 1 where it was accepted with label k."""
    return np.where(data.y == HOLE, 0, data.y + 1)


def hard(subject: Predictions) -> np.ndarray:
    """Codes of predicted labels; a lottery over labels is refused."""
    chosen = subject.chosen
    codes = chosen.argmax(axis=1)
    if not (chosen[np.arange(len(codes)), codes] == 1.0).all():
        raise InputError(
            "on data in partitions, predictions must be labels; probabilities serve 'auc' only.", "classifier"
        )
    return codes


def edges_of(subjects: Sequence[Predictions], event: int) -> tuple[np.ndarray, ...]:
    """Values of scores of one class that bins lie between."""
    return edges_of_scores([each.score(event) for each in subjects])


def edges_of_scores(scores: Sequence[Array]) -> tuple[np.ndarray, ...]:
    """Values that occur in a sample, all if they are few, else at equal steps of rank."""
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
    """Odd bins hold one value, an edge; even bins lie between two.

    Examples
    --------
    >>> binned(np.array([0.0, 0.5, 0.7, 1.0, 2.0]), np.array([0.5, 1.0]))
    array([0, 1, 2, 3, 4])
    """
    return np.searchsorted(edges, score, "left") + np.searchsorted(edges, score, "right")
