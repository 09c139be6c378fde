"""Predictions of all rows of a relation, written as a table of its engine: whole, or not at all."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from selective_labels._errors import InputError, needs, shown
from selective_labels.data.partition_survey import RoleColumns
from selective_labels.data.relations import CountedTask, Look, RelationSource, first_line, frames_of

# Level of the bounds that are written.
LEVEL = 0.9


@dataclass(frozen=True)
class PredictionTask:
    """Predictions for some rows. Sent to worker processes.

    Attributes
    ----------
    keep : tuple of str
        Columns that stand before the predictions, such as ids.
    """

    model: Any
    roles: RoleColumns
    features: tuple[str, ...]
    keep: tuple[str, ...]

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a row of predictions for each row of the subset."""
        frame, _ = self.roles.rows(frame)
        X, names = frame[list(self.features)], [str(each) for each in self.model.classes_]
        found = {column: frame[column].to_numpy() for column in self.keep}
        if not len(frame):
            return pd.DataFrame(found)
        found["prediction"] = self.model.predict(X)
        if hasattr(self.model, "predict_bounds"):
            found["decided"] = self.model.decided(X)
            bounds = self.model.predict_bounds(X, confidence_level=LEVEL)
            for place, name in enumerate(names):
                found |= {f"lower_{name}": bounds.lower[:, place], f"upper_{name}": bounds.upper[:, place]}
        if hasattr(self.model, "predict_proba"):
            probabilities = self.model.predict_proba(X)
            found |= {f"probability_{name}": probabilities[:, place] for place, name in enumerate(names)}
        return pd.DataFrame(found)


def write_table(
    source: RelationSource,
    table: str,
    task: Any,
    columns: Sequence[str],
    roles: RoleColumns,
    n_jobs: int | None = None,
    seen: Callable[[pd.DataFrame], None] = lambda rows: None,
) -> int:
    """Write a new table with the rows that a task makes; return their number.

    Parameters
    ----------
    table : str
        Name of a table that does not exist.
    task : callable of a frame
        Returns a frame. Sent to worker processes.
    columns : sequence of str
        Columns that the task reads.
    roles : RoleColumns
        Says which rows the subset holds.
    seen : callable, optional
        Is shown all rows that are written (but not those of Spark, which stay there).
    """
    with source.errors():
        native = source.relation.select(*columns).to_native()
    if source.engine == "pyspark":
        return _written_by_spark(source, native, table, task, columns)
    if source.engine not in ("duckdb", "ibis"):
        raise InputError(f"table: {source.engine} has no tables; write predictions with DuckDB.", "table")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "predictions.parquet")
        n_rows = _to_parquet(source, native, path, CountedTask(task, pd.concat, roles), columns, n_jobs, seen)
        try:
            _from_parquet(source, table, path)
        except Exception as error:  # each engine has its own
            raise InputError(f"table: {shown(table)} was not written: {first_line(error)}", "table") from None
    return n_rows


def _to_parquet(
    source: RelationSource,
    native: Any,
    path: Path,
    task: CountedTask,
    columns: Sequence[str],
    n_jobs: int | None,
    seen: Callable[[pd.DataFrame], None],
) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    n_read, n_rows, checksum, writer = 0, 0, 0, None
    for number, key, frame in source.streamed(native, columns, task, n_jobs):
        n_read, checksum = n_read + number, checksum + key
        if not len(frame):
            continue
        rows = pa.Table.from_pandas(frame, preserve_index=False)
        writer = writer or pq.ParquetWriter(path, rows.schema)
        writer.write_table(rows.cast(writer.schema))
        n_rows += len(frame)
        seen(frame)
    if writer is None:
        raise InputError("relation: no row is there to predict.", "relation")
    writer.close()
    source.compare((), Look(n_read, checksum))
    return n_rows


def _from_parquet(source: RelationSource, table: str, path: Path) -> None:
    native = source.relation.to_native()
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))
    if source.engine == "duckdb":
        # A relation does not show its connection; it runs the statement on it, in one transaction.
        native.query("rows", f"CREATE TABLE {quoted} AS SELECT * FROM read_parquet('{path}')")
        return
    backend = native.get_backend()
    if backend.name == "duckdb":
        backend.con.execute(f"CREATE TABLE {quoted} AS SELECT * FROM read_parquet('{path}')")
    else:
        import pyarrow.parquet as pq

        backend.create_table(table, pq.read_table(path))


def _written_by_spark(
    source: RelationSource, native: Any, table: str, task: Any, columns: Sequence[str]
) -> int:
    """Predict on the workers; Spark commits the table when all of them have finished."""
    import pyarrow as pa

    try:
        from pyspark.sql.pandas.types import from_arrow_schema
    except ImportError:
        raise InputError(f"writing a table of Spark {needs('pyspark')}.", "table") from None
    columns = list(columns)
    schema = pa.Schema.from_pandas(task(source.some_rows(100)[columns]), preserve_index=False)

    def step(batches: Iterator[Any]) -> Iterator[Any]:
        for frame in frames_of(batches, columns):
            rows = pa.Table.from_pandas(task(frame), preserve_index=False)
            yield from rows.cast(schema).to_batches()

    with source.errors():
        native.mapInArrow(step, from_arrow_schema(schema)).write.saveAsTable(table)
        return int(native.sparkSession.table(table).count())
