"""What is printed of two estimated ends: in order, within what is possible, never of zero width by luck."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom, norm, t

from selective_labels._validation import effective_sample_size
from selective_labels.inference.confidence_intervals import FALSE_CONTRADICTION, report, report_gap, uncross
from selective_labels.inference.evidence import mean_estimate
from selective_labels.inference.exact_intervals import Counts
from selective_labels.inference.standard_errors import (
    BoundStandardErrors,
    bound_standard_errors,
    effective_number,
)

FALSE_ALARM = 1e-6
POSITIVE = st.floats(1e-6, 0.5)


@given(st.floats(-1, 2), st.floats(-1, 2), POSITIVE, POSITIVE, st.floats(-1, 1), st.integers(5, 10_000))
def test_whatever_was_estimated_is_reported_in_order(lower, upper, low_error, high_error, correlation, n):
    spread = BoundStandardErrors(lower, upper, (low_error, high_error), correlation, n, n_units=n)
    for interval in ("parameter", "set"):
        found = report(spread, interval, limits=(0.0, 1.0))
        if np.isnan(found.lower):
            assert found.crossed
            assert "contradicts the data" in found.reason
            continue
        assert 0.0 <= found.interval.lower <= found.lower <= found.upper <= found.interval.upper <= 1.0
        assert found.crossed == (np.clip(lower, 0, 1) > np.clip(upper, 0, 1) + 1e-12)


@given(st.floats(0, 1), st.floats(0, 0.1), POSITIVE, POSITIVE)
@example(0.63671875, 1e-10, 0.25, 1e-06)
def test_crossed_ends_meet_as_many_errors_away_from_each(upper, excess, low_error, high_error):
    lower = upper + excess
    meeting, same, crossed = uncross(lower, upper, (low_error, high_error))
    assert same == meeting or np.isnan(meeting)
    if crossed and not np.isnan(meeting):
        away = (lower - meeting) / low_error - (meeting - upper) / high_error
        rounding = 4 * np.finfo(float).eps  # of numbers up to one
        assert abs(away) <= (1e-6 * excess + rounding) / min(low_error, high_error)
        assert upper <= meeting <= lower


def test_ends_that_touch_are_called_a_contradiction_as_rarely_as_stated():
    n_replications = 40_000
    lower, upper = np.random.default_rng(0).standard_normal((2, n_replications))
    far = sum(np.isnan(uncross(*pair, (1.0, 1.0))[0]) for pair in zip(lower, upper, strict=True))
    assert far <= binom.isf(FALSE_ALARM, n_replications, FALSE_CONTRADICTION)
    assert np.isnan(uncross(5.0, 0.0, (1.0, 1.0))[0])


def test_below_five_rows_or_two_clusters_there_is_a_sentence():
    few = report(BoundStandardErrors(0.5, 0.5, (0.2, 0.2), 1.0, 4, n_units=4.0), limits=(0.0, 1.0))
    assert (few.lower, few.reason) == (0.5, "an interval needs five cases or more, and there are 4.")
    assert np.isnan(few.interval).all()
    alone = report(BoundStandardErrors(0.5, 0.6, (np.nan, np.nan), 1.0, 1, clustered=True, n_units=1.0))
    assert (alone.lower, alone.upper) == (0.5, 0.6)
    assert "two clusters or more, and there is 1" in alone.reason
    assert np.isfinite(
        report(BoundStandardErrors(0.5, 0.5, (0.2, 0.2), 1.0, 2, clustered=True, n_units=2.0)).interval
    ).all()


@pytest.mark.parametrize("n", [8, 200])
def test_scores_that_happen_to_be_alike_reach_to_what_was_not_met(n):
    """As far as the exact interval of a share that was never missed."""
    constant = mean_estimate(np.full(n, 0.75))
    spread = bound_standard_errors([(constant, constant)], np.ones(n, dtype=bool), None)
    found = report(spread, limits=(0.0, 1.0))
    unmet = 1 - 0.025 ** (1 / n)
    np.testing.assert_allclose(found.interval, [0.75 * (1 - unmet), 0.75 + 0.25 * unmet], rtol=1e-5)
    assert report(spread).interval.upper > 0.75, "also where nothing is known of the possible values"


def test_counts_give_each_end_its_exact_tail():
    low, high = Counts(40, 0, 100), Counts(70, 0, 100)
    spread = BoundStandardErrors(0.4, 0.7, (0.049, 0.046), 0.5, 100, n_units=100, counts=(low, high))
    found = report(spread, limits=(0.0, 1.0))
    one_sided = low.interval((0.05, 0.05)).lower, high.interval((0.05, 0.05)).upper
    np.testing.assert_allclose(found.interval, one_sided, atol=1e-4)
    whole = report(spread, "set", limits=(0.0, 1.0))
    np.testing.assert_allclose(
        whole.interval, [low.interval((0.025, 0.025)).lower, high.interval((0.025, 0.025)).upper]
    )
    assert found.exact


def test_a_gap_has_the_reach_of_both():
    exact = report(
        BoundStandardErrors(1.0, 1.0, (0.0, 0.0), 1.0, 8, n_units=8, counts=(Counts(8, 0, 8),) * 2),
        limits=(0, 1),
    )
    other = report(BoundStandardErrors(0.9, 0.9, (0.02, 0.02), 1.0, 200, n_units=200), limits=(0, 1))
    own = BoundStandardErrors(0.1, 0.1, (0.02, 0.02), 1.0, 208, n_units=208)
    gap = report_gap(own, exact, other, "parameter", 0.95, (-1.0, 1.0))
    reach = np.hypot(1.0 - exact.interval.lower, other.interval.upper - 0.9)
    np.testing.assert_allclose(gap.interval.lower, 0.1 - reach)


class TestUnits:
    def test_weights_and_repeated_rows_clustered_by_row_tell_the_same(self):
        """Weight two is a row that stands there twice."""
        rng = np.random.default_rng(1)
        scores, weights = rng.gamma(0.3, size=40), rng.integers(1, 5, size=40)
        copy = np.repeat(np.arange(40), weights)
        weighted, repeated = mean_estimate(scores, weights), mean_estimate(scores[copy])
        one = bound_standard_errors([(weighted, weighted)], np.ones(40, dtype=bool), None, weights)
        other = bound_standard_errors([(repeated, repeated)], np.ones(len(copy), dtype=bool), copy)
        for name in ("lower", "errors", "n_clusters", "n_units", "effective"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(report(one).interval, report(other).interval, rtol=1e-10)

    @given(st.lists(st.floats(-5, 5), min_size=3, max_size=30))
    def test_between_two_and_all_carry(self, influence):
        influence = np.array(influence)
        number = effective_number(influence, np.arange(len(influence)), len(influence))
        assert 2.0 <= number <= len(influence)

    def test_of_normal_influences_all_carry(self):
        number = effective_number(norm.ppf(np.arange(0.5, 400) / 400), np.arange(400), 400.0)
        assert number > 390

    def test_a_subgroup_pays_for_its_own_mean(self):
        """Eight rows of a thousand: the factor is 8 / 7, not 1000 / 999, and t has seven degrees."""
        scores, inside = np.tile([0.0, 1.0], 500), np.arange(1000) < 8
        estimate = mean_estimate(scores, inside)
        spread = bound_standard_errors([(estimate, estimate)], inside, None)
        np.testing.assert_allclose(spread.errors[0], np.std(scores[:8], ddof=1) / np.sqrt(8))
        factor = t.ppf(0.975, 7) / norm.ppf(0.975)
        np.testing.assert_allclose(spread.widened()[0], factor * spread.errors[0])

    def test_kish_counts_clusters_by_their_weight(self):
        assert effective_sample_size(np.ones(6), np.array([0, 0, 1, 1, 2, 2])) == 3.0
        assert effective_sample_size(np.array([1e300, 1e300])) == 2.0
