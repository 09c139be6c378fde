"""Dates cut into months, quarters or years; columns that are periods already as they are."""

from typing import Any

import numpy as np
import pandas as pd

from selective_labels.data import as_series
from selective_labels.support.errors import InputError, require_choice

EVERY = {"month": "M", "quarter": "Q", "year": "Y"}
# More of them are no periods.
MOST_PERIODS = 200


def read_periods(period: Any, every: str | None, n_samples: int) -> np.ndarray:
    """The period of every case, as text or numbers that sort in the order of time.

    Parameters
    ----------
    period : (n_samples,) dates, or any values that sort as time goes
    every : "month", "quarter", "year" or None
        What dates are cut into; None: values are periods as they are.
    n_samples : int

    Examples
    --------
    >>> read_periods(["2024-01-31", "2024-02-01", "2024-05-09"], "quarter", 3).tolist()
    ['2024Q1', '2024Q1', '2024Q2']
    >>> read_periods([2023, 2024, 2024], None, 3).tolist()
    [2023, 2024, 2024]
    """
    column = as_series(period, "period", n_samples)
    if column.isna().any():
        raise InputError.about("period", f"is missing in {column.isna().sum()} rows: give every case one.")
    if every is not None:
        require_choice("every", every, tuple(EVERY))
        column = _dates(column).dt.to_period(EVERY[every]).astype(str)
    elif pd.api.types.is_datetime64_any_dtype(column):
        raise InputError("period has dates: say with every= whether months, quarters or years.", "every")
    found = column.to_numpy()
    number = len(pd.unique(column))
    if number > MOST_PERIODS:
        raise InputError.about(
            "period",
            f"has {number:,} different values; cut dates with every=, or give {MOST_PERIODS} at most.",
        )
    return found


def _dates(column: pd.Series) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(column):
        return column.dt.tz_localize(None) if column.dt.tz is not None else column
    if pd.api.types.is_numeric_dtype(column):
        raise InputError.about("period", "has numbers, not dates: leave every= out, or give dates.")
    unread = f"cannot be read as dates (one is {column.iloc[0]!r}): write them as 2024-01-31."
    try:
        return pd.to_datetime(column, format="ISO8601")
    except (ValueError, TypeError):
        parts = column.astype(str).str.extract(r"^\s*(\d{1,2})[/.\-](\d{1,2})[/.\-]\d{4}")
        if parts.isna().any(axis=None):
            raise InputError.about("period", unread) from None
    day_first = _day_first(parts.astype(int))
    try:
        return pd.to_datetime(column, format="mixed", dayfirst=day_first)
    except (ValueError, TypeError):
        raise InputError.about("period", unread) from None


def _day_first(parts: pd.DataFrame) -> bool:
    """Whether the first of two small numbers is the day: only if one of them is above twelve somewhere."""
    first, second = (parts > 12).any()
    if first == second:
        raise InputError.about(
            "period", "has dates whose day and month cannot be told apart: write 2024-01-31."
        )
    return bool(first)
