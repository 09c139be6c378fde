"""Conversion of feature tables to numeric arrays, and the split of a table into features and roles."""

import warnings
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from selective_labels._errors import InputError
from selective_labels.data.features import (
    CATEGORY,
    DATE,
    NUMBER,
    OPAQUE,
    as_objects,
    kind_by_type,
    leaking_columns,
)
from selective_labels.data.roles import HOLE

# The squares of larger numbers, or sums of these squares, may overflow a float.
LARGEST_NUMBER = 1e100
# Cells of a sparse array that is written out.
MOST_NUMBERS = 1e9
WORDS = {NUMBER: "numbers", CATEGORY: "text or categories", DATE: "dates"}


@dataclass(frozen=True)
class TableCoding:
    """Kind of every column of a table and the code of every category. Learns no statistics.

    Numbers and booleans are kept. Dates become days since 1970 and durations become days. A category value
    is coded by its order of first appearance, so results depend neither on category names nor on the order
    of ordered categories. After all columns follow the calendar parts of dates, as categories: a weekly
    roster or a busy month is no trend, and days since 1970 alone would hide both from a linear model.

    Attributes
    ----------
    kinds : tuple of "number", "category" or "date"
        One for each column.
    vocabularies : dict of tuples of str
        Values of each category column as text, by column number.
    calendar : tuple of (int, str)
        Calendar parts that follow the columns: the number of the date column, and "weekday", "month" or
        "hour". A part is used if two of its values have ten rows each.
    columns : tuple of str
        Names of the columns.

    Examples
    --------
    >>> coding = TableCoding.of(pd.DataFrame({"job": ["cook", None, "clerk"], "age": [31, 40, 25]}))
    >>> coding.categorical, coding.vocabularies
    ((0,), {0: ('cook', 'clerk')})

    New values get the code after the last one, and missing values stay missing:

    >>> coding.code(pd.DataFrame({"job": ["clerk", "nurse", None], "age": [1, 2, 3]}))
       job  age
    0  1.0  1.0
    1  2.0  2.0
    2  NaN  3.0
    """

    kinds: tuple[str, ...]
    vocabularies: dict[int, tuple[str, ...]]
    calendar: tuple[tuple[int, str], ...] = ()
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, X: Any, kinds: Sequence[str] | None = None) -> "TableCoding | None":
        """Learn the coding of a table, given its column kinds if known. Return None for an array."""
        table = as_table(X)
        if table is None:
            return None
        kinds = kinds_of(table) if kinds is None else tuple(kinds)
        vocabularies = {
            number: tuple(dict.fromkeys(_texts(column)[1]))
            for number, column in enumerate(table.iter_columns())
            if kinds[number] == CATEGORY
        }
        dates = {
            number: _days(column)
            for number, column in enumerate(table.iter_columns())
            if kinds[number] == DATE and not _holds_durations(column)
        }
        return cls(kinds, vocabularies, varying_parts(dates), tuple(table.columns))

    @property
    def categorical(self) -> tuple[int, ...]:
        """Indices of the features that hold category codes."""
        first = len(self.kinds)
        return (*self.vocabularies, *range(first, first + len(self.calendar)))

    def names(self, columns: Sequence[str]) -> list[str]:
        """Name of every feature: those of the columns, and "weekday of opened" for a part of a date."""
        return [*columns, *(f"{part} of {columns[number]}" for number, part in self.calendar)]

    def code(self, X: Any, kinds: Sequence[str] | None = None) -> Any:
        """Code a table with the same columns. A purely numeric table is returned unchanged.

        Parameters
        ----------
        X : table or array
        kinds : sequence of str, optional
            Kinds of the columns of `X`, if already known.

        Returns
        -------
        pandas.DataFrame of float, or X
        """
        table = as_table(X)
        if table is None:
            if set(self.kinds) <= {NUMBER}:
                return X
            raise InputError.about(
                "X", "is an array, and fit had a table with text or dates; give such a table."
            )
        columns = list(table.iter_columns())
        kinds = kinds_of(table) if kinds is None else kinds
        if {*self.kinds, *kinds} <= {NUMBER}:
            return X
        coded = [self._code_column(number, columns[number], kind) for number, kind in enumerate(kinds)]
        parts = [PARTS[part](coded[number]) for number, part in self.calendar]
        return pd.DataFrame(np.column_stack([*coded, *parts]), columns=self.names(table.columns))

    def of_rows(self, features: np.ndarray) -> tuple["TableCoding", np.ndarray]:
        """Coding of a subset of the rows, with categories in their order of first appearance there.

        Parameters
        ----------
        features : (n_rows, n_columns) array
            Rows of the output of :meth:`code`.

        Returns
        -------
        TableCoding
        (n_rows, n_columns) array
            The same rows in the new codes.

        Examples
        --------
        >>> coding = TableCoding.of(pd.DataFrame({"job": ["cook", "clerk", "nurse"]}))
        >>> coding, features = coding.of_rows(np.array([[2.0], [np.nan], [0.0]]))
        >>> coding.vocabularies, features.ravel()
        ({0: ('nurse', 'cook')}, array([ 0., nan,  1.]))
        """
        if not self.vocabularies and not self.calendar:
            return self, features
        # A part without two frequent values among these rows is dropped, as if they alone had been given.
        parts = varying_parts({number: features[:, number] for number, _ in self.calendar})
        kept = [*range(len(self.kinds)), *(len(self.kinds) + self.calendar.index(each) for each in parts)]
        features, vocabularies = features[:, kept], {}
        for number, words in self.vocabularies.items():
            rows, codes = pd.factorize(features[:, number])  # NaN gets the code -1
            vocabularies[number] = tuple(words[int(code)] for code in codes)
            features[:, number] = np.where(rows < 0, np.nan, rows)
        return replace(self, vocabularies=vocabularies, calendar=parts), features

    def _code_column(self, number: int, column: nw.Series, kind: str) -> np.ndarray:
        expected = self.kinds[number]
        if expected == CATEGORY:
            return _codes(column, self.vocabularies[number])
        if kind == expected:
            return _days(column) if kind == DATE else _numbers(column)
        present = as_objects(column).dropna()
        if not len(present):
            return np.full(len(column), np.nan)
        raise InputError.about(
            "X",
            f"has a column {column.name!r} that held {WORDS[expected]} in fit and now holds {WORDS[kind]} "
            f"(such as {str(present.iloc[0])!r}); give {WORDS[expected]}.",
        )


def weekday(days: np.ndarray) -> np.ndarray:
    """Day of the week, Monday 0, of days since 1970; NaN where missing.

    Examples
    --------
    >>> weekday(np.array([0.0, 4.5, np.nan]))  # 1 January 1970 was a Thursday
    array([ 3.,  0., nan])
    """
    return np.mod(np.floor(days + MIDNIGHT) + 3.0, 7.0)


def month(days: np.ndarray) -> np.ndarray:
    """Month, January 0, of days since 1970; NaN where missing.

    Examples
    --------
    >>> month(np.array([0.0, 59.0, np.nan]))
    array([ 0.,  2., nan])
    """
    missing = np.isnan(days)
    whole = np.floor(np.where(missing, 0.0, days) + MIDNIGHT).astype(int).astype("datetime64[D]")
    return np.where(missing, np.nan, whole.astype("datetime64[M]").astype(int) % 12)


def hour(days: np.ndarray) -> np.ndarray:
    """Hour of the day of days since 1970; NaN where missing.

    Examples
    --------
    >>> hour(np.array([0.0, 10.5, np.nan]))
    array([ 0., 12., nan])
    """
    return np.floor(np.mod(days + MIDNIGHT, 1.0) * 24.0)


# Days since 1970 are rounded as floats: a time this little before midnight, in days, is midnight.
MIDNIGHT = 1e-9
PARTS = {"weekday": weekday, "month": month, "hour": hour}
# A part of a date is a feature if two of its values have this many rows each.
ROWS_PER_PART = 10


def varying_parts(dates: Mapping[int, np.ndarray]) -> tuple[tuple[int, str], ...]:
    """Calendar parts of columns of days that take two frequent values.

    Examples
    --------
    >>> varying_parts({2: np.arange(100.0), 5: np.repeat([0.0, 0.5], 10)})
    ((2, 'weekday'), (2, 'month'), (5, 'hour'))
    """
    found = []
    for number, days in dates.items():
        for part, of_days in PARTS.items():
            _, rows = np.unique(of_days(days[~np.isnan(days)]), return_counts=True)
            if np.sum(rows >= ROWS_PER_PART) > 1:
                found.append((number, part))
    return tuple(found)


def kinds_of(table: nw.DataFrame) -> tuple[str, ...]:
    """Kind of every column of a typed table."""
    return tuple(kind_by_type(column) for column in table.iter_columns())


def coded_features(X: Any, kinds: Sequence[str] | None = None) -> tuple[np.ndarray, TableCoding | None]:
    """Features as a numeric array, which may hold NaN, and the coding of the table.

    Examples
    --------
    >>> numbers, coding = coded_features(pd.DataFrame({"age": [31, None], "job": ["cook", "clerk"]}))
    >>> numbers, coding.categorical
    (array([[31.,  0.],
           [nan,  1.]]), (1,))
    """
    refuse_repeated_names(X)
    coding = TableCoding.of(X, kinds)
    numbers = X if coding is None else coding.code(X, coding.kinds)
    return as_numbers(numbers), coding


def features_or_none(X: Any, y: Any, kinds: Sequence[str] | None) -> tuple[np.ndarray, TableCoding | None]:
    """Code the features. Return an array with zero columns if there are none."""
    refuse_repeated_names(X)
    table = X if X is None else as_table(X)
    shape: tuple[int, ...] = getattr(X, "shape", ()) if table is None else table.shape
    if X is None or (len(shape) == 2 and shape[1] == 0):
        return np.zeros((np.shape(y)[0] if np.ndim(y) else 0, 0)), None
    return coded_features(X, kinds)


def as_numbers(X: Any) -> np.ndarray:
    """Features as a float array, which may hold NaN. Errors of scikit-learn become :class:`InputError`."""
    try:
        checked = check_array(dense(X), dtype="numeric", ensure_all_finite=False)
        numbers = checked.astype(float, copy=False)
    except ValueError as error:
        raise InputError(_plain_reason(X, error), "X") from None
    except OverflowError:
        raise InputError.about("X", "holds a whole number that is too large; rescale it.") from None
    refuse_huge_numbers(numbers, column_names(X))
    return numbers


def _plain_reason(X: Any, error: ValueError) -> str:
    """What scikit-learn says of an array, in one sentence where it quotes the whole array."""
    if isinstance(X, np.ndarray) and X.dtype.names:
        return "X is a structured array; give a table, such as pandas.DataFrame(X)."
    if isinstance(X, pd.Series):
        return "X is one column; give a table, such as X.to_frame()."
    if str(error).startswith("Expected 2D array, got 1D array"):
        return "Expected 2D array, got 1D array as X; give X.reshape(-1, 1) if it is one feature."
    return str(error)


def dense(X: Any) -> Any:
    """Convert sparse arrays and sparse pandas columns to dense ones. Everything else is returned unchanged.

    Models need dense features: a sparse array that would take more than 8 GB is refused.

    Examples
    --------
    >>> dense(pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0])})).dtypes.tolist()
    [dtype('float64')]
    """
    if issparse(X):
        if np.prod(X.shape, dtype=float) > MOST_NUMBERS:
            raise InputError.about(
                "X",
                f"is sparse, and its {X.shape[0]:,} x {X.shape[1]:,} cells are too many; use fewer columns.",
            )
        return X.toarray()
    if not isinstance(X, pd.DataFrame):
        return X
    sparse = [isinstance(each, pd.SparseDtype) for each in X.dtypes]
    if not any(sparse):
        return X
    columns: list[Any] = [X.iloc[:, k] for k in range(X.shape[1])]
    written = [
        each.sparse.to_dense() if is_sparse else each for each, is_sparse in zip(columns, sparse, strict=True)
    ]
    return pd.concat(written, axis=1)


def refuse_huge_numbers(numbers: np.ndarray, names: Sequence[str] | None = None) -> None:
    """Raise :class:`InputError` if the squares of the numbers, which linear models form, may overflow.

    Examples
    --------
    >>> refuse_huge_numbers(np.array([[1.0, -1e300]]), ["age", "debt"])
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: X holds infinity or numbers beyond 1e+100 in column 'debt'; ...
    """
    if numbers.dtype.kind != "f" or not numbers.size:
        return
    with np.errstate(invalid="ignore"):
        too_large = (np.abs(numbers) > LARGEST_NUMBER).any(axis=0)
    if too_large.any():
        place = int(too_large.argmax())
        raise InputError.about(
            "X",
            f"holds infinity or numbers beyond {LARGEST_NUMBER:g} in column "
            f"{place if names is None else repr(names[place])}; rescale it, or make such values missing.",
        )


def as_table(X: Any) -> nw.DataFrame | None:
    """Wrap a pandas, polars or arrow table in narwhals. Return None for an array."""
    refuse_what_is_no_table(X)
    table = nw.from_native(X, eager_only=True, pass_through=True)
    return table if isinstance(table, nw.DataFrame) else None


def refuse_what_is_no_table(X: Any) -> None:
    """Raise :class:`InputError` for objects without rows and columns, and for lazy tables."""
    if isinstance(X, Mapping | str | bytes | Set):
        raise InputError.about("X", f"is a {type(X).__name__}; give a table or an array.")
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise InputError.about("X", f"is a {type(X).__name__}; call its collect() first.")


def not_numbers(X: Any) -> list[str]:
    """Names of the columns that hold text, categories or dates. Empty for an array."""
    table = as_table(X)
    return (
        [] if table is None else [each.name for each in table.iter_columns() if kind_by_type(each) != NUMBER]
    )


def refuse_repeated_names(frame: Any) -> None:
    """Raise :class:`InputError` if two columns of a frame have the same name."""
    refuse_what_is_no_table(frame)
    names = pd.Series(column_names(frame) or [], dtype=object)
    repeated = sorted(set(names[names.duplicated()].map(repr)))
    if repeated:
        raise InputError(f"The table has several columns named {', '.join(repeated)}; rename them.", "X")


def column_names(table: Any) -> list[Any] | None:
    """Names of the columns of a table of any library; None for an array.

    Examples
    --------
    >>> column_names(pd.DataFrame({"age": [31]})), column_names(np.ones((1, 1)))
    (['age'], None)
    """
    # The `columns` of a pyarrow table are its values.
    columns = getattr(table, "column_names", None)
    columns = getattr(table, "columns", None) if columns is None else columns
    return None if columns is None or callable(columns) else list(columns)


def _numbers(column: nw.Series) -> np.ndarray:
    values = column.to_numpy()
    if values.dtype == object:  # booleans with missing values, or decimals
        objects = as_objects(column)
        values = objects.where(objects.notna(), np.nan).to_numpy()
    try:
        return values.astype(float)
    except OverflowError:
        raise InputError.about(
            "X", f"has a column {column.name!r} with a whole number that is too large; rescale it."
        ) from None


def _days(column: nw.Series) -> np.ndarray:
    values = column.to_numpy()
    if values.dtype == object:
        objects = as_objects(column)
        if _holds_durations(column):
            values = pd.to_timedelta(objects).to_numpy()
        else:
            values = pd.to_datetime(objects, utc=True).dt.tz_localize(None).to_numpy()
    start = np.datetime64(0, "s") if values.dtype.kind == "M" else np.timedelta64(0, "s")
    return (values - start) / np.timedelta64(1, "D")


def _holds_durations(column: nw.Series) -> bool:
    if isinstance(column.dtype, OPAQUE):
        return pd.api.types.infer_dtype(as_objects(column)).startswith("timedelta")
    return isinstance(column.dtype, nw.Duration)


def _codes(column: nw.Series, vocabulary: tuple[str, ...]) -> np.ndarray:
    rows, texts = _texts(column)
    place = {text: float(code) for code, text in enumerate(vocabulary)}
    # Rows without a value have the index -1, which selects the last entry.
    return np.array([*(place.get(text, float(len(vocabulary))) for text in texts), np.nan])[rows]


def _texts(column: nw.Series) -> tuple[np.ndarray, list[str]]:
    """Index of each row's value (-1 if missing), and the values as text in order of first appearance."""
    try:
        rows, values = pd.factorize(as_objects(column))
    except TypeError:
        raise InputError.about(
            "X",
            f"has a column {column.name!r} whose values are neither numbers, text nor dates; convert it or "
            "leave it out.",
        ) from None
    return rows, [_text(value) for value in values]


def _text(value: Any) -> str:
    """Text of a value. 3, "3" and 3.0 (an integer in a column with missing values) are one category."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


class Named(NamedTuple):
    """Features, role columns, and known assignment probabilities of decision-makers."""

    features: Any
    values: dict[str, Any]
    assignment: Any


def split_roles(
    frame: Any, named: Mapping[str, str | None], features: Sequence[str] | None, assignment: Any
) -> Named:
    """Split a table into features and role columns.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [31], "judge": ["a"], "failed": [1]})
    >>> parts = split_roles(frame, {"label": "failed", "decision_maker": "judge"}, None, None)
    >>> list(parts.features.columns), list(parts.values)
    (['age'], ['label', 'decision_maker'])
    """
    for role, column in named.items():
        if isinstance(column, list) or hasattr(column, "__array__"):
            raise InputError(
                f"{role} is the values of a column; put them into the frame and give the column's name, or "
                "use from_arrays.",
                role,
            )
    refuse_odd_names(frame, [*named.values(), *(features or ())])
    if "label" in named and named["label"] is None:
        raise InputError("label is None; name its column, or use from_arrays.", "label")
    table = as_table(frame)
    if table is None:
        raise InputError(
            f"frame is a {type(frame).__name__}, not a table with named columns; use from_arrays.", "frame"
        )
    features = [features] if isinstance(features, str) else features
    given = {role: column for role, column in named.items() if column is not None}
    probabilities = list(assignment) if _are_names(assignment) else []
    _check_columns(table.columns, given, features, probabilities)
    others = {*given.values(), *probabilities}
    chosen = [c for c in table.columns if c not in others] if features is None else list(features)
    if not chosen:
        raise InputError("features: no column is left besides those with another role.", "features")
    known = np.column_stack([table[c].to_numpy() for c in probabilities]) if probabilities else assignment
    return Named(
        table.select(chosen).to_native(), {role: table[column] for role, column in given.items()}, known
    )


def refuse_odd_names(frame: Any, request: Sequence[Any] = ()) -> None:
    """Raise :class:`InputError` if a column name is not text, because roles refer to columns by text."""
    for name in [*(column_names(frame) or ()), *(each for each in request if each is not None)]:
        if not isinstance(name, str):
            raise InputError(
                f"The table has a column named {name!r}, which is no text; rename its columns, such as by "
                "frame.columns = frame.columns.map(str).",
                "frame",
            )


def names_of(given: Mapping[str, Any]) -> dict[str, str]:
    """Column names of series given as separate arguments, by role. Unnamed ones are left out."""
    names = {role: getattr(values, "name", None) for role, values in given.items()}
    return {role: name for role, name in names.items() if isinstance(name, str)}


def warn_of_leaks(features: Any, y: np.ndarray, decision: np.ndarray) -> None:
    """Warn about columns that alone predict the label or the decision (almost) perfectly."""
    table = as_table(features)
    assert table is not None
    columns = pd.DataFrame({name: table[name].to_numpy() for name in table.columns})
    seen = (decision == 1) & (y != HOLE)
    for target, where, what in [(y, seen, "label"), (decision, np.ones_like(seen), "decision")]:
        leaks = leaking_columns(columns[where], target[where])
        if leaks:
            warnings.warn(
                f"{', '.join(map(repr, leaks))}: each alone (nearly) gives the {what} away; "
                "leave out what is not known before the decision.",
                UserWarning,
                stacklevel=3,
            )


def _are_names(assignment: Any) -> bool:
    return isinstance(assignment, list | tuple) and all(isinstance(each, str) for each in assignment)


def _check_columns(
    columns: list[str],
    named: Mapping[str, str],
    features: Sequence[str] | None,
    probabilities: Sequence[str],
) -> None:
    wanted = [*named.items(), *(("features", each) for each in features or [])]
    for role, column in [*wanted, *(("assignment", each) for each in probabilities)]:
        if column not in columns:
            raise InputError(f"{role}={column!r} is not a column of the table.", role)
    roles: dict[str, str] = {}
    for role, column in [*named.items(), *(("assignment", each) for each in probabilities)]:
        if column in roles:
            raise InputError(f"Column {column!r} is given both as {roles[column]} and as {role}.", role)
        roles[column] = role
    for feature in features or []:
        if list(features or []).count(feature) > 1:
            raise InputError(f"features names {feature!r} twice.", "features")
        if roles.get(feature, "strata") != "strata":  # a stratum is known before the decision
            raise InputError(
                f"Column {feature!r} is given both as {roles[feature]} and as a feature.", "features"
            )
