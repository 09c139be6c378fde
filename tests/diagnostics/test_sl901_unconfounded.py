"""SL901: labels of comparable cases must not depend on who decided."""

from dataclasses import astuple

import numpy as np
from numpy.testing import assert_allclose

from selective_labels.diagnostics.hypothesis_tests import added_variable_test
from selective_labels.diagnostics.nucem import UNCONFOUNDED_CHECK
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def test_added_variable_is_partialled_out():
    generator = np.random.default_rng(0)
    basis = np.column_stack([np.ones(300), generator.standard_normal(300)])
    variable, residual = generator.standard_normal((2, 300))
    moved = added_variable_test(
        residual[:, None] + basis @ [[3.0], [2.0]], variable + basis @ [1.0, 5.0], basis
    )
    assert_allclose(astuple(moved), astuple(added_variable_test(residual[:, None], variable, basis)))


def test_a_row_repeated_within_its_unit_is_worth_one_row():
    generator = np.random.default_rng(0)
    ones, (variable, residual) = np.ones((300, 1)), generator.standard_normal((2, 300))
    once = added_variable_test(residual[:, None], variable, ones)
    twice = np.repeat(np.arange(300), 2)
    repeated = added_variable_test(residual[twice, None], variable[twice], ones[twice], twice)
    assert_allclose(astuple(repeated), astuple(once))


def test_error_is_that_of_least_squares():
    """Two thousand samples: the spread of the coefficient is known to a 1.6 % standard error; 5 of them."""
    generator = np.random.default_rng(0)
    ones, variable = np.ones((200, 1)), generator.standard_normal(200)
    noise = generator.standard_normal((2000, 200))
    centred = variable - variable.mean()
    spread = (noise @ centred / (centred @ centred)).std()
    error = np.mean([added_variable_test(each[:, None], variable, ones).error for each in noise[:200]])
    assert_allclose(error, spread, rtol=0.08)


def unconfounded(n_samples, generator):
    makers = generator.integers(8, size=n_samples)
    X = generator.standard_normal((n_samples, 2))
    y = (X[:, 0] + generator.logistic(size=n_samples) > 0).astype(int)
    decided = np.linspace(-1, 1, 8)[makers] + X[:, 1] + generator.logistic(size=n_samples) > 0
    return designs.Drawn(X, np.where(decided, y, -1), makers)


def test_decisions_by_features_alone_are_left_alone():
    assert UNCONFOUNDED_CHECK(context_of(unconfounded(5000, np.random.default_rng(3)))).status == "ok"


def test_hidden_reason_is_found():
    assert UNCONFOUNDED_CHECK(context_of(designs.plain(8000, 8, seed()))).status == "violated"
