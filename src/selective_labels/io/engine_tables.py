"""Addresses of tables that stay in their engine: duckdb:FILE#TABLE_OR_SQL and DATABASE_URL#TABLE_OR_SQL."""

import re
from pathlib import Path
from typing import Any

from selective_labels._errors import InputError, TableError, needs, several, shown
from selective_labels.data.relations import RelationSource, first_line
from selective_labels.io.read import is_address, without_password

DUCKDB = "duckdb:"
# DuckDB's own memory: rows are streamed, and by default the file would fill 80 % of the machine's memory.
MEMORY = "700MB"
# Drivers of SQLAlchemy, which Ibis does not name; its own names of databases.
DRIVER, IBIS_NAMES = re.compile(r"^(\w+)(\+\w+)?://"), {"postgresql": "postgres"}


def names_relation(name: str) -> bool:
    """Whether a name is the address of a table that stays in its engine.

    Examples
    --------
    >>> names_relation("duckdb:loans.db#cases"), names_relation("postgresql://me@host/loans#cases")
    (True, True)
    >>> names_relation("loans.db"), names_relation("postgresql://me@host/loans")
    (False, False)
    """
    return name.startswith(DUCKDB) or (is_address(name) and "#" in name)


def relation_at(name: str, key: str | None, *, writable: bool = False) -> RelationSource:
    """The table, or the query, at an address.

    Parameters
    ----------
    name : str
        "duckdb:FILE#TABLE_OR_SQL", or a database URL with "#TABLE_OR_SQL", which Ibis opens.
    key : str or None
        Column that identifies a case.
    writable : bool
        Whether a DuckDB file is opened for writing.
    """
    address, _, sql = name.partition("#")
    told = without_password(address)
    if not sql:
        raise TableError(f"{told} names no table: write {told}#TABLE, or a query after the #.")
    if key is None:
        raise TableError(
            "--case-id is missing: rows of a database have no numbers; name what identifies a case."
        )
    connection = _duckdb(address, writable) if name.startswith(DUCKDB) else _by_ibis(address, told)
    try:
        found = RelationSource.of(connection, sql, key)
    except InputError as error:
        raise TableError(f"{told}: {error}") from None
    if key not in found.columns:
        there = several(list(found.columns), 8)
        raise TableError(f"--case-id {shown(key)} is not a column of the table; there are {there}.")
    return found


def _duckdb(address: str, writable: bool) -> Any:
    path = Path(address.removeprefix(DUCKDB))
    if not path.is_file():
        raise TableError(f"There is no file {path}.")
    try:
        import duckdb
    except ImportError:
        raise TableError(f"{path} is a DuckDB file, which {needs('duckdb')}.") from None
    try:
        return duckdb.connect(str(path), read_only=not writable, config={"memory_limit": MEMORY})
    except duckdb.Error as error:
        raise TableError(f"{path} cannot be opened: {shown(first_line(error), 300)}.") from None


def _by_ibis(address: str, told: str) -> Any:
    try:
        import ibis
    except ImportError:
        raise TableError(
            f"{told} is a database, and a table that stays there {needs('ibis-framework')}."
        ) from None
    url = DRIVER.sub(lambda found: f"{IBIS_NAMES.get(found[1], found[1])}://", address)
    try:
        return ibis.connect(url)
    except Exception as error:  # each driver raises its own exceptions
        reason = without_password(first_line(error))
        raise TableError(f"{told} cannot be opened: {shown(reason, 300)}.") from None
