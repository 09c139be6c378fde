"""What both baselines promise: holes, labels of any type, decision-makers as features, scores, bad input."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from selective_labels import InputError, IPWClassifier, SelectedSampleClassifier
from tests.estimators.baseline_samples import Recorder, make_sample

pytestmark = pytest.mark.parametrize("baseline", [SelectedSampleClassifier, IPWClassifier])

INNER = [
    None,
    "linear",
    LogisticRegression(),
    AdaBoostClassifier(n_estimators=10),
    RandomForestClassifier(n_estimators=10),
]


@pytest.mark.parametrize("estimator", INNER, ids=lambda inner: type(inner).__name__)
@pytest.mark.parametrize("use_decision_maker", [False, True])
def test_garbage_behind_the_holes_changes_nothing(baseline, estimator, use_decision_maker):
    sample = make_sample()
    garbage = np.random.default_rng(1).integers(-1, 9, len(sample.y))  # seen classes, unseen ones, holes
    filled = np.where(sample.decision == 1, sample.y, garbage)
    classifiers = [
        baseline(estimator, use_decision_maker=use_decision_maker, random_state=0).fit(
            sample.X, labels, decision=sample.decision, decision_maker=sample.decision_maker
        )
        for labels in (sample.y, filled)
    ]
    clean, dirty = (classifier.predict_proba(sample.X) for classifier in classifiers)
    assert_array_equal(clean, dirty, err_msg="bit for bit: unseen labels are never read")
    assert classifiers[1].classes_.tolist() == [0, 1, 2]  # nor do they make classes
    assert classifiers[1].n_ignored_labels_ == np.sum(sample.decision == 0)  # but they are counted


def test_only_labeled_rows_reach_the_inner_classifier(baseline):
    sample = make_sample()
    fitted = baseline(Recorder(), random_state=0).fit(sample.X, sample.y)
    assert_array_equal(fitted.model_.classifier.X_, sample.X[sample.decision == 1])
    assert_array_equal(fitted.model_.classifier.y_, sample.y[sample.decision == 1])
    assert fitted.n_ignored_labels_ == 0


@pytest.mark.parametrize(
    ("names", "hole"),
    [
        (["no", "yes"], None),
        ([False, True], None),
        ([3, 7], -1),
        ([0.0, 1.0], np.nan),
        (["no", "yes"], -1),
    ],
    ids=["strings", "booleans", "integers", "floats", "strings with -1"],
)
def test_labels_of_any_type_come_back_as_they_were(baseline, names, hole):
    sample = make_sample(n_classes=2)
    labels = [hole if code == -1 else names[code] for code in sample.y]
    fitted = baseline("linear", random_state=0).fit(sample.X, labels)
    codes = baseline("linear", random_state=0).fit(sample.X, sample.y).predict(sample.X)
    assert fitted.classes_.tolist() == names
    assert fitted.predict(sample.X).tolist() == [names[code] for code in codes]  # names carry no information


def test_nullable_pandas_labels(baseline):
    sample = make_sample(n_classes=2)
    labels = pd.Series(sample.y).astype("Int64").mask(sample.y == -1)
    fitted = baseline("linear", random_state=0).fit(sample.X, labels)
    expected = baseline("linear", random_state=0).fit(sample.X, sample.y)
    assert_array_equal(fitted.predict_proba(sample.X), expected.predict_proba(sample.X))


def test_minus_one_is_a_class_where_decisions_are_given(baseline):
    sample = make_sample(n_classes=2)
    labels = 2 * sample.y_true - 1
    fitted = baseline("linear").fit(sample.X, labels, decision=sample.decision)
    assert fitted.classes_.tolist() == [-1, 1]
    everyone = np.ones(len(labels))
    score = fitted.score(sample.X, labels, decision=everyone)
    assert score == np.mean(fitted.predict(sample.X) == labels)


def test_averages_over_the_shares_of_all_rows(baseline):
    sample = make_sample()
    weight = np.random.default_rng(2).integers(1, 4, len(sample.y)).astype(float)
    fitted = baseline(LogisticRegression(), use_decision_maker=True, random_state=0).fit(
        sample.X, sample.y, decision_maker=sample.decision_maker, sample_weight=weight
    )
    makers = ["ann", "bob", "cem"]
    expected = 0.0
    for maker in makers:
        share = weight[sample.decision_maker == maker].sum() / weight.sum()
        indicators = np.tile([float(maker == other) for other in makers], (len(sample.X), 1))
        features = np.hstack([sample.X, indicators])
        expected = expected + share * fitted.model_.classifier.predict_proba(features)
    assert_allclose(fitted.predict_proba(sample.X), expected, rtol=1e-12)
    assert_array_equal(fitted.predict(sample.X), expected.argmax(axis=1))  # labels follow the average


def test_the_decision_maker_is_one_indicator_column_each(baseline):
    sample = make_sample()
    inner = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=3))
    fitted = baseline(inner, use_decision_maker=True, random_state=0).fit(
        sample.X, sample.y, decision_maker=sample.decision_maker
    )
    labeled = sample.decision == 1
    shares = [np.mean(sample.decision_maker[labeled] == maker) for maker in ("ann", "bob", "cem")]
    assert_allclose(fitted.model_.classifier[0].mean_[3:], shares)  # indicators of labeled rows, ids sorted
    assert fitted.n_features_in_ == 3  # the user's features, not the design's


def test_ids_may_be_renamed(baseline):
    sample = make_sample()
    names = {"ann": 2, "bob": 0, "cem": 1}
    renamed = [names[maker] for maker in sample.decision_maker]
    predictions = [
        baseline("linear", use_decision_maker=True, random_state=0)
        .fit(sample.X, sample.y, decision_maker=ids)
        .predict_proba(sample.X)
        for ids in (sample.decision_maker, renamed)
    ]
    assert_allclose(*predictions, atol=1e-4)  # up to where the optimiser stops


def test_averaging_needs_probabilities_and_decision_makers(baseline):
    sample = make_sample()
    with pytest.raises(
        ValueError, match="LinearSVC has no predict_proba, which averaging over decision-makers"
    ):
        baseline(LinearSVC(), use_decision_maker=True).fit(
            sample.X, sample.y, decision_maker=sample.decision_maker
        )
    with pytest.raises(ValueError, match="decision_maker is missing"):
        baseline(use_decision_maker=True).fit(sample.X, sample.y_true)


def test_score_is_plain_accuracy_where_every_label_is_seen(baseline):
    sample = make_sample()
    weight = np.random.default_rng(3).random(len(sample.y))
    fitted = baseline("linear").fit(sample.X, sample.y)
    right = fitted.predict(sample.X) == sample.y_true
    assert fitted.score(sample.X, sample.y_true) == np.mean(right)
    weighted = fitted.score(sample.X, sample.y_true, sample_weight=weight)
    assert_allclose(weighted, np.average(right, weights=weight))


def test_score_refuses_holes(baseline):
    sample = make_sample()
    fitted = baseline("linear").fit(sample.X, sample.y)
    n_holes = np.sum(sample.decision == 0)
    with pytest.raises(
        ValueError, match=f"{n_holes} of 300 labels are missing.*evaluate.*lower_bound_scorer"
    ):
        fitted.score(sample.X, sample.y, decision_maker=sample.decision_maker)
    with pytest.raises(ValueError, match="labels are missing"):  # a label that a decision hides is a hole
        fitted.score(sample.X, sample.y_true, decision=sample.decision)


def test_missing_features_pass_to_classifiers_that_take_them(baseline):
    sample = make_sample()
    X = sample.X.copy()
    X[::5, 1] = np.nan
    for estimator in (None, "linear"):
        predicted = baseline(estimator, random_state=0).fit(X, sample.y).predict_proba(X)
        assert_allclose(predicted.sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="NaN"):
        baseline(LogisticRegression()).fit(X, sample.y)


@pytest.mark.parametrize(
    "inner",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [1.0]}),
        CalibratedClassifierCV(LogisticRegression(), cv=2),
    ],
    ids=["pipeline", "search", "calibrated"],
)
@pytest.mark.parametrize("routing", [False, True])
def test_weights_go_down_through_wrappings(baseline, inner, routing):
    sample = make_sample(n_classes=2)
    heavy = np.where(sample.y_true == 1, 1e6, 1.0)
    with config_context(enable_metadata_routing=routing):
        fitted = baseline(inner, random_state=0).fit(sample.X, sample.y, sample_weight=heavy)
    assert (fitted.predict(sample.X) == 1).all()  # a millionfold class wins everywhere


def test_same_seed_gives_same_predictions(baseline):
    sample = make_sample()
    inner = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=5))
    first, second, other = (
        baseline(inner, random_state=seed).fit(sample.X, sample.y).predict_proba(sample.X)
        for seed in (0, 0, 1)
    )
    assert_array_equal(first, second)  # the seed reaches the forest inside the pipeline
    assert (first != other).any()
    seeded = RandomForestClassifier(n_estimators=5, random_state=7)
    fitted = baseline(seeded, random_state=0).fit(sample.X, sample.y)
    assert fitted.model_.classifier.random_state == 7  # a seed that the user set stays
    assert inner[-1].random_state is None  # and the user's own object is left alone


def test_a_decision_maker_without_labels_is_averaged_in(baseline):
    sample = make_sample()
    y = np.where(sample.decision_maker == "cem", -1, sample.y)
    fitted = baseline(HistGradientBoostingClassifier(), use_decision_maker=True, random_state=0).fit(
        sample.X, y, decision_maker=sample.decision_maker
    )
    assert_allclose(fitted.predict_proba(sample.X).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.full(300, -1)}, "no label at all"),
        ({"y": np.where(np.arange(300) < 9, 2, -1)}, "only one class"),
        ({"y": np.zeros(299)}, "equal length"),
        ({"decision": np.ones(300)}, None),
        ({"y": [None] * 300, "decision": np.ones(300)}, "is missing where decision is 1"),
        ({"sample_weight": -np.ones(300)}, "sample_weight is negative"),
        ({"decision_maker": [None] * 300}, "decision_maker is missing"),
        ({"groups": np.zeros(7)}, "equal length"),
        ({"strata": np.zeros(7)}, "equal length"),
        ({"X": np.full((300, 3), np.inf)}, "infinity"),
    ],
)
def test_bad_input_gets_one_clear_sentence(baseline, change, message):
    sample = make_sample()
    arguments = {"X": sample.X, "y": sample.y} | change
    if message is None:  # -1 is a class where the decision says that it was seen
        assert -1 in baseline("linear").fit(**arguments).classes_
        return
    with pytest.raises(ValueError, match=message):
        baseline("linear").fit(**arguments)


def test_weights_that_miss_every_label_are_refused(baseline):
    sample = make_sample()
    with pytest.raises(ValueError, match="zero on every labeled row"):
        baseline("linear").fit(sample.X, sample.y, sample_weight=1 - sample.decision)


@pytest.mark.parametrize("estimator", ["forest", LinearRegression(), 3], ids=["name", "regressor", "number"])
def test_unknown_estimators_are_refused(baseline, estimator):
    sample, refused = make_sample(), f"^estimator={re.escape(repr(estimator))}"
    if baseline is IPWClassifier:
        told = ': give a scikit-learn classifier, "linear" or None'
    elif isinstance(estimator, str):  # labels alone have more named learners
        told = " is not one of 'linear', 'plug-in', 'neural' or a classifier"
    else:
        told = " is not a scikit-learn classifier"
    with pytest.raises(InputError, match=rf"{refused}{told}\.$"):
        baseline(estimator).fit(sample.X, sample.y)


def test_weights_need_a_classifier_that_takes_them(baseline):
    sample = make_sample()
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        baseline(KNeighborsClassifier()).fit(sample.X, sample.y, sample_weight=np.ones(300))
