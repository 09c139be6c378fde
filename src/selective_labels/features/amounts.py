"""Numbers as people write them: separators of thousands, currency and percent signs, leading zeros."""

import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from selective_labels.support.errors import InputError
from selective_labels.support.words import shown

CURRENCY = r"US\$|[$€£¥₹]|USD|EUR|GBP|CHF"
WRITTEN = re.compile(
    rf"(?P<open>\()?(?P<sign>[-+−]?)\s*(?P<before>{CURRENCY})?\s*(?P<inner>[-+−]?)"
    rf"(?P<digits>\d[\d.,'’\s]*\d|\d|\.\d+)\s*(?P<after>{CURRENCY})?\s*(?P<percent>%)?(?P<close>\))?"
)
PLAIN = re.compile(r"\d*\.?\d+|\d+\.")
# Thousands before a decimal point, and before a decimal comma; the group is the separator of thousands.
POINT = re.compile(r"\d{1,3}(?:([,'’\s])\d{3})(?:\1\d{3})*(?:\.\d+)?")
COMMA = re.compile(r"\d+,\d+|\d{1,3}(?:([.'’\s])\d{3})(?:\1\d{3})*(?:,\d+)?|\d+")
CODE = re.compile(r"\d+")
PLAINLY, THOUSANDS, COMMAS = "", "separators of thousands", "decimal commas"
# Fewer leading zeros than this, among numbers of several lengths, do not make a code.
CODE_SHARE = 0.01


class Amounts(NamedTuple):
    """Numbers, NaN where a cell is none, and the marks that were read over."""

    numbers: pd.Series
    marks: tuple[str, ...]


def read_numbers(values: pd.Series) -> Amounts:
    """Numbers of cells that are not missing, however they are written.

    "5,750", "$1,200.50", "(300)", "12 %" and, where a column leaves no doubt, "1.234,5" are numbers; percent
    are hundredths, as in a spreadsheet. A column that mixes percentages with numbers, or currencies, is an
    error: one number could then mean two things.

    Examples
    --------
    >>> read_numbers(pd.Series(["5,750", "$1,200", "80"])).numbers.tolist()
    [5750.0, 1200.0, 80.0]
    >>> read_numbers(pd.Series(["7 %", "12.5%"]))
    Amounts(numbers=0    0.070
    1    0.125
    dtype: float64, marks=('percent signs',))
    >>> read_numbers(pd.Series(["5,750", "many"])).numbers.tolist()
    [5750.0, nan]
    """
    numbers = pd.to_numeric(values, errors="coerce").astype(float)
    left = values[numbers.isna()]
    if not left.map(lambda value: isinstance(value, str)).all() or not len(left):
        return Amounts(numbers, ())
    cells = pd.Series(values.astype(str).str.strip().unique())
    parts = cells.str.extract(WRITTEN.pattern).where(cells.str.fullmatch(WRITTEN.pattern))
    parts = parts[parts["open"].isna() == parts["close"].isna()].dropna(subset="digits")
    if parts.empty:
        return Amounts(numbers, ())
    digits, style = _digits(parts["digits"])
    currency = parts["before"].fillna(parts["after"]).dropna()
    _refuse_two_meanings(cells, parts, digits, currency, values.name)
    size = digits * np.where(parts["percent"].notna(), 0.01, 1.0)
    negative = parts["open"].notna() | parts["sign"].isin(["-", "−"]) | parts["inner"].isin(["-", "−"])
    read = dict(zip(cells[parts.index], np.where(negative, -size, size), strict=True))
    found = values.astype(str).str.strip().map(read).astype(float)
    marks = [
        (bool(len(currency)), f"the currency sign {currency.iloc[0]}" if len(currency) else ""),
        (style != PLAINLY, style),
        (bool(parts["percent"].notna().any()), "percent signs"),
        (bool(parts["open"].notna().any()), "negative numbers in brackets"),
    ]
    # What is a number already stays bit for bit what it was, unless its point stands for thousands.
    whole = found if style == COMMAS else numbers.fillna(found)
    return Amounts(whole, tuple(words for present, words in marks if present))


def _digits(texts: pd.Series) -> tuple[pd.Series, str]:
    """Sizes, by the one way to write decimals that fits every cell; and which that is."""
    plain, point, comma = (texts.str.fullmatch(each.pattern) for each in (PLAIN, POINT, COMMA))
    if (plain | point).all() or not comma.all():
        tidy = texts.where(plain | point).str.replace(r"[,'’\s]", "", regex=True)
        return pd.to_numeric(tidy, errors="coerce"), THOUSANDS if (point & ~plain).any() else PLAINLY
    tidy = texts.str.replace(r"[.'’\s]", "", regex=True).str.replace(",", ".", regex=False)
    return pd.to_numeric(tidy, errors="coerce"), COMMAS


def _refuse_two_meanings(
    cells: pd.Series, parts: pd.DataFrame, digits: pd.Series, currency: pd.Series, name: object
) -> None:
    """Raise if the same digits could mean two things in one column."""
    whole = len(parts) == len(cells) and digits.notna().all()
    percent = parts["percent"].notna()
    for mixed, what in (
        (percent.any() and not percent.all(), "percentages and plain numbers"),
        (currency.nunique() > 1, "several currencies"),
    ):
        if whole and mixed:
            where = percent if what.startswith("percent") else parts["before"].fillna(parts["after"]).notna()
            others = cells[parts.index][~where]
            second = others.iloc[0] if len(others) else cells[currency[currency != currency.iloc[0]].index[0]]
            first = cells[parts.index][where].iloc[0]
            raise InputError(
                f"Column {shown(name)} mixes {what}, such as {shown(first)} and {shown(second)}; write them "
                f"alike, or give --category {shown(name)} or --exclude {shown(name)}.",
                "X",
            )


def looks_like_code(values: pd.Series) -> bool:
    """Whether digits are a code and not a number: some begin with a zero that a number would lose.

    All of one length, or at least 1 % with such a zero.

    Examples
    --------
    >>> [looks_like_code(pd.Series(each)) for each in (["02139", "10115"], ["0.5", "0"], ["10", "12"])]
    [True, False, False]
    """
    if not len(values) or not values.map(lambda value: isinstance(value, str)).all():
        return False
    cells = values.str.strip()
    if not cells.str.fullmatch(CODE.pattern).all():
        return False
    padded = has_leading_zero(cells)
    return bool(padded.any() and (cells.str.len().nunique() == 1 or padded.mean() >= CODE_SHARE))


def has_leading_zero(cells: pd.Series) -> pd.Series:
    """Which cells are digits after a zero, such as "007".

    Examples
    --------
    >>> has_leading_zero(pd.Series(["007", "0", "70"])).tolist()
    [True, False, False]
    """
    return cells.str.fullmatch(r"0\d+").astype(bool)
