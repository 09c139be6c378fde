"""Standard errors against textbook formulas, simulation and numerical derivatives."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from selective_labels.inference.evidence import (
    bootstrap_covariance,
    covariance,
    mean_estimate,
    median_of_repeats,
    ratio_estimate,
    smooth_estimate,
)
from tests.reference.population_bounds import auc_extremes

FALSE_ALARM = 1e-6


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    return np.random.default_rng(0).gamma(2.0, size=(2, 400))


def test_error_of_a_mean_is_the_textbook_one(values):
    error = covariance([mean_estimate(values[0]).influence])[0, 0] ** 0.5
    np.testing.assert_allclose(error, values[0].std(ddof=1) / np.sqrt(400))


def test_covariance_of_two_means_is_the_textbook_one(values):
    matrix = covariance([mean_estimate(each).influence for each in values])
    np.testing.assert_allclose(matrix, np.cov(values) / 400)


def test_whole_number_weights_act_like_repeated_rows(values):
    repeats = np.random.default_rng(1).integers(1, 4, size=400)
    weighted = mean_estimate(values[0], repeats)
    repeated = np.repeat(values[0], repeats)
    np.testing.assert_allclose(weighted.value, repeated.mean())
    # Copies of a row are one cluster: both ways must see 400 independent rows.
    clustered = covariance([mean_estimate(repeated).influence], np.repeat(np.arange(400), repeats))
    np.testing.assert_allclose(covariance([weighted.influence]), clustered)


def test_scale_of_weights_does_not_matter(values):
    weights = np.random.default_rng(2).random(400)
    one, many = (mean_estimate(values[0], scale * weights) for scale in (1.0, 1000.0))
    np.testing.assert_allclose(covariance([one.influence]), covariance([many.influence]))


def test_copied_rows_in_clusters_change_nothing(values):
    one = covariance([mean_estimate(values[0]).influence])
    twice = covariance([mean_estimate(np.tile(values[0], 2)).influence], np.tile(np.arange(400), 2))
    np.testing.assert_allclose(one, twice)


def test_cluster_ids_may_be_of_any_type(values):
    codes = np.arange(400) // 4
    names = np.array([f"case {code}" for code in codes], dtype=object)
    influence = [mean_estimate(values[0]).influence]
    np.testing.assert_array_equal(covariance(influence, codes), covariance(influence, names))


def test_one_cluster_is_refused(values):
    with pytest.raises(ValueError, match="two clusters or more"):
        covariance([values[0]], np.zeros(400))


def test_clustered_error_covers():
    n_replications, n_clusters, size = 2000, 100, 5
    generator = np.random.default_rng(3)
    clusters = np.repeat(np.arange(n_clusters), size)
    covered = 0
    for _ in range(n_replications):
        scores = generator.standard_normal(n_clusters)[clusters] + generator.standard_normal(len(clusters))
        estimate = mean_estimate(scores)
        error = covariance([estimate.influence], clusters)[0, 0] ** 0.5
        covered += abs(estimate.value) <= norm.ppf(0.975) * error
    # A normal quantile with 100 clusters covers .947 rather than .95.
    assert covered >= binom.ppf(FALSE_ALARM, n_replications, 0.947)
    assert covered <= binom.ppf(1 - FALSE_ALARM, n_replications, 0.947)


def test_ratio_is_the_derivative(values):
    numerator, denominator = (mean_estimate(each) for each in values)
    ratio = ratio_estimate(numerator, denominator)
    assert ratio.value == values[0].mean() / values[1].mean()
    # Moving the weight of one row by a little moves the ratio by its influence.
    step = 1e-6
    weights = np.ones(400)
    weights[7] += step
    moved = np.average(values[0], weights=weights) / np.average(values[1], weights=weights)
    np.testing.assert_allclose((moved - ratio.value) / step * 400, ratio.influence[7], rtol=1e-4)


def test_ratio_error_matches_its_spread():
    n_replications, n_samples = 4000, 500
    draws = np.random.default_rng(4).gamma(2.0, size=(n_replications, 2, n_samples))
    ratios = [ratio_estimate(mean_estimate(a), mean_estimate(a + b)) for a, b in draws]
    spread = np.std([ratio.value for ratio in ratios])
    reported = np.sqrt(np.mean([covariance([ratio.influence])[0, 0] for ratio in ratios]))
    # The spread of 4,000 draws is known to 1.1 %: five times that (false alarm 6e-7), and 1 % for bias.
    np.testing.assert_allclose(reported, spread, rtol=5 * 0.011 + 0.01)


def test_smooth_function_of_one_estimate_is_the_chain_rule(values):
    mean = mean_estimate(values[0])
    logarithm = smooth_estimate(np.log, [1 / mean.value], [mean])
    np.testing.assert_allclose(logarithm.influence, mean.influence / mean.value)


def test_repeats_that_agree_change_nothing():
    assert median_of_repeats([0.4, 0.4, 0.4], [0.1, 0.1, 0.1]) == (0.4, 0.1)


def test_repeats_that_disagree_enlarge_the_error():
    value, error = median_of_repeats([0.1, 0.4, 0.7], [0.1, 0.1, 0.1])
    assert value == 0.4
    np.testing.assert_allclose(error, np.sqrt(0.1**2 + 0.3**2))  # the middle one of .1², .1²+.3², .1²+.3²


def test_one_wild_repeat_does_not_matter():
    calm, wild = (median_of_repeats([0.39, 0.4, 0.41, 0.4, last], [0.1] * 5) for last in (0.4, 50.0))
    np.testing.assert_allclose(calm, wild, atol=1e-3)


class TestBootstrap:
    # The relative error of a standard deviation of B draws is 1 / √(2B); five of them have false alarm 6e-7.
    N_DRAWS = 2000
    TOLERANCE = 5 / np.sqrt(2 * N_DRAWS)

    def errors(self, statistic, n_samples, **options) -> np.ndarray:
        matrix = bootstrap_covariance(statistic, n_samples, n_draws=self.N_DRAWS, random_state=0, **options)
        return np.sqrt(np.diag(matrix))

    def test_agrees_with_the_formula_for_a_mean(self, values):
        drawn = self.errors(lambda weights: [np.average(values[0], weights=weights)], 400)
        exact = covariance([mean_estimate(values[0]).influence])[0, 0] ** 0.5
        np.testing.assert_allclose(drawn, exact, rtol=self.TOLERANCE)

    def test_agrees_with_the_formula_for_clusters_and_weights(self, values):
        clusters, weights = np.arange(400) // 8, np.random.default_rng(5).random(400) + 0.5
        scores = np.repeat(values[0][:50], 8)
        drawn = self.errors(
            lambda drawn: [np.average(scores, weights=drawn)], 400, clusters=clusters, weights=weights
        )
        influence = mean_estimate(scores, weights).influence
        exact = covariance([influence], clusters)[0, 0] ** 0.5
        # With 50 clusters the two formulas differ by terms of order 1 / 50.
        np.testing.assert_allclose(drawn, exact, rtol=self.TOLERANCE + 1 / 50)

    def test_draws_multiply_the_weights_of_whole_clusters(self):
        weights, clusters = np.array([2.0, 0.0, 1.0, 4.0]), np.array(["a", "a", "b", "b"])
        drawn = []

        def statistic(draw):
            drawn.append(draw / np.where(weights > 0, weights, 1.0))
            return [draw.sum()]

        bootstrap_covariance(statistic, 4, weights=weights, clusters=clusters, n_draws=7, random_state=0)
        assert len(drawn) == 7
        first, nothing, second, third = np.transpose(drawn)
        np.testing.assert_array_equal(nothing, 0.0)  # a weight of zero stays zero
        np.testing.assert_allclose(second, third)
        assert len(np.unique([first, second])) == 14  # clusters are drawn apart, and anew each time

    def test_same_seed_same_result(self, values):
        one, two = (self.errors(lambda weights: [weights @ values[0]], 400) for _ in range(2))
        np.testing.assert_array_equal(one, two)

    def test_auc_of_seen_labels_agrees_with_delong(self):
        generator = np.random.default_rng(6)
        y = generator.integers(2, size=300)
        score = generator.normal(y, 1.5)

        def statistic(weights: np.ndarray) -> list[float]:
            ends = auc_extremes(score, y, y, weights)  # every label is known: both ends are the AUC
            return [ends.minimum, ends.maximum]

        drawn = self.errors(statistic, 300)
        wins = (score[y == 1][:, None] > score[y == 0]).astype(float)
        by_positive, by_negative = wins.mean(axis=1), wins.mean(axis=0)
        delong = np.sqrt(
            by_positive.var(ddof=1) / len(by_positive) + by_negative.var(ddof=1) / len(by_negative)
        )
        # Terms of order 1 / n (300 rows, about half of either class) separate the two.
        np.testing.assert_allclose(drawn, delong, rtol=self.TOLERANCE + 0.02)
