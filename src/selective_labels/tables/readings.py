"""Sentences about cells that were read otherwise than they are written."""

import pandas as pd

from selective_labels.features.amounts import has_leading_zero, looks_like_code, read_numbers
from selective_labels.features.kinds import CATEGORY, DATE, NUMBER, YEAR_LAST
from selective_labels.support.words import shown

# A column with fewer other values than this share was meant to hold numbers.
MOSTLY = 0.5
# Text of more values than this is rarely meant as a category.
MANY_VALUES = 100


def reading_of(column: pd.Series, kind: str, chosen: bool = False) -> str:
    """What is to be said of a feature's text; nothing where it was read as it stands.

    Parameters
    ----------
    column : Series
    kind : str
    chosen : bool
        Whether someone said that it is of this kind: then many values are meant.

    Examples
    --------
    >>> reading_of(pd.Series(["$5,750", "80"], name="amount"), "number")
    "'amount' holds numbers with the currency sign $ and separators of thousands: '$5,750' is read as 5750."
    >>> reading_of(pd.Series(["02139"], name="zip"), "category")
    "'zip' holds codes with leading zeros, such as '02139', so categories; --number 'zip' makes them numbers."
    >>> reading_of(pd.Series(["120", "?", "95"], name="bp"), "category")
    "'bp' holds numbers, but 1 of 3 values, such as '?', are none, so that it is a category; --missing '?' if
    that means missing."
    >>> reading_of(pd.Series([f"{high}/80" for high in range(80, 220)], name="bp"), "category")
    "'bp' is a category of 140 different values, such as '80/80': --exclude 'bp' if they mean nothing for new
    cases, --groups 'bp' if they name what several rows are about, or split them into columns of their own."
    >>> reading_of(pd.Series(["02139"], name="zip"), "number")
    "'zip' loses leading zeros as a number: '02139' is read as 2139; --category 'zip' keeps them."
    """
    values = column.dropna()
    if not len(values) or not values.map(lambda value: isinstance(value, str)).all():
        return ""
    name = shown(column.name)
    if kind == CATEGORY:
        return _of_category(values, name, "" if chosen else _of_many(values, name))
    return _of_numbers(values, name) if kind == NUMBER else ""


def _of_many(values: pd.Series, name: str) -> str:
    count = values.nunique()
    if count <= MANY_VALUES:
        return ""
    return (
        f"{name} is a category of {count:,} different values, such as {shown(values.iloc[0])}: --exclude "
        f"{name} if they mean nothing for new cases, --groups {name} if they name what several rows are "
        "about, or split them into columns of their own."
    )


def _of_category(values: pd.Series, name: str, many: str) -> str:
    if looks_like_code(values):
        first = values[has_leading_zero(values.str.strip())].iloc[0]
        return (
            f"{name} holds codes with leading zeros, such as {shown(first)}, so categories; --number {name} "
            f"makes them numbers. {many}"
        ).rstrip()
    if values.str.strip().str.fullmatch(YEAR_LAST.pattern).all():
        return (
            f"{name} looks like {DATE}s, but nothing tells day from month ({shown(values.iloc[0])}), so that "
            "it is a category; write 2024-12-31."
        )
    numbers = read_numbers(values).numbers
    others = values[numbers.isna()]
    if len(others) and len(others) < MOSTLY * len(values):
        word = others.mode().iloc[0]
        return (
            f"{name} holds numbers, but {len(others):,} of {len(values):,} values, such as {shown(word)}, "
            f"are none, so that it is a category; --missing {shown(word)} if that means missing."
        )
    return many


def _of_numbers(values: pd.Series, name: str) -> str:
    numbers, marks = read_numbers(values)
    if marks:
        written = pd.to_numeric(values, errors="coerce").isna()
        first = values[written].iloc[0] if written.any() else values.iloc[0]
        words = marks[0] if len(marks) == 1 else f"{', '.join(marks[:-1])} and {marks[-1]}"
        read = numbers[written].iloc[0] if written.any() else numbers.iloc[0]
        return f"{name} holds numbers with {words}: {shown(first)} is read as {read:.12g}."
    padded = values[has_leading_zero(values.str.strip())]
    if len(padded):
        return (
            f"{name} loses leading zeros as a number: {shown(padded.iloc[0])} is read as "
            f"{float(padded.iloc[0]):.12g}; --category {name} keeps them."
        )
    return ""
