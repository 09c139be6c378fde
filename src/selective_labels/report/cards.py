"""What may be assumed, card by card: what it means, what the checks say, and what they could have seen."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from selective_labels.report import wording
from selective_labels.report.speech import capital

# What checks could have seen, for readers who know no statistics; anything else stays as it is.
PLAINLY = (
    (
        r"cases whose predicted decision differs between decision-makers by ([\d.]+) standard deviations",
        r"decision-makers whose cases look different, by \1 of the usual spread",
    ),
    (r"lower bounds that sum to ([\d.]+) or more on average", r"chances that add up to \1 instead of 1"),
    (
        r"a curve that leaves the line by ([\d.]+) points at ten points of leniency",
        r"decision-makers ten points more lenient whose outcomes lie \1 points off the common line",
    ),
    (
        r"shares of labels of like cases that change by ([\d.]+) points with ten points of leniency",
        r"outcomes of like cases that change by \1 points where decision-makers accept ten points more",
    ),
)
REFUTED, NOT_REFUTED, UNCHECKED = "refuted", "not refuted", "cannot be checked"
# No check can prove an assumption, so nothing here is green.
LOOKS = {REFUTED: "violated", NOT_REFUTED: "not applicable", UNCHECKED: "not applicable"}
AMONG_LIKE = "As if by lot among like cases"
SHARED_REASONS = (
    "Reasons that nobody recorded and all decision-makers share show in no check, so this is never taken on "
    "trust."
)


@dataclass(frozen=True)
class Card:
    """One assumption.

    Attributes
    ----------
    title, status, meaning, note : str
    look : str
        A status whose shape stands before the words.
    used : bool
        Whether the figures at the top rest on it.
    """

    title: str
    status: str
    look: str
    meaning: str
    note: str
    used: bool = False


def assumption_cards(diagnosis: Mapping[str, Any]) -> list[Card]:
    """Cards from the weakest assumption to the strongest.

    Examples
    --------
    >>> refused = {"assumption": "instrument", "given": "strata", "allowed": False, "verdict": "refuted",
    ...            "plain": "lower bounds contradict each other.", "could_see": []}
    >>> [(card.title, card.status, card.used) for card in assumption_cards({"verdict": [refused]})]
    [('Nothing assumed', 'Needs no check', True), ('As if by lot', 'The data contradict it', False)]
    """
    verdict = diagnosis["verdict"]
    lot = [each for each in verdict if each["assumption"] == "instrument"]
    chosen = next((each for each in lot if each["allowed"]), lot[0] if lot else None)
    nothing = wording.assumption("none")
    cards = [
        Card(
            nothing.title,
            "Needs no check",
            "not applicable",
            nothing.meaning,
            "Safe, and often too wide to be of use.",
            used=chosen is None or not chosen["allowed"],
        )
    ]
    if chosen is not None:
        cards.append(_card(chosen, used=chosen["allowed"]))
    return cards + [_card(each) for each in verdict if each["assumption"] != "instrument"]


def _card(found: Mapping[str, Any], used: bool = False) -> Card:
    term = wording.assumption(found["assumption"])
    by_features = found["assumption"] == "instrument" and found.get("given") == "features"
    return Card(
        AMONG_LIKE if by_features else term.title,
        _status(found),
        LOOKS.get(found["verdict"], "not applicable"),
        term.meaning,
        _note(found),
        used,
    )


def _plainly(text: str) -> str:
    for pattern, words in PLAINLY:
        text = re.sub(pattern, words, text)
    return text


def _status(found: Mapping[str, Any]) -> str:
    if found["verdict"] == REFUTED:
        return "The data contradict it"
    if found["verdict"] == UNCHECKED:
        return "Cannot be checked here"
    return "Not contradicted" if found["allowed"] else "Not contradicted, not proved"


def _note(found: Mapping[str, Any]) -> str:
    if found["verdict"] != NOT_REFUTED:
        return capital(found.get("plain") or "")
    seen = "; ".join(_plainly(each) for each in found.get("could_see") or [])
    power = f"Four times in five the checks would have noticed: {seen}. Less may go unseen." if seen else ""
    if found["assumption"] == "unconfounded":
        return f"{power} {SHARED_REASONS}".strip()
    if found.get("given") == "features":
        return f"{capital(found.get('plain') or '')} {power}".strip()
    return power or "How much the checks could have seen is not known."
