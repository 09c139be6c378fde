"""SL203: leave-one-out leniency on features."""

import numpy as np
from numpy.testing import assert_allclose

from selective_labels.diagnostics.balance import LENIENCY_REGRESSION_CHECK, joint_f, leave_out_means
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def test_leave_out_means_leave_out_one():
    generator = np.random.default_rng(0)
    values, codes = generator.standard_normal(30), np.arange(30) % 3
    expected = [np.mean([values[j] for j in range(30) if j != i and codes[j] == codes[i]]) for i in range(30)]
    assert_allclose(leave_out_means(values, np.ones(30), codes, 3), expected)


def test_f_is_that_of_nested_regressions():
    generator = np.random.default_rng(1)
    X, y = generator.standard_normal((40, 3)), generator.standard_normal(40)
    X, y = X - X.mean(axis=0), y - y.mean()
    residual = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    expected = ((y @ y - residual @ residual) / 3) / (residual @ residual / 36)
    assert_allclose(joint_f(y, X, 1)[0], expected)


def test_random_assignment_is_left_alone():
    assert LENIENCY_REGRESSION_CHECK(context_of(designs.plain(4000, 40, seed()))).status == "ok"


def test_lenient_decision_makers_with_cases_of_their_own_are_found():
    assert (
        LENIENCY_REGRESSION_CHECK(context_of(designs.assigned_by_a_feature(4000, 8, seed()))).status
        == "violated"
    )


def test_one_case_each_cannot_be_tested():
    drawn = designs.plain(300, 4, seed())
    assert (
        LENIENCY_REGRESSION_CHECK(context_of(designs.Drawn(drawn.X, drawn.y, np.arange(300)))).status
        == "not applicable"
    )
