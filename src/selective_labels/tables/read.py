"""A table from a file, a folder or standard input; what is wrong with it, in one sentence."""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from selective_labels.support.expansion import MIB, largest_expansion
from selective_labels.support.words import several, shown
from selective_labels.tables.databases import is_address, is_database, read_database, without_password
from selective_labels.tables.delimited import parse_delimited
from selective_labels.tables.errors import TableError
from selective_labels.tables.excel import is_excel, parse_excel
from selective_labels.tables.parquet import PARQUET, parse_parquet

STANDARD_INPUT = "-"
SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
GZIP = b"\x1f\x8b"
# How files that people take for tables begin, and what these are.
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
    """The content of a table, not parsed yet, or rows of a database; see :func:`read_table` for the rest."""

    content: bytes
    name: str
    separator: str | None = None
    encoding: str = "utf-8"
    missing: Sequence[str] = ()
    sheet: str | None = None
    rows: pd.DataFrame | None = None

    def read(self, text: Sequence[str] = (), names: Sequence[str] = ()) -> pd.DataFrame:
        """Parse it; may be done again when it is known which columns name somebody."""
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
    r"""Read CSV, compressed CSV, Parquet, Excel, or a database, told apart by content.

    Parameters
    ----------
    source : str or Path
        A file, a folder that holds exactly one table, "-" for standard input, or the address of a database.
    separator : str, optional
        Between the cells of CSV; default a comma. "tab" is a tab.
    encoding : str
        Of CSV.
    missing : sequence of str
        Cells that mean "missing", besides the usual (empty, NA, N/A, NaN, None, null ...).
    text : sequence of str
        Names or patterns of columns whose cells stay as they are written: "05" is not 5.
    names : sequence of str
        Columns of ids and labels, which become numbers only if nothing is lost by it; see
        :func:`selective_labels.tables.names.read_names`.
    sheet : str, optional
        Of an Excel file, if several are filled.
    sql : str, optional
        What to ask a database (SQLite or DuckDB file, or an address of SQLAlchemy); else its only table.

    Returns
    -------
    pandas.DataFrame
        With rows counted from 0.

    Raises
    ------
    TableError
        One sentence that says what is wrong and what to do.

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
    """Take the content of a table; the parameters are those of :func:`read_table`."""
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
    """The file itself, or the only table of a folder."""
    if not os.path.isdir(path):  # unlike Path.is_dir, says no where it may not look
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
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle, before Python 3.13
        words = getattr(error, "strerror", None) or "its links lead round in a circle"
        raise TableError(f"{name} cannot be read: {words}.") from None
    except ValueError:  # a NUL among the letters
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
