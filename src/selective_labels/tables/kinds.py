"""What kind of feature a column is: a number, a date or a category."""

import re

import numpy as np
import pandas as pd

from selective_labels.features.coding import CATEGORY, DATE, NUMBER
from selective_labels.tables.errors import TableError, shown

# A column of numbers with fewer other values than this share has typing errors, not categories.
STRAY_SHARE = 0.01
YEAR_FIRST = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d{1,2}([T ]\d{1,2}:\d{2}.*)?")
YEAR_LAST = re.compile(r"\d{1,2}[/.]\d{1,2}[/.]\d{4}")


def kind_of(column: pd.Series) -> str:
    """Kind of a column, by its type and its values.

    Text whose every value reads as a number is a number, as a date a date. Dates with the year last count
    only if day and month can be told apart. Numbers among which fewer than 1 % of the values are not are an
    error: whether to mend these is for people to say.

    Examples
    --------
    >>> columns = [True, False], ["1", "2"], ["2024-02-01", None], ["a", "1"]
    >>> [kind_of(pd.Series(column)) for column in columns]
    ['number', 'number', 'date', 'category']
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
    if values.map(lambda value: isinstance(value, str)).all():
        _refuse_stray_words(column)
    if pd.to_numeric(values, errors="coerce").notna().all():
        return NUMBER
    return DATE if _as_dates(values.astype(str)) is not None else CATEGORY


def as_kind(column: pd.Series, kind: str) -> pd.Series:
    """Values of a column as numbers (float), dates (datetime64) or text; missing stays missing.

    Examples
    --------
    >>> as_kind(pd.Series([1, 2]), "category").tolist(), as_kind(pd.Series([True, None]), "number").tolist()
    (['1', '2'], [1.0, nan])
    >>> as_kind(pd.Series(["31", "old"], name="age"), "number")
    Traceback (most recent call last):
    ...
    selective_labels.tables.errors.TableError: Column 'age' must hold numbers; row 2 holds 'old'.
    """
    if kind == NUMBER:
        return _as_numbers(column)
    return _as_text(column) if kind == CATEGORY else _as_date_column(column)


def looks_like_dates(column: pd.Series) -> bool:
    """Whether every value that is not missing is a date."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return True
    if pd.api.types.is_numeric_dtype(column) or isinstance(column.dtype, pd.CategoricalDtype):
        return False
    values = column.dropna()
    return bool(len(values)) and _as_dates(values.astype(str)) is not None


def _plain_values(column: pd.Series) -> pd.Series:
    """Values that are not missing; refuse lists, bytes and other things that no feature can be."""
    values = column.dropna()
    strange = values.map(lambda value: isinstance(value, list | tuple | dict | set | bytes | np.ndarray))
    if strange.any():
        what = type(values[strange].iloc[0]).__name__
        raise TableError(
            f"Column {shown(column.name)} holds values of type {what}, which no feature can be; --exclude it."
        )
    return values


def _refuse_stray_words(column: pd.Series) -> None:
    stray = (column.notna() & pd.to_numeric(column, errors="coerce").isna()).to_numpy()
    if 0 < stray.sum() < STRAY_SHARE * column.notna().sum():
        word = shown(column.iloc[int(stray.argmax())])
        raise TableError(
            f"Column {shown(column.name)} holds numbers, but row {stray.argmax() + 1:,} holds {word} "
            f"({stray.sum():,} such values in all); mend them, give --missing {word} if that means missing, "
            f"or --category {shown(column.name)}."
        )


def _as_numbers(column: pd.Series) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(column):
        raise TableError(f"Column {shown(column.name)} must hold numbers; it holds dates.")
    numbers = pd.to_numeric(column.astype(object).where(column.notna(), None), errors="coerce").astype(float)
    _refuse(column, column.notna() & numbers.isna(), "numbers")
    return numbers


def _as_date_column(column: pd.Series) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(column):
        return _without_zone(column)
    text = column.dropna().astype(str)
    dates = _as_dates(text) if len(text) else pd.Series(dtype="datetime64[ns]")
    if dates is None:
        _refuse(column, column.notna() & ~column.index.isin(text[text.map(_is_date)].index), "dates")
        raise TableError(f"Column {shown(column.name)} must hold dates, written like 2024-12-31.")
    return dates.reindex(column.index)


def _refuse(column: pd.Series, wrong: pd.Series, what: str) -> None:
    if wrong.any():
        first = int(wrong.to_numpy().argmax())
        value = shown(column.iloc[first])
        raise TableError(f"Column {shown(column.name)} must hold {what}; row {first + 1:,} holds {value}.")


def _as_text(column: pd.Series) -> pd.Series:
    """Text as it would be written: whole numbers without a decimal point, also beside holes."""
    if pd.api.types.is_float_dtype(column):
        finite = column.dropna()
        if np.isfinite(finite).all() and (finite == finite.round()).all():
            column = column.astype("Int64")
    return column.astype(object).map(str, na_action="ignore").where(column.notna(), None).astype(object)


def _as_dates(text: pd.Series) -> pd.Series | None:
    """Dates if every value is one, else None."""
    sample = text.iloc[:100].str.strip()
    if sample.map(lambda value: YEAR_FIRST.fullmatch(value) is not None).all():
        dates = pd.to_datetime(text.str.replace("/", "-"), format="ISO8601", errors="coerce", utc=True)
        return _without_zone(dates) if dates.notna().all() else None
    if sample.map(lambda value: YEAR_LAST.fullmatch(value) is not None).all():
        slashes = text.str.strip().str.replace(".", "/", regex=False)
        orders = [pd.to_datetime(slashes, format=each, errors="coerce") for each in ("%d/%m/%Y", "%m/%d/%Y")]
        whole = [dates for dates in orders if dates.notna().all()]
        # If both orders are possible, nothing says which was meant.
        return whole[0] if len(whole) == 1 else None
    return None


def _is_date(value: str) -> bool:
    return _as_dates(pd.Series([value])) is not None


def _without_zone(dates: pd.Series) -> pd.Series:
    return dates.dt.tz_convert("UTC").dt.tz_localize(None) if dates.dt.tz is not None else dates
