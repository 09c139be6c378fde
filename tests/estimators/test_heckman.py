"""Heckman's two steps and the bivariate probit, against an independent likelihood by scipy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime, minimize
from scipy.stats import multivariate_normal, norm
from sklearn.utils.estimator_checks import parametrize_with_checks

import selective_labels as sl
from selective_labels.estimators.heckman import Columns, bivariate_cdf, selection_loss
from tests.estimators.declared import weights_are_not_repeats

ALL = [sl.HeckmanClassifier, sl.BivariateProbitClassifier]
RIDGE = 0.01


def expected_failures(estimator):
    return {
        "check_classifiers_classes": "it trains on labels {-1, 1}, and -1 is a hole without `decision`",
        **weights_are_not_repeats(
            "features are standardised by their unweighted moments, and ridge acts on what is standardised"
        ),
    }


@parametrize_with_checks([each() for each in ALL], expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def drawn(n_samples, seed, correlation=-0.6, n_makers=6):
    """The model itself: x standard normal, decision-makers of different leniency."""
    generator = np.random.default_rng(seed)
    x, makers = generator.standard_normal(n_samples), generator.integers(0, n_makers, n_samples)
    noise = generator.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], n_samples)
    decision = (0.2 - 0.5 * x + np.linspace(-1.2, 1.2, n_makers)[makers] + noise[:, 0] > 0).astype(int)
    y_true = (-0.3 + 0.8 * x + noise[:, 1] > 0).astype(int)
    return x[:, None], np.where(decision == 1, y_true, -1), decision, makers, y_true


def test_the_bivariate_normal_distribution():
    generator = np.random.default_rng(0)
    h, k = generator.normal(0.0, 1.5, (2, 20))
    for rho in (-0.9, -0.3, 0.0, 0.7, 0.95):
        expected = [
            multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([a, b]) for a, b in zip(h, k, strict=True)
        ]
        assert_allclose(bivariate_cdf(h, k, rho), expected, atol=2e-5)  # scipy's own error


def columns_of(x, makers):
    scaled = (x - x.mean()) / x.std()
    X = np.hstack([np.ones((len(x), 1)), scaled])
    return X, np.hstack([X, makers[:, None] == np.arange(makers.max() + 1)])


def given_to_loss(x, makers, y, decision):
    """Arguments of `selection_loss` after the parameters."""
    X, _ = columns_of(x, makers)
    seen, weights = decision == 1, np.ones(len(y))
    return Columns(X[seen]), Columns(X, makers, makers.max() + 1), y, seen, weights, RIDGE


def independent_loss(parameters, X, W, y, seen):
    """The same likelihood row by row through scipy's distributions."""
    b, c, rho = parameters[:2], parameters[2:-1], np.tanh(parameters[-1])
    total = 0.0
    for row in range(len(y)):
        if not seen[row]:
            total -= norm.logcdf(-W[row] @ c)
        else:
            sign = 2 * y[row] - 1
            law = multivariate_normal([0, 0], [[1, sign * rho], [sign * rho, 1]])
            total -= np.log(law.cdf([sign * X[row] @ b, W[row] @ c]))
    penalty = np.concatenate([[0.0], b[1:], [0.0], c[1:], [parameters[-1]]])
    return total + RIDGE / 2 * penalty @ penalty


def test_likelihood_and_gradient():
    x, y, decision, makers, _ = drawn(60, 0)
    X, W = columns_of(x, makers)
    parameters = np.random.default_rng(1).normal(0.0, 0.4, 2 + W.shape[1] + 1)
    given = given_to_loss(x, makers, y, decision)
    value, gradient = selection_loss(parameters, *given)
    assert value == pytest.approx(independent_loss(parameters, X, W, y, decision == 1), abs=1e-3)
    numeric = approx_fprime(parameters, lambda p: selection_loss(p, *given)[0], 1e-6)
    assert_allclose(gradient, numeric, atol=1e-3)


def test_whitened_coordinates():
    """T' H T = 1 for the Hessian H of weighted least squares with an indicator of every decision-maker."""
    x, _, _, makers, _ = drawn(60, 6)
    X, W = columns_of(x, makers)
    columns, weights = Columns(X, makers, makers.max() + 1), np.random.default_rng(2).uniform(0.1, 1.0, 60)
    penalty = np.concatenate([[0.0], np.full(W.shape[1] - 1, RIDGE)])
    found, unit = columns.whitening(weights, penalty), np.eye(W.shape[1])
    T = np.column_stack([found.coefficients(each) for each in unit])
    hessian = W.T @ (weights[:, None] * W) + np.diag(penalty)
    assert_allclose(T.T @ hessian @ T, unit, atol=1e-6)
    assert_allclose(found.point(found.coefficients(weights[: len(unit)])), weights[: len(unit)])
    assert_allclose(found.gradient(unit[3]), T.T @ unit[3], atol=1e-12)
    assert_allclose(columns.index(unit[2]), W @ unit[2])
    assert_allclose(columns.sums(weights), W.T @ weights)


def test_the_fit_is_the_maximum():
    x, y, decision, makers, _ = drawn(500, 2)
    W = columns_of(x, makers)[1]
    given = given_to_loss(x, makers, y, decision)
    found = sl.BivariateProbitClassifier().fit(x, y, decision_maker=makers)
    start = np.zeros(2 + W.shape[1] + 1)
    other = minimize(lambda p: selection_loss(p, *given)[0], start, method="BFGS", options={"gtol": 1e-4})
    assert_allclose(found.coefficients_, other.x[:2], atol=1e-3)
    assert found.correlation_ == pytest.approx(np.tanh(other.x[-1]), abs=1e-3)


def test_heckman_is_two_steps_by_hand():
    x, y, decision, makers, _ = drawn(800, 3)
    X, W = columns_of(x, makers)
    seen = decision == 1

    def loss(c):
        return -norm.logcdf(np.where(seen, 1, -1) * (W @ c)).sum() + RIDGE / 2 * (c[1:] @ c[1:])

    index = W[seen] @ minimize(loss, np.zeros(W.shape[1]), method="BFGS").x
    mills = norm.pdf(index) / norm.cdf(index)
    columns = np.column_stack([X[seen], mills])
    expected = np.linalg.solve(columns.T @ columns + np.diag([0, RIDGE, 0]), columns.T @ y[seen])
    found = sl.HeckmanClassifier().fit(x, y, decision_maker=makers)
    assert_allclose([*found.coefficients_, found.mills_], expected, atol=1e-4)


def test_the_truth_is_recovered_where_the_model_holds():
    """40,000 rows: the labeled cases alone are off by much more than what is allowed here."""
    x, y, _, makers, y_true = drawn(40_000, 4)
    found = sl.BivariateProbitClassifier().fit(x, y, decision_maker=makers)
    assert found.correlation_ == pytest.approx(-0.6, abs=0.08)
    everybody = np.mean(y_true)
    assert found.predict_proba(x)[:, 1].mean() == pytest.approx(everybody, abs=0.03)
    heckman = sl.HeckmanClassifier().fit(x, y, decision_maker=makers)
    assert heckman.mills_ < 0.0
    naive = np.mean(y[y >= 0])
    assert abs(heckman.predict_proba(x)[:, 1].mean() - everybody) < abs(naive - everybody) / 3


@pytest.mark.parametrize("baseline", ALL)
def test_unseen_labels_are_never_read(baseline):
    x, _, decision, makers, y_true = drawn(300, 5)
    garbage = np.where(decision == 1, y_true, 1 - y_true)
    fits = [baseline().fit(x, each, decision=decision, decision_maker=makers) for each in (y_true, garbage)]
    assert_array_equal(*(each.predict_proba(x) for each in fits))


@pytest.mark.parametrize("baseline", ALL)
def test_refusals(baseline):
    with pytest.raises(sl.InputError, match="two classes"):
        baseline().fit([[0], [1], [2], [3]], [0, 1, 2, 0])
    with pytest.raises(sl.InputError, match="ridge=0"):
        baseline(ridge=0).fit([[0], [1], [2], [3]], [0, 1, 1, 0])
