"""Laws of combining: adding never widens, the order does not matter, nothing adds nothing."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from selective_labels.identification.bounds import Bounds
from selective_labels.identification.costs import linear_extremes, worst_case_costs
from selective_labels.identification.earmarked import identified_set
from selective_labels.identification.multipliers import Share, shared_ratio_extremes

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
