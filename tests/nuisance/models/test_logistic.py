"""Pooled logistic models against scikit-learn's logistic regression on the same columns, written out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from selective_labels.nuisance.models import ridge
from selective_labels.nuisance.models.logistic import LogisticSettings, PooledLogistic
from selective_labels.nuisance.models.ridge import PooledRidge, PooledRows

N_ARMS = 5
SETTINGS = [
    LogisticSettings(products, variance, slopes)
    for products in (False, True)
    for variance, slopes in ((0.01, 0.0), (0.1, 0.01), (1.0, 1.0))
]


def sample(n_samples=800, n_outcomes=4, seed=0):
    """Rows with features that go together, two arms of one row, and categories in the last column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 4)) @ rng.normal(size=(4, 4))
    X[:, 3] = rng.integers(0, 3, n_samples)
    arm = rng.integers(0, N_ARMS - 2, n_samples)
    arm[:2] = N_ARMS - 2, N_ARMS - 1
    logits = X @ rng.normal(size=(4, n_outcomes)) * 0.5 + 0.3 * (X[:, :1] ** 2) * np.arange(n_outcomes)
    logits += np.random.default_rng(1).normal(size=(N_ARMS, n_outcomes))[arm]
    outcome = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return X, arm, outcome


def written_out(model, X, arm):
    """The columns of the model, so scaled that one ridge means all its prior variances."""
    features = model.scale_.transform(X)
    base, numbers = features, features[:, 3:]
    if model.settings.products:
        base = make_pipeline(PolynomialFeatures(include_bias=False), StandardScaler()).fit_transform(features)
    indicators = np.eye(N_ARMS)[arm]
    slopes = (indicators[:, :, None] * numbers[:, None, :]).reshape(len(X), -1)
    scale = np.sqrt(model.settings.slope_variance / model.settings.variance)
    return np.hstack([base, indicators, scale * slopes])


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("n_outcomes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_ridge_regression_that_scikit_learn_finds(settings, n_outcomes, weighted):
    X, arm, outcome = sample(n_outcomes=n_outcomes)
    weight = np.random.default_rng(2).uniform(0.0, 2.0, len(X)) if weighted else None
    model = PooledLogistic(N_ARMS, n_outcomes, settings, (3,)).fit(X, arm, outcome, weight)
    design = written_out(model, X, arm)
    reference = LogisticRegression(C=settings.variance, tol=1e-10, max_iter=50_000)
    expected = reference.fit(design, outcome, sample_weight=weight).predict_proba(design)
    assert_allclose(model.own(X, arm), expected, atol=1e-3)  # at the row of an arm of one row
    exact = model.fit_rows(PooledRows.read(X, arm, outcome, weight, N_ARMS, (3,)), tolerance=1e-11)
    assert_allclose(exact.own(X, arm), expected, atol=1e-4)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_start_from_few_rows_or_another_ridge_changes_nothing(settings, monkeypatch):
    X, arm, outcome = sample(3000)
    rows = PooledRows.read(X, arm, outcome, None, N_ARMS, (3,))
    cold = PooledLogistic(N_ARMS, 4, settings, (3,)).fit_rows(rows)
    other = PooledLogistic(N_ARMS, 4, LogisticSettings(settings.products, 0.05, 0.0), (3,)).fit_rows(rows)
    warm = PooledLogistic(N_ARMS, 4, settings, (3,)).fit_rows(rows, start=other)
    monkeypatch.setattr(ridge, "CURVATURE_ROWS", (300, 300))
    from_few = PooledLogistic(N_ARMS, 4, settings, (3,)).fit_rows(rows)
    monkeypatch.setattr(ridge, "MOST_BASE", 4)
    monkeypatch.setattr(ridge, "MOST_LOCAL", 2)
    column_by_column = PooledLogistic(N_ARMS, 4, settings, (3,)).fit_rows(rows)
    for each in (warm, from_few, column_by_column):
        assert_allclose(each.own(X, arm), cold.own(X, arm), atol=1e-3)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_gradient_is_that_of_the_value(settings):
    X, arm, outcome = sample(200)
    rows = PooledRows.read(X, arm, outcome, None, N_ARMS, (3,))
    problem = PooledRidge(rows, settings.products, settings.variance, settings.slope_variance)
    rng = np.random.default_rng(0)
    base, local = (rng.normal(size=shape) for shape in problem.shapes)
    _, base_gradient, local_gradient = problem.value(base, local)
    for _ in range(5):
        along = [rng.normal(size=shape) for shape in problem.shapes]
        up, down = (
            problem.value(base + step * along[0], local + step * along[1])[0] for step in (1e-5, -1e-5)
        )
        slope = np.vdot(base_gradient, along[0]) + np.vdot(local_gradient, along[1])
        assert_allclose((up - down) / 2e-5, slope, rtol=1e-6)


def test_whitening_and_colouring_undo_the_curvature_that_they_were_made_from():
    X, arm, outcome = sample(500, n_outcomes=3)
    rows = PooledRows.read(X, arm, outcome, None, N_ARMS, (3,))
    problem = PooledRidge(rows, True, 1.0, 1.0)
    start = ridge.fit_ridge(rows, True, 1.0, 1.0, 1e-10)
    factor = problem.factor(start)
    rng = np.random.default_rng(0)
    flat, gradient = rng.normal(size=factor.size), [rng.normal(size=shape) for shape in problem.shapes]
    base, local = factor.colour(flat)
    along = np.vdot(base, gradient[0]) + np.vdot(local, gradient[1])
    assert_allclose(along, flat @ factor.whiten(*gradient), rtol=1e-9)  # one is the other's transpose
    assert_allclose(base.sum(axis=0), 0.0, atol=1e-9)  # the common direction of all outcomes is left out
    centre = problem.standardised(start)
    step = 1e-4
    ends = [
        problem.value(centre[0] + sign * base, centre[1] + sign * local)[0] for sign in (step, 0.0, -step)
    ]
    bend = (ends[0] - 2.0 * ends[1] + ends[2]) / step**2
    assert 0.5 < bend / (flat @ flat) < 2.0  # lengths are about what the loss rises by


def test_joint_and_own_are_two_ways_to_one_number():
    X, arm, outcome = sample()
    for settings in SETTINGS:
        model = PooledLogistic(N_ARMS, 4, settings, (3,)).fit(X, arm, outcome)
        assert_allclose(model.joint(X)[arm, np.arange(len(X))], model.own(X, arm), atol=1e-12)


def test_without_slopes_decision_makers_differ_by_a_constant():
    X, arm, outcome = sample()
    model = PooledLogistic(N_ARMS, 4, LogisticSettings(False, 1.0, 0.0), (3,)).fit(X, arm, outcome)
    logits = np.log(model.joint(X))
    gap = logits[0] - logits[1]
    contrast = gap - gap[:, :1]
    assert_allclose(contrast, np.broadcast_to(contrast[0], contrast.shape), atol=1e-9)
    assert np.abs(contrast).max() > 0.01


def test_an_outcome_that_was_not_seen_has_probability_zero():
    X, arm, outcome = sample(n_outcomes=3)
    seen = np.where(outcome == 1, 2, outcome)
    model = PooledLogistic(N_ARMS, 4, LogisticSettings(False, 1.0, 0.1), (3,)).fit(X, arm, seen)
    assert not model.joint(X)[:, :, [1, 3]].any()
    assert_allclose(model.own(X, arm).sum(axis=1), 1.0)


def test_a_fit_that_ends_early_is_judged_by_its_loss_and_not_by_a_warning(monkeypatch):
    monkeypatch.setattr(ridge, "MAX_ITERATIONS", 1)
    X, arm, outcome = sample()
    model = PooledLogistic(N_ARMS, 4, LogisticSettings(False, 1.0, 0.1), (3,)).fit(X, arm, outcome)
    assert_allclose(model.own(X, arm).sum(axis=1), 1.0)
