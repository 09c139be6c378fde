"""Baselines on tables with text, categories and missing values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression, LogisticRegression

from selective_labels import (
    DoublyRobustClassifier,
    ExpertConsistencyClassifier,
    IPWClassifier,
    SelectedSampleClassifier,
)
from tests.raw_tables import make_raw_sample, renamed

SAMPLE = make_raw_sample()
NUISANCE = {"nuisance": LogisticRegression(), "cv": 2}
BASELINES = {
    SelectedSampleClassifier: {},
    IPWClassifier: {"cv": 2},
    ExpertConsistencyClassifier: {"epsilon": 0.3, **NUISANCE},
    DoublyRobustClassifier: NUISANCE,
}


@pytest.fixture(params=BASELINES, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def probabilities(kind, estimator, table, **settings):
    baseline = kind(estimator, random_state=0, **{**BASELINES[kind], **settings})
    return baseline.fit(table, SAMPLE.y, decision_maker=SAMPLE.decision_maker).predict_proba(table)


def users_model(kind):
    return LinearRegression() if kind is DoublyRobustClassifier else LogisticRegression()


@pytest.mark.parametrize("estimator", [None, "linear"], ids=str)
def test_text_and_holes_are_taken(kind, estimator):
    table = SAMPLE.table.assign(nothing=None, empty=np.nan)
    table.loc[::9, "age"] = np.nan
    settings = {"nuisance": "logistic"} if "nuisance" in BASELINES[kind] else {}
    values = probabilities(kind, estimator, table, **settings)
    assert_allclose(values.sum(axis=1), 1.0)  # NaN would not sum to one


def test_text_is_worth_its_indicators(kind):
    settings = {"propensity": LogisticRegression()} if kind is IPWClassifier else {}
    first, second = (
        probabilities(kind, users_model(kind), table, **settings) for table in (SAMPLE.table, SAMPLE.one_hot)
    )
    assert_allclose(first, second, atol=1e-6)  # indicators of all jobs and none are collinear: least norm


@pytest.mark.parametrize("estimator", [None, "linear"], ids=str)
def test_names_of_categories_change_nothing(kind, estimator):
    first, second = (probabilities(kind, estimator, table) for table in (SAMPLE.table, renamed(SAMPLE.table)))
    assert_array_equal(first, second)


def test_new_categories_are_predicted(kind):
    baseline = kind(None, random_state=0, **BASELINES[kind])
    baseline.fit(SAMPLE.table, SAMPLE.y, decision_maker=SAMPLE.decision_maker)
    new, missing = (baseline.predict_proba(SAMPLE.table.assign(job=job)) for job in ("pilot", None))
    assert_array_equal(new, missing)  # to trees, what was never seen is missing


@pytest.mark.parametrize("estimator", [None, "linear", LogisticRegression()], ids=str)
def test_decision_makers_may_be_features_beside_text(estimator):
    values = probabilities(SelectedSampleClassifier, estimator, SAMPLE.table, use_decision_maker=True)
    assert_allclose(values.sum(axis=1), 1.0)
