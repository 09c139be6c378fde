"""Section 5 and Appendix B of the paper, with the corrections E2, E5, E6, E6b, E7, E7b, E8, E12 and E13."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels import Bounds
from selective_labels.identification.bounds import raw_bounds, realizable
from selective_labels.identification.costs import CostSensitiveProblem, best_case_costs, worst_case_costs
from tests.reference.latent_models import LatentModel, random_label_range, random_model
from tests.reference.linear_programs import Program, label_range_model, minima

EXACT = {"rtol": 0, "atol": 1e-12}


@pytest.mark.parametrize("seed", range(50))
def test_theorem_5_2_partial_bounds(seed):
    rng = np.random.default_rng(seed)
    n_classes = 2 + seed % 4
    lowest, highest = random_label_range(rng, n_classes)
    model = random_model(rng, n_classes, lowest=lowest, highest=highest)
    bounds = raw_bounds(model.stream, lowest, highest)
    # The truth lies in the set, raw or realizable.
    assert bounds.contains(model.probabilities[None]).all()
    assert realizable(bounds).contains(model.probabilities[None]).all()
    # The last claim of the theorem: a_k <= l_k <= u_k <= b_k.
    ordered = np.vstack([lowest, bounds.lower, bounds.upper, highest])
    assert (np.diff(ordered, axis=0) >= -1e-12).all()


@pytest.mark.parametrize("seed", range(50))
def test_theorem_5_2_is_tight_when_the_hidden_feature_is_the_label(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n_classes=4)
    bounds = raw_bounds(model.stream)
    eta = bounds.lower[0] + bounds.slack[0] * rng.dirichlet(np.full(4, 0.5))
    decisions = model.joint[:, 1:].T / eta[:, None]
    # U = Y* with P(D=1 | Y*=k, z) = p_kz / η_k is a model: these are probabilities.
    assert decisions.min() >= 0
    assert decisions.max() <= 1 + 1e-12
    rebuilt = LatentModel(eta, np.eye(4), decisions, model.shares)
    # It gives the same law of what is seen, so every η of the set is plausible.
    assert_allclose(rebuilt.joint, model.joint, **EXACT)


def test_theorem_5_2_converse_fails_beyond_the_realizable_bounds():
    bounds = raw_bounds([[[0.5, 0.1, 0.4, 0.0]], [[0.5, 0.1, 0.0, 0.4]]])
    # E6: class 0 has the raw interval [.1, .6] ...
    assert_allclose([bounds.lower[0, 0], bounds.upper[0, 0]], [0.1, 0.6], **EXACT)
    # ... but classes 1 and 2 need .8 between them, whatever the raw bound says.
    assert_allclose(realizable(bounds).upper[0, 0], 0.2, **EXACT)


@pytest.mark.parametrize("seed", range(50))
def test_theorem_b_1_tightness_with_a_label_range(seed):
    rng = np.random.default_rng(seed)
    lowest, highest = 0.2, 0.9
    range_by_class = [1 - highest, lowest], [1 - lowest, highest]
    model = random_model(rng, n_classes=2, lowest=range_by_class[0], highest=range_by_class[1])
    sharp = realizable(raw_bounds(model.stream, *range_by_class))
    eta = rng.uniform(sharp.lower[0, 1], sharp.upper[0, 1])
    seen, leniency = model.joint[:, 2], model.leniency
    # E6b: put P(Y*=1 | U) on the two ends a and b, and split each decision-maker's labels between them.
    upper_mass = (eta - lowest) / (highest - lowest)
    labeled_at_upper = (seen - lowest * leniency) / (highest - lowest)
    labeled_at_lower = leniency - labeled_at_upper
    decisions = np.vstack([labeled_at_lower / (1 - upper_mass), labeled_at_upper / upper_mass])
    assert decisions.min() >= -1e-12
    assert decisions.max() <= 1 + 1e-12
    labels = np.array([[1 - lowest, lowest], [1 - highest, highest]])
    rebuilt = LatentModel(np.array([1 - upper_mass, upper_mass]), labels, decisions, model.shares)
    # The construction has the wanted η and the same law of what is seen.
    assert_allclose(rebuilt.probabilities[1], eta, **EXACT)
    assert_allclose(rebuilt.joint, model.joint, **EXACT)


def test_theorem_5_2_with_both_ends_binding_is_an_outer_set():
    # E13: {1/3 - .2 <= μ <= 1/3 + .2, Σ μ = 1} is a hexagon, where a mean has more than one decomposition.
    spread = 0.2
    vertices = np.array([1 / 3 + np.array(p) * spread for p in permutations([1.0, 0.0, -1.0])])
    center = np.full(3, 1 / 3)
    lowest, highest = 1 / 3 - spread, 1 / 3 + spread
    # Each decision-maker labels one half: all of one vertex, so that the rest must be the opposite vertex.
    joint = np.column_stack([np.full(2, 0.5), vertices[:2] / 2])
    assert raw_bounds(joint[:, None], lowest, highest).contains(center[None]).all()
    # Either decision-maker alone is compatible with the center ...
    assert label_range_model(center, joint[:1], vertices).feasible
    assert label_range_model(center, joint[1:], vertices).feasible
    # ... but they ask for different pairs of vertices: no hidden feature serves both.
    assert not label_range_model(center, joint, vertices).feasible


@pytest.mark.parametrize("seed", range(10))
def test_theorem_5_2_with_one_end_binding_is_sharp(seed):
    rng = np.random.default_rng(seed)
    lowest = 0.6 * rng.dirichlet(np.ones(3))
    model = random_model(rng, lowest=lowest)
    bounds = raw_bounds(model.stream, lowest)
    corners = lowest + (1 - lowest.sum()) * np.eye(3)  # {μ >= a, Σ μ = 1} is a triangle
    for eta in bounds.lower + bounds.slack * rng.dirichlet(np.full(3, 0.5), size=5):
        # E13: with a alone every η of the set has a hidden feature that makes it.
        assert label_range_model(eta, model.joint, corners).feasible


PAPER_MATRIX = np.array(
    [
        [1, 1, 0, 0, 1, 1, 0, 0],
        [0, 0, 1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 1, 1],
        [1, 0, 1, 0, 1, 0, 1, 0],
        [0, 1, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 1, 0, 1],
    ],
    dtype=float,
)


def test_balke_pearl_linear_program():
    rng = np.random.default_rng(59)
    # E8: the columns of the paper's matrix are stacked with r_D fastest: q00, q10, q20, q30, q01, ..., q31.
    is_positive = np.repeat([0.0, 1.0], 4)
    matrix = np.vstack([PAPER_MATRIX, np.ones(8)])
    smallest, largest, joints = [], [], []
    for q in rng.dirichlet(np.full(8, 0.5), size=200):
        equal = (matrix, matrix @ q)
        nothing = (np.zeros((0, 8)), np.zeros(0))
        smallest.append(Program(is_positive, equal, nothing))
        largest.append(Program(-is_positive, equal, nothing))
        joints.append((PAPER_MATRIX @ q).reshape(2, 3))
    bounds = raw_bounds(np.array(joints).swapaxes(0, 1))
    # For two decision-makers and two classes the program has the closed form of Theorem 5.2.
    assert_allclose(bounds.lower[:, 1], minima(smallest), rtol=0, atol=1e-9)
    assert_allclose(bounds.upper[:, 1], -minima(largest), rtol=0, atol=1e-9)


def test_balke_pearl_matrix_is_stacked_by_decisions_first():
    rng = np.random.default_rng(60)
    q = rng.dirichlet(np.ones(8)).reshape(4, 2)  # q[r_D, r_Y]
    decisions = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])  # D(0), D(1) of each r_D
    seen = [
        [q[decisions[:, z] == 0].sum(), q[decisions[:, z] == 1, 0].sum(), q[decisions[:, z] == 1, 1].sum()]
        for z in (0, 1)
    ]
    # E8: right with r_D fastest ...
    assert_allclose(PAPER_MATRIX @ q.T.ravel(), np.ravel(seen), **EXACT)
    # ... and wrong read row by row.
    assert np.abs(PAPER_MATRIX @ q.ravel() - np.ravel(seen)).max() > 0.01


def test_theorem_5_3_worst_case_risk_of_many_classes():
    rng = np.random.default_rng(53)
    models = [random_model(rng, n_classes=3) for _ in range(200)]
    bounds = raw_bounds(np.stack([model.joint for model in models], axis=1))
    costs = worst_case_costs(bounds)
    corners = bounds.lower[:, None] + bounds.slack[:, None, None] * np.eye(3)
    # The regret is convex in η, so its maximum over the sharp set sits at a corner lower + slack·e_j.
    brute_force = (corners.max(axis=2, keepdims=True) - corners).max(axis=1)
    assert_allclose(costs, brute_force, **EXACT)
    # The closed form without a label range.
    rivals = np.stack([np.delete(bounds.lower, k, axis=1).max(axis=1) for k in range(3)], axis=1)
    assert_allclose(costs, np.maximum(bounds.slack[:, None] + rivals - bounds.lower, 0), **EXACT)


def test_theorem_5_3_raw_bounds_can_flip_the_rule():
    bounds = raw_bounds([[[0.4, 0.3, 0.0, 0.3]], [[0.3, 0.3, 0.4, 0.0]]])
    raw = [np.delete(bounds.upper[0], k).max() - bounds.lower[0, k] for k in range(3)]
    # E5: the lower bounds (.3, .4, .3) leave no slack, so class 1 is best for sure ...
    assert_allclose(worst_case_costs(bounds), [[0.1, 0.0, 0.1]], **EXACT)
    # ... but the algorithm's raw bounds charge it for a class 0 of .6 that cannot happen, and pick class 0.
    assert_allclose(raw, [0.1, 0.2, 0.3], **EXACT)


def test_theorem_5_3_raw_bounds_are_realizable_for_two_classes():
    rng = np.random.default_rng(54)
    bounds = raw_bounds(np.stack([random_model(rng, n_classes=2).joint for _ in range(200)], axis=1))
    # E5: u_1 = 1 - l_0, so that nothing can flip.
    assert_allclose(realizable(bounds).lower, bounds.lower, **EXACT)
    assert_allclose(realizable(bounds).upper, bounds.upper, **EXACT)


def test_theorem_5_3_worst_case_risk_of_two_classes():
    rng = np.random.default_rng(55)
    models = [random_model(rng, n_classes=2) for _ in range(200)]
    bounds = raw_bounds(np.stack([model.joint for model in models], axis=1))
    low, high = bounds.lower[:, 1], bounds.upper[:, 1]
    predicted, weight = rng.integers(2, size=200), rng.dirichlet(np.ones(200))
    costs = worst_case_costs(bounds)
    direct = weight @ costs[np.arange(200), predicted]
    # No prediction avoids the constant; the weight is what a wrong one costs besides.
    signed = CostSensitiveProblem(low[:, None], costs, costs, weight).signed_weight
    constant = costs.min(axis=1)
    # The weight and the constant as they are stated.
    assert_allclose(signed, np.maximum(2 * high - 1, 0) + np.minimum(2 * low - 1, 0), **EXACT)
    assert_allclose(constant, np.minimum(np.maximum(1 - 2 * low, 0), np.maximum(2 * high - 1, 0)), **EXACT)
    main = weight @ (np.abs(signed) * (predicted != (signed > 0)))
    # E2: the constant is the mean of the minima ...
    assert_allclose(main + weight @ constant, direct, **EXACT)
    # ... and the paper's minimum of the means is too large.
    paper = min(weight @ np.maximum(1 - 2 * low, 0), weight @ np.maximum(2 * high - 1, 0))
    assert paper > weight @ constant + 0.01


def test_e12_lower_regret_needs_the_remaining_mass():
    bounds = Bounds(np.array([[0.0, 0.3, 0.0]]), np.array([[0.2, 1.0, 1.0]]))
    outer = realizable(bounds).lower.max() - realizable(bounds).upper[0, 0]
    # E12: "max instead of min" gives .1, but .8 must go to two rivals, so one of them gets at least .4.
    assert_allclose([outer, best_case_costs(bounds)[0, 0]], [0.1, 0.2], **EXACT)


def test_e12_lower_regret_without_a_label_range():
    rng = np.random.default_rng(12)
    bounds = raw_bounds(np.stack([random_model(rng, n_classes=4).joint for _ in range(200)], axis=1))
    rivals = np.stack([np.delete(bounds.lower, k, axis=1).max(axis=1) for k in range(4)], axis=1)
    # R(t) = (max_{j≠t} l_j - l_t - δ)^+.
    closed_form = np.maximum(rivals - bounds.lower - bounds.slack[:, None], 0)
    assert_allclose(best_case_costs(bounds), closed_form, **EXACT)
    assert (closed_form > 0).any()


def test_theorem_b_2_most_lenient():
    labels = np.array([[0.8, 0.2], [0.2, 0.8]])
    ordered = np.array([[0.2, 0.5, 0.8], [0.2, 0.5, 0.8]])
    model = LatentModel(np.array([0.5, 0.5]), labels, ordered, np.full(3, 1 / 3))
    alone = [raw_bounds([joint]) for joint in model.stream]
    together = raw_bounds(model.stream)
    # E7: with one order of leniency for every u the most lenient decision-maker gives both ends ...
    assert_allclose(together.lower, alone[2].lower, **EXACT)
    assert_allclose(together.upper, alone[2].upper, **EXACT)
    # ... and the most stringent gives the worst upper end, not the best.
    assert_allclose([bounds.upper[0, 1] for bounds in alone], [0.9, 0.75, 0.6], **EXACT)


def test_theorem_b_2_needs_one_order_for_every_case():
    labels = np.array([[0.9, 0.1], [0.1, 0.9]])
    opposed = np.array([[0.9, 0.2], [0.1, 0.7]])
    model = LatentModel(np.array([0.5, 0.5]), labels, opposed, np.array([0.5, 0.5]))
    bounds = raw_bounds(model.stream)
    # E7: the first decision-maker is the more lenient overall ...
    assert model.leniency.argmax() == 0
    # ... but shows less of class 1.
    assert model.joint[:, 2].argmax() == 1
    # E7b: the maximum over decision-makers does not go inside the mean over u.
    inside = model.weights @ (opposed.max(axis=1) * labels[:, 1])
    assert bounds.lower[0, 1] < inside - 0.01
