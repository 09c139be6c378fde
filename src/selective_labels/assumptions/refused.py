"""How much worse, or better, cases decided against are than cases alike that were accepted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from selective_labels.assumptions.atom import Atom, as_event, event_codes, in_words
from selective_labels.identification.atoms import (
    AnyFloor,
    Floor,
    complement,
    constant,
    mirrored,
    odds,
    ratio,
)
from selective_labels.support.errors import InputError, require_choice

GIVEN = ("decision_maker", "features")
SCALES: dict[str, Callable[[float], tuple[Any, Any]]] = {"ratio": ratio, "odds": odds, "share": constant}


@dataclass(frozen=True)
class Informed(Atom):
    """Decision-makers know something: cases that they refuse are at least as bad as those they accept.

    η_A >= max_z P(A | D=1, x, z)

    Manski and Pepper's monotone selection, intersected over decision-makers.

    Parameters
    ----------
    adverse : class label, or a tuple of them
        What decision-makers want to avoid.
    given : "decision_maker" or "features"
        Whether each of them is said to be informed, or all taken together, which is less.
    direction_known : bool
        That it is known, not only hoped, which label is the adverse one: a word that learning asks for, since
        no check can tell, and the wrong direction costs accuracy.

    Examples
    --------
    >>> Informed("failed").name
    'informed(failed)'
    >>> print(Informed("failed").sentence)
    among like cases, those that a decision-maker refuses are failed at least as often as those that the same
    decision-maker accepts.
    """

    adverse: Any
    given: str = "decision_maker"
    direction_known: bool = False

    refuted_by = (
        "more adverse labels among accepted cases than the population has (SL1002, with a prevalence), or "
        "floors that leave no room (SL1001)."
    )

    def __post_init__(self) -> None:
        require_choice("given", self.given, GIVEN)
        object.__setattr__(self, "adverse", as_event(self.adverse))

    @property
    def name(self) -> str:
        """With the adverse label."""
        return f"informed({in_words(self.adverse)}{', given features' if self.given == 'features' else ''})"

    @property
    def sentence(self) -> str:
        """For a head of credit risk."""
        who = "a decision-maker refuses" if self.given == "decision_maker" else "were refused"
        same = "that the same decision-maker accepts" if self.given == "decision_maker" else "accepted"
        return (
            f"among like cases, those that {who} are {in_words(self.adverse)} at least as often as those "
            f"{same}."
        )

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The floor."""
        return "η_A >= max_z P(A | D=1, x, z)" if self.given == "decision_maker" else "η_A >= P(A | D=1, x)"

    def refused(self, accepted: np.ndarray) -> np.ndarray:
        """At least as often."""
        return accepted

    def slope(self, accepted: np.ndarray) -> np.ndarray:
        """One."""
        return np.ones_like(accepted)

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """One floor, which holds for all decision-makers together too."""
        single = self.given == "decision_maker"
        event = event_codes(self.adverse, classes)
        return (Floor(event, self.refused, self.slope, pooled=True, singled_out=single),)


@dataclass(frozen=True)
class Refused(Atom):
    """Refused cases are adverse at least, or at most, so much more often than accepted ones alike.

    g_low(m_z) <= P(A | D=0, x, z) <= g_high(m_z),   m_z = P(A | D=1, x, z)

    with g = γm (ratio), θm / (1 - m + θm) (odds) or a number (share). Ratios between 1/Λ and Λ for every
    class are the marginal sensitivity model of Tan (2006).

    Parameters
    ----------
    adverse : class label, or a tuple of them
    at_least, at_most : float, optional
        One of them, or both.
    scale : "ratio", "odds" or "share"
    given : "decision_maker" or "features"
        Whether refused cases are set against what the same decision-maker accepts, or against all accepted
        cases alike, which is less.

    Examples
    --------
    >>> refused = Refused("failed", at_least=1.0, at_most=3.0)
    >>> refused.name
    'refused(failed, ratio 1 to 3)'
    >>> print(refused.sentence)
    refused cases are failed at least 1 and at most 3 times as often as cases alike that the same
    decision-maker accepts.
    """

    adverse: Any
    at_least: float | None = None
    at_most: float | None = None
    scale: str = "ratio"
    given: str = "decision_maker"

    refuted_by = "floors that leave no room (SL1001), or a least ratio above the one stated (SL1005)."

    def __post_init__(self) -> None:
        require_choice("scale", self.scale, tuple(SCALES))
        require_choice("given", self.given, GIVEN)
        object.__setattr__(self, "adverse", as_event(self.adverse))
        ends = [each for each in (self.at_least, self.at_most) if each is not None]
        if not ends:
            raise InputError("Refused needs at_least, at_most or both.", "assumption")
        largest = 1.0 if self.scale == "share" else np.inf
        if not all(np.isfinite(each) and 0.0 <= each <= largest for each in ends) or ends != sorted(ends):
            raise InputError(
                f"Refused needs 0 <= at_least <= at_most{' <= 1' if largest == 1.0 else ''}, finite, got "
                f"at_least={self.at_least} and at_most={self.at_most}.",
                "assumption",
            )

    @property
    def name(self) -> str:
        """With the label and the limits."""
        low, high = self.at_least, self.at_most
        limits = f"at least {low:g}" if high is None else f"at most {high:g}"
        if low is not None and high is not None:
            limits = f"{low:g} to {high:g}"
        given = ", given features" if self.given == "features" else ""
        return f"refused({in_words(self.adverse)}, {self.scale} {limits}{given})"

    @property
    def sentence(self) -> str:
        """For a head of credit risk."""
        ends = [("at least", self.at_least), ("at most", self.at_most)]
        limits = " and ".join(f"{word} {end:g}" for word, end in ends if end is not None)
        label = in_words(self.adverse)
        if self.scale == "share":
            return f"among refused cases, whatever their features, the share of {label} is {limits}."
        same = "that the same decision-maker accepts" if self.given == "decision_maker" else "accepted"
        if self.scale == "odds":
            return f"the odds that a refused case is {label} are {limits} times those of cases alike {same}."
        return f"refused cases are {label} {limits} times as often as cases alike {same}."

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The limits of what is not seen."""
        middle = {"ratio": "γ m_z", "odds": "θ m_z / (1 - m_z + θ m_z)", "share": "a constant"}[self.scale]
        return f"P(A | D=0, x, z) against {middle}, m_z = P(A | D=1, x, z)"

    def refused(self, accepted: np.ndarray) -> np.ndarray:
        """The least share among refused cases."""
        return np.asarray(SCALES[self.scale](self.at_least or 0.0)[0](accepted))

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """A floor under the event, and one under its complement for the ceiling."""
        event = event_codes(self.adverse, classes)
        single = self.given == "decision_maker"
        found: list[AnyFloor] = []
        if self.at_least is not None:
            found.append(Floor(event, *SCALES[self.scale](self.at_least), singled_out=single))
        if self.at_most is not None:
            functions = mirrored(*SCALES[self.scale](self.at_most))
            found.append(Floor(complement(event, len(classes)), *functions, singled_out=single))
        return tuple(found)
