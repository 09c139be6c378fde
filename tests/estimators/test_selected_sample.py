"""The learner of the labeled rows: costs, stated odds of the refused, and how skewed columns enter."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import selective_labels as sl
from selective_labels import InputError
from selective_labels.datasets import make_decision_makers
from selective_labels.nuisance.models.encoders import LearnerNumbers

mpl.use("Agg")
COST = np.array([[0.0, 1.0], [3.0, 0.0]])


@pytest.fixture(scope="module")
def sample():
    return make_decision_makers(1500, 2, random_state=0)


def learner(estimator="linear", **settings):
    return sl.SelectedSampleClassifier(estimator, random_state=0, nuisance="logistic", **settings)


@pytest.mark.parametrize("estimator", ["linear", "plug-in", None, sl.LinearScore(0.01)], ids=str)
def test_costs_choose_the_cheapest_class(sample, estimator):
    model = learner(estimator, cost=COST).fit(sample.X, sample.y)
    chances = model.predict_proba(sample.X)
    assert_array_equal(model.predict(sample.X), (chances @ COST).argmin(axis=1))
    plain = learner(estimator).fit(sample.X, sample.y)
    assert_array_equal(chances, plain.predict_proba(sample.X)), "costs do not change probabilities"
    assert np.mean(model.predict(sample.X)) > np.mean(plain.predict(sample.X)), "missing the second is costly"


def test_costs_weigh_labels_of_a_learner_without_probabilities(sample):
    model = learner(LinearSVC(), cost=COST).fit(sample.X, sample.y)
    seen = sample.y >= 0
    weighted = LinearSVC().fit(sample.X[seen], sample.y[seen], np.where(sample.y[seen] == 1, 1.5, 0.5) / 1.0)
    assert np.mean(model.predict(sample.X) == weighted.predict(sample.X)) > 0.97
    assert not hasattr(model, "predict_proba")


def test_balanced_costs_compare_with_shares(sample):
    rare = np.where((sample.y == 1) & (np.arange(1500) % 4 > 0), -1, sample.y)
    model = learner(cost="balanced").fit(sample.X, rare)
    share = np.mean(rare[rare >= 0])
    assert_array_equal(model.predict(sample.X), model.predict_proba(sample.X)[:, 1] > share)


def test_stated_odds_by_hand(sample):
    model = learner(refused_odds=2.0).fit(sample.X, sample.y)
    labeled = learner().fit(sample.X, sample.y).predict_proba(sample.X)
    accepted = learner().fit(sample.X, sample.decision).predict_proba(sample.X)[:, 1]
    odds = 2.0 * labeled[:, 1] / labeled[:, 0]
    expected = accepted * labeled[:, 1] + (1.0 - accepted) * odds / (1.0 + odds)
    assert_allclose(model.predict_proba(sample.X)[:, 1], expected)
    assert_array_equal(model.predict(sample.X), expected > 0.5)


def test_odds_of_one_are_the_labeled_rows_alone(sample):
    plain = learner().fit(sample.X, sample.y)
    model = learner(refused_odds=1.0).fit(sample.X, sample.y)
    assert_allclose(model.predict_proba(sample.X), plain.predict_proba(sample.X))
    full = learner(refused_odds=5.0).fit(sample.X, sample.y_true)
    assert_array_equal(full.predict(sample.X), learner().fit(sample.X, sample.y_true).predict(sample.X))


def test_a_range_of_odds_minimises_the_largest_regret(sample):
    model = learner(refused_odds=(0.5, 4.0), cost=COST).fit(sample.X, sample.y)
    ends = [learner(refused_odds=each).fit(sample.X, sample.y).predict_proba(sample.X) for each in (0.5, 4.0)]
    costs = [each @ COST for each in ends]
    regrets = np.max([each - each.min(axis=1, keepdims=True) for each in costs], axis=0)
    assert_array_equal(model.predict(sample.X), regrets.argmin(axis=1))


def test_the_event_may_be_any_class_and_several():
    drawn = make_decision_makers(900, 3, random_state=0)
    model = learner(refused_odds={(0, 1): 3.0}).fit(drawn.X, drawn.y)
    labeled = learner().fit(drawn.X, drawn.y).predict_proba(drawn.X)
    found = model.predict_proba(drawn.X)
    assert (found[:, 2] < labeled[:, 2]).all()
    assert_allclose(found[:, 0] / found[:, 1], labeled[:, 0] / labeled[:, 1])


@pytest.mark.parametrize(
    ("odds", "problem"),
    [
        (-1.0, "must be positive"),
        (np.nan, "must be positive"),
        (True, "must be positive, finite numbers; got True"),
        ("two", "must be positive, finite numbers; got 'two'"),
        ((), "must be positive"),
        ([[1.0, 2.0]], "must be positive"),
        ((2.0, 1.0), "a pair \\(low, high\\)"),
        ((1.0, 2.0, 3.0), "a pair \\(low, high\\)"),
        ({7: 2.0}, "names 7; classes are"),
        ({"1": 2.0}, "names '1'; classes are"),
        ({(): 2.0}, "names \\(\\); classes are"),
        ({(0, 1): 2.0}, "classes are"),
        ({0: 1.0, 1: 2.0}, "must name one class"),
    ],
    ids=str,
)
def test_odds_that_make_no_sense(sample, odds, problem):
    with pytest.raises(InputError, match=problem):
        learner(refused_odds=odds).fit(sample.X, sample.y)


def test_three_classes_need_a_name():
    drawn = make_decision_makers(300, 3, random_state=0)
    with pytest.raises(InputError, match="must name the class"):
        learner(refused_odds=2.0).fit(drawn.X, drawn.y)


def test_learners_without_probabilities_have_no_odds(sample):
    with pytest.raises(InputError, match="no predict_proba, which refused_odds needs"):
        learner(LinearSVC(), refused_odds=2.0).fit(sample.X, sample.y)


def test_sensitivity_shows_gains_on_the_stated_side_and_losses_on_the_other(sample):
    model = learner(refused_odds=2.0).fit(sample.X, sample.y)
    curve = model.sensitivity(sample.X, [0.5, 1.0, 2.0, 4.0])
    assert (np.diff(curve.gain) > 0).all()
    assert curve.gain[1] < 0.0 < curve.gain[2], "it costs where the refused are like the accepted"
    rows, plain = np.arange(1500), learner().fit(sample.X, sample.y).predict(sample.X)
    truth = learner(refused_odds=2.0).fit(sample.X, sample.y).predict_proba(sample.X)
    by_hand = np.mean(truth[rows, model.predict(sample.X)] - truth[rows, plain])
    assert_allclose(curve.gain[2], by_hand)
    assert_allclose(curve.changed, np.mean(plain != model.predict(sample.X)))
    assert curve.to_frame().shape == (4, 2)
    assert "predicted differently" in str(curve)
    assert curve.plot().get_xscale() == "log"
    for bad in ([-1.0, 2.0], [np.nan], []):
        with pytest.raises(InputError, match="odds must be positive"):
            model.sensitivity(sample.X, bad)
    with pytest.raises(InputError, match="refused_odds is not stated"):
        learner().fit(sample.X, sample.y).sensitivity(sample.X)


def test_decision_makers_are_features_of_classifiers_only(sample):
    for estimator in ("plug-in", sl.LinearScore()):
        with pytest.raises(InputError, match="use_decision_maker goes with"):
            learner(estimator, use_decision_maker=True).fit(
                sample.X, sample.y, decision_maker=sample.decision_maker
            )


def test_skewed_columns_enter_as_suits_the_labels():
    rng = np.random.default_rng(0)
    size = np.exp(2.0 * rng.normal(size=(800, 1)))
    by_amount = rng.random(800) < expit((size[:, 0] - 8.0) / 8.0)
    by_rank = rng.random(800) < 1.0 / (1.0 + np.exp(-2.0 * np.log(size[:, 0])))
    assert LearnerNumbers().fit(size, by_amount).scales_ == {}, "as they are"
    assert LearnerNumbers().fit(size, by_rank).scales_[0].name == "ranks"
    hidden = np.where(rng.random(800) < 0.5, by_rank.astype(float), np.nan)
    assert LearnerNumbers().fit(size, hidden).scales_[0].name == "ranks", "rows without a label do not count"


def test_a_linear_learner_of_a_mode_scales_as_the_plain_one():
    rng = np.random.default_rng(1)
    size = np.exp(2.0 * rng.normal(size=(1200, 1)))
    truth = (rng.random(1200) < 1.0 / (1.0 + np.exp(-2.0 * np.log(size[:, 0])))).astype(int)
    maker = rng.integers(0, 4, 1200)
    y = np.where(rng.random(1200) < 0.3 + 0.15 * maker, truth, -1)
    ours = sl.UCLClassifier("tilt", "linear", nuisance="logistic", cv=2, random_state=0)
    ours.fit(size, y, decision_maker=maker)
    plain = learner().fit(size, y)
    assert ours._scores.scale[0].scales_[0].name == plain.model_.classifier[0].scales_[0].name == "ranks"


def test_the_plain_learner_is_logistic_regression(sample):
    seen = sample.y >= 0
    scaled = (sample.X - sample.X[seen].mean(axis=0)) / sample.X[seen].std(axis=0)
    plain = LogisticRegression(max_iter=1000).fit(scaled[seen], sample.y[seen])
    assert_allclose(
        learner().fit(sample.X, sample.y).predict_proba(sample.X), plain.predict_proba(scaled), rtol=1e-4
    )
