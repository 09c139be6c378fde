"""Rare or rarely seen classes, in every mode by one name."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import selective_labels as sl
from selective_labels import InputError
from selective_labels.estimators.ucl import balanced_weights


def rare(n_samples=2000, random_state=0):
    """About 8 % of the cases are of class 1, which the first feature tells fairly well."""
    generator = np.random.default_rng(random_state)
    X, hidden = generator.normal(size=(n_samples, 2)), generator.normal(size=n_samples)
    maker = generator.integers(6, size=n_samples)
    label = (generator.random(n_samples) < expit(1.5 * X[:, 0] - 3.2)).astype(int)
    decided = generator.random(n_samples) < expit(np.linspace(-1.0, 1.0, 6)[maker] + 0.5 * hidden)
    return X, np.where(decided, label, -1), maker, label


def fit(X, y, maker, **options):
    classifier = sl.UCLClassifier(estimator="plug-in", nuisance="logistic", random_state=0, **options)
    return classifier.fit(X, y, decision_maker=maker)


def test_a_rule_that_gives_a_class_up_says_so_and_names_the_remedy():
    X, y, maker, _ = rare()
    with pytest.warns(UserWarning, match=r"predicts 0 for .*% of the rows.*cost='balanced'"):
        classifier = fit(X, y, maker)
    assert classifier.predicted_shares_[0] >= 0.99


@pytest.mark.parametrize(
    ("mode", "guards"), [("partial", True), ("point", False)], ids=["worst case", "probabilities"]
)
@pytest.mark.filterwarnings("ignore:SL")  # how strong the instrument is does not matter here
def test_a_rule_that_costs_make_constant_is_told_and_not_blamed(mode, guards):
    X, y, maker, _ = rare(600)
    with pytest.warns(sl.ConstantRuleWarning) as said:
        classifier = fit(X, y, maker, mode=mode, cost=[[0, 1], [1e6, 0]])
    assert classifier.predicted_shares_[1] == 1.0
    (note,) = [str(each.message) for each in said if each.category is sl.ConstantRuleWarning]
    assert note.startswith(
        "the rule predicts 1 for everybody: with these costs no other prediction pays there"
    )
    assert ("worst case" in note) == guards
    assert note.endswith("classes in the order 0, 1.")
    assert "cost='balanced'" not in note


def test_costs_under_which_predictions_differ_need_no_word():
    X, y, maker, _ = rare(600)
    X = np.column_stack([10 * X[:, 0], X[:, 1]])
    y = np.where(y >= 0, (X[:, 0] > 0).astype(int), -1)  # the label is clear where it is seen
    with warnings.catch_warnings():
        warnings.simplefilter("error", sl.ConstantRuleWarning)
        classifier = fit(X, y, maker, cost=[[0, 1], [2, 0]])
    assert classifier.predicted_shares_.max() < 0.99


def test_balanced_costs_bring_the_class_back():
    X, y, maker, label = rare()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier = fit(X, y, maker, cost="balanced")
    predicted = classifier.predict(X)
    recalls = [np.mean(predicted[label == k] == k) for k in (0, 1)]
    assert min(recalls) > 0.5  # both classes are told better than by chance
    shares = np.bincount(y[y >= 0]) / np.sum(y >= 0)
    lower = classifier.predict_bounds(X).lower
    np.testing.assert_array_equal(predicted, np.argmax(lower / shares, axis=1))
    assert classifier.predicted_shares_.sum() == pytest.approx(1.0)


@pytest.mark.filterwarnings("ignore:SL")  # weak instruments are part of what is asked
@pytest.mark.parametrize("mode", ["point", "tilt", "auto"])
@pytest.mark.parametrize("weak", [False, True], ids=["instrument", "labeled rows alone"])
def test_balanced_costs_weigh_probabilities_in_the_other_modes(mode, weak):
    X, y, maker, label = rare()
    if weak:
        maker = np.random.default_rng(5).integers(6, size=len(y))  # who decided has no part in it
    model = fit(X, y, maker, mode=mode, cost="balanced")
    assert model.mode_ == ("labeled-only" if (weak and mode == "point") or mode == "auto" else mode)
    shares = np.bincount(y[y >= 0]) / np.sum(y >= 0)
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted, np.argmax(model.predict_proba(X) / shares, axis=1))
    assert min(np.mean(predicted[label == k] == k) for k in (0, 1)) > 0.5


def test_balanced_weights_of_everybody_give_balanced_accuracy():
    generator = np.random.default_rng(1)
    truth, guess = generator.choice(3, p=[0.6, 0.3, 0.1], size=500), generator.integers(3, size=500)
    weights = balanced_weights(np.bincount(truth) / 500)
    right = np.mean(weights[truth] * (truth == guess))
    assert_allclose(right, np.mean([np.mean(guess[truth == k] == k) for k in range(3)]))


def test_a_cost_that_is_a_wrong_word_is_refused():
    X, y, maker, _ = rare(200)
    with pytest.raises(InputError, match="cost"):
        fit(X, y, maker, cost="fair")
