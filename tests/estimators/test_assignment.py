"""Point learning where assignment depends on the features: the probabilities of each row enter its slope."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn.tree import DecisionTreeClassifier

import selective_labels as sl
from selective_labels.nuisance.slopes import point_estimate, slope_moments

N_SAMPLES, N_MAKERS = 400, 4
LENIENCY = np.array([-0.9, -0.3, 0.3, 0.9])


def truth(X):
    """P(Y = 1 | x)."""
    return expit(1.5 * X[:, 0] - X[:, 1])


def chances(X):
    """P(Z = z | x): by a product of features."""
    X = np.asarray(X, dtype=float)
    return softmax(2.0 * (X[:, 0] * X[:, 1])[:, None] * LENIENCY, axis=1)


def joint(X, instrument="leniency"):
    """The law of what is seen; NUCEM holds for one instrument, and only under the chances of each row.

    p_kz = κ_kz + η_k λ_z,   Σ_z e_z(x) (f_z - f̄) κ_kz = 0,   Σ_k κ_kz = 0

    with f the numbers of the decision-makers or their leniency. Under other weights, marginal shares for
    instance, the κ are correlated with f.
    """
    leniency = expit(LENIENCY + 0.5 * X[:, :1])
    eta = np.stack([1 - truth(X), truth(X)], axis=1)
    chance = chances(X)
    values = leniency if instrument == "leniency" else np.broadcast_to(np.arange(4.0), leniency.shape)
    kappa = np.broadcast_to([1.0, -1.0, 0.7, 0.2], leniency.shape)
    kappa = kappa - (chance * kappa).sum(axis=1, keepdims=True)
    values = values - (chance * values).sum(axis=1, keepdims=True)
    along = (chance * values * kappa).sum(axis=1) / (chance * values**2).sum(axis=1)
    kappa = kappa - along[:, None] * values
    # So that no p_kz exceeds η_k: else no instrument could have this law.
    room = (np.minimum(leniency, 1 - leniency) * eta.min(axis=1, keepdims=True)).min(axis=1)
    kappa *= (0.9 * room / np.abs(kappa).max(axis=1))[:, None]
    labeled = leniency[:, :, None] * eta[:, None, :] + kappa[:, :, None] * np.array([1.0, -1.0])
    return np.concatenate([1 - leniency[:, :, None], labeled], axis=2)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_SAMPLES, 3))
    z = (rng.random(N_SAMPLES)[:, None] > chances(X).cumsum(axis=1)).sum(axis=1)
    law = joint(X)[np.arange(N_SAMPLES), z]
    outcome = (rng.random(N_SAMPLES)[:, None] > law.cumsum(axis=1)).sum(axis=1)
    return X, outcome - 1, z


def covariance_ratio(X):
    """The paper's formula, a sum over decision-makers: Cov(D Y_1, Z | x) / Cov(D, Z | x)."""
    result = []
    for law, chance in zip(joint(X, "numeric"), chances(X), strict=True):
        mean = sum(chance[z] * z for z in range(N_MAKERS))
        seen = sum(chance[z] * (z - mean) * law[z, 2] for z in range(N_MAKERS))
        decided = sum(chance[z] * (z - mean) * (1 - law[z, 0]) for z in range(N_MAKERS))
        result.append(seen / decided)
    return np.array(result)


def learner(instrument="leniency"):
    return sl.UCLClassifier(
        "point",
        "plug-in",
        nuisance=partial(joint, instrument=instrument),
        instrument=instrument,
        random_state=0,
    )


@pytest.mark.parametrize("instrument", ["numeric", "leniency"])
def test_theorem_4_3_with_assignment_by_features(sample, instrument):
    X, y, z = sample
    new = np.random.default_rng(1).normal(size=(200, 3))
    model = learner(instrument).fit(X, y, decision_maker=z, assignment=chances)
    assert model.shrinkage_ == 0.0  # what is given has no noise to shrink
    found = model.predict_proba(new)[:, 1]
    assert_allclose(found, truth(new), atol=1e-10)
    assert_array_equal(model.predict(new), (truth(new) > 0.5).astype(int))
    assert model.nuisance_report_.assignment.chosen == "known"
    if instrument == "numeric":
        assert_allclose(found, covariance_ratio(new), atol=1e-10)
    # The design has power: marginal shares give something else.
    shares = np.tile(np.bincount(z) / len(z), (len(new), 1))
    moments = slope_moments(model._identified.joint, new, 2, model._identified.slope.codes, shares)
    assert np.abs(point_estimate(moments, 0.0)[:, 1] - truth(new)).max() > 0.1


def test_training_rows_are_learned_from_by_their_own_chances(sample):
    """A learner gets the regrets of the training rows: with exact ones it copies the best rule there."""
    X, y, z = sample
    tree = DecisionTreeClassifier(random_state=0)
    model = sl.UCLClassifier("point", tree, nuisance=joint, random_state=0)
    model.fit(X, y, decision_maker=z, assignment=chances(X))
    assert_array_equal(model.predict(X), (truth(X) > 0.5).astype(int))


def test_the_callable_gets_features_as_users_give_them(sample):
    X, y, z = sample
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    seen = []

    def named_chances(table):
        seen.append(type(table))
        return chances(table[["a", "b", "c"]].to_numpy())

    model = learner()
    model.fit(frame, y, decision_maker=z, assignment=named_chances)
    assert_allclose(model.predict_proba(frame)[:, 1], truth(X), atol=1e-10)
    assert set(seen) == {pd.DataFrame}


def test_an_array_stands_for_training_rows_and_a_model_of_the_ids_for_others(sample):
    X, y, z = sample
    model = learner().fit(X, y, decision_maker=z, assignment=chances(X))
    report = model.nuisance_report_.assignment
    assert report.chosen == "known"
    assert report.new_rows == "quadratic"
    new = np.random.default_rng(3).normal(size=(500, 3))
    by_shares = sl.UCLClassifier("point", "plug-in", nuisance=joint, random_state=0)
    by_shares.fit(X, y, decision_maker=z, assignment=lambda X: np.tile(np.bincount(z) / len(z), (len(X), 1)))
    error, of_shares = (
        np.abs(each.predict_proba(new)[:, 1] - truth(new)).mean() for each in (model, by_shares)
    )
    assert error < 0.7 * of_shares


def test_without_assignment_the_ids_are_modelled(sample):
    X, y, z = sample
    model = learner().fit(X, y, decision_maker=z)
    assert model.nuisance_report_.assignment.chosen == "quadratic"
    assert model.nuisance_report_.assignment.new_rows == "quadratic"
