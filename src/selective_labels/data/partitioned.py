"""Selectively labeled tables larger than memory: reading, sampling and splitting by partition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
import pandas as pd

from selective_labels._errors import InputError, several
from selective_labels._validation import as_seed
from selective_labels._vocabulary import ACCEPT, Vocabulary
from selective_labels.data.coding import TableCoding, as_numbers
from selective_labels.data.partition_sources import Source, over_parts, require_columns
from selective_labels.data.partition_survey import RoleColumns, Survey, SurveyTask, combined_survey, finished
from selective_labels.data.relations import Condition, RelationSource
from selective_labels.data.roles import (
    HOLE,
    label_values,
    mean_one,
    read_assignment,
    read_weights,
    seen_labels,
)
from selective_labels.data.row_hash import LEVELS, SAMPLE, SIZE, SPLIT, HashRange, row_hash, uniform
from selective_labels.data.selective_labels import SelectiveLabels

# A class with fewer sampled rows (or, in a small sample, a smaller share of it) is oversampled.
FEWEST_OF_CLASS, LEAST_SHARE = 1_000, 0.05
# The number of rows drawn by hash is random, so this many standard deviations more are drawn.
SURPLUS = 4.0


@dataclass(frozen=True)
class Draw:
    """Sampling by hash: a row is drawn if its hash, divided by its class's sampling factor, is small.

    Sent to worker processes.

    Attributes
    ----------
    share : float
        Rows with a rank below it are drawn.
    often : dict of float
        Sampling factor of each oversampled class, relative to the others.
    """

    roles: RoleColumns
    seed: int
    share: float = 1.0
    often: Mapping[Any, float] = field(default_factory=dict)

    @classmethod
    def of(cls, roles: RoleColumns, seed: int, n_rows: int, n_all: int) -> "Draw":
        """Draw slightly more than `n_rows` of `n_all` rows."""
        share = min((n_rows + SURPLUS * np.sqrt(n_rows)) / n_all, 1.0) if n_rows < n_all else 1.0
        return cls(roles, seed, float(share))

    def with_rare_classes(self, survey: Survey) -> "Draw":
        """Oversample rare classes. With groups, all rows keep the same rank because groups stay together."""
        if self.share >= 1.0 or self.roles.groups is not None:
            return self
        least = min(FEWEST_OF_CLASS, LEAST_SHARE * self.share * survey.n_rows)
        expected = {label: rows * self.share for label, rows in survey.class_rows.items()}
        return replace(self, often={label: least / each for label, each in expected.items() if each < least})

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the drawn rows of a frame."""
        frame, _ = self.roles.rows(frame)
        return frame if self.share >= 1.0 else frame[self.ranks(frame) < self.share]

    def condition(self, key: Any) -> Any:
        """Condition of an engine, from its expression of the key of a case: holds in all drawn rows."""
        hashed, label = row_hash(key, SAMPLE, self.seed), nw.col(self.roles.label)
        found = hashed < ceil(self.share * SIZE)
        for value, times in self.often.items():
            found |= (label == value) & (hashed < ceil(min(self.share * times, 1.0) * SIZE))
        return found

    def ranks(self, frame: pd.DataFrame) -> np.ndarray:
        """Rank of each row. Rows with lower ranks are drawn first."""
        drawn = uniform(self.roles.keys(frame), SAMPLE, self.seed)
        if not self.often:
            return drawn
        codes, classes = pd.factorize(outcomes_of(self.roles, frame))  # -1 where the label is unobserved
        times = np.array([*(self.often.get(each, 1.0) for each in classes.tolist()), 1.0])
        return drawn / times[codes]


def outcomes_of(roles: RoleColumns, frame: pd.DataFrame) -> np.ndarray:
    """Class of each row as read, None where the label is unobserved."""
    labels, seen, _ = seen_labels(frame[roles.label], roles.values(frame)["decision"], len(frame))
    found = np.full(len(frame), None, dtype=object)
    found[seen] = label_values(labels[seen])
    return found


def balancing_weights(draw: Draw, frame: pd.DataFrame, survey: Survey) -> np.ndarray | None:
    """Weights that undo unequal sampling: an outcome's weight in the table over its weight in the sample.

    None if all rows had the same sampling probability. There is one factor for each outcome of the whole
    table. The contribution of a single row to its own factor is negligible.
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
    """Multiply the weights of the rows by factors."""
    if factors is None:
        return data
    weight = factors if data.given_weight is None else factors * data.given_weight
    return replace(data, given_weight=weight, sample_weight=mean_one(weight))


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the rows of several parts."""
    return pd.concat(frames)


@dataclass(frozen=True, eq=False)
class PartitionReader:
    """Read rows of any partition into the codes of the whole table. Sent to worker processes.

    Attributes
    ----------
    assignment : tuple of str
        Columns of known assignment probabilities. Empty if there are none.
    classes, decision_makers, strata : arrays
        Sorted values in the whole table.
    mean_weight : float
        Mean weight in the whole table.
    coding : TableCoding or None
        Coding of the features. None until it has been learned from rows.
    vocabulary : Vocabulary
        Words of the domain, and what a yes means.
    """

    roles: RoleColumns
    features: tuple[str, ...]
    assignment: tuple[str, ...]
    classes: np.ndarray
    decision_makers: np.ndarray
    strata: np.ndarray
    mean_weight: float
    coding: TableCoding | None = None
    vocabulary: Vocabulary = field(default_factory=lambda: Vocabulary().meaning())

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return list(dict.fromkeys([*self.roles.columns, *self.features, *self.assignment]))

    def coded(self, data: SelectiveLabels) -> SelectiveLabels:
        """Recode rows, which were read as a table of their own, with the codes of the whole table."""
        coded = data.coded_like(self.classes, self.decision_makers)
        strata = data.strata
        if strata is not None and data.stratum_labels is not None:
            strata = _codes(data.stratum_labels, self.strata, "strata")[strata]
        weight = None if data.given_weight is None else data.given_weight / self.mean_weight
        labels = None if strata is None else self.strata
        return replace(
            coded,
            strata=strata,
            stratum_labels=labels,
            sample_weight=weight,
            complete=False,
            vocabulary=self.vocabulary,
        )

    def read(self, frame: pd.DataFrame) -> SelectiveLabels:
        """Read all rows of a frame."""
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
            vocabulary=self.vocabulary,
            complete=False,
        )

    def _numbers(self, X: pd.DataFrame) -> np.ndarray:
        if self.coding is None:
            return np.zeros((len(X), 0))
        return as_numbers(self.coding.code(X)).astype(float, copy=False)


def _codes(values: np.ndarray, known: np.ndarray, role: str) -> np.ndarray:
    codes = pd.Index(known).get_indexer(pd.Index(values))
    if (codes < 0).any():  # the table has changed since the survey
        stranger: Any = np.asarray(values)[codes < 0].tolist()[0]
        raise InputError.about(role, f"holds {stranger!r}, which was not there when the table was counted.")
    return codes


# Default number of rows for checks and pages. Models use a learning curve instead.
SAMPLE_ROWS = 200_000


@dataclass(frozen=True, repr=False, eq=False)
class PartitionedLabels:
    """Selectively labeled data in partitions: the lazy form of :class:`selective_labels.SelectiveLabels`.

    Create one with :meth:`SelectiveLabels.from_parquet` or :meth:`SelectiveLabels.from_dask`. `evaluate`,
    `compare`, `threshold_curve`, `diagnose` and `fit` accept it in place of data in memory. Models are fitted
    to a sample of the rows, drawn by hash. Bounds and intervals use all rows.

    Attributes
    ----------
    assignment : tuple of str
        Columns of known assignment probabilities of decision-makers.
    fit_rows : int or None
        Number of rows that models are fitted to. None: chosen by the learning curve.
    n_jobs : int or None
        Number of processes that read partitions, if no Dask client is active.
    keep_scores : str, Path or None
        Folder that caches the scores of all rows.
    vocabulary : Vocabulary
        Words of the domain, and what a yes means.
    """

    source: Source | RelationSource
    roles: RoleColumns
    features: tuple[str, ...]
    assignment: tuple[str, ...] = ()
    fit_rows: int | None = None
    n_jobs: int | None = None
    keep_scores: str | Path | None = None
    vocabulary: Vocabulary = field(default_factory=lambda: Vocabulary().meaning())
    _surveys: dict[tuple[str, ...], Survey] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        source: Source | RelationSource,
        roles: RoleColumns,
        features: Sequence[str] | None,
        assignment: Sequence[str] | None,
        fit_rows: int | None,
        n_jobs: int | None,
        keep_scores: str | Path | None = None,
    ) -> "PartitionedLabels":
        """Check names and schema. Only the metadata of the files is read."""
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
        """Raise :class:`InputError`: rows are not in memory."""
        self._refuse("X")

    @property
    def y(self) -> NoReturn:
        """Raise :class:`InputError`: rows are not in memory."""
        self._refuse("y")

    @property
    def decision(self) -> NoReturn:
        """Raise :class:`InputError`: rows are not in memory."""
        self._refuse("decision")

    @property
    def decision_maker(self) -> NoReturn:
        """Raise :class:`InputError`: rows are not in memory."""
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
    def decision_means(self) -> str:
        """What a yes means: "accept" or "inspect"."""
        return self.vocabulary.means or ACCEPT

    @property
    def decision_makers_given(self) -> bool:
        """Whether a column identifies the decision-makers."""
        return self.roles.decision_maker is not None

    @property
    def decision_makers(self) -> np.ndarray:
        """Sorted ids of decision-makers."""
        return self.survey().decision_makers

    def survey(self, others: Sequence[str] = ()) -> Survey:
        """Counts from one pass over the role columns. Cached."""
        wanted = tuple(others)
        self.require_columns("by", wanted)
        if wanted not in self._surveys:
            found = None
            if isinstance(self.source, RelationSource):
                found = self.source.survey(self.roles, wanted)
            if found is None:
                columns = list(dict.fromkeys([*self.roles.columns, *wanted]))
                task = SurveyTask(self.roles, wanted)
                found = self.over_rows(columns, task, combined_survey, "counting")
            self._surveys[wanted] = finished(found)
        return self._surveys[wanted]

    def require_columns(self, role: str, wanted: Sequence[str]) -> None:
        """Raise :class:`InputError` if a column with this role does not exist."""
        require_columns([(role, each) for each in wanted], self.source.columns)

    def over_rows(
        self,
        columns: Sequence[str],
        task: Any,
        combine: Any,
        what: str = "",
        condition: Condition | None = None,
    ) -> Any:
        """Apply a task to all rows and combine the results; see :func:`.partition_sources.over_parts`.

        Of a relation, the engine returns only rows for which `condition` holds.
        """
        if isinstance(self.source, RelationSource):
            return self.source.over_rows(
                columns,
                task,
                combine,
                roles=self.roles,
                condition=condition,
                n_jobs=self.n_jobs,
                what=what,
            )
        return over_parts(self.source, columns, task, combine, n_jobs=self.n_jobs, what=what)

    def with_jobs(self, n_jobs: int | None) -> "PartitionedLabels":
        """The same table, read by `n_jobs` processes unless it has its own setting."""
        return self if n_jobs is None or self.n_jobs is not None else replace(self, n_jobs=n_jobs)

    @cached_property
    def reader(self) -> PartitionReader:
        """Reader with the codes of the whole table. It does not code features yet."""
        survey = self.survey()
        return PartitionReader(
            self.roles,
            self.features,
            self.assignment,
            survey.classes,
            survey.decision_makers,
            survey.strata,
            survey.weight / survey.n_rows,
            vocabulary=self.vocabulary,
        )

    def take(self, rows: int | float, random_state: Any = None) -> "PartitionedLabels":
        """Keep a share (or approximate number) of the rows by hash. Groups stay together; nothing is read.

        Row numbers are not accepted, because partitions may be read in any order.
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
        """Split the rows at random by hash. Groups (cases) stay together; nothing is read.

        Parameters
        ----------
        test_size : float or int
            Share or approximate number of the rows in the second part.
        random_state : int, RandomState or None
            None means 0, because the parts must be the same each time they are read.
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
        # A part of a part is drawn independently, even with the same seed.
        purpose = SPLIT + LEVELS * len(self.roles.kept)
        kept = (*self.roles.kept, HashRange(purpose, seed, low, high))
        return replace(self, roles=replace(self.roles, kept=kept), _surveys={})

    def sample_frame(self, n_rows: int, seed: int = 0, others: Sequence[str] = ()) -> pd.DataFrame:
        """Sample about `n_rows` rows by hash, in a fixed order. Return all rows if there are fewer."""
        draw = Draw.of(self.roles, seed, n_rows, len(self))
        return self.roles.in_order(self.drawn(draw, n_rows, others))

    def drawn(self, draw: Draw, n_rows: int, others: Sequence[str] = ()) -> pd.DataFrame:
        """Frame of the `n_rows` rows of lowest rank, ordered by rank. Groups are kept whole."""
        columns = list(dict.fromkeys([*self.columns, *others]))
        frame = self.over_rows(
            columns, draw, joined, "drawing a sample", draw.condition if draw.share < 1.0 else None
        )
        if frame is None or not len(frame):
            raise InputError("the sample has no row; raise fit_rows.", "fit_rows")
        frame = self.roles.in_order(frame)
        ranks = draw.ranks(frame)
        order = np.argsort(ranks, kind="stable")
        if len(frame) > n_rows:
            order = order[ranks[order] <= ranks[order[n_rows - 1]]]
        return frame.iloc[order]

    def write_predictions(self, model: Any, table: str, keep: Sequence[str] = ()) -> int:
        """Predict all rows of a relation, and write the predictions as a new table of its engine.

        The table has the column that identifies a case, the columns `keep`, and `prediction`; of learners
        that have them also `decided`, `lower_` and `upper_` of each class at level .9, and `probability_`.
        It appears when it is complete, or not at all.

        Parameters
        ----------
        model : fitted classifier
        table : str
            Name of a table that does not exist.
        keep : sequence of str
            Columns to carry over.

        Returns
        -------
        int
            Number of rows.
        """
        from selective_labels.data.relation_output import PredictionTask, write_table

        if not isinstance(self.source, RelationSource):
            raise InputError(
                "table: this table is no relation of an engine; the command predict writes Parquet files.",
                "table",
            )
        require_columns([("keep", each) for each in keep], self.source.columns)
        kept = tuple(dict.fromkeys([self.source.key, *keep]))
        task = PredictionTask(model, self.roles, self.features, kept)
        columns = list(dict.fromkeys([*self.features, *kept]))
        return write_table(self.source, table, task, columns, self.roles, self.n_jobs)

    def sample(self, n_rows: int | None = None, random_state: Any = None) -> SelectiveLabels:
        """Sample about `n_rows` rows into memory by hash (default: `fit_rows`, or 200,000).

        Groups stay together. Codes are those of the sample, as for a table of its own.
        """
        rows = (self.fit_rows or SAMPLE_ROWS) if n_rows is None else n_rows
        return self.in_memory(self.sample_frame(rows, as_seed(random_state) or 0))

    def checked_sample(self, random_state: Any = None) -> SelectiveLabels:
        """Sample rows, and raise :class:`InputError` if the sample misses a class of the table."""
        data = self.sample(None, random_state)
        self.require_all_classes(data)
        return data

    def require_all_classes(self, sample: SelectiveLabels) -> None:
        """Raise :class:`InputError` if a sample has no row of some class of the table."""
        missed = set(self.classes.tolist()) - set(sample.classes.tolist())
        if missed:
            raise InputError(
                f"fit_rows: no row of class {missed.pop()!r} is among the {len(sample):,} that models are "
                "fitted to; raise fit_rows.",
                "fit_rows",
            )

    def in_memory(self, frame: pd.DataFrame) -> SelectiveLabels:
        """Convert the rows of a frame to a table of their own in memory."""
        names = self.roles.named
        if "decision_maker" not in names:
            raise InputError("decision_maker is missing: name its column.", "decision_maker")
        label, maker = names["label"], names["decision_maker"]
        assignment = list(self.assignment) or None
        data = SelectiveLabels.from_frame(
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
        return replace(data, vocabulary=self.vocabulary)
