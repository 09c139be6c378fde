"""A selectively labeled table that is not in memory: its roles named, its rows read a part at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from selective_labels._errors import InputError, several
from selective_labels._validation import as_seed
from selective_labels.data.coding import TableCoding, as_numbers
from selective_labels.data.partition_sources import (
    LEVELS,
    SAMPLE,
    SPLIT,
    Source,
    over_parts,
    require_columns,
    uniform,
)
from selective_labels.data.partition_survey import RoleColumns, Survey, SurveyTask, combined_survey, finished
from selective_labels.data.roles import (
    HOLE,
    label_values,
    mean_one,
    read_assignment,
    read_weights,
    seen_labels,
)
from selective_labels.data.selective_labels import SelectiveLabels

# A class with fewer rows than this in a sample (in a small one, than this share of it) is drawn more often.
FEWEST_OF_CLASS, LEAST_SHARE = 1_000, 0.05
# Hashes draw a number of rows up to chance: so many standard deviations more are drawn, the surplus dropped.
SURPLUS = 4.0


@dataclass(frozen=True)
class Draw:
    """Rows whose rank, a hash divided by how often their class is wanted, is small; sent to other processes.

    Attributes
    ----------
    roles : RoleColumns
    seed : int
    share : float
        Ranks below it are drawn.
    often : dict of float
        By class: how many times as often as others its rows are drawn.
    """

    roles: RoleColumns
    seed: int
    share: float = 1.0
    often: Mapping[Any, float] = field(default_factory=dict)

    @classmethod
    def of(cls, roles: RoleColumns, seed: int, n_rows: int, n_all: int) -> "Draw":
        """About so many rows of all, a few more."""
        share = min((n_rows + SURPLUS * np.sqrt(n_rows)) / n_all, 1.0) if n_rows < n_all else 1.0
        return cls(roles, seed, float(share))

    def with_rare_classes(self, survey: Survey) -> "Draw":
        """Rows of rare classes more often. Groups stay together, so with groups all rows are alike."""
        if self.share >= 1.0 or self.roles.groups is not None:
            return self
        least = min(FEWEST_OF_CLASS, LEAST_SHARE * self.share * survey.n_rows)
        expected = {label: rows * self.share for label, rows in survey.class_rows.items()}
        return replace(self, often={label: least / each for label, each in expected.items() if each < least})

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Keep those that are drawn."""
        frame, _ = self.roles.rows(frame)
        return frame if self.share >= 1.0 else frame[self.ranks(frame) < self.share]

    def ranks(self, frame: pd.DataFrame) -> np.ndarray:
        """Rank of each row in the order in which rows are drawn."""
        drawn = uniform(self.roles.keys(frame), SAMPLE, self.seed)
        if not self.often:
            return drawn
        codes, classes = pd.factorize(outcomes_of(self.roles, frame))  # -1 where no label was seen
        times = np.array([*(self.often.get(each, 1.0) for each in classes.tolist()), 1.0])
        return drawn / times[codes]


def outcomes_of(roles: RoleColumns, frame: pd.DataFrame) -> np.ndarray:
    """Class of each row as it was read, None where no label was seen."""
    labels, seen, _ = seen_labels(frame[roles.label], roles.values(frame)["decision"], len(frame))
    found = np.full(len(frame), None, dtype=object)
    found[seen] = label_values(labels[seen])
    return found


def balancing_weights(draw: Draw, frame: pd.DataFrame, survey: Survey) -> np.ndarray | None:
    """What undoes that classes were drawn unequally: the table's weight of an outcome over the sample's.

    None if all rows had the same chance. One factor for each outcome of a large table: what a single row
    adds to its own is nothing that a model could learn.
    """
    if not draw.often:
        return None
    outcome = pd.Series(outcomes_of(draw.roles, frame))
    given = read_weights(draw.roles.values(frame)["sample_weight"], len(frame))
    weight = pd.Series(np.ones(len(frame)) if given is None else given)
    whole = dict(survey.class_weight)
    unseen = outcome.isna()
    factors = np.ones(len(frame))
    for label, mass in whole.items():
        here = (outcome == label).to_numpy()
        factors[here] = mass / max(weight[here].sum(), np.finfo(float).tiny)
    factors[unseen] = (survey.weight - sum(whole.values())) / max(weight[unseen].sum(), np.finfo(float).tiny)
    return mean_one(factors)


def reweighted(data: SelectiveLabels, factors: np.ndarray | None) -> SelectiveLabels:
    """The same rows with their weights times factors."""
    if factors is None:
        return data
    weight = factors if data.given_weight is None else factors * data.given_weight
    return replace(data, given_weight=weight, sample_weight=mean_one(weight))


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Rows of several parts."""
    return pd.concat(frames)


@dataclass(frozen=True, eq=False)
class PartitionReader:
    """Reads rows of any partition into the same codes; sent to other processes.

    Attributes
    ----------
    roles : RoleColumns
    features : tuple of str
    assignment : tuple of str
        Columns of known probabilities; empty if there are none.
    classes, decision_makers, strata : arrays
        Sorted; of the whole table.
    mean_weight : float
        Of the whole table.
    coding : TableCoding or None
        Of the features; None until rows were seen.
    """

    roles: RoleColumns
    features: tuple[str, ...]
    assignment: tuple[str, ...]
    classes: np.ndarray
    decision_makers: np.ndarray
    strata: np.ndarray
    mean_weight: float
    coding: TableCoding | None = None

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return list(dict.fromkeys([*self.roles.columns, *self.features, *self.assignment]))

    def coded(self, data: SelectiveLabels) -> SelectiveLabels:
        """Code rows that were read as a table of their own by what the whole table holds."""
        coded = data.coded_like(self.classes, self.decision_makers)
        strata = data.strata
        if strata is not None and data.stratum_labels is not None:
            strata = _codes(data.stratum_labels, self.strata, "strata")[strata]
        weight = None if data.given_weight is None else data.given_weight / self.mean_weight
        labels = None if strata is None else self.strata
        return replace(coded, strata=strata, stratum_labels=labels, sample_weight=weight, complete=False)

    def read(self, frame: pd.DataFrame) -> SelectiveLabels:
        """Some rows of the table, all of which are kept."""
        n_rows = len(frame)
        given = self.roles.values(frame)
        labels, seen, ignored = seen_labels(frame[self.roles.label], given["decision"], n_rows)
        y = np.full(n_rows, HOLE)
        y[seen] = _codes(label_values(labels[seen]), self.classes, "y")
        makers = np.zeros(n_rows, dtype=int) if self.roles.decision_maker is None else given["decision_maker"]
        strata, groups = given["strata"], given["groups"]
        weight = read_weights(given["sample_weight"], n_rows, part=True)
        X = frame[list(self.features)]
        known = frame[list(self.assignment)].to_numpy() if self.assignment else None
        return SelectiveLabels(
            X=X,
            features=self._numbers(X),
            y=y,
            decision=seen.astype(int),
            decision_maker=np.asarray(makers),
            decision_maker_codes=_codes(np.asarray(makers), self.decision_makers, "decision_maker"),
            classes=self.classes,
            decision_makers=self.decision_makers,
            ignored=ignored,
            sample_weight=None if weight is None else weight / self.mean_weight,
            given_weight=weight,
            groups=None if groups is None else pd.factorize(groups)[0],
            strata=None if strata is None else _codes(strata.to_numpy(), self.strata, "strata"),
            assignment=read_assignment(known, X, n_rows, len(self.decision_makers)),
            stratum_labels=None if strata is None else self.strata,
            categorical=() if self.coding is None else self.coding.categorical,
            coding=self.coding,
            names=self.roles.named,
            decision_given=self.roles.decision is not None,
            decision_makers_given=self.roles.decision_maker is not None,
            complete=False,
        )

    def _numbers(self, X: pd.DataFrame) -> np.ndarray:
        if self.coding is None:
            return np.zeros((len(X), 0))
        return as_numbers(self.coding.code(X)).astype(float, copy=False)


def _codes(values: np.ndarray, known: np.ndarray, role: str) -> np.ndarray:
    codes = pd.Index(known).get_indexer(pd.Index(values))
    if (codes < 0).any():  # the table has changed since it was counted
        stranger: Any = np.asarray(values)[codes < 0].tolist()[0]
        raise InputError.about(role, f"holds {stranger!r}, which was not there when the table was counted.")
    return codes


# Rows that checks and pages look at, unless said otherwise; models have a learning curve.
SAMPLE_ROWS = 200_000


@dataclass(frozen=True, repr=False, eq=False)
class PartitionedLabels:
    """Features, labels with holes, decisions, decision-makers, in partitions: a lazy SelectiveLabels.

    Make one with :meth:`SelectiveLabels.from_parquet` or :meth:`SelectiveLabels.from_dask`. `evaluate`,
    `compare`, `threshold_curve`, `diagnose` and `fit` take it as they take rows in memory. Models are fitted
    to a sample of the rows by hash; bounds and intervals use all rows.

    Attributes
    ----------
    source : ParquetSource or DaskSource
    roles : RoleColumns
    features : tuple of str
    assignment : tuple of str
        Columns of known probabilities of decision-makers.
    fit_rows : int or None
        Rows that models are fitted to; None: as many as their learning curve asks for.
    n_jobs : int or None
        Processes that read partitions, if no Dask client is active.
    keep_scores : str, Path or None
        Folder where scores of all rows are kept, and found again.
    """

    source: Source
    roles: RoleColumns
    features: tuple[str, ...]
    assignment: tuple[str, ...] = ()
    fit_rows: int | None = None
    n_jobs: int | None = None
    keep_scores: str | Path | None = None
    _surveys: dict[tuple[str, ...], Survey] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        source: Source,
        roles: RoleColumns,
        features: Sequence[str] | None,
        assignment: Sequence[str] | None,
        fit_rows: int | None,
        n_jobs: int | None,
        keep_scores: str | Path | None = None,
    ) -> "PartitionedLabels":
        """Check names and schema; nothing is read but the files' own descriptions."""
        wanted = [*roles.named.items(), *(("features", each) for each in features or ())]
        wanted += [("assignment", each) for each in assignment or ()]
        require_columns(wanted, source.columns)
        taken: dict[str, str] = {}
        for role, column in roles.named.items():
            if column in taken and {role, taken[column]} != {"groups", "case_id"}:
                raise InputError(f"Column {column!r} is given both as {taken[column]} and as {role}.", role)
            taken[column] = role
        used = {*taken, *(assignment or ())}
        for name in features or ():
            if name in used:
                raise InputError(f"Column {name!r} is given both as a role and as a feature.", "features")
        chosen = [each for each in source.columns if each not in used] if features is None else list(features)
        if not chosen:
            raise InputError("features: no column is left besides those with another role.", "features")
        if fit_rows is not None and fit_rows < 1:
            raise InputError(f"fit_rows={fit_rows} must be one or more.", "fit_rows")
        lazy = cls(source, roles, tuple(chosen), tuple(assignment or ()), fit_rows, n_jobs, keep_scores)
        source.check(lazy.columns)
        return lazy

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return list(dict.fromkeys([*self.roles.columns, *self.features, *self.assignment]))

    def __len__(self) -> int:
        if not self.roles.kept:
            return self.source.n_rows
        return self.survey().n_rows

    def __repr__(self) -> str:
        lines = [f"SelectiveLabels in partitions ({len(self):,} cases, {self.source.describe()})"]
        lines += [f"{role.replace('_', '-')}: {column!r}" for role, column in self.roles.named.items()]
        lines.append(f"features: {several(list(self.features))}")
        rows = "as many cases as their learning curve asks for"
        if self.fit_rows is not None:
            rows = f"{min(self.fit_rows, len(self)):,} cases"
        lines.append(f"models are fitted to {rows}; bounds and intervals use all")
        return "\n  ".join(lines)

    @property
    def X(self) -> NoReturn:  # noqa: N802 (as of SelectiveLabels)
        """Refused: rows are not in memory."""
        self._refuse("X")

    @property
    def y(self) -> NoReturn:
        """Refused: rows are not in memory."""
        self._refuse("y")

    @property
    def decision(self) -> NoReturn:
        """Refused: rows are not in memory."""
        self._refuse("decision")

    @property
    def decision_maker(self) -> NoReturn:
        """Refused: rows are not in memory."""
        self._refuse("decision_maker")

    def _refuse(self, name: str) -> NoReturn:
        raise InputError(
            f"the table is in partitions, and {name} is not in memory; data.sample(10_000).{name} has it for "
            "a sample of the rows.",
            name,
        )

    @property
    def classes(self) -> np.ndarray:
        """Sorted classes."""
        return self.survey().classes

    @property
    def decision_makers_given(self) -> bool:
        """Whether a column says who decided."""
        return self.roles.decision_maker is not None

    @property
    def decision_makers(self) -> np.ndarray:
        """Sorted ids."""
        return self.survey().decision_makers

    def survey(self, others: Sequence[str] = ()) -> Survey:
        """Counts of the table, by one look at the columns of roles; remembered."""
        wanted = tuple(others)
        self.require_columns("by", wanted)
        if wanted not in self._surveys:
            columns = list(dict.fromkeys([*self.roles.columns, *wanted]))
            task = SurveyTask(self.roles, wanted)
            found = self.over_rows(columns, task, combined_survey, "counting")
            self._surveys[wanted] = finished(found)
        return self._surveys[wanted]

    def require_columns(self, role: str, wanted: Sequence[str]) -> None:
        """Raise if a column with this role does not exist."""
        require_columns([(role, each) for each in wanted], self.source.columns)

    def over_rows(self, columns: Sequence[str], task: Any, combine: Any, what: str = "") -> Any:
        """Combine what a plain function says of all rows; see :func:`partitions.engine.over_parts`."""
        return over_parts(self.source, columns, task, combine, n_jobs=self.n_jobs, what=what)

    def with_jobs(self, n_jobs: int | None) -> "PartitionedLabels":
        """The same table, read by so many processes unless it says itself by how many."""
        return self if n_jobs is None or self.n_jobs is not None else replace(self, n_jobs=n_jobs)

    @cached_property
    def reader(self) -> PartitionReader:
        """Reads rows into codes of the whole table; features are not coded yet."""
        survey = self.survey()
        return PartitionReader(
            self.roles,
            self.features,
            self.assignment,
            survey.classes,
            survey.decision_makers,
            survey.strata,
            survey.weight / survey.n_rows,
        )

    def take(self, rows: int | float, random_state: Any = None) -> "PartitionedLabels":
        """Keep a share of the rows (or about so many) by hash, groups together; nothing is read.

        Row numbers mean nothing where partitions are read in any order, so none are taken.
        """
        if isinstance(rows, bool) or not isinstance(rows, int | float | np.number):
            raise InputError(
                "rows: a table in partitions has no row numbers; give a share or a number of rows.", "rows"
            )
        share = self._share(rows, "rows")
        return self._part(as_seed(random_state) or 0, 0.0, share)

    def split(
        self, test_size: float | int = 0.5, random_state: Any = None
    ) -> tuple["PartitionedLabels", "PartitionedLabels"]:
        """Two parts at random, by hash: groups (cases) stay together; nothing is read.

        Parameters
        ----------
        test_size : float or int
            Share of the rows in the second part, or about so many of them.
        random_state : int, RandomState or None
            None is 0: parts must be the same whenever they are read.
        """
        share = self._share(test_size, "test_size")
        seed = as_seed(random_state) or 0
        return self._part(seed, share, 1.0), self._part(seed, 0.0, share)

    def _share(self, size: float | int, argument: str) -> float:
        share = size / len(self) if isinstance(size, int | np.integer) else float(size)
        if not 0.0 < share < 1.0:
            raise InputError(f"{argument}={size!r} must leave rows on both sides.", argument)
        return share

    def _part(self, seed: int, low: float, high: float) -> "PartitionedLabels":
        # A part of a part is drawn anew, also with the same seed.
        purpose = SPLIT + LEVELS * len(self.roles.kept)
        kept = (*self.roles.kept, (purpose, seed, low, high))
        return replace(self, roles=replace(self.roles, kept=kept), _surveys={})

    def sample_frame(self, n_rows: int, seed: int = 0, others: Sequence[str] = ()) -> pd.DataFrame:
        """About so many rows by hash as a frame, in their order; all if there are no more."""
        return self.drawn(Draw.of(self.roles, seed, n_rows, len(self)), n_rows, others).sort_index()

    def drawn(self, draw: Draw, n_rows: int, others: Sequence[str] = ()) -> pd.DataFrame:
        """So many rows of lowest rank as a frame, in the order of their ranks; whole groups."""
        columns = list(dict.fromkeys([*self.columns, *others]))
        frame = self.over_rows(columns, draw, joined, "drawing a sample")
        if frame is None or not len(frame):
            raise InputError("the sample has no row; raise fit_rows.", "fit_rows")
        ranks = draw.ranks(frame)
        order = np.lexsort((frame.index, ranks))
        if len(frame) > n_rows:
            order = order[ranks[order] <= ranks[order[n_rows - 1]]]
        return frame.iloc[order]

    def sample(self, n_rows: int | None = None, random_state: Any = None) -> SelectiveLabels:
        """About so many rows in memory (default: `fit_rows`, or 200,000), by hash, groups together.

        Coded by what occurs in them, as a table of their own.
        """
        rows = (self.fit_rows or SAMPLE_ROWS) if n_rows is None else n_rows
        return self.in_memory(self.sample_frame(rows, as_seed(random_state) or 0))

    def checked_sample(self, random_state: Any = None) -> SelectiveLabels:
        """The same; refused if a class of the table is not among its rows."""
        data = self.sample(None, random_state)
        self.require_all_classes(data)
        return data

    def require_all_classes(self, sample: SelectiveLabels) -> None:
        """Refuse to fit where a sample has missed a class of the table."""
        missed = set(self.classes.tolist()) - set(sample.classes.tolist())
        if missed:
            raise InputError(
                f"fit_rows: no row of class {missed.pop()!r} is among the {len(sample):,} that models are "
                "fitted to; raise fit_rows.",
                "fit_rows",
            )

    def in_memory(self, frame: pd.DataFrame) -> SelectiveLabels:
        """Rows of a frame as a table of their own."""
        names = self.roles.named
        if "decision_maker" not in names:
            raise InputError("decision_maker is missing: name the column of who decided.", "decision_maker")
        label, maker = names["label"], names["decision_maker"]
        assignment = list(self.assignment) or None
        return SelectiveLabels.from_frame(
            frame,
            label,
            decision_maker=maker,
            features=list(self.features),
            assignment=assignment,
            decision=names.get("decision"),
            sample_weight=names.get("sample_weight"),
            groups=names.get("groups"),
            strata=names.get("strata"),
        )
