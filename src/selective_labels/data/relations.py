"""Tables of engines (DuckDB, Ibis, Spark, Polars): the engine counts and filters, and rows are streamed."""

import pickle
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
import pandas as pd
from joblib import effective_n_jobs

from selective_labels._errors import InputError, WorkerError, needs, shown
from selective_labels._parallel import in_processes, one_thread, with_progress
from selective_labels.data.partition_sources import FEW_ROWS, ROWS_AT_ONCE, Combine, RowsTask, combined
from selective_labels.data.partition_survey import RoleColumns, Survey, SurveyTask
from selective_labels.data.row_hash import DIGITS, PRIMES, SAMPLE, HashRange, row_hash, row_keys

# Column of the keys of cases whose ids are texts, which the engine computes.
KEY = "__case_key"
# Columns of counts.
ROWS, WEIGHT, WRONG, CHECKSUM, UNNAMED = "__rows", "__weight", "__wrong", "__checksum", "__unnamed"
# Rows whose hash is compared with numpy's, and the largest finite number.
COMPARED, LARGEST = 100, float(np.finfo(float).max)
# Number of chunks that each process gets before the next ones are read.
CHUNKS_AT_ONCE = 4
INTEGERS = (nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32)
NAME = re.compile(r"[\w.\"`]+")

# Makes a condition of the engine from the key of a case: a superset of the rows that a task keeps.
Condition = Callable[[Any], Any]


@dataclass(frozen=True)
class Look:
    """What a look at a table found: if a later look differs, the table has changed.

    Attributes
    ----------
    checksum : int
        Sum of the keys of the cases, each modulo a prime; -1 if it is not known.
    """

    n_rows: int
    checksum: int


@dataclass(frozen=True, eq=False)
class RelationSource:
    """A lazy table of an engine.

    Attributes
    ----------
    relation : narwhals.LazyFrame
    key : str
        Column that identifies a case, or the group of a row: rows have no numbers.
    """

    relation: nw.LazyFrame[Any]
    key: str
    _looks: dict[tuple[HashRange, ...], Look] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any, sql: str | None, key: str | None) -> "RelationSource":
        """Read a relation, or a connection with a query or the name of a table."""
        relation = lazy_relation(given, sql)
        if key is None:
            raise InputError(
                "case_id is missing: rows of a relation have no numbers, so name the column that identifies "
                "a case (or groups=, the column of repeated cases).",
                "case_id",
            )
        return cls(relation, key)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self._schema)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows, counted by the engine."""
        with self.errors():
            return int(self._collected(self.relation.select(nw.len().alias(ROWS)))[ROWS].iloc[0])

    @property
    def engine(self) -> str:
        """Name of the engine."""
        return str(self.relation.implementation.value)

    @cached_property
    def _schema(self) -> dict[str, Any]:
        with self.errors():
            return dict(self.relation.collect_schema())

    def check(self, columns: Sequence[str]) -> None:
        """Do nothing: an engine has one schema."""

    def fingerprint(self) -> NoReturn:
        """Raise :class:`InputError`: an engine may return rows in another order each time."""
        raise InputError(
            "keep_scores: scores of a relation cannot be found again, because its rows have no order; export "
            "the table to Parquet.",
            "keep_scores",
        )

    def describe(self) -> str:
        """Describe the source in a few words."""
        return f"a relation of {self.engine}"

    def some_rows(self, n_rows: int) -> pd.DataFrame:
        """About so many rows of all columns, by hash if the engine computes it, else the first ones."""
        share = n_rows / max(self.n_rows, 1)
        with self.errors():
            found = self._key()
            if found is None or share >= 1.0:
                return self._collected(self.relation.head(n_rows))
            rows = found[0].filter(HashRange(SAMPLE, 0, 0.0, share).holds(found[1]))
            return self._collected(rows.select(*self.columns))

    def survey(self, roles: RoleColumns, others: Sequence[str] = ()) -> Survey | None:
        """Counts of the roles by one group-by in the engine, and values of other columns.

        None if a subset of the rows is wanted and the engine cannot compute the hash of a case.
        """
        with self.errors():
            key = self._key()
            if roles.kept and key is None:
                return None
            found = self._grouped(key, roles)
        n_rows = found[ROWS].to_numpy(dtype="int64")
        unnamed = int(found[UNNAMED].sum())
        if unnamed:
            role = "case_id" if roles.groups is None else "groups"
            raise InputError.about(role, f"is missing in {unnamed:,} rows: give every case an id.")
        n_wrong = int(n_rows.sum() - found[WRONG].sum())
        if n_wrong:
            raise InputError.about(
                "sample_weight", f"is negative or not a number in {n_wrong:,} rows; correct it."
            )
        self.compare(roles.kept, Look(int(n_rows.sum()), -1 if key is None else int(found[CHECKSUM].sum())))
        values = {each: self._values(key, roles.kept, each) for each in others}
        return SurveyTask(roles).counted(found, n_rows, found[WEIGHT].to_numpy(dtype=float), values)

    def _grouped(self, key: tuple[nw.LazyFrame[Any], Any] | None, roles: RoleColumns) -> pd.DataFrame:
        """A line for each combination of roles, by one group-by in the engine."""
        rows = self._subset(key, roles.kept)
        by = [roles.label, roles.decision, roles.decision_maker, roles.strata]
        columns = list(dict.fromkeys(each for each in by if each is not None))
        weight: Any = nw.lit(1.0)
        if roles.sample_weight is not None:
            weight = nw.col(roles.sample_weight).cast(nw.Float64)
        right = (weight >= 0.0) & (weight <= LARGEST)  # not all databases know is_finite
        checksum = (nw.lit(0) if key is None else key[1] % PRIMES[0]).cast(nw.Int64)
        rows = rows.select(
            *columns,
            weight.alias(WEIGHT),
            right.fill_null(False).cast(nw.Int64).alias(WRONG),
            checksum.alias(CHECKSUM),
            nw.col(self.key).is_null().cast(nw.Int64).alias(UNNAMED),
        )
        sums = [nw.col(each).sum() for each in (WEIGHT, WRONG, CHECKSUM, UNNAMED)]
        return self._collected(rows.group_by(columns).agg(nw.len().alias(ROWS), *sums))

    def over_rows(
        self,
        columns: Sequence[str],
        task: RowsTask,
        combine: Combine,
        *,
        roles: RoleColumns,
        condition: Condition | None = None,
        n_jobs: int | None = None,
        what: str = "",
    ) -> Any:
        """Apply a task to all rows in chunks, and combine the results; see :func:`.over_parts`.

        Only rows of the subset of `roles` are read, and of these rows for which `condition` holds.

        Raises
        ------
        InputError
            The table has changed since an earlier look.
        """
        with self.errors():
            key = self._key()
            kept = roles.kept if key is not None else ()
            rows = self._subset(key, kept)
            if key is not None and condition is not None:
                rows = rows.filter(condition(key[1]))
            native = rows.select(*columns).to_native()
        counted = CountedTask(task, combine, roles if self.key in columns and key is not None else None)
        if self.engine == "pyspark":
            results = self._on_workers(native, columns, counted)
        else:
            streamed = self.streamed(native, columns, counted, n_jobs)
            results = list(with_progress(streamed, what, -(-self.n_rows // ROWS_AT_ONCE)))
        found = combined(results, counted.added)
        if found is None:
            return None
        n_rows, checksum, result = found
        if condition is None and (kept or not roles.kept):
            self.compare(kept, Look(n_rows, checksum if counted.roles is not None else -1))
        return result

    def _key(self) -> tuple[nw.LazyFrame[Any], Any] | None:
        """The relation, and an expression of the key of a case; None if the engine cannot compute it."""
        return self._key_of_engine if self._hashes_alike else None

    @cached_property
    def _hashes_alike(self) -> bool:
        """Whether the engine computes the hash as numpy does: not all databases behind Ibis do."""
        found = self._key_of_engine
        if found is None or self.engine != "ibis":
            return found is not None
        rows, key = found
        asked = rows.select(self.key, row_hash(key, SAMPLE).alias(CHECKSUM)).head(COMPARED)
        some = self._collected(asked).dropna()
        return bool((some[CHECKSUM].to_numpy() == row_hash(row_keys(some[self.key]), SAMPLE)).all())

    @cached_property
    def _key_of_engine(self) -> tuple[nw.LazyFrame[Any], Any] | None:
        kind = self._schema[self.key]
        if kind in INTEGERS:
            return self.relation, nw.col(self.key).cast(nw.Int64)
        if kind == nw.String:
            native = with_text_keys(self.relation.to_native(), self.key)
            return None if native is None else (nw.from_native(native), nw.col(KEY))
        return None

    def _subset(
        self, key: tuple[nw.LazyFrame[Any], Any] | None, kept: Sequence[HashRange]
    ) -> nw.LazyFrame[Any]:
        if key is None:
            return self.relation
        rows, expression = key
        for each in kept:
            rows = rows.filter(each.holds(expression))
        return rows

    def _values(
        self, key: tuple[nw.LazyFrame[Any], Any] | None, kept: Sequence[HashRange], column: str
    ) -> np.ndarray:
        with self.errors():
            found = self._collected(self._subset(key, kept).select(column).unique())[column]
        if found.isna().any():
            raise InputError.about(
                "by", f"is missing in some rows of {column!r}: give every case a subgroup."
            )
        return found.to_numpy()

    def compare(self, kept: tuple[HashRange, ...], look: Look) -> None:
        """Raise :class:`InputError` if an earlier look at this subset found something else."""
        before = self._looks.setdefault(kept, look)
        same = look.checksum == before.checksum or -1 in (look.checksum, before.checksum)
        if look.n_rows != before.n_rows or not same:
            raise InputError(
                f"relation: its rows have changed since the first look at it ({before.n_rows:,} rows then, "
                f"{look.n_rows:,} now, or other cases); write the query into a table, and give that.",
                "relation",
            )

    def _collected(self, rows: nw.LazyFrame[Any]) -> pd.DataFrame:
        with self.errors():
            return _plain(rows.collect("pyarrow").to_native()).to_pandas()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Say in one sentence that the engine failed."""
        try:
            yield
        except (InputError, WorkerError):
            raise
        except Exception as error:  # each engine has its own
            raise _lost(self.engine, error) from error

    def streamed(
        self, native: Any, columns: Sequence[str], task: "CountedTask", n_jobs: int | None
    ) -> Iterator[Any]:
        """Results of chunks, which this process reads and processes of this machine work on."""
        n_jobs = effective_n_jobs(-1 if n_jobs is None else n_jobs)
        chunks = frames_of(self._read(native), columns)
        while frames := list(islice(chunks, CHUNKS_AT_ONCE * n_jobs)):
            if n_jobs == 1 or sum(map(len, frames)) < FEW_ROWS:
                yield from map(task, frames)
            else:
                yield from in_processes([(task, each) for each in frames], n_jobs=n_jobs, batch_size=1)

    def _read(self, native: Any) -> Iterator[Any]:
        with self.errors():
            yield from _batches(native)

    def _on_workers(self, native: Any, columns: Sequence[str], task: "CountedTask") -> list[Any]:
        """Results of Spark's partitions: the rows stay on the workers, and sums come back."""
        columns = list(columns)

        def step(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa

            found: Any
            try:
                found = combined([task(frame) for frame in frames_of(batches, columns)], task.added)
            except InputError as error:  # told to the user as it is, not as a failure of the worker
                found = error
            yield pa.RecordBatch.from_pydict({"sums": [pickle.dumps(found)]})

        with self.errors():
            rows = native.mapInArrow(step, "sums binary").collect()
        results = [pickle.loads(row.sums) for row in rows]
        for each in results:
            if isinstance(each, InputError):
                raise each
        return results


@dataclass(frozen=True, eq=False)
class CountedTask:
    """A task that also counts the rows it was given, to see that the table has not changed.

    Attributes
    ----------
    roles : RoleColumns or None
        Makes the keys of the rows; None if they are not known.
    """

    task: RowsTask
    combine: Combine
    roles: RoleColumns | None

    def __call__(self, frame: pd.DataFrame) -> tuple[int, int, Any]:
        """Number of rows, checksum of their keys, and the result of the task."""
        with one_thread():
            checksum = 0
            if self.roles is not None:
                checksum = int((self.roles.keys(frame) % PRIMES[0]).sum())
            return len(frame), checksum, self.task(frame)

    def added(self, several: Sequence[tuple[int, int, Any]]) -> tuple[int, int, Any]:
        """Add up the counts, and combine the results."""
        n_rows, checksum = (sum(each[place] for each in several) for place in (0, 1))
        return n_rows, checksum, combined([each[2] for each in several], self.combine)


def frames_of(batches: Iterator[Any], columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Chunks of about the same number of rows from Arrow batches of any length."""
    import pyarrow as pa

    waiting: list[Any] = []
    start = 0
    for batch in chain(batches, [None]):
        if batch is not None and batch.num_rows:
            waiting.append(batch)
        n_rows = sum(each.num_rows for each in waiting)
        if n_rows and (batch is None or n_rows >= ROWS_AT_ONCE):
            frame = _plain(pa.Table.from_batches(waiting)).to_pandas()[list(columns)]
            yield frame.set_axis(pd.RangeIndex(start, start + n_rows), axis=0)
            start += n_rows
            waiting = []


def _batches(native: Any) -> Iterator[Any]:
    """Arrow batches of a lazy table."""
    if hasattr(native, "to_pyarrow_batches"):
        backend = native.get_backend()
        if backend.name != "duckdb":
            return iter(native.to_pyarrow_batches(chunk_size=ROWS_AT_ONCE))
        native = backend.con.sql(backend.compile(native))  # Ibis 12 calls what DuckDB 2 no longer has
    if hasattr(native, "to_arrow_reader"):  # DuckDB
        return iter(native.to_arrow_reader(ROWS_AT_ONCE))
    if hasattr(native, "fetch_arrow_reader"):  # DuckDB before 1.4
        return iter(native.fetch_arrow_reader(ROWS_AT_ONCE))
    frames = native.collect_batches(chunk_size=ROWS_AT_ONCE)  # Polars
    return (batch for frame in frames for batch in frame.to_arrow().to_batches())


def _plain(table: Any) -> Any:
    """Arrow table whose decimals are integers, if they have no digits after the point, and else floats."""
    import pyarrow as pa

    for place, entry in enumerate(table.schema):
        if pa.types.is_decimal(entry.type):
            kind = pa.int64() if entry.type.scale == 0 else pa.float64()
            table = table.set_column(place, entry.name, table.column(place).cast(kind))
    return table


def lazy_relation(given: Any, sql: str | None = None) -> nw.LazyFrame[Any]:
    """Lazy frame of a relation of an engine, or of a connection with a query or the name of a table."""
    if sql is not None:
        given = _asked(given, sql)
    try:
        found = nw.from_native(given)
    except TypeError:
        found = None
    if isinstance(found, nw.DataFrame):
        raise InputError(
            f"relation: a {type(given).__name__} is in memory; SelectiveLabels.from_frame takes it.",
            "relation",
        )
    if not isinstance(found, nw.LazyFrame):
        raise InputError(
            f"relation: {type(given).__name__} is no lazy table; give a DuckDB relation, an Ibis table, a "
            "Spark frame, a lazy frame that narwhals knows, or a connection with sql=.",
            "relation",
        )
    if found.implementation.value not in KNOWN:
        raise InputError(
            f"relation: rows of {found.implementation.value} cannot be streamed; known are "
            f"{', '.join(KNOWN)} (and Dask by from_dask).",
            "relation",
        )
    if "pyarrow" not in sys.modules:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise InputError(f"reading a relation {needs('pyarrow')}.", "relation") from None
    return found


# Engines whose rows can be streamed, by their names in narwhals.
KNOWN = ("duckdb", "ibis", "pyspark", "polars")


def _asked(connection: Any, sql: str) -> Any:
    """The table of a query, or the table of this name."""
    ask = getattr(connection, "table" if NAME.fullmatch(sql) else "sql", None)
    if ask is None:
        raise InputError(
            f"sql: {type(connection).__name__} is no connection of DuckDB, Ibis or Spark.", "sql"
        )
    try:
        return ask(sql)
    except Exception as error:  # each engine has its own
        raise InputError(f"sql: the engine refuses {shown(sql)}: {first_line(error)}", "sql") from None


def with_text_keys(native: Any, column: str) -> Any:
    """The relation with a column of the keys of texts; None if the engine cannot compute them.

    The key is a number made of the first digits of the MD5 digest, as in :func:`.row_keys`.
    """
    module = type(native).__module__.partition(".")[0]
    if module in ("duckdb", "_duckdb"):
        quoted = '"' + column.replace('"', '""') + '"'
        return native.project(f"*, CAST('0x' || left(md5({quoted}), {DIGITS}) AS BIGINT) AS {KEY}")
    if module == "pyspark":
        from pyspark.sql import functions

        quoted = "`" + column.replace("`", "``") + "`"
        digits = f"conv(left(md5(cast({quoted} AS binary)), {DIGITS}), 16, 10)"
        return native.withColumn(KEY, functions.expr(f"cast({digits} AS bigint)"))
    if module == "ibis":
        return _with_text_keys_of_ibis(native, column)
    return None


def _with_text_keys_of_ibis(native: Any, column: str) -> Any:
    import ibis

    digest, known = native[column].hexdigest("md5").lower(), ibis.literal("0123456789abcdef")
    digits = [known.find(digest.substr(place, 1)).cast("int64") for place in range(DIGITS)]
    key = sum(digit * 16 ** (DIGITS - 1 - place) for place, digit in enumerate(digits))
    found = native.mutate(**{KEY: key})
    try:
        ibis.to_sql(found)
    except Exception:  # a backend without MD5: its rows are filtered here
        return None
    return found


def first_line(error: Exception) -> str:
    """First line of the message of an engine."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _lost(engine: str, error: Exception) -> WorkerError:
    return WorkerError(
        f"The engine ({engine}) failed while the table was read ({type(error).__name__}: "
        f"{first_line(error)[:300]}); nothing was written. See that the connection is open and the table "
        "is as it was, and repeat the call."
    )
