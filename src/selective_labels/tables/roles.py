"""Which column is the label, the decision, the decision-maker: given, or guessed from names and contents."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches

import numpy as np
import pandas as pd

from selective_labels.support.words import several, shown
from selective_labels.tables.decisions import AGAINST, IN_FAVOUR
from selective_labels.tables.errors import TableError

# Options of the command line, by role.
OPTIONS = {
    "label": "--label",
    "decision": "--decision",
    "decision_maker": "--decision-maker",
    "strata": "--strata",
    "groups": "--groups",
    "weight": "--weight",
}
# Names that people give, most telling first.
LABEL_NAMES = (r"y|label|outcome|target", r"fail(ed|ure)?|default(ed)?|result|response", r".*(label|outcome)")
DECISION_NAMES = (
    r"d|decision",
    r"decided|approved|accepted|released|granted|tested|selected|admitted|funded|hired",
    r".*(decision)",
)
PEOPLE = (
    r"(judge|officer|magistrate|doctor|physician|clinician|nurse|radiologist|interviewer|rater|reviewer|"
    r"examiner|agent|analyst|underwriter|adjudicator|arbitrator|assessor|adjuster|appraiser|approver|"
    r"auditor|caseworker|case_?worker|social_?worker|inspector|teller|screener|recruiter|banker|broker|"
    r"advis[eo]r|handler|investigator|moderator|editor|evaluator|operator|decider)"
)
NUMBERED = r"([ _\-]?(id|name|no|nr|number|code))?"
DECISION_MAKER_NAMES = (
    rf"z|decision[ _\-]?maker{NUMBERED}",
    rf"(loan[ _\-]?|credit[ _\-]?|senior[ _\-]?)?{PEOPLE}{NUMBERED}",
    rf".*(decision[ _\-]?maker|{PEOPLE}){NUMBERED}",
    r".*_id",
)
# More different values than this are no classes.
MAX_CLASSES = 20


@dataclass(frozen=True)
class Roles:
    """Columns with a role.

    Attributes
    ----------
    label, decision_maker : str
    decision, strata, groups, weight : str or None
    """

    label: str
    decision_maker: str
    decision: str | None = None
    strata: str | None = None
    groups: str | None = None
    weight: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        """Column by role."""
        return asdict(self)

    @property
    def columns(self) -> dict[str, str]:
        """Role by column."""
        return {column: role for role, column in self.to_dict().items() if column is not None}


def find_roles(frame: pd.DataFrame, given: dict[str, str | None]) -> tuple[Roles, dict[str, str]]:
    """Check the roles that are given; guess if the label or the decision-maker is not.

    Parameters
    ----------
    frame : pandas.DataFrame
    given : dict
        Column, or None, by role.

    Returns
    -------
    Roles
    dict of str
        What was guessed, with the reason; empty if nothing was.

    Examples
    --------
    >>> frame = pd.DataFrame({"officer": ["a", "b"] * 3, "d": [1, 1, 0] * 2, "y": [1, 0, None] * 2})
    >>> roles, guessed = find_roles(frame, {"label": None, "decision_maker": None})
    >>> roles.label, roles.decision, roles.decision_maker, sorted(guessed)
    ('y', 'd', 'officer', ['decision', 'decision_maker', 'label'])
    """
    known = {role: column for role, column in given.items() if column is not None}
    for role, column in known.items():
        require_column(frame, column, OPTIONS[role])
    _refuse_two_roles(known)
    guessed: dict[str, str] = {}
    if "label" not in known or "decision_maker" not in known:
        guessed = _guess(frame, known)
    return Roles(**known), guessed


def require_column(frame: pd.DataFrame, column: str, option: str) -> None:
    """Raise if a column does not exist; say which name is near."""
    require_names(list(frame.columns), [column], option)


def require_names(columns: Sequence[str], wanted: Sequence[str], option: str) -> None:
    """Raise if one of several columns does not exist; say which name is near."""
    for column in wanted:
        if column in columns:
            continue
        near = get_close_matches(column, [str(each) for each in columns], n=1, cutoff=0.6)
        advice = f"did you mean {shown(near[0])}?" if near else f"there are {several(list(columns), 8)}."
        raise TableError(f"{option} {shown(column)} is not a column of the table; {advice}")


def _refuse_two_roles(known: dict[str, str]) -> None:
    seen: dict[str, str] = {}
    for role, column in known.items():
        if column in seen:
            raise TableError(
                f"Column {shown(column)} is given both as {OPTIONS[seen[column]]} and {OPTIONS[role]}."
            )
        seen[column] = role


def _guess(frame: pd.DataFrame, known: dict[str, str]) -> dict[str, str]:
    """Fill `known` up, and return the reasons."""
    reasons: dict[str, str] = {}
    if "label" not in known:
        with_holes = [column for column in _free(frame, known) if _has_holes(frame[column])]
        known["label"] = _only(with_holes, LABEL_NAMES, "label")
        reasons["label"] = "has holes"
    if "decision" not in known:
        seen = frame[known["label"]].notna().to_numpy()
        same = [column for column in _free(frame, known) if _is_same(frame[column], seen)]
        if same:
            known["decision"] = _only(same, DECISION_NAMES, "decision")
            reasons["decision"] = f"is 1 exactly where {shown(known['label'])} is seen"
    if "decision_maker" not in known:
        repeated = [column for column in _free(frame, known) if _repeats(frame[column])]
        named = [
            column for column in repeated if _rank(column, DECISION_MAKER_NAMES) < len(DECISION_MAKER_NAMES)
        ]
        known["decision_maker"] = _only(named, DECISION_MAKER_NAMES, "decision_maker")
        reasons["decision_maker"] = "is named like one, and its values repeat"
    return reasons


def _free(frame: pd.DataFrame, known: dict[str, str]) -> list[str]:
    return [column for column in frame.columns if column not in known.values()]


def _only(candidates: list[str], names: tuple[str, ...], role: str) -> str:
    """The candidate with the most telling name, if there is one such."""
    ranks = {column: _rank(column, names) for column in candidates}
    best = [column for column, rank in ranks.items() if rank == min(ranks.values())]
    words = role.replace("_", "-")
    if not best:
        raise TableError(f"No column looks like the {words}; give {OPTIONS[role]} COLUMN.")
    if len(best) > 1:
        raise TableError(
            f"Several columns could be the {words} ({several(best)}); give {OPTIONS[role]} COLUMN."
        )
    return best[0]


def _rank(column: str, names: tuple[str, ...]) -> int:
    tidy = str(column).strip().lower()
    return next((place for place, name in enumerate(names) if re.fullmatch(name, tidy)), len(names))


def _has_holes(column: pd.Series) -> bool:
    missing = column.isna()
    return bool(missing.any() and not missing.all()) and 2 <= column.nunique() <= MAX_CLASSES


def _is_same(column: pd.Series, seen: np.ndarray) -> bool:
    """Whether a column is 1, or a word for it, where the label is seen, and 0 elsewhere."""
    words = column.map(lambda value: str(value).strip().casefold())
    if column.isna().any() or not words.isin(IN_FAVOUR | AGAINST).all():
        return False
    return bool((words.isin(IN_FAVOUR).to_numpy() == seen).all())


def _repeats(column: pd.Series) -> bool:
    return not column.isna().any() and 2 <= column.nunique() <= len(column) / 2
