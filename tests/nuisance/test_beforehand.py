"""That work will take long is said once, before anything is fitted, wherever models are fitted."""

import warnings

import numpy as np
import pytest

import selective_labels as sl
from selective_labels.datasets import make_decision_makers
from selective_labels.nuisance.folds import make_folds
from selective_labels.nuisance.model_selection import Fitter

WORDS = "300 rows with 4 columns and 2 classes: models of decision and label will take about "


@pytest.fixture
def sample():
    return make_decision_makers(300, n_classes=2, n_decision_makers=4, random_state=0)


@pytest.fixture
def everything_is_long(monkeypatch):
    monkeypatch.setattr("selective_labels.nuisance.cross_fit.SAID_FROM_SECONDS", 0.0)
    monkeypatch.setattr("selective_labels.report.assess.SAID_FROM", 0.0)  # a report says it sooner


@pytest.fixture
def no_fits(monkeypatch):
    """Whoever fits a model is stopped."""

    class FittedError(Exception):
        pass

    def fits(*_, **__):
        raise FittedError

    monkeypatch.setattr(Fitter, "fits", fits)
    return FittedError


def evaluate(sample, **settings):
    guess = (sample.X[:, 0] > 0).astype(int)
    how = {"nuisance": "logistic", "cv": 2, "n_jobs": 1, "random_state": 0} | settings
    return sl.evaluate(guess, sample.X, sample.y, decision_maker=sample.decision_maker, **how)


def fit(sample, **settings):
    clf = sl.UCLClassifier(
        "partial", "linear", nuisance="logistic", cv=2, n_jobs=1, random_state=0, **settings
    )
    return clf.fit(sample.X, sample.y, decision_maker=sample.decision_maker)


def diagnose(sample):
    return sl.diagnose(sample.X, sample.y, decision_maker=sample.decision_maker, cv=2, random_state=0)


def assess(sample):
    return sl.assess(
        sample.X, sample.y, decision_maker=sample.decision_maker, nuisance="logistic", cv=2, random_state=0
    )


@pytest.mark.parametrize("entry", [evaluate, fit, diagnose, assess])
def test_it_is_said_before_anything_is_fitted(entry, sample, everything_is_long, no_fits):
    with pytest.warns(sl.LargeWorkWarning, match=WORDS), pytest.raises(no_fits):
        entry(sample)


@pytest.mark.parametrize("settings", [{}, {"n_repeats": 3}, {"cv": None}])
def test_it_is_said_once(sample, everything_is_long, settings):
    if "cv" in settings:
        settings = {"cv": make_folds(sample.y + 1, 2, random_state=0)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate(sample, **settings)
    assert [each.category for each in caught].count(sl.LargeWorkWarning) == 1


def test_a_fit_says_it_once_and_one_that_is_remembered_not_at_all(sample, everything_is_long, tmp_path):
    for expected in (1, 0):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit(sample, memory=str(tmp_path))
        assert [each.category for each in caught].count(sl.LargeWorkWarning) == expected


def test_probabilities_that_are_given_take_no_time(sample, everything_is_long):
    evaluate(sample, nuisance=lambda X: np.full((len(X), 4, 3), 1 / 3), propensity="shares")


def test_numbers_do_not_move_with_what_is_said(sample, monkeypatch):
    quiet = evaluate(sample)
    monkeypatch.setattr("selective_labels.nuisance.cross_fit.SAID_FROM_SECONDS", 0.0)
    with pytest.warns(sl.LargeWorkWarning):
        said = evaluate(sample)
    assert (said.lower, said.upper) == (quiet.lower, quiet.upper)
