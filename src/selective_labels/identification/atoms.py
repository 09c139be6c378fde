"""What an assumption about refused cases says of everybody: a floor under the chance of an event."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from selective_labels.identification.water_level import Array

Function = Callable[[Array], Array]
# Decision-makers who decide for fewer cases than this show nothing of the rest.
NOBODY = 1e-12
# Leniencies that are closer than this have no chord.
CLOSE = 1e-9


@dataclass(frozen=True)
class Floor:
    """P(A | D=0, x, z) >= g(m_z), m_z = P(Y in A | D=1, x, z): a floor under η_A by every decision-maker.

    η_A >= F_z = λ_z m_z + (1 - λ_z) g(m_z)

    Attributes
    ----------
    event : tuple of int
        Codes of the classes in A.
    refused, slope : callables of an array
        g and its derivative.
    singled_out : bool
        Whether it holds for each decision-maker; else only for all together.
    pooled : bool
        Whether it says the same of all decision-makers taken together.
    averaged : bool
        Whether it holds for each, but without an instrument: then for the mean over them alone.

    Examples
    --------
    Refused cases are at least as risky as accepted ones:

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
        """F_z from P(Y in A, D=1 | x, z) and λ_z; zero where nobody is accepted."""
        seen = leniency > NOBODY
        share = share_of(chance, leniency)
        found = chance + (1.0 - leniency) * self.refused(share)
        return np.where(seen, found, 0.0)


@dataclass(frozen=True)
class Chord:
    """A floor under η_A by two decision-makers, z more lenient than z'.

    slope:   η_A >= (p_Az - p_Az' - 2ρ) / (λ_z - λ_z')
    beyond:  η_A >= p_Az + (1 - λ_z) (p_Az - p_Az') / (λ_z - λ_z')

    The first is a bias that differs by 2ρ at most between any two (ρ = 0: NUCEM). The second says that
    refused cases are at least as risky as the cases that the more lenient one alone accepts.

    Attributes
    ----------
    event : tuple of int
    radius : float
        ρ, for slopes.
    beyond : bool

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
        """The floor by (p_A, λ) of the two; the gap of leniency must be positive."""
        slope = (lenient[0] - strict[0] - 2.0 * self.radius) / (lenient[1] - strict[1])
        return lenient[0] + (1.0 - lenient[1]) * slope if self.beyond else slope


AnyFloor = Floor | Chord


def share_of(chance: Array, leniency: Array) -> Array:
    """M = p_A / λ, one half where nobody is accepted: nothing depends on it there."""
    half = np.full(np.broadcast_shapes(np.shape(chance), np.shape(leniency)), 0.5)
    share = np.divide(chance, leniency, out=half, where=leniency > NOBODY)
    return np.clip(share, 0.0, 1.0)


def ratio(factor: float) -> tuple[Function, Function]:
    """G = min(γ m, 1) and its derivative: refused cases are γ times as risky.

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
    """G = θm / (1 - m + θm) and its derivative: the odds of refused cases are θ times as large.

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
    """G = c, whatever is seen of accepted cases.

    Examples
    --------
    >>> constant(0.2)[0](np.array([0.5]))
    array([0.2])
    """
    return (lambda m: np.full_like(m, share), np.zeros_like)


def mirrored(refused: Function, slope: Function) -> tuple[Function, Function]:
    """h(m) = 1 - g(1 - m): a ceiling g on an event is the floor h of its complement.

    Examples
    --------
    >>> h, slope = mirrored(*ratio(2.0))
    >>> h(np.array([0.75, 0.25])), slope(np.array([0.75, 0.25]))
    (array([0.5, 0. ]), array([2., 0.]))
    """
    return (lambda m: 1.0 - refused(1.0 - m), lambda m: slope(1.0 - m))


def complement(event: Sequence[int], n_classes: int) -> tuple[int, ...]:
    """All other classes."""
    return tuple(code for code in range(n_classes) if code not in set(event))


def best_floor(
    floor: AnyFloor, joint: Array, propensity: Array | None = None, *, least: float = CLOSE
) -> Array:
    """Max over decision-makers (or pairs of them) of one floor, (n_samples,).

    Parameters
    ----------
    floor : Floor or Chord
    joint : (n_decision_makers, n_samples, n_classes + 1) array
        The unlabeled class first.
    propensity : (n_samples, n_decision_makers) array, optional
        For floors of all decision-makers taken together.
    least : float
        Leniency of one, and gap of two, below which they are left out: estimates need some distance.

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
