"""The choice of a cut-off against brute force and linear programs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from selective_labels.evaluation.policy import read_policy_measures
from selective_labels.evaluation.policy_value import choose_cut_off
from tests.evaluation.populations import Population


def drawn(seed, n_kinds=7):
    generator = np.random.default_rng(seed)
    population = Population(generator, n_kinds=n_kinds)
    policy_measure = read_policy_measures(
        ["cost"], np.arange(2), 1, [[0.0, 1.0], [generator.uniform(0.5, 2.0), 0.0]]
    )[0]
    risk = generator.permutation(n_kinds) * 1.0
    thresholds = np.arange(n_kinds + 1) - 0.5
    return (
        population,
        policy_measure,
        risk,
        choose_cut_off(population.sample, risk[population.kind], policy_measure, "instrument", thresholds),
    )


def costs_of(population, policy_measure, risk, threshold):
    """Cost of every kind and class at a cut-off, weighted: cost = Σ_xk c_xk η_k(x)."""
    accepted = (risk < threshold)[:, None]
    return population.kind_weights[:, None] * np.where(
        accepted, policy_measure.accepted, policy_measure.refused
    )


def over_laws(population, objective, at_most=None):
    """Smallest Σ objective · η over the identified set, under costs[i] · η <= 0; None if there is no η."""
    n_kinds = population.n_kinds
    equal = np.kron(np.eye(n_kinds), np.ones(population.n_classes))
    bounds = [(low, None) for low in population.lower.ravel()]
    limits = {} if at_most is None else {"A_ub": at_most, "b_ub": np.full(len(at_most), 1e-13)}
    found = linprog(objective.ravel(), A_eq=equal, b_eq=np.ones(n_kinds), bounds=bounds, **limits)
    return found.fun if found.status == 0 else None


@pytest.mark.parametrize("seed", range(6))
def test_worst_costs_regrets_and_possible_cut_offs(seed):
    population, policy_measure, risk, found = drawn(seed)
    costs = np.array([costs_of(population, policy_measure, risk, each) for each in found.thresholds])
    worst = [-over_laws(population, -cost) for cost in costs]
    assert_allclose(found.worst_cost, worst, atol=1e-8)
    regret = [max(-over_laws(population, other - cost) for other in costs) for cost in costs]
    assert_allclose(found.worst_regret, regret, atol=1e-8)
    possible = []
    for cost in costs:
        better = np.array([(cost - other).ravel() for other in costs])
        possible.append(over_laws(population, np.zeros_like(cost), better) is not None)
    assert_array_equal(found.possible, possible)
    assert found.possible[found.could_be_best].sum() == found.possible.sum(), "noise rules out nothing more"


def test_with_everything_known_the_choices_agree():
    population, policy_measure, risk, _ = drawn(0)
    population.lower = population.law.sum(axis=2)
    population.slack = np.zeros(population.n_kinds)
    found = choose_cut_off(
        population.sample, risk[population.kind], policy_measure, "instrument", np.arange(8) - 0.5
    )
    assert found.minimax_cost == found.minimax_regret
    assert found.worst_regret.min() == pytest.approx(0.0, abs=1e-12)
    assert found.possible.sum() == 1
