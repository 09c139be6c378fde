"""Feature columns: their kind (number, date or category), parsing of text, and detection of leaks."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from selective_labels._errors import InputError, shown

CURRENCY = r"US\$|[$€£¥₹]|USD|EUR|GBP|CHF"
WRITTEN = re.compile(
    rf"(?P<open>\()?(?P<sign>[-+−]?)\s*(?P<before>{CURRENCY})?\s*(?P<inner>[-+−]?)"
    rf"(?P<digits>\d[\d.,'’\s]*\d|\d|\.\d+)\s*(?P<after>{CURRENCY})?\s*(?P<percent>%)?(?P<close>\))?"
)
# Signs and codes of one currency.
SAME_CURRENCY = {"EUR": "€", "USD": "$", "US$": "$", "GBP": "£"}
PLAIN = re.compile(r"\d*\.?\d+|\d+\.")
# Grouped digits before a decimal point or a decimal comma. The captured group is the thousands separator.
POINT = re.compile(r"\d{1,3}(?:([,'’\s])\d{3})(?:\1\d{3})*(?:\.\d+)?")
COMMA = re.compile(r"\d+,\d+|\d{1,3}(?:([.'’\s])\d{3})(?:\1\d{3})*(?:,\d+)?|\d+")
CODE = re.compile(r"\d+")
PLAINLY, THOUSANDS, COMMAS = "", "separators of thousands", "decimal commas"
# In columns whose cells differ in length, a smaller share of leading zeros does not indicate a code.
CODE_SHARE = 0.01


class Amounts(NamedTuple):
    """Parsed numbers (NaN where a cell is not a number) and the marks that were ignored."""

    numbers: pd.Series
    marks: tuple[str, ...]


def read_numbers(values: pd.Series) -> Amounts:
    """Parse the non-missing cells of a column as numbers.

    "5,750", "$1,200.50", "(300)", "12 %" and, if the column is unambiguous, "1.234,5" are numbers.
    Percentages are divided by 100, as in a spreadsheet. A column that mixes percentages with plain numbers,
    or several currencies, raises an error because the same number could mean two things.

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
    # Numbers that pandas parses stay bitwise the same, unless their point separates thousands.
    whole = found if style == COMMAS else numbers.fillna(found)
    return Amounts(whole, tuple(words for present, words in marks if present))


def _digits(texts: pd.Series) -> tuple[pd.Series, str]:
    """Parse digits by the one decimal convention that fits every cell, and return that convention."""
    plain, point, comma = (texts.str.fullmatch(each.pattern) for each in (PLAIN, POINT, COMMA))
    if (plain | point).all() or not comma.all():
        tidy = texts.where(plain | point).str.replace(r"[,'’\s]", "", regex=True)
        return pd.to_numeric(tidy, errors="coerce"), THOUSANDS if (point & ~plain).any() else PLAINLY
    tidy = texts.str.replace(r"[.'’\s]", "", regex=True).str.replace(",", ".", regex=False)
    return pd.to_numeric(tidy, errors="coerce"), COMMAS


def _refuse_two_meanings(
    cells: pd.Series, parts: pd.DataFrame, digits: pd.Series, currency: pd.Series, name: object
) -> None:
    """Raise :class:`InputError` if the same digits could mean two things in one column."""
    whole = len(parts) == len(cells) and digits.notna().all()
    percent = parts["percent"].notna()
    for mixed, what in (
        (percent.any() and not percent.all(), "percentages and plain numbers"),
        (currency.replace(SAME_CURRENCY).nunique() > 1, "several currencies"),
    ):
        if whole and mixed:
            where = percent if what.startswith("percent") else parts["before"].fillna(parts["after"]).notna()
            others = cells[parts.index][~where]
            one = currency.replace(SAME_CURRENCY)
            second = others.iloc[0] if len(others) else cells[one[one != one.iloc[0]].index[0]]
            first = cells[parts.index][where].iloc[0]
            raise InputError(
                f"Column {shown(name)} mixes {what}, such as {shown(first)} and {shown(second)}; write them "
                f"alike, or give --category {shown(name)} or --exclude {shown(name)}.",
                "X",
            )


def looks_like_code(values: pd.Series) -> bool:
    """Whether digits are a code, not a number: some have a leading zero that a number would lose.

    Either all cells have the same length, or at least 1 % have a leading zero.

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
    """Which cells are digits with a leading zero, such as "007".

    Examples
    --------
    >>> has_leading_zero(pd.Series(["007", "0", "70"])).tolist()
    [True, False, False]
    """
    return cells.str.fullmatch(r"0\d+").astype(bool)


NUMBER, CATEGORY, DATE = "number", "category", "date"
# Names that pandas infers for the content of object columns that do not hold text.
OBJECTS = {
    "boolean": NUMBER,
    "decimal": NUMBER,
    "floating": NUMBER,
    "integer": NUMBER,
    "mixed-integer-float": NUMBER,
    "date": DATE,
    "datetime": DATE,
    "datetime64": DATE,
    "timedelta": DATE,
    "timedelta64": DATE,
}
OPAQUE = (nw.Object, nw.String, nw.Unknown)
STRANGE = (nw.Array, nw.Binary, nw.List, nw.Struct, nw.Time)
# In a numeric column, a smaller share of other values indicates typing errors, not categories.
STRAY_SHARE = 0.01
YEAR_FIRST = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([T ]\d{1,2}:\d{2}.*)?")
YEAR_LAST = re.compile(r"\d{1,2}[/.]\d{1,2}[/.]\d{4}")


def kind_by_type(column: nw.Series) -> str:
    """Kind of a column of a typed table. Text is always a category.

    Examples
    --------
    >>> frame = nw.from_native(pd.DataFrame({"age": [31], "job": ["cook"], "zip": ["10115"]}))
    >>> [kind_by_type(column) for column in frame.iter_columns()]
    ['number', 'category', 'category']
    """
    dtype = column.dtype
    # An object column may hold anything, whatever its first values are.
    content = pd.api.types.infer_dtype(as_objects(column)) if isinstance(dtype, OPAQUE) else ""
    if isinstance(dtype, STRANGE) or content == "complex":
        raise InputError(
            f"X has a column {column.name!r} of type {content or dtype}, which is neither number, text, "
            "category nor date; convert it or leave it out.",
            "X",
        )
    if isinstance(dtype, (nw.Date, nw.Datetime, nw.Duration)):
        return DATE
    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        return CATEGORY
    return OBJECTS.get(content, CATEGORY) if content else NUMBER


def kind_by_content(column: pd.Series) -> str:
    """Kind of a column read from a file, where all values start as text.

    A text column is a number if every value parses as one ("5,750" and "12 %" do), and a date if every value
    parses as a date. Digits with leading zeros are a code, hence a category. Dates with the year last count
    only if day and month can be distinguished. A numeric column in which fewer than 1 % of the values are not
    numbers raises an error, because the user must decide how to correct them.

    Examples
    --------
    >>> columns = [True, False], ["1", "2"], ["2024-02-01", None], ["a", "1"], ["$5,750"], ["02139"]
    >>> [kind_by_content(pd.Series(column)) for column in columns]
    ['number', 'number', 'date', 'category', 'number', 'category']
    """
    types = pd.api.types
    if types.is_datetime64_any_dtype(column):
        return DATE
    if isinstance(column.dtype, pd.CategoricalDtype):
        return CATEGORY
    if types.is_numeric_dtype(column) and not types.is_complex_dtype(column):
        return NUMBER
    values = _plain_values(column)
    if not len(values):
        return NUMBER
    if looks_like_code(values):
        return CATEGORY
    numbers = read_numbers(values).numbers
    if values.map(lambda value: isinstance(value, str)).all():
        _refuse_stray_words(column, numbers)
    if numbers.notna().all():
        return NUMBER
    return DATE if read_dates(values.astype(str)) is not None else CATEGORY


def looks_like_dates(column: pd.Series) -> bool:
    """Whether all non-missing values are dates."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return True
    if pd.api.types.is_numeric_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return False
    values = column.dropna()
    return bool(len(values)) and read_dates(values.astype(str)) is not None


def read_dates(text: pd.Series) -> pd.Series | None:
    """Parse all values as dates, or return None if one of them is not a date.

    Examples
    --------
    >>> read_dates(pd.Series(["31/12/2024"])).dt.month.tolist(), read_dates(pd.Series(["01/02/2024"]))
    ([12], None)
    """
    sample = text.iloc[:100].str.strip()
    if sample.map(lambda value: YEAR_FIRST.fullmatch(value) is not None).all():
        dates = pd.to_datetime(text.str.replace("/", "-"), format="ISO8601", errors="coerce", utc=True)
        return without_zone(dates) if dates.notna().all() else None
    if sample.map(lambda value: YEAR_LAST.fullmatch(value) is not None).all():
        slashes = text.str.strip().str.replace(".", "/", regex=False)
        orders = [pd.to_datetime(slashes, format=each, errors="coerce") for each in ("%d/%m/%Y", "%m/%d/%Y")]
        whole = [dates for dates in orders if dates.notna().all()]
        # If both orders are possible, the dates are ambiguous.
        return whole[0] if len(whole) == 1 else None
    return None


def without_zone(dates: pd.Series) -> pd.Series:
    """Dates in UTC without a time zone."""
    return dates.dt.tz_convert("UTC").dt.tz_localize(None) if dates.dt.tz is not None else dates


def as_objects(column: nw.Series) -> pd.Series:
    """Values of a column of any dataframe library as Python objects."""
    return pd.Series(column.to_list(), dtype=object)


def _plain_values(column: pd.Series) -> pd.Series:
    """Non-missing values. Raise :class:`InputError` for lists, bytes and other types that are no feature."""
    values = column.dropna()
    strange = values.map(lambda value: isinstance(value, list | tuple | dict | set | bytes | np.ndarray))
    if strange.any():
        what = type(values[strange].iloc[0]).__name__
        raise InputError(
            f"Column {shown(column.name)} holds values of type {what}, which no feature can be; "
            "--exclude it.",
            "X",
        )
    return values


def _refuse_stray_words(column: pd.Series, numbers: pd.Series) -> None:
    """Raise :class:`InputError` if a few values of an otherwise numeric column are not numbers."""
    stray = (column.notna() & numbers.reindex(column.index).isna()).to_numpy()
    if 0 < stray.sum() < STRAY_SHARE * column.notna().sum():
        word = shown(column.iloc[int(stray.argmax())])
        raise InputError(
            f"Column {shown(column.name)} holds numbers, but row {stray.argmax() + 1:,} holds {word} "
            f"({stray.sum():,} such values in all); correct them, or give --missing {word} if that means "
            f"missing, or --category {shown(column.name)}.",
            "X",
        )


# Maximum number of intervals into which a tree splits an ordered column.
N_INTERVALS = 64
# A random sample of this size detects a leak as well as all rows.
MAX_ROWS = 20_000
# A column leaks if its predictions have a smaller held-out error rate than this ...
MAX_ERROR = 0.01
# ... and a smaller one than this fraction of the error rate of the most frequent value.
MAX_RELATIVE_ERROR = 0.05
MIN_ROWS = 20


def leaking_columns(frame: pd.DataFrame, target: np.ndarray) -> list[str]:
    """Find columns that alone predict the target (almost) perfectly.

    Each column is binned by its values, by whether it is missing and, if it is ordered, by the intervals of a
    tree. The most frequent target in each bin is learned on half of the rows and tested on the rest. A column
    leaks if one of these binnings has an error rate below 1 % and below a twentieth of that of the most
    frequent target overall.

    Parameters
    ----------
    frame : pandas.DataFrame
    target : (n_samples,) int array

    Returns
    -------
    list of str

    Examples
    --------
    >>> target = np.arange(100) % 2
    >>> leaking_columns(pd.DataFrame({"copy": 5 - target, "noise": np.arange(100) // 7}), target)
    ['copy']
    """
    target = np.asarray(target)
    if len(target) < MIN_ROWS or len(np.unique(target)) < 2:
        return []
    # Rows are often sorted, so the halves are drawn at random to cover the whole range.
    drawn = np.random.default_rng(0).permutation(len(target))[:MAX_ROWS]
    frame, target = frame.iloc[drawn], target[drawn]
    learn = np.arange(len(target)) % 2 == 0
    commonest = int(np.bincount(target[learn]).argmax())
    baseline = np.mean(target[~learn] != commonest)
    threshold = min(MAX_ERROR, MAX_RELATIVE_ERROR * baseline)
    return [
        str(column)
        for column in frame.columns
        if any(
            _error(bins, target, learn, commonest) < threshold
            for bins in _bins(frame[column], target, learn, threshold)
        )
    ]


def _bins(column: pd.Series, target: np.ndarray, learn: np.ndarray, threshold: float) -> Iterator[np.ndarray]:
    """Binnings of a column, each as codes from 0. A missing value counts as a value."""
    yield np.asarray(pd.factorize(column)[0]) + 1
    yield column.isna().to_numpy(dtype=int)
    if _is_ordered(column):
        values = _unit_scale(column)
        # Most columns are far from a leak: no intervals come below the threshold, and no tree is needed.
        if _least_error(values[~learn], target[~learn]) < threshold:
            tree = DecisionTreeClassifier(max_leaf_nodes=N_INTERVALS, random_state=0)
            yield tree.fit(values[learn, None], target[learn]).apply(values[:, None])


def _least_error(values: np.ndarray, target: np.ndarray) -> float:
    """Lower bound of the error rate of one prediction for each of 64 intervals of the values.

    (runs - 64) / 2n,   because an interval with r runs of equal targets errs at least (r - 1) / 2 times

    Examples
    --------
    >>> _least_error(np.arange(200.0), np.arange(200) % 2), _least_error(np.arange(200.0), np.ones(200))
    (0.34, 0.0)
    """
    kept = np.flatnonzero(~np.isnan(values))
    ordered = target[kept[np.argsort(values[kept], kind="stable")]]
    n_runs = 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
    return max(0.0, (n_runs - N_INTERVALS) / 2 / max(len(target), 1))


def _unit_scale(column: pd.Series) -> np.ndarray:
    """Scale ordered values to [0, 1], because trees use single precision. Infinities are clipped."""
    if not pd.api.types.is_numeric_dtype(column):
        column = column.astype("int64").where(column.notna())
    values = column.to_numpy(dtype=float, na_value=np.nan)
    finite = values[np.isfinite(values)]
    lowest, highest = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    return (np.clip(values, lowest, highest) - lowest) / max(highest - lowest, np.finfo(float).tiny)


def _is_ordered(column: pd.Series) -> bool:
    types = pd.api.types
    number = types.is_numeric_dtype(column) and not types.is_complex_dtype(column)
    return bool(number or types.is_datetime64_any_dtype(column) or types.is_timedelta64_dtype(column))


def _error(bins: np.ndarray, target: np.ndarray, learn: np.ndarray, commonest: int) -> float:
    counts = np.zeros((bins.max() + 1, target.max() + 1), dtype=int)
    np.add.at(counts, (bins[learn], target[learn]), 1)
    guess = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), commonest)
    return float(np.mean(guess[bins[~learn]] != target[~learn]))
