"""Words of the user's own table in sentences that the package wrote."""

import re
from collections.abc import Mapping
from typing import Any

from selective_labels.report.numbers import cut

DEFAULT = {
    "event": "the event",
    "maker": "decision-maker",
    "makers": "decision-makers",
    "accepted": "accepted",
    "refused": "refused",
}
SPOKEN = re.compile(r"(?<![\w“])(\d[\d,]* )?([Dd])ecision-maker(s?)")


def words_of(document: Mapping[str, Any]) -> dict[str, str]:
    """What the table calls its event, its people and its decisions.

    Examples
    --------
    >>> words_of({})["makers"]
    'decision-makers'
    """
    data = document.get("data") or {}
    return DEFAULT | {name: cut(word) for name, word in data.get("words", {}).items()}


def say(text: Any, words: Mapping[str, str]) -> str:
    """Put the table's word in the place of "decision-maker", and fill the holes of a phrase.

    Examples
    --------
    >>> words = DEFAULT | {"event": "lost", "maker": "judge", "makers": "judges"}
    >>> say("Decision-makers differ, and no decision-maker is alike: {event}.", words)
    'Judges differ, and no judge is alike: “lost”.'
    """
    spoken = SPOKEN.sub(lambda found: _word(found, words), str(text))
    for name, word in words.items():
        spoken = spoken.replace(f"{{{name}}}", f"“{word}”" if name == "event" else word)
    return spoken


def capital(text: str) -> str:
    """Begin a line."""
    return text[:1].upper() + text[1:]


def _word(found: re.Match[str], words: Mapping[str, str]) -> str:
    count, first, many = found[1] or "", found[2], found[3]
    word = words["makers"] if many else words["maker"]
    return count + (capital(word) if first == "D" else word)
