"""The scorer inside scikit-learn's searches, with metadata routed to it."""

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from selective_labels.datasets import make_decision_makers
from selective_labels.estimators.baselines import SelectedSampleClassifier
from selective_labels.evaluation import evaluate, lower_bound_scorer


@pytest.fixture(scope="module")
def sample():
    return make_decision_makers(1500, random_state=41)


@pytest.fixture(autouse=True)
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_score_is_the_lower_end(sample):
    classifier = SelectedSampleClassifier("linear").fit(sample.X, sample.y)
    score = lower_bound_scorer(classifier, sample.X, sample.y, decision_maker=sample.decision_maker)
    result = evaluate(
        classifier,
        sample.X,
        sample.y,
        decision_maker=sample.decision_maker,
        nuisance="logistic",
        random_state=0,
    )
    assert score == result.lower


def test_grid_search_needs_no_request(sample):
    search = GridSearchCV(
        SelectedSampleClassifier("linear"),
        {"estimator": ["linear", LogisticRegression(C=1e-6)]},
        scoring=lower_bound_scorer,
        cv=2,
        error_score="raise",
    )
    search.fit(sample.X, sample.y, decision_maker=sample.decision_maker)
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] > scores[1]  # an estimator shrunk to a constant guarantees less
    assert search.best_index_ == 0


def test_cross_validate_routes_what_is_given(sample):
    weight = np.ones(1500)
    results = cross_validate(
        SelectedSampleClassifier("linear"),
        sample.X,
        sample.y_true,  # garbage where the decision is 0: only `decision` says what was seen
        scoring=lower_bound_scorer,
        params={
            "decision_maker": sample.decision_maker,
            "decision": sample.decision,
            "sample_weight": weight,
        },
        cv=KFold(2),
        error_score="raise",
    )
    first = np.arange(750)
    fitted = SelectedSampleClassifier("linear").fit(
        sample.X[750:], sample.y[750:], decision_maker=sample.decision_maker[750:]
    )
    expected = lower_bound_scorer(
        fitted, sample.X[first], sample.y[first], decision_maker=sample.decision_maker[first]
    )
    np.testing.assert_allclose(results["test_score"][0], expected, atol=1e-6)


def test_full_labels_give_plain_accuracy(sample):
    classifier = LogisticRegression().fit(sample.X, sample.y_true)
    score = lower_bound_scorer(classifier, sample.X, sample.y_true)
    np.testing.assert_allclose(score, classifier.score(sample.X, sample.y_true))


def test_holes_without_a_decision_maker_are_refused(sample):
    classifier = SelectedSampleClassifier("linear").fit(sample.X, sample.y)
    with pytest.raises(ValueError, match="decision_maker is missing"):
        lower_bound_scorer(classifier, sample.X, sample.y)
