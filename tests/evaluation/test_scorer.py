"""The scorer inside scikit-learn's searches, with metadata routed to it."""

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate

from selective_labels import (
    SelectedSampleClassifier,
    SelectiveLabels,
    UCLClassifier,
    evaluate,
    lower_bound_scorer,
)
from selective_labels.datasets import make_decision_makers


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
    with pytest.raises(ValueError, match="got no decision_maker, and some labels are missing"):
        lower_bound_scorer(classifier, sample.X, sample.y)
    unrouted = sklearn.config_context(enable_metadata_routing=False)
    with unrouted, pytest.raises(ValueError, match=r"enable_metadata_routing=True"):
        lower_bound_scorer(classifier, sample.X, sample.y)


def test_fit_without_routing_names_the_remedy(sample):
    """A search drops who decided unless routing is on: the fit inside it says so."""
    unrouted = sklearn.config_context(enable_metadata_routing=False)
    with (
        unrouted,
        pytest.raises(ValueError, match=r"decision_maker is missing.*enable_metadata_routing=True"),
    ):
        UCLClassifier().fit(sample.X, sample.y)
    with pytest.raises(ValueError, match="decision_maker is missing") as caught:
        UCLClassifier().fit(sample.X, sample.y)
    assert "enable_metadata_routing" not in str(caught.value)


def test_the_scorer_takes_settings_and_ids_as_people_give_them(sample):
    classifier = SelectedSampleClassifier("linear").fit(sample.X, sample.y)
    makers = sample.decision_maker
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=makers)
    score = lower_bound_scorer(classifier, sample.X, sample.y, makers)
    assert score == lower_bound_scorer(classifier, data) == lower_bound_scorer()(classifier, data)
    error = evaluate(classifier, data, metric="error", nuisance="logistic", random_state=0)
    assert lower_bound_scorer(metric="error")(classifier, data) == -error.upper
    with pytest.raises(ValueError, match="one number"):
        lower_bound_scorer(metric=["accuracy", "error"])(classifier, data)
    with pytest.raises(ValueError, match="X is missing"):
        lower_bound_scorer(classifier)


def test_nan_labels_are_cross_validated_with_folds_that_do_not_look_at_them(sample):
    """scikit-learn's own stratified folds refuse NaN before anybody is asked; plain folds do not."""
    holes = np.where(sample.y < 0, np.nan, sample.y)
    classifier = SelectedSampleClassifier("linear")
    settings = {"scoring": lower_bound_scorer, "params": {"decision_maker": sample.decision_maker}}
    coded, missing = (
        cross_validate(classifier, sample.X, y, cv=KFold(2), error_score="raise", **settings)
        for y in (sample.y, holes)
    )
    np.testing.assert_array_equal(coded["test_score"], missing["test_score"])
