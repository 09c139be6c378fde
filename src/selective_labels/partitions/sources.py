"""Where the parts of a table come from: files of Parquet, or a Dask frame."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from glob import glob, has_magic
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from selective_labels.support.errors import InputError
from selective_labels.support.words import needs, several

# So many rows are held at once, whatever the size of a part.
ROWS_AT_ONCE = 100_000


class Part(Protocol):
    """A part of a table."""

    @property
    def start(self) -> int:
        """Number of its first row."""

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Its rows, a bounded number at a time, indexed by the number of the row in the table."""


@dataclass(frozen=True)
class ParquetPart:
    """A row group of a file."""

    path: str
    group: int
    start: int
    n_rows: int

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Its rows, a bounded number at a time."""
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
    """A partition of a Dask frame, computed."""

    frame: pd.DataFrame
    start: int

    def frames(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Its rows, a bounded number at a time."""
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
    """Files of one schema."""

    paths: tuple[str, ...]

    @classmethod
    def find(cls, path: str | Path | Sequence[str | Path]) -> "ParquetSource":
        """Files of a folder, of a glob, or named one by one."""
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
        """Row groups, in the order of the files; empty ones are left out."""
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
        """Rows of all files, as they say themselves."""
        return sum(part.n_rows for part in self.parts)

    def check(self, columns: Sequence[str]) -> None:
        """Refuse files in which a column is missing or of another type."""
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
        """Names, sizes and times of the files."""
        states = [(path, os.stat(path)) for path in self.paths]
        return [(path, state.st_size, state.st_mtime_ns) for path, state in states]

    def describe(self) -> str:
        """Say what it is."""
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
        """Rows of every partition: counted once."""
        return np.asarray(self.frame.map_partitions(len).compute())

    @cached_property
    def parts(self) -> list[Any]:
        """Partitions, each as a delayed :class:`FramePart`; empty ones are left out."""
        from dask import delayed

        starts = np.cumsum(self.lengths) - self.lengths
        pairs = zip(self.frame.to_delayed(), starts.tolist(), self.lengths.tolist(), strict=True)
        return [delayed(FramePart)(part, start) for part, start, n_rows in pairs if n_rows]

    @property
    def n_rows(self) -> int:
        """Rows of all partitions."""
        return int(self.lengths.sum())

    def check(self, columns: Sequence[str]) -> None:
        """Dask has one schema; partitions that break it are refused as they are met."""

    def fingerprint(self) -> list[tuple[str, int, int]]:
        """Numbers of rows: what is in them is for the user to keep the same."""
        return [("partition", number, int(n_rows)) for number, n_rows in enumerate(self.lengths)]

    def describe(self) -> str:
        """Say what it is."""
        return f"{self.frame.npartitions:,} partitions of a Dask frame"


Source = ParquetSource | DaskSource


def parquet_files(path: str) -> list[str]:
    """Files that a path, a folder or a glob means, sorted.

    Names that begin with a dot or an underscore are not data, as everywhere.
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
    """Raise if a column, given as (role, name), does not exist."""
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
    """Type of a column, whatever its width: widths do not change what values mean."""
    text = str(kind)
    for name in ("dictionary", "large_string", "string"):
        if text.startswith(name):
            return "string"
    return "".join(each for each in text if not each.isdigit()).removeprefix("u")
