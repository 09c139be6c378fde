"""UCLClassifier on tables with text, categories and missing values."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from tests.estimators.samples import quick
from tests.raw_tables import make_raw_sample, renamed

SAMPLE = make_raw_sample()


def fitted(classifier, table=None, **roles):
    table = SAMPLE.table if table is None else table
    return classifier.fit(table, SAMPLE.y, **{"decision_maker": SAMPLE.decision_maker, **roles})


def everything(classifier, table):
    bounds = classifier.predict_bounds(table)
    return np.column_stack([classifier.decision_function(table), bounds.lower, bounds.upper])


@pytest.mark.parametrize("mode", ["partial", "point"])
@pytest.mark.parametrize(
    ("estimator", "nuisance"),
    [(None, None), ("linear", "logistic"), ("plug-in", "quadratic"), ("neural", "logistic")],
    ids=str,
)
def test_every_learner_takes_text_and_holes(mode, estimator, nuisance):
    if estimator == "neural":
        pytest.importorskip("torch", reason="optional: PyTorch")
    table = SAMPLE.table.copy()
    table.loc[::9, "age"] = np.nan
    classifier = fitted(quick(mode, estimator, nuisance=nuisance), table)
    assert np.isfinite(everything(classifier, table)).all()
    assert 0.0 <= classifier.score(table, SAMPLE.y, decision_maker=SAMPLE.decision_maker) <= 1.0
    assert classifier.feature_names_in_.tolist() == ["age", "job", "income"]


@pytest.mark.parametrize("mode", ["partial", "point"])
def test_text_is_worth_its_indicators(mode):
    settings = {"estimator": LogisticRegression(), "nuisance": LogisticRegression()}
    by_text = everything(fitted(quick(mode, **settings)), SAMPLE.table)
    by_hand = everything(fitted(quick(mode, **settings), SAMPLE.one_hot), SAMPLE.one_hot)
    assert_allclose(by_text, by_hand, rtol=1e-9)


@pytest.mark.parametrize("estimator", [None, "linear", LogisticRegression()], ids=str)
def test_names_of_categories_change_nothing(estimator):
    first, second = (
        everything(fitted(quick(estimator=estimator), table), table)
        for table in (SAMPLE.table, renamed(SAMPLE.table))
    )
    assert_array_equal(first, second)


def test_a_new_category_is_none_of_those_known():
    classifier = fitted(quick(estimator=LogisticRegression(), nuisance=LogisticRegression()))
    by_hand = fitted(quick(estimator=LogisticRegression(), nuisance=LogisticRegression()), SAMPLE.one_hot)
    nobody = SAMPLE.one_hot.copy()
    nobody.iloc[:, :4] = 0.0
    assert_allclose(
        everything(classifier, SAMPLE.table.assign(job="pilot")), everything(by_hand, nobody), rtol=1e-9
    )


@pytest.mark.filterwarnings("ignore:the rule predicts")  # of wide bounds, which are not the subject
def test_fifteen_hundred_categories_are_no_obstacle():
    sample = make_raw_sample(1600)
    table = sample.table.assign(job=[f"job {number % 1500}" for number in range(1600)])
    for nuisance in ("logistic", "boosting"):
        classifier = quick(estimator=None, nuisance=nuisance)
        classifier.fit(table, sample.y, decision_maker=sample.decision_maker)
        assert np.isfinite(everything(classifier, table[:50])).all()


def test_columns_that_say_nothing_change_nothing():
    table = SAMPLE.table.assign(constant="same", missing=None, nothing=np.nan)
    with_them, without = (
        everything(fitted(quick(estimator=None, nuisance="boosting"), each), each)
        for each in (table, SAMPLE.table)
    )
    assert_array_equal(with_them, without)  # trees never split on them


@pytest.mark.parametrize("container", ["polars", "pyarrow", "categories"])
def test_every_kind_of_table_gives_the_same(container):
    if container == "categories":
        other = SAMPLE.table.astype({"job": "category"})
    else:
        module = pytest.importorskip(container, reason=f"optional: {container}")
        columns = {name: column.to_list() for name, column in SAMPLE.table.items()}
        columns["job"] = [None if pd.isna(each) else each for each in columns["job"]]
        other = (module.DataFrame if container == "polars" else module.table)(columns)
    first, second = (everything(fitted(quick(), table), table) for table in (SAMPLE.table, other))
    assert_array_equal(first, second)
    assert_array_equal(everything(fitted(quick()), other), first, "fitted on one kind, used on another")


def test_booleans_are_the_numbers_zero_and_one():
    old = SAMPLE.table["age"] > 0.0
    first, second = (
        everything(fitted(quick(estimator=None), table), table)
        for table in (SAMPLE.table.assign(old=old), SAMPLE.table.assign(old=old.astype(float)))
    )
    assert_array_equal(first, second)


@pytest.mark.parametrize("nuisance", ["quadratic", "boosting", LogisticRegression()], ids=str)
def test_frames_as_output_of_all_transformers_change_nothing(nuisance):
    expected = everything(fitted(quick(estimator="linear", nuisance=nuisance)), SAMPLE.table)
    with config_context(transform_output="pandas"):
        found = everything(fitted(quick(estimator="linear", nuisance=nuisance)), SAMPLE.table)
    assert_array_equal(found, expected)


def test_labels_that_nobody_may_see_are_not_read():
    decision = (SAMPLE.y >= 0).astype(int)
    garbage = np.where(decision == 1, SAMPLE.y, np.random.default_rng(0).integers(-1, 9, len(SAMPLE.y)))
    table = SAMPLE.table
    first = fitted(quick(estimator=None, nuisance=None))
    second = quick(estimator=None, nuisance=None).fit(
        table, garbage, decision_maker=SAMPLE.decision_maker, decision=decision
    )
    assert_array_equal(everything(first, table), everything(second, table))


def test_copies_predict_the_same():
    classifier = fitted(quick(estimator=None, nuisance=None))
    again = fitted(clone(classifier))
    expected = everything(classifier, SAMPLE.table)
    assert_array_equal(everything(again, SAMPLE.table), expected)
    assert_array_equal(everything(pickle.loads(pickle.dumps(classifier)), SAMPLE.table), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop(columns="job"), "Feature names seen at fit time, yet now missing"),
        (lambda table: table.assign(more=1), "Feature names unseen at fit time"),
        (lambda table: table[["job", "age", "income"]], "Feature names must be in the same order"),
        (lambda table: table.assign(age="old"), "'age' that held numbers in fit and now holds text .*'old'"),
        (lambda table: np.zeros((5, 3)), "X is an array, and fit had a table with text"),
        (lambda table: table.set_axis(["age", "job", "job"], axis=1), "several columns named 'job'"),
    ],
)
def test_a_table_unlike_that_of_fit_is_refused(change, message):
    classifier = fitted(quick())
    with pytest.raises(ValueError, match=message):
        classifier.predict(change(SAMPLE.table))


def test_text_is_refused_where_fit_had_an_array():
    classifier = fitted(quick(), SAMPLE.one_hot.to_numpy())
    with pytest.raises(ValueError, match=r"not numbers \('job'\), unlike in fit"):
        classifier.predict(SAMPLE.table)
