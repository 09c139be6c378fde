"""What is known of a table besides its values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ROLES = ("label", "decision", "decision_maker", "strata", "groups", "weight")


@dataclass(frozen=True)
class TableDescription:
    """Where a table comes from, and what its columns are.

    Attributes
    ----------
    source : str
        A file name, for people.
    title : str
        Of the report.
    command : str or None
        What was typed to get the report.
    roles : dict
        Column names by role: "label", "decision", "decision_maker", "strata", "groups", "weight". A role that
        was given and has no name here goes by the name of its column, or else of the role.
    features : list of (name, kind)
        Kind is "number", "category" or "date"; read from the table for those not listed.
    left_out : list of (name, reason)
        Columns that are not features, and why.
    rule : str or None
        What the given predictions or model are called; else the name of their column, if it has one.
    notes : list of str
        Sentences that belong beside the data.

    Examples
    --------
    >>> TableDescription(source="loans.csv", roles={"label": "defaulted"}).title
    'What the data can tell'
    """

    source: str = "a table in memory"
    title: str = "What the data can tell"
    command: str | None = None
    roles: Mapping[str, str | None] = field(default_factory=dict)
    features: Sequence[tuple[str, str]] = ()
    left_out: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    rule: str | None = None
