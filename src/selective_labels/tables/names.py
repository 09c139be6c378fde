"""Cells that name somebody or something (ids, labels): numbers only where nothing is lost by it."""

import re
from typing import Any

import numpy as np
import pandas as pd

WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")  # up to 18 digits, so within 64 bits
# What a whole number becomes beside holes, wherever floats had to hold it.
POINT_ZERO = re.compile(r"(?:0|-?[1-9]\d{0,14})\.0")
# Measurements; "1e5" alone could be the name of something.
FRACTION = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE]-\d+)?|-?\d\.\d+[eE][+-]?\d+")
TRUTH = {"True": True, "False": False}


def read_names(cells: pd.Series) -> pd.Series:
    """Cells of text as numbers or truth values if all are written as such and none are one, else as text.

    "07" and "7" are two names, so a column that holds both stays text, and so does one that holds "07" alone:
    who is called 07 is not called 7. Whole numbers come out as whole numbers, also beside holes.

    Parameters
    ----------
    cells : pandas.Series of str, with holes

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
    values = pd.array(read.to_numpy(), dtype=holding_holes).take(codes, allow_fill=True)  # -1 is a hole
    plain = read.dtype == float or not cells.isna().any()
    return pd.Series(values, cells.index, name=cells.name).astype(read.dtype if plain else values.dtype)


def _all(written: pd.Series, pattern: re.Pattern[str]) -> bool:
    return all(pattern.fullmatch(cell) for cell in written)
