"""Slack that is earmarked: what is known of several classes together, but not of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from selective_labels.identification.bounds import ROUNDING, Array, Bounds, Mask
from selective_labels.identification.water_level import water_level
from selective_labels.support.errors import InputError

Event = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Earmarked(Bounds):
    """The set lower + Σ_S δ_S Δ(S) + δ_0 Δ(all classes) of class probabilities, row by row.

    Δ(S) are the distributions over the classes of S: δ_S is known to be within S, and not where. Sets S are
    nested or disjoint. With floors L_A and L_Aᶜ = 1 - U_A under η_A and η_Aᶜ,

        δ_A = (L_A - Σ_A lower)^+,   δ_Aᶜ likewise,   δ_0 = 1 - Σ lower - δ_A - δ_Aᶜ,

    and the set is empty if and only if δ_0 < 0.

    Attributes
    ----------
    lower, upper : (n_samples, n_classes) arrays
        Smallest and largest probability of each class.
    events : tuple of tuples of int
        The sets S, small ones first.
    amounts : (n_samples, n_events) array
        δ_S.

    Examples
    --------
    >>> lower = np.array([[0.2, 0.1, 0.1]])
    >>> known = Earmarked.from_floors(lower, {(1, 2): np.array([0.5])})
    >>> known.amounts, known.free.round(2), known.upper.round(2)
    (array([[0.3]]), array([0.3]), array([[0.5, 0.7, 0.7]]))
    >>> [each.round(2) for each in known.extremes(np.array([1.0, 0.0, 2.0]))]
    [array([0.4]), array([1.6])]
    """

    events: tuple[Event, ...] = ()
    amounts: Array | None = None

    @classmethod
    def from_floors(cls, lower: Array, floors: dict[Event, Array]) -> Self:
        """Earmark what floors under several classes together add to the lower bounds of each.

        Parameters
        ----------
        lower : (n_samples, n_classes) array
        floors : dict of (n_samples,) arrays
            By event; those of one class raise its lower bound.
        """
        lower = np.array(lower, dtype=np.float64)
        for event, floor in floors.items():
            if len(event) == 1:
                lower[:, event[0]] = np.maximum(lower[:, event[0]], floor)
        events = laminar([event for event in floors if len(event) > 1], lower.shape[1])
        amounts = np.zeros((len(lower), len(events)))
        for number, event in enumerate(events):
            inside = [place for place, each in enumerate(events[:number]) if set(each) <= set(event)]
            held = lower[:, list(event)].sum(axis=1) + amounts[:, inside].sum(axis=1)
            amounts[:, number] = np.maximum(floors[event] - held, 0.0)
        return cls.of(lower, events, amounts)

    @classmethod
    def of(cls, lower: Array, events: tuple[Event, ...], amounts: Array) -> Self:
        """The set with given parts."""
        free = np.maximum(1.0 - lower.sum(axis=1) - amounts.sum(axis=1), 0.0)
        upper = lower + free[:, None]
        for event, amount in zip(events, amounts.T, strict=True):
            upper[:, list(event)] += amount[:, None]
        return cls(lower, upper, events, amounts)

    @property
    def pots(self) -> Array:
        """δ_S, (n_samples, n_events)."""
        return np.zeros((len(self.lower), 0)) if self.amounts is None else self.amounts

    @property
    def free(self) -> Array:
        """δ_0, the slack that may go anywhere; shape (n_samples,)."""
        return self.slack - self.pots.sum(axis=1)

    @property
    def crossed(self) -> Mask:
        """Rows that no probability vector fits."""
        return ~(self.free >= -ROUNDING)

    def contains(self, probabilities: ArrayLike, tolerance: float = ROUNDING) -> Mask:
        """Rows whose probability vector lies in the set."""
        probabilities = np.asarray(probabilities, dtype=np.float64)
        inside = (probabilities >= self.lower - tolerance).all(axis=1)
        inside &= np.abs(probabilities.sum(axis=1) - 1.0) <= tolerance
        for event in self.events:
            within = [place for place, each in enumerate(self.events) if set(each) <= set(event)]
            floor = self.lower[:, list(event)].sum(axis=1) + self.pots[:, within].sum(axis=1)
            inside &= probabilities[:, list(event)].sum(axis=1) >= floor - tolerance
        return inside

    def extreme(self, gain: Array) -> Array:
        """The class probabilities in the set with the largest Σ_k gain_k η_k, (n_samples, n_classes)."""
        return poured(self.lower, self.free, gain, self.events, self.pots)

    def extremes(self, coefficients: ArrayLike) -> tuple[Array, Array]:
        """Min and max of Σ_k c_k η_k = Σ c lower + Σ_S δ_S min_S c + δ_0 min c, and likewise max."""
        values = np.broadcast_to(np.asarray(coefficients, dtype=np.float64), self.lower.shape)
        low, high = (np.einsum("nk,nk->n", values, self.extreme(sign * values)) for sign in (-1.0, 1.0))
        return low, high

    def repaired(self) -> tuple["Earmarked", Mask]:
        """Mend empty rows: all parts are scaled to sum to one, so that earmarks stay and no slack is left."""
        crossed = self.crossed
        total = self.lower.sum(axis=1) + self.pots.sum(axis=1)
        scale = np.where(crossed, total, 1.0)[:, None]
        return Earmarked.of(self.lower / scale, self.events, self.pots / scale), crossed

    def best_case_costs(self) -> Array:
        """Smallest zero-one regret of each class: (max_{j≠t} η_j - η_t)^+ at the best case of t."""
        costs = np.empty_like(self.lower)
        for candidate in range(self.lower.shape[1]):
            level = self.best_case(candidate)
            own = level[:, candidate].copy()
            level[:, candidate] = -np.inf
            costs[:, candidate] = np.maximum(level.max(axis=1) - own, 0.0)
        return costs

    def best_case(self, candidate: int) -> Array:
        """Probabilities with the smallest regret of a class: it gets all that it may, the rest is kept level.

        Each pot without the class is spread, small events first, so that no class stands out more than it
        must.
        """
        level = self.lower.copy()
        for event, amount in zip(self.events, self.pots.T, strict=True):
            if candidate not in event:
                spread_evenly(level, event, amount)
        level[:, candidate] = self.upper[:, candidate]
        return level


def poured(lower: Array, free: Array, gain: Array, events: Sequence[Event], pots: Array) -> Array:
    """Lower bounds, and each pot with the class of its event that has the largest gain.

    Any of them may have one more axis, of linear forms; gains have not.

    Examples
    --------
    >>> gain = np.array([[0.0, 2.0, 1.0]])
    >>> poured(np.zeros((1, 3)), np.array([0.5]), gain, [(0, 2)], np.array([[0.5]]))
    array([[0. , 0.5, 0.5]])
    """
    found, rows = np.array(lower), np.arange(len(lower))
    gain = np.broadcast_to(gain, found.shape[:2])
    for place, event in enumerate(events):
        members = np.asarray(event)
        found[rows, members[gain[:, members].argmax(axis=1)]] += pots[:, place]
    found[rows, gain.argmax(axis=1)] += free
    return found


def spread_evenly(level: Array, event: Event, amount: Array) -> None:
    """Pour an amount into the classes of an event, the lowest first, in place."""
    members = list(event)
    bottom = level[:, members]
    brim = bottom + amount[:, None]
    height = water_level(bottom, brim, bottom.sum(axis=1) + amount)
    level[:, members] = np.clip(height[:, None], bottom, brim)


def laminar(events: Sequence[Event], n_classes: int) -> tuple[Event, ...]:
    """Events, small ones first; refused if two of them cross: then there is no closed form.

    Examples
    --------
    >>> laminar([(0, 1, 2), (0, 1)], 4)
    ((0, 1), (0, 1, 2))
    >>> laminar([(0, 1), (1, 2)], 4)
    Traceback (most recent call last):
    ...
    selective_labels.support.errors.InputError: assumptions about classes that overlap without one holding
    the other (codes (0, 1) and (1, 2)) have no closed form together; state nested or disjoint ones.
    """
    ordered = sorted({tuple(sorted(each)) for each in events}, key=lambda each: (len(each), each))
    for number, small in enumerate(ordered):
        for large in ordered[number + 1 :]:
            if set(small) & set(large) and not set(small) <= set(large):
                raise InputError(
                    "assumptions about classes that overlap without one holding the other (codes "
                    f"{small} and {large}) have no closed form together; state nested or disjoint ones.",
                    "assumption",
                )
    return tuple(each for each in ordered if len(each) < n_classes)


def identified_set(lower: Array, floors: dict[Event, Array]) -> Bounds:
    """The set that floors under events leave: earmarked slack, or a box where they bound single classes.

    A floor under all classes but one is a ceiling on that one: with floors and ceilings of single classes
    only, events may cross, and the set is a box.

    Parameters
    ----------
    lower : (n_samples, n_classes) array
    floors : dict of (n_samples,) arrays, by event

    Examples
    --------
    >>> lower = np.array([[0.1, 0.2, 0.1]])
    >>> box = identified_set(lower, {(0, 1): np.array([0.6]), (1, 2): np.array([0.7])})
    >>> box.upper.round(2)
    array([[0.3, 0.8, 0.4]])
    """
    n_classes = lower.shape[1]
    if not crossing(list(floors)) or not boxed(list(floors), n_classes):
        return Earmarked.from_floors(lower, floors)
    least, most = np.array(lower, dtype=np.float64), np.ones_like(lower)
    for event, floor in floors.items():
        if len(event) == 1:
            least[:, event[0]] = np.maximum(least[:, event[0]], floor)
        else:
            (left,) = set(range(n_classes)) - set(event)
            most[:, left] = np.minimum(most[:, left], 1.0 - floor)
    room = 1.0 - least.sum(axis=1, keepdims=True) + least
    return Bounds(least, np.minimum(most, room))


def crossing(events: Sequence[Event]) -> bool:
    """Whether two events overlap without one holding the other."""
    sets = [set(each) for each in events]
    return any(a & b and not a <= b and not b <= a for a in sets for b in sets)


def boxed(events: Sequence[Event], n_classes: int) -> bool:
    """Whether every event is one class, or all classes but one."""
    return all(len(each) in (1, n_classes - 1) for each in events)
