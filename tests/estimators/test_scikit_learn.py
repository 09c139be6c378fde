"""UCLClassifier as a citizen of scikit-learn: its checks, meta-estimators with routing, pickling, frames."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from selective_labels import UCLClassifier
from tests.estimators.declared import weights_are_not_repeats
from tests.estimators.samples import fit, make_sample, quick


def expected_failures(estimator):
    return {
        "check_classifiers_classes": "it trains on labels {-1, 1}, and -1 is a hole without `decision`",
        **weights_are_not_repeats(
            "folds are drawn over rows: a repeated row may stand in two folds, a row of weight two cannot"
        ),
    }


@parametrize_with_checks(
    [
        UCLClassifier(),
        UCLClassifier("point", "plug-in", nuisance="logistic", cv=2),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def expected_failures_of_a_learner(estimator):
    reason = "predict_proba holds the projected class probabilities; the learner has scores of its own"
    return {**expected_failures(estimator), "check_classifiers_train": reason}


@parametrize_with_checks(
    [UCLClassifier("point", "linear", nuisance="logistic", cv=2)],
    expected_failed_checks=expected_failures_of_a_learner,
)
def test_scikit_learn_checks_with_a_learner_in_point_mode(estimator, check):
    # This one has forty rows: whether rankings differ there hangs on the last digits. The next test has more.
    if check.func.__name__ != "check_decision_proba_consistency":
        check(estimator)


def test_a_learner_in_point_mode_ranks_by_scores_of_its_own():
    sample = make_sample(300, n_classes=2)
    model = fit(quick("point", "linear"), sample)
    share, score = model.predict_proba(sample.X)[:, 1], model.decision_function(sample.X)
    assert (share.argsort() != score.argsort()).mean() > 0.5


def labeled_accuracy(estimator, X, y):
    """A scorer for these tests; users have `lower_bound_scorer`."""
    return np.mean(estimator.predict(X)[y != -1] == y[y != -1])


@pytest.mark.filterwarnings("ignore:the rule predicts")
@pytest.mark.parametrize("mode", ["partial", "point"])
def test_search_over_a_pipeline_routes_the_roles(mode):
    sample = make_sample(300)
    weight = np.random.default_rng(0).uniform(0.5, 2, 300)
    step = quick(mode, LogisticRegression())
    name = "uclclassifier__estimator__C"
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), step)
        search = GridSearchCV(pipeline, {name: [1e-4, 1.0]}, scoring=labeled_accuracy, cv=KFold(3))
        search.fit(sample.X, sample.y, decision_maker=sample.decision_maker, sample_weight=weight)
    scaled = StandardScaler().fit_transform(sample.X)
    direct = fit(
        clone(step).set_params(estimator__C=search.best_params_[name]),
        sample_at(sample, scaled),
        sample_weight=weight,
    )
    assert_array_equal(
        search.decision_function(sample.X),
        direct.decision_function(scaled),
        err_msg="the routed decision-makers and weights are those that a direct call gets",
    )


def sample_at(sample, X):
    return type(sample)(X, sample.y, sample.decision, sample.decision_maker, sample.y_true, sample.oracle)


def test_cross_validate_routes_every_role():
    sample = make_sample(300)
    params = {
        "decision_maker": sample.decision_maker,
        "decision": sample.decision,
        "sample_weight": np.ones(300),
        "groups": np.arange(300) // 2,
        "strata": np.arange(300) % 2,
        "assignment": np.full((300, 4), 0.25),
    }
    with config_context(enable_metadata_routing=True):
        result = cross_validate(
            quick(),
            sample.X,
            sample.y,
            cv=KFold(2),
            scoring=labeled_accuracy,
            params=params,
            return_estimator=True,
        )
    train, test = next(iter(KFold(2).split(sample.X)))
    direct = quick().fit(
        sample.X[train], sample.y[train], **{role: value[train] for role, value in params.items()}
    )
    assert_array_equal(result["estimator"][0].predict(sample.X[test]), direct.predict(sample.X[test]))


def test_without_routing_a_search_passes_keywords_of_fit():
    sample = make_sample(300)
    search = GridSearchCV(
        quick(), {"label_range": [(0.0, 1.0), (0.0, 0.9)]}, scoring=labeled_accuracy, cv=KFold(2)
    )
    search.fit(sample.X, sample.y, decision_maker=sample.decision_maker)
    assert search.predict(sample.X).shape == (300,)


@pytest.mark.parametrize("mode", ["partial", "point"])
@pytest.mark.parametrize("estimator", ["plug-in", "linear", LogisticRegression()], ids=str)
def test_pickling_and_cloning(mode, estimator):
    sample = make_sample(300)
    fitted = fit(quick(mode, estimator), sample)
    copy = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(copy.predict_bounds(sample.X).lower, fitted.predict_bounds(sample.X).lower)
    assert_array_equal(copy.decision_function(sample.X), fitted.decision_function(sample.X))
    again = fit(clone(fitted), sample)
    assert_array_equal(
        again.decision_function(sample.X), fitted.decision_function(sample.X)
    )  # nothing is left over


@pytest.mark.parametrize("mode", ["partial", "point"])
def test_the_fitted_object_is_small(mode):
    sizes = [len(pickle.dumps(fit(quick(mode, cv=5), make_sample(n)))) for n in (1000, 4000)]
    assert sizes[1] < 300_000
    assert sizes[1] - sizes[0] < 8 * 3000  # not a number per row more


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_give_what_arrays_give(library):
    frames = pytest.importorskip(library, reason=f"optional: {library}")
    sample = make_sample(300)
    X = frames.DataFrame(dict(zip("abcd", sample.X.T, strict=True)))
    labels = [None if code == -1 else f"class {code}" for code in sample.y]
    makers = [f"maker {code}" for code in sample.decision_maker]
    from_frames = quick().fit(X, frames.Series(labels), decision_maker=frames.Series(makers))
    from_arrays = quick().fit(sample.X, labels, decision_maker=makers)
    assert_array_equal(from_frames.decision_function(X), from_arrays.decision_function(sample.X))
    assert from_frames.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert from_frames.decision_makers_.tolist() == [f"maker {code}" for code in range(4)]
    assert from_frames.n_features_in_ == 4


def test_columns_of_another_order_are_refused():
    sample = make_sample(200)
    X = pd.DataFrame(sample.X, columns=list("abcd"))
    fitted = quick().fit(X, sample.y, decision_maker=sample.decision_maker)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(X[["d", "c", "b", "a"]])


@pytest.mark.parametrize(
    "method", ["predict", "decision_function", "predict_bounds", "predict_set", "decided", "predict_proba"]
)
def test_nothing_works_before_fit(method):
    with pytest.raises(NotFittedError):
        getattr(UCLClassifier("point"), method)(np.zeros((2, 2)))


def test_nan_is_allowed_where_the_inner_estimators_allow_it():
    assert get_tags(UCLClassifier()).input_tags.allow_nan
    assert get_tags(UCLClassifier(estimator="linear")).input_tags.allow_nan
    assert not get_tags(UCLClassifier(estimator=LogisticRegression())).input_tags.allow_nan
    assert not get_tags(UCLClassifier(nuisance=LogisticRegression())).input_tags.allow_nan


def test_without_decision_makers_and_holes_it_is_a_plain_classifier():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] > 0).astype(int)
    for mode in ("partial", "point"):
        fitted = quick(mode).fit(X, y)
        assert np.mean(fitted.predict(X) == y) > 0.95
        assert_allclose(fitted.predict_bounds(X).width, 0.0, atol=1e-12)  # full labels identify everything
