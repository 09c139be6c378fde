"""Tables of databases: SQLite and DuckDB files, and whatever SQLAlchemy has an address for."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

from selective_labels.support.words import needs, several, shown
from selective_labels.tables.errors import TableError

SQLITE, DUCKDB = b"SQLite format 3\x00", b"DUCK"
DUCKDB_AT = slice(8, 12)
ADDRESS = re.compile(r"[a-z][a-z0-9+_]*://", re.IGNORECASE)
PASSWORD = re.compile(r"(?<=://)([^/@:\s]*):[^@/\s]*(?=@)")
SQLITE_TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
DUCKDB_TABLES = "SELECT table_name FROM information_schema.tables"
Query = Callable[[str], pd.DataFrame]


def is_address(source: str) -> bool:
    """Whether a source is the address of a database.

    Examples
    --------
    >>> is_address("postgresql://me@host/loans"), is_address("loans.csv")
    (True, False)
    """
    return ADDRESS.match(source) is not None


def without_password(text: str) -> str:
    """An address as it may be shown.

    Examples
    --------
    >>> without_password("postgresql://me:secret@host/loans")
    'postgresql://me:***@host/loans'
    """
    return PASSWORD.sub(r"\1:***", text)


def is_database(path: Path) -> bool:
    """Whether a file is a database, by how it begins."""
    try:
        with path.open("rb") as file:
            beginning = file.read(16)
    except (OSError, ValueError):
        return False
    return beginning.startswith(SQLITE) or beginning[DUCKDB_AT] == DUCKDB


def read_database(source: str, sql: str | None) -> pd.DataFrame:
    """Rows of a query, or of the only table.

    Parameters
    ----------
    source : str
        A file of SQLite or DuckDB, opened for reading only, or an address that SQLAlchemy knows.
    sql : str, optional
        The query; without it, the database must hold one table.
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
    except Exception as error:  # every driver has its own
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
