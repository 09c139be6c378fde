"""Parsing of delimited text (CSV) into a frame: codes with leading zeros, ids, and malformed files."""

import csv
import io
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._errors import TableError, several
from selective_labels.data.features import has_leading_zero

# A cell that starts with a zero before a digit. Without one in the file, no second read is needed.
PADDED = re.compile(rb"(?:^|[^0-9A-Za-z.\-])0\d", re.MULTILINE)


def with_codes(
    frame: pd.DataFrame, content: bytes, read: Callable[[list[str]], pd.DataFrame]
) -> pd.DataFrame:
    r"""Restore the text of columns that were parsed as whole numbers but contain leading zeros.

    Parameters
    ----------
    frame : pandas.DataFrame
        Frame as parsed.
    content : bytes
        Content that the frame was parsed from.
    read : callable
        Reads some columns of the content as text.

    Examples
    --------
    >>> import io
    >>> content = b"zip,age\n02139,31\n10115,40\n"
    >>> frame = pd.read_csv(io.BytesIO(content))
    >>> read = lambda columns: pd.read_csv(io.BytesIO(content), dtype=str, usecols=columns)
    >>> with_codes(frame, content, read).to_dict("list")
    {'zip': ['02139', '10115'], 'age': [31, 40]}
    """
    numbers = [str(name) for name, column in frame.items() if _is_whole(column)]
    if not numbers or PADDED.search(content) is None:
        return frame
    text = read(numbers)
    codes = {name: text[name] for name in numbers if has_leading_zero(text[name].dropna().str.strip()).any()}
    return frame.assign(**codes) if codes else frame


def _is_whole(column: pd.Series) -> bool:
    types = pd.api.types
    if types.is_bool_dtype(column) or not types.is_numeric_dtype(column):
        return False
    values = column.dropna()
    return bool(len(values) and (values == values.round()).all())


WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")  # up to 18 digits, which fit into 64 bits
# Whole numbers that were written from a float column because it has missing values.
POINT_ZERO = re.compile(r"(?:0|-?[1-9]\d{0,14})\.0")
# Measurements. "1e5" alone could be a name, so it is excluded.
FRACTION = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE]-\d+)?|-?\d\.\d+[eE][+-]?\d+")
TRUTH = {"True": True, "False": False}


def read_names(cells: pd.Series) -> pd.Series:
    """Convert text cells to numbers or booleans if that keeps distinct cells distinct; else keep the text.

    A column that holds "07" stays text, because "07" and "7" are different names. Whole numbers become
    integers, even if the column has missing values.

    Parameters
    ----------
    cells : pandas.Series of str, with missing values

    Examples
    --------
    >>> read_names(pd.Series(["1", None, "0"])).tolist(), read_names(pd.Series(["1.0", None])).tolist()
    ([1, <NA>, 0], [1, <NA>])
    >>> for names in ["07", "7"], ["1e5", "100000"], ["1", "1.0"], ["9007199254740993", "8"]:
    ...     print(read_names(pd.Series(names)).tolist())
    ['07', '7']
    ['1e5', '100000']
    ['1', '1.0']
    [9007199254740993, 8]
    >>> read_names(pd.Series(["0.25", "3"])).tolist(), read_names(pd.Series(["True", "False"])).tolist()
    ([0.25, 3.0], [True, False])
    """
    codes, found = pd.factorize(cells)
    different = pd.Series(found, dtype=object)
    if not len(different):
        return cells
    written = different.str.strip()
    read: pd.Series | None = None
    if _all(written, WHOLE):
        read = written.astype("int64")
    elif _all(written, POINT_ZERO):
        read = written.str[:-2].astype("int64")
    elif _all(written, FRACTION):
        read = written.astype(float)
    elif written.isin(list(TRUTH)).all():
        read = written.map(TRUTH).astype(bool)
    if read is None or not read.is_unique or (read.dtype == float and not np.isfinite(read).all()):
        return cells
    holding_holes: Any = {"i": "Int64", "f": "Float64", "b": "boolean"}[read.dtype.kind]
    values = pd.array(read.to_numpy(), dtype=holding_holes).take(codes, allow_fill=True)  # -1 is missing
    plain = read.dtype == float or not cells.isna().any()
    return pd.Series(values, cells.index, name=cells.name).astype(read.dtype if plain else values.dtype)


def _all(written: pd.Series, pattern: re.Pattern[str]) -> bool:
    return all(pattern.fullmatch(cell) for cell in written)


COMMA = ","
SEPARATORS = {";": "';'", "\t": "tab", "|": "'|'", COMMA: "','"}
UNCLOSED_QUOTE = re.compile(r"EOF inside string starting at row (\d+)")


def parse_delimited(
    content: bytes,
    name: str,
    separator: str | None = None,
    encoding: str = "utf-8",
    missing: Sequence[str] = (),
    text: Sequence[str] = (),
    names: Sequence[str] = (),
) -> pd.DataFrame:
    r"""Parse CSV. Every line must have as many cells as the header.

    Parameters
    ----------
    name : str
        File name for messages.
    separator, encoding, missing, text, names
        As in :func:`selective_labels.io.read.read_table`.

    Examples
    --------
    >>> parse_delimited(b"a;b\n1;x\n", "cases.csv", ";").to_dict("list")
    {'a': [1], 'b': ['x']}
    >>> parse_delimited(b"a,b\n1,2\n3\n", "cases.csv")
    Traceback (most recent call last):
    ...
    selective_labels._errors.TableError: cases.csv: line 3 has 1 cell where the header has 2; ...
    """
    _refuse_binary(content, name, encoding)
    header = _header(content, name, separator, encoding)
    chosen = separator or COMMA

    def read(**settings: Any) -> pd.DataFrame:
        how: dict[str, Any] = {
            "sep": chosen,
            "encoding": encoding,
            "na_values": list(missing),
            "low_memory": False,
        }
        return pd.read_csv(io.BytesIO(content), **how, **settings)

    try:
        frame = read(dtype=dict.fromkeys([*_named(header, text), *names], str))
    except UnicodeDecodeError:
        raise TableError(_wrong_encoding(content, name, encoding)) from None
    except pd.errors.EmptyDataError:
        raise TableError(f"{name} is empty.") from None
    except pd.errors.ParserError as error:
        _refuse_uneven_lines(content, name, chosen, encoding, len(header))
        raise TableError(_wrong_lines(str(error), name)) from None
    # pandas uses surplus cells as an index, and fills short lines, so that their last cell is missing.
    counted = frame.index.equals(pd.RangeIndex(len(frame)))
    if not counted or frame.iloc[:, -1].isna().any():
        _refuse_uneven_lines(content, name, chosen, encoding, len(header))
    if not counted:
        raise TableError(f"{name} has rows with more cells than the header has names; correct them.")
    frame = with_codes(frame, content, lambda columns: read(dtype=str, usecols=columns))
    frame = _without_trailing_separator(frame, header)
    return frame.assign(**{each: read_names(frame[each]) for each in names if each in frame.columns})


def _without_trailing_separator(frame: pd.DataFrame, header: list[str]) -> pd.DataFrame:
    """Drop the empty, unnamed last column that results if all lines end with a separator."""
    surplus = not header[-1] and frame.shape[1] > 1 and frame.iloc[:, -1].isna().all()
    return frame.iloc[:, :-1] if surplus else frame


def _named(header: list[str], text: Sequence[str]) -> list[str]:
    """Columns that equal one of the names or match it as a pattern."""
    return [each for each in header if each in text or any(fnmatchcase(each, pattern) for pattern in text)]


def _refuse_binary(content: bytes, name: str, encoding: str) -> None:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) and not encoding.lower().startswith("utf-16"):
        raise TableError(f"{name} is UTF-16, not {encoding}; --encoding utf-16 reads it.")
    if b"\x00" in content and not encoding.lower().startswith(("utf-16", "utf-32")):
        raise TableError(f"{name} is not text, so not a table; save it as CSV or Parquet.")


def _header(content: bytes, name: str, separator: str | None, encoding: str) -> list[str]:
    """Column names. Raise :class:`TableError` for a wrong separator or repeated names before parsing."""
    with closing(_records(content, name, separator or COMMA, encoding)) as records:
        _, line = next(records, (0, None))
        # If the first row has surplus cells, pandas uses the first column as an index and shifts the others.
        number, first = next(records, (0, line))
    if line is None:  # the file holds a byte order mark and nothing else
        raise TableError(f"{name} is empty.")
    if len(line) == 1:
        others = [each for each in SEPARATORS if each != (separator or COMMA) and each in line[0]]
        if others:
            best = max(others, key=line[0].count)
            raise TableError(
                f"{name} has everything in one column: its cells are separated by {SEPARATORS[best]}, so "
                f"give --separator {SEPARATORS[best]}."
            )
    if first is not None and len(first) > len(line):
        raise TableError(_uneven(name, number, len(first), len(line)))
    named = [column for column in line if column]
    repeated = sorted({column for column in named if named.count(column) > 1})
    if repeated:
        raise TableError(f"{name} has several columns named {several(repeated)}; rename them.")
    return line


def _records(
    content: bytes, name: str, separator: str, encoding: str
) -> Generator[tuple[int, list[str]], None, None]:
    """Cells of every non-blank record, with the number of its last line.

    Close the generator when done: until then, the process-wide limit on the cell size is changed.
    """
    limit = csv.field_size_limit(max(len(content), 1))  # a cell may be as long as the file
    try:
        without_mark = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
        reader = csv.reader(
            io.TextIOWrapper(io.BytesIO(content), encoding=without_mark, newline=""), delimiter=separator
        )
        yield from ((reader.line_num, cells) for cells in reader if cells)
    except UnicodeDecodeError:
        raise TableError(_wrong_encoding(content, name, encoding)) from None
    except LookupError:
        raise TableError(f"There is no encoding {encoding!r}; try utf-8 or latin-1.") from None
    except csv.Error as error:
        raise TableError(f"{name} is not a table of text: {error}.") from None
    finally:
        csv.field_size_limit(limit)


def _refuse_uneven_lines(content: bytes, name: str, separator: str, encoding: str, width: int) -> None:
    with closing(_records(content, name, separator, encoding)) as records:
        for line, cells in records:
            if len(cells) != width:
                raise TableError(_uneven(name, line, len(cells), width))


def _uneven(name: str, line: int, n_cells: int, width: int) -> str:
    words = "1 cell" if n_cells == 1 else f"{n_cells:,} cells"
    return f"{name}: line {line:,} has {words} where the header has {width:,}; correct or delete that line."


def _wrong_lines(message: str, name: str) -> str:
    """Translate pandas' message for users."""
    if match := UNCLOSED_QUOTE.search(message):
        return f"{name}: a quotation mark is opened near line {int(match[1]) + 1:,} and never closed."
    return f"{name} is not a table: {message.strip().splitlines()[-1]}"


def _wrong_encoding(content: bytes, name: str, encoding: str) -> str:
    try:
        content.decode(encoding)
        line = 1
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
    advice = (
        "if it is Latin-1, --encoding latin-1 reads it" if encoding.lower() != "latin-1" else "try another"
    )
    return f"{name} is not {encoding.upper()} (see line {line:,}); {advice}."
