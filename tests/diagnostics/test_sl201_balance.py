"""SL201: balance of predicted decision and label."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels.diagnostics.balance import BALANCE_CHECK, between
from selective_labels.diagnostics.hypothesis_tests import assignment_units, shuffles
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def test_between_is_the_sum_of_squares_of_an_analysis_of_variance():
    generator = np.random.default_rng(0)
    codes, values = generator.integers(3, size=50), generator.standard_normal((50, 2))
    sums = np.stack(
        [np.append(values[codes == code].sum(axis=0), np.sum(codes == code)) for code in range(3)]
    )
    parts = sum(np.sum(codes == code) * values[codes == code].mean(axis=0) ** 2 for code in range(3))
    assert_allclose(between(sums), [parts.sum(), *parts])


def test_shuffles_keep_what_each_stratum_has():
    generator = np.random.default_rng(1)
    codes, cell = generator.integers(5, size=200), generator.integers(4, size=200)
    for shuffled in shuffles(codes, cell, 3, generator):
        for each in range(4):
            assert sorted(shuffled[cell == each]) == sorted(codes[cell == each])
        assert not np.array_equal(shuffled, codes)


def test_groups_that_went_as_a_whole_are_one_unit():
    groups = np.repeat(np.arange(10), 3)
    units = assignment_units(groups % 2, np.zeros(30, dtype=int), groups)
    assert len(units.size) == 10
    assert_allclose(units.total(np.ones((30, 1)))[:, 0], 3)


@pytest.mark.parametrize("draw", [designs.plain, designs.random_within_strata])
def test_random_assignment_is_left_alone(draw):
    assert BALANCE_CHECK(context_of(draw(4000, 8, seed()))).status == "ok"


def test_assignment_by_a_feature_is_found():
    assert BALANCE_CHECK(context_of(designs.assigned_by_a_feature(4000, 8, seed()))).status == "violated"


def test_strata_that_explain_assignment_clear_it():
    drawn = designs.random_within_strata(4000, 8, seed())
    pooled = designs.Drawn(drawn.X, drawn.y, drawn.decision_maker)
    assert BALANCE_CHECK(context_of(pooled)).status == "violated"
    assert BALANCE_CHECK(context_of(drawn)).status == "ok"


def test_constant_features_leave_nothing_to_compare():
    drawn = designs.plain(400, 4, seed())
    constant = designs.Drawn(np.ones((400, 2)), drawn.y, drawn.decision_maker)
    result = BALANCE_CHECK(context_of(constant))
    assert result.status == "not applicable"
    assert "no feature" in result.message
