"""Laws of combining: adding never widens, the order does not matter, nothing adds nothing."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from selective_labels import Bounds
from selective_labels.identification.costs import linear_extremes, worst_case_costs
from selective_labels.identification.event_bounds import identified_set
from selective_labels.identification.prevalence import (
    Share,
    minimax_multiplier,
    shared_ratio_extremes,
    tilted_regrets,
)

SEEDS = st.integers(0, 100_000)
EVENTS = [(3,), (2, 3), (1, 2, 3), (0,)]
ROUNDING = 1e-9


def draw(seed, n=6):
    """Class probabilities, and bounds and floors that they meet."""
    generator = np.random.default_rng(seed)
    eta = generator.dirichlet(np.ones(4), n)
    lower = eta * generator.uniform(0.2, 0.9, (n, 4))
    floors = {event: eta[:, list(event)].sum(axis=1) * generator.uniform(0.7, 1.0, n) for event in EVENTS}
    return generator, eta, lower, floors


@settings(deadline=None, max_examples=100)
@given(SEEDS)
def test_another_floor_never_widens_and_the_truth_stays_inside(seed):
    generator, eta, lower, floors = draw(seed)
    coefficients = generator.standard_normal((len(eta), 4))
    some = {}
    before = linear_extremes(coefficients, identified_set(lower, some))
    for event in EVENTS:
        some = {**some, event: floors[event]}
        known = identified_set(lower, some)
        after = linear_extremes(coefficients, known)
        assert (after[0] >= before[0] - ROUNDING).all()
        assert (after[1] <= before[1] + ROUNDING).all()
        assert known.contains(eta).all()
        assert not known.crossed.any()
        before = after
    assert (worst_case_costs(known) <= worst_case_costs(identified_set(lower, {})) + ROUNDING).all()


@settings(deadline=None, max_examples=50)
@given(SEEDS)
def test_the_order_does_not_matter(seed):
    generator, _, lower, floors = draw(seed)
    coefficients = generator.standard_normal((6, 4))
    shuffled = {event: floors[event] for event in generator.permutation(np.array(EVENTS, dtype=object))}
    one, other = (linear_extremes(coefficients, identified_set(lower, each)) for each in (floors, shuffled))
    np.testing.assert_array_equal(one, other)


@settings(deadline=None, max_examples=50)
@given(SEEDS)
def test_no_floor_is_the_set_of_lower_bounds(seed):
    generator, _, lower, _ = draw(seed)
    coefficients = generator.standard_normal((6, 4))
    room = 1.0 - lower.sum(axis=1, keepdims=True)
    plain = linear_extremes(coefficients, Bounds(lower, lower + room))
    np.testing.assert_allclose(linear_extremes(coefficients, identified_set(lower, {})), plain, atol=1e-12)


@settings(deadline=None, max_examples=50)
@given(SEEDS)
def test_a_share_never_widens_and_a_narrower_one_narrows(seed):
    generator, eta, lower, floors = draw(seed)
    coefficients = generator.standard_normal((6, 4))
    members = np.array([0.0, 0.0, 1.0, 1.0])
    known, truth = identified_set(lower, floors), float((eta @ members).mean())
    free = [each.mean() for each in linear_extremes(coefficients, known)]
    ends = [free]
    for reach in (0.1, 0.02, 0.0):
        share = Share(members, max(truth - reach, 0.0), min(truth + reach, 1.0), np.ones(6, dtype=bool))
        ends.append(shared_ratio_extremes(coefficients, np.ones((6, 4)), known, [share]))
    for wide, narrow in pairwise(ends):
        assert narrow[0] >= wide[0] - ROUNDING
        assert narrow[1] <= wide[1] + ROUNDING
    value = float((coefficients * eta).sum(axis=1).mean())
    assert ends[-1][0] - ROUNDING <= value <= ends[-1][1] + ROUNDING


@settings(deadline=None, max_examples=30)
@given(SEEDS)
def test_a_known_share_never_raises_the_least_worst_regret_and_bounds_that_of_the_rule(seed):
    """νπ + E[w_t] at any ν is at least the regret of t at every η with the share; ν = 0 is one of them."""
    generator, eta, lower, floors = draw(seed)
    members, known = np.array([0.0, 0.0, 0.0, 1.0]), identified_set(lower, floors)
    truth, even = float((eta @ members).mean()), np.ones(len(eta))
    share = Share(members, truth, truth, np.ones(len(eta), dtype=bool))
    cost = generator.random((4, 4)) if seed % 2 else None
    multiplier = minimax_multiplier(known, share, even, cost)
    regrets = tilted_regrets(known, members, multiplier, cost)
    rule = regrets.argmin(axis=1)
    claimed = multiplier * truth + regrets.min(axis=1).mean()
    assert claimed <= worst_case_costs(known, cost).min(axis=1).mean() + ROUNDING
    expected = eta @ (1.0 - np.eye(4) if cost is None else cost)
    regret = expected[np.arange(len(eta)), rule] - expected.min(axis=1)
    assert regret.mean() <= claimed + ROUNDING


def test_the_rule_with_a_share_is_the_best_of_all_rules():
    """Two classes, many cells: no rule that cuts by the middle of the bounds has less worst-case regret."""
    generator = np.random.default_rng(0)
    lower = generator.dirichlet(np.ones(3), 400)[:, :2]
    known, members = identified_set(lower, {}), np.array([0.0, 1.0])
    share = Share(members, 0.55, 0.55, np.ones(400, dtype=bool))
    grid = np.linspace(-2.0, 2.0, 81)
    tilted = [tilted_regrets(known, members, nu) for nu in grid]

    def worst(rule):
        rows = np.arange(400)
        return min(nu * 0.55 + each[rows, rule].mean() for nu, each in zip(grid, tilted, strict=True))

    chosen = tilted_regrets(known, members, minimax_multiplier(known, share, np.ones(400))).argmin(axis=1)
    middle, width = lower[:, 1] - lower[:, 0], 1.0 - lower.sum(axis=1)
    others = [(middle + shift * width > 0.0).astype(int) for shift in np.linspace(-1.0, 1.0, 41)]
    others += [generator.integers(0, 2, 400) for _ in range(10)]
    assert worst(chosen) <= min(map(worst, others)) + 2e-3  # the scan has steps of .04
