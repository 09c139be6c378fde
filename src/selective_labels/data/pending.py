"""Pending outcomes: the decision was a yes, and the label is not known yet.

All cases of a row, with R = 1 where the outcome has matured::

    decision  label       matured    label code  meaning
    0         -           -          -1          declined
    1         class k     -, or 1    k           labeled
    1         missing     -, or 0    -1          pending
    1         class k     0          -1          pending, labeled early   at random
    1         class k     0          k           labeled                  worst case

"At random" says that R is independent of Y given D = 1, the features and the decision-maker. A default that
is known at once, while a success takes a year, breaks this for the fact that a label is there, and not for
the date at which it was due. So the date decides where there is one. The worst case assumes nothing about R,
so that every label counts.
"""

import warnings
from datetime import date
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from selective_labels._errors import InputError
from selective_labels._validation import require_choice
from selective_labels._vocabulary import AT_RANDOM, WORST_CASE
from selective_labels.data.roles import HOLE, Labels, as_series, refuse_rows

PENDING = (AT_RANDOM, WORST_CASE)
# More than this share of labels among the cases that are due later than a pending one: that one looks lost.
MOSTLY = 0.9


class Maturity(NamedTuple):
    """When outcomes mature.

    Attributes
    ----------
    due : (n_samples,) float array
        Date at which the outcome is due, as a number (days, for dates); NaN where unknown. With a 0-1 column,
        R itself.
    early : (n_samples,) int array
        Codes of labels that were there before they were due, -1 elsewhere.
    """

    due: np.ndarray
    early: np.ndarray


def check_pending(pending: Any, *, decision: Any, matured: Any, share_labels: bool = False) -> None:
    """Raise unless the arguments about pending outcomes fit together.

    Examples
    --------
    >>> check_pending("at-random", decision=None, matured=None)
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: pending='at-random' needs decision=: ...
    """
    if pending is None:
        if matured is not None:
            raise InputError.about(
                "matured", "says when outcomes are due: give pending='at-random' or 'worst-case' with it."
            )
        return
    require_choice("pending", pending, PENDING)
    if decision is None:
        raise InputError(
            f"pending={pending!r} needs decision=: without decisions, every hole counts as declined.",
            "pending",
        )
    if share_labels:
        raise InputError(
            "pending= needs one row for each case; leave share_labels=True out, or keep one row of a case.",
            "pending",
        )


def read_maturity(
    labels: Labels, accepted: np.ndarray, pending: str, matured: Any
) -> tuple[Labels, Maturity | None]:
    """Apply a column of dates, or of 0 and 1, that says which outcomes have matured.

    With dates, an outcome has matured if it was due before the earliest date at which one is pending.

    Parameters
    ----------
    labels : Labels
        Seen wherever there is a label.
    accepted : (n_samples,) bool array
        D.
    pending : "at-random" or "worst-case"
    matured : None, or a column of dates, numbers, or 0 and 1

    Returns
    -------
    labels : Labels
        Under "at-random", without the labels of outcomes that have not matured.
    maturity : Maturity or None

    Examples
    --------
    A default that was known before the loan was due is set aside, because a success could not be known:

    >>> labels = Labels(np.array([0, 1, 1, -1]), np.array(["paid", "default"]), np.array([True, True, True,
    ...                 False]), np.zeros(4, dtype=bool))
    >>> due = np.array(["2024-03-01", "2024-05-01", "2025-02-01", "2025-01-01"], dtype="datetime64[D]")
    >>> read_maturity(labels, np.ones(4, dtype=bool), "at-random", due)[0].codes
    array([ 0,  1, -1, -1])
    """
    if matured is None:
        return labels, None
    due, dated = _read_due(matured, len(labels.codes), accepted)
    hole = accepted & ~labels.seen
    if dated:
        earliest = np.min(due[hole], initial=np.inf, where=~np.isnan(due[hole]))
        known = accepted & (due < earliest)
    else:
        known = accepted & (due == 1.0)
        refuse_rows(
            hole & known, "matured", "is 1 and the label is missing", "give the label, or 0 if it is pending"
        )
    early = accepted & labels.seen & ~known
    if dated:
        _warn_of_lost(hole, early, due)
    maturity = Maturity(due, np.where(early, labels.codes, HOLE))
    if pending == WORST_CASE or not early.any():
        return labels, maturity
    codes, seen = np.where(early, HOLE, labels.codes), labels.seen & ~early
    if not seen.any():
        raise InputError.about(
            "matured", "leaves no label: no outcome was due before the earliest one that is pending."
        )
    return labels._replace(codes=codes, seen=seen), maturity


def _read_due(matured: Any, n_samples: int, accepted: np.ndarray) -> tuple[np.ndarray, bool]:
    """Due dates as numbers, and whether they are dates rather than 0 and 1."""
    series = as_series(matured, "matured", n_samples).infer_objects()
    if series.dtype == object and series.dropna().map(lambda each: isinstance(each, date)).all():
        series = pd.to_datetime(series)
    if pd.api.types.is_datetime64_any_dtype(series):
        since = series.dt.tz_localize(None) - pd.Timestamp(0)
        return (since / pd.Timedelta(days=1)).to_numpy(dtype=float, na_value=np.nan), True
    if not (pd.api.types.is_numeric_dtype(series) or pd.api.types.is_bool_dtype(series)):
        raise InputError.about(
            "matured", "holds text: give dates (pandas.to_datetime), or 1 where the outcome has matured."
        )
    numbers = series.to_numpy(dtype=float, na_value=np.nan)
    if not np.isin(numbers[~np.isnan(numbers)], (0.0, 1.0)).all():
        return numbers, True
    refuse_rows(accepted & np.isnan(numbers), "matured", "is missing where the decision is 1", "give 0 or 1")
    return numbers, False


def _warn_of_lost(hole: np.ndarray, early: np.ndarray, due: np.ndarray) -> None:
    """Warn if most outcomes that are due later than a pending one are known: its label may be lost."""
    later = early | hole
    if not early.any() or early.sum() <= MOSTLY * later.sum():
        return
    rows = np.flatnonzero(hole)
    row = int(rows[np.nanargmin(due[hole])])
    warnings.warn(
        f"matured: the outcome of row {row} is pending, and {early.sum():,} of {later.sum():,} cases that "
        "are due then or later have a label, which does not count before its date. If that outcome was lost, "
        "drop the row.",
        UserWarning,
        stacklevel=5,
    )
