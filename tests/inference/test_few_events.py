"""Intervals of AUC and balanced accuracy where few rows are events."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

import selective_labels as sl
from selective_labels.inference.confidence_intervals import report
from selective_labels.inference.evidence import ComparedRows, Estimate
from selective_labels.inference.standard_errors import bound_standard_errors

LEVEL = 0.95
# A correct interval falls below the limit of a coverage test with this probability.
FALSE_ALARM = 1e-4


def drawn(seed, n=400, n_events=10, auc=0.93):
    """Scores N(δ, 1) of events and N(0, 1) of the others, whose AUC is Φ(δ / √2)."""
    y = (np.arange(n) < n_events).astype(int)
    score = np.random.default_rng(seed).normal(size=n) + y * np.sqrt(2.0) * ndtri(auc)
    return y, score


def auc_of(y, score, **roles):
    return sl.evaluate(score, score[:, None], y, metric="auc", **roles)


@pytest.mark.parametrize("few", [1, 4, 9])
def test_below_ten_events_there_is_a_value_and_a_sentence(few):
    y, score = drawn(0, n_events=few)
    for found, counts in (
        (auc_of(y, score), f"{few} and {400 - few}"),
        (auc_of(1 - y, score), f"{400 - few} and {few}"),
    ):
        assert found.lower == found.upper
        assert np.isnan([found.ci_lower, found.ci_upper]).all()
        assert f"effectively {counts}." in found.reason


def test_ten_events_are_enough():
    assert auc_of(*drawn(0)).reason is None


def test_a_comparison_with_few_events_is_undecided():
    y, score = drawn(0, n_events=9)
    found = sl.compare(score, -score, score[:, None], y, metric="auc")
    assert found.verdict == "undecided"
    assert "ten events" in found.reason


def test_a_gap_needs_ten_events_in_both_subgroups():
    y, score = drawn(0, n_events=25)
    part = np.arange(400) % 2
    enough = auc_of(np.roll(y, 1), np.roll(score, 1), by=part).gaps[0]
    few = auc_of(y, score, by=(np.arange(400) < 20).astype(int)).gaps[0]
    assert enough.ci_lower < enough.lower < enough.ci_upper
    assert np.isnan(few.ci_lower)


def test_weights_and_clusters_count_effective_events():
    y, score = drawn(0, n_events=12)
    weights = np.where(np.arange(400) < 3, 100.0, 1.0)  # three events carry the weight of all
    assert "effectively 3 and 388" in auc_of(y, score, sample_weight=weights).reason
    cases = np.arange(400) // 2  # six cases with two events each
    assert "effectively 6 and 194" in auc_of(y, score, groups=cases).reason


def test_perfect_ranks_have_about_the_interval_of_ten_successes():
    """Clopper and Pearson's lower limit is .69, Wilson's with Student's factor .66."""
    y, _ = drawn(0)
    found = auc_of(y, y + 0.0)
    assert found.lower == pytest.approx(1.0)
    assert found.ci_upper == pytest.approx(1.0)
    assert 0.65 < found.ci_lower < 0.7


def test_one_copy_of_every_row_changes_nothing_if_copies_are_a_case():
    y, score = drawn(0, n_events=12)
    once = auc_of(y, score)
    twice = auc_of(np.repeat(y, 2), np.repeat(score, 2), groups=np.repeat(np.arange(400), 2))
    assert (once.ci_lower, once.ci_upper) == pytest.approx((twice.ci_lower, twice.ci_upper), abs=1e-9)


def separation(value, variance, n_events, n, unseen=0.25):
    """An estimate with the masses of a separation whose influences have this variance."""
    event = (np.arange(n) < n_events).astype(float)
    influence = np.sqrt(variance * n) * np.where(np.arange(n) % 2, 1.0, -1.0)
    return Estimate(value, influence, compared=ComparedRows((event, 1.0 - event), unseen, (0.0, 1.0), 10.0))


def interval_of(*law):
    one = separation(*law)
    spread = bound_standard_errors([(one, one)], np.ones(law[3], dtype=bool), None)
    return report(spread, limits=(0.0, 1.0)).interval


def test_many_events_leave_the_usual_interval():
    """With 500,000 events, the addition, Student's factor and Wilson's form change it by less than 1 %."""
    low, high = interval_of(0.8, 1e-6, 500_000, 1_000_000)
    assert (0.8 - low, high - 0.8) == pytest.approx([1.96 * np.sqrt(1e-6)] * 2, rel=0.01)


def test_the_limits_reach_further_towards_one_half():
    low, high = interval_of(0.95, 1e-4, 40, 400)
    assert 0.95 - low > 1.2 * (high - 0.95)


def test_the_addition_does_not_exceed_the_largest_possible_variance():
    """The variance of a mean of N values in [0, 1] is at most θ (1 - θ) / N; θ is half a unit inside."""
    both = (separation(0.99, 0.0, 10, 100, unseen=9.0),) * 2
    spread = bound_standard_errors([both], np.ones(100, dtype=bool), None)
    assert spread.errors[0] == pytest.approx(np.sqrt(0.95 * 0.05 / 10))


def coverage_limit(n_draws):
    return binom.ppf(FALSE_ALARM, n_draws, LEVEL)


@pytest.mark.parametrize("auc", [0.76, 0.976])
def test_coverage_with_ten_events(auc):
    found = [auc_of(*drawn(seed, auc=auc)) for seed in range(60)]
    assert sum(each.ci_lower <= auc <= each.ci_upper for each in found) >= coverage_limit(60)


def test_coverage_of_a_difference_between_scores_that_hardly_differ():
    """Scores exchange their values in 3 % of the rows: most samples show no difference among ten events."""
    covered = 0
    for seed in range(60):
        y, score = drawn(seed, n_events=20, auc=0.976)
        rng = np.random.default_rng(1000 + seed)
        fresh = rng.normal(size=400)
        other = np.where(rng.random(400) < 0.03, fresh, score)
        found = sl.compare(score, other, score[:, None], y, metric="auc")
        covered += found.ci_lower <= 0.03 * (0.976 - 0.5) * 1.94 <= found.ci_upper
    assert covered >= coverage_limit(60)


def test_coverage_of_balanced_accuracy_with_ten_events():
    rng, covered = np.random.default_rng(0), 0
    for _ in range(60):
        y = (np.arange(400) < 10).astype(int)
        guess = (rng.random(400) < np.where(y == 1, 0.95, 0.05)).astype(int)
        found = sl.evaluate(guess, guess[:, None], y, metric="balanced_accuracy")
        covered += found.ci_lower <= 0.95 <= found.ci_upper
    assert covered >= coverage_limit(60)
