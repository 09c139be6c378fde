"""Classifiers that were trained on the rows of the evaluation are noticed; good ones are not accused."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import selective_labels as sl
from selective_labels.evaluation.policy import Policy

N = 1500
TRAINED = "trained on these rows"
OVERFITTED = {
    "forest": RandomForestClassifier(20, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "neighbours": KNeighborsClassifier(3),
    "boosting": GradientBoostingClassifier(random_state=0),
}


class Cases:
    """Cases of four decision-makers, one of whom nearly always says yes."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.X, self.hidden, self.maker = rng.normal(size=(N, 5)), rng.normal(size=N), rng.integers(0, 4, N)
        self.truth = (rng.random(N) < expit(1.5 * self.X[:, 0] + self.hidden)).astype(int)
        lenient = np.array([-1.0, 0.0, 1.0, 6.0])[self.maker]
        self.decision = rng.random(N) < expit(lenient - self.X[:, 0] - self.hidden)

    @property
    def data(self):
        y = np.where(self.decision, self.truth, -1)
        return sl.SelectiveLabels.from_arrays(self.X, y, decision_maker=self.maker)

    def fit(self, model):
        return model.fit(self.X[self.decision], self.truth[self.decision])


@pytest.fixture(scope="module")
def cases():
    return Cases(0)


@pytest.fixture(scope="module")
def others():
    return Cases(1)


@pytest.fixture(scope="module")
def evaluator(cases):
    return sl.Evaluator(cases.data, nuisance="logistic", propensity="shares", random_state=0, n_jobs=1)


def cautions(result):
    return " ".join(result.sample.cautions)


@pytest.mark.parametrize("name", OVERFITTED)
def test_training_rows_are_noticed(name, cases, evaluator):
    found = cautions(evaluator.evaluate(cases.fit(OVERFITTED[name])))
    assert TRAINED in found
    assert "not to be trusted" in found


@pytest.mark.parametrize("name", OVERFITTED)
def test_a_classifier_of_other_rows_is_not_accused(name, others, evaluator):
    assert cautions(evaluator.evaluate(others.fit(OVERFITTED[name]))) == ""


def test_a_logistic_regression_does_not_gain_from_its_training_rows(cases, evaluator):
    assert cautions(evaluator.evaluate(cases.fit(LogisticRegression()))) == ""


def test_every_question_has_the_caution(cases, others, evaluator):
    trained = cases.fit(OVERFITTED["tree"])
    good = others.fit(LogisticRegression())
    asked = [
        evaluator.evaluate(trained, metric="auc"),
        evaluator.compare(good, trained),
        evaluator.compare(trained, "human"),
        evaluator.evaluate(Policy(trained, acceptance=0.5)),
        *evaluator.evaluate(trained, by=cases.X[:, 1] > 0),
    ]
    assert all(TRAINED in cautions(each) for each in asked)


def test_an_array_needs_to_be_nearly_perfect(cases, evaluator):
    forest = cases.fit(OVERFITTED["forest"])
    for given, metric in (
        (forest.predict(cases.X), "accuracy"),
        (forest.predict_proba(cases.X), "brier"),
        (forest.predict_proba(cases.X)[:, 1], "auc"),
    ):
        found = cautions(evaluator.evaluate(given, metric=metric))
        assert "if a model was trained on these rows" in found


def test_a_vendor_who_knows_more_is_not_accused(cases, evaluator):
    score = 1.5 * cases.X[:, 0] + cases.hidden
    assert cautions(evaluator.evaluate((score > 0).astype(int))) == ""
    assert cautions(evaluator.evaluate(score, metric="auc")) == ""


def test_all_labels_seen_and_a_perfect_fit(cases):
    tree = DecisionTreeClassifier(random_state=0).fit(cases.X, cases.truth)
    found = sl.evaluate(tree, cases.X, cases.truth)
    assert TRAINED in cautions(found)
    assert cautions(sl.evaluate(cases.truth, cases.X, cases.truth)) == ""


class Broken(ClassifierMixin, BaseEstimator):
    """Predicts what it was told, and cannot be fitted again."""

    def __init__(self, told=None):
        self.told = told

    def fit(self, X, y):
        raise RuntimeError("no licence")

    def predict(self, X):
        return self.told.predict(X)


def test_a_classifier_that_cannot_be_refitted_is_evaluated_without_the_check(cases, evaluator):
    found = evaluator.evaluate(Broken(cases.fit(OVERFITTED["tree"])))
    assert found.ci_lower < found.ci_upper


def test_the_check_leaves_the_global_generator_alone(cases, evaluator):
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    evaluator.evaluate(cases.fit(RandomForestClassifier(5, random_state=0)).set_params(random_state=None))
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002


def test_rows_of_one_cluster_are_not_divided(cases):
    """With `groups` of one value there are no halves, and no standard error."""
    tree = DecisionTreeClassifier(random_state=0).fit(cases.X, cases.truth)
    found = sl.evaluate(tree, cases.X, cases.truth, groups=np.zeros(N))
    assert cautions(found) == ""
