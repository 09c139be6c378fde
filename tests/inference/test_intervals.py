"""Constants against known limits, Monte Carlo and coverage on plain normal means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, multivariate_normal, norm, t

from selective_labels.inference.confidence_intervals import (
    bivariate_normal,
    imbens_manski_constant,
    stoye_constants,
)
from selective_labels.inference.standard_errors import few_clusters_factor
from tests.reference.intervals import parameter_interval, set_interval

ONE_SIDED, TWO_SIDED = norm.ppf(0.95), norm.ppf(0.975)
FALSE_ALARM = 1e-6


def normal_pairs(correlation: float, n_draws: int, seed: int = 0) -> np.ndarray:
    """Draws of two standard normal variables, shape (2, n_draws)."""
    first, second = np.random.default_rng(seed).standard_normal((2, n_draws))
    return np.stack([first, correlation * first + np.sqrt(1 - correlation**2) * second])


class TestImbensManski:
    def test_point_gets_the_two_sided_constant(self):
        np.testing.assert_allclose(imbens_manski_constant(0.0), TWO_SIDED, atol=1e-8)

    def test_wide_interval_gets_the_one_sided_constant(self):
        np.testing.assert_allclose(imbens_manski_constant(20.0), ONE_SIDED, atol=1e-8)

    def test_huge_width_does_not_overflow(self):
        np.testing.assert_allclose(imbens_manski_constant(1e12), ONE_SIDED, atol=1e-8)

    @given(st.floats(0, 30), st.floats(0.6, 0.999))
    @settings(deadline=None, max_examples=50)
    def test_solves_its_equation(self, width, level):
        constant = imbens_manski_constant(width, level)
        np.testing.assert_allclose(norm.cdf(constant + width) - norm.cdf(-constant), level, atol=1e-8)


class TestStoye:
    @pytest.mark.parametrize("correlation", [-0.9, -0.4, 0.0, 0.6, 0.95])
    @pytest.mark.parametrize("limits", [(0.5, 2.0), (1.7, 1.7), (3.0, 0.1)])
    def test_bivariate_normal_against_scipy(self, correlation, limits):
        law = multivariate_normal(cov=[[1, correlation], [correlation, 1]])
        # scipy's integration is good to about 1e-5 by default.
        np.testing.assert_allclose(bivariate_normal(*limits, correlation), law.cdf(limits), atol=2e-5)

    def test_perfectly_correlated_ends_of_a_point_are_two_sided(self):
        np.testing.assert_allclose(stoye_constants(0.0, 1.0, 1.0, 1.0), TWO_SIDED, atol=1e-5)

    def test_independent_ends_of_a_point_have_a_closed_form(self):
        # Both one-sided events are independent, so each has probability √.95.
        np.testing.assert_allclose(stoye_constants(0.0, 1.0, 1.0, 0.0), norm.ppf(0.95**0.5), atol=1e-5)

    def test_wide_interval_is_one_sided(self):
        np.testing.assert_allclose(stoye_constants(10.0, 1.0, 1.0, 0.3), ONE_SIDED, atol=1e-5)

    @pytest.mark.parametrize("width", [0.0, 0.5, 2.0])
    @pytest.mark.parametrize("errors", [(1.0, 1.0), (1.0, 2.0), (3.0, 0.5)])
    @pytest.mark.parametrize("correlation", [-0.5, 0.3, 0.9])
    def test_coverage_by_monte_carlo_is_exact_at_the_worse_end(self, width, errors, correlation):
        c_lower, c_upper = stoye_constants(width, *errors, correlation)
        n_draws = 100_000
        lower, upper = normal_pairs(correlation, n_draws)
        at_lower = (lower <= c_lower) & (upper >= -c_upper - width / errors[1])
        at_upper = (upper >= -c_upper) & (lower <= c_lower + width / errors[0])
        covered = min(at_lower.mean(), at_upper.mean())
        # Five standard deviations of a share: false alarm 6e-7 for each of the two ends.
        assert abs(covered - 0.95) < 5 * np.sqrt(0.95 * 0.05 / n_draws)

    @pytest.mark.parametrize(
        ("width", "errors", "correlation"), [(0.0, (1.0, 3.0), 0.5), (1.0, (1.0, 2.0), 0.9)]
    )
    def test_no_feasible_pair_is_shorter(self, width, errors, correlation):
        best = np.dot(stoye_constants(width, *errors, correlation), errors)
        grid = np.linspace(ONE_SIDED, 4.0, 60)
        for c_lower in grid:
            for c_upper in grid:
                at_lower = bivariate_normal(c_lower, c_upper + width / errors[1], -correlation)
                at_upper = bivariate_normal(c_lower + width / errors[0], c_upper, -correlation)
                if min(at_lower, at_upper) >= 0.95:
                    assert np.dot((c_lower, c_upper), errors) >= best - 1e-6

    @pytest.mark.parametrize("level", [0.8, 0.99])
    def test_level_of_independent_ends(self, level):
        np.testing.assert_allclose(
            stoye_constants(0.0, 1.0, 1.0, 0.0, level), norm.ppf(level**0.5), atol=1e-5
        )

    def test_mirror_image(self):
        there, back = stoye_constants(0.5, 1.0, 2.0, 0.4), stoye_constants(0.5, 2.0, 1.0, 0.4)
        np.testing.assert_allclose(there, back[::-1], atol=1e-4)  # naming the ends is arbitrary


class TestParameterInterval:
    N_REPLICATIONS = 4000
    # Coverage is at least .95 up to what the pretest costs, which is below .005 at this sample size.
    LIMIT = binom.ppf(FALSE_ALARM, N_REPLICATIONS, 0.945) / N_REPLICATIONS

    @pytest.mark.parametrize("width", [0.0, 0.5, 2.0, 3.0, 8.0])
    def test_covers_both_ends_at_every_width(self, width):
        n_samples, error = 2000, 1.0
        draws = normal_pairs(0.7, self.N_REPLICATIONS, seed=int(10 * width)) * error
        lower, upper = draws[0], width + draws[1]
        # The constants depend on the sample only through the estimated width: solve once per branch.
        narrow = parameter_interval(0.0, 0.0, (error, error), 0.7, n_samples)
        estimated = upper - lower
        vanishing = estimated <= error * np.sqrt(np.log(n_samples))
        wide = np.array([imbens_manski_constant(max(each, 0.0)) for each in estimated])
        constant = np.where(vanishing, narrow.upper, wide)
        for truth in (0.0, width):
            covered = (lower - constant <= truth) & (truth <= upper + constant)
            assert covered.mean() >= self.LIMIT

    def test_chooses_by_the_estimated_width(self):
        errors, threshold = (1.0, 1.0), np.sqrt(np.log(2000))
        below = parameter_interval(0.0, threshold - 1e-6, errors, 1.0, 2000)
        above = parameter_interval(0.0, threshold + 1e-6, errors, 1.0, 2000)
        np.testing.assert_allclose(-below.lower, TWO_SIDED, atol=1e-5)  # the width may be zero
        np.testing.assert_allclose(-above.lower, imbens_manski_constant(threshold), atol=1e-5)

    @pytest.mark.parametrize("level", [0.8, 0.99])
    def test_level_of_a_wide_interval_is_one_sided(self, level):
        interval = parameter_interval(0.2, 0.8, (0.01, 0.02), 0.3, 1000, level)
        margins = norm.ppf(level) * np.array([0.01, 0.02])
        np.testing.assert_allclose(interval, [0.2 - margins[0], 0.8 + margins[1]], atol=1e-8)

    @pytest.mark.parametrize("level", [0.8, 0.99])
    def test_level_of_a_point_is_two_sided(self, level):
        interval = parameter_interval(0.5, 0.5, (0.1, 0.1), 1.0, 1000, level)
        margin = norm.ppf((1 + level) / 2) * 0.1
        np.testing.assert_allclose(interval, [0.5 - margin, 0.5 + margin], atol=1e-5)

    def test_each_end_has_the_constant_that_goes_with_its_error(self):
        """Shortest in total: the end with the larger error gets the smaller constant."""
        interval = parameter_interval(0.5, 0.5, (0.1, 0.4), 0.0, 1000)
        c_lower, c_upper = (0.5 - interval.lower) / 0.1, (interval.upper - 0.5) / 0.4
        assert c_lower > c_upper + 0.1
        # Independent ends: each is covered by itself, and both at once.
        np.testing.assert_allclose(norm.cdf(c_lower) * norm.cdf(c_upper), 0.95, atol=1e-6)

    @pytest.mark.parametrize("scale", [1e-6, 1e6])
    @pytest.mark.parametrize("errors", [(0.0, 0.1), (0.1, 0.02)])
    def test_units_do_not_matter(self, scale, errors):
        plain = parameter_interval(0.2, 0.25, errors, 0.4, 100)
        scaled = parameter_interval(
            0.2 * scale, 0.25 * scale, (errors[0] * scale, errors[1] * scale), 0.4, 100
        )
        np.testing.assert_allclose(np.divide(scaled, scale), plain, rtol=1e-5)

    def test_no_error_no_margin(self):
        assert parameter_interval(0.2, 0.4, (0.0, 0.0), 0.0, 100) == (0.2, 0.4)

    def test_an_end_without_error_gets_no_margin(self):
        interval = parameter_interval(0.2, 0.2, (0.0, 0.1), 0.0, 100)
        assert interval.lower == 0.2
        np.testing.assert_allclose(interval.upper, 0.2 + ONE_SIDED * 0.1, atol=1e-4)

    def test_crossed_ends_are_not_hidden(self):
        interval = parameter_interval(0.9, 0.1, (0.01, 0.01), 0.5, 1000)
        assert interval.lower > interval.upper  # empty: the data contradict the assumption

    def test_narrower_than_the_interval_of_the_set(self):
        value = parameter_interval(0.2, 0.6, (0.02, 0.03), 0.2, 1000)
        whole = set_interval(0.2, 0.6, (0.02, 0.03))
        assert whole.lower < value.lower < value.upper < whole.upper


class TestSetInterval:
    @pytest.mark.parametrize("level", [0.8, 0.95])
    def test_each_end_has_the_margin_of_its_own_error(self, level):
        margins = norm.ppf((1 + level) / 2) * np.array([0.01, 0.04])
        interval = set_interval(0.3, 0.6, (0.01, 0.04), level)
        np.testing.assert_allclose(interval, [0.3 - margins[0], 0.6 + margins[1]])

    @pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.9])
    def test_covers_both_ends_together(self, correlation):
        n_replications = 20_000
        lower, upper = normal_pairs(correlation, n_replications)
        margin = -set_interval(0.0, 1.0, (1.0, 1.0)).lower
        covered = np.mean((lower - margin <= 0) & (upper + margin >= 0))
        assert covered >= binom.ppf(FALSE_ALARM, n_replications, 0.95) / n_replications


@pytest.mark.parametrize("level", [0.8, 0.99])
def test_few_clusters_turn_a_normal_interval_into_that_of_t(level):
    quantile = (1 + level) / 2
    np.testing.assert_allclose(
        few_clusters_factor(5, level) * norm.ppf(quantile), t.ppf(quantile, df=4), rtol=1e-12
    )


def test_few_clusters_cover_a_mean():
    n_replications, n_clusters = 20_000, 6
    means = np.random.default_rng(1).standard_normal((n_replications, n_clusters))
    error = means.std(axis=1, ddof=1) / np.sqrt(n_clusters) * few_clusters_factor(n_clusters)
    covered = np.mean(np.abs(means.mean(axis=1)) <= TWO_SIDED * error)
    low, high = binom.ppf([FALSE_ALARM, 1 - FALSE_ALARM], n_replications, 0.95) / n_replications
    assert low <= covered <= high  # exact for normal cluster means
