"""Who bounds a class: pools of decision-makers that follow differences and not noise."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from selective_labels import SelectiveLabels, evaluate
from selective_labels.datasets.oracle import normal_rule
from selective_labels.nuisance.score_formulas import Pools, pooled_envelope_scores
from selective_labels.nuisance.scores import class_pools, class_surplus

SKILL = np.linspace(0.6, 2.4, 8) * np.where(np.arange(8) % 2, -1, 1)


def skilled(n_samples, generator):
    """Decision-makers who are equally lenient, and see opposite things in the hidden variable."""
    X, hidden = generator.normal(size=(n_samples, 4)), generator.normal(size=n_samples)
    maker = generator.integers(8, size=n_samples)
    label = (generator.random(n_samples) < expit(3.0 * hidden)).astype(int)
    decided = generator.random(n_samples) < expit(SKILL[maker] * hidden + 0.3 * X[:, 0])
    return X, np.where(decided, label, -1), maker


def sharp_width():
    """E[1 - Σ_k max_z P(Y=k, D=1 | x, z)] of that design."""
    hidden, weight = normal_rule(0.6)
    x, density = normal_rule(1.0)
    outcome = np.stack([expit(-3.0 * hidden), expit(3.0 * hidden)])
    decision = expit(SKILL[:, None, None] * hidden + 0.3 * x[:, None])
    joint = np.einsum("ku,zxu,u->xzk", outcome, decision, weight)
    return 1.0 - density @ joint.max(axis=1).sum(axis=1)


def test_skill_is_found_where_leniency_tells_nothing():
    X, y, maker = skilled(4000, np.random.default_rng(0))
    pools = class_pools(class_surplus(np.eye(3)[y][:, :2], X), maker, np.arange(8), 8)
    # Even decision-makers accept class 1, odd ones class 0; the strongest of each is in the pool.
    assert not pools.members[::2, 0].any()
    assert not pools.members[1::2, 1].any()
    assert pools.members[7, 0]
    assert pools.members[6, 1]


def test_bounds_follow_skill():
    """Bands of leniency, which is the same for all, are 1.2 and more times as wide as sharp."""
    seeds = np.random.SeedSequence(20261116).spawn(10)
    widths = []
    for seed in seeds:
        X, y, maker = skilled(4000, np.random.default_rng(seed))
        result = evaluate(
            np.ones(4000, dtype=int), X, y, decision_maker=maker, nuisance="logistic", random_state=0
        )
        widths.append(result.width)
    # Widths have a standard deviation of about .03, so their mean one of .01: four of them are left.
    assert np.mean(widths) / sharp_width() < 1.25


def test_equal_decision_makers_are_one_pool():
    """In nineteen of twenty samples, the level of the test; 6 of 40 has a false alarm of 1e-2."""
    generator = np.random.default_rng(1)
    one_pool = 0
    for _ in range(40):
        maker = generator.integers(8, size=2000)
        seen = generator.multinomial(1, [0.4, 0.3, 0.3], size=2000)[:, 1:]
        one_pool += class_pools(seen - seen.mean(axis=0), maker, np.arange(8), 8).members.all()
    assert one_pool >= 34


def test_leniency_alone_is_one_coordinate():
    """A class that is rarely seen learns who is lenient from the others."""
    generator = np.random.default_rng(2)
    maker = generator.integers(4, size=4000)
    decided = generator.random(4000) < np.array([0.2, 0.4, 0.6, 0.9])[maker]
    label = generator.choice(3, p=[0.02, 0.49, 0.49], size=4000)
    seen = decided[:, None] & (label[:, None] == np.arange(3))
    pools = class_pools(seen - seen.mean(axis=0), maker, np.arange(4), 4)
    assert_array_equal(pools.members, np.repeat([[False], [False], [False], [True]], 3, axis=1))
    assert_allclose(pools.lost, 0.0, atol=1e-12)


def test_what_is_lost_is_what_the_pool_gives_up():
    maker = np.repeat(np.arange(2), 500)
    share = np.repeat([0.5, 0.52], 500)
    seen = (np.tile(np.arange(500), 2) < 500 * share).astype(float)[:, None]
    together = class_pools(seen - seen.mean(axis=0), maker, np.arange(2), 2)
    assert together.members.all()  # .02 is within noise
    assert together.lost == 0.0  # and by noise alone: nothing is thought to be lost
    bands = class_pools(seen - seen.mean(axis=0), maker, np.zeros(2, dtype=int), 1)
    assert_array_equal(bands.members, [[True]])


def test_a_pool_is_scored_by_all_its_arms():
    joint = np.array([[[0.7, 0.3]], [[0.5, 0.5]], [[0.4, 0.6]]])
    share, pools = np.array([[0.5, 0.2, 0.3]]), Pools(np.array([[False], [True], [True]]), 0.1)
    inside = pooled_envelope_scores(joint, np.array([1]), np.array([0]), share, pools, 100)
    plug_in = (0.2 * 0.5 + 0.3 * 0.6) / 0.5
    assert_allclose(inside.plug_in, plug_in)
    assert_allclose(inside.values, plug_in + (1.0 - plug_in) / 0.5)
    outside = pooled_envelope_scores(joint, np.array([0]), np.array([0]), share, pools, 100)
    assert_allclose(outside.values, plug_in)
    assert_allclose(outside.lost, 0.1)


def test_an_arm_far_ahead_at_a_row_replaces_the_pool_there():
    joint = np.array([[[0.7, 0.3], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]]])
    share, pools = np.full((2, 2), 0.5), Pools(np.array([[False], [True]]), 0.0)
    scores = pooled_envelope_scores(joint, np.array([0, 0]), np.array([0, 0]), share, pools, 2000)
    assert_allclose(scores.plug_in[:, 0], [0.5, 0.9])  # .4 is more than 2 √(4 / 2000)


def test_a_pool_out_of_reach_is_replaced_by_all_arms():
    joint = np.array([[[0.7, 0.3]], [[0.5, 0.5]]])
    share, pools = np.array([[1.0, 0.0]]), Pools(np.array([[False], [True]]), 0.0)
    scores = pooled_envelope_scores(joint, np.array([0]), np.array([-1]), share, pools, 2000)
    assert_allclose(scores.values, 0.0)  # Manski's score: the seen label, of which there is none


def two_branches(n_cases=6000):
    """Two decision-makers in each of two strata; the most lenient of all never works in the second."""
    generator = np.random.default_rng(5)
    stratum, second = generator.integers(2, size=(2, n_cases))
    maker = 2 * stratum + second
    accepted = generator.random(n_cases) < np.array([0.2, 0.9, 0.3, 0.6])[maker]
    y = np.where(accepted, (generator.random(n_cases) < 0.4).astype(int), -1)
    return stratum, maker, y


def test_where_the_best_of_all_never_works_the_best_of_the_stratum_bounds():
    stratum, maker, y = two_branches()
    surplus = class_surplus(np.eye(3)[y][:, :2], strata=stratum)
    pools = class_pools(surplus, maker, np.arange(4), 4)
    assert_array_equal(pools.members[:, 1], [False, True, False, False])
    shares = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    members, lost = pools.of_rows(shares, 0.01)
    assert_array_equal(members[0], pools.members)
    assert_array_equal(members[1, :, 1], [False, False, False, True])
    assert_allclose(lost, 0.0, atol=1e-12)


def test_bounds_within_strata_are_sharp_and_nobody_is_out_of_reach():
    stratum, maker, y = two_branches()
    data = SelectiveLabels.from_arrays(stratum[:, None], y, decision_maker=maker, strata=stratum)
    found = evaluate(np.ones(len(y), dtype=int), data, metric="share", nuisance="logistic", random_state=0)
    sharp = np.mean(np.where(stratum == 0, 0.9, 0.6)) * np.array([0.4, 0.6])
    # Four standard errors of a share of some 1,500 rows in each stratum.
    assert_allclose([found.lower, 1.0 - found.upper], sharp, atol=4 * 0.5 / np.sqrt(3000))
    assert found.sample.clipped_share == 0.0
