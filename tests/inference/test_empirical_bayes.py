"""Shrinkage: coverage whatever the prior, ranks that mean what they say, lists of names."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from selective_labels.inference.empirical_bayes import (
    Ranks,
    Shrunken,
    common_slope,
    critical_values,
    false_discoveries,
)


def worst_of_two_points(critical, bias):
    """Largest non-coverage over distributions of the bias on two squared values with this mean."""
    squares = np.linspace(0.0, 600.0, 24001)
    missed = norm.cdf(np.sqrt(squares) - critical) + norm.cdf(-np.sqrt(squares) - critical)
    high, worst = squares > bias, 0.0
    for low in squares[squares <= bias][::20]:
        share = (bias - low) / (squares[high] - low)
        value = (1 - share) * np.interp(low, squares, missed) + share * missed[high]
        worst = max(worst, value.max())
    return worst


def test_critical_values_meet_the_worst_prior():
    for bias in (0.3, 1.0, 4.0):
        (critical,) = critical_values(np.array([bias]))
        assert 0.0480 < worst_of_two_points(critical, bias) <= 0.0501
    assert_allclose(critical_values(np.zeros(1)), norm.ppf(0.975), atol=1e-9)
    assert critical_values(np.array([50.0]))[0] >= critical_values(np.array([9.9]))[0]


PRIORS = {
    "normal": lambda generator, n: generator.normal(size=n),
    "two points": lambda generator, n: generator.choice([-0.6, 2.4], n, p=[0.8, 0.2]),
    "few far": lambda generator, n: np.where(generator.random(n) < 0.05, 4.0, 0.0),
    "nothing": lambda generator, n: np.zeros(n),
}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("number", [8, 40, 200])
def test_intervals_cover_on_average(prior, number):
    """Nominal .95, at least .93 with errors of unequal size; 300 draws, standard error below .01."""
    generator, covered = np.random.default_rng(number), []
    for _ in range(300):
        truth = PRIORS[prior](generator, number)
        errors = generator.uniform(0.4, 1.6, number)
        found = Shrunken.of(truth + errors * generator.normal(size=number), errors)
        covered.append(np.mean((found.lower <= truth) & (truth <= found.upper)))
    assert np.mean(covered) >= 0.93


def test_shrunken_values_are_nearer_than_raw_ones():
    generator = np.random.default_rng(1)
    truth, errors = generator.normal(size=400), np.ones(400)
    raw = truth + generator.normal(size=400)
    found = Shrunken.of(raw, errors)
    assert np.mean((found.value - truth) ** 2) < 0.65 * np.mean((raw - truth) ** 2)
    assert_allclose(found.spread, 1.0, atol=0.15)
    assert (found.upper - found.lower).mean() < 2 * 1.96


@pytest.mark.parametrize(("number", "spread"), [(40, 1.0), (200, 1.0), (40, None)])
def test_rank_probabilities_are_calibrated(number, spread):
    """Among statements of probability p, about the share p is true; sets of ranks hold .93."""
    generator, said, was, held = np.random.default_rng(7), [], [], []
    for draw in range(120):
        wide = generator.uniform() if spread is None else spread  # None: another one in every draw
        truth, errors = wide * generator.normal(size=number), generator.uniform(0.4, 1.2, number)
        ranks = Ranks.of(truth + errors * generator.normal(size=number), errors, draw)
        real = truth.argsort().argsort() + 1
        said.append(ranks.best_tenth)
        was.append(real <= number // 10)
        held.append(np.mean((ranks.lower <= real) & (real <= ranks.upper)))
    said, was = np.concatenate(said), np.concatenate(was)
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.6), (0.6, 1.01)):
        inside = (said >= low) & (said < high)
        assert not inside.any() or abs(said[inside].mean() - was[inside].mean()) < 0.05
    assert np.mean(held) >= 0.93


def test_a_list_of_names_has_few_false_ones():
    generator, wrong, right = np.random.default_rng(3), [], []
    for _ in range(300):
        real = np.arange(100) < 20
        p_values = norm.sf(generator.normal(size=100) + 3.5 * real)
        listed = false_discoveries(p_values, 0.05)
        wrong.append(np.sum(listed & ~real) / max(listed.sum(), 1))
        right.append(np.sum(listed & real) / 20)
    assert np.mean(wrong) <= 0.05 + 3 * np.std(wrong) / np.sqrt(300)
    assert np.mean(right) > 0.7
    assert not false_discoveries(np.full(5, 0.5)).any()


def test_slope_is_not_pulled_to_zero_by_noise():
    generator, slopes = np.random.default_rng(5), []
    for _ in range(200):
        first = generator.normal(size=100)
        noise = generator.normal(size=(100, 2)) * [0.7, 0.3]
        cov = np.tile(np.diag([0.49, 0.09]), (100, 1, 1))
        slopes.append(common_slope(first + noise[:, 0], 0.5 * first + noise[:, 1], cov))
    assert abs(np.mean(slopes) - 0.5) < 4 * np.std(slopes) / np.sqrt(200) + 0.01
    assert common_slope(noise[:, 0], noise[:, 1], cov) is None


def test_estimates_that_are_all_noise_do_not_set_the_spread_of_the_others():
    """Thirty names with errors of ten times the spread; a missing error leaves its own row missing."""
    generator, spreads, slopes = np.random.default_rng(2), [], []
    for _ in range(100):
        truth, errors = generator.normal(size=60), np.repeat([0.2, 10.0], 30)
        raw = truth + errors * generator.normal(size=60)
        spreads.append(Shrunken.of(raw, errors).spread)
        cov = np.zeros((60, 2, 2))
        cov[:, 0, 0] = errors**2
        slopes.append(common_slope(raw, 0.5 * truth, cov))
    assert 0.9 < np.mean(spreads) < 1.1
    assert np.std(spreads) < 0.2
    assert_allclose(slopes, 0.5, atol=0.15)
    errors[3] = np.nan
    found = Shrunken.of(raw, errors)
    assert np.isnan([found.value[3], found.lower[3], found.upper[3]]).all()
    assert np.isfinite(np.delete(found.value, 3)).all()
