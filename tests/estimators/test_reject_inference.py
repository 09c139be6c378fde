"""Reject inference: what lenders do, done as it is said to be done."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import selective_labels as sl
from tests.estimators.baseline_samples import Recorder, make_sample
from tests.estimators.declared import weights_are_not_repeats

ALL = [sl.FuzzyAugmentationClassifier, sl.ParcellingClassifier, sl.ReweightingClassifier]


def expected_failures(estimator):
    return {
        "check_classifiers_classes": "it trains on labels {-1, 1}, and -1 is a hole without `decision`",
        **weights_are_not_repeats(
            "features are standardised by their unweighted moments, and ridge acts on what is standardised"
        ),
    }


@parametrize_with_checks([each("linear") for each in ALL], expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("baseline", ALL)
def test_unseen_labels_are_never_read(baseline):
    sample = make_sample()
    garbage = np.random.default_rng(1).integers(0, 3, len(sample.y))
    fits = [
        baseline("linear", random_state=0).fit(sample.X, labels, decision=sample.decision)
        for labels in (sample.y_true, np.where(sample.decision == 1, sample.y_true, garbage))
    ]
    assert_array_equal(*(each.predict_proba(sample.X) for each in fits))


@pytest.mark.parametrize("baseline", ALL)
def test_with_every_label_seen_it_is_a_plain_classifier(baseline):
    sample = make_sample()
    plain = sl.SelectedSampleClassifier(LogisticRegression()).fit(sample.X, sample.y_true)
    found = baseline(LogisticRegression()).fit(sample.X, sample.y_true)
    assert_allclose(found.predict_proba(sample.X), plain.predict_proba(sample.X), atol=1e-10)


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_refused_cases_enter_with_the_weights_that_are_said(factor):
    """One band: every refused case fails factor times as often as the accepted."""
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((200, 2)), generator.integers(0, 2, 200)
    decision = generator.random(200) < 0.6
    found = sl.ParcellingClassifier(LogisticRegression(), factor=factor, n_bands=1).fit(
        X, y, decision=decision.astype(int)
    )
    share = min(1.0, factor * y[decision].mean())
    rows = np.vstack([X[decision], X[~decision], X[~decision]])
    n_refused = (~decision).sum()
    labels = np.concatenate([y[decision], np.zeros(n_refused), np.ones(n_refused)])
    weights = np.concatenate(
        [np.ones(decision.sum()), np.full(n_refused, 1 - share), np.full(n_refused, share)]
    )
    by_hand = LogisticRegression(tol=1e-10, max_iter=1000).fit(rows, labels, weights)
    assert_allclose(found.predict_proba(X), by_hand.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("baseline", ALL)
def test_a_class_whose_cases_weigh_nothing_is_a_class(baseline):
    X, y = np.arange(8.0)[:, None], ["no", "no", "yes", "yes", "yes", None, None, None]
    fitted = baseline("linear").fit(X, y, sample_weight=[0, 0, 1, 1, 1, 1, 1, 1])
    assert_array_equal(fitted.predict(X), "yes")


def test_weights_of_extreme_sizes_stay_finite():
    X, y = np.arange(8.0)[:, None], ["no", "no", "yes", "yes", None, None, None, None]
    weights = [1e-310, 1e-310, 1e-310, 1e-310, 1.0, 1.0, 1.0, 1.0]
    fitted = sl.ReweightingClassifier("linear", n_bands=1).fit(X, y, sample_weight=weights)
    assert_array_equal(fitted.predict(X[:4]), y[:4])


def test_fuzzy_weights_are_the_first_model():
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((200, 2)), generator.integers(0, 2, 200)
    decision = generator.random(200) < 0.6
    found = sl.FuzzyAugmentationClassifier(LogisticRegression()).fit(X, y, decision=decision.astype(int))
    first = LogisticRegression().fit(X[decision], y[decision]).predict_proba(X[~decision])
    rows = np.vstack([X[decision], X[~decision], X[~decision]])
    labels = np.concatenate([y[decision], np.zeros((~decision).sum()), np.ones((~decision).sum())])
    weights = np.concatenate([np.ones(decision.sum()), first[:, 0], first[:, 1]])
    by_hand = LogisticRegression(tol=1e-10, max_iter=1000).fit(rows, labels, weights)
    assert_allclose(found.predict_proba(X), by_hand.predict_proba(X), atol=1e-3)


def test_weights_of_bands_stand_for_everybody():
    sample = make_sample()
    found = sl.ReweightingClassifier(Recorder(), n_bands=5).fit(sample.X, sample.y)
    weights = found.model_.classifier.sample_weight_
    lost = found.lost_share_ * len(sample.X)
    assert weights.sum() == pytest.approx(len(sample.X) - lost), (
        "every band with an accepted case is all there"
    )


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (sl.ParcellingClassifier("linear", factor=0.0), "factor=0.0"),
        (sl.ParcellingClassifier("linear", n_bands=0), "n_bands=0"),
        (sl.ReweightingClassifier("linear", n_bands=0), "n_bands=0"),
    ],
)
def test_bad_values(made, message):
    sample = make_sample()
    with pytest.raises(sl.InputError, match=message):
        made.fit(sample.X, sample.y)
