"""Decisions as labels where decision-makers agree: the labels, the contract, scikit-learn's checks."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from selective_labels import ExpertConsistencyClassifier, SelectedSampleClassifier
from tests.estimators.baseline_samples import Recorder, make_sample
from tests.estimators.declared import weights_are_not_repeats

MAKERS = np.array([-1.0, 0.0, 1.0])


def leniency(X):
    """P(D=1 | x, z) of three decision-makers who agree where the first feature is extreme, (n, 3)."""
    return expit(MAKERS + 5.0 * X[:, :1])


def joint(X, n_classes=2):
    """Known probabilities of decision and label; labels follow the second feature."""
    accepted = leniency(X)[:, :, None]
    posterior = expit(X[:, 1])[:, None, None]
    labels = np.concatenate([1 - posterior, posterior], axis=2)
    if n_classes == 3:
        labels = np.concatenate([labels / 2, np.full_like(posterior, 0.5)], axis=2)
    return np.concatenate([1 - accepted, accepted * labels], axis=2)


def draw(n_samples=600, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 2))
    maker = rng.integers(3, size=n_samples)
    chances = joint(X, n_classes)[np.arange(n_samples), maker]
    outcome = (rng.random((n_samples, 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
    return X, outcome - 1, maker


def amalgamated(X, y, epsilon, adverse, favourable):
    """Labels to learn, row by row."""
    labels = []
    for rates, label in zip(leniency(X), y, strict=True):
        if max(rates) <= epsilon:
            labels.append(adverse)
        elif min(rates) >= 1 - epsilon and favourable is not None:
            labels.append(favourable)
        else:
            labels.append(label)
    return np.array(labels)


@pytest.mark.parametrize("epsilon", [0.05, 0.2])
@pytest.mark.parametrize("adverse", [None, 0, 1])
def test_learns_the_amalgamated_labels(epsilon, adverse):
    X, y, maker = draw()
    classifier = ExpertConsistencyClassifier(Recorder(), adverse, epsilon=epsilon, nuisance=joint)
    classifier.fit(X, y, decision_maker=maker)
    bad = 1 if adverse is None else adverse
    expected = amalgamated(X, y, epsilon, bad, 1 - bad)  # two classes: the other one is favourable
    rows = expected != -1
    assert_array_equal(classifier.classifier_.y_, expected[rows])
    assert_array_equal(classifier.classifier_.X_, X[rows])
    refused, accepted = leniency(X).max(axis=1) <= epsilon, leniency(X).min(axis=1) >= 1 - epsilon
    assert classifier.refused_share_ == refused.mean()
    assert classifier.accepted_share_ == accepted.mean()
    assert classifier.n_imputed_ == np.sum(rows & (y == -1))


def test_more_classes_keep_seen_labels_unless_one_is_favourable():
    X, y, maker = draw(n_classes=3)

    def nuisance(X):
        return joint(X, 3)

    for favourable in (None, 0):
        classifier = ExpertConsistencyClassifier(
            Recorder(), favourable_label=favourable, nuisance=nuisance, epsilon=0.2
        )
        expected = amalgamated(X, y, 0.2, 2, favourable)
        classifier.fit(X, y, decision_maker=maker)
        assert_array_equal(classifier.classifier_.y_, expected[expected != -1])


def test_right_where_its_assumption_holds():
    # What everybody refuses is bad: the selected sample never sees it, consistency supplies it.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 2))
    y_true = (X[:, 0] < -0.6).astype(int)
    maker = rng.integers(3, size=3000)
    decision = rng.random(3000) < expit(MAKERS[maker] + 8 * (X[:, 0] + 0.2))
    y = np.where(decision, np.where(rng.random(3000) < 0.02, 1 - y_true, y_true), -1)
    consistent = ExpertConsistencyClassifier(nuisance="logistic", random_state=0)
    consistent.fit(X, y, decision_maker=maker)
    selected = SelectedSampleClassifier(random_state=0).fit(X, y)
    assert np.mean(consistent.predict(X) == y_true) > 0.93
    assert np.mean(selected.predict(X) == y_true) < 0.9


def test_without_decision_makers_it_is_the_version_of_2018():
    X, y, _ = draw()

    def pooled(X):
        return joint(X).mean(axis=1, keepdims=True)

    classifier = ExpertConsistencyClassifier(Recorder(), nuisance=pooled, epsilon=0.2).fit(X, y)
    assert classifier.refused_share_ == np.mean(leniency(X).mean(axis=1) <= 0.2)


@pytest.mark.parametrize("estimator", [None, "linear"])
def test_garbage_behind_the_holes_changes_nothing(estimator):
    sample = make_sample()
    garbage = np.random.default_rng(1).integers(-1, 9, len(sample.y))
    fitted = [
        ExpertConsistencyClassifier(estimator, nuisance="logistic", epsilon=0.3, random_state=0).fit(
            sample.X, labels, decision=sample.decision, decision_maker=sample.decision_maker
        )
        for labels in (sample.y, np.where(sample.decision == 1, sample.y, garbage))
    ]
    clean, dirty = (classifier.predict_proba(sample.X) for classifier in fitted)
    assert_array_equal(clean, dirty)  # bit for bit
    assert fitted[1].n_ignored_labels_ == np.sum(sample.decision == 0)


def test_labels_of_any_type():
    X, y, maker = draw()
    names = np.array(["bad", "good"], dtype=object)
    labels = [None if code == -1 else names[code] for code in y]
    named = ExpertConsistencyClassifier("linear", adverse_label="bad", nuisance=joint)
    coded = ExpertConsistencyClassifier("linear", adverse_label=0, nuisance=joint)
    named.fit(X, labels, decision_maker=maker)
    coded.fit(X, y, decision_maker=maker)
    assert named.classes_.tolist() == ["bad", "good"]
    assert_array_equal(named.predict(X), names[coded.predict(X)])


def test_a_plain_classifier_where_every_label_is_seen():
    sample = make_sample()
    ours = ExpertConsistencyClassifier("linear").fit(sample.X, sample.y_true)
    plain = SelectedSampleClassifier("linear").fit(sample.X, sample.y_true)
    assert_array_equal(ours.predict(sample.X), plain.predict(sample.X))
    assert ours.score(sample.X, sample.y_true) == plain.score(sample.X, sample.y_true)


def test_score_refuses_holes():
    X, y, maker = draw()
    fitted = ExpertConsistencyClassifier("linear", nuisance=joint).fit(X, y, decision_maker=maker)
    with pytest.raises(ValueError, match="labels are missing"):
        fitted.score(X, y)


def test_pickling_and_probabilities():
    X, y, maker = draw()
    fitted = ExpertConsistencyClassifier("linear", nuisance=joint).fit(X, y, decision_maker=maker)
    copy = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(copy.predict_proba(X), fitted.predict_proba(X))
    assert not hasattr(ExpertConsistencyClassifier(LinearSVC()), "predict_proba")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.5}, r"epsilon=0\.5 must be at least 0 and below one half"),
        ({"epsilon": -0.1}, "must be at least 0"),
        ({"adverse_label": 9}, "adverse_label=9 is not among the labels seen"),
        ({"favourable_label": 9}, "favourable_label=9 is not among"),
        ({"adverse_label": 1, "favourable_label": 1}, "are both 1"),
        ({"estimator": 3}, "give a scikit-learn classifier"),
    ],
)
def test_bad_options_get_one_clear_sentence(options, message):
    X, y, maker = draw()
    with pytest.raises(ValueError, match=message):
        ExpertConsistencyClassifier(**{"nuisance": joint} | options).fit(X, y, decision_maker=maker)


def test_one_amalgamated_class_is_refused():
    X, y, maker = draw()

    def unanimous(X):
        return np.repeat([[[0.98, 0.01, 0.01]]], len(X), axis=0).repeat(3, axis=1)

    with pytest.raises(ValueError, match="all of one class; lower epsilon"):
        ExpertConsistencyClassifier(LogisticRegression(), nuisance=unanimous).fit(X, y, decision_maker=maker)


def expected_failures(estimator):
    weights = {
        "linear": "features are standardised by their unweighted moments, and ridge acts on the result",
        None: "gradient boosting bins features by rows and counts rows in its leaves, not weights",
    }
    return {
        "check_classifiers_classes": "it trains on labels {-1, 1}, and -1 is a hole without `decision`",
        **weights_are_not_repeats(weights[estimator.estimator]),
    }


@parametrize_with_checks(
    [ExpertConsistencyClassifier("linear"), ExpertConsistencyClassifier()],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
