"""Building blocks of the document: sections and their storage, the table's vocabulary, numbers as text."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from selective_labels._errors import DiagnosticWarning, InputError, LargeWorkWarning
from selective_labels._vocabulary import Vocabulary, plural
from selective_labels.report.wording import capital, cut


class SectionStore(Protocol):
    """Storage of finished sections, so that an interrupted assessment can resume."""

    def get(self, name: str) -> dict[str, Any] | None:
        """Return a finished section, or None."""

    def put(self, name: str, section: dict[str, Any]) -> None:
        """Store a finished section."""


@dataclass(frozen=True)
class Part:
    """A section of the document, with notes on how it was computed."""

    content: Any
    notes: tuple[str, ...] = ()


def compute_part(name: str, compute: Callable[[], Part], store: SectionStore | None) -> Part:
    """Take a section from the store, or compute it and store it.

    A section that cannot be computed from the data (`InputError`) states the reason; any other error is a bug
    and is raised. User warnings become notes.

    Examples
    --------
    >>> def refuse():
    ...     raise InputError("y shows only one class.")
    >>> compute_part("models", refuse, None).content
    {'missing': 'y shows only one class.'}
    """
    kept = None if store is None else store.get(name)
    if kept is not None:
        return Part(kept["content"], tuple(kept["notes"]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            part, allowed = compute(), True
        except InputError as error:
            part, allowed = Part({"missing": str(error)}), False
    # After `catch_warnings` ends: `_notes` re-emits some warnings, which would otherwise be caught again.
    part = Part(part.content, (*part.notes, *_notes(caught)))
    if not allowed:
        return part
    if store is not None:
        store.put(name, {"content": part.content, "notes": list(part.notes)})
    return part


def _notes(caught: list[warnings.WarningMessage]) -> list[str]:
    """Texts of user warnings; warnings for programmers are re-emitted.

    Findings of checks are in the diagnosis already, and warnings about runtime were shown before.
    """
    texts: dict[str, None] = {}
    for each in caught:
        if not issubclass(each.category, UserWarning):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        elif not issubclass(each.category, DiagnosticWarning | LargeWorkWarning):
            texts[str(each.message)] = None
    return list(texts)


ROLES = ("label", "decision", "decision_maker", "strata", "groups", "weight")


@dataclass(frozen=True)
class TableDescription:
    """Source of a table, and names and roles of its columns.

    Attributes
    ----------
    source : str
        File name, for readers.
    title : str
        Title of the report.
    command : str or None
        Command line that makes the report.
    roles : dict
        Column names by role: "label", "decision", "decision_maker", "strata", "groups", "weight". A role
        without a name here takes the name of its column, or else the name of the role.
    features : list of (name, kind)
        Kind is "number", "category" or "date". Kinds of other columns are read from the table.
    left_out : list of (name, reason)
        Columns that are not features, and why.
    rule : str or None
        Name of the given predictions or model. Default: the name of their column, if it has one.
    notes : list of str
        Sentences to show with the data.

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


NO_WORDS, NEUTRAL = Vocabulary(), Vocabulary().meaning()
YES = {"1", "1.0", "yes", "y", "true", "t"}
NO = {"0", "0.0", "no", "n", "false", "f"}
# Names that carry no information.
BARE_LABELS = {"y", "label", "target", "outcome", "class", "result", "event", "status"}
BARE_PEOPLE = {
    "",
    "z",
    "x",
    "dm",
    "id",
    "decision maker",
    "decision makers",
    "instrument",
    "maker",
    "arm",
    "code",
}
OF_A_KEY = {"id", "ids", "no", "nr", "num", "number", "code", "key", "name"}
LONGEST = 40


def table_words(
    roles: Mapping[str, str | None], event: Any, panels: bool = False, vocabulary: Vocabulary = NO_WORDS
) -> dict[str, str]:
    """Words of a report: those of the domain, else from the names of columns and the class of the event.

    Parameters
    ----------
    roles : mapping
        Column names by role.
    event : class label
    panels : bool
        Whether decision-makers decide in panels.
    vocabulary : Vocabulary
        Words of the domain.

    Returns
    -------
    dict with "event", "maker", "makers", "accepted" and "refused"

    Examples
    --------
    >>> loans = {"label": "defaulted", "decision": "approved", "decision_maker": "underwriter_id"}
    >>> list(table_words(loans, "yes").values())
    ['defaulted', 'underwriter', 'underwriters', 'approved', 'not approved']
    >>> table_words({"label": "outcome", "decision": None, "decision_maker": "z"}, 1)["event"]
    'outcome = 1'
    >>> list(table_words(loans, "yes", vocabulary=Vocabulary.read("lending")).values())
    ['defaulted', 'loan officer', 'loan officers', 'approved', 'declined']
    """
    maker = "panel" if panels else _maker(roles.get("decision_maker"))
    if not panels and vocabulary.decision_maker != NO_WORDS.decision_maker:
        maker = vocabulary.decision_maker
    accepted = _accepted(roles.get("decision"))
    if vocabulary.yes_past not in ("", NEUTRAL.yes_past):
        accepted = vocabulary.yes_past
    refused = "refused" if accepted == "accepted" else f"not {accepted}"
    return {
        "event": _event(roles.get("label"), event),
        "maker": maker,
        "makers": plural(maker) if maker != vocabulary.decision_maker else vocabulary.decision_makers,
        "accepted": accepted,
        "refused": vocabulary.no_past if vocabulary.no_past not in ("", NEUTRAL.no_past) else refused,
    }


def _event(label: str | None, event: Any) -> str:
    """Name of the event: its class if that is a word, or the column name if the class is "yes" or similar."""
    name, value = _plain(label), cut(event, LONGEST)
    if value.lower() in YES and name and name not in BARE_LABELS:
        return name
    is_word = re.search(r"[^\W\d]", value) and value.lower() not in YES | NO
    return value if is_word else f"{name or 'label'} = {value}"


def _maker(column: str | None) -> str:
    words = _plain(column).split()
    while len(words) > 1 and words[-1] in OF_A_KEY:
        words.pop()
    name = " ".join(words)
    return "decision-maker" if name in BARE_PEOPLE or re.fullmatch(r"[a-z]?\d*", name) else name


def _accepted(column: str | None) -> str:
    """The name of the decision column if it is a participle such as "approved", else "accepted"."""
    name = _plain(column)
    return name if re.fullmatch(r"[^\W\d]{2,}(ed|en)", name) else "accepted"


def _plain(column: str | None) -> str:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cut(column or "", LONGEST))
    return " ".join(re.sub(r"[_\-.]+", " ", spaced).lower().split())


# Beginning of sentences, by the conditioning under which assignment is as good as random.
UNDER = {
    None: "assuming nothing about the outcomes that were not seen",
    "strata": "under as-if-random assignment",
    "features": "under as-if-random assignment given the features",
    "all seen": "with every outcome seen",
}
MEANINGS = {
    "strata": "As-if-random assignment means that cases reach {makers} as if by lot (within strata, if "
    "there are any), and that who decides does not change the outcome.",
    "features": "As-if-random assignment given the features means that everything which settles who gets "
    "which case is among the features, and that who decides does not change the outcome. The data can "
    "neither confirm nor refute the first part.",
}
# The same, for a line on its own.
IF = {
    None: "assuming nothing about the outcomes that were not seen",
    "strata": "if who decided was as good as a lottery",
    "features": "if, among comparable cases, who decided was as good as a lottery",
    "all seen": "with every outcome seen",
}


def percent(value: float) -> str:
    """A share as a percentage, without decimals unless it is close to 0 or 1.

    Examples
    --------
    >>> percent(0.634), percent(0.004), percent(0.997)
    ('63%', '0.4%', '99.7%')
    """
    near_an_end = 0.0 < value < 0.01 or 0.99 < value < 1.0
    return f"{value:.{1 if near_an_end else 0}%}"


def percent_range(low: float, high: float) -> str:
    """Two shares as a range, or as one number if they round to the same.

    Examples
    --------
    >>> percent_range(0.61, 0.7), percent_range(0.61, 0.611)
    ('61% to 70%', 'about 61%')
    """
    first, second = percent(low), percent(high)
    return f"about {first}" if first == second else f"{first} to {second}"


def points_range(low: float, high: float) -> str:
    """Two differences of shares as a signed range of percentage points.

    Examples
    --------
    >>> points_range(-0.03, 0.051), points_range(-0.001, 0.001)
    ('-3.0 and +5.1 percentage points', '-0.1 and +0.1 percentage points')
    """
    return f"{100 * low:+.1f} and {100 * high:+.1f} percentage points"


def cost_range(low: float, high: float) -> str:
    """Two differences of mean costs as a signed range.

    Examples
    --------
    >>> cost_range(-0.03, 0.0514)
    '-0.03 and +0.0514 a case'
    """
    return f"{amount(low, '+')} and {amount(high, '+')} a case"


def amount(value: float, sign: str = "") -> str:
    """A cost with three significant digits, or with all digits before the decimal point.

    Examples
    --------
    >>> amount(0.05142), amount(12345.6), amount(-250.0, "+")
    ('0.0514', '12,346', '-250')
    """
    return f"{value:{sign},.0f}" if abs(value) >= 100.0 else f"{value:{sign}.3g}"


def is_empty(result: dict[str, Any]) -> bool:
    """Whether the bounds cross, so that no value is possible: the assumption does not fit the data."""
    return bool(result["crossed"]) and result["lower"] is None


def missing(result: dict[str, Any]) -> str | None:
    """The reason why there is no confidence interval, or None if there is one."""
    return None if result["ci_lower"] is not None else str(result["reason"])


def full_sentence(text: str) -> str:
    """Capitalize the first letter and end with a full stop.

    Examples
    --------
    >>> full_sentence("y shows only one class")
    'Y shows only one class.'
    """
    return capital(text) + ("" if text.endswith(".") else ".")
