"""Weights of labels: right if one nuisance is; any score is its expectation over what may have happened."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import selective_labels as sl
from selective_labels.assumptions import Instrument, Nucem, Unconfounded
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.folds import outcomes_of
from selective_labels.nuisance.maturity import (
    MaturingJoint,
    label_terms,
    label_weights,
    over_labels,
    without_pending,
)
from selective_labels.nuisance.score_formulas import Rows
from selective_labels.nuisance.scores import cross_fit_scores, expected_scores
from tests.pending_designs import RANDOM, delayed

# One kind of case: P(D=1), P(R=1 | D=1), P(Y=k | D=1).
LENIENCY, MATURED, CLASSES = 0.8, 0.4, np.array([0.1, 0.3, 0.6])


def kinds():
    """Every outcome of that kind, and its probability: declined, each label matured, each label pending."""
    outcome = np.array([0, 1, 2, 3, 4, 4, 4])
    chance = LENIENCY * np.concatenate([MATURED * CLASSES, (1.0 - MATURED) * CLASSES])
    return outcome, np.append(1.0 - LENIENCY, chance)


def chances(matured=MATURED, classes=CLASSES):
    """Probabilities of no, each label and a pending outcome, as a model has them."""
    return np.concatenate([[1.0 - LENIENCY], LENIENCY * matured * classes, [LENIENCY * (1.0 - matured)]])


@pytest.mark.parametrize(
    ("matured", "classes"), [(MATURED, CLASSES), (0.7, CLASSES), (MATURED, np.array([0.5, 0.3, 0.2]))]
)
def test_weights_are_doubly_robust(matured, classes):
    outcome, chance = kinds()
    weights = label_weights(np.tile(chances(matured, classes), (7, 1)), outcome)
    assert_allclose(chance @ weights, LENIENCY * CLASSES)
    assert_allclose(weights.sum(axis=1), outcome > 0)


def test_with_both_wrong_the_weights_are_wrong():
    outcome, chance = kinds()
    weights = label_weights(np.tile(chances(0.7, np.array([0.5, 0.3, 0.2])), (7, 1)), outcome)
    assert np.abs(chance @ weights - LENIENCY * CLASSES).max() > 0.05


def test_the_model_of_labels_leaves_maturity_out_at_random_only():
    assert_allclose(without_pending(chances(), "at-random"), [0.2, *LENIENCY * CLASSES])
    assert_allclose(without_pending(chances(), "worst-case"), [0.2, *LENIENCY * MATURED * CLASSES])


def test_terms_sum_to_one_and_a_linear_score_is_its_value_at_the_weights():
    weights = np.array([[0.0, 0.0], [-0.5, 1.5], [0.3, 0.7]])
    assert_array_equal(np.sum([weight for _, weight in label_terms(weights)], axis=0), 1.0)
    worth = np.array([2.0, 5.0, 0.0])  # of label 0, of label 1, of a no (code -1)
    found = over_labels(lambda y: worth[y], np.full(3, -1), weights)
    assert_allclose(found, weights @ worth[:2])


def make_rows(n=40, n_arms=3, n_classes=2, seed=0):
    """Rows with two models and some labels."""
    generator = np.random.default_rng(seed)
    first, second = generator.dirichlet(np.ones(n_classes + 1), (2, n_arms, n))
    arm, y = generator.integers(n_arms, size=n), generator.integers(-1, n_classes, size=n)
    return Rows(first, second, arm, y, generator.dirichlet(np.ones(n_arms), n), 0.0)


@pytest.mark.parametrize("assumption", [Instrument(), Nucem(), Unconfounded()])
def test_weights_of_known_labels_give_the_scores_of_the_labels(assumption):
    rows = make_rows()
    n_classes = rows.joint.shape[2] - 1
    one_hot = (rows.y[:, None] == np.arange(n_classes)).astype(float)
    expected, found = (expected_scores(assumption, rows, 0.3, each) for each in (None, one_hot))
    assert_allclose(found.values, expected.values, atol=1e-12)
    assert_array_equal(found.plug_in, expected.plug_in)


def test_models_predict_decision_and_label_and_weights_are_held_out():
    drawn = delayed(1200, 3, RANDOM)
    data = drawn.labels("at-random")
    fit = cross_fit(data, "logistic", cv=3, random_state=0)
    joint = fit.folds[0].joint(data.features[:5])
    assert joint.shape == (6, 5, 3)
    assert_allclose(joint.sum(axis=2), 1.0)
    assert fit.label_weights is not None
    assert_allclose(fit.label_weights.sum(axis=1), data.decision, atol=1e-12)
    assert outcomes_of(data).max() == 3


def test_new_rows_with_pending_outcomes_need_models_that_know_them():
    drawn = delayed(900, 3)
    plain = cross_fit(drawn.labels(None), "logistic", cv=2, random_state=0)
    with pytest.raises(sl.InputError, match="pending outcomes are in these rows alone"):
        cross_fit_scores(plain, drawn.labels("at-random"), [Instrument()], held_out=False)
    assert not isinstance(plain.folds[0].models[0], MaturingJoint)


@pytest.mark.parametrize("wrong", ["neither", "maturity", "labels"])
def test_bounds_are_right_with_one_nuisance_wrong(wrong):
    """Given probabilities: bounds on the share are those of complete labels within three standard errors."""
    generator = np.random.default_rng(0)
    n = 20_000
    maker, x = generator.integers(2, size=n), generator.integers(2, size=n)
    event = generator.random(n) < np.array([0.3, 0.6])[x]
    accepted = generator.random(n) < np.array([0.5, 0.8])[maker]
    matured = generator.random(n) < np.array([0.9, 0.6])[x]
    y = np.where(accepted & matured, event, np.nan)

    def nuisance(X):
        rate, share = np.array([0.9, 0.6])[X[:, 0].astype(int)], np.array([0.3, 0.6])[X[:, 0].astype(int)]
        rate = np.full(len(X), 0.75) if wrong == "maturity" else rate
        share = np.full(len(X), 0.45) if wrong == "labels" else share
        parts = [rate * (1.0 - share), rate * share, 1.0 - rate]
        accept = np.array([0.5, 0.8])
        among = np.stack(parts, axis=1)[:, None, :] * accept[None, :, None]
        no = np.broadcast_to(1.0 - accept[None, :, None], (len(X), 2, 1))
        return np.concatenate([no, among], axis=2)

    data = sl.SelectiveLabels.from_arrays(
        x[:, None].astype(float), y, decision=accepted, decision_maker=maker, pending="at-random"
    )
    found = sl.evaluate(np.ones(n), data, nuisance=nuisance, random_state=0)
    lower, upper = 0.8 * 0.45, 0.8 * 0.45 + 0.2
    assert abs(found.lower - lower) < 3.0 * found.standard_errors[0]
    assert abs(found.upper - upper) < 3.0 * found.standard_errors[1]
