"""Surrogates: gradients, calibration, and a linear score that has converged."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.exceptions import ConvergenceWarning

from selective_labels import LinearScore
from selective_labels.estimators import learners, neural
from selective_labels.identification.costs import (
    MARGIN_LOSSES,
    ROUNDED_CORNER,
    CostSensitiveProblem,
    cross_entropy,
    margin_loss,
    softmax_cost,
)
from tests.estimators.samples import fit, make_sample, quick


@pytest.mark.parametrize("loss", [softmax_cost, cross_entropy])
@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0])
def test_gradients_of_score_losses(loss, scale):
    rng = np.random.default_rng(0)
    scores, targets = rng.normal(scale=scale, size=(5, 4)), rng.exponential(size=(5, 4))
    gradient = loss(scores, targets)[1]
    for row in range(5):
        numeric = approx_fprime(
            scores[row], lambda h, row=row: loss(h[None], targets[row : row + 1])[0][0], 1e-6
        )
        assert_allclose(gradient[row], numeric, atol=1e-4)


@pytest.mark.parametrize("name", MARGIN_LOSSES)
def test_gradients_of_margin_losses(name):
    margins = np.array([-40.0, -3.0, -0.1, 0.0, 0.3, 0.995, 1.0, 5.0])
    values = margin_loss(name)
    _, slope = values(margins)
    step = 1e-6
    numeric = (values(margins + step)[0] - values(margins - step)[0]) / (2 * step)
    assert_allclose(slope, numeric, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", MARGIN_LOSSES)
def test_margin_losses_are_convex_and_finite(name):
    margins = np.linspace(-1000, 1000, 20_001)
    values, slope = margin_loss(name)(margins)
    assert np.isfinite(values).all()
    assert (np.diff(slope) >= 0).all()  # convex: the slope never falls


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_theorem_6_1_softmax_is_calibrated(seed, n_classes):
    rng = np.random.default_rng(seed)
    scores, costs = rng.normal(scale=3, size=(50, n_classes)), rng.exponential(size=(50, n_classes))
    excess = costs[np.arange(50), scores.argmax(axis=1)] - costs.min(axis=1)
    surrogate = softmax_cost(scores, costs)[0] - costs.min(axis=1)
    assert (excess <= n_classes * surrogate + 1e-12).all()  # point by point, so in the mean as well


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", MARGIN_LOSSES)
def test_proposition_6_2_margin_losses_bound_the_zero_one_loss(seed, name):
    rng = np.random.default_rng(seed)
    signed, contrast = rng.normal(size=50), rng.normal(scale=3, size=50)
    sign = np.where(signed > 0, 1.0, -1.0)
    wrong = np.abs(signed) * (np.sign(contrast) != sign)
    surrogate = np.abs(signed) * margin_loss(name)(sign * contrast)[0]
    assert (wrong <= surrogate).all()


@pytest.mark.parametrize("name", MARGIN_LOSSES)
def test_a_wrong_sign_costs_at_least_one_however_close(name):
    margins = -np.logspace(-12, 2, 200)
    assert (margin_loss(name)(np.append(margins, 0.0))[0] >= 1.0).all()


def test_the_rounded_hinge_is_close_above_the_hinge():
    margins = np.linspace(-2.0, 2.0, 100_001)
    above = margin_loss("hinge")(margins)[0] - np.maximum(1.0 - margins, 0.0)
    assert above.min() >= -1e-12
    assert_allclose(above.max(), ROUNDED_CORNER / 8, rtol=1e-6)  # at a margin of one


@pytest.mark.parametrize("name", MARGIN_LOSSES)
def test_the_neural_margin_losses_never_lose_their_gradient(name):
    torch = pytest.importorskip("torch", reason="optional: PyTorch")
    margins = np.array([-50.0, -10.5, -3.0, -0.1, 0.3])
    scores = torch.tensor(np.stack([np.zeros(5), margins], axis=1), requires_grad=True)
    values = neural._loss(torch, scores, torch.ones(5, dtype=torch.float64), name)
    values.sum().backward()
    slope = scores.grad[:, 1].numpy()
    assert (slope < 0.0).all()  # whoever is wrong is told so, however wrong
    assert (np.diff(slope) >= -1e-12).all()  # convex
    near = margins >= -10.0
    assert_allclose(values.detach().numpy()[near], margin_loss(name)(margins[near])[0], rtol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_cross_entropy_is_least_where_softmax_is_the_gain(seed):
    rng = np.random.default_rng(seed)
    gains = rng.exponential(size=(30, 4))
    best = cross_entropy(np.log(gains), gains)
    assert_allclose(best[1], 0.0, atol=1e-12)
    other = cross_entropy(np.log(gains) + rng.normal(size=gains.shape), gains)
    assert (other[0] >= best[0]).all()
    assert_array_equal(np.log(gains).argmax(axis=1), gains.argmax(axis=1))  # so the best class scores highest


def make_problem(n_classes, n_samples=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 3))
    gains = rng.dirichlet(np.ones(n_classes), n_samples) + np.exp(X @ rng.normal(size=(3, n_classes)))
    costs = gains.max(axis=1, keepdims=True) - gains
    return CostSensitiveProblem(X, costs, gains, rng.uniform(0.5, 2.0, n_samples))


@pytest.mark.parametrize("surrogate", ["softmax", "cross-entropy", *MARGIN_LOSSES])
def test_the_linear_score_has_converged(surrogate, monkeypatch):
    problem, gradients = make_problem(2), []
    minimise = learners._minimise

    def watched(objective, start):
        solution = minimise(objective, start)
        gradients.append((np.abs(objective(start)[1]).max(), np.abs(objective(solution)[1]).max()))
        return solution

    monkeypatch.setattr(learners, "_minimise", watched)
    LinearScore().learn(problem, surrogate, 0)
    for before, after in gradients:
        assert after <= max(1e-3 * before, 1e-4)
    # Cross-entropy first; the softmax then goes on from two multiples of it and two random starts.
    assert len(gradients) == (5 if surrogate == "softmax" else 1)


def test_the_softmax_starts_from_the_cross_entropy_solution(monkeypatch):
    problem, starts = make_problem(3), []
    minimise = learners._minimise
    monkeypatch.setattr(learners, "_minimise", lambda f, start: starts.append(start) or minimise(f, start))
    LinearScore().learn(problem, "softmax", 0)
    convex = LinearScore().learn(problem, "cross-entropy", 0).coefficients.ravel()
    assert_allclose(starts[1], convex)
    assert_allclose(starts[2], 4 * convex)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_softmax_solution_costs_no_more_than_its_start(n_classes):
    problem = make_problem(n_classes)
    weight = problem.sample_weight / problem.sample_weight.sum()
    values = {
        surrogate: weight
        @ softmax_cost(LinearScore().learn(problem, surrogate, 0).scores(problem.X), problem.costs)[0]
        for surrogate in ("softmax", "cross-entropy")
    }
    assert values["softmax"] <= values["cross-entropy"]


@pytest.mark.parametrize("surrogate", ["softmax", "cross-entropy", *MARGIN_LOSSES])
def test_every_surrogate_finds_a_linear_rule(surrogate):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    signed = X[:, 0] - 0.5 * X[:, 1]  # the better class is linear in X
    costs = np.column_stack([np.maximum(signed, 0), np.maximum(-signed, 0)])
    problem = CostSensitiveProblem(X, costs, costs[:, ::-1], np.ones(600))
    chosen = LinearScore().learn(problem, surrogate, 0).scores(X).argmax(axis=1)
    assert np.mean(chosen == (signed > 0)) > 0.97


def test_scaling_the_costs_changes_nothing():
    problem = make_problem(3)
    scaled = CostSensitiveProblem(
        problem.X, 1000 * problem.costs, 1000 * problem.gains, problem.sample_weight
    )
    assert_allclose(
        LinearScore().learn(problem, "cross-entropy").coefficients,
        LinearScore().learn(scaled, "cross-entropy").coefficients,
        rtol=1e-6,
        atol=1e-9,
    )


@pytest.mark.parametrize("surrogate", ["softmax", "cross-entropy", *MARGIN_LOSSES])
def test_nothing_to_tell_the_classes_apart(surrogate):
    X = np.random.default_rng(0).normal(size=(50, 2))
    problem = CostSensitiveProblem(X, np.zeros((50, 2)), np.full((50, 2), 300.0), np.ones(50))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(LinearScore().learn(problem, surrogate, 0).coefficients).all()


def test_too_few_steps_are_reported(monkeypatch):
    monkeypatch.setattr(learners, "MAX_ITERATIONS", 2)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 steps"):
        LinearScore().learn(make_problem(2), "logistic")


@pytest.mark.parametrize(
    ("estimator", "surrogate", "n_classes", "valid"),
    [
        ("linear", "hinge", 3, "'auto', 'softmax', 'cross-entropy'"),
        ("linear", "squared", 2, "'auto', 'softmax', 'cross-entropy', 'logistic', 'hinge', 'exponential'"),
        ("neural", "logistic", 3, "'auto', 'softmax', 'cross-entropy'"),
        ("plug-in", "softmax", 2, "'auto'"),
        (None, "softmax", 2, "estimator=None and 2 classes; valid: 'auto'"),
    ],
)
def test_invalid_pairs_list_the_valid_ones(estimator, surrogate, n_classes, valid):
    with pytest.raises(ValueError, match=valid):
        fit(quick(estimator=estimator, surrogate=surrogate), make_sample(60, n_classes))
