"""Which decision-makers put a floor under an event."""

import numpy as np

from selective_labels.assumptions.combination import FloorArms, arm_weights, floor_pool, floor_scores
from selective_labels.identification.event_bounds import Floor, ratio
from selective_labels.nuisance.score_formulas import Rows

INFORMED = Floor((1,), lambda m: m, np.ones_like)


def arms(shares, leniency, n=200, floor=INFORMED, propensity=None):
    """Decision-makers with the same share of the event among accepted cases at every row."""
    leniency = np.tile(np.array(leniency)[:, None], n)
    chance = np.array(shares)[:, None] * leniency
    chances = np.full((n, len(shares)), 1.0 / len(shares)) if propensity is None else propensity
    return FloorArms.of(floor, chance, leniency, chances, 0.01)


def test_those_near_the_best_are_pooled_and_others_are_not():
    found = arms([0.2, 0.49, 0.5], [0.5, 0.5, 0.5])
    assert floor_pool(found, 2000).tolist() == [False, True, True]
    assert floor_pool(found, np.inf).tolist() == [False, False, True]
    assert floor_pool(found, 20).tolist() == [True, True, True]


def test_weights_are_inverse_to_noise_and_sum_to_one():
    found = arms([0.3, 0.3, 0.3], [0.2, 0.4, 0.8])
    weight = arm_weights(found, np.ones(3, dtype=bool), 2000)
    np.testing.assert_allclose(weight.sum(axis=0), 1.0)
    np.testing.assert_allclose(weight[:, 0], np.array([0.2, 0.4, 0.8]) / 1.4)  # as cases are accepted


def test_one_stands_alone_where_it_leads():
    found = arms([0.2, 0.9], [0.5, 0.5])
    assert arm_weights(found, np.ones(2, dtype=bool), 2000)[:, 0].tolist() == [0.0, 1.0]


def test_a_row_that_reaches_nobody_of_the_pool_is_judged_by_those_it_reaches():
    propensity = np.tile([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], (100, 1))
    found = arms([0.6, 0.2, 0.1], [0.5, 0.5, 0.5], propensity=propensity)
    pool = floor_pool(found, 2000)
    assert pool.tolist() == [True, False, False]
    weight = arm_weights(found, pool, 2000)
    assert weight[:, 0].tolist() == [1.0, 0.0, 0.0]
    assert weight[:, 1].tolist() == [0.0, 0.0, 1.0]


def test_an_average_floor_is_never_above_the_best_even_where_nobody_accepts():
    """With nobody allowed all are averaged; "all together as one" would not be implied by a ratio."""
    generator = np.random.default_rng(0)
    n, floor = 300, Floor((1,), *ratio(3.0))
    leniency = generator.uniform(0.0, 0.02, (3, n))
    share = generator.random((3, n))
    joint = np.stack([1.0 - leniency, leniency * (1.0 - share), leniency * share], axis=2)
    rows = Rows(joint, joint, np.zeros(n, dtype=int), np.full(n, -1), np.full((n, 3), 1 / 3), 0.0)
    best = floor.values(leniency * share, leniency).max(axis=0)
    assert (floor_scores(rows, floor, 0.01)[1] <= best + 1e-12).all()
