"""SL402: the instrumental inequality by kind of case."""

import numpy as np
from numpy.testing import assert_allclose

from selective_labels.diagnostics.exclusion import INEQUALITY_CHECK as ON_AVERAGE
from selective_labels.diagnostics.exclusion import INEQUALITY_LEAVES_CHECK
from selective_labels.diagnostics.hypothesis_tests import holm
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def test_holm_by_hand():
    assert_allclose(holm(np.array([0.04, 0.01, 0.03])), [0.06, 0.03, 0.06])


def test_valid_design_is_left_alone():
    assert INEQUALITY_LEAVES_CHECK(context_of(designs.plain(3000, 8, seed()))).status == "ok"


def test_violation_among_a_third_of_cases_is_found_only_by_kind():
    gross = designs.label_depends_on_decision_maker(3000, 6, seed())
    generator = np.random.default_rng(0)
    # Elsewhere only a third of cases is decided in favour, so that the average has room.
    spared = (gross.X[:, 0] < 0.5) & (generator.random(3000) < 0.7)
    context = context_of(designs.Drawn(gross.X, np.where(spared, -1, gross.y), gross.decision_maker))
    assert context.result_of(INEQUALITY_LEAVES_CHECK).status == "violated"
    assert context.result_of(ON_AVERAGE).statistic < context.result_of(INEQUALITY_LEAVES_CHECK).statistic


def test_without_features_there_are_no_kinds():
    assert (
        INEQUALITY_LEAVES_CHECK(context_of(designs.without_features(1000, 4, seed()))).status
        == "not applicable"
    )


def test_kinds_with_few_cases_per_decision_maker_are_not_tested():
    result = INEQUALITY_LEAVES_CHECK(context_of(designs.plain(3000, 40, seed())))
    assert result.status == "not applicable"
    assert "fewer than 3,200 cases" in result.message, "the mean of few heavy scores is not normal"
