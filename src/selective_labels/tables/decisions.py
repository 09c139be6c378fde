"""Decisions as people write them: yes and no, approved and declined, granted and denied."""

from collections.abc import Sequence

import pandas as pd

from selective_labels.support.words import shown
from selective_labels.tables.errors import TableError

IN_FAVOUR = frozenset(
    [
        "1",
        "1.0",
        "yes",
        "y",
        "true",
        "t",
        "approved",
        "approve",
        "accepted",
        "accept",
        "granted",
        "grant",
        "released",
        "release",
        "admitted",
        "admit",
        "funded",
        "issued",
        "booked",
        "tested",
        "selected",
        "hired",
        "passed",
        "pass",
    ]
)
AGAINST = frozenset(
    [
        "0",
        "0.0",
        "no",
        "n",
        "false",
        "f",
        "declined",
        "decline",
        "rejected",
        "reject",
        "denied",
        "deny",
        "refused",
        "refuse",
        "detained",
        "detain",
        "withheld",
        "unfunded",
        "dismissed",
        "untested",
        "failed",
        "fail",
    ]
) | {"not approved", "not accepted", "not granted", "not released", "not tested", "turned down"}
# More different values than this are counted, not listed.
MOST_VALUES = 6


def read_decision(
    column: pd.Series, label: pd.Series | None = None, accepted: Sequence[str] = ()
) -> tuple[pd.Series, str]:
    """Decisions as 1 (the label is revealed) and 0, and a sentence if words were read.

    Parameters
    ----------
    column : pandas.Series
    label : pandas.Series, optional
        Tells a column of refusals ("declined: yes") from one of approvals.
    accepted : sequence of str
        Values that mean 1; all others mean 0. Without it, the usual words do.

    Examples
    --------
    >>> read_decision(pd.Series(["Yes", "no"], name="approved"))[0].tolist()
    [1, 0]
    >>> read_decision(pd.Series(["A", "R", "A"], name="status"))
    Traceback (most recent call last):
    ...
    selective_labels.tables.errors.TableError: --decision 'status' holds 'A' (2 rows) and 'R' (1 row), and
    nothing says which of them reveals the label; give --accepted 'A' if that one does.
    """
    name = f"--decision {shown(column.name)}"
    if column.isna().any():
        raise TableError(
            f"{name} is empty in {column.isna().sum():,} of {len(column):,} rows; give every case one, "
            "or leave --decision out: then a case was accepted if its label is seen."
        )
    words = column.map(_word)
    if accepted:
        return _by_hand(column, words, accepted, name)
    if not words.isin(IN_FAVOUR | AGAINST).all():
        values = column.map(str).value_counts()
        raise TableError(
            f"{name} holds {_counted(values)}, and nothing says which of them reveals the label; give "
            f"--accepted {shown(_likely(column, label, values))} if that one does."
        )
    decision = words.isin(IN_FAVOUR).astype(int)
    if label is not None:
        _refuse_reversed(column, decision, label, name)
    if words.isin(["0", "1", "0.0", "1.0"]).all() or pd.api.types.is_bool_dtype(column):
        return decision, ""
    return decision, _said(column, decision)


def _word(value: object) -> str:
    return str(value).strip().casefold()


def _by_hand(
    column: pd.Series, words: pd.Series, accepted: Sequence[str], name: str
) -> tuple[pd.Series, str]:
    wanted = {_word(each) for each in accepted}
    for each in sorted(wanted - set(words)):
        values = _counted(column.map(str).value_counts())
        raise TableError(f"--accepted {shown(each)} does not occur: {name} holds {values}.")
    decision = words.isin(wanted).astype(int)
    return decision, _said(column, decision)


def _likely(column: pd.Series, label: pd.Series | None, values: pd.Series) -> str:
    """The value with the largest share of labels; without labels, the commonest."""
    if label is None:
        return str(values.index[0])
    return str(label.notna().groupby(column.map(str)).mean().idxmax())


def _refuse_reversed(column: pd.Series, decision: pd.Series, label: pd.Series, name: str) -> None:
    seen = label.notna().to_numpy()
    accepted = decision.to_numpy() == 1
    if seen.any() and accepted.any() and not (seen & accepted).any():
        other = str(column[~accepted].iloc[0])
        raise TableError(
            f"{name}: labels are seen only where it is {shown(other)}, and nowhere where it is "
            f"{shown(str(column[accepted].iloc[0]))}; give --accepted {shown(other)} if that means that the "
            "label is revealed."
        )


def _counted(values: pd.Series) -> str:
    words = [f"{shown(value)} ({n:,} row{'s' if n > 1 else ''})" for value, n in values.items()]
    if len(words) > MOST_VALUES:
        words = [*words[:MOST_VALUES], f"{len(words) - MOST_VALUES} other values"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _said(column: pd.Series, decision: pd.Series) -> str:
    values = column.map(str)
    parts = []
    for code, meaning in ((1, "accepted, so that the label is seen"), (0, "refused")):
        rows = values[(decision == code).to_numpy()]
        if len(rows):
            verb = "are" if rows.nunique() > 1 else "is"
            parts.append(f"{_counted(rows.value_counts())} {verb} {meaning}")
    return f"Decision {shown(column.name)}: {'; '.join(parts)}."
