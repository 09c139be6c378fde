"""Columns of a file as what they are: numbers, dates or text."""

import numpy as np
import pandas as pd

from selective_labels.features.amounts import read_numbers
from selective_labels.features.kinds import CATEGORY, NUMBER, read_dates, without_zone
from selective_labels.support.words import shown
from selective_labels.tables.errors import TableError


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


def _as_numbers(column: pd.Series) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(column):
        raise TableError(f"Column {shown(column.name)} must hold numbers; it holds dates.")
    numbers = read_numbers(column.astype(object).dropna()).numbers.reindex(column.index)
    _refuse(column, column.notna() & numbers.isna(), "numbers")
    return numbers


def _as_date_column(column: pd.Series) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(column):
        return without_zone(column)
    text = column.dropna().astype(str)
    dates = read_dates(text) if len(text) else pd.Series(dtype="datetime64[ns]")
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


def _is_date(value: str) -> bool:
    return read_dates(pd.Series([value])) is not None
