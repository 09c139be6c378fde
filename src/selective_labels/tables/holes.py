"""Values of a label that read like a hole: unknown, n/a, a question mark."""

from collections.abc import Sequence

import pandas as pd

from selective_labels.support.words import several, shown
from selective_labels.tables.errors import TableError

HOLES = frozenset(
    [
        "?",
        "??",
        "-",
        "--",
        ".",
        "..",
        "na",
        "n/a",
        "n.a.",
        "nan",
        "null",
        "nil",
        "none",
        "missing",
        "unknown",
        "unkn",
        "unk",
        "undetermined",
        "undefined",
        "unavailable",
        "unobserved",
        "pending",
        "tbd",
        "tba",
        "blank",
        "empty",
        "#n/a",
        "n/k",
        "nk",
    ]
) | {
    "not tested",
    "no result",
    "no outcome",
    "not available",
    "not applicable",
    "not known",
    "not observed",
    "no data",
    "not yet",
    "no answer",
}


def hole_words(label: pd.Series, decision: pd.Series | None = None, classes: Sequence[str] = ()) -> list[str]:
    """Values among the labels that count, which read like a hole and were not called classes.

    Examples
    --------
    >>> hole_words(pd.Series(["paid", "unknown", "lost"])), hole_words(pd.Series(["?"]), classes=["?"])
    (['unknown'], [])
    """
    counted = label if decision is None else label[(decision == 1).to_numpy()]
    values = [str(each) for each in pd.unique(counted.dropna()) if isinstance(each, str)]
    return [each for each in values if each.strip().casefold() in HOLES and each not in classes]


def refuse_hole_words(label: pd.Series, words: Sequence[str]) -> None:
    """Raise, with both remedies, if a label holds such words."""
    if not words:
        return
    n_rows = int(label.isin(list(words)).sum())
    raise TableError(
        f"The label {shown(label.name)} holds {several(list(words))} in {n_rows:,} rows, which reads like a "
        f"hole: give --missing {shown(words[0])} if nothing is known there, or --class {shown(words[0])} if "
        "it is a class of its own."
    )
