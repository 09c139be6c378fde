"""Codes in text with separators: digits with leading zeros, which a parser would take for numbers."""

import re
from collections.abc import Callable

import pandas as pd

from selective_labels.features.amounts import has_leading_zero

# A zero before a digit at the beginning of a cell. Without one in the file, nothing is read twice.
PADDED = re.compile(rb"(?:^|[^0-9A-Za-z.\-])0\d", re.MULTILINE)


def with_codes(
    frame: pd.DataFrame, content: bytes, read: Callable[[list[str]], pd.DataFrame]
) -> pd.DataFrame:
    r"""Put the text of cells back into columns of whole numbers in which some begin with a zero.

    Parameters
    ----------
    frame : pandas.DataFrame
        As parsed.
    content : bytes
        What it was parsed from.
    read : callable
        Reads some columns of it as text.

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
