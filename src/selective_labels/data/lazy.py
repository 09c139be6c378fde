"""A selectively labeled table that is not in memory: its roles named, its rows read a part at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from selective_labels.data.drawing import Draw, joined
from selective_labels.data.partition_reader import PartitionReader
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.data.survey import RoleColumns, Survey, SurveyTask, combined_survey, finished
from selective_labels.partitions.engine import over_parts
from selective_labels.partitions.hashing import LEVELS, SPLIT
from selective_labels.partitions.sources import Source, require_columns
from selective_labels.support.errors import InputError
from selective_labels.support.seeding import as_seed
from selective_labels.support.words import several

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
