"""A guess from names of what a yes means, for a table that does not state it."""

import re
from collections.abc import Sequence

import pandas as pd

from selective_labels._errors import shown
from selective_labels._vocabulary import ACCEPT, INSPECT
from selective_labels.io.table_roles import Roles

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
