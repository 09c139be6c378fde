"""Intervals from counts: against scipy, and by enumeration of everything that could have been counted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import binom, binomtest

from selective_labels.inference.evidence import count_scores
from selective_labels.inference.exact_intervals import Counts, clopper_pearson, paired_interval

LEVELS = (0.8, 0.95)


def tails_of(level):
    return (1 - level) / 2, (1 - level) / 2


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("trials", [5, 12, 50])
def test_shares_have_the_interval_of_clopper_and_pearson(trials, level):
    for successes in range(trials + 1):
        expected = binomtest(successes, trials).proportion_ci(level, method="exact")
        assert_allclose(clopper_pearson(successes, trials, tails_of(level)), expected, atol=1e-9)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("trials", [8, 15, 30, 60])
@pytest.mark.parametrize("counting", [0.02, 0.05, 0.1, 0.2, 0.5, 0.8, 1.0])
def test_the_paired_interval_covers_whatever_the_truth_is(trials, counting, level):
    """Exact probability of covering, over all tables: no simulation, so no tolerance."""
    for chance in (0.5, 0.6, 0.75, 0.9, 1.0):
        truth, covered = counting * (2 * chance - 1), 0.0
        for rows in range(trials + 1):
            for plus in range(rows + 1):
                probability = binom.pmf(rows, trials, counting) * binom.pmf(plus, rows, chance)
                if probability > 1e-9:
                    low, high = paired_interval(plus, rows - plus, trials, tails_of(level))
                    covered += probability * (low - 1e-12 <= truth <= high + 1e-12)
        assert covered >= level


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 500), st.sampled_from(LEVELS))
def test_zero_is_outside_exactly_if_the_exact_test_of_mcnemar_rejects(plus, minus, others, level):
    trials = max(plus + minus + others, 1)
    low, high = paired_interval(plus, minus, trials, tails_of(level))
    assert low <= (plus - minus) / trials <= high
    rejects = plus + minus > 0 and binomtest(plus, plus + minus).pvalue < 1 - level - 1e-9
    assert (low > 0 or high < 0) == rejects
    back = paired_interval(minus, plus, trials, tails_of(level))
    assert_allclose([low, high], [-back.upper, -back.lower], atol=1e-12)


def test_counts_are_counted_among_rows_of_positive_and_equal_weight_only():
    above, below = np.array([1.0, 0.0, 1.0, 0.5]), np.array([1.0, 1.0, 1.0, 1.0])
    assert count_scores(above, below, np.array([2.0, 2.0, 2.0, 0.0])) == Counts(2, 0, 3)
    assert count_scores(above, below, np.array([1.0, 2.0, 2.0, 0.0])) is None
    assert count_scores(above, below, None) is None
    signed = count_scores(np.array([1.0, -1.0, 0.0]), np.ones(3), None, signed=True)
    assert signed == Counts(1, 1, 3, signed=True)
    assert count_scores(np.array([1.0, -1.0, 0.0]), np.ones(3), None) is None
    assert count_scores(np.array([1.0, 1.0]), np.array([1.0, 0.0]), None) is None
