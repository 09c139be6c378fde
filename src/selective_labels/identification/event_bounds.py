"""Bounds on the probability of an event, a set of classes, and the identified sets that they imply.

`Floor` and `Chord` are lower bounds on the probability of an event. `LaminarBounds` is the identified set
under several of them, and `LaminarScores` holds the scores that estimate it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from selective_labels._errors import InputError
from selective_labels.identification.bounds import (
    ROUNDING,
    Array,
    Bounds,
    Event,
    Mask,
    allocate_slack,
    clipped_sum_root,
)

Function = Callable[[Array], Array]
# A decision-maker with a leniency below this carries no information about unlabeled cases.
NOBODY = 1e-12
# Two decision-makers whose leniencies differ by less than this form no `Chord`.
CLOSE = 1e-9


@dataclass(frozen=True)
class Floor:
    """Lower bound on P(A) from P(A | D=0, x, z) >= g(m_z), with m_z = P(Y in A | D=1, x, z).

    η_A >= F_z = λ_z m_z + (1 - λ_z) g(m_z)   for every decision-maker z

    Attributes
    ----------
    event : tuple of int
        Codes of the classes in A.
    refused, slope : callables of an array
        g, the bound for unlabeled cases, and its derivative.
    singled_out : bool
        Whether the bound holds for each decision-maker; otherwise it holds only for all of them pooled.
    pooled : bool
        Whether the bound also holds for all decision-makers pooled.
    averaged : bool
        Whether the bound holds for each decision-maker but without an instrument, so that only the mean over
        decision-makers bounds η_A.

    Examples
    --------
    Unlabeled cases are at least as risky as labeled cases:

    >>> informed = Floor((1,), lambda m: m, np.ones_like)
    >>> informed.values(np.array([0.2, 0.3]), np.array([0.4, 0.9])).round(3)
    array([0.5  , 0.333])
    """

    event: tuple[int, ...]
    refused: Function
    slope: Function
    singled_out: bool = True
    averaged: bool = False
    pooled: bool = False

    def values(self, chance: Array, leniency: Array) -> Array:
        """F_z from P(Y in A, D=1 | x, z) and λ_z; zero where λ_z is zero."""
        seen = leniency > NOBODY
        share = share_of(chance, leniency)
        found = chance + (1.0 - leniency) * self.refused(share)
        return np.where(seen, found, 0.0)


@dataclass(frozen=True)
class Chord:
    """Lower bound on η_A from two decision-makers, where z is more lenient than z'.

    slope:   η_A >= (p_Az - p_Az' - 2ρ) / (λ_z - λ_z')
    beyond:  η_A >= p_Az + (1 - λ_z) (p_Az - p_Az') / (λ_z - λ_z')

    The first form assumes that the biases of any two decision-makers differ by at most 2ρ (ρ = 0: NUCEM). The
    second form assumes that unlabeled cases are at least as risky as the cases whose label only the more
    lenient decision-maker reveals.

    Attributes
    ----------
    event : tuple of int
        Codes of the classes in A.
    radius : float
        ρ, used by the first form.
    beyond : bool
        Whether to use the second form.

    Examples
    --------
    >>> strict, lenient = (0.1, 0.4), (0.3, 0.8)
    >>> [round(Chord((1,), beyond=each).value(lenient, strict), 3) for each in (False, True)]
    [0.5, 0.4]
    """

    event: tuple[int, ...]
    radius: float = 0.0
    beyond: bool = False

    def value(self, lenient: tuple[Array, Array], strict: tuple[Array, Array]) -> Array:
        """Lower bound from (p_A, λ) of the two; the difference in leniency must be positive."""
        slope = (lenient[0] - strict[0] - 2.0 * self.radius) / (lenient[1] - strict[1])
        return lenient[0] + (1.0 - lenient[1]) * slope if self.beyond else slope


AnyFloor = Floor | Chord


def share_of(chance: Array, leniency: Array) -> Array:
    """Share m = p_A / λ among labeled cases; one half where λ is zero, because it does not matter there."""
    half = np.full(np.broadcast_shapes(np.shape(chance), np.shape(leniency)), 0.5)
    share = np.divide(chance, leniency, out=half, where=leniency > NOBODY)
    return np.clip(share, 0.0, 1.0)


def ratio(factor: float) -> tuple[Function, Function]:
    """g(m) = min(γ m, 1) and its derivative: unlabeled cases have γ times the risk.

    Examples
    --------
    >>> g, slope = ratio(3.0)
    >>> g(np.array([0.1, 0.5])).round(2), slope(np.array([0.1, 0.5]))
    (array([0.3, 1. ]), array([3., 0.]))
    """
    return (
        lambda m: np.minimum(factor * m, 1.0),
        lambda m: np.where(factor * m < 1.0, factor, 0.0),
    )


def odds(factor: float) -> tuple[Function, Function]:
    """g(m) = θm / (1 - m + θm) and its derivative: unlabeled cases have θ times the odds.

    Examples
    --------
    >>> g, slope = odds(3.0)
    >>> g(np.array([0.5])), slope(np.array([0.5]))
    (array([0.75]), array([0.75]))
    """
    return (
        lambda m: factor * m / (1.0 - m + factor * m),
        lambda m: factor / (1.0 - m + factor * m) ** 2,
    )


def constant(share: float) -> tuple[Function, Function]:
    """g(m) = c and its derivative: a bound that does not depend on the labeled cases.

    Examples
    --------
    >>> constant(0.2)[0](np.array([0.5]))
    array([0.2])
    """
    return (lambda m: np.full_like(m, share), np.zeros_like)


def mirrored(refused: Function, slope: Function) -> tuple[Function, Function]:
    """h(m) = 1 - g(1 - m): an upper bound g on an event is the lower bound h on its complement.

    Examples
    --------
    >>> h, slope = mirrored(*ratio(2.0))
    >>> h(np.array([0.75, 0.25])), slope(np.array([0.75, 0.25]))
    (array([0.5, 0. ]), array([2., 0.]))
    """
    return (lambda m: 1.0 - refused(1.0 - m), lambda m: slope(1.0 - m))


def complement(event: Sequence[int], n_classes: int) -> tuple[int, ...]:
    """Codes of all classes outside the event."""
    return tuple(code for code in range(n_classes) if code not in set(event))


def best_floor(
    floor: AnyFloor, joint: Array, propensity: Array | None = None, *, least: float = CLOSE
) -> Array:
    """Largest value of one lower bound over decision-makers (or pairs of them), shape (n_samples,).

    Parameters
    ----------
    floor : Floor or Chord
    joint : (n_decision_makers, n_samples, n_classes + 1) array
        Joint probabilities, with the unlabeled class first.
    propensity : (n_samples, n_decision_makers) array, optional
        Assignment probabilities, for bounds on all decision-makers pooled. Uniform by default.
    least : float
        Smallest leniency, and for pairs the smallest difference in leniency. Decision-makers and pairs below
        it are left out, because their estimates are unstable.

    Examples
    --------
    >>> joint = np.array([[[0.6, 0.2, 0.2]], [[0.2, 0.5, 0.3]]])
    >>> best_floor(Floor((1,), lambda m: m, np.ones_like), joint).round(3)
    array([0.5])
    """
    chance, leniency = joint[:, :, 1:][:, :, list(floor.event)].sum(axis=2), 1.0 - joint[:, :, 0]
    if isinstance(floor, Chord):
        found = np.zeros(joint.shape[1])
        for first, second in permutations(range(len(joint)), 2):
            apart = leniency[first] - leniency[second] > least
            gap = np.where(apart, leniency[second], leniency[first] - 1.0)
            value = floor.value((chance[first], leniency[first]), (chance[second], gap))
            found = np.where(apart, np.maximum(found, value), found)
        return found
    if not (floor.singled_out or floor.averaged):
        shares = np.full((joint.shape[1], len(joint)), 1.0 / len(joint)) if propensity is None else propensity
        chance = np.einsum("na,an->n", shares, chance)[None]
        leniency = np.einsum("na,an->n", shares, leniency)[None]
    if floor.averaged:
        shares = np.full((joint.shape[1], len(joint)), 1.0 / len(joint)) if propensity is None else propensity
        return np.asarray(np.einsum("na,an->n", shares, floor.values(chance, leniency)))
    best: Array = np.where(leniency > least, floor.values(chance, leniency), 0.0).max(axis=0)
    return best


@dataclass(frozen=True, eq=False)
class LaminarBounds(Bounds):
    """Set of class probabilities under lower bounds on nested or disjoint events, row by row.

    lower + Σ_S δ_S Δ(S) + δ_0 Δ(all classes)

    Δ(S) is the set of distributions over the classes in S. The slack δ_S belongs to the classes in S, but its
    division among them is unknown. With lower bounds L_A and L_Aᶜ = 1 - U_A on η_A and η_Aᶜ,

        δ_A = (L_A - Σ_A lower)^+,   δ_Aᶜ likewise,   δ_0 = 1 - Σ lower - δ_A - δ_Aᶜ,

    and the set is empty if and only if δ_0 < 0.

    Attributes
    ----------
    lower, upper : (n_samples, n_classes) arrays
        Smallest and largest probability of each class.
    events : tuple of tuples of int
        The sets S, smallest first.
    amounts : (n_samples, n_events) array
        Event slack δ_S.

    Examples
    --------
    >>> lower = np.array([[0.2, 0.1, 0.1]])
    >>> known = LaminarBounds.from_floors(lower, {(1, 2): np.array([0.5])})
    >>> known.amounts, known.free.round(2), known.upper.round(2)
    (array([[0.3]]), array([0.3]), array([[0.5, 0.7, 0.7]]))
    >>> [each.round(2) for each in known.extremes(np.array([1.0, 0.0, 2.0]))]
    [array([0.4]), array([1.6])]
    """

    events: tuple[Event, ...] = ()
    amounts: Array | None = None

    @classmethod
    def from_floors(cls, lower: Array, floors: dict[Event, Array]) -> Self:
        """Build the set from lower bounds on each class and on events.

        Parameters
        ----------
        lower : (n_samples, n_classes) array
            Lower bound of each class.
        floors : dict of (n_samples,) arrays
            Lower bound of each event. An event of one class raises the lower bound of that class.
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
        """Build the set from lower bounds, events and event slack."""
        free = np.maximum(1.0 - lower.sum(axis=1) - amounts.sum(axis=1), 0.0)
        upper = lower + free[:, None]
        for event, amount in zip(events, amounts.T, strict=True):
            upper[:, list(event)] += amount[:, None]
        return cls(lower, upper, events, amounts)

    @property
    def event_slack(self) -> Array:
        """δ_S, shape (n_samples, n_events)."""
        return np.zeros((len(self.lower), 0)) if self.amounts is None else self.amounts

    @property
    def free(self) -> Array:
        """δ_0, the slack that any class can take; shape (n_samples,)."""
        return self.slack - self.event_slack.sum(axis=1)

    @property
    def crossed(self) -> Mask:
        """Rows whose set is empty; shape (n_samples,)."""
        return ~(self.free >= -ROUNDING)

    def contains(self, probabilities: ArrayLike, tolerance: float = ROUNDING) -> Mask:
        """Rows whose probability vector lies in the set; shape (n_samples,)."""
        probabilities = np.asarray(probabilities, dtype=np.float64)
        inside = (probabilities >= self.lower - tolerance).all(axis=1)
        inside &= np.abs(probabilities.sum(axis=1) - 1.0) <= tolerance
        for event in self.events:
            within = [place for place, each in enumerate(self.events) if set(each) <= set(event)]
            floor = self.lower[:, list(event)].sum(axis=1) + self.event_slack[:, within].sum(axis=1)
            inside &= probabilities[:, list(event)].sum(axis=1) >= floor - tolerance
        return inside

    def extreme(self, gain: Array) -> Array:
        """Class probabilities in the set that maximise Σ_k gain_k η_k, shape (n_samples, n_classes)."""
        return allocate_slack(self.lower, self.free, gain, self.events, self.event_slack)

    def extremes(self, coefficients: ArrayLike) -> tuple[Array, Array]:
        """Minimum and maximum of Σ_k c_k η_k over the set, each of shape (n_samples,).

        The minimum is Σ_k c_k lower_k + Σ_S δ_S min_S c + δ_0 min c; the maximum has max in place of min.
        """
        values = np.broadcast_to(np.asarray(coefficients, dtype=np.float64), self.lower.shape)
        low, high = (np.einsum("nk,nk->n", values, self.extreme(sign * values)) for sign in (-1.0, 1.0))
        return low, high

    def repaired(self) -> tuple["LaminarBounds", Mask]:
        """Scale lower bounds and event slack of empty rows to sum to one, which leaves no free slack."""
        crossed = self.crossed
        total = self.lower.sum(axis=1) + self.event_slack.sum(axis=1)
        scale = np.where(crossed, total, 1.0)[:, None]
        return LaminarBounds.of(self.lower / scale, self.events, self.event_slack / scale), crossed

    def best_case_costs(self) -> Array:
        """Smallest zero-one regret of each class t: (max_{j≠t} η_j - η_t)^+ at its best case."""
        costs = np.empty_like(self.lower)
        for candidate in range(self.lower.shape[1]):
            level = self.best_case(candidate)
            own = level[:, candidate].copy()
            level[:, candidate] = -np.inf
            costs[:, candidate] = np.maximum(level.max(axis=1) - own, 0.0)
        return costs

    def best_case(self, candidate: int) -> Array:
        """Class probabilities that minimise the regret of a class, shape (n_samples, n_classes).

        The class takes its upper bound. The slack of each event without the class is spread over the lowest
        classes of the event, smallest events first, so that the largest rival is as small as possible.
        """
        level = self.lower.copy()
        for event, amount in zip(self.events, self.event_slack.T, strict=True):
            if candidate not in event:
                spread_evenly(level, event, amount)
        level[:, candidate] = self.upper[:, candidate]
        return level


def spread_evenly(level: Array, event: Event, amount: Array) -> None:
    """Add an amount to the classes of an event in place, raising the lowest ones to a common level."""
    members = list(event)
    bottom = level[:, members]
    brim = bottom + amount[:, None]
    height = clipped_sum_root(bottom, brim, bottom.sum(axis=1) + amount)
    level[:, members] = np.clip(height[:, None], bottom, brim)


def laminar(events: Sequence[Event], n_classes: int) -> tuple[Event, ...]:
    """Sort events by size; raise an error if two of them cross, because no closed form exists then.

    Examples
    --------
    >>> laminar([(0, 1, 2), (0, 1)], 4)
    ((0, 1), (0, 1, 2))
    >>> laminar([(0, 1), (1, 2)], 4)
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: assumptions about classes that overlap without one holding
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
    """Identified set under lower bounds on events: `LaminarBounds`, or a box.

    A lower bound on all classes but one is an upper bound on that class. If every event is one class or all
    classes but one, the events may cross and the set is a box.

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
        return LaminarBounds.from_floors(lower, floors)
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
    """Whether two events overlap and neither contains the other."""
    sets = [set(each) for each in events]
    return any(a & b and not a <= b and not b <= a for a in sets for b in sets)


def boxed(events: Sequence[Event], n_classes: int) -> bool:
    """Whether every event is one class or all classes but one."""
    return all(len(each) in (1, n_classes - 1) for each in events)


@dataclass(frozen=True, eq=False)
class LaminarScores:
    """Scores of event slack, or of upper bounds on single classes, row by row.

    Attributes
    ----------
    events : tuple of tuples of int
        Codes of the classes of each event, smallest event first.
    values, plug_in : (n_samples, n_events) arrays
        Scores of the slack of each event, and predictions of a model that was not fitted on the row.
    ceiling, ceiling_plug_in : (n_samples, n_classes) arrays or None
        Scores of the upper bound of each class, and predictions of the model; None without upper bounds.
    """

    events: tuple[tuple[int, ...], ...]
    values: np.ndarray
    plug_in: np.ndarray
    ceiling: np.ndarray | None = None
    ceiling_plug_in: np.ndarray | None = None

    @classmethod
    def joined(cls, parts: "Sequence[LaminarScores]", places: np.ndarray) -> "LaminarScores":
        """Concatenate the scores of several chunks and put the rows in order."""

        def put(several: list[np.ndarray]) -> np.ndarray:
            return np.concatenate(several)[places]

        values, plug_in = put([each.values for each in parts]), put([each.plug_in for each in parts])
        ceilings = [each.ceiling for each in parts if each.ceiling is not None]
        models = [each.ceiling_plug_in for each in parts if each.ceiling_plug_in is not None]
        if not ceilings:
            return cls(parts[0].events, values, plug_in)
        return cls(parts[0].events, values, plug_in, put(ceilings), put(models))

    def empty(self, n_samples: int) -> "LaminarScores":
        """Scores of zero with the same events for `n_samples` rows."""
        shape = (n_samples, len(self.events))
        if self.ceiling is None:
            return LaminarScores(self.events, np.zeros(shape), np.zeros(shape))
        wide = (n_samples, self.ceiling.shape[1])
        return LaminarScores(self.events, np.zeros(shape), np.zeros(shape), np.zeros(wide), np.zeros(wide))

    def add(self, rows: np.ndarray, part: "LaminarScores", weight: float = 1.0) -> None:
        """Add the scores of some rows in place, times a weight."""
        self.values[rows] += weight * part.values
        self.plug_in[rows] += weight * part.plug_in
        for total, here in (
            (self.ceiling, part.ceiling),
            (self.ceiling_plug_in, part.ceiling_plug_in),
        ):
            if total is not None and here is not None:
                total[rows] += weight * here
