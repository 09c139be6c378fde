"""SL901: labels of like cases must not depend on who decided."""

import numpy as np
from numpy.testing import assert_allclose

from selective_labels.diagnostics.unconfounded import CHECK, added_variable_test
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def test_added_variable_is_partialled_out():
    generator = np.random.default_rng(0)
    basis = np.column_stack([np.ones(300), generator.standard_normal(300)])
    variable, residual = generator.standard_normal((2, 300))
    moved = added_variable_test(
        residual[:, None] + basis @ [[3.0], [2.0]], variable + basis @ [1.0, 5.0], basis
    )
    assert_allclose(moved, added_variable_test(residual[:, None], variable, basis))


def unconfounded(n_samples, generator):
    makers = generator.integers(8, size=n_samples)
    X = generator.standard_normal((n_samples, 2))
    y = (X[:, 0] + generator.logistic(size=n_samples) > 0).astype(int)
    decided = np.linspace(-1, 1, 8)[makers] + X[:, 1] + generator.logistic(size=n_samples) > 0
    return designs.Drawn(X, np.where(decided, y, -1), makers)


def test_decisions_by_features_alone_are_left_alone():
    assert CHECK(context_of(unconfounded(5000, np.random.default_rng(3)))).status == "ok"


def test_hidden_reason_is_found():
    assert CHECK(context_of(designs.plain(8000, 8, seed()))).status == "violated"
