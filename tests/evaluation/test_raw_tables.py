"""Tables as people have them: text columns behind a pipeline, random states of any kind, odd assignments."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import selective_labels as sl
from selective_labels._parallel import listening
from tests.raw_tables import make_raw_sample

SAMPLE = sl.datasets.make_decision_makers(900, n_classes=2, n_decision_makers=4, random_state=0)
QUICK = {"nuisance": "logistic", "random_state": 0}


@pytest.fixture
def table():
    job = np.where(SAMPLE.X[:, 3] > 0, "cook", "clerk")
    return pd.DataFrame({"a": SAMPLE.X[:, 0], "b": SAMPLE.X[:, 1], "job": job})


def pipeline():
    encode = make_column_transformer((OrdinalEncoder(), ["job"]), remainder="passthrough")
    return make_pipeline(encode, sl.UCLClassifier(estimator="plug-in", **QUICK))


def test_a_pipeline_that_encodes_text_is_chosen_and_evaluated_on_the_raw_table(table):
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            pipeline(), {"uclclassifier__mode": ["partial"]}, scoring=sl.lower_bound_scorer, cv=2
        )
        search.fit(table, SAMPLE.y, decision_maker=SAMPLE.decision_maker)
    assert np.isfinite(search.best_score_), "a score of NaN would choose at random"
    result = sl.evaluate(
        search.best_estimator_, table, SAMPLE.y, decision_maker=SAMPLE.decision_maker, **QUICK
    )
    assert 0.0 <= result.lower <= result.upper <= 1.0


def test_text_without_a_pipeline_is_worth_its_indicators():
    raw = make_raw_sample()
    guess = (raw.table["age"] > 0).astype(int).to_numpy()
    first, second = (
        sl.evaluate(
            guess,
            table,
            raw.y,
            decision_maker=raw.decision_maker,
            assumption="all",
            nuisance=LogisticRegression(),
            random_state=0,
        )
        for table in (raw.table, raw.one_hot)
    )
    assert_allclose(*([ends(each) for each in result] for result in (first, second)), rtol=1e-9)


def ends(result):
    return result.lower, result.upper, result.ci_lower, result.ci_upper


@pytest.mark.parametrize("propensity", ["shares", "model"])
def test_the_classifier_gets_the_table_as_it_is(propensity):
    raw = make_raw_sample()

    class Cook:
        classes_ = np.array([0, 1])

        def predict(self, X):
            return (X["job"] == "cook").astype(int).to_numpy()

    cooks = (raw.table["job"] == "cook").astype(int).to_numpy()
    for call in (sl.evaluate, sl.sensitivity_curve):
        options = {"propensity": propensity} if call is sl.evaluate else {}
        by_object, by_array = (
            call(each, raw.table, raw.y, decision_maker=raw.decision_maker, **options, **QUICK)
            for each in (Cook(), cooks)
        )
        assert_allclose(by_object.lower, by_array.lower, rtol=1e-12)
    same = sl.compare(Cook(), cooks, raw.table, raw.y, decision_maker=raw.decision_maker, **QUICK)
    assert same.lower == same.upper == 0.0, "nothing differs between a classifier and its predictions"


def test_progress_is_told_repeat_by_repeat(table):
    heard = []
    with listening(lambda *news: heard.append(news)):
        sl.evaluate(
            SAMPLE.y_true, table, SAMPLE.y, decision_maker=SAMPLE.decision_maker, n_repeats=2, **QUICK
        )
    repeats = [(done, total) for what, done, total in heard if what == "repeating cross-fitting"]
    assert repeats == [(0, 2), (1, 2), (2, 2)]


def test_a_value_outside_what_needs_no_assumption_is_called_out():
    rng = np.random.default_rng(0)
    n = 3000
    maker = np.arange(n) % 3
    truth = (rng.random(n) < 0.2).astype(int)
    # All differences in leniency concern the rarer class, so the slope on leniency gives it everything.
    decision = rng.random(n) < np.where(truth == 1, np.array([0.05, 0.5, 0.9])[maker], 0.8)
    results = sl.evaluate(
        np.ones(n, dtype=int),
        rng.normal(size=(n, 1)),
        np.where(decision, truth, -1),
        decision_maker=maker,
        metric="accuracy",
        assumption=["none", "nucem"],
        **QUICK,
    )
    assert results.contradicts(results.one(assumption="nucem")), "leniency differs for one class alone"
    assert "lies outside that under none" in repr(results), "and the table says so"


@pytest.mark.parametrize("call", ["diagnose", "evaluate"])
def test_a_random_state_object_is_as_good_as_a_number(call):
    roles = {"decision_maker": SAMPLE.decision_maker, "nuisance": "logistic"}

    def text(random_state):
        if call == "diagnose":
            return repr(sl.diagnose(SAMPLE.X, SAMPLE.y, random_state=random_state, **roles))
        return sl.evaluate(SAMPLE.y_true, SAMPLE.X, SAMPLE.y, random_state=random_state, **roles).to_json()

    first, second = (text(np.random.RandomState(0)) for _ in range(2))
    number = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    assert first == second == text(int(number)), "it stands for the first whole number that it draws"


def test_an_assignment_without_overlap_is_untested_not_a_crash():
    known = np.eye(4)[SAMPLE.decision_maker]
    diagnosis = sl.diagnose(
        SAMPLE.X, SAMPLE.y, decision_maker=SAMPLE.decision_maker, assignment=known, random_state=0
    )
    assert diagnosis["SL601"].status in ("not applicable", "warning", "violated")
    assert not diagnosis.allows("nucem")


def test_bounds_unpack_into_their_ends():
    lower, upper = sl.Bounds(np.array([[0.2, 0.3]]), np.array([[0.7, 0.8]]))
    assert (lower.tolist(), upper.tolist()) == ([[0.2, 0.3]], [[0.7, 0.8]])
