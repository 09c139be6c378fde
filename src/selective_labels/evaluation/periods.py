"""Time periods: dates grouped by month, quarter or year, or columns of periods used as they are."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._errors import InputError
from selective_labels._validation import require_choice
from selective_labels.data.roles import as_series

EVERY = {"month": "M", "quarter": "Q", "year": "Y"}
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
MONTH = re.compile(r"([A-Za-z]{3,9})\W*(\d{4})?")
YEAR_LAST = re.compile(r".*\D((?:19|20)\d\d)")
# A column with more distinct values does not hold periods.
MOST_PERIODS = 200


@dataclass(frozen=True)
class Periods:
    """A column of dates of a partitioned table, and the length of the periods.

    Attributes
    ----------
    every : "month", "quarter" or "year"
    """

    column: str
    every: str

    def __post_init__(self) -> None:
        require_choice("every", self.every, tuple(EVERY))

    def codes(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the number of each row's period, in time order."""
        column = frame[self.column].reset_index(drop=True)
        _refuse_missing(column)
        return _dates(column).dt.to_period(EVERY[self.every]).astype("int64").to_numpy()

    def masks(self, codes: np.ndarray) -> Mapping[str, np.ndarray]:
        """Map the name of each period to a mask of its rows.

        Examples
        --------
        >>> days = pd.DataFrame({"day": ["2024-01-31", "2024-05-09"]})
        >>> [*Periods("day", "quarter").masks(Periods("day", "quarter").codes(days))]
        ['2024Q1', '2024Q2']
        """
        known = np.unique(codes)
        _refuse_many(len(known))
        return {str(pd.Period(ordinal=int(each), freq=EVERY[self.every])): codes == each for each in known}


def read_periods(period: Any, every: str | None, n_samples: int) -> np.ndarray:
    """Return the period of every case, as text or numbers that sort in time order.

    Parameters
    ----------
    period : (n_samples,) dates, or any values that sort in time order
    every : "month", "quarter", "year" or None
        Length of a period. None: the values are the periods.

    Examples
    --------
    >>> read_periods(["2024-01-31", "2024-02-01", "2024-05-09"], "quarter", 3).tolist()
    ['2024Q1', '2024Q1', '2024Q2']
    >>> read_periods([2023, 2024, 2024], None, 3).tolist()
    [2023, 2024, 2024]
    """
    column = as_series(period, "period", n_samples)
    _refuse_missing(column)
    if every is not None:
        require_choice("every", every, tuple(EVERY))
        column = _dates(column).dt.to_period(EVERY[every]).astype(str)
    elif pd.api.types.is_datetime64_any_dtype(column):
        raise InputError("period has dates: say with every= whether months, quarters or years.", "every")
    else:
        _refuse_untimely(column, _categories(period))
    found = column.to_numpy()
    _refuse_many(len(pd.unique(column)))
    return found


def _refuse_missing(column: pd.Series) -> None:
    if column.isna().any():
        raise InputError.about("period", f"is missing in {column.isna().sum()} rows: give every case one.")


def _refuse_many(number: int) -> None:
    if number > MOST_PERIODS:
        raise InputError.about(
            "period",
            f"has {number:,} different values; cut dates with every=, or give {MOST_PERIODS} at most.",
        )


def _categories(period: Any) -> Sequence[Any]:
    """Categories of an ordered column, from first to last."""
    dtype = getattr(period, "dtype", None)
    return dtype.categories.tolist() if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered else ()


def _refuse_untimely(column: pd.Series, order: Sequence[Any] = ()) -> None:
    """Raise an error for text that sorts in another order than time: numbers, months by name, years last.

    `order` holds the categories of an ordered column.
    """
    labels = sorted({each for each in column.tolist() if isinstance(each, str)})
    known = list(order)
    for when in (_number, _month, _year_last, lambda each: known.index(each) if each in known else None):
        times: list[Any] = [when(each) for each in labels]
        if None in times or times == sorted(times):
            continue
        place = next(at for at, (one, next_one) in enumerate(pairwise(times)) if one > next_one)
        raise InputError.about(
            "period",
            f"is text that sorts {labels[place]!r} before {labels[place + 1]!r}: give dates and every=, "
            "numbers, or text that sorts in time order, such as 2024-01.",
        )


def _number(label: str) -> float | None:
    try:
        return float(label)
    except ValueError:
        return None


def _month(label: str) -> tuple[int, int] | None:
    found = MONTH.fullmatch(label)
    if found is None or found[1][:3].lower() not in MONTHS:
        return None
    return int(found[2] or 0), MONTHS.index(found[1][:3].lower())


def _year_last(label: str) -> int | None:
    found = YEAR_LAST.fullmatch(label)
    return None if found is None else int(found[1])


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
    """Whether the day comes before the month; decided by values above twelve."""
    first, second = (parts > 12).any()
    if first == second:
        raise InputError.about(
            "period", "has dates whose day and month cannot be told apart: write 2024-01-31."
        )
    return bool(first)
