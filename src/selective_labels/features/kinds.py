"""What kind of feature a column is: a number, a date or a category. Decided here and nowhere else."""

import re

import narwhals as nw
import numpy as np
import pandas as pd

from selective_labels.features.amounts import looks_like_code, read_numbers
from selective_labels.support.errors import InputError
from selective_labels.support.words import shown

NUMBER, CATEGORY, DATE = "number", "category", "date"
# What pandas calls the content of a column of Python objects, where it is not text.
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
# A column of numbers with fewer other values than this share has typing errors, not categories.
STRAY_SHARE = 0.01
YEAR_FIRST = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([T ]\d{1,2}:\d{2}.*)?")
YEAR_LAST = re.compile(r"\d{1,2}[/.]\d{1,2}[/.]\d{4}")


def kind_by_type(column: nw.Series) -> str:
    """Kind of a column of a typed table: text is a category, whatever it says.

    Examples
    --------
    >>> frame = nw.from_native(pd.DataFrame({"age": [31], "job": ["cook"], "zip": ["10115"]}))
    >>> [kind_by_type(column) for column in frame.iter_columns()]
    ['number', 'category', 'category']
    """
    dtype = column.dtype
    # A column of Python objects may hold anything, whatever its first values are.
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
    """Kind of a column that was read from a file, where everything is text at first.

    Text whose every value reads as a number ("5,750" and "12 %" do) is a number, as a date a date; digits
    with leading zeros are a code, so a category. Dates with the year last count only if day and month can be
    told apart. Numbers among which fewer than 1 % of the values are not are an error: whether to mend these
    is for people to say.

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
    """Whether every value that is not missing is a date."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return True
    if pd.api.types.is_numeric_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return False
    values = column.dropna()
    return bool(len(values)) and read_dates(values.astype(str)) is not None


def read_dates(text: pd.Series) -> pd.Series | None:
    """Dates if every value is one, else None.

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
        # If both orders are possible, nothing says which was meant.
        return whole[0] if len(whole) == 1 else None
    return None


def without_zone(dates: pd.Series) -> pd.Series:
    """Dates in universal time, without saying so."""
    return dates.dt.tz_convert("UTC").dt.tz_localize(None) if dates.dt.tz is not None else dates


def as_objects(column: nw.Series) -> pd.Series:
    """Values of a column of any library as Python objects."""
    return pd.Series(column.to_list(), dtype=object)


def _plain_values(column: pd.Series) -> pd.Series:
    """Values that are not missing; refuse lists, bytes and other things that no feature can be."""
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
    """Refuse a column whose values that are not missing are numbers, but for a few."""
    stray = (column.notna() & numbers.reindex(column.index).isna()).to_numpy()
    if 0 < stray.sum() < STRAY_SHARE * column.notna().sum():
        word = shown(column.iloc[int(stray.argmax())])
        raise InputError(
            f"Column {shown(column.name)} holds numbers, but row {stray.argmax() + 1:,} holds {word} "
            f"({stray.sum():,} such values in all); mend them, give --missing {word} if that means missing, "
            f"or --category {shown(column.name)}.",
            "X",
        )
