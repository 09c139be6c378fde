"""Read the columns of a table by role: labels, decisions, decision-makers, weights, groups and so on."""

from collections.abc import Callable
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Number
from typing import Any, NamedTuple, NoReturn

import narwhals as nw
import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray
from sklearn.utils.multiclass import check_classification_targets

from selective_labels._errors import InputError, several
from selective_labels.data.decision_words import decisions_in_words

# Code of a missing label.
HOLE = -1
PENDING_REMEDY = (
    "if these outcomes are not known yet, give SelectiveLabels pending='at-random' or pending='worst-case'; "
    "if the labels were lost, drop the rows"
)


# Texts of missing values. "None" is not among them, because it may be a class: "nothing was found".
MISSING_AS_TEXT = {"", "nan", "NaN", "NaT", "<NA>"}


class GivenRoles(NamedTuple):
    """Values for each role other than features and label, as given by the user; None where not given.

    All public functions take these as keywords and pass them on in this order.

    Examples
    --------
    >>> GivenRoles(["a", "b"], strata=["x", "x"]).groups is None
    True
    """

    decision_maker: Any = None
    decision: Any = None
    sample_weight: Any = None
    groups: Any = None
    strata: Any = None
    assignment: Any = None


ROLES = GivenRoles._fields
NO_ROLES = GivenRoles()


class Labels(NamedTuple):
    """Coded labels (-1 where missing), sorted classes, and masks of observed and of ignored labels.

    `accepted` are the decisions; None if they follow from the labels, or if no outcome may be pending.
    """

    codes: np.ndarray
    classes: np.ndarray
    seen: np.ndarray
    ignored: np.ndarray
    accepted: np.ndarray | None = None


class Coded(NamedTuple):
    """Codes of a column, and its sorted values."""

    codes: np.ndarray
    values: np.ndarray


def as_series(values: Any, name: str, n_samples: int) -> pd.Series:
    """Convert one column of any type to a pandas series with a default index."""
    label = getattr(values, "name", None)  # a data frame may have a column called "name"
    if isinstance(values, nw.Series):
        values = values.to_native()
    if not isinstance(values, (np.ndarray, pd.Series, ExtensionArray, list, tuple)):
        native = nw.from_native(values, allow_series=True, series_only=True, pass_through=True)
        values = native.to_list() if isinstance(native, nw.Series) else _as_list(values)
    if np.ndim(values) == 2 and np.shape(values)[1] == 1:
        values = np.ravel(values)
    if np.ndim(values) != 1:
        raise InputError.about(name, f"must be one column, not an array of shape {np.shape(values)}.")
    if len(values) != n_samples:
        raise InputError.about(
            name, f"has {len(values)} rows and X has {n_samples}; they must be of equal length."
        )
    # Integers with missing values stay integers only in an object series.
    series = pd.Series(values, dtype=object if isinstance(values, (list, tuple)) else None)
    series = series.reset_index(drop=True)
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = pd.Series(series.to_list(), dtype=object)
    inferred = series.dtype == object and not series.isna().any()
    return (_typed(series) if inferred else series).rename(label if isinstance(label, str) else None)


def refuse_another_order(values: Any, name: str, X: Any) -> None:
    """Raise if a pandas column has the rows of X in another order: columns are read by position.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": [1, 2, 3]}, index=["a", "b", "c"])
    >>> refuse_another_order(frame["x"].iloc[::-1], "by", frame)
    Traceback (most recent call last):
    selective_labels._errors.InputError: by has the rows of X in another order ...
    """
    index, rows = getattr(values, "index", None), getattr(X, "index", None)
    if not (isinstance(index, pd.Index) and isinstance(rows, pd.Index)) or len(index) != len(rows):
        return
    if index.equals(rows) or not (index.is_unique and index.isin(rows).all()):
        return
    raise InputError.about(
        name,
        "has the rows of X in another order (see its index), and rows are matched by position; give "
        "column.loc[X.index], or column.to_numpy() if the positions are right.",
    )


def _typed(series: pd.Series) -> pd.Series:
    """Infer the type of objects; keep objects if a float type would merge distinct integers."""
    try:
        typed = series.infer_objects()
    except OverflowError:  # pandas < 3 raises for integers that no float can hold
        return series
    mixed = typed.dtype.kind == "f" and any(isinstance(each, int) and abs(each) > 2**53 for each in series)
    return series if mixed else typed


def refuse_strange_cells(series: pd.Series, name: str) -> None:
    """Raise if cells cannot be compared as values: unhashable types, or booleans mixed with numbers.

    Examples
    --------
    >>> refuse_strange_cells(pd.Series([True, 1, 0], dtype=object), "y")
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: y mixes True or False with numbers, ...
    """
    if series.dtype != object:
        return
    kinds = {type(value) for value in series.dropna()}
    strange = sorted(kind.__name__ for kind in kinds if kind.__hash__ is None)
    if strange:
        raise InputError.about(
            name, f"holds cells of type {', '.join(strange)}; give one value for each case, such as a string."
        )
    truth = {kind for kind in kinds if issubclass(kind, (bool, np.bool_))}
    if truth and any(issubclass(kind, Number) for kind in kinds - truth):
        raise InputError.about(name, "mixes True or False with numbers, among which 1 is True; use one type.")


def read_label_column(y: Any, decision: Any, n_samples: int, *, pending: bool = False) -> Labels:
    """Code a column of labels with missing values; decisions, if given, say which labels are observed.

    With `pending`, a label may be missing where the decision is 1. It may be written -1 if no label of the
    column is missing otherwise.

    Examples
    --------
    >>> labels = read_label_column(["no", None, "yes"], None, 3)
    >>> labels.codes, labels.classes.tolist()
    (array([ 0, -1,  1]), ['no', 'yes'])
    """
    if pending:
        return _with_pending(as_series(y, "y", n_samples), decision)
    labels, seen, ignored = seen_labels(y, decision, n_samples)
    codes, classes = _label_codes(labels, seen)
    return Labels(codes, classes, seen, ignored)


def _with_pending(labels: pd.Series, decision: Any) -> Labels:
    missing = labels.isna().to_numpy()
    if not missing.any():
        missing = _is_minus_one(labels)
    accepted = _read_decisions(decision, missing)
    seen = accepted & ~missing
    codes, classes = _label_codes(labels, seen)
    return Labels(codes, classes, seen, ~accepted & ~missing, accepted)


def seen_labels(y: Any, decision: Any, n_samples: int) -> tuple[pd.Series, np.ndarray, np.ndarray]:
    """Labels as given, a mask of observed labels, and a mask of labels that are given but ignored."""
    labels = as_series(y, "y", n_samples)
    missing = labels.isna().to_numpy()
    if decision is None:
        return labels, ~(missing | _is_minus_one(labels)), np.zeros(n_samples, dtype=bool)
    seen = _read_decisions(decision, missing | _is_minus_one(labels))
    refuse_rows(seen & missing, "y", "is missing where decision is 1", PENDING_REMEDY)
    return labels, seen, ~seen & ~missing


def read_decision_makers(values: Any, n_samples: int) -> tuple[np.ndarray, Coded]:
    """Ids as given, and their codes."""
    makers = as_series(values, "decision_maker", n_samples)
    refuse_strange_cells(makers, "decision_maker")
    refuse_rows(makers.isna().to_numpy(), "decision_maker", "is missing", "drop these rows or give an id")
    return makers.to_numpy(), _sorted_codes(makers)


def read_cells(values: Any, name: str, n_samples: int) -> Coded | None:
    """Codes of groups or strata."""
    if values is None:
        return None
    series = as_series(values, name, n_samples)
    refuse_strange_cells(series, name)
    refuse_rows(series.isna().to_numpy(), name, "is missing", "drop these rows or give them a value")
    return _sorted_codes(series)


def read_weights(sample_weight: Any, n_samples: int, *, part: bool = False) -> np.ndarray | None:
    """Read non-negative sample weights; they may all be zero only for a part of a table."""
    if sample_weight is None:
        return None
    series = as_series(sample_weight, "sample_weight", n_samples)
    try:
        weight = pd.to_numeric(series, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    except (OverflowError, TypeError, ValueError):
        raise InputError.about("sample_weight", "holds what is no number, or too large for one.") from None
    wrong = ~np.isfinite(weight) | (weight < 0)
    refuse_rows(wrong, "sample_weight", "is negative or not a number", "mend it")
    if not (part or weight.any()):
        raise InputError.about("sample_weight", "is zero everywhere.")
    return weight


def mean_one(weight: np.ndarray) -> np.ndarray:
    """Divide weights by their mean, because only their ratios matter.

    They are first divided by the maximum, so that no sum overflows or underflows. Weights that are zero in
    all rows (as in a part of a larger table) are returned unchanged.

    Examples
    --------
    >>> mean_one(np.array([1e300, 3e300])), mean_one(np.array([1e-320, 1e-320]))
    (array([0.5, 1.5]), array([1., 1.]))
    """
    largest = weight.max(initial=0.0)
    if largest == 0.0:
        return weight
    scaled = weight / largest
    return scaled / scaled.mean()


def read_assignment(
    assignment: np.ndarray | Callable[[Any], np.ndarray] | None, X: Any, n_samples: int, n_makers: int
) -> np.ndarray | None:
    """Known assignment probabilities of decision-makers, given or computed from the features."""
    if assignment is None:
        return None
    values = np.asarray(assignment(X) if callable(assignment) else assignment, dtype=float)
    if values.shape != (n_samples, n_makers):
        raise InputError.about(
            "assignment",
            f"has shape {values.shape}; it must be (rows, decision-makers) = {(n_samples, n_makers)}, "
            "decision-makers in sorted order.",
        )
    right = (values >= 0).all(axis=1) & (np.abs(values.sum(axis=1) - 1) <= 1e-6)  # False for NaN
    refuse_rows(~right, "assignment", "is not a probability distribution", "each row must sum to one")
    return values


def refuse_rows(bad: np.ndarray, argument: str, what: str, remedy: str) -> None:
    """Raise if any row is bad, and name the first few."""
    if bad.any():
        rows = np.flatnonzero(bad)
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        raise InputError.about(argument, f"{what} in {len(rows)} rows ({shown}): {remedy}.")


def _as_list(values: Any) -> Any:
    return values.to_pylist() if hasattr(values, "to_pylist") else np.asarray(values)  # pyarrow.Array


def _is_minus_one(labels: pd.Series) -> np.ndarray:
    if pd.api.types.is_bool_dtype(labels):
        return np.zeros(len(labels), dtype=bool)
    if pd.api.types.is_numeric_dtype(labels):
        return (labels == HOLE).fillna(False).to_numpy(dtype=bool)
    numbers = [
        isinstance(v, (int, float, np.number)) and not isinstance(v, bool) and v == HOLE for v in labels
    ]
    return np.array(numbers, dtype=bool)


def _read_decisions(decision: Any, missing: np.ndarray) -> np.ndarray:
    series = as_series(decision, "decision", len(missing))
    if _is_text(series) and not series.isna().any():
        said = decisions_in_words(series)
        # Words that would reveal labels only where the decision is a no are the wrong way round.
        if said is None or (said.any() and missing[said].all() and not missing.all()):
            _refuse_words(series, missing)
        else:
            return said
    valid = series.isin([0, 1]).to_numpy(dtype=bool)
    found = "" if series[~valid].isna().all() else f" but {_few(series[~valid].dropna())}"
    remedy = "code it as 1 where the label is revealed, else 0"
    refuse_rows(~valid, "decision", f"is neither 0 nor 1{found}", remedy)
    return series.astype(float).to_numpy() == 1


def _refuse_words(decisions: pd.Series, missing: np.ndarray) -> NoReturn:
    """Raise for decisions given as text; suggest coding as 1 the word with the highest share of labels."""
    labeled = (~pd.Series(missing)).groupby(decisions.to_numpy()).mean()
    leading = labeled.index[labeled == labeled.max()]
    such_as = ""
    if len(leading) == 1 and len(labeled) > 1:
        column, word = f"frame[{decisions.name!r}]", repr(leading[0])
        listed = f"decision = [each == {word} for each in decision]"
        such_as = f", such as {listed if decisions.name is None else f'{column} = {column} == {word}'}"
    raise InputError.about(
        "decision",
        f"holds text, {_few(decisions.dropna())}: make it 1 where the label is revealed, else 0{such_as}.",
    )


def _few(values: pd.Series) -> str:
    return several(values.map(str).value_counts().index.to_list())


def _label_codes(labels: pd.Series, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes and sorted classes of the observed labels; other rows are not read."""
    if not seen.any():
        raise InputError.about(
            "y", "has no label at all: every label is missing, so there is nothing to learn from."
        )
    values = label_values(labels[seen])
    _refuse_missing_as_text(labels, seen)
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise InputError("Input y contains infinity; labels must be classes.", "y")
    if values.dtype.kind in "mM" or isinstance(values.flat[0], (date, time, timedelta)):
        raise InputError.about(
            "y", "holds dates; labels must be classes (strings, whole numbers or booleans)."
        )
    if values.dtype == object and any(isinstance(value, Decimal) or _is_huge(value) for value in values):
        raise InputError.about(
            "y", "holds Decimal or whole numbers beyond 64 bits; convert labels to whole numbers or strings."
        )
    try:
        classes, inverse = np.unique(values, return_inverse=True)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise InputError.about("y", f"mixes labels of types {', '.join(kinds)}; use one type.") from None
    _refuse_measurements(values)
    codes = np.full(len(labels), HOLE)
    codes[seen] = inverse
    return codes, classes


def _refuse_missing_as_text(labels: pd.Series, seen: np.ndarray) -> None:
    """Raise if an observed label is an empty text or the text of a missing value, as NumPy writes it.

    `np.where(known, "bad", np.nan)` is such a column: its missing labels would be a class of their own.
    """
    if labels.dtype.kind in "biufcmM":
        return
    bad = np.array(
        [
            flag and isinstance(value, str) and value.strip() in MISSING_AS_TEXT
            for value, flag in zip(labels, seen, strict=True)
        ],
        dtype=bool,
    )
    if bad.any():
        refuse_rows(
            bad,
            "y",
            f"holds the text {several(sorted(set(labels[bad])))}",
            "make it None if the label is missing, else give the class a name",
        )


def label_values(visible: pd.Series) -> np.ndarray:
    """Observed labels as an array; text stays object, because numpy's string type drops a trailing NUL."""
    refuse_strange_cells(visible, "y")
    if visible.dtype == object:
        typed = _typed(visible)
        return typed.to_numpy(dtype=None if getattr(typed.dtype, "kind", "O") in "biufcmM" else object)
    if pd.api.types.is_numeric_dtype(visible) or pd.api.types.is_datetime64_any_dtype(visible):
        return np.asarray(visible.tolist())  # keeps nullable integers as integers
    return visible.to_numpy(dtype=object)


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and not -(2**63) <= value < 2**64


def _refuse_measurements(values: np.ndarray) -> None:
    try:
        check_classification_targets(values)
    except ValueError as error:
        raise InputError(str(error), "y") from None


def sorted_values(series: pd.Series) -> np.ndarray:
    """Sorted distinct values of a column; ids of mixed types are sorted as text."""
    return _sorted_codes(series).values


def _different(series: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Codes and distinct values; text with NUL is coded here, because pandas < 3 ends strings at NUL."""
    if series.dtype == object and any("\0" in each for each in series if isinstance(each, str)):
        place = {value: code for code, value in enumerate(dict.fromkeys(series))}
        values = np.empty(len(place), dtype=object)
        values[:] = list(place)
        return np.array([place[value] for value in series], dtype=int), values
    codes, uniques = pd.factorize(series)
    return codes, _readable(np.asarray(uniques))


def _readable(values: np.ndarray) -> np.ndarray:
    """Convert dates to microseconds if this is lossless: `tolist` turns nanoseconds into integers."""
    if values.dtype.kind not in "mM":
        return values
    coarser = values.astype(f"{values.dtype.kind}8[us]")
    return coarser if (coarser.astype(values.dtype) == values).all() else values


def _sorted_codes(series: pd.Series) -> Coded:
    codes, values = _different(series)
    try:
        order = np.argsort(values, kind="stable")
    except TypeError:  # ids of mixed types cannot be compared
        order = np.argsort([str(value) for value in values], kind="stable")
    rank = np.empty(len(values), dtype=int)
    rank[order] = np.arange(len(values))
    return Coded(rank[codes], values[order])


def _is_text(series: pd.Series) -> bool:
    return bool(pd.api.types.is_string_dtype(series)) and not pd.api.types.is_bool_dtype(series)
