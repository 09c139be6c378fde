"""A selectively labeled table: its roles named and checked once."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, time, timedelta
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets

from selective_labels.features.coding import refuse_repeated_names
from selective_labels.features.leaks import leaking_columns

HOLE = -1


@dataclass(frozen=True, repr=False)
class SelectiveLabels:
    """Features, labels with holes, decisions, decision-makers.

    Make one with :meth:`from_frame` or :meth:`from_arrays`; both check everything.

    Attributes
    ----------
    X : frame or array
        Features, as given.
    y : (n_samples,) int array
        Codes 0..K-1 into `classes`; -1 where no label was seen.
    decision : (n_samples,) int array
        1 where the label was seen.
    decision_maker : (n_samples,) array
        Ids as given.
    decision_maker_codes : (n_samples,) int array
        Codes into `decision_makers`.
    classes, decision_makers : arrays
        Sorted.
    sample_weight : (n_samples,) float array or None
    groups, strata : (n_samples,) int arrays or None
        Codes of repeated cases, and of the cells within which assignment is random.
    assignment : (n_samples, n_decision_makers) array or None
        Known probabilities of decision-makers.
    n_ignored_labels : int
        Labels that were given where the decision is 0, and not read.
    categorical : tuple of int
        Columns of a numeric `X` that hold codes of categories; models encode them as they are fitted.
    """

    X: Any
    y: np.ndarray
    decision: np.ndarray
    decision_maker: np.ndarray
    decision_maker_codes: np.ndarray
    classes: np.ndarray
    decision_makers: np.ndarray
    sample_weight: np.ndarray | None = None
    groups: np.ndarray | None = None
    strata: np.ndarray | None = None
    assignment: np.ndarray | None = None
    n_ignored_labels: int = 0
    categorical: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return (
            f"SelectiveLabels({len(self):,} cases, {int(self.decision.sum()):,} with a label, "
            f"{self.n_decision_makers:,} decision-makers, classes {self.classes.tolist()} coded from 0)"
        )

    @property
    def n_decision_makers(self) -> int:
        """Number of different decision-makers."""
        return len(self.decision_makers)

    def coded_like(self, classes: np.ndarray, decision_makers: np.ndarray) -> "SelectiveLabels":
        """Code the same rows by the classes and decision-makers of another table.

        A decision-maker who is not in that table gets the code -1; a class that is not is an error.

        Examples
        --------
        >>> data = SelectiveLabels.from_arrays([[1], [2]], ["yes", None], decision_maker=["b", "z"])
        >>> coded = data.coded_like(np.array(["no", "yes"]), np.array(["a", "b"]))
        >>> coded.y, coded.decision_maker_codes
        (array([ 1, -1]), array([ 1, -1]))
        """
        unknown = np.setdiff1d(self.classes, classes)
        if len(unknown):
            raise ValueError(f"y holds the class {unknown[0]!r}, which was not among those of fit.")
        new_class = np.searchsorted(classes, self.classes)
        position = {maker: code for code, maker in enumerate(decision_makers.tolist())}
        new_maker = np.array([position.get(maker, -1) for maker in self.decision_makers.tolist()])
        return replace(
            self,
            y=np.where(self.y == HOLE, HOLE, new_class[self.y]),
            classes=classes,
            decision_maker_codes=new_maker[self.decision_maker_codes],
            decision_makers=decision_makers,
        )

    def take(self, rows: np.ndarray) -> "SelectiveLabels":
        """Keep some rows, and all classes and decision-makers.

        Examples
        --------
        >>> data = SelectiveLabels.from_arrays(np.eye(2), [0, 1], decision_maker=["a", "b"])
        >>> data.take(np.array([1])).y, len(data.take(np.array([1])).decision_makers)
        (array([1]), 2)
        """
        whole = ("X", "classes", "decision_makers", "n_ignored_labels", "categorical")
        arrays = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in whole}
        kept = {name: array[rows] for name, array in arrays.items() if array is not None}
        return replace(self, X=_safe_indexing(self.X, rows), **kept)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        label: str,
        *,
        decision_maker: str,
        decision: str | None = None,
        features: Sequence[str] | None = None,
        sample_weight: str | None = None,
        groups: str | None = None,
        strata: str | None = None,
    ) -> "SelectiveLabels":
        """Name the roles of a table's columns.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table
        label, decision_maker : str
            Column names.
        decision : str, optional
            Column of 0 and 1; without it, the holes of the label say what was seen.
        features : list of str, optional
            Default: all columns without another role.
        sample_weight, groups, strata : str, optional
            Column names.

        Returns
        -------
        SelectiveLabels

        Examples
        --------
        >>> frame = pd.DataFrame({"age": [30, 41, 25], "judge": ["a", "b", "a"],
        ...                       "released": [1, 0, 1], "failed": ["no", None, "yes"]})
        >>> data = SelectiveLabels.from_frame(
        ...     frame, label="failed", decision="released", decision_maker="judge")
        >>> data.y, data.classes, list(data.X.columns)
        (array([ 0, -1,  1]), array(['no', 'yes'], dtype=object), ['age'])
        """
        refuse_repeated_names(frame)
        features = [features] if isinstance(features, str) else features
        table = nw.from_native(frame, eager_only=True)
        roles = {
            "label": label,
            "decision_maker": decision_maker,
            "decision": decision,
            "sample_weight": sample_weight,
            "groups": groups,
            "strata": strata,
        }
        named = {role: column for role, column in roles.items() if column is not None}
        _check_columns(table.columns, named, features)
        chosen = [c for c in table.columns if c not in named.values()] if features is None else list(features)
        if not chosen:
            raise ValueError("features: no column is left besides those with another role.")
        values = {role: table[column] for role, column in named.items()}
        data = cls.from_arrays(
            table.select(chosen).to_native(),
            values.pop("label"),
            **values,
        )
        _warn_of_leaks(pd.DataFrame({name: table[name].to_numpy() for name in chosen}), data)
        return data

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        decision_maker: Any,
        decision: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        strata: Any = None,
        assignment: Any = None,
        categorical: tuple[int, ...] = (),
    ) -> "SelectiveLabels":
        """Take the roles from arrays of equal length.

        Parameters
        ----------
        X : (n_samples, n_features) array or frame
        y : (n_samples,) labels of any type, with holes (-1, NaN, None, NA)
            With `decision`, -1 may be a class.
        decision_maker : (n_samples,) ids of any type
        decision : (n_samples,) of 0 and 1, optional
        sample_weight : (n_samples,) non-negative numbers, optional
        groups, strata : (n_samples,) of any type, optional
        assignment : (n_samples, n_decision_makers) array or callable of X, optional
            Known probabilities, decision-makers in sorted order.
        categorical : tuple of int
            Columns of a numeric `X` that hold codes of categories.

        Returns
        -------
        SelectiveLabels

        Examples
        --------
        >>> data = SelectiveLabels.from_arrays([[1], [2], [3]], [1, -1, 0], decision_maker=["b", "a", "b"])
        >>> data.y, data.decision, data.decision_makers
        (array([ 1, -1,  0]), array([1, 0, 1]), array(['a', 'b'], dtype=object))
        """
        n_samples = len(X)
        labels = as_series(y, "y", n_samples)
        missing = labels.isna().to_numpy()
        if decision is None:
            seen = ~(missing | _is_minus_one(labels))
            ignored = 0
        else:
            seen = _as_decision(decision, n_samples)
            _refuse_rows(
                seen & missing, "y has holes where decision is 1", "give the label or set decision to 0"
            )
            ignored = int(np.sum(~seen & ~missing))
        codes, classes = _label_codes(labels, seen)
        makers = as_series(decision_maker, "decision_maker", n_samples)
        _refuse_rows(makers.isna().to_numpy(), "decision_maker is missing", "drop these rows or give an id")
        maker_codes, maker_ids = _sorted_codes(makers)
        return cls(
            X=X,
            y=codes,
            decision=seen.astype(int),
            decision_maker=makers.to_numpy(),
            decision_maker_codes=maker_codes,
            classes=classes,
            decision_makers=maker_ids,
            sample_weight=_as_weight(sample_weight, n_samples),
            groups=_as_cells(groups, "groups", n_samples),
            strata=_as_cells(strata, "strata", n_samples),
            assignment=_as_assignment(assignment, X, n_samples, len(maker_ids)),
            n_ignored_labels=ignored,
            categorical=categorical,
        )


def as_series(values: Any, name: str, n_samples: int) -> pd.Series:
    """One column of any origin as a pandas series with a plain index."""
    if isinstance(values, nw.Series):
        values = values.to_native()
    if not isinstance(values, (np.ndarray, pd.Series, list, tuple)):
        native = nw.from_native(values, allow_series=True, series_only=True, pass_through=True)
        values = native.to_list() if isinstance(native, nw.Series) else _as_list(values)
    if np.ndim(values) == 2 and np.shape(values)[1] == 1:
        values = np.ravel(values)
    if np.ndim(values) != 1:
        raise ValueError(f"{name} must be one column, not an array of shape {np.shape(values)}.")
    if len(values) != n_samples:
        raise ValueError(
            f"{name} has {len(values)} rows and X has {n_samples}; they must be of equal length."
        )
    # Whole numbers with holes among them stay whole numbers only as objects.
    series = pd.Series(values, dtype=object if isinstance(values, (list, tuple)) else None)
    series = series.reset_index(drop=True)
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = pd.Series(series.to_list(), dtype=object)
    inferred = series.dtype == object and not series.isna().any()
    return series.infer_objects() if inferred else series


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


def _as_decision(decision: Any, n_samples: int) -> np.ndarray:
    series = as_series(decision, "decision", n_samples)
    valid = series.isin([0, 1]).to_numpy() if not _is_text(series) else np.zeros(n_samples, dtype=bool)
    _refuse_rows(~valid, "decision is neither 0 nor 1", "code it as 1 where the label is revealed, else 0")
    return series.astype(float).to_numpy() == 1


def _label_codes(labels: pd.Series, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes and sorted classes of what was seen; nothing else is looked at."""
    if not seen.any():
        raise ValueError("y has no label at all: every row is a hole, so there is nothing to learn from.")
    visible = labels[seen]
    values = np.asarray(visible.to_list()) if visible.dtype != object else visible.infer_objects().to_numpy()
    if values.dtype.kind in "US":
        values = values.astype(object)
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise ValueError("Input y contains infinity; labels must be classes.")
    if values.dtype.kind in "mM" or isinstance(values.flat[0], (date, time, timedelta)):
        raise ValueError("y holds dates; labels must be classes (strings, whole numbers or booleans).")
    try:
        classes, inverse = np.unique(values, return_inverse=True)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values})
        raise ValueError(f"y mixes labels of types {', '.join(kinds)}; use one type.") from None
    check_classification_targets(values)
    codes = np.full(len(labels), HOLE)
    codes[seen] = inverse
    return codes, classes


def _sorted_codes(series: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    codes, uniques = pd.factorize(series)
    values = np.asarray(uniques)
    try:
        order = np.argsort(values, kind="stable")
    except TypeError:  # ids of several types have no order of their own
        order = np.argsort([str(value) for value in values], kind="stable")
    rank = np.empty(len(values), dtype=int)
    rank[order] = np.arange(len(values))
    return rank[codes], values[order]


def _as_cells(values: Any, name: str, n_samples: int) -> np.ndarray | None:
    if values is None:
        return None
    series = as_series(values, name, n_samples)
    _refuse_rows(series.isna().to_numpy(), f"{name} is missing", "drop these rows or give them a value")
    return _sorted_codes(series)[0]


def _as_weight(sample_weight: Any, n_samples: int) -> np.ndarray | None:
    if sample_weight is None:
        return None
    series = as_series(sample_weight, "sample_weight", n_samples)
    weight = pd.to_numeric(series, errors="coerce").to_numpy(dtype=float)
    _refuse_rows(~np.isfinite(weight) | (weight < 0), "sample_weight is negative or not a number", "mend it")
    if not weight.any():
        raise ValueError("sample_weight is zero everywhere.")
    return weight


def _as_assignment(
    assignment: np.ndarray | Callable[[Any], np.ndarray] | None,
    X: Any,
    n_samples: int,
    n_decision_makers: int,
) -> np.ndarray | None:
    if assignment is None:
        return None
    values = np.asarray(assignment(X) if callable(assignment) else assignment, dtype=float)
    if values.shape != (n_samples, n_decision_makers):
        raise ValueError(
            f"assignment has shape {values.shape}; it must be (rows, decision-makers) = "
            f"{(n_samples, n_decision_makers)}, decision-makers in sorted order."
        )
    right = (values >= 0).all(axis=1) & (np.abs(values.sum(axis=1) - 1) <= 1e-6)  # NaN is neither
    _refuse_rows(~right, "assignment is not a probability distribution", "each row must sum to one")
    return values


def _is_text(series: pd.Series) -> bool:
    return bool(pd.api.types.is_string_dtype(series)) and not pd.api.types.is_bool_dtype(series)


def _refuse_rows(bad: np.ndarray, what: str, remedy: str) -> None:
    if bad.any():
        rows = np.flatnonzero(bad)
        shown = ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
        raise ValueError(f"{what} in {len(rows)} rows ({shown}): {remedy}.")


def _check_columns(columns: list[str], named: dict[str, str], features: Sequence[str] | None) -> None:
    for role, column in [*named.items(), *(("features", feature) for feature in features or [])]:
        if column not in columns:
            raise ValueError(f"{role}={column!r} is not a column of the table.")
    roles: dict[str, str] = {}
    for role, column in named.items():
        if column in roles:
            raise ValueError(f"Column {column!r} is given both as {roles[column]} and as {role}.")
        roles[column] = role
    for feature in features or []:
        if list(features or []).count(feature) > 1:
            raise ValueError(f"features names {feature!r} twice.")
        if feature in roles:
            raise ValueError(f"Column {feature!r} is given both as {roles[feature]} and as a feature.")


def _warn_of_leaks(features: pd.DataFrame, data: SelectiveLabels) -> None:
    seen = data.decision == 1
    for target, where, what in [(data.y, seen, "label"), (data.decision, np.ones_like(seen), "decision")]:
        leaks = leaking_columns(features[where], target[where])
        if leaks:
            warnings.warn(
                f"{', '.join(map(repr, leaks))}: each alone (nearly) gives the {what} away; "
                "leave out what is not known before the decision.",
                UserWarning,
                stacklevel=3,
            )
