"""Column roles of a table: decisions as 0 and 1, guessed roles, words for holes, what a yes means."""

import os
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from glob import has_magic
from pathlib import Path

import numpy as np
import pandas as pd

from selective_labels._errors import TableError, several, shown
from selective_labels._vocabulary import ACCEPT, INSPECT
from selective_labels.data.decision_words import AGAINST, IN_FAVOUR
from selective_labels.data.partition_sources import ParquetSource
from selective_labels.data.partition_survey import RoleColumns
from selective_labels.data.partitioned import PartitionedLabels
from selective_labels.data.relations import RelationSource
from selective_labels.io.read import SUFFIXES

# With more distinct values, the rest is counted and not listed.
MOST_VALUES = 6


def read_decision(
    column: pd.Series, label: pd.Series | None = None, accepted: Sequence[str] = ()
) -> tuple[pd.Series, str]:
    """Decisions as 1 (the label is observed) and 0, and a sentence on how words were interpreted.

    Parameters
    ----------
    column : pandas.Series
    label : pandas.Series, optional
        Used to detect a column of refusals ("declined: yes") instead of approvals.
    accepted : sequence of str
        Values that mean 1. All others mean 0. By default, common words are recognized.

    Examples
    --------
    >>> read_decision(pd.Series(["Yes", "no"], name="approved"))[0].tolist()
    [1, 0]
    >>> read_decision(pd.Series(["A", "R", "A"], name="status"))
    Traceback (most recent call last):
    ...
    selective_labels._errors.TableError: --decision 'status' holds 'A' (2 rows) and 'R' (1 row), and
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
    """The value with the largest share of observed labels, or the most frequent one without labels."""
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


# Command-line options, by role.
OPTIONS = {
    "label": "--label",
    "decision": "--decision",
    "decision_maker": "--decision-maker",
    "strata": "--strata",
    "groups": "--groups",
    "weight": "--weight",
    "matured": "--matured",
}
# Common column names, the most specific patterns first.
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
# A column with more distinct values does not hold classes.
MAX_CLASSES = 20


@dataclass(frozen=True)
class Roles:
    """Columns with a role."""

    label: str
    decision_maker: str
    decision: str | None = None
    strata: str | None = None
    groups: str | None = None
    weight: str | None = None
    matured: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        """Columns by role; `matured` only where it is given."""
        roles = asdict(self)
        if self.matured is None:
            del roles["matured"]
        return roles

    @property
    def columns(self) -> dict[str, str]:
        """Roles by column."""
        return {column: role for role, column in self.to_dict().items() if column is not None}


def find_roles(frame: pd.DataFrame, given: dict[str, str | None]) -> tuple[Roles, dict[str, str]]:
    """Check the given roles, and guess the label and the decision-maker if they are missing.

    Parameters
    ----------
    frame : pandas.DataFrame
    given : dict
        Column or None, by role.

    Returns
    -------
    Roles
    dict of str
        Reason for each guess, by role. Empty if nothing was guessed.

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
    """Raise :class:`TableError` if a column does not exist, and suggest a similar name."""
    require_names(list(frame.columns), [column], option)


def require_names(columns: Sequence[str], wanted: Sequence[str], option: str) -> None:
    """Raise :class:`TableError` if one of several columns does not exist, and suggest a similar name."""
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
    """Add guessed roles to `known`, and return the reasons."""
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
    """The candidate with the most specific name. Raise :class:`TableError` unless it is unique."""
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
    """Whether a column is 1, or a word for it, exactly where the label is observed."""
    words = column.map(lambda value: str(value).strip().casefold())
    if column.isna().any() or not words.isin(IN_FAVOUR | AGAINST).all():
        return False
    return bool((words.isin(IN_FAVOUR).to_numpy() == seen).all())


def _repeats(column: pd.Series) -> bool:
    return not column.isna().any() and 2 <= column.nunique() <= len(column) / 2


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
    """Observed label values that read like a missing value and were not declared as classes.

    Examples
    --------
    >>> hole_words(pd.Series(["paid", "unknown", "lost"])), hole_words(pd.Series(["?"]), classes=["?"])
    (['unknown'], [])
    """
    counted = label if decision is None else label[(decision == 1).to_numpy()]
    values = [str(each) for each in pd.unique(counted.dropna()) if isinstance(each, str)]
    return [each for each in values if each.strip().casefold() in HOLES and each not in classes]


def refuse_hole_words(label: pd.Series, words: Sequence[str]) -> None:
    """Raise :class:`TableError`, with both remedies, if a label holds such words."""
    if not words:
        return
    n_rows = int(label.isin(list(words)).sum())
    raise TableError(
        f"The label {shown(label.name)} holds {several(list(words))} in {n_rows:,} rows, which looks "
        f"missing: give --missing {shown(words[0])} if nothing is known there, or --class {shown(words[0])} "
        "if it is a class of its own."
    )


PARQUET = ".parquet"
# A Parquet file with more rows is read in parts.
MANY_ROWS = 1_000_000
# Number of rows, and of equally spaced parts, used to find roles, column kinds and leaks.
SHOWN_ROWS, SHOWN_PARTS = 50_000, 20


def partitions_of(name: str) -> ParquetSource | None:
    """Parquet files to be read in parts, or None if the table is small enough to be read at once."""
    if has_magic(name) and not os.path.exists(name):
        return ParquetSource.find(name) if name.endswith(PARQUET) else None
    if os.path.isdir(name):
        tables = [each for each in os.listdir(name) if each.lower().endswith(SUFFIXES)]
        if len(tables) < 2 or not all(each.lower().endswith(PARQUET) for each in tables):
            return None
        return ParquetSource.find(name)
    if os.path.isfile(name) and name.lower().endswith(PARQUET):
        source = ParquetSource.find(name)
        return source if source.n_rows > MANY_ROWS else None
    return None


def shown_rows(source: ParquetSource | RelationSource) -> pd.DataFrame:
    """Sample rows of all columns, by hash or from equally spaced parts, to find roles and column kinds."""
    if isinstance(source, RelationSource):
        return source.some_rows(SHOWN_ROWS)
    source.check(source.columns)
    step = max(1, len(source.parts) // SHOWN_PARTS)
    parts = source.parts[::step][:SHOWN_PARTS]
    each = max(1, SHOWN_ROWS // len(parts))
    frames = [next(part.frames(source.columns)) for part in parts]
    return pd.concat([frame.iloc[:: max(1, len(frame) // each)].iloc[:each] for frame in frames])


def as_labels(
    source: ParquetSource | RelationSource,
    roles: Roles,
    features: Sequence[str],
    fit_rows: int | None,
    keep_scores: Path | None = None,
    case_id: str | None = None,
) -> PartitionedLabels:
    """Lazy labels of a partitioned table with its roles."""
    named = RoleColumns(
        roles.label,
        roles.decision_maker,
        roles.decision,
        roles.weight,
        roles.groups,
        roles.strata,
        case_id,
    )
    return PartitionedLabels.of(source, named, features, None, fit_rows, None, keep_scores)


# A column or a value with one of these words speaks of somebody who looks closer.
LOOKS_CLOSER = re.compile(
    r"(inspect|search|test|audit|investigat|examin|review|check|escalat|screen|referr|scan|biops|frisk|verif)"
)
NOT_LOOKED = re.compile(r"^(not |un)")


def guessed_meaning(roles: Roles, frame: pd.DataFrame) -> str:
    """What a yes seems to mean, from the names of the decision column and its values.

    Examples
    --------
    >>> frame = pd.DataFrame({"found": [1, None], "searched": ["yes", "no"], "officer": ["a", "b"]})
    >>> guessed_meaning(Roles("found", "officer", "searched"), frame)
    'inspect'
    >>> guessed_meaning(Roles("found", "officer"), frame)
    'accept'
    """
    if roles.decision is None:
        return ACCEPT
    values: Sequence[str] = [str(each).casefold() for each in frame[roles.decision].dropna().unique()[:20]]
    words = [roles.decision.casefold(), *(each for each in values if not NOT_LOOKED.match(each))]
    return INSPECT if any(LOOKS_CLOSER.search(each) for each in words) else ACCEPT


def meaning_question(roles: Roles, guess: str) -> str:
    """The question that confirms a guess.

    Examples
    --------
    >>> print(meaning_question(Roles("found", "officer", "searched"), "inspect"))
    A yes in 'searched': does somebody then look closer, for what 'found' says (inspect, not accept)?
    """
    where = "A yes" if roles.decision is None else f"A yes in {shown(roles.decision)}"
    label = shown(roles.label)
    if guess == INSPECT:
        return f"{where}: does somebody then look closer, for what {label} says (inspect, not accept)?"
    return f"{where}: does the case then go through, and is {label} a harm (accept, not inspect)?"


def meaning_said(roles: Roles, guess: str) -> str:
    """What is taken for granted where nobody was asked.

    Examples
    --------
    >>> print(meaning_said(Roles("failed", "officer", "released"), "accept"))
    A yes is taken to mean accept: the case goes through and the event is a harm; --decision-means inspect if
    somebody looks closer.
    """
    reads = f", as {shown(roles.decision)} sounds" if guess == INSPECT else ""
    return (
        "A yes is taken to mean accept: the case goes through and the event is a harm; --decision-means "
        f"inspect if somebody looks closer{reads}."
    )
