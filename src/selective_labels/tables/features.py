"""Which columns are features: chosen by names and patterns; ids are left out, leaks refused."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd

from selective_labels.features.kinds import CATEGORY, NUMBER
from selective_labels.features.leaks import leaking_columns
from selective_labels.support.words import several, shown
from selective_labels.tables.errors import TableError
from selective_labels.tables.roles import require_column

# With fewer rows, all values of an honest feature may differ.
MIN_ROWS_OF_ID = 50
DISTINCT_SHARE_OF_ID = 0.9


@dataclass(frozen=True)
class LeftOut:
    """A column that is not used, and why."""

    name: str
    reason: str


def chosen_columns(
    columns: Sequence[str],
    features: Iterable[str] = (),
    exclude: Iterable[str] = (),
    taken: Iterable[str] = (),
) -> tuple[list[str], set[str]]:
    """Columns that names and patterns choose, and those chosen by their very name.

    Parameters
    ----------
    columns : sequence of str
    features, exclude : iterables of str
        Names or shell patterns such as "x_*", also several with commas between. Without `features`, all.
    taken : iterable of str
        Columns with another role. A pattern passes over them; naming one is an error.

    Examples
    --------
    >>> chosen_columns(["x_1", "x_2", "age", "y"], features=["x_*,age"], exclude=["x_2"], taken=["y"])
    (['x_1', 'age'], {'age'})
    """
    taken = set(taken)
    wanted, named = _matched(columns, features, "--features")
    for column in named & taken:
        raise TableError(f"--features names {shown(column)}, which has another role already.")
    unwanted, _ = _matched(columns, exclude, "--exclude")
    pool = set(columns) if not list(features) else wanted
    chosen = [column for column in columns if column in pool - unwanted - taken]
    if not chosen:
        raise TableError("No feature is left: give --features, or fewer --exclude.")
    return chosen, named


def without_ids(
    frame: pd.DataFrame, kinds: dict[str, str], keep: Iterable[str] = ()
) -> tuple[list[str], list[LeftOut]]:
    """Features that do not look like ids, and those that do.

    Text of which more than 90 % is different, and whole numbers that are all different, name rows. With
    fewer than 50 rows nothing is said.

    Examples
    --------
    >>> frame = pd.DataFrame({"case": range(60), "age": [30.5, 41.0] * 30})
    >>> names, left_out = without_ids(frame, {"case": "number", "age": "number"})
    >>> names, left_out[0].name
    (['age'], 'case')
    """
    keep = set(keep)
    left_out = [
        LeftOut(name, "looks like an id: (nearly) every value is different" + _date_hint(frame[name]))
        for name, kind in kinds.items()
        if name not in keep and _looks_like_id(frame[name], kind)
    ]
    dropped = {each.name for each in left_out}
    names = [name for name in kinds if name not in dropped]
    if not names:
        raise TableError(
            f"No feature is left: {several(sorted(dropped))} look like ids; name one in --features."
        )
    return names, left_out


def _date_hint(column: pd.Series) -> str:
    """What to do about days and months in an order that only people know.

    Examples
    --------
    >>> _date_hint(pd.Series(["31.12.2024 16:08", None])), _date_hint(pd.Series(["V100"]))
    ('; if these are dates, write them as 2024-12-31', '')
    """
    first = str(next(iter(column.dropna()), ""))
    written = re.match(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b", first)
    return "; if these are dates, write them as 2024-12-31" if written else ""


def refuse_leaks(
    features: pd.DataFrame,
    label: np.ndarray,
    decision: np.ndarray,
    names: tuple[str, str],
    allowed: Iterable[str] = (),
) -> None:
    """Raise if a feature alone (nearly) gives the label away where it is seen, or the decision.

    Parameters
    ----------
    features : pandas.DataFrame
    label, decision : (n_samples,) int arrays
        Codes; the decision is 1 where the label is seen.
    names : pair of str
        What to call label and decision.
    allowed : iterable of str
        Features that may.
    """
    allowed = set(allowed)
    suspects = features[[column for column in features.columns if column not in allowed]]
    seen = decision == 1
    everywhere = np.ones_like(seen)
    for target, where, what in ((label, seen, names[0]), (decision, everywhere, names[1])):
        leaks = leaking_columns(suspects[where], target[where])
        if leaks:
            one = len(leaks) == 1
            columns = (
                f"Column {shown(leaks[0])} (nearly) gives"
                if one
                else f"Columns {several(leaks)} each (nearly) give"
            )
            raise TableError(
                f"{columns} away {what}; leave out what is not known before the decision "
                f"(--exclude, or name the --features), or keep it with --allow-leak {shown(leaks[0])}."
            )


def _matched(columns: Sequence[str], patterns: Iterable[str], option: str) -> tuple[set[str], set[str]]:
    """Columns matched by names or patterns, and those matched by name."""
    known = set(columns)
    matched: set[str] = set()
    named: set[str] = set()
    for given in patterns:
        # A comma may belong to a name.
        parts = [given] if given in known else [part.strip() for part in given.split(",") if part.strip()]
        if not parts:
            raise TableError(f"{option} is empty: give a name or a pattern.")
        for part in parts:
            found = {part} if part in known else {column for column in columns if fnmatchcase(column, part)}
            if not found:
                require_column(pd.DataFrame(columns=list(columns)), part, option)
            matched |= found
            named |= found & {part}
    return matched, named


def _looks_like_id(column: pd.Series, kind: str) -> bool:
    values = column.dropna()
    if len(column) < MIN_ROWS_OF_ID or not len(values):
        return False
    if kind == CATEGORY:
        return bool(values.nunique() > DISTINCT_SHARE_OF_ID * len(values))
    if kind != NUMBER or len(values) < MIN_ROWS_OF_ID:
        return False
    numbers = values.to_numpy(dtype=float)
    return bool(np.isfinite(numbers).all() and (numbers == np.round(numbers)).all() and values.is_unique)
