"""Models that see the instrument as a number."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from selective_labels.nuisance.models.boosting import (
    BoostedJoint,
    ClassifierJoint,
    SmoothJoint,
    spline_columns,
)
from selective_labels.nuisance.models.logistic import LogisticSettings, PooledLogistic

VALUES = np.linspace(-2.0, 2.0, 20)


def leniency(X, z):
    """With a slope that depends on the second feature."""
    return expit(0.5 * X[:, 0] + z * (1.0 + 0.5 * np.tanh(X[:, 1])))


def rows(n=6000, seed=0):
    generator = np.random.default_rng(seed)
    X, arm = generator.normal(size=(n, 2)), generator.integers(20, size=n)
    return X, arm, (generator.random(n) < leniency(X, VALUES[arm])).astype(int)


MODELS = {
    "logistic": (lambda: PooledLogistic(1, 2, LogisticSettings(False, 1.0, 1.0)), 0.03),
    "quadratic": (lambda: PooledLogistic(1, 2, LogisticSettings(True, 1.0, 0.0)), 0.03),
    "boosting": (lambda: BoostedJoint(1, 2, random_state=0), 0.06),
    "classifier": (lambda: ClassifierJoint(1, 2, LogisticRegression()), 0.06),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_family_follows_the_number(name):
    make, near = MODELS[name]
    model = SmoothJoint(make(), VALUES).fit(*rows())
    X, arm, _ = rows(500, seed=1)
    joint = model.joint(X)
    assert joint.shape == (20, 500, 2)
    assert_allclose(joint.sum(axis=2), 1.0)
    truth = np.stack([leniency(X, np.full(500, z)) for z in VALUES])
    assert np.abs(joint[:, :, 1] - truth).mean() < near
    assert_allclose(model.own(X, arm), joint[arm, np.arange(500)])


def test_a_value_without_a_row_is_between_its_neighbours():
    X, arm, outcome = rows()
    kept = arm != 10
    model = SmoothJoint(MODELS["logistic"][0](), VALUES).fit(X[kept], arm[kept], outcome[kept])
    before, at, after = model.joint(np.zeros((1, 2)))[9:12, 0, 1]
    assert before < at < after


@pytest.mark.parametrize("n_values", [1, 2, 3, 4, 20])
def test_few_values_have_few_columns(n_values):
    columns = spline_columns(np.arange(float(n_values)) ** 3)
    assert len(columns) == n_values
    assert np.isfinite(columns).all()
    assert np.linalg.matrix_rank(np.column_stack([np.ones(n_values), columns])) == min(n_values, 7)


def test_codes_of_categories_have_no_products_with_the_number():
    X, arm, outcome = rows()
    table = np.column_stack([arm % 3, X])
    inner = PooledLogistic(1, 2, LogisticSettings(False, 1.0, 1.0), categorical=(0,))
    model = SmoothJoint(inner, VALUES, categorical=(0,)).fit(table, arm, outcome)
    assert model._design(table, arm).shape[1] == 3 + model.columns.shape[1] + 2
