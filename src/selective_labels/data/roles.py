"""The roles that columns of a table can have."""

from collections.abc import Callable
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Number
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray
from sklearn.utils.multiclass import check_classification_targets

from selective_labels._errors import InputError, several

# The code of a label that was not seen.
HOLE = -1


class GivenRoles(NamedTuple):
    """What was given for each role beside features and label, as it was given; None where nothing was.

    All public entries have these as keywords, and hand them on in this order.

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
    """Codes of labels with holes, sorted classes, which were seen, and which were given but do not count."""

    codes: np.ndarray
    classes: np.ndarray
    seen: np.ndarray
    ignored: np.ndarray


class Coded(NamedTuple):
    """Codes of a column into its sorted values."""

    codes: np.ndarray
    values: np.ndarray


def as_series(values: Any, name: str, n_samples: int) -> pd.Series:
    """One column of any origin as a pandas series with a plain index."""
    label = getattr(values, "name", None)  # a frame may have a column of that name
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
    # Whole numbers with holes among them stay whole numbers only as objects.
    series = pd.Series(values, dtype=object if isinstance(values, (list, tuple)) else None)
    series = series.reset_index(drop=True)
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = pd.Series(series.to_list(), dtype=object)
    inferred = series.dtype == object and not series.isna().any()
    return (_typed(series) if inferred else series).rename(label if isinstance(label, str) else None)


def _typed(series: pd.Series) -> pd.Series:
    """Objects as numbers, dates or whatever all of them are; as objects if floats would merge them."""
    try:
        typed = series.infer_objects()
    except OverflowError:  # pandas before 3, of whole numbers that no float can hold
        return series
    mixed = typed.dtype.kind == "f" and any(isinstance(each, int) and abs(each) > 2**53 for each in series)
    return series if mixed else typed


def refuse_strange_cells(series: pd.Series, name: str) -> None:
    """Refuse cells that nothing can be told apart by: lists and the like, and True among numbers.

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


def read_label_column(y: Any, decision: Any, n_samples: int) -> Labels:
    """Labels with holes; with decisions, these say which labels count.

    Examples
    --------
    >>> labels = read_label_column(["no", None, "yes"], None, 3)
    >>> labels.codes, labels.classes.tolist()
    (array([ 0, -1,  1]), ['no', 'yes'])
    """
    labels, seen, ignored = seen_labels(y, decision, n_samples)
    codes, classes = _label_codes(labels, seen)
    return Labels(codes, classes, seen, ignored)


def seen_labels(y: Any, decision: Any, n_samples: int) -> tuple[pd.Series, np.ndarray, np.ndarray]:
    """Labels as given, which of them were seen, and which were given but do not count."""
    labels = as_series(y, "y", n_samples)
    missing = labels.isna().to_numpy()
    if decision is None:
        return labels, ~(missing | _is_minus_one(labels)), np.zeros(n_samples, dtype=bool)
    seen = _read_decisions(decision, missing | _is_minus_one(labels))
    refuse_rows(seen & missing, "y", "has holes where decision is 1", "give the label or set decision to 0")
    return labels, seen, ~seen & ~missing


def read_decision_makers(values: Any, n_samples: int) -> tuple[np.ndarray, Coded]:
    """Ids as given, and coded."""
    makers = as_series(values, "decision_maker", n_samples)
    refuse_strange_cells(makers, "decision_maker")
    refuse_rows(makers.isna().to_numpy(), "decision_maker", "is missing", "drop these rows or give an id")
    return makers.to_numpy(), _sorted_codes(makers)


def read_cells(values: Any, name: str, n_samples: int) -> Coded | None:
    """Groups or strata, coded."""
    if values is None:
        return None
    series = as_series(values, name, n_samples)
    refuse_strange_cells(series, name)
    refuse_rows(series.isna().to_numpy(), name, "is missing", "drop these rows or give them a value")
    return _sorted_codes(series)


def read_weights(sample_weight: Any, n_samples: int, *, part: bool = False) -> np.ndarray | None:
    """Sample weights, not negative; of a part of a table they may all be zero."""
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
    """Divide weights by their mean: only their ratios mean anything.

    By the largest first, so that no sum overflows or vanishes. Weights that are zero everywhere (those of
    some rows of a larger table) stay as they are.

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
    """Known probabilities of decision-makers, given or computed from the features."""
    if assignment is None:
        return None
    values = np.asarray(assignment(X) if callable(assignment) else assignment, dtype=float)
    if values.shape != (n_samples, n_makers):
        raise InputError.about(
            "assignment",
            f"has shape {values.shape}; it must be (rows, decision-makers) = {(n_samples, n_makers)}, "
            "decision-makers in sorted order.",
        )
    right = (values >= 0).all(axis=1) & (np.abs(values.sum(axis=1) - 1) <= 1e-6)  # NaN is neither
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
    if _is_text(series):
        _refuse_words(series, missing)
    valid = series.isin([0, 1]).to_numpy(dtype=bool)
    found = "" if series[~valid].isna().all() else f" but {_few(series[~valid].dropna())}"
    remedy = "code it as 1 where the label is revealed, else 0"
    refuse_rows(~valid, "decision", f"is neither 0 nor 1{found}", remedy)
    return series.astype(float).to_numpy() == 1


def _refuse_words(decisions: pd.Series, missing: np.ndarray) -> None:
    """Which word is a yes is not for us to say, but labels tell what to suggest: they are where a yes is."""
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
    """Codes and sorted classes of what was seen; nothing else is looked at."""
    if not seen.any():
        raise InputError.about(
            "y", "has no label at all: every row is a hole, so there is nothing to learn from."
        )
    values = label_values(labels[seen])
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


def label_values(visible: pd.Series) -> np.ndarray:
    """Labels without holes as an array, in which text is an object: numpy's own drops a NUL at the end."""
    refuse_strange_cells(visible, "y")
    if visible.dtype == object:
        typed = _typed(visible)
        return typed.to_numpy(dtype=None if getattr(typed.dtype, "kind", "O") in "biufcmM" else object)
    if pd.api.types.is_numeric_dtype(visible) or pd.api.types.is_datetime64_any_dtype(visible):
        return np.asarray(visible.tolist())  # nullable whole numbers stay whole
    return visible.to_numpy(dtype=object)


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and not -(2**63) <= value < 2**64


def _refuse_measurements(values: np.ndarray) -> None:
    try:
        check_classification_targets(values)
    except ValueError as error:
        raise InputError(str(error), "y") from None


def sorted_values(series: pd.Series) -> np.ndarray:
    """Different values of a column in their order; ids of several types are ordered as text."""
    return _sorted_codes(series).values


def _different(series: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Code of each row, and the values; pandas before 3 takes a NUL for the end of a text."""
    if series.dtype == object and any("\0" in each for each in series if isinstance(each, str)):
        place = {value: code for code, value in enumerate(dict.fromkeys(series))}
        values = np.empty(len(place), dtype=object)
        values[:] = list(place)
        return np.array([place[value] for value in series], dtype=int), values
    codes, uniques = pd.factorize(series)
    return codes, _readable(np.asarray(uniques))


def _readable(values: np.ndarray) -> np.ndarray:
    """Dates in microseconds, if nothing is lost by it: numpy makes whole numbers of nanoseconds in a list."""
    if values.dtype.kind not in "mM":
        return values
    coarser = values.astype(f"{values.dtype.kind}8[us]")
    return coarser if (coarser.astype(values.dtype) == values).all() else values


def _sorted_codes(series: pd.Series) -> Coded:
    codes, values = _different(series)
    try:
        order = np.argsort(values, kind="stable")
    except TypeError:  # ids of several types have no order of their own
        order = np.argsort([str(value) for value in values], kind="stable")
    rank = np.empty(len(values), dtype=int)
    rank[order] = np.arange(len(values))
    return Coded(rank[codes], values[order])


def _is_text(series: pd.Series) -> bool:
    return bool(pd.api.types.is_string_dtype(series)) and not pd.api.types.is_bool_dtype(series)


def class_code(label: Any, classes: np.ndarray, argument: str = "pos_label") -> int:
    """Code of a class among the sorted classes; that of None is the last.

    Examples
    --------
    >>> classes = np.array(["no", "yes"])
    >>> class_code("no", classes), class_code(None, classes)
    (0, 1)
    >>> class_code("maybe", classes)
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: pos_label='maybe' is not among the labels 'no', 'yes'.
    """
    if label is None:
        return len(classes) - 1
    position = np.flatnonzero(classes == label)
    if not len(position):
        words = several([str(each) for each in classes.tolist()])
        raise InputError(f"{argument}={label!r} is not among the labels {words}.", argument)
    return int(position[0])


def require_two_classes(classes: np.ndarray) -> None:
    """Refuse labels of one class: nothing can be right or wrong about them."""
    if len(classes) < 2:
        raise InputError.about(
            "y", f"shows only one class ({classes.tolist()[0]!r}); two or more are needed."
        )
