"""Gaps given the outcome: closed forms against optimisation, and against linear programs."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime, linprog, minimize

from selective_labels.evaluation.disparity import YesRates
from selective_labels.identification.disparity import (
    GroupShares,
    largest_weighted_gap,
    weighted_gap,
    weighted_gap_gradient,
)
from selective_labels.inference.evidence import Evidence
from tests.reference.linear_programs import minima, over_response_types


def drawn(generator):
    seen, other = generator.dirichlet([1, 1, 1], 2).T[:2]
    lower = seen + generator.random(2) * (1 - seen - other) * 0.5
    upper = lower + generator.random(2) * (1 - other - lower)
    return GroupShares(seen, other, generator.dirichlet([1, 1])), lower, upper


def searched(groups, lower, upper):
    """The largest gap by local searches from nine places of the box."""
    marks = [np.array([a, b]) for a in (0.0, 0.5, 1.0) for b in (0.0, 0.5, 1.0)]
    how = {"method": "L-BFGS-B", "options": {"ftol": 1e-15, "gtol": 1e-12}}
    box = list(zip(lower, upper, strict=True))
    return max(
        -minimize(lambda p: -weighted_gap(groups, p), lower + mark * (upper - lower), bounds=box, **how).fun
        for mark in marks
    )


def test_largest_gap_is_that_of_a_search():
    generator, inside = np.random.default_rng(0), 0
    for _ in range(60):
        groups, lower, upper = drawn(generator)
        event = largest_weighted_gap(groups, lower, upper)
        assert (event >= lower).all()
        assert (event <= upper).all()
        assert_allclose(weighted_gap(groups, event), searched(groups, lower, upper), atol=1e-8)
        inside += int(lower[1] + 1e-6 < event[1] < upper[1] - 1e-6)
    assert inside > 5  # the interior solution is exercised


def test_gradient_is_that_of_differences():
    generator = np.random.default_rng(1)
    for _ in range(20):
        groups, lower, upper = drawn(generator)
        event = (lower + upper) / 2

        def value(numbers):
            pairs = numbers.reshape(4, 2)
            return weighted_gap(GroupShares(pairs[0], pairs[1], pairs[3]), pairs[2])

        at = np.concatenate([groups.seen_event, groups.seen_other, event, groups.share])
        found = np.concatenate(weighted_gap_gradient(groups, event))
        assert_allclose(found, approx_fprime(at, value, 1e-7), rtol=1e-3, atol=1e-4)


@pytest.fixture(scope="module")
def population():
    """Kinds of cases in two groups, three decision-makers: rows are kinds by outcome."""
    generator = np.random.default_rng(5)
    types = generator.dirichlet(np.full(16, 0.7), 8).reshape(8, 2, 8)  # label and potential decisions
    yes = np.array(list(product([0.0, 1.0], repeat=3)))
    labeled = np.einsum("nkr,rz->nzk", types, yes)
    joint = np.concatenate([1.0 - labeled.sum(axis=2, keepdims=True), labeled], axis=2)
    share, first = generator.dirichlet(np.ones(8)), np.arange(8) < 4
    rule = generator.random(8)
    mean = joint.mean(axis=1)
    kind, outcome = np.repeat(np.arange(8), 3), np.tile(np.arange(3), 8)
    weights = share[kind] * mean[kind, outcome]
    lower = joint[:, :, 1:].max(axis=1)[kind]
    evidence = Evidence(lower, 1.0 - lower.sum(axis=1), lower)
    return joint, share, first, rule, kind, outcome, weights, evidence


def shares_of_the_event(joint, share, rows):
    """Smallest and largest P(Y = event | group) over all laws of responses, by linear programs."""
    weights = share[rows] / share[rows].sum()
    low = minima([over_response_types(np.array([0.0, 1.0]), each) for each in joint[rows]])
    high = -minima([over_response_types(np.array([0.0, -1.0]), each) for each in joint[rows]])
    return float(weights @ low), float(weights @ high)


def test_gaps_of_decisions_are_those_of_linear_programs(population):
    joint, share, first, rule, kind, outcome, weights, evidence = population
    for human in (np.ones(8), rule):  # decisions alone, and both together
        rates = YesRates(np.zeros(24), human[kind], (outcome > 0).astype(float), outcome - 1, 1, 2)
        sizes, seen, event, other = [], [], [], []
        for rows in (first, ~first):
            part = share[rows] / share[rows].sum()
            sizes.append(share[rows].sum())
            event.append(float(part @ (human[rows] * joint[rows].mean(axis=1)[:, 2])))
            other.append(float(part @ (human[rows] * joint[rows].mean(axis=1)[:, 1])))
            seen.append(shares_of_the_event(joint, share, np.flatnonzero(rows)))
        limits = [rates.given(True).ends(evidence, weights * rows[kind]) for rows in (first, ~first)]
        for found, a, (low, high) in zip(limits, event, seen, strict=True):
            assert_allclose([each.value for each in found], [a / high, a / low], atol=1e-8)
        limits = [rates.given(False).ends(evidence, weights * rows[kind]) for rows in (first, ~first)]
        for found, b, (low, high) in zip(limits, other, seen, strict=True):
            assert_allclose([each.value for each in found], [b / (1 - low), b / (1 - high)], atol=1e-8)
        groups = GroupShares(np.array(event), np.array(other), np.array(sizes))
        box = [np.array(each) for each in zip(*seen, strict=True)]
        smallest, largest = rates.outcome_weighted(first[kind]).ends(evidence, weights)
        assert_allclose(largest.value, searched(groups, *box), atol=1e-8)
        assert_allclose(smallest.value, -searched(groups.swapped, *(each[::-1] for each in box)), atol=1e-8)


def test_rates_of_a_score_are_those_of_linear_fractional_programs(population):
    joint, share, first, rule, kind, outcome, weights, evidence = population
    rates = YesRates(rule[kind], np.zeros(24), (outcome > 0).astype(float), outcome - 1, 1, 2)
    for rows in (first, ~first):
        part = share[rows] / share[rows].sum()
        low = joint[rows][:, :, 2].max(axis=1)
        high = 1.0 - joint[rows][:, :, 1].max(axis=1)
        ends = []
        for sign in (1.0, -1.0):  # t η and t, with t = 1 / E[η] (Charnes and Cooper)
            cost = np.append(sign * part * rule[rows], 0.0)
            at_most = np.vstack([np.column_stack([-np.eye(4), low]), np.column_stack([np.eye(4), -high])])
            solved = linprog(cost, at_most, np.zeros(8), np.append(part, 0.0)[None], [1.0])
            ends.append(sign * solved.fun)
        found = rates.given(True).ends(evidence, weights * rows[kind])
        assert_allclose([each.value for each in found], ends, atol=1e-8)
