"""What the people of a table call things: the event, those who decide, and a decision in favour."""

import re
from collections.abc import Mapping
from typing import Any

YES = {"1", "1.0", "yes", "y", "true", "t"}
NO = {"0", "0.0", "no", "n", "false", "f"}
# Names that say nothing to a reader.
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


def table_words(roles: Mapping[str, str | None], event: Any, panels: bool = False) -> dict[str, str]:
    """Words for the page, from the names of columns and the event's class.

    Parameters
    ----------
    roles : mapping
        Column names by role.
    event : class label
    panels : bool
        Whether several people decide together.

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
    """
    maker = "panel" if panels else _maker(roles.get("decision_maker"))
    accepted = _accepted(roles.get("decision"))
    return {
        "event": _event(roles.get("label"), event),
        "maker": maker,
        "makers": plural(maker),
        "accepted": accepted,
        "refused": "refused" if accepted == "accepted" else f"not {accepted}",
    }


def plural(noun: str) -> str:
    """More than one of them.

    Examples
    --------
    >>> plural("judge"), plural("agency"), plural("boss"), plural("case workers")
    ('judges', 'agencies', 'bosses', 'case workers')
    """
    if re.search(r"[^s]s$", noun):
        return noun
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if re.search(r"(s|x|z|ch|sh)$", noun) else f"{noun}s"


def _event(label: str | None, event: Any) -> str:
    """The class itself if it is a word; of yes and no, the name of the column."""
    name, value = _plain(label), _short(event)
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
    """Approved, released, granted: a participle is the word; a noun such as decision is none."""
    name = _plain(column)
    return name if re.fullmatch(r"[^\W\d]{2,}(ed|en)", name) else "accepted"


def _plain(column: str | None) -> str:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", _short(column or ""))
    return " ".join(re.sub(r"[_\-.]+", " ", spaced).lower().split())


def _short(text: Any) -> str:
    words = " ".join(str(text)[: 4 * LONGEST].split())
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1].rstrip()}…"
