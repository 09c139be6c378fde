"""Sources of partitioned tables (Parquet files, Dask frames), and tasks over all of their parts."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from glob import glob, has_magic
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from joblib import effective_n_jobs

from selective_labels._errors import InputError, needs, several
from selective_labels._parallel import in_processes, losses_told, one_thread, with_progress

# Maximum number of rows in memory at a time, whatever the size of a part.
ROWS_AT_ONCE = 100_000


class Part(Protocol):
    """A part of a table."""

    @property
    def start(self) -> int:
        """Number of the part's first row in the table."""

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield rows in chunks of bounded size, indexed by their number in the table."""


@dataclass(frozen=True)
class ParquetPart:
    """A row group of a Parquet file."""

    path: str
    group: int
    start: int
    n_rows: int

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield rows in chunks of bounded size."""
        import pyarrow.parquet as pq

        start = self.start
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(ROWS_AT_ONCE, row_groups=[self.group], columns=list(columns)):
                frame = batch.to_pandas()
                frame.index = pd.RangeIndex(start, start + len(frame))
                start += len(frame)
                if len(frame):
                    yield frame[list(columns)]


@dataclass(frozen=True, eq=False)
class FramePart:
    """A computed partition of a Dask frame."""

    frame: pd.DataFrame
    start: int

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Yield rows in chunks of bounded size."""
        missing = [column for column in columns if column not in self.frame.columns]
        if missing:
            raise InputError(
                f"a partition of the Dask frame has no column {missing[0]!r}, which the others have.", "frame"
            )
        for first in range(0, len(self.frame), ROWS_AT_ONCE):
            rows = self.frame[list(columns)].iloc[first : first + ROWS_AT_ONCE]
            start = self.start + first
            yield rows.set_axis(pd.RangeIndex(start, start + len(rows)), axis=0)


@dataclass(frozen=True)
class ParquetSource:
    """Parquet files with one schema."""

    paths: tuple[str, ...]

    @classmethod
    def find(cls, path: str | Path | Sequence[str | Path]) -> "ParquetSource":
        """Find the files of a folder, a glob, or a list of paths."""
        given = [path] if isinstance(path, str | Path) else list(path)
        found = [file for each in given for file in parquet_files(str(each))]
        if not found:
            raise InputError(f"{', '.join(map(str, given))}: no Parquet file is there.", "path")
        return cls(tuple(dict.fromkeys(found)))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self._schema.names)

    @cached_property
    def parts(self) -> list[ParquetPart]:
        """Non-empty row groups, in the order of the files."""
        parts, start = [], 0
        for path in self.paths:
            metadata = _file(path).metadata
            for group in range(metadata.num_row_groups):
                n_rows = metadata.row_group(group).num_rows
                if n_rows:
                    parts.append(ParquetPart(path, group, start, n_rows))
                start += n_rows
        return parts

    @property
    def n_rows(self) -> int:
        """Number of rows of all files, from their metadata."""
        return sum(part.n_rows for part in self.parts)

    def check(self, columns: Sequence[str]) -> None:
        """Raise :class:`InputError` if a file lacks a column or has it with another type."""
        for path in self.paths[1:]:
            schema = _file(path).schema_arrow
            for column in columns:
                if column not in schema.names:
                    raise InputError(
                        f"{path} has no column {column!r}, which {self.paths[0]} has; all files must have "
                        "the same columns.",
                        "path",
                    )
                here, first = schema.field(column).type, self._schema.field(column).type
                if _plain(here) != _plain(first):
                    raise InputError(
                        f"column {column!r} is of type {here} in {path} and of type {first} in "
                        f"{self.paths[0]}; write all files with one schema.",
                        "path",
                    )

    @cached_property
    def _schema(self) -> Any:
        return _file(self.paths[0]).schema_arrow

    def fingerprint(self) -> list[tuple[str, int, int]]:
        """Names, sizes and modification times of the files."""
        states = [(path, os.stat(path)) for path in self.paths]
        return [(path, state.st_size, state.st_mtime_ns) for path, state in states]

    def describe(self) -> str:
        """Describe the source in a few words."""
        n_files = len(self.paths)
        return f"{len(self.parts):,} partitions in {n_files:,} Parquet file{'s' if n_files > 1 else ''}"


@dataclass(frozen=True, eq=False)
class DaskSource:
    """A Dask frame."""

    frame: Any

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.frame.columns)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Number of rows of each partition. Computed once."""
        return np.asarray(self.frame.map_partitions(len).compute())

    @cached_property
    def parts(self) -> list[Any]:
        """Non-empty partitions, each as a delayed :class:`FramePart`."""
        from dask import delayed

        starts = np.cumsum(self.lengths) - self.lengths
        pairs = zip(self.frame.to_delayed(), starts.tolist(), self.lengths.tolist(), strict=True)
        return [delayed(FramePart)(part, start) for part, start, n_rows in pairs if n_rows]

    @property
    def n_rows(self) -> int:
        """Number of rows of all partitions."""
        return int(self.lengths.sum())

    def check(self, columns: Sequence[str]) -> None:
        """Do nothing: Dask has one schema. A partition that violates it raises an error when it is read."""

    def fingerprint(self) -> list[tuple[str, int, int]]:
        """Numbers of rows of the partitions. The user must ensure that their content stays the same."""
        return [("partition", number, int(n_rows)) for number, n_rows in enumerate(self.lengths)]

    def describe(self) -> str:
        """Describe the source in a few words."""
        return f"{self.frame.npartitions:,} partitions of a Dask frame"


Source = ParquetSource | DaskSource


def parquet_files(path: str) -> list[str]:
    """Sorted files that a path, a folder or a glob refers to.

    Files whose names begin with a dot or an underscore are ignored, as is usual for Parquet folders.
    """
    if has_magic(path) and not Path(path).exists():
        found = [each for each in glob(path, recursive=True) if Path(each).is_file()]
    elif Path(path).is_dir():
        found = [str(each) for each in Path(path).rglob("*.parquet") if each.is_file()]
    elif Path(path).is_file():
        found = [path]
    else:
        raise InputError(f"{path} does not exist.", "path")
    return sorted(each for each in found if Path(each).name[0] not in "._")


def require_columns(wanted: Sequence[tuple[str, str]], columns: Sequence[str]) -> None:
    """Raise :class:`InputError` if a column, given as (role, name), does not exist."""
    for role, column in wanted:
        if column not in columns:
            raise InputError(
                f"{role}={column!r} is not a column of the table; there are {several(list(columns), 8)}.",
                role,
            )


def _file(path: str) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise InputError(f"reading Parquet {needs('pyarrow')}.", "path") from None
    try:
        with pq.ParquetFile(path) as file:
            return _Footer(file.metadata, file.schema_arrow)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}", "path") from None


@dataclass(frozen=True)
class _Footer:
    metadata: Any
    schema_arrow: Any


def _plain(kind: Any) -> str:
    """Type of a column without its width, which does not change the meaning of the values."""
    text = str(kind)
    for name in ("dictionary", "large_string", "string"):
        if text.startswith(name):
            return "string"
    return "".join(each for each in text if not each.isdigit()).removeprefix("u")


# Number of results that are combined at a time.
BRANCHES = 8
# Smaller tables are processed in this process, because starting workers takes longer.
FEW_ROWS = 300_000

# Maps some rows to a result that can be combined.
RowsTask = Callable[[pd.DataFrame], Any]
Combine = Callable[[Sequence[Any]], Any]


def over_parts(
    source: Source,
    columns: Sequence[str],
    task: RowsTask,
    combine: Combine,
    *,
    n_jobs: int | None = None,
    what: str = "",
) -> Any:
    """Apply a task to all rows, in chunks of bounded size, and combine the results.

    Parameters
    ----------
    source : ParquetSource or DaskSource
    columns : sequence of str
        Columns that the task needs. No others are read.
    task : callable of a frame
        Function of some rows, indexed by their number. Sent to worker processes.
    combine : callable of a sequence of results
        The result must not depend on the order, up to rounding.
    n_jobs : int, optional
        Number of processes on this machine, if no Dask client is active. Default: all cores.
    what : str
        Short description of the work, shown to users.

    Returns
    -------
    The combined result, or None if there are no rows.
    """
    parts = source.parts
    if not parts:
        return None
    if isinstance(source, DaskSource) or active_client() is not None:
        return _by_dask(parts, columns, task, combine)
    results: Iterator[Any]
    if source.n_rows < FEW_ROWS or len(parts) == 1:
        results = (one_part(part, columns, task, combine) for part in parts)
    else:
        n_jobs = effective_n_jobs(-1 if n_jobs is None else n_jobs)
        tasks = [(one_part, part, columns, task, combine) for part in parts]
        results = in_processes(tasks, n_jobs=n_jobs, pre_dispatch=n_jobs + 1, batch_size=1)
    waiting: list[Any] = []
    for result in with_progress(results, what, len(parts)):
        waiting.append(result)
        if len(waiting) == BRANCHES:
            waiting = [combined(waiting, combine)]
    return combined(waiting, combine)


def one_part(part: Any, columns: Sequence[str], task: RowsTask, combine: Combine) -> Any:
    """Apply a task to the rows of one part and combine the results. None if the part is empty."""
    with one_thread():
        found = None
        for frame in part.frames(columns):
            found = combined([found, task(frame)], combine)
        return found


def active_client() -> Any:
    """The active Dask client, or None. Does not import Dask."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _by_dask(parts: Sequence[Any], columns: Sequence[str], task: RowsTask, combine: Combine) -> Any:
    """Combine the results of parts in a tree, with Dask's scheduler."""
    import dask

    shared = dask.delayed(task, pure=False)
    found = [dask.delayed(one_part)(part, list(columns), shared, combine) for part in parts]
    while len(found) > 1:
        groups = [found[first : first + BRANCHES] for first in range(0, len(found), BRANCHES)]
        found = [dask.delayed(combined)(group, combine) for group in groups]
    with losses_told():
        return dask.compute(found[0])[0]


def combined(results: Sequence[Any], combine: Combine) -> Any:
    """Combine the results that are not None. None if all are."""
    kept = [each for each in results if each is not None]
    if len(kept) < 2:
        return kept[0] if kept else None
    return combine(kept)
