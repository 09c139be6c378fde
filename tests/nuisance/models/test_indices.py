"""Logistic models curved in a few directions: against scikit-learn's ridge, and on a known law."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from selective_labels.nuisance.models import logistic
from selective_labels.nuisance.models.logistic import (
    IndexLogistic,
    IndexSettings,
    covariance_root,
    fit_path,
    leading_directions,
)
from selective_labels.nuisance.models.ridge import Coefficients, feature_lines
from tests.nuisance.models.test_logistic import N_ARMS, sample

CUBIC = IndexSettings(2, 3, 0.1, 0.01)


@pytest.mark.parametrize("n_outcomes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_given_the_directions_it_is_the_ridge_regression_that_scikit_learn_finds(n_outcomes, weighted):
    X, arm, outcome = sample(n_outcomes=n_outcomes)
    weight = np.random.default_rng(2).uniform(0.0, 2.0, len(X)) if weighted else None
    model = IndexLogistic(N_ARMS, n_outcomes, CUBIC, (3,)).fit(X, arm, outcome, weight)
    terms = model._terms(feature_lines(model.scale_, X))[1:].T
    assert terms.shape[1] == 9  # two indices, three squares and products, four cubes
    indicators = np.eye(N_ARMS)[arm]
    slopes = (indicators[:, :, None] * terms[:, None, :2]).reshape(len(X), -1)
    design = np.hstack([terms, indicators, np.sqrt(CUBIC.slope_variance / CUBIC.variance) * slopes])
    reference = LogisticRegression(C=CUBIC.variance, tol=1e-10, max_iter=50_000)
    expected = reference.fit(design, outcome, sample_weight=weight).predict_proba(design)
    assert_allclose(model.own(X, arm), expected, atol=1e-3)
    assert_allclose(model.joint(X)[arm, np.arange(len(X))], model.own(X, arm), atol=1e-12)


def test_two_sums_that_decide_everything_are_found_and_their_curvature_too():
    """The outcome depends on eight features through two sums, and not linearly; n = 6,000."""
    rng = np.random.default_rng(0)
    X, arm = rng.normal(size=(6000, 8)), rng.integers(0, 3, 6000)
    first, second = X[:, :4].sum(axis=1) / 2.0, X[:, 4:].sum(axis=1) / 2.0

    def chance(first, second):
        return expit(first + 0.8 * second + 0.6 * first * second)

    labeled = rng.random(6000) < expit(arm - 1.0 + second)
    outcome = np.where(labeled, 1 + (rng.random(6000) < chance(first, second)), 0)
    model = IndexLogistic(3, 3, CUBIC).fit(X, arm, outcome)
    truth = np.column_stack([np.repeat([1.0, 0.0], 4), np.repeat([0.0, 1.0], 4)]) / 2.0
    spanned = truth @ np.linalg.lstsq(truth, model.directions_, rcond=None)[0]
    assert np.linalg.norm(model.directions_ - spanned) < 0.15 * np.linalg.norm(model.directions_)
    joint = model.joint(X)[2]
    away = joint[:, 2] / joint[:, 1:].sum(axis=1) - chance(first, second)
    linear = IndexLogistic(3, 3, IndexSettings(2, 1, 0.1, 0.01)).fit(X, arm, outcome).joint(X)[2]
    missed = linear[:, 2] / linear[:, 1:].sum(axis=1) - chance(first, second)
    assert np.sqrt(np.mean(away**2)) < 0.04 < 0.08 < np.sqrt(np.mean(missed**2))


def test_directions_have_unit_variance_and_features_that_say_nothing_make_none_up():
    X, arm, outcome = sample()
    model = IndexLogistic(N_ARMS, 4, CUBIC, (3,)).fit(X, arm, outcome)
    logistic = feature_lines(model.scale_, X)[1:].T @ model.directions_
    assert_allclose(np.cov(logistic, rowvar=False, bias=True), np.eye(2), atol=1e-8)
    constant = IndexLogistic(N_ARMS, 4, CUBIC).fit(np.ones((len(X), 2)), arm, outcome)
    assert constant.directions_.shape[1] == 1
    assert np.isfinite(constant.joint(np.ones((3, 2)))).all()


def test_one_feature_is_one_index():
    X, arm, outcome = sample()
    model = IndexLogistic(N_ARMS, 4, CUBIC).fit(X[:, :1], arm, outcome)
    assert model.directions_.shape == (1, 1)
    assert_allclose(model.joint(X[:, :1]).sum(axis=2), 1.0)


def test_far_away_rows_are_held_at_the_edge():
    """Cubes would run off; beyond four standard deviations an index says no more."""
    X, arm, outcome = sample()
    model = IndexLogistic(N_ARMS, 4, CUBIC).fit(X, arm, outcome)
    far = X[:5] * 1e6
    assert_allclose(model.joint(far), model.joint(far * 10.0), atol=1e-12)


def test_a_path_of_settings_is_each_by_itself():
    X, arm, outcome = sample()
    settings = [IndexSettings(2, 3, variance, 0.01) for variance in (0.01, 0.1)]
    path = list(fit_path([IndexLogistic(N_ARMS, 4, each) for each in settings], X, arm, outcome))
    for model, each in zip(path, settings, strict=True):
        alone = IndexLogistic(N_ARMS, 4, each).fit(X, arm, outcome)
        assert_allclose(model.own(X, arm), alone.own(X, arm), atol=1e-4)


def test_directions_of_many_columns_are_those_of_their_covariance(monkeypatch):
    """The rows are a root of the covariance as well; up to a sign the directions are the same."""
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(12, 12)) @ rng.normal(size=(12, 300)) + 1.0
    linear = Coefficients(rng.normal(size=(2, 13)), None, rng.normal(size=(2, 3, 13)))
    usual = leading_directions(linear, covariance_root(columns))
    monkeypatch.setattr(logistic, "MOST_COVARIANCE", 11)
    root = covariance_root(columns)
    assert root.shape == (12, 300)
    wide = leading_directions(linear, root)
    assert_allclose(np.abs(wide), np.abs(usual), rtol=1e-8, atol=1e-10)
