"""Bounds of policies against linear programs over all laws of labels and potential decisions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels.evaluation.policy import PolicyActions, mixed, read_policy_measures
from selective_labels.evaluation.policy_value import PolicyValue
from selective_labels.inference.evidence import Evidence
from tests.evaluation.populations import Population

TOLERANCE = 1e-8
TEAMS = ("score", "both", "either", "deferred")


def laid_out(population, team, risk, share, generator):
    """A course on the rows, and (accept, human) of each kind by an obvious rule of its own."""
    ones, zeros = np.ones(population.n_kinds), np.zeros(population.n_kinds)
    deferred = generator.random(population.n_kinds)
    modes = {
        "score": ((ones, zeros), (zeros, zeros)),
        "both": ((zeros, ones), (zeros, zeros)),
        "either": ((ones, zeros), (zeros, ones)),
        "deferred": ((1.0 - deferred, deferred), (zeros, deferred)),
    }[team]
    # Fill up from the lowest risk; kinds have different ones.
    left, below = share, np.zeros(population.n_kinds)
    for kind in np.argsort(risk):
        below[kind] = min(1.0, left / population.kind_weights[kind])
        left = max(left - population.kind_weights[kind], 0.0)
    rows = [tuple(each[population.kind] for each in mode) for mode in modes]
    return PolicyActions(*rows, risk[population.kind], acceptance=share), mixed(below, *modes)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("team", TEAMS)
def test_bounds_are_those_of_the_linear_program(team, n_classes, seed):
    generator = np.random.default_rng([seed, n_classes, TEAMS.index(team)])
    population = Population(generator, n_classes=n_classes)
    actions, kinds = laid_out(population, team, generator.permutation(6) * 1.0, 0.55, generator)
    cost = generator.uniform(-1.0, 5.0, (n_classes, 2))
    for policy_measure in read_policy_measures(None, np.arange(n_classes), n_classes - 1, cost):
        value = PolicyValue.of(policy_measure, population.sample.data, (1.0, actions))
        ends = [end.value for end in value.ends(population.evidence, population.weights)]
        expected = population.extremes(
            population.objective(*kinds, policy_measure.accepted, policy_measure.refused)
        )
        if policy_measure.per_accepted:
            expected = expected / population.acceptance(*kinds)
        assert_allclose(ends, expected, atol=TOLERANCE, err_msg=policy_measure.name)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("first", "second"), [("score", "score"), ("both", "score"), ("either", "deferred")])
def test_differences_are_those_of_the_linear_program(first, second, seed):
    """Two policies of one score, and teams of different make; nested or not."""
    generator = np.random.default_rng([7, seed])
    population = Population(generator, n_classes=3)
    risk = generator.permutation(6) * 1.0
    one, kinds = laid_out(population, first, risk, 0.7, generator)
    other, other_kinds = laid_out(population, second, risk, 0.4, generator)
    for policy_measure in read_policy_measures(None, np.arange(3), 2, generator.uniform(-1.0, 5.0, (3, 2))):
        value = PolicyValue.of(policy_measure, population.sample.data, (1.0, one), (-1.0, other))
        ends = [end.value for end in value.ends(population.evidence, population.weights)]
        scales = [1.0, 1.0]
        if policy_measure.per_accepted:
            scales = [population.acceptance(*each) for each in (kinds, other_kinds)]
        goals = [
            population.objective(*each, policy_measure.accepted, policy_measure.refused) / scale
            for each, scale in zip((kinds, other_kinds), scales, strict=True)
        ]
        assert_allclose(
            ends, population.extremes(goals[0] - goals[1]), atol=TOLERANCE, err_msg=policy_measure.name
        )


def test_the_human_and_whoever_needs_the_human_are_seen():
    """Failures of the human, and of human and score together, concern seen labels only."""
    generator = np.random.default_rng(5)
    population = Population(generator)
    policy_measure = read_policy_measures(["failures"], np.arange(2), 1, None)[0]
    both, _ = laid_out(population, "both", generator.permutation(6) * 1.0, 0.5, generator)
    for actions in (both, PolicyActions.human(len(population.y))):
        low, high = PolicyValue.of(policy_measure, population.sample.data, (1.0, actions)).ends(
            population.evidence, population.weights
        )
        assert low.value == high.value


def test_the_error_knows_that_the_cut_off_is_estimated():
    """Against the spread over samples: every label seen, nine of ten fail, half of the cases are accepted."""
    generator = np.random.default_rng(3)
    policy_measure = read_policy_measures(["failures"], np.arange(2), 1, None)[0]
    ones, zeros = np.ones(400), np.zeros(400)
    estimates, errors = [], []
    for _ in range(400):
        actions = PolicyActions((ones, zeros), (zeros, zeros), generator.random(400), acceptance=0.5)
        y = (generator.random(400) < 0.9).astype(int)
        value = PolicyValue(((1.0, actions),), policy_measure, ones, y.astype(float))
        end = value.ends(Evidence.from_labels(y, 2), None)[0]
        estimates.append(end.value)
        errors.append(end.influence.std() / 20.0)
    # A standard deviation of 400 draws has an error of 3.5 %; the limit is 4.5 of them (7e-6).
    assert np.mean(errors) / np.std(estimates) == pytest.approx(1.0, abs=0.16)
    assert np.mean(errors) < 0.6 * np.sqrt(0.45 * 0.55 / 400), (
        "had the cut-off been given, it would vary more"
    )
