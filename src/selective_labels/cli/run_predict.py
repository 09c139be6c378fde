"""Predict every row of a table and write the predictions to a file."""

import gzip
import hashlib
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from selective_labels._errors import TableError, shown
from selective_labels._parallel import in_processes, one_thread, with_progress
from selective_labels.data.partition_sources import ParquetPart, ParquetSource
from selective_labels.data.partition_survey import RoleColumns
from selective_labels.data.relation_output import write_table
from selective_labels.data.relations import RelationSource
from selective_labels.io.files import drafts_of_workers, safe_cell, whole_file, write_whole
from selective_labels.io.model_file import SavedModel
from selective_labels.io.table_roles import require_column, require_names

STANDARD_OUTPUT = "-"
# Level of the bounds that are written, and of what is called decided.
LEVEL = 0.9


def prediction_table(
    saved: SavedModel, X: pd.DataFrame, frame: pd.DataFrame, keep: Sequence[str] = ()
) -> pd.DataFrame:
    """Predictions, bounds on class probabilities, and whether the data decide; rows keep their order.

    Bounds have a margin of sampling error at level .9. At most a tenth of the decided cases is expected to be
    a mistake.

    Parameters
    ----------
    X : pandas.DataFrame
        Features, as read by the model's schema.
    frame : pandas.DataFrame
        The table.
    keep : sequence of str
        Columns of the table to put first, such as ids.
    """
    for column in keep:
        require_column(frame, column, "--keep")
    bounds = saved.model.predict_bounds(X, confidence_level=LEVEL)
    columns = {
        "prediction": saved.model.predict(X),
        "decided": saved.model.decided(X, confidence_level=LEVEL),
    }
    for place, name in enumerate(saved.classes_.tolist()):
        columns |= {f"lower_{name}": bounds.lower[:, place], f"upper_{name}": bounds.upper[:, place]}
    if hasattr(saved.model, "predict_proba"):
        probabilities = saved.model.predict_proba(X)
        columns |= {
            f"probability_{name}": probabilities[:, place]
            for place, name in enumerate(saved.classes_.tolist())
        }
    for column in keep:
        if column in columns:
            raise TableError(f"--keep {shown(column)} has the name of a column of the output; rename it.")
    return pd.DataFrame({column: frame[column].to_numpy() for column in keep} | columns)


@dataclass(frozen=True)
class Predicted:
    """Counts of predictions for a table or for its partitions together.

    Attributes
    ----------
    classes : dict of int
        Number of rows by predicted class.
    n_decided : int
        Number of rows for which only one class can be optimal.
    columns : tuple of str
        Columns of the file.
    unseen : dict of int
        Number of rows with a category that training data did not have, by column.
    """

    classes: Mapping[Any, int]
    n_decided: int
    columns: tuple[str, ...]
    unseen: Mapping[str, int]

    @classmethod
    def of(cls, predictions: pd.DataFrame, unseen: Mapping[str, int]) -> "Predicted":
        """Count the predictions of one table."""
        counts = predictions["prediction"].value_counts(sort=False)
        decided = int(predictions["decided"].sum())
        return cls({name: int(n) for name, n in counts.items()}, decided, (*predictions.columns,), unseen)

    @classmethod
    def added(cls, several: Sequence["Predicted"]) -> "Predicted":
        """Add the counts of several parts."""
        classes: Counter[Any] = Counter()
        unseen: Counter[str] = Counter()
        for each in several:
            classes.update(each.classes)
            unseen.update(each.unseen)
        return cls(classes, sum(each.n_decided for each in several), several[0].columns, unseen)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.classes.values())


def write_predictions(predictions: pd.DataFrame, out: str) -> None:
    """Write CSV (compressed if the name ends in .gz) completely or not at all; "-" is standard output.

    Text that a spreadsheet would read as a formula gets a leading apostrophe, in cells and column names.
    """
    safe = {
        safe_cell(name): column if pd.api.types.is_numeric_dtype(column) else column.map(safe_cell)
        for name, column in predictions.items()
    }
    text = pd.DataFrame(safe).to_csv(index=False, lineterminator="\n")
    if out == STANDARD_OUTPUT:
        sys.stdout.write(text)
        return
    content = text.encode()
    write_whole(Path(out), gzip.compress(content, mtime=0) if out.endswith(".gz") else content)


@dataclass(frozen=True)
class _SavedTask:
    """Predictions for some rows of a relation. Sent to worker processes."""

    saved: SavedModel
    keep: tuple[str, ...]

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        return prediction_table(self.saved, self.saved.schema.read(frame), frame, self.keep)


def write_relation(source: RelationSource, saved: SavedModel, table: str, keep: Sequence[str]) -> Predicted:
    """Predict all rows of a relation, and write a new table of its engine: whole, or not at all."""
    require_names(source.columns, saved.schema.names, "The model's feature")
    require_names(source.columns, keep, "--keep")
    found: list[Predicted] = []
    columns = list(dict.fromkeys([*saved.schema.names, *keep]))
    write_table(
        source,
        table,
        _SavedTask(saved, tuple(keep)),
        columns,
        RoleColumns(label="", case_id=source.key),
        seen=lambda rows: found.append(Predicted.of(rows, {})),
    )
    return Predicted.added(found)


# Metadata key under which a file of predictions stores its inputs.
MADE_FROM = b"selective-labels:made-from"


def write_partitions(
    source: ParquetSource, saved: SavedModel, model: Path, out: Path, keep: Sequence[str]
) -> tuple[Predicted, int]:
    """Predict file by file, and reuse the files that an interrupted run has finished.

    Parameters
    ----------
    model : Path
        The file of the model; predictions of another model are not reused.
    out : Path
        A folder; created if it does not exist.
    keep : sequence of str
        Columns to carry over.

    Returns
    -------
    Predicted
    int
        Number of files that were reused.
    """
    names = [Path(path).name for path in source.paths]
    if len(set(names)) < len(names):
        raise TableError("Two files of the table have the same name; predictions would overwrite each other.")
    if out.exists() and not out.is_dir():
        raise TableError(f"--out {out} is a file; predictions of a table in partitions need a folder.")
    require_names(source.columns, saved.schema.names, "The model's feature")
    require_names(source.columns, keep, "--keep")
    source.check([*saved.schema.names, *keep])
    out.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    parts_of = {path: [part for part in source.parts if part.path == path] for path in source.paths}
    with drafts_of_workers(out) as run:
        tasks = [
            (_one_file, path, parts, out / Path(path).name, run, saved, list(keep), digest)
            for path, parts in parts_of.items()
        ]
        results = in_processes(tasks, n_jobs=-1 if len(tasks) > 1 else 1)
        found = [each for each in with_progress(results, "predicting files", len(tasks)) if each is not None]
    if not found:
        raise TableError("The table has no row to predict.")
    return Predicted.added([each for each, _ in found]), sum(there for _, there in found)


def _one_file(
    path: str,
    parts: Sequence[ParquetPart],
    out: Path,
    run: str,
    saved: SavedModel,
    keep: list[str],
    digest: str,
) -> tuple[Predicted, bool] | None:
    """Counts of one file, and whether it was reused; None for a file without rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    state = os.stat(path)
    made_from = f"{digest}:{state.st_size}:{state.st_mtime_ns}:{','.join(keep)}".encode()
    if out.exists() and (pq.read_schema(out).metadata or {}).get(MADE_FROM) == made_from:
        there = pq.read_table(out).to_pandas()
        return Predicted.of(there, {}), True
    found: list[Predicted] = []
    if not parts:
        return None
    columns = list(dict.fromkeys([*saved.schema.names, *keep]))
    with whole_file(out, run) as draft, one_thread():
        writer = None
        for frame in (frame for part in parts for frame in part.frames(columns)):
            X = saved.schema.read(frame.reset_index(drop=True))
            predictions = prediction_table(saved, X, frame, keep)
            rows = pa.Table.from_pandas(predictions, preserve_index=False)
            if writer is None:
                writer = pq.ParquetWriter(draft, rows.schema.with_metadata({MADE_FROM: made_from}))
            writer.write_table(rows.cast(writer.schema))
            found.append(Predicted.of(predictions, saved.schema.unseen_categories(X)))
        if writer is not None:
            writer.close()
    return Predicted.added(found), False
