"""Columns of a table, and a few bins of each that a person can read."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from selective_labels.data import SelectiveLabels
from selective_labels.features.kinds import CATEGORY, DATE, NUMBER, kind_by_type

MOST_BINS = 6
MISSING = "missing"
QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Column:
    """A named column.

    Attributes
    ----------
    name : str
    kind : "number", "category" or "date"
    values : pandas Series with a plain index
    """

    name: str
    kind: str
    values: pd.Series

    def take(self, rows: np.ndarray) -> "Column":
        """Keep some rows."""
        return Column(self.name, self.kind, self.values.iloc[rows].reset_index(drop=True))


@dataclass(frozen=True, eq=False)
class Bins:
    """Rows in a few bins, none of them empty.

    Attributes
    ----------
    labels : list of str
    codes : (n_samples,) int array
    """

    labels: list[str]
    codes: np.ndarray


def read_columns(
    table: Any, kinds: Mapping[str, str] | None = None, default: str | None = None
) -> list[Column]:
    """Columns of a frame or an array; those of an array are called x0, x1, ...

    Parameters
    ----------
    table : frame (pandas, polars, pyarrow) or (n_samples, n_columns) array
    kinds : dict, optional
        Kinds by name, where they are known better than by the type of the values.
    default : str, optional
        Kind of the others; if not given, the type of their values decides.

    Examples
    --------
    >>> [(each.name, each.kind) for each in read_columns(pd.DataFrame({"age": [31], "job": ["cook"]}))]
    [('age', 'number'), ('job', 'category')]
    """
    if isinstance(table, pd.DataFrame):
        series = {str(name): table[name].reset_index(drop=True) for name in table.columns}
    else:
        frame = nw.from_native(table, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            series = {name: _as_pandas(frame[name]) for name in frame.columns}
        else:
            series = {f"x{place}": pd.Series(each) for place, each in enumerate(np.asarray(table).T)}
    known = kinds or {}
    return [
        Column(name, known.get(name) or default or _kind(values), values) for name, values in series.items()
    ]


def feature_columns(data: SelectiveLabels) -> list[Column]:
    """Features of a table as they were given, of the kinds that were read there."""
    columns = read_columns(data.X, {}, default=NUMBER)
    return [replace(column, kind=kind) for column, kind in zip(columns, data.kinds, strict=True)]


def binned(column: Column) -> Bins:
    """Quartiles of numbers and dates, the commonest six of categories; what is missing has its own bin.

    Examples
    --------
    >>> binned(Column("job", "category", pd.Series(["cook", None, "cook"]))).labels
    ['cook', 'missing']
    >>> binned(Column("age", "number", pd.Series(range(20, 40)))).labels
    ['below 25', '25 to below 30', '30 to below 35', '35 or more']
    """
    if column.kind == CATEGORY:
        return _by_value(column.values)
    values = _as_numbers(column)
    seen = np.unique(values[np.isfinite(values)])
    if column.kind == NUMBER and len(seen) <= MOST_BINS:
        return _compact(np.searchsorted(seen, values), [f"{value:,.12g}" for value in seen], np.isnan(values))
    edges = _quartiles(values[np.isfinite(values)])
    words = _readable(edges, column.kind)
    between = [f"{low} to below {high}" for low, high in pairwise(words)]
    labels = [f"below {words[0]}", *between, f"{words[-1]} or more"] if words else []
    return _compact(np.searchsorted(edges, values, side="right"), labels, np.isnan(values))


def _quartiles(values: np.ndarray) -> np.ndarray:
    """Quartiles that occur among the values: of whole numbers they are whole numbers."""
    return np.unique(np.quantile(values, QUARTILES, method="higher")) if len(values) else values


def _by_value(values: pd.Series) -> Bins:
    words = values.astype("string")
    counts = words.value_counts()
    common = counts.index[:MOST_BINS].tolist()
    codes = pd.Index(common).get_indexer(pd.Index(words)) if common else np.full(len(words), -1)
    n_others = len(counts) - len(common)
    codes = np.where(codes < 0, len(common), codes)
    return _compact(codes, [*common, f"other ({n_others} values)"], words.isna().to_numpy())


def _compact(codes: np.ndarray, labels: list[str], missing: np.ndarray) -> Bins:
    """Give what is missing the last bin, and drop empty bins."""
    codes = np.where(missing, len(labels), codes)
    used, codes = np.unique(codes, return_inverse=True)
    names = [*labels, MISSING if MISSING not in labels else "no value"]
    return Bins([names[code] for code in used], codes)


def _readable(edges: np.ndarray, kind: str) -> list[str]:
    """Short words for numbers or days, as long as needed to tell them apart."""
    if kind == DATE:
        return [str(np.datetime64(int(edge), "D")) for edge in edges]
    for digits in range(3, 18):
        words = [f"{edge:,.0f}" if abs(edge) >= 1e3 else f"{edge:.{digits}g}" for edge in edges]
        if len(set(words)) == len(words):
            return words
    return [repr(float(edge)) for edge in edges]


def _as_numbers(column: Column) -> np.ndarray:
    """Numbers, or days since 1970; NaN where missing."""
    if column.kind == DATE:
        dates = pd.to_datetime(column.values, errors="coerce", utc=True).dt.tz_localize(None)
        days = dates.to_numpy().astype("datetime64[D]")
        return np.where(np.isnat(days), np.nan, days.astype("int64").astype(float))
    numbers = pd.to_numeric(column.values, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _as_pandas(values: nw.Series) -> pd.Series:
    series = pd.Series(values.to_list())
    return pd.to_datetime(series) if isinstance(values.dtype, nw.Date | nw.Datetime) else series


def _kind(values: pd.Series) -> str:
    return kind_by_type(nw.from_native(values, series_only=True))
