"""Both baselines as citizens of scikit-learn: its own checks, meta-estimators, frames, pickling."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from selective_labels import IPWClassifier, SelectedSampleClassifier
from tests.estimators.baseline_samples import make_sample
from tests.estimators.declared import weights_are_not_repeats

BASELINES = [SelectedSampleClassifier, IPWClassifier]


def expected_failures(estimator: BaseEstimator) -> dict[str, str]:
    failures = {
        "check_classifiers_classes": "it trains on labels {-1, 1}, and -1 is a hole without `decision`"
    }
    if estimator.estimator == "linear":
        failures |= weights_are_not_repeats(
            "features are standardised by their unweighted moments, and ridge acts on what is standardised"
        )
    elif isinstance(estimator, IPWClassifier):
        failures |= weights_are_not_repeats(
            "gradient boosting bins features by rows and counts rows in its leaves, not weights; "
            "with `cv` the check has rows enough for it to split"
        )
    return failures


@parametrize_with_checks(
    [baseline(estimator) for baseline in BASELINES for estimator in (None, "linear")],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def labeled_accuracy(estimator, X, y):
    """A scorer for these tests; users have `lower_bound_scorer`."""
    return np.mean(estimator.predict(X)[y != -1] == y[y != -1])


@pytest.mark.parametrize("baseline", BASELINES)
def test_search_over_a_pipeline_routes_the_roles(baseline):
    sample = make_sample()
    step = baseline(LogisticRegression(), use_decision_maker=True, random_state=0)
    name = f"{baseline.__name__.lower()}__estimator__C"
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), step)
        search = GridSearchCV(pipeline, {name: [1e-4, 1.0]}, scoring=labeled_accuracy, cv=KFold(3))
        search.fit(sample.X, sample.y, decision_maker=sample.decision_maker, decision=sample.decision)
    direct = clone(step).set_params(estimator__C=search.best_params_[name])
    scaled = StandardScaler().fit_transform(sample.X)
    direct.fit(scaled, sample.y, decision_maker=sample.decision_maker)
    assert_array_equal(
        search.predict_proba(sample.X),
        direct.predict_proba(scaled),
        err_msg="the routed decision-makers and decisions are those that a direct call gets",
    )


@pytest.mark.parametrize("baseline", BASELINES)
def test_cross_validate_scores_full_labels_with_routed_weights(baseline):
    sample = make_sample()
    weight = np.random.default_rng(1).integers(1, 4, len(sample.X))
    with config_context(enable_metadata_routing=True):
        result = cross_validate(
            baseline("linear", random_state=0),
            sample.X,
            sample.y_true,
            cv=KFold(2),
            params={"sample_weight": weight, "decision_maker": sample.decision_maker},
        )
    train, test = next(iter(KFold(2).split(sample.X)))
    direct = baseline("linear", random_state=0).fit(
        sample.X[train], sample.y_true[train], sample_weight=weight[train]
    )
    right = direct.predict(sample.X[test]) == sample.y_true[test]
    assert result["test_score"][0] == np.average(right, weights=weight[test])  # weights reach fit and score


@pytest.mark.parametrize("baseline", BASELINES)
def test_search_refuses_to_score_holes_by_accuracy(baseline):
    sample = make_sample()
    search = GridSearchCV(baseline("linear"), {"estimator": ["linear"]}, cv=KFold(2), error_score="raise")
    with pytest.raises(ValueError, match="lower_bound_scorer"):
        search.fit(sample.X, sample.y)


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("use_decision_maker", [False, True])
def test_pickling(baseline, use_decision_maker):
    sample = make_sample()
    fitted = baseline(use_decision_maker=use_decision_maker, random_state=0).fit(
        sample.X, sample.y, decision_maker=sample.decision_maker
    )
    copy = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(copy.predict_proba(sample.X), fitted.predict_proba(sample.X))


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_and_series_give_what_arrays_give(baseline, library):
    frames = pytest.importorskip(library, reason=f"optional: {library}")
    sample = make_sample()
    labels = [None if label == -1 else f"class {label}" for label in sample.y]
    X = frames.DataFrame(dict(zip("abc", sample.X.T, strict=True)))
    makers = frames.Series(sample.decision_maker.tolist())
    settings = {"estimator": "linear", "use_decision_maker": True, "random_state": 0}
    from_frames = baseline(**settings).fit(X, frames.Series(labels), decision_maker=makers)
    from_arrays = baseline(**settings).fit(sample.X, labels, decision_maker=sample.decision_maker)
    assert_array_equal(from_frames.predict_proba(X), from_arrays.predict_proba(sample.X))
    assert from_frames.feature_names_in_.tolist() == ["a", "b", "c"]  # a frame's names are kept
    assert from_frames.predict(X).tolist() == from_arrays.predict(sample.X).tolist()


@pytest.mark.parametrize("baseline", BASELINES)
def test_predict_proba_exists_only_if_the_inner_classifier_has_it(baseline):
    sample = make_sample()
    fitted = baseline(LinearSVC(), random_state=0).fit(sample.X, sample.y)
    assert not hasattr(fitted, "predict_proba")
    assert set(fitted.predict(sample.X)) <= {0, 1, 2}  # and is not needed for labels
    assert hasattr(baseline(), "predict_proba")


@pytest.mark.parametrize("baseline", BASELINES)
def test_columns_of_another_order_are_refused(baseline):
    sample = make_sample()
    X = pd.DataFrame(sample.X, columns=["a", "b", "c"])
    fitted = baseline("linear").fit(X, sample.y)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(X[["c", "b", "a"]])
