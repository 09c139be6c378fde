"""The pooled logistic model is where its penalised likelihood is largest, in all of its parameters."""

from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels.nuisance.logistic import LogisticSettings, PooledLogistic

N_SAMPLES, N_ARMS = 300, 3


def make_rows(n_outcomes):
    rng = np.random.default_rng(0)
    X, arm = rng.normal(size=(N_SAMPLES, 2)), rng.integers(N_ARMS, size=N_SAMPLES)
    logits = X @ rng.normal(size=(2, n_outcomes)) + rng.normal(size=(N_ARMS, n_outcomes))[arm]
    chance = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    outcome = (rng.random((N_SAMPLES, 1)) > chance.cumsum(axis=1)).sum(axis=1)
    return X, arm, outcome, rng.uniform(0.5, 3.0, N_SAMPLES)


@pytest.mark.parametrize("n_outcomes", [2, 3])
@pytest.mark.parametrize("weighted", [True, False], ids=["weights", "no weights"])
@pytest.mark.parametrize("products", [True, False], ids=["products", "linear"])
def test_the_gradient_is_that_of_the_prior(n_outcomes, weighted, products):
    """At the maximum Σ_i w_i (1{outcome=c} - p_c) x = coefficient / prior variance, for every coefficient."""
    X, arm, outcome, weight = make_rows(n_outcomes)
    settings = LogisticSettings(products, variance=0.5, slope_variance=0.1)
    model = PooledLogistic(N_ARMS, n_outcomes, settings).fit(X, arm, outcome, weight if weighted else None)
    residual = np.eye(n_outcomes)[outcome] - model.own(X, arm)
    residual = residual * weight[:, None] if weighted else residual
    linear = (X - X.mean(axis=0)) / X.std(axis=0)
    features = linear
    if products:
        pairs = np.column_stack([linear, linear[:, 0] ** 2, linear[:, 0] * linear[:, 1], linear[:, 1] ** 2])
        features = (pairs - pairs.mean(axis=0)) / pairs.std(axis=0)
    free = slice(1, None) if n_outcomes == 2 else slice(None)  # of two outcomes the first is the reference
    # The solver stops at a mean gradient of 1e-4; in the units of the slopes it is √(0.5 / 0.1) times that.
    tolerance = {"rtol": 0.0, "atol": 1e-4 * np.sqrt(5.0) * (weight.sum() if weighted else N_SAMPLES)}
    assert_allclose(residual.sum(axis=0), 0.0, **tolerance)  # intercepts are free
    assert_allclose((residual.T @ features)[free], model.base_[free] / 0.5, **tolerance)
    for each in range(N_ARMS):
        own = arm == each
        assert_allclose(residual[own].sum(axis=0)[free], model.effects_[each][free] / 0.5, **tolerance)
        slopes = linear[own].T @ residual[own]
        assert_allclose(slopes[:, free], model.slopes_[each][:, free] / 0.1, **tolerance)


def test_rows_under_their_own_decision_maker_are_those_of_the_whole():
    X, arm, outcome, _ = make_rows(3)
    for slope_variance in (0.0, 0.2):
        model = PooledLogistic(N_ARMS, 3, LogisticSettings(False, 1.0, slope_variance)).fit(X, arm, outcome)
        joint = model.joint(X)
        assert joint.shape == (N_ARMS, N_SAMPLES, 3)
        assert_allclose(model.own(X, arm), joint[arm, np.arange(N_SAMPLES)])
        assert_allclose(joint.sum(axis=2), 1.0)


def test_without_slopes_decision_makers_differ_by_a_constant():
    X, arm, outcome, _ = make_rows(3)
    model = PooledLogistic(N_ARMS, 3, LogisticSettings(False, 1.0, 0.0)).fit(X, arm, outcome)
    logits = np.log(model.joint(X))
    gap = logits[0] - logits[1]
    contrast = gap - gap[:, :1]
    assert_allclose(contrast, np.broadcast_to(contrast[0], contrast.shape), atol=1e-9)
    assert np.abs(contrast).max() > 0.01


def test_a_fit_that_ends_early_is_judged_by_its_loss_and_not_by_a_warning(monkeypatch):
    # The package exports a function of another module's name, so modules are fetched by their full names.
    monkeypatch.setattr(import_module("selective_labels.nuisance.logistic"), "MAX_ITERATIONS", 1)
    X, arm, outcome, _ = make_rows(3)
    model = PooledLogistic(N_ARMS, 3, LogisticSettings(False, 1.0, 0.1)).fit(X, arm, outcome)
    assert_allclose(model.own(X, arm).sum(axis=1), 1.0)


def test_an_outcome_that_was_not_seen_has_probability_zero():
    X, arm, outcome, _ = make_rows(3)
    seen = np.where(outcome == 1, 2, outcome)
    model = PooledLogistic(N_ARMS, 4, LogisticSettings(False, 1.0, 0.1)).fit(X, arm, seen)
    assert not model.joint(X)[:, :, [1, 3]].any()
    assert_allclose(model.own(X, arm).sum(axis=1), 1.0)


def test_a_sparse_design_is_the_same_model(monkeypatch):
    rng = np.random.default_rng(1)
    X, arm, outcome, _ = make_rows(3)
    table = np.column_stack([X, rng.integers(15, size=N_SAMPLES)])
    settings = LogisticSettings(False, 1.0, 0.1)
    logistic = import_module("selective_labels.nuisance.logistic")
    found = []
    for share in (0.0, 1.0):
        monkeypatch.setattr(logistic, "SPARSE_SHARE", share)
        model = PooledLogistic(N_ARMS, 3, settings, categorical=(2,)).fit(table, arm, outcome)
        found.append(model.own(table, arm))
    assert_allclose(*found, atol=1e-3)  # where the solver stops
