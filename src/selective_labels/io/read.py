"""Tables from CSV, Parquet, Excel and databases, read from a file, a folder or standard input."""

import gzip
import io
import os
import re
import sqlite3
import sys
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from selective_labels._errors import TableError, needs, several, shown
from selective_labels._parallel import MIB, largest_expansion
from selective_labels.io.delimited import parse_delimited

PARQUET = b"PAR1"
# Beyond this, floats cannot represent all whole numbers.
LARGEST_EXACT = 2**53


def parse_parquet(content: bytes, name: str) -> pd.DataFrame:
    """Parse Parquet. Page checksums are verified if the file has them.

    Parameters
    ----------
    name : str
        File name for messages.
    """
    try:
        from pyarrow import parquet
    except ImportError:
        raise TableError(f"{name} is Parquet, which {needs('pyarrow')}.") from None
    try:
        table = parquet.read_table(io.BytesIO(content), page_checksum_verification=True)
        table.validate(full=True)  # detects text that is not UTF-8, and wrong lengths
        frame = table.to_pandas()
        frame = frame.assign(**_exact_integers(table))
    except (ValueError, OSError, ArithmeticError, LookupError, TypeError, NotImplementedError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TableError(f"{name} is not a whole Parquet file ({shown(reason, 200)}).") from None
    # A stored index becomes a column. Unnamed range indexes are renumbered.
    frame = frame.reset_index(drop=isinstance(frame.index, pd.RangeIndex) and frame.index.name is None)
    frame.columns = frame.columns.astype(str)
    if not frame.columns.is_unique:
        repeated = sorted(set(frame.columns[frame.columns.duplicated()]))
        raise TableError(f"{name} has several columns named {several(repeated)}; rename them.")
    return frame


def _exact_integers(table: Any) -> dict[str, pd.Series]:
    """Integer columns with missing values that are too large for floats, as nullable integers."""
    from pyarrow import compute, types

    found = {}
    for field in table.schema:
        if types.is_integer(field.type) and table.schema.names.count(field.name) == 1:
            column = table[field.name]
            ends = compute.min_max(column).as_py()
            if column.null_count and max(abs(ends["min"] or 0), abs(ends["max"] or 0)) > LARGEST_EXACT:
                kind = pd.UInt64Dtype() if types.is_unsigned_integer(field.type) else pd.Int64Dtype()
                found[field.name] = column.to_pandas(types_mapper=lambda _, kind=kind: kind)
    return found


ZIP = b"PK\x03\x04"
WORKBOOK = "xl/workbook.xml"


def is_excel(content: bytes) -> bool:
    """Whether a zip archive is an Excel workbook."""
    if not content.startswith(ZIP):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return WORKBOOK in archive.namelist()
    except zipfile.BadZipFile:
        return False


def parse_excel(content: bytes, name: str, sheet: str | None, missing: tuple[str, ...] = ()) -> pd.DataFrame:
    """Parse one sheet: the named one, or the only one that is not empty.

    Parameters
    ----------
    name : str
        File name for messages.
    missing : tuple of str
        Cells that mean missing, in addition to the usual ones.
    """
    _refuse_large(content, name)
    if find_spec("openpyxl") is None:
        raise TableError(f"{name} is an Excel file, which {needs('openpyxl')}.")
    try:
        # Keep the cell types of the file: a parser would convert the text "02139" to 2139.
        settings: dict[str, Any] = {"na_values": list(missing), "dtype": object, "engine": "openpyxl"}
        found = pd.read_excel(io.BytesIO(content), sheet_name=None, **settings)
    except Exception as error:  # a damaged workbook can raise many exceptions
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TableError(f"{name} is not a whole Excel file ({shown(reason, 200)}).") from None
    frame = _chosen({str(each): frame for each, frame in found.items()}, name, sheet)
    frame.columns = frame.columns.astype(str)
    return frame.infer_objects()


def _refuse_large(content: bytes, name: str) -> None:
    limit = largest_expansion(len(content))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        size = sum(each.file_size for each in archive.infolist())
    if size > limit:
        raise TableError(
            f"{name} unpacks to {size / MIB:,.0f} MiB, more than the {limit / MIB:,.0f} MiB allowed; "
            "save it as CSV."
        )


def _chosen(sheets: dict[str, pd.DataFrame], name: str, sheet: str | None) -> pd.DataFrame:
    if sheet is not None:
        if sheet not in sheets:
            raise TableError(
                f"--sheet {shown(sheet)} is not in {name}; there are {several(list(sheets), 8)}."
            )
        return sheets[sheet]
    filled = {each: frame for each, frame in sheets.items() if len(frame)}
    if len(filled) > 1:
        raise TableError(f"{name} has the sheets {several(list(filled), 8)}; choose one with --sheet.")
    return next(iter(filled.values()), pd.DataFrame())


SQLITE, DUCKDB = b"SQLite format 3\x00", b"DUCK"
DUCKDB_AT = slice(8, 12)
ADDRESS = re.compile(r"[a-z][a-z0-9+_]*://", re.IGNORECASE)
PASSWORD = re.compile(r"(?<=://)([^/@:\s]*):[^@/\s]*(?=@)")
SQLITE_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
DUCKDB_TABLES = "SELECT table_name FROM information_schema.tables"
Query = Callable[[str], pd.DataFrame]


def is_address(source: str) -> bool:
    """Whether a source is a database URL.

    Examples
    --------
    >>> is_address("postgresql://me@host/loans"), is_address("loans.csv")
    (True, False)
    """
    return ADDRESS.match(source) is not None


def without_password(text: str) -> str:
    """Database URL without its password, for messages.

    Examples
    --------
    >>> without_password("postgresql://me:secret@host/loans")
    'postgresql://me:***@host/loans'
    """
    return PASSWORD.sub(r"\1:***", text)


def is_database(path: Path) -> bool:
    """Whether a file is a database, by its first bytes."""
    try:
        with path.open("rb") as file:
            beginning = file.read(16)
    except (OSError, ValueError):
        return False
    return beginning.startswith(SQLITE) or beginning[DUCKDB_AT] == DUCKDB


def read_database(source: str, sql: str | None) -> pd.DataFrame:
    """Read the rows of a query, or of the only table.

    Parameters
    ----------
    source : str
        A SQLite or DuckDB file, which is opened read-only, or a SQLAlchemy URL.
    sql : str, optional
        The query. Without it, the database must hold exactly one table.
    """
    name = without_password(source)
    try:
        if is_address(source):
            frame = _from_address(source, sql, name)
        elif Path(source).read_bytes()[:16].startswith(SQLITE):
            frame = _from_sqlite(source, sql, name)
        else:
            frame = _from_duckdb(source, sql, name)
    except TableError:
        raise
    except Exception as error:  # each driver raises its own exceptions
        reason = without_password((str(error).strip().splitlines() or [type(error).__name__])[0])
        raise TableError(f"{name} cannot be read: {shown(reason, 300)}.") from None
    frame.columns = frame.columns.astype(str)
    if not frame.columns.is_unique:
        repeated = sorted(set(frame.columns[frame.columns.duplicated()]))
        raise TableError(f"The query gives several columns named {several(repeated)}; name them apart (AS).")
    return frame


def _from_sqlite(source: str, sql: str | None, name: str) -> pd.DataFrame:
    address = f"{Path(source).absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as connection:

        def query(text: str) -> pd.DataFrame:
            return pd.read_sql_query(text, connection)

        return _rows(query, sql, SQLITE_TABLES, name)


def _from_duckdb(source: str, sql: str | None, name: str) -> pd.DataFrame:
    try:
        import duckdb
    except ImportError:
        raise TableError(f"{name} is a DuckDB file, which {needs('duckdb')}.") from None
    with closing(duckdb.connect(source, read_only=True)) as connection:

        def query(text: str) -> pd.DataFrame:
            return connection.execute(text).df()

        return _rows(query, sql, DUCKDB_TABLES, name)


def _from_address(source: str, sql: str | None, name: str) -> pd.DataFrame:
    try:
        import sqlalchemy
    except ImportError:
        raise TableError(f"{name} is a database, which {needs('sqlalchemy')}.") from None
    engine = sqlalchemy.create_engine(source)
    try:
        with engine.connect() as connection:

            def query(text: str) -> pd.DataFrame:
                return pd.read_sql_query(sqlalchemy.text(text), connection)

            if sql is not None:
                return query(sql)
            tables = sqlalchemy.inspect(connection).get_table_names()
            return query(_select(_only(tables, name)))
    finally:
        engine.dispose()


def _rows(query: Query, sql: str | None, list_tables: str, name: str) -> pd.DataFrame:
    if sql is not None:
        return query(sql)
    tables: list[Any] = query(list_tables).iloc[:, 0].tolist()
    return query(_select(_only([str(each) for each in tables], name)))


def _only(tables: list[str], name: str) -> str:
    if len(tables) == 1:
        return tables[0]
    found = f"has the tables {several(sorted(tables), 8)}" if tables else "holds no table"
    raise TableError(f"{name} {found}; say what to read, as in --sql 'SELECT * FROM loans'.")


def _select(table: str) -> str:
    quoted = table.replace('"', '""')
    return f'SELECT * FROM "{quoted}"'


STANDARD_INPUT = "-"
SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
GZIP = b"\x1f\x8b"
# First bytes of files that are often mistaken for tables, and their descriptions.
FOREIGN = {
    b"PK\x03\x04": "a zip archive or a damaged Excel file",
    b"\xd0\xcf\x11\xe0": "an old Excel file",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\x80\x04": "a pickle, which is never opened",
    b"\x80\x05": "a pickle, which is never opened",
    b"<!doctype": "a web page",
    b"<html": "a web page",
}


@dataclass(frozen=True)
class OpenTable:
    """Unparsed content of a table, or rows of a database. :func:`read_table` describes the fields."""

    content: bytes
    name: str
    separator: str | None = None
    encoding: str = "utf-8"
    missing: Sequence[str] = ()
    sheet: str | None = None
    rows: pd.DataFrame | None = None

    def read(self, text: Sequence[str] = (), names: Sequence[str] = ()) -> pd.DataFrame:
        """Parse the table. May be called again once the columns of ids and labels are known."""
        if self.rows is not None:
            frame = self.rows.replace(list(self.missing), None) if self.missing else self.rows
        elif self.content.startswith(PARQUET):
            frame = parse_parquet(self.content, self.name)
        elif is_excel(self.content):
            frame = parse_excel(self.content, self.name, self.sheet, tuple(self.missing))
        else:
            how = (self.separator, self.encoding, self.missing)
            frame = parse_delimited(self.content, self.name, *how, text, names)
        if not len(frame):
            raise TableError(f"{self.name} has a header and no rows; there is nothing to read.")
        return frame


def read_table(
    source: str | Path,
    *,
    separator: str | None = None,
    encoding: str = "utf-8",
    missing: Sequence[str] = (),
    text: Sequence[str] = (),
    names: Sequence[str] = (),
    sheet: str | None = None,
    sql: str | None = None,
) -> pd.DataFrame:
    r"""Read CSV, compressed CSV, Parquet, Excel, or a database. The content determines the format.

    Parameters
    ----------
    source : str or Path
        A file, a folder with exactly one table, "-" for standard input, or a database URL.
    separator : str, optional
        Separator of CSV cells. Default: a comma. "tab" means a tab.
    encoding : str
        Encoding of CSV.
    missing : sequence of str
        Cells that mean missing, in addition to the usual ones (empty, NA, N/A, NaN, None, null ...).
    text : sequence of str
        Names or patterns of columns that stay text: "05" is not 5.
    names : sequence of str
        Columns of ids and labels. They become numbers only if no information is lost; see
        :func:`selective_labels.io.delimited.read_names`.
    sheet : str, optional
        Sheet of an Excel file, needed if several are not empty.
    sql : str, optional
        Query for a database (SQLite or DuckDB file, or SQLAlchemy URL). Default: its only table.

    Returns
    -------
    pandas.DataFrame
        Table with rows numbered from 0.

    Raises
    ------
    TableError
        The message says what is wrong and what to do.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "cases.csv").write_text("age,officer\n31,b\n,a\n")
    ...     read_table(folder)
        age officer
    0  31.0       b
    1   NaN       a
    """
    how = {"separator": separator, "encoding": encoding, "missing": missing, "sheet": sheet, "sql": sql}
    return open_table(source, **how).read(text, names)  # type: ignore[arg-type]


def open_table(
    source: str | Path,
    *,
    separator: str | None = None,
    encoding: str = "utf-8",
    missing: Sequence[str] = (),
    sheet: str | None = None,
    sql: str | None = None,
) -> OpenTable:
    """Read the content of a table without parsing it. Parameters are those of :func:`read_table`."""
    if is_address(str(source)) or (source != STANDARD_INPUT and is_database(Path(source))):
        rows = read_database(str(source), sql)
        return OpenTable(b"", without_password(str(source)), missing=missing, rows=rows)
    if sql is not None:
        raise TableError(f"--sql asks a database, and {source} is none.")
    path = source if source == STANDARD_INPUT else _one_file(Path(source))
    name = "standard input" if path == STANDARD_INPUT else str(path)
    content = _unpacked(_content(path, name), name)
    excel = is_excel(content)
    if sheet is not None and not excel:
        raise TableError(f"--sheet is for Excel, and {name} is no Excel file.")
    if not excel:
        _refuse_foreign(content, name)
    return OpenTable(content, name, _one_character(separator), encoding, missing, sheet)


def _one_file(path: Path) -> Path:
    """The file itself, or the only table in a folder."""
    if not os.path.isdir(path):  # unlike Path.is_dir, returns False where access is denied
        return path
    try:
        tables = sorted(name for name in os.listdir(path) if name.lower().endswith(SUFFIXES))
    except OSError as error:
        raise TableError(f"The folder {path} cannot be read: {error.strerror or error}.") from None
    if not tables:
        raise TableError(f"The folder {path} holds no table ({', '.join(SUFFIXES)}).")
    if len(tables) > 1:
        raise TableError(f"The folder {path} holds several tables ({several(tables)}); name one of them.")
    return path / tables[0]


def _content(path: str | Path, name: str) -> bytes:
    try:
        content = _standard_input() if path == STANDARD_INPUT else Path(path).read_bytes()
    except TableError:
        raise
    except FileNotFoundError:
        raise TableError(f"There is no file {name}.") from None
    except PermissionError:
        raise TableError(f"{name} cannot be read: permission denied.") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: circular links, before Python 3.13
        words = getattr(error, "strerror", None) or "its links lead round in a circle"
        raise TableError(f"{name} cannot be read: {words}.") from None
    except ValueError:  # the name contains NUL
        raise TableError(f"There is no file {shown(name)}.") from None
    if not content.strip():
        raise TableError(f"{name} is empty.")
    return content


def _standard_input() -> bytes:
    if sys.stdin is None or sys.stdin.closed:
        raise TableError("standard input is closed; give a file, or something to read from.")
    return sys.stdin.buffer.read()


def _unpacked(content: bytes, name: str) -> bytes:
    if not content.startswith(GZIP):
        return content
    limit = largest_expansion(len(content))
    try:
        with gzip.open(io.BytesIO(content)) as packed:
            unpacked = packed.read(limit + 1)
        if len(unpacked) > limit:
            raise TableError(
                f"{name} unpacks to more than {limit / MIB:,.0f} MiB from {len(content) / MIB:,.1f} MiB; if "
                "that is meant, unpack it first."
            )
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise TableError(f"{name} is cut off or damaged: its gzip data end too early or are wrong.") from None
    if not unpacked.strip():
        raise TableError(f"{name} is empty.")
    return unpacked


def _refuse_foreign(content: bytes, name: str) -> None:
    beginning = content[:16].lower()
    for magic, what in FOREIGN.items():
        if beginning.startswith(magic.lower()):
            raise TableError(f"{name} is {what}, not a table; save it as CSV or Parquet.")


def _one_character(separator: str | None) -> str | None:
    if separator is None:
        return None
    separator = {"tab": "\t", "\\t": "\t"}.get(separator, separator)
    if len(separator) != 1:
        raise TableError(f"The separator {shown(separator)} is not one character; a tab is written tab.")
    return separator
