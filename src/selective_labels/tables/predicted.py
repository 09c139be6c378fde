"""Columns of predictions, classes by their names, scores as numbers; columns of subgroups."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.features.amounts import read_numbers
from selective_labels.support.words import several, shown
from selective_labels.tables.errors import TableError
from selective_labels.tables.roles import require_column


def predictions_of(frame: pd.DataFrame, column: str, option: str = "--predictions") -> np.ndarray:
    """A column of predictions, one for every row."""
    require_column(frame, column, option)
    missing = frame[column].isna()
    if missing.any():
        raise TableError(
            f"{option}: column {shown(column)} has no prediction in {missing.sum():,} rows (the first is row "
            f"{missing.to_numpy().argmax() + 1:,}); give every case one."
        )
    return frame[column].to_numpy()


def classes_of(values: np.ndarray, classes: np.ndarray) -> np.ndarray | None:
    """Predictions as classes if every one is the name of one, else None.

    Examples
    --------
    >>> classes_of(np.array([1.0, 0.0]), np.array([0, 1])), classes_of(np.array([0.4]), np.array([0, 1]))
    (array([1, 0]), None)
    """
    names = {str(each): place for place, each in enumerate(classes.tolist())}
    codes, unique = pd.factorize(pd.Series(values))
    places = [names.get(_name(each), -1) for each in unique.tolist()]
    return None if -1 in places else classes[np.asarray(places, dtype=int)[codes]]


def _name(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def numbers_of(values: np.ndarray, column: str, option: str) -> np.ndarray:
    """Scores as numbers, also those written for people ("72 %")."""
    numbers = read_numbers(pd.Series(values, dtype=object, name=column)).numbers
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        first = shown(values[int(wrong.to_numpy().argmax())])
        raise TableError(f"{option} {shown(column)} must hold scores, that is numbers; it holds {first}.")
    return numbers.to_numpy()


def pos_label_of(name: str | None, classes: np.ndarray) -> Any:
    """The class that --pos-label names."""
    if name is None:
        return None
    for each in classes.tolist():
        if str(each) == name:
            return each
    raise TableError(
        f"--pos-label {shown(name)} is not a class; there are {several([str(c) for c in classes])}."
    )


def subgroups_of(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame | None:
    """Columns of subgroups."""
    for column in columns:
        require_column(frame, column, "--by")
    return frame[list(columns)] if columns else None
