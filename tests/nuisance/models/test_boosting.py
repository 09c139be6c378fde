"""Boosted trees under every arm at once, against scikit-learn asked about one arm after the other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels.datasets import make_decision_makers
from selective_labels.nuisance.folds import outcome_codes
from selective_labels.nuisance.models.boosting import BoostedJoint
from selective_labels.nuisance.models.logistic import spread_columns


def asked_one_by_one(model, X):
    features = model.encoder_.transform(X)
    answers = [
        model.classifier_.predict_proba(np.column_stack([features, np.full(len(X), arm)]))
        for arm in range(model.n_arms)
    ]
    return spread_columns(np.array(answers), model.classifier_.classes_, model.n_outcomes)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("categorical", [(), (1,), (0, 4)])
def test_every_arm_is_what_scikit_learn_says_of_it(n_classes, categorical):
    sample = make_decision_makers(2500, n_classes, 40, random_state=0)
    X = np.column_stack([sample.X, np.arange(2500) % 7])
    X[:, list(categorical)] = np.round(X[:, list(categorical)])
    X[::9, 2] = np.nan
    seen = sample.decision_maker < 35  # five arms are never met, and one is met once
    seen &= (sample.decision_maker != 34) | (np.cumsum(sample.decision_maker == 34) == 1)
    model = BoostedJoint(40, n_classes + 1, categorical, random_state=0)
    model.fit(X[seen], sample.decision_maker[seen], outcome_codes(sample.y)[seen])
    joint = model.joint(X[:300])
    assert_allclose(joint, asked_one_by_one(model, X[:300]), atol=1e-12)
    own = model.own(X[:300], sample.decision_maker[:300])
    assert_allclose(own, joint[sample.decision_maker[:300], np.arange(300)], atol=1e-12)
    assert np.ptp(joint[:35, :, 0], axis=0).mean() > 0.1, "arms do differ"


def test_two_outcomes_have_one_tree_for_each_step():
    sample = make_decision_makers(600, 2, 4, random_state=0)
    model = BoostedJoint(4, 3, random_state=0)
    model.fit(sample.X, sample.decision_maker, np.where(sample.y < 0, 0, 2))  # the first class is never seen
    joint = model.joint(sample.X)
    assert_allclose(joint, asked_one_by_one(model, sample.X), atol=1e-12)
    assert joint[:, :, 1].max() == 0.0
