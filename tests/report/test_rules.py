"""No case is judged by a rule that saw it, and a given rule is read as its owner means it."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from selective_labels import SelectiveLabels
from selective_labels.report.cases import Cases
from selective_labels.report.rules import (
    ReportedRule,
    given_model,
    given_predictions,
    robust_classifier,
    usual_practice,
)
from tests.report.samples import table

SEEDS = np.array([0, 1, 2])
QUICK = {"nuisance": "logistic", "cv": 2}
LEARNERS = [usual_practice, lambda *arguments: robust_classifier(*arguments, **QUICK)]


def noise(repeats=1):
    """Labels that have nothing to do with the features; each case `repeats` times."""
    generator = np.random.default_rng(0)
    n_cases = 600 // repeats
    X, y = generator.standard_normal((n_cases, 3)), generator.integers(0, 2, n_cases)
    makers = np.arange(600) % 3
    seen = generator.random(600) < 0.8
    repeated = np.repeat(y, repeats)
    groups = np.repeat(np.arange(n_cases), repeats)
    features, labels = np.repeat(X, repeats, axis=0), np.where(seen, repeated, -1)
    return Cases(SelectiveLabels.from_arrays(features, labels, decision_maker=makers, groups=groups), [])


@pytest.mark.parametrize("learn", LEARNERS)
@pytest.mark.parametrize("repeats", [1, 3])
def test_noise_cannot_be_predicted(learn, repeats):
    """A rule that saw the case, or another row of it, would be right nearly always.

    The mean of 480 rows in clusters of up to 3 has a standard error of at most √(3 / 4 / 480) = 0.04; 0.18 is
    4.5 of these, exceeded with probability 7e-6.
    """
    cases = noise(repeats)
    seen = cases.data.decision == 1
    right = learn(cases, 1, SEEDS).codes[seen] == cases.data.y[seen]
    assert right.mean() == pytest.approx(0.5, abs=0.18)


def test_a_rule_survives_being_stored():
    rule = ReportedRule(
        "ours", "name", "words", np.array([0, 1]), np.array([0.1, 2 / 3]), np.array([True, False])
    )
    again = ReportedRule.from_dict(rule.to_dict())
    for name in ("codes", "scores", "decided"):
        np.testing.assert_array_equal(getattr(again, name), getattr(rule, name))
    assert ReportedRule.from_dict(ReportedRule("yours", "", "", np.array([1])).to_dict()).scores is None


@pytest.fixture
def cases():
    X, y, makers = table(300)
    return Cases(SelectiveLabels.from_arrays(X[["a", "c"]], y, decision_maker=makers), [])


@pytest.mark.parametrize("event", [0, 1])
def test_chances_of_the_event_are_cut_at_one_half(cases, event):
    chance = np.linspace(0.0, 1.0, 301)[:300]
    rule = given_predictions(chance, cases, event)
    np.testing.assert_array_equal(rule.codes == event, chance >= 0.5)
    np.testing.assert_allclose(rule.scores, chance, rtol=1e-12)


def test_probabilities_predict_the_most_probable_class(cases):
    values = np.random.default_rng(0).dirichlet([1.0, 1.0], 300)
    rule = given_predictions(values, cases, 1)
    np.testing.assert_array_equal(rule.codes, values.argmax(axis=1))
    np.testing.assert_array_equal(rule.scores, values[:, 1])


def test_predicted_classes_have_no_score(cases):
    labels = np.array(["no", "yes"] * 150, dtype=object)
    rule = given_predictions(labels, cases, 1)
    assert rule.scores is None
    assert rule.codes.tolist() == [0, 1] * 150


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_model_may_have_seen_the_rows_unless_it_was_trained_elsewhere(cases, elsewhere):
    data = cases.data
    seen = data.decision == 1
    model = LogisticRegression().fit(data.X[seen], data.classes[data.y[seen]])
    rule = given_model(model, cases, 1, elsewhere)
    assert "(LogisticRegression)" in rule.description
    assert ("may have been trained on" in rule.description) is not elsewhere
    np.testing.assert_array_equal(rule.scores, model.predict_proba(data.X)[:, 1])
    np.testing.assert_array_equal(np.array(["no", "yes"])[rule.codes], model.predict(data.X))


def test_a_score_with_costs_accepts_as_many_as_people_did():
    cases = noise()
    risk = np.random.default_rng(1).permutation(600) / 600.0
    found = given_predictions(risk, cases, 1, "score", cost=[[0, 1], [5, 0]])
    accepted = found.codes == 0
    assert accepted.sum() == cases.data.decision.sum()
    assert risk[accepted].max() < risk[~accepted].min()
    by_half = given_predictions(risk, cases, 1, "score")
    np.testing.assert_array_equal(by_half.codes, risk >= 0.5)  # a probability needs no other cut-off


def test_a_score_that_is_no_probability_accepts_as_many_too():
    cases = noise()
    points = np.random.default_rng(1).permutation(600).astype(float) + 300.0
    found = given_predictions(points, cases, 1)
    assert (found.codes == 0).sum() == cases.data.decision.sum()
    assert "lowest scores" in found.description


def test_what_is_learned_predicts_what_costs_least_by_its_own_probabilities():
    cases = noise()
    plain, costly = (usual_practice(cases, 1, SEEDS, cost) for cost in (None, [[0, 1], [5, 0]]))
    np.testing.assert_array_equal(costly.codes, plain.scores >= 1.0 / 6.0)  # 5 p >= 1 - p
    np.testing.assert_array_equal(costly.scores, plain.scores)
