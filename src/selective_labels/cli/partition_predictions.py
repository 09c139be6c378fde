"""Predictions for a table in partitions: one file for each of its files, whole or not at all, resumed."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from selective_labels.cli.predictions import Predicted, prediction_table
from selective_labels.partitions.sources import ParquetPart, ParquetSource
from selective_labels.saving import SavedModel
from selective_labels.saving.atomic import drafts_of_workers, whole_file
from selective_labels.support.jobs import one_thread
from selective_labels.support.processes import in_processes
from selective_labels.support.progress import followed
from selective_labels.tables import TableError
from selective_labels.tables.roles import require_names

# Where a file of predictions says what it was made from.
MADE_FROM = b"selective-labels:made-from"


def write_partitions(
    source: ParquetSource, saved: SavedModel, model: Path, out: Path, keep: Sequence[str]
) -> tuple[Predicted, int]:
    """Predict file by file; those that an interrupted run has finished are used again.

    Parameters
    ----------
    source : ParquetSource
    saved : SavedModel
    model : Path
        Its file: predictions of another model are not taken for these.
    out : Path
        A folder; made if it does not exist.
    keep : sequence of str
        Columns to carry over.

    Returns
    -------
    Predicted
    int
        Files that were there already.
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
        found = [each for each in followed(results, "predicting files", len(tasks)) if each is not None]
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
    """What was predicted, and whether it was there already; None for a file without rows."""
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
