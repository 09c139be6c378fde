"""Columns of a table by the names that the user gave their roles."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from selective_labels.features.coding import as_table
from selective_labels.features.leaks import leaking_columns
from selective_labels.support.errors import InputError


class Named(NamedTuple):
    """A table of features, the columns of roles, and known probabilities of decision-makers."""

    features: Any
    values: dict[str, Any]
    assignment: Any


def take_apart(
    frame: Any, named: Mapping[str, str | None], features: Sequence[str] | None, assignment: Any
) -> Named:
    """Features and roles of a table.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [31], "judge": ["a"], "failed": [1]})
    >>> parts = take_apart(frame, {"label": "failed", "decision_maker": "judge"}, None, None)
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
    for role in ("label", "decision_maker"):
        if role in named and named[role] is None:
            raise InputError(f"{role} is None; name its column, or use from_arrays.", role)
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


def refuse_odd_names(frame: Any, asked: Sequence[Any] = ()) -> None:
    """Refuse columns that have numbers or tuples for names: roles could not name them."""
    columns: Any = getattr(frame, "column_names", None) or getattr(frame, "columns", ())
    for name in [*columns, *(each for each in asked if each is not None)]:
        if not isinstance(name, str):
            raise InputError(
                f"The table has a column named {name!r}, which is no text; rename its columns, such as by "
                "frame.columns = frame.columns.map(str).",
                "frame",
            )


def names_of(given: Mapping[str, Any]) -> dict[str, str]:
    """What columns that were given one by one are called, as far as they have a name."""
    names = {role: getattr(values, "name", None) for role, values in given.items()}
    return {role: name for role, name in names.items() if isinstance(name, str)}


def warn_of_leaks(features: Any, y: np.ndarray, decision: np.ndarray) -> None:
    """Warn of columns from each of which alone the label or the decision can (nearly) be read."""
    table = as_table(features)
    assert table is not None
    columns = pd.DataFrame({name: table[name].to_numpy() for name in table.columns})
    seen = decision == 1
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
        if feature in roles:
            raise InputError(
                f"Column {feature!r} is given both as {roles[feature]} and as a feature.", "features"
            )
