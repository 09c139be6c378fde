"""Bounds on decisions with and without advice: against linear programs over potential decisions."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels.identification.advice import ALONE, WITH, Contrast, arm_scores
from tests.reference.assumption_programs import minimise

KINDS = 3


def drawn(seed, n_classes):
    """Shares of kinds of cases, advice, and what both arms show of a population that exists."""
    generator = np.random.default_rng(seed)
    types = [*product(range(n_classes), (0, 1), (0, 1))]  # label, decision alone, decision with advice
    joint = generator.dirichlet(np.full(len(types), 0.7), KINDS)
    arms = np.zeros((2, KINDS, n_classes))
    for number, (label, *decisions) in enumerate(types):
        for arm, decision in enumerate(decisions):
            arms[arm, :, label] += decision * joint[:, number]
    return types, arms, generator.dirichlet(np.ones(KINDS)), generator.integers(0, 2, KINDS)


def program(types, arms, weights, worth):
    """The least and the largest mean worth over all populations that both arms allow."""
    n_classes = arms.shape[2]
    equal = []
    for kind in range(KINDS):
        columns = kind * len(types) + np.arange(len(types))
        equal.append(((columns, np.ones(len(types))), 1.0))
        for arm, label in product((ALONE, WITH), range(n_classes)):
            inside = [each[0] == label and each[1 + arm] == 1 for each in types]
            equal.append(((columns[inside], np.ones(sum(inside))), arms[arm, kind, label]))
    objective = (weights[:, None] * worth).ravel()
    return minimise(objective, equal, []), -minimise(-objective, equal, [])


def worth_of(types, advice, yes, no, way):
    """Worth of a case of each kind and type when `way` maps (decisions, advice) to a decision."""
    return np.array(
        [
            [yes[label] if way(decisions, each) else no[label] for label, *decisions in types]
            for each in advice
        ]
    )


@pytest.mark.parametrize(("seed", "n_classes"), [(0, 2), (1, 2), (2, 3), (3, 4)])
def test_bounds_are_those_of_linear_programs(seed, n_classes):
    types, arms, weights, advice = drawn(seed, n_classes)
    generator = np.random.default_rng(seed)
    yes, no = generator.normal(size=(2, n_classes))
    ways = {
        "alone": (lambda d, a: d[0], Contrast.people(ALONE, yes, no, KINDS)),
        "with": (lambda d, a: d[1], Contrast.people(WITH, yes, no, KINDS)),
        "advice": (lambda d, a: a, Contrast.of_advice(advice, yes, no)),
    }
    worth = {name: worth_of(types, advice, yes, no, way) for name, (way, _) in ways.items()}
    for name, (_, contrast) in ways.items():
        assert_allclose(contrast.bounds(arms, weights), program(types, arms, weights, worth[name]), atol=1e-8)
    for first, second in (("with", "alone"), ("advice", "alone"), ("advice", "with")):
        contrast = ways[first][1] - ways[second][1]
        expected = program(types, arms, weights, worth[first] - worth[second])
        assert_allclose(contrast.bounds(arms, weights), expected, atol=1e-8)
        if first == "with":
            assert_allclose(expected[0], expected[1], atol=1e-8)


@pytest.mark.parametrize("arm", [ALONE, WITH])
@pytest.mark.parametrize("to_yes", [False, True])
def test_overrides_and_their_price_are_those_of_linear_programs(arm, to_yes):
    types, arms, weights, advice = drawn(5, 2)
    yes, no = np.array([0.2, 1.5]), np.array([1.0, -0.3])

    def overridden(decisions, advised):
        return decisions[arm] == to_yes and advised != to_yes

    ones = np.ones(2)
    share = worth_of(types, advice, ones, 0 * ones, overridden)
    contrast = Contrast.override(arm, advice, to_yes, 2)
    assert_allclose(contrast.bounds(arms, weights), program(types, arms, weights, share), atol=1e-8)
    sign = 1.0 if to_yes else -1.0
    price = worth_of(types, advice, sign * (yes - no), 0 * ones, overridden)
    contrast = Contrast.price(arm, advice, to_yes, yes, no)
    assert_allclose(contrast.bounds(arms, weights), program(types, arms, weights, price), atol=1e-8)
    same = worth_of(types, advice, ones, 0 * ones, lambda d, a: d[arm] == a)
    contrast = Contrast.agreement(arm, advice, 2)
    assert_allclose(contrast.bounds(arms, weights), program(types, arms, weights, same), atol=1e-8)


def test_false_negatives_and_false_positives_differ_by_what_both_arms_show():
    _, arms, weights, _ = drawn(6, 2)
    harm, lost = (np.array([0.0, 1.0]), np.zeros(2)), (np.zeros(2), np.array([1.0, 0.0]))
    seen = weights @ (arms[WITH] - arms[ALONE])
    for (yes, no), expected in ((harm, seen[1]), (lost, -seen.sum() + seen[1])):
        alone, shown = (Contrast.people(arm, yes, no, KINDS) for arm in (ALONE, WITH))
        assert_allclose((shown - alone).bounds(arms, weights), [expected] * 2, atol=1e-12)


def test_scores_have_the_mean_of_the_arm_whatever_is_predicted():
    generator = np.random.default_rng(0)
    arm, seen = generator.integers(0, 2, 400), generator.integers(0, 2, (400, 2)).astype(float)
    chance = np.full(400, arm.mean())
    means = np.stack([seen[arm == each].mean(axis=0) for each in (ALONE, WITH)])
    for predicted in (np.zeros((2, 400, 2)), np.broadcast_to(means[:, None], (2, 400, 2))):
        assert_allclose(arm_scores(seen, arm, chance, predicted).mean(axis=1), means, atol=1e-12)
