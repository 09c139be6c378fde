"""A table of features as numbers: text and categories become codes, dates become days."""

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from sklearn.utils.validation import check_array

from selective_labels.support.errors import InputError

NUMBER, CATEGORY, DATE = "number", "category", "date"
WORDS = {NUMBER: "numbers", CATEGORY: "text or categories", DATE: "dates"}
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


@dataclass(frozen=True)
class TableCoding:
    """What the columns of a table hold, and the code of every category: a relabelling, no statistics.

    Numbers and booleans stay as they are, dates become days since 1970 (durations: days), and a value of a
    category column becomes its place in the order in which values first appeared; so nothing ever depends
    on how categories are called, or on an order of ordered categories.

    Attributes
    ----------
    kinds : tuple of "number", "category" or "date"
        One for each column.
    vocabularies : dict of tuples of str
        By column number: the values of each category column, as text.

    Examples
    --------
    >>> coding = TableCoding.of(pd.DataFrame({"job": ["cook", None, "clerk"], "age": [31, 40, 25]}))
    >>> coding.categorical, coding.vocabularies
    ((0,), {0: ('cook', 'clerk')})

    Values that are new get the code after the last; missing ones stay missing:

    >>> coding.code(pd.DataFrame({"job": ["clerk", "nurse", None], "age": [1, 2, 3]}))
       job  age
    0  1.0  1.0
    1  2.0  2.0
    2  NaN  3.0
    """

    kinds: tuple[str, ...]
    vocabularies: dict[int, tuple[str, ...]]

    @classmethod
    def of(cls, X: Any) -> "TableCoding | None":
        """Read the coding of a table; an array has none."""
        table = as_table(X)
        if table is None:
            return None
        kinds = tuple(_kind(column) for column in table.iter_columns())
        vocabularies = {
            number: tuple(dict.fromkeys(_texts(column)[1]))
            for number, column in enumerate(table.iter_columns())
            if kinds[number] == CATEGORY
        }
        return cls(kinds, vocabularies)

    @property
    def categorical(self) -> tuple[int, ...]:
        """Numbers of the columns that hold codes."""
        return tuple(self.vocabularies)

    def code(self, X: Any) -> Any:
        """Relabel a table with the same columns; one that holds nothing but numbers is returned as it is.

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
        kinds = [_kind(column) for column in columns]
        if {*self.kinds, *kinds} <= {NUMBER}:
            return X
        coded = [self._code_column(number, columns[number], kind) for number, kind in enumerate(kinds)]
        return pd.DataFrame(np.column_stack(coded), columns=table.columns)

    def _code_column(self, number: int, column: nw.Series, kind: str) -> np.ndarray:
        expected = self.kinds[number]
        if expected == CATEGORY:
            return _codes(column, self.vocabularies[number])
        if kind == expected:
            return _days(column) if kind == DATE else _numbers(column)
        present = _objects(column).dropna()
        if not len(present):
            return np.full(len(column), np.nan)
        raise InputError.about(
            "X",
            f"has a column {column.name!r} that held {WORDS[expected]} in fit and now holds {WORDS[kind]} "
            f"(such as {str(present.iloc[0])!r}); give {WORDS[expected]}.",
        )


def coded_features(X: Any) -> tuple[np.ndarray, tuple[int, ...]]:
    """Features as an array of numbers, NaN allowed, and the columns of it that hold codes of categories.

    Examples
    --------
    >>> coded_features(pd.DataFrame({"age": [31, None], "job": ["cook", "clerk"]}))
    (array([[31.,  0.],
           [nan,  1.]]), (1,))
    """
    refuse_repeated_names(X)
    coding = TableCoding.of(X)
    numbers = X if coding is None else coding.code(X)
    return _finite_or_missing(numbers), () if coding is None else coding.categorical


def as_table(X: Any) -> nw.DataFrame | None:
    """See a pandas, polars or arrow table through narwhals; None for an array."""
    table = nw.from_native(X, eager_only=True, pass_through=True)
    return table if isinstance(table, nw.DataFrame) else None


def not_numbers(X: Any) -> list[str]:
    """Names of the columns that hold text, categories or dates; of an array, none."""
    table = as_table(X)
    return [] if table is None else [each.name for each in table.iter_columns() if _kind(each) != NUMBER]


def refuse_repeated_names(frame: Any) -> None:
    """Raise if two columns of a frame have the same name."""
    columns = getattr(frame, "column_names", None) or getattr(frame, "columns", None)
    names = pd.Series([] if columns is None else list(columns), dtype=object)
    repeated = sorted(set(names[names.duplicated()].map(repr)))
    if repeated:
        raise InputError(f"The table has several columns named {', '.join(repeated)}; rename them.", "X")


def _finite_or_missing(numbers: Any) -> np.ndarray:
    """Let scikit-learn refuse what no model can read, such as infinity or an empty table."""
    try:
        checked = check_array(numbers, dtype="numeric", ensure_all_finite="allow-nan")
    except ValueError as error:
        raise InputError(str(error), "X") from None
    return checked.astype(float, copy=False)


def _kind(column: nw.Series) -> str:
    dtype = column.dtype
    # A column of Python objects may hold anything, whatever its first values are.
    content = pd.api.types.infer_dtype(_objects(column)) if isinstance(dtype, OPAQUE) else ""
    if isinstance(dtype, STRANGE) or content == "complex":
        raise InputError.about(
            "X",
            f"has a column {column.name!r} of type {content or dtype}, which is neither number, text, "
            "category nor date; convert it or leave it out.",
        )
    if isinstance(dtype, (nw.Date, nw.Datetime, nw.Duration)):
        return DATE
    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        return CATEGORY
    return OBJECTS.get(content, CATEGORY) if content else NUMBER


def _objects(column: nw.Series) -> pd.Series:
    return pd.Series(column.to_list(), dtype=object)


def _numbers(column: nw.Series) -> np.ndarray:
    values = column.to_numpy()
    if values.dtype == object:  # booleans with holes, decimals
        objects = _objects(column)
        values = objects.where(objects.notna(), np.nan).to_numpy()
    return values.astype(float)


def _days(column: nw.Series) -> np.ndarray:
    values = column.to_numpy()
    if values.dtype == object:
        objects = _objects(column)
        lengths = pd.api.types.infer_dtype(objects).startswith("timedelta")
        read = pd.to_timedelta(objects) if lengths else pd.to_datetime(objects, utc=True).dt.tz_localize(None)
        values = read.to_numpy()
    start = np.datetime64(0, "s") if values.dtype.kind == "M" else np.timedelta64(0, "s")
    return (values - start) / np.timedelta64(1, "D")


def _codes(column: nw.Series, vocabulary: tuple[str, ...]) -> np.ndarray:
    rows, texts = _texts(column)
    place = {text: float(code) for code, text in enumerate(vocabulary)}
    # The last entry serves rows without a value, whose number is -1.
    return np.array([*(place.get(text, float(len(vocabulary))) for text in texts), np.nan])[rows]


def _texts(column: nw.Series) -> tuple[np.ndarray, list[str]]:
    """Number of each row's value, -1 where it is missing, and the values as text, in order of appearance."""
    try:
        rows, values = pd.factorize(_objects(column))
    except TypeError:
        raise InputError.about(
            "X",
            f"has a column {column.name!r} whose values are neither numbers, text nor dates; convert it or "
            "leave it out.",
        ) from None
    return rows, [_text(value) for value in values]


def _text(value: Any) -> str:
    """Say a value; 3 is the same category as 3.0, which it becomes beside holes, and as "3"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
