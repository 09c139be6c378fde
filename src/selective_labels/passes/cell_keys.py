"""Which cell a row of a partition belongs to: its predictions, bins of its scores, its subgroup."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.data import SelectiveLabels
from selective_labels.data.lazy import PartitionedLabels
from selective_labels.identification.bounds import Array
from selective_labels.measures.subject import Subject, read_subject
from selective_labels.support.errors import InputError

# Tables of cells: by predicted labels, by bins of scores.
LABELS, RANKS = "labels", "ranks"
# Values of a score that bins lie between; of two scores that are compared, each has so many fewer.
MOST_EDGES, MOST_EDGES_OF_TWO = 8192, 192


@dataclass(frozen=True, eq=False)
class Judged:
    """What is judged on a table in partitions: a fitted classifier, a column of predictions, or one class.

    Attributes
    ----------
    given : classifier, or class label
    column : str or None
        Of predicted labels, or of scores.
    name : str
        For messages.
    """

    given: Any
    column: str | None
    name: str

    @classmethod
    def read(cls, given: Any, lazy: PartitionedLabels, name: str) -> "Judged":
        """Understand what the user gave."""
        if hasattr(given, "predict"):
            return cls(given, None, name)
        if isinstance(given, str) and given in lazy.source.columns:
            return cls(None, given, name)
        if np.ndim(given) == 0 and given in lazy.classes.tolist():
            return cls(given, None, name)
        what = repr(given) if np.ndim(given) == 0 else f"an array of shape {np.shape(given)}"
        raise InputError(
            f"{name}: on data in partitions, give a fitted classifier, a class, or the name of a column of "
            f"predictions; got {what}.",
            "classifier" if name == "the classifier" else name,
        )

    def subject(self, frame: pd.DataFrame, data: SelectiveLabels) -> Subject:
        """The same on some rows."""
        if self.column is None:
            return read_subject(self.given, data, self.name)
        values = frame[self.column]
        if values.isna().any():
            raise InputError(
                f"{self.name}: column {self.column!r} has no prediction in {values.isna().sum():,} rows (the "
                f"first is row {int(values.index[values.isna()][0]) + 1:,}); give every case one.",
                "classifier",
            )
        return read_subject(values.to_numpy(), data, self.name)


@dataclass(frozen=True, eq=False)
class CellKeys:
    """From rows to keys; sent to other processes.

    Attributes
    ----------
    judged : tuple of Judged
    labels : bool
        Whether predicted labels are asked for.
    event : int
        The class whose scores are ranked.
    edges : tuple of arrays
        Values between which bins of each score lie; empty: ranks are not asked for.
    by : str or None
        Column of subgroups.
    subgroups : array
        Its sorted values.
    """

    judged: tuple[Judged, ...]
    labels: bool
    event: int = 0
    edges: tuple[np.ndarray, ...] = ()
    by: str | None = None
    subgroups: np.ndarray | None = None

    @property
    def columns(self) -> list[str]:
        """Columns that are read."""
        return [each for each in (*(judged.column for judged in self.judged), self.by) if each is not None]

    def __call__(self, frame: pd.DataFrame, data: SelectiveLabels) -> dict[str, np.ndarray]:
        """Keys of every row: one column for each that is judged, the last for the subgroup."""
        subjects = [each.subject(frame, data) for each in self.judged]
        subgroup = np.zeros(len(frame), dtype=int)
        if self.by is not None and self.subgroups is not None:
            subgroup = pd.Index(self.subgroups).get_indexer(pd.Index(frame[self.by]))
        found = {}
        if self.labels:
            found[LABELS] = np.column_stack([*(hard(each) for each in subjects), subgroup])
        if self.edges:
            bins = [
                binned(each.score(self.event), edges)
                for each, edges in zip(subjects, self.edges, strict=True)
            ]
            found[RANKS] = np.column_stack([*bins, subgroup])
        return found


@dataclass(frozen=True, eq=False)
class CutKeys:
    """From rows to how many thresholds their score reaches; sent to other processes."""

    judged: Judged
    event: int
    cuts: np.ndarray

    def __call__(self, frame: pd.DataFrame, data: SelectiveLabels) -> dict[str, np.ndarray]:
        """Keys of every row."""
        score = self.judged.subject(frame, data).score(self.event)
        return {RANKS: np.searchsorted(self.cuts, score, "right")[:, None]}


@dataclass(frozen=True, eq=False)
class CellSubject(Subject):
    """A classifier seen through cells: what is predicted in each, or in which bin its score lies."""

    key: np.ndarray
    classes: np.ndarray
    ranked: bool

    @cached_property
    def chosen(self) -> Array:
        """One-hot predictions."""
        if self.ranked:
            raise InputError("bins of a score predict nothing.", "classifier")
        return np.eye(len(self.classes))[self.key]

    @cached_property
    def probabilities(self) -> Array:
        """Refused: cells do not hold them."""
        raise InputError(
            "metrics of probabilities are not available on data in partitions; take rows into memory with "
            "data.sample(n).",
            "metric",
        )

    @property
    def has_scores(self) -> bool:
        """Whether cells are bins of a score."""
        return self.ranked

    def score(self, event: int) -> Array:
        """The bin."""
        return self.key.astype(float)


def hard(subject: Subject) -> np.ndarray:
    """Codes of predicted labels; a lottery over labels is refused."""
    chosen = subject.chosen
    codes = chosen.argmax(axis=1)
    if not (chosen[np.arange(len(codes)), codes] == 1.0).all():
        raise InputError(
            "on data in partitions, predictions must be labels; probabilities serve 'auc' only.", "classifier"
        )
    return codes


def edges_of(subjects: Sequence[Subject], event: int) -> tuple[np.ndarray, ...]:
    """Values that occur in a sample, all if they are few, else at equal steps of rank."""
    most = MOST_EDGES if len(subjects) == 1 else MOST_EDGES_OF_TWO
    found = []
    for each in subjects:
        values, times = np.unique(each.score(event), return_counts=True)
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
