"""Intervals of rows and worst-case regret: against the scalar constant, population formulas and loops."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from selective_labels.identification.bounds import Bounds
from selective_labels.identification.costs import worst_case_costs
from selective_labels.identification.prevalence import tilted_regrets
from selective_labels.inference.confidence_intervals import imbens_manski_constant
from selective_labels.inference.row_intervals import (
    TAILS,
    decided_shares,
    decision_level,
    widened,
    worst_case_regret,
)
from selective_labels.nuisance.calibrated_bounds import RowScores, SetForm

RNG = np.random.default_rng(0)
N, K, L = 40, 3, 4
COST = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [5.0, 0.5, 0.0]])
FORMS = {
    "plain": SetForm(K),
    "events": SetForm(K, ((1, 2),)),
    "ceilings": SetForm(K, (), ceilings=True),
}


@pytest.mark.parametrize("level", [0.8, 0.9, 0.99])
def test_constants_are_those_of_one_interval(level):
    width, errors = RNG.uniform(0, 0.3, (N, 2)), RNG.uniform(0.01, 0.1, (2, N, 2))
    lower = RNG.uniform(0.3, 0.4, (N, 2))
    found = widened(Bounds(lower, lower + width), Bounds(*errors), level)
    for row in range(N):
        for k in range(2):
            constant = imbens_manski_constant(width[row, k] / errors[:, row, k].max(), level)
            low, high = errors[:, row, k]
            expected = lower[row, k] - constant * low, lower[row, k] + width[row, k] + constant * high
            assert_allclose([found.lower[row, k], found.upper[row, k]], np.clip(expected, 0, 1), atol=2e-5)


def test_a_margin_never_narrows():
    bounds, error = Bounds(np.array([[0.2, 0.3]]), np.array([[0.7, 0.8]])), np.full((1, 2), 0.05)
    found = widened(bounds, Bounds(error, error), 0.05)
    assert (found.lower <= bounds.lower).all()
    assert (found.upper >= bounds.upper).all()


def numbers_of(form, n=N):
    """Sets that are not empty."""
    found = RNG.dirichlet(np.ones(form.n_numbers + 2), n)[:, : form.n_numbers]
    if form.ceilings:
        found[:, K:] = 1 - np.minimum(found[:, :K] + RNG.uniform(0.3, 0.9, (n, K)), 1.0)
    return found


def row_scores(form, values, models, deviations=None):
    some = np.arange(len(models))
    none = np.zeros((L, len(models), form.n_numbers))
    exact = Bounds(models[:, :K], form.upper(models))
    nothing = Bounds(np.zeros((len(models), K)), np.zeros((len(models), K)))
    spread = none if deviations is None else deviations
    return RowScores(form, values, models, some, spread, exact, nothing, 0.0, 1.0)


@pytest.mark.parametrize("cost", [None, COST], ids=["0-1", "costs"])
@pytest.mark.parametrize("form", FORMS)
def test_without_noise_it_is_the_regret_of_the_population(form, cost):
    form = FORMS[form]
    models, chosen, weights = numbers_of(form), RNG.integers(K, size=N), RNG.uniform(1, 2, N)
    found = worst_case_regret(row_scores(form, models, models), chosen, weights, cost=cost)
    regrets = worst_case_costs(form.bounds(models)[0], cost)[np.arange(N), chosen]
    assert_allclose(found.value, np.average(regrets, weights=weights), atol=1e-9)


def test_a_tilt_is_that_of_the_formula():
    models, chosen, tilt = numbers_of(FORMS["plain"]), RNG.integers(K, size=N), np.array([0.0, 0.3, 0.3])
    found = worst_case_regret(row_scores(FORMS["plain"], models, models), chosen, np.ones(N), tilt=tilt)
    bounds = FORMS["plain"].bounds(models)[0]
    regrets = tilted_regrets(bounds, np.array([0.0, 1.0, 1.0]), 0.3)[np.arange(N), chosen]
    assert_allclose(found.value, regrets.mean(), atol=1e-9)


def test_draws_and_corrections_are_those_of_the_formula():
    """Rule 6 of methods 13.3, row by row and draw by draw."""
    models, chosen = numbers_of(FORMS["plain"]), RNG.integers(K, size=N)
    values = models + RNG.normal(scale=0.5, size=models.shape)
    folds = RNG.normal(scale=0.03, size=(L, N, K))
    folds -= folds.mean(axis=0)
    by_row = np.empty(N)
    for row in range(N):
        drawn = []
        for sign in (-1, 1):
            for fold in range(L):
                bound = models[row] + sign * np.sqrt(L - 1) * folds[fold, row]
                options = []
                for rival in range(K):
                    gain = COST[:, chosen[row]] - COST[:, rival]
                    value = gain @ bound + (1 - bound.sum()) * gain.max()
                    noise = values[row] - models[row]
                    options.append((value, gain @ noise - noise.sum() * gain.max()))
                drawn.append(sum(max(options)))
        by_row[row] = np.mean(drawn)
    found = worst_case_regret(
        row_scores(FORMS["plain"], values, models, folds), chosen, np.ones(N), cost=COST
    )
    assert_allclose(found.value, by_row.mean(), atol=1e-9)
    assert_allclose(found.error, by_row.std(ddof=1) / np.sqrt(N), atol=1e-9)
    assert_allclose(found.upper, found.value + 1.6449 * found.error, atol=1e-4)


def test_clusters_and_weights_enter_the_error():
    models, chosen = numbers_of(FORMS["plain"]), RNG.integers(K, size=N)
    values = models + RNG.normal(scale=0.5, size=models.shape)
    twice = np.tile(np.arange(N), 2)
    rows = row_scores(FORMS["plain"], values, models)
    repeated = row_scores(FORMS["plain"], values[twice], models[twice])
    one = worst_case_regret(rows, chosen, np.ones(N))
    two = worst_case_regret(repeated, chosen[twice], np.ones(2 * N), clusters=twice)
    assert_allclose([two.value, two.error], [one.value, one.error], atol=1e-12)
    heavy = np.where(np.arange(N) < 20, 2.0, 0.0)
    some = worst_case_regret(row_scores(FORMS["plain"], values[:20], models[:20]), chosen[:20], np.ones(20))
    assert_allclose(worst_case_regret(rows, chosen, heavy).value, some.value, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_upper_bounds_follow_from_the_numbers(form):
    form = FORMS[form]
    numbers = numbers_of(form)
    assert_allclose(form.upper(numbers), form.bounds(numbers)[0].upper, atol=1e-12)


def test_the_level_of_decisions_is_that_of_benjamini_and_hochberg():
    n, quota = 400, 0.1
    lower = RNG.uniform(0.0, 1.0, n)
    bounds = Bounds(np.column_stack([lower, 1.0 - lower]), np.column_stack([lower, 1.0 - lower]))
    errors = Bounds(np.full((n, 2), 0.1), np.full((n, 2), 0.1))
    rows = replace(row_scores(SetForm(2), bounds.lower, bounds.lower), estimated=bounds, errors=errors)
    level = decision_level(decided_shares(rows, np.ones(n), None), 1.0 - quota)
    # Both ends are one number here, so a row is decided at the error rate of a two-sided test of one half.
    p_values = np.sort(2.0 * norm.sf(np.abs(lower - 0.5) / 0.1))
    largest = p_values[p_values <= quota * np.arange(1, n + 1) / n].max()
    assert largest / 1.6 <= 1.0 - level <= largest * 1.01  # steps of error rates are 1.55 apart
    assert decision_level(np.zeros(len(TAILS)), 0.9) == 1.0  # no row can be decided


def test_rows_without_weight_do_not_count_among_the_decided():
    bounds = Bounds(np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([[0.9, 0.1], [0.5, 0.5]]))
    nothing = Bounds(np.zeros((2, 2)), np.zeros((2, 2)))
    rows = replace(row_scores(SetForm(2), bounds.lower, bounds.lower), estimated=bounds, errors=nothing)
    for weight, share in (((1.0, 3.0), 0.25), ((0.0, 1.0), 0.0), ((0.0, 0.0), 0.0)):
        assert_allclose(decided_shares(rows, np.array(weight), None), share)
