"""The cases of a report: columns and their bins, subgroups, counts, and the section about the data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from selective_labels._errors import InputError
from selective_labels.data.features import CATEGORY, DATE, NUMBER, kind_by_type
from selective_labels.data.roles import as_series
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.evaluation.scored_rows import pending_note, with_classes_of
from selective_labels.report.document import ROLES, TableDescription, percent, table_words

MOST_BINS = 6
MISSING = "missing"
QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Column:
    """A named column.

    Attributes
    ----------
    kind : "number", "category" or "date"
    """

    name: str
    kind: str
    values: pd.Series

    def take(self, rows: np.ndarray) -> "Column":
        """Select rows."""
        return Column(self.name, self.kind, self.values.iloc[rows].reset_index(drop=True))


@dataclass(frozen=True, eq=False)
class Bins:
    """Rows grouped into a few non-empty bins.

    Attributes
    ----------
    codes : (n_samples,) int array
    """

    labels: list[str]
    codes: np.ndarray


def read_columns(
    table: Any, kinds: Mapping[str, str] | None = None, default: str | None = None
) -> list[Column]:
    """Read the columns of a frame or an array; the columns of an array are named x0, x1, ...

    Parameters
    ----------
    table : frame (pandas, polars, pyarrow) or (n_samples, n_columns) array
    kinds : dict, optional
        Kinds by name. They take precedence over the type of the values.
    default : str, optional
        Kind of the other columns; by default it follows from the type of their values.

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
    """The features of a table as given, with the kinds that were read there."""
    columns = read_columns(data.X, {}, default=NUMBER)
    return [replace(column, kind=kind) for column, kind in zip(columns, data.kinds, strict=True)]


def binned(column: Column) -> Bins:
    """Bin a column: quartiles of numbers and dates, the six most frequent categories, and missing values.

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
    """Quartiles that occur among the values, so that those of integers are integers."""
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
    """Put missing values into the last bin, and drop empty bins."""
    codes = np.where(missing, len(labels), codes)
    used, codes = np.unique(codes, return_inverse=True)
    names = [*labels, MISSING if MISSING not in labels else "no value"]
    return Bins([names[code] for code in used], codes)


def _readable(edges: np.ndarray, kind: str) -> list[str]:
    """Format numbers or days with as few digits as distinguish them."""
    if kind == DATE:
        return [str(np.datetime64(int(edge), "D")) for edge in edges]
    for digits in range(3, 18):
        words = [f"{edge:,.0f}" if abs(edge) >= 1e3 else f"{edge:.{digits}g}" for edge in edges]
        if len(set(words)) == len(words):
            return words
    return [repr(float(edge)) for edge in edges]


def _as_numbers(column: Column) -> np.ndarray:
    """The column as numbers, or as days since 1970 for dates; NaN where missing."""
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


# Rules are learned and evaluated on at most this many cases. More would take minutes and change only the
# third digit.
MOST_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class Cases:
    """Rows with their roles and subgroups.

    Attributes
    ----------
    by : list of Column
        Columns that define subgroups.
    """

    data: SelectiveLabels
    by: list[Column]

    def __len__(self) -> int:
        return len(self.data)

    @property
    def weights(self) -> np.ndarray:
        """Sample weights, or ones if none were given."""
        return self.data.weights

    def take(self, rows: np.ndarray) -> "Cases":
        """Select rows."""
        return Cases(self.data.take(rows).compact(), [each.take(rows) for each in self.by])

    def with_classes_of(self, classifiers: list[Any]) -> "Cases":
        """Add the classes that fitted classifiers know, even if no label here has them."""
        return replace(self, data=with_classes_of(self.data, classifiers))


def read_subgroups(by: Any, data: SelectiveLabels, kinds: Mapping[str, str] | None = None) -> list[Column]:
    """Read the columns that define subgroups; `kinds` gives the kinds of columns that are already known.

    Examples
    --------
    >>> data = SelectiveLabels.from_arrays(np.eye(3), [0, 1, None], decision_maker=["a", "b", "a"])
    >>> [each.name for each in read_subgroups(pd.DataFrame({"region": ["n", "s", "n"]}), data)]
    ['region']
    """
    if by is None:
        return []
    n_samples = len(data)
    if np.ndim(by) == 1:
        name = str(getattr(by, "name", None) or "subgroup")
        return read_columns(pd.DataFrame({name: as_series(by, "by", n_samples)}), kinds)
    if len(by) != n_samples:
        raise InputError.about(
            "by", f"has {len(by)} rows and X has {n_samples}; they must be of equal length."
        )
    return read_columns(by, kinds)


def rows_to_judge(cases: Cases, seed: int) -> np.ndarray:
    """Choose the rows to evaluate: all of them, or a random sample that contains every class.

    All rows are kept if there are strata: in a sample, some strata might have a single decision-maker.
    """
    n_samples = len(cases)
    if n_samples <= MOST_ROWS or cases.data.strata is not None:
        return np.arange(n_samples)
    one_of_each = np.unique(cases.data.y, return_index=True)[1]
    others = np.setdiff1d(np.arange(n_samples), one_of_each)
    drawn = np.random.default_rng(seed).choice(others, MOST_ROWS - len(one_of_each), replace=False)
    return np.sort(np.concatenate([one_of_each, drawn]))


# Keyword arguments that differ from the name of the role, and default names of unnamed columns.
KEYWORDS = {"weight": "sample_weight"}
ARGUMENTS = KEYWORDS | {"label": "y"}


def table_section(
    cases: Cases, columns: list[Column], description: TableDescription, notes: list[str], event: int
) -> dict[str, Any]:
    """The section "data": counts, roles, vocabulary, features and notes."""
    data = cases.data
    labels = data.y[data.labeled]
    roles = {role: _role(role, data, description) for role in ROLES}
    shares = np.bincount(labels, minlength=len(data.classes)) / max(len(labels), 1)
    return {
        "source": description.source,
        "n_cases": len(data),
        "n_labeled": len(labels),
        "labeled_share": len(labels) / len(data),
        "n_decision_makers": data.n_decision_makers,
        "classes": [str(label) for label in data.classes.tolist()],
        "class_shares_labeled": shares.tolist(),
        "roles": roles,
        "words": table_words(roles, data.classes.tolist()[event], data.panels is not None, data.vocabulary),
        "vocabulary": asdict(data.vocabulary),
        "features": [
            {"name": each.name, "kind": each.kind, "missing_share": float(each.values.isna().mean())}
            for each in columns
        ],
        "left_out": [{"name": name, "reason": reason} for name, reason in description.left_out],
        "notes": list(dict.fromkeys([*description.notes, *_shared(data), *_unused(data), *notes])),
    }


def _role(role: str, data: SelectiveLabels, description: TableDescription) -> str | None:
    if description.roles.get(role) is not None:
        return description.roles[role]
    keyword = KEYWORDS.get(role, role)
    if keyword not in (*data.roles_given, "label"):
        return None
    return data.names.get(keyword, ARGUMENTS.get(role, role))


def _shared(data: SelectiveLabels) -> list[str]:
    if data.panels is None:
        return []
    return [
        "Labels are shared within groups: one that any row shows counts for all, a case is accepted if "
        "anyone accepted it, and where decision-makers are named, panels are meant "
        f"({data.n_decision_makers:,} panels of {len(data.panels.people):,} people). Rows count as cases."
    ]


def _unused(data: SelectiveLabels) -> list[str]:
    """What is said of labels that are pending, and of labels that were not read."""
    notes = [pending_note(data)] if data.has_pending else []
    if data.n_ignored_labels:
        notes.append(
            f"{data.n_ignored_labels:,} labels were given where the decision is 0, and were not read."
        )
    return notes


MOST_FEATURES = 8


def share_by_feature(columns: list[Column], happens: np.ndarray, weights: np.ndarray) -> list[dict[str, Any]]:
    """Share of rows with an indicator, by bin, for the features that explain most of its variation.

    share_b = Σ_{i in b} w_i h_i / Σ_{i in b} w_i,   features sorted by Σ_b w_b (share_b - share)²

    Parameters
    ----------
    happens : (n_samples,) numbers or booleans
        The indicator h.
    weights : (n_samples,) array

    Returns
    -------
    list of dict
        At most 8 features, each with its bins. Features with a single bin are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> job = Column("job", "category", pd.Series(["cook", "cook", "clerk"]))
    >>> share_by_feature([job], np.array([1, 0, 1]), np.ones(3))[0]["bins"]
    [{'label': 'cook', 'n': 2, 'share': 0.5}, {'label': 'clerk', 'n': 1, 'share': 1.0}]
    """
    found = [_feature(column, np.asarray(happens, dtype=float), weights) for column in columns]
    varying = [(spread, feature) for spread, feature in found if len(feature["bins"]) > 1]
    varying.sort(key=lambda each: -each[0])
    return [feature for _, feature in varying[:MOST_FEATURES]]


def _feature(column: Column, happens: np.ndarray, weights: np.ndarray) -> tuple[float, dict[str, Any]]:
    bins = binned(column)
    n_bins = len(bins.labels)
    size = np.bincount(bins.codes, weights, n_bins)
    kept = size > 0.0
    counts = np.bincount(bins.codes, minlength=n_bins)
    share = np.bincount(bins.codes, weights * happens, n_bins) / np.where(kept, size, 1.0)
    spread = float(np.sum(size * (share - np.average(share, weights=size)) ** 2))
    rows = [
        {"label": bins.labels[place], "n": int(counts[place]), "share": float(share[place])}
        for place in np.flatnonzero(kept)
    ]
    return spread, {
        "feature": column.name,
        "kind": column.kind,
        "bins": rows,
        "takeaway": _takeaway(column.name, rows),
    }


def _takeaway(name: str, rows: list[dict[str, Any]]) -> str:
    """One sentence that names the bins with the highest and the lowest share."""
    most, least = (pick(rows, key=lambda each: each["share"]) for pick in (max, min))
    return f"{name}: {_where(most)}, {_where(least)}"


def _where(row: dict[str, Any]) -> str:
    return f"{percent(row['share'])} where it is {row['label']}"
