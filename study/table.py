"""A table on disk that grows by whole tasks and survives a kill at any moment."""

import csv
import io
import os
from collections.abc import Iterable, Mapping
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from selective_labels import InputError
from selective_labels.io.files import whole_file
from study.tasks import Task

TASK_COLUMNS = tuple(field.name for field in fields(Task))
# Every row says how many its task has: a task that was cut off shows.
COUNT = "task_rows"
TEXT_COLUMNS = (
    *("cell", "part", "method", "classifier", "setting", "mode", "name", "value", "commit"),
    *("question", "outcome", "covers", "said"),
)


class TaskTable:
    """A CSV file to which the rows of a finished task are added by one write.

    A kill can only cut off the last task. `recover` finds such a rest and cuts it away; everything before it
    stays as it is.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        Besides those that name the task.

    Examples
    --------
    >>> import tempfile
    >>> task = Task("rate", "honest", "additive", False, "all", 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = TaskTable(Path(folder) / "results.csv", ("method", "accuracy"))
    ...     table.append(task, [{"method": "point", "accuracy": 0.5}, {"method": "full", "accuracy": 0.75}])
    ...     cut = os.truncate(table.path, table.path.stat().st_size - 5)
    ...     table.recover()
    set()
    """

    def __init__(self, path: Path, columns: Iterable[str]) -> None:
        self.path = path
        self.columns = (*TASK_COLUMNS, *columns, COUNT)

    def append(self, task: Task, rows: list[Mapping[str, Any]]) -> None:
        """Add the rows of one task and wait until the disk has them."""
        lines = [
            [*map(_text, astuple(task)), *(_text(row.get(name)) for name in self._own), str(len(rows))]
            for row in rows
        ]
        if not self.path.exists():
            self._create()
        with self.path.open("ab") as file:
            file.write(_lines(lines))
            file.flush()
            os.fsync(file.fileno())

    def recover(self) -> set[Task]:
        """Cut away what a kill left unfinished; return the tasks that are complete."""
        if not self.path.exists():
            return set()
        content = self.path.read_bytes()
        header = _lines([self.columns])
        if not content.startswith(header):
            raise InputError(
                f"{self.path} does not begin with the columns of this version; use another --out."
            )
        kept, done = len(header), set()
        while task := self._task_at(content, kept):
            if task[0] in done:
                raise InputError(f"{self.path} holds {task[0]} twice; did two runs write to it at once?")
            done.add(task[0])
            kept = task[1]
        if kept < len(content):
            os.truncate(self.path, kept)
        return done

    def read(self) -> pd.DataFrame:
        """All rows."""
        return read_rows(self.path)

    @property
    def _own(self) -> tuple[str, ...]:
        return self.columns[len(TASK_COLUMNS) : -1]

    def _create(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(self.path) as draft:
            draft.write_bytes(_lines([self.columns]))

    def _task_at(self, content: bytes, start: int) -> tuple[Task, int] | None:
        """The complete task that begins at a byte, and where it ends; None if there is none."""
        end = content.find(b"\n", start)
        if end < 0:
            return None
        line = _row(content[start:end])
        if len(line) != len(self.columns):
            raise InputError(f"{self.path} is damaged at byte {start}; remove the file and start again.")
        for _ in range(int(line[-1]) - 1):
            end = content.find(b"\n", end + 1)
            if end < 0:
                return None
        return _task(line), end + 1


def read_rows(path: Path) -> pd.DataFrame:
    """Rows of the finished tasks of a table, in any order.

    What is empty among names is empty text, not a missing number.
    """
    cells = pd.read_csv(path, dtype=str, keep_default_na=False)
    tasks = [cells[name] for name in TASK_COLUMNS]
    complete = cells.groupby(tasks)[COUNT].transform("size").astype(str) == cells[COUNT]
    cut_off = np.flatnonzero(~complete.groupby(tasks).transform("all"))
    # Types are told from what remains; the header is the first line.
    frame = pd.read_csv(path, dtype=dict.fromkeys(TEXT_COLUMNS, str), skiprows=(cut_off + 1).tolist())
    texts = [name for name in TEXT_COLUMNS if name in frame]
    return frame.fillna(dict.fromkeys(texts, ""))


def write_rows(frame: pd.DataFrame, path: Path) -> None:
    """Write rows as they were read, cell by cell."""
    cells = [[_text(None if value != value else value) for value in row] for row in frame.to_numpy().tolist()]
    with whole_file(path) as draft:
        draft.write_bytes(_lines([list(frame.columns), *cells]))


def _lines(rows: Iterable[Iterable[str]]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()


def _row(line: bytes) -> list[str]:
    return next(csv.reader([line.decode()]))


def _task(line: list[str]) -> Task:
    experiment, protocol, cell, mirrored, part, repetition = line[: len(TASK_COLUMNS)]
    return Task(experiment, protocol, cell, mirrored == "True", part, int(repetition))


def _text(value: Any) -> str:
    """Text of a cell. Six digits: far below the noise, far above what the order of a sum changes."""
    if value is None:
        return ""
    return f"{value:.6f}" if isinstance(value, float) else str(value)
