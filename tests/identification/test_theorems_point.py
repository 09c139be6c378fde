"""Section 4 and Appendix A of the paper, with the corrections E1, E1b, E3, E4 and E4b."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels.identification.bounds import raw_bounds
from selective_labels.identification.costs import CostSensitiveProblem, point_costs
from selective_labels.identification.point import numeric_moments, slope, two_fold_moments
from tests.reference.latent_models import LatentModel, additive_model, random_model

EXACT = {"rtol": 0, "atol": 1e-12}


def numeric_ratio(model, codes):
    moments = numeric_moments(codes, model.stream, model.shares)
    return slope(moments.covariance, moments.strength, moments.selected)[0]


def leniency_slope(model):
    moments = two_fold_moments(model.stream, model.stream, model.shares)
    return slope(moments.covariance, moments.strength, moments.selected)[0]


def two_type_model(leniency, dependence, probability=0.5, spread=0.4):
    """Two equally likely u: P(Y*=1 | u) = probability ± spread, P(D=1 | u, z) = leniency_z ± dependence_z."""
    sign = np.array([[1.0], [-1.0]])
    positive = probability + spread * sign
    decisions = np.asarray(leniency) + sign * np.asarray(dependence)
    n_decision_makers = len(leniency)
    return LatentModel(
        np.array([0.5, 0.5]),
        np.hstack([1 - positive, positive]),
        decisions,
        np.full(n_decision_makers, 1 / n_decision_makers),
    )


def test_lemma_4_1_excess_risk():
    rng = np.random.default_rng(41)
    weight, eta = rng.dirichlet(np.ones(20)), rng.dirichlet(np.ones(4), size=20)
    predicted, best = rng.integers(4, size=20), eta.argmax(axis=1)
    label_of_everybody = weight[:, None] * eta  # P(X=x, Y*=k)
    direct = sum(
        label_of_everybody[x, k] * (float(k != predicted[x]) - float(k != best[x]))
        for x in range(20)
        for k in range(4)
    )
    indicators = np.eye(4)[best] - np.eye(4)[predicted]
    # P(Y* ≠ t) - P(Y* ≠ s*) is a sum over classes of η_k times a difference of indicators.
    assert_allclose((weight[:, None] * eta * indicators).sum(), direct, **EXACT)
    # The same excess risk is the mean cost of the predicted class.
    assert_allclose(weight @ point_costs(eta)[np.arange(20), predicted], direct, **EXACT)


@pytest.mark.parametrize("seed", range(20))
def test_theorem_4_3_point_identification(seed):
    model = additive_model(np.random.default_rng(seed))
    codes = np.arange(1.0, 5.0)
    assert_allclose(model.nucem_violation(codes), 0.0, atol=1e-15)
    # NUCEM holds, so the ratio of covariances is P(Y*=k).
    assert_allclose(numeric_ratio(model, codes), model.probabilities, rtol=0, atol=1e-9)


def test_theorem_4_3_full_information_and_separable_unobservables():
    rng = np.random.default_rng(43)
    full = random_model(rng)
    full = LatentModel(full.weights, np.tile(full.labels[0], (5, 1)), full.decisions, full.shares)
    # Example "full information": labels do not depend on U.
    assert_allclose(numeric_ratio(full, np.arange(4.0)), full.probabilities, rtol=0, atol=1e-9)
    decision_part, label_part = random_model(rng, n_hidden=3), random_model(rng, n_hidden=2)
    separable = LatentModel(
        np.kron(decision_part.weights, label_part.weights),
        np.tile(label_part.labels, (3, 1)),
        np.repeat(decision_part.decisions, 2, axis=0),
        decision_part.shares,
    )
    # Example "separable": the U of the decisions and the U of the labels are independent.
    assert_allclose(numeric_ratio(separable, np.arange(4.0)), separable.probabilities, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_theorem_4_3_nucem_is_necessary(seed):
    model = random_model(np.random.default_rng(seed))
    codes = np.arange(1.0, 5.0)
    bias = model.nucem_violation(codes) / (model.weights @ model.compliance(codes))
    # The ratio misses by exactly the NUCEM covariance, so it is right only where that is zero.
    assert_allclose(numeric_ratio(model, codes), model.probabilities + bias, rtol=1e-9, atol=1e-9)
    assert np.abs(bias).max() > 1e-3, "the draw must violate NUCEM"


def test_theorem_4_3_needs_decisions_independent_of_labels_given_z():
    # E3: Y* ~ B(.3), D = 1{Y* ≠ Z}; the stated assumptions hold with no U, but D and Y* depend given Z.
    joint = [np.array([[0.7, 0.0, 0.3]]), np.array([[0.3, 0.7, 0.0]])]
    moments = numeric_moments([0, 1], joint, [0.5, 0.5])
    ratio = slope(moments.covariance, moments.strength, moments.selected)
    assert_allclose(ratio[0, 1], -0.75, **EXACT)
    # The bounds need no such assumption and stay valid.
    assert raw_bounds(joint).contains([[0.7, 0.3]]).all()


def test_theorem_4_3_depends_on_the_coding():
    model = two_type_model(leniency=[0.3, 0.4, 0.6], dependence=[0.1, -0.2, 0.1])
    # E4: κ_z = (.04, -.08, .04) is uncorrelated with the codes 1, 2, 3 and with no other order.
    assert_allclose(numeric_ratio(model, [1, 2, 3]), model.probabilities, **EXACT)
    for codes in ([2, 1, 3], [1, 3, 2]):
        assert abs(numeric_ratio(model, codes)[1] - 0.5) > 0.05


def test_theorem_4_3_relevance_is_not_enough():
    model = two_type_model(leniency=[0.8, 0.3, 0.8], dependence=[0.1, 0.1, 0.1])
    moments = numeric_moments([1, 2, 3], model.stream, model.shares)
    # E4: the decision-makers differ, yet Cov(D, Z) = 0 in this coding.
    assert_allclose(moments.strength, 0.0, **EXACT)
    # The leniency as instrument sees the difference and needs no coding.
    assert_allclose(leniency_slope(model), model.probabilities, **EXACT)


@pytest.mark.parametrize("seed", range(20))
def test_proposition_a_1_sufficient_condition(seed):
    rng = np.random.default_rng(seed)
    model = additive_model(rng)
    differences = model.decisions[:, :, None] - model.decisions[:, None, :]
    condition = [
        model.covariance(differences[:, j, other], label)
        for j in range(4)
        for other in range(4)
        for label in model.labels.T
    ]
    assert_allclose(condition, 0.0, atol=1e-15)
    # The condition implies Assumption 4.2 for every coding, not only for one (E4b).
    for _ in range(3):
        assert_allclose(model.nucem_violation(rng.normal(size=4)), 0.0, atol=1e-15)
    # It says that p_kz is a line in the leniency with slope η_k.
    intercepts = model.joint[:, 1:] - model.leniency[:, None] * model.probabilities
    assert_allclose(intercepts, intercepts[[0]].repeat(4, axis=0), **EXACT)
    # So the leniency slope is P(Y*=k), whatever the decision-makers are called.
    order = rng.permutation(4)
    renamed = LatentModel(model.weights, model.labels, model.decisions[:, order], model.shares[order])
    assert_allclose(leniency_slope(model), model.probabilities, rtol=0, atol=1e-9)
    assert_allclose(leniency_slope(renamed), model.probabilities, rtol=0, atol=1e-9)


def test_theorem_4_4_exact_risk_of_many_classes():
    rng = np.random.default_rng(44)
    weight, eta = rng.dirichlet(np.ones(50)), rng.dirichlet(np.ones(4), size=50)
    predicted = rng.integers(4, size=50)
    direct = weight @ (eta.max(axis=1) - eta[np.arange(50), predicted])
    # P(Y* ≠ t) - P(Y* ≠ s*) is the mean cost of what is predicted.
    assert_allclose(weight @ point_costs(eta)[np.arange(50), predicted], direct, **EXACT)


def test_theorem_4_4_exact_risk_of_two_classes():
    rng = np.random.default_rng(45)
    weight, positive = rng.dirichlet(np.ones(50)), rng.uniform(size=50)
    eta = np.column_stack([1 - positive, positive])
    predicted = rng.integers(2, size=50)
    direct = weight @ (eta.max(axis=1) - eta[np.arange(50), predicted])
    costs = point_costs(eta)
    signed = CostSensitiveProblem(eta, costs, eta, weight).signed_weight
    # E1: the weight is 2η - 1.
    assert_allclose(signed, 2 * positive - 1, **EXACT)
    wrong = predicted != (signed > 0)
    assert_allclose(weight @ (np.abs(signed) * wrong), direct, **EXACT)
    # E1: the paper's weight η - 1/2 reports half of the risk.
    assert_allclose(weight @ (np.abs(positive - 0.5) * wrong), direct / 2, **EXACT)


def test_theorem_4_4_labels_are_coded_zero_and_one():
    model = two_type_model(leniency=[0.3, 0.6], dependence=[0.1, 0.1], probability=0.6, spread=0.3)
    joint = model.joint
    signed_covariance = np.cov(joint[:, 2] - joint[:, 1], [0, 1])[0, 1]
    leniency_covariance = np.cov(model.leniency, [0, 1])[0, 1]
    # E1b: with Y in {-1, 1} the ratio is 2η - 1 = .2, so the paper's "minus one half" would cut η at 3/4.
    assert_allclose(signed_covariance / leniency_covariance, 0.2, **EXACT)
    # With the indicator of class 1 it is η = .6.
    assert_allclose(numeric_ratio(model, [0, 1])[1], 0.6, **EXACT)
