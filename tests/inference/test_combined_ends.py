"""Ends of every kind of metric under combinations, at known probabilities, against linear programs.

Populations of four cells each, side by side in one program over response types. A ratio θ is the largest if
and only if the largest E[(c - θ g) · η] is zero, so each claim needs one program however many populations
there are: what the program finds is read off population by population.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from selective_labels.identification.costs import linear_extremes
from selective_labels.identification.event_bounds import LaminarBounds, LaminarScores
from selective_labels.identification.prevalence import Share
from selective_labels.inference.bound_estimators import (
    KnownRatioDifference,
    RankSeparation,
    Ratio,
    Regret,
    Separation,
)
from selective_labels.inference.evidence import Evidence
from tests.identification.test_algebra import CASES, TOLERANCE, closed_set, populations

N_CELLS = 4
FAST = 10
ALL = 200
SIZES = [(2, 2), (2, 3), (3, 2), (3, 3), (4, 2), (4, 3)]
# A few of each at once; all sizes and 200 draws of each in the long studies.
sizes = pytest.mark.parametrize(
    ("n_classes", "n_makers", "n_draws"),
    [
        *((*size, FAST) for size in [(2, 2), (3, 2), (4, 2)]),
        *(pytest.param(*size, ALL, marks=pytest.mark.statistical) for size in SIZES),
    ],
)
each_case = pytest.mark.parametrize("case", CASES)


def evidence_of(known):
    """Exact probabilities in the place of scores."""
    if isinstance(known, LaminarBounds):
        return Evidence(
            known.lower,
            known.free,
            known.lower,
            LaminarScores(known.events, known.event_slack, known.event_slack),
        )
    nothing = np.zeros((len(known.lower), 0))
    box = LaminarScores((), nothing, nothing, known.upper, known.upper)
    return Evidence(known.lower, 1.0 - known.lower.sum(axis=1), known.lower, box)


@dataclass
class Side:
    """Populations side by side."""

    program: object
    blocks: list
    masses: list
    evidence: list
    generator: np.random.Generator

    def residuals(self, gains, sign):
        """max (sign 1) or min of E[gain · η] in each population; `gains` has one array for each."""
        scaled = np.concatenate([mass[:, None] * gain for mass, gain in zip(self.masses, gains, strict=True)])
        eta = self.program.optimal_probabilities(-sign * scaled)
        return np.array([np.sum(scaled[cells] * eta[cells]) for cells in self.blocks])


def side_by_side(case, n_classes, n_makers, n_draws, *, shares=False):
    """Populations in which the case is possible, and if asked for a share of the last class that is, too."""
    ((generator, program, _),) = populations(case, n_classes, n_makers, 1, n_cells=N_CELLS * n_draws)
    blocks = [np.arange(N_CELLS) + N_CELLS * number for number in range(n_draws)]
    program.mass = np.concatenate([generator.dirichlet(np.ones(N_CELLS)) for _ in blocks])
    floors, _ = CASES[case](n_classes)
    masses, found = [program.mass[cells] for cells in blocks], []
    event = np.eye(n_classes)[-1]
    for cells, mass in zip(blocks, masses, strict=True):
        known = closed_set(program.joint[cells], floors)
        evidence = evidence_of(known)
        if shares:
            ends = [mass @ each for each in linear_extremes(event, known)]
            low, high = np.sort(generator.uniform(*ends, 2))
            program.share_between([n_classes - 1], low, high, cells)
            share = Share(event, low, high, np.ones(N_CELLS, dtype=bool))
            evidence = evidence.with_shares((share,), mass)
        found.append(evidence)
    return Side(program, blocks, masses, found, generator)


def ratios(generator, n_classes):
    """Rates, F1, a cost, and paired differences of two rules: numerator and denominator."""
    first, second = (np.eye(n_classes)[generator.integers(0, n_classes, N_CELLS)] for _ in range(2))
    soft, event = generator.random((N_CELLS, 1)), np.tile(np.eye(n_classes)[-1], (N_CELLS, 1))
    others, positive = 1.0 - event, first[:, -1:]
    cost = generator.random((n_classes, n_classes))
    ones = np.ones((N_CELLS, n_classes))
    return {
        "tpr": (soft * event, event),
        "fpr": (soft * others, others),
        "f1": (2.0 * positive * event, positive + event),
        "cost": (first @ cost, ones),
        "difference of accuracy": (first - second, ones),
        "difference of tpr": ((first - second)[:, -1:] * event, event),
    }


@sizes
@each_case
@pytest.mark.parametrize("shares", [False, True], ids=["", "share"])
@pytest.mark.filterwarnings("ignore:two ways to use")
def test_ratios_are_those_of_the_program(case, n_classes, n_makers, n_draws, shares):
    side = side_by_side(case, n_classes, n_makers, n_draws, shares=shares)
    chosen = [ratios(side.generator, n_classes) for _ in side.blocks]
    for name in chosen[0]:
        pairs = [each[name] for each in chosen]
        ends = [
            Ratio(*pair, signed="difference" in name).ends(evidence, mass)
            for pair, evidence, mass in zip(pairs, side.evidence, side.masses, strict=True)
        ]
        for number, sign in enumerate((-1.0, 1.0)):
            gains = [
                above - pair[number].value * below for (above, below), pair in zip(pairs, ends, strict=True)
            ]
            np.testing.assert_allclose(side.residuals(gains, sign), 0.0, atol=TOLERANCE, err_msg=name)


@sizes
@each_case
def test_differences_of_predictive_values(case, n_classes, n_makers, n_draws):
    """Two rules whose conditions differ: linear in η, each over its own condition."""
    side, event = side_by_side(case, n_classes, n_makers, n_draws), np.eye(n_classes)[-1]
    gains, ends = [], []
    for evidence, mass in zip(side.evidence, side.masses, strict=True):
        first, second = side.generator.uniform(0.1, 1.0, (2, N_CELLS, 1))
        parts = [Ratio(each * event, np.repeat(each, n_classes, axis=1)) for each in (first, second)]
        ends.append(KnownRatioDifference(*parts).ends(evidence, mass))
        scales = [float(mass @ each[:, 0]) for each in (first, second)]
        gains.append(first * event / scales[0] - second * event / scales[1])
    for number, sign in enumerate((-1.0, 1.0)):
        claimed = [pair[number].value for pair in ends]
        np.testing.assert_allclose(side.residuals(gains, sign), claimed, atol=TOLERANCE)


def separations(generator, mass, n_classes):
    """Balanced accuracy of a rule, AUC of a score, and the difference of two scores; with their gains."""
    hard, levels = generator.integers(0, 2, N_CELLS).astype(float), generator.integers(0, 3, (2, N_CELLS))
    hard[:2] = 0.0, 1.0
    ranks = [
        np.sum(mass * (each[:, None] > each) + 0.5 * mass * (each[:, None] == each), axis=1)
        for each in levels
    ]
    event = n_classes - 1
    return [
        (Separation(hard, event, 0.5), hard, 0.5, 0.5),
        (RankSeparation(levels[:1], event, 1.0), ranks[0], 1.0, 0.5),
        (RankSeparation(levels, event, 1.0, 0.0, (1.0, -1.0)), ranks[0] - ranks[1], 1.0, 0.0),
    ]


@sizes
@each_case
@pytest.mark.parametrize("shares", [False, True], ids=["", "share"])
@pytest.mark.filterwarnings("ignore:two ways to use")
def test_balanced_accuracy_and_auc_are_those_of_programs(case, n_classes, n_makers, n_draws, shares):
    """The ends are those of a search over shares: a program reaches them there, and none is beyond."""
    side = side_by_side(case, n_classes, n_makers, n_draws, shares=shares)
    chosen = [separations(side.generator, mass, n_classes) for mass in side.masses]
    for kind in range(3):
        ends = [
            each[kind][0].ends(evidence, mass)
            for each, evidence, mass in zip(chosen, side.evidence, side.masses, strict=True)
        ]
        for end, sign in enumerate((-1.0, 1.0)):
            claimed = np.array([pair[end].value for pair in ends])
            searched = [
                _furthest_out(mass, evidence, each[kind], sign)
                for mass, evidence, each in zip(side.masses, side.evidence, chosen, strict=True)
            ]
            np.testing.assert_allclose([each[1] for each in searched], claimed, atol=TOLERANCE, rtol=0)
            there = _separations(side, chosen, kind, [each[0] for each in searched], sign)
            np.testing.assert_allclose(there, claimed, atol=TOLERANCE, rtol=0)
            elsewhere = [
                side.generator.uniform(*_possible(*each))
                for each in zip(side.masses, side.evidence, strict=True)
            ]
            beyond = sign * (_separations(side, chosen, kind, elsewhere, sign) - claimed)
            assert (beyond <= TOLERANCE).all()


def _separations(side, chosen, kind, shares, sign):
    event = np.eye(side.program.n_classes)[-1]
    gains = [each[kind][1][:, None] * event for each in chosen]
    scaled = np.concatenate([mass[:, None] * gain for mass, gain in zip(side.masses, gains, strict=True)])
    fixed = [
        ([side.program.n_classes - 1], cells, share) for cells, share in zip(side.blocks, shares, strict=True)
    ]
    eta = side.program.optimal_probabilities(-sign * scaled, equal_shares=fixed)
    found = []
    for cells, mass, each, share in zip(side.blocks, side.masses, chosen, shares, strict=True):
        _, gain, scale, centre = each[kind]
        covariance = np.sum(scaled[cells] * eta[cells]) - mass @ gain * share
        found.append(centre + scale * covariance / (share * (1.0 - share)))
    return np.array(found)


def _event_range(evidence):
    """Smallest and largest chance of the last class in each cell."""
    event = np.zeros_like(evidence.lower)
    event[:, -1] = 1.0
    return [evidence.extreme(sign * event)[:, -1] for sign in (-1.0, 1.0)]


def _possible(mass, evidence):
    """Shares of the last class that are possible, and stated."""
    low, high = (float(mass @ each) for each in _event_range(evidence))
    for share in evidence.shares:
        low, high = max(low, share.low), min(high, share.high)
    return low, high


def _furthest_out(mass, evidence, separation, sign):
    """The share at which an end is reached, and the end: cells are filled in the order of gains."""
    _, gain, scale, centre = separation
    low, high = _event_range(evidence)
    order = np.argsort(-sign * gain, kind="stable")
    room = (mass * (high - low))[order]
    start, kinks = mass @ low, mass @ low + np.append(0.0, np.cumsum(room))

    def value(share):
        allocate_slack = np.clip(share - start - np.append(0.0, np.cumsum(room)[:-1]), 0.0, room)
        joint = mass @ (gain * low) + gain[order] @ allocate_slack
        return centre + scale * (joint - mass @ gain * share) / (share * (1.0 - share))

    between = _possible(mass, evidence)
    edges = np.unique([*between, *kinks[(kinks > between[0]) & (kinks < between[1])]])
    tried = list(edges)
    for left, right in pairwise(edges):
        inside = minimize_scalar(
            lambda share: -sign * value(share),
            bounds=(left, right),
            method="bounded",
            options={"xatol": 1e-12},
        )
        tried.append(inside.x)
    best = max(tried, key=lambda share: sign * value(share))
    return best, value(best)


@sizes
@each_case
def test_regrets_are_those_of_the_program(case, n_classes, n_makers, n_draws):
    """The largest regret by the strongest rival of each cell, the smallest by a program of its own."""
    side = side_by_side(case, n_classes, n_makers, n_draws)
    rules = [side.generator.integers(0, n_classes, N_CELLS) for _ in side.blocks]
    ends = [
        Regret(np.eye(n_classes)[rule]).ends(evidence, mass)
        for rule, evidence, mass in zip(rules, side.evidence, side.masses, strict=True)
    ]
    largest = np.full((len(side.blocks), N_CELLS), -np.inf)
    for rival in range(n_classes):
        contrast = np.concatenate([np.eye(n_classes)[rival] - np.eye(n_classes)[rule] for rule in rules])
        eta = side.program.optimal_probabilities(-contrast)
        largest = np.maximum(largest, np.sum(contrast * eta, axis=1).reshape(largest.shape))
    expected = [mass @ each for mass, each in zip(side.masses, largest, strict=True)]
    np.testing.assert_allclose([high.value for _, high in ends], expected, atol=TOLERANCE)
    smallest = side.program.smallest_regrets(np.concatenate(rules))
    sharp = np.array([mass @ smallest[cells] for mass, cells in zip(side.masses, side.blocks, strict=True)])
    np.testing.assert_allclose([low.value for low, _ in ends], sharp, atol=TOLERANCE)
