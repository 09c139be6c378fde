"""What a user was told, and whether it was true: covered, refused, cautioned, stated, missed in silence."""

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from selective_labels import InputError

COVERED, REFUSED, CAUTIONED, STATED, MISSED = "covered", "refused", "cautioned", "stated", "missed"
# What a caution of a result, or a warning, says of a number. Notes that say less are not counted.
DOUBT = ("not to be trusted", "not to be relied on", "doubtful", "refuted")
LONGEST = 160


@dataclass(frozen=True)
class Answer:
    """One number that a user was told, or was refused.

    Attributes
    ----------
    question : str
    lower, upper : float
        The interval; one end is infinite where the promise is a limit.
    truth : float
    said : str
        Why the number was refused or is doubtful; empty if nobody said so.
    refused : bool
    stated : bool
        Whether the result says in words what was assumed and is false here.
    """

    question: str
    lower: float = math.nan
    upper: float = math.nan
    truth: float = math.nan
    said: str = ""
    refused: bool = False
    stated: bool = False

    @property
    def outcome(self) -> str:
        """One of the five; a caution beside a right number is a caution."""
        if self.refused:
            return REFUSED
        if self.said:
            return CAUTIONED
        if self.covers:
            return COVERED
        return STATED if self.stated else MISSED

    @property
    def covers(self) -> bool:
        """Whether the truth lies in the interval, said to be doubtful or not."""
        return self.lower <= self.truth <= self.upper

    def row(self) -> dict[str, Any]:
        """Columns of the results."""
        return {
            "question": self.question,
            "outcome": self.outcome,
            "covers": "" if self.refused else str(self.covers),
            "lower": self.lower,
            "upper": self.upper,
            "truth": self.truth,
            "said": self.said[:LONGEST],
        }


COLUMNS = tuple(Answer("").row())


def ask(questions: Iterable[str], call: Callable[[], Iterable[Answer]]) -> list[Answer]:
    """Ask; a refusal answers every question, and a warning that doubts stands beside every answer."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = list(call())
        except InputError as error:
            return [Answer(question, said=str(error), refused=True) for question in questions]
    warned = next((text for each in caught if doubts(text := str(each.message))), "")
    return [_beside(each, warned) for each in found]


def _beside(answer: Answer, warned: str) -> Answer:
    if answer.said or not warned:
        return answer
    return replace(answer, said=warned)


def of_result(question: str, result: Any, truth: float) -> Answer:
    """An interval of a result, with what stands beside it."""
    if math.isnan(result.ci_lower) or math.isnan(result.ci_upper):
        return Answer(question, truth=truth, said=result.reason or "no interval", refused=True)
    return Answer(question, result.ci_lower, result.ci_upper, truth, doubt_of(result))


def doubt_of(result: Any) -> str:
    """The first reason to doubt a result; empty if it names none."""
    sample = result.sample
    said = [*sample.cautions, *([sample.refusal] if sample.refusal else [])]
    return next((text for text in [*said, *filter(doubts, [sample.assignment])]), "")


def doubts(text: str) -> bool:
    """Whether a sentence says that a number is doubtful.

    Examples
    --------
    >>> doubts("The interval is not to be trusted."), doubts("Little overlap.")
    (True, False)
    """
    return any(words in text.lower() for words in DOUBT)


def at_least(question: str, share: float, limit: float, said: str = "") -> Answer:
    """A share that is promised to reach a limit, as an answer that covers if it does."""
    return Answer(question, -math.inf, share, limit, said)


def verdict(question: str, said: str, right: bool = False) -> Answer:
    """A statement without a number: covered if it is right, else a miss unless it is doubted."""
    return Answer(question, 0.0, 0.0, 0.0 if right else math.nan, said)
