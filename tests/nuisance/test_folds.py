"""Folds are a partition, keep groups together, and are checked before anything is fitted."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

from selective_labels import SelectiveLabels
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.folds import halves, make_folds


def outcomes(n_samples, seed=0):
    return np.random.default_rng(seed).integers(0, 4, n_samples)


@given(st.integers(20, 200), st.integers(2, 10), st.booleans(), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=50)
def test_folds_are_a_partition_and_keep_groups(n_samples, n_folds, grouped, seed):
    outcome = outcomes(n_samples, seed)
    groups = np.random.default_rng(seed).integers(0, 15, n_samples) if grouped else None
    if grouped and len(np.unique(groups)) < n_folds:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rare outcomes, tested below
        folds = make_folds(outcome, n_folds, groups=groups, random_state=seed)
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(n_samples))
    for train, test in folds:
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n_samples))
        if grouped:
            assert not np.intersect1d(groups[train], groups[test]).size  # repeated cases stay together


def test_every_fold_gets_its_share_of_every_outcome():
    outcome = np.repeat([0, 1, 2], [60, 30, 10])
    for _, test in make_folds(outcome, 5, random_state=0):
        assert_array_equal(np.bincount(outcome[test]), [12, 6, 2])


@pytest.mark.parametrize("groups", [None, np.arange(100) // 2], ids=["rows", "groups"])
def test_halves_are_disjoint_and_keep_groups(groups):
    first, second = halves(outcomes(100), groups, 0)
    assert_array_equal(np.sort(np.concatenate([first, second])), np.arange(100))
    if groups is not None:
        assert not np.intersect1d(groups[first], groups[second]).size


@pytest.mark.parametrize("groups", [None, np.arange(100) // 50], ids=["rows", "two groups"])
def test_halves_are_of_one_size(groups):
    assert [len(half) for half in halves(outcomes(100), groups, 0)] == [50, 50]


def test_folds_are_five_unless_told_otherwise():
    assert len(make_folds(outcomes(100))) == 5


def test_the_commonest_outcome_limits_the_number_of_folds_and_a_rare_one_does_not():
    assert len(make_folds(np.repeat([0, 1], [20, 2]), 4, random_state=0)) == 4
    assert len(make_folds(np.repeat([0, 1, 2], [3, 3, 2]), 4, random_state=0)) == 3


@pytest.mark.parametrize(
    "cv",
    [KFold(4), iter([(np.arange(50), np.arange(50, 100)), (list(range(50, 100)), list(range(50)))])],
    ids=["splitter", "iterator"],
)
def test_folds_of_the_user_are_used(cv):
    folds = make_folds(outcomes(100), cv)
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(100))


def test_a_splitter_gets_the_groups():
    groups = np.arange(100) % 10
    for train, test in make_folds(outcomes(100), GroupKFold(3), groups=groups):
        assert not np.intersect1d(groups[train], groups[test]).size


@pytest.mark.parametrize(
    ("cv", "groups", "message"),
    [
        (1, None, "at least two folds"),
        (ShuffleSplit(3, random_state=0), None, "every row exactly once"),
        ([(np.arange(100), np.arange(50)), (np.arange(50), np.arange(50, 100))], None, "overlap"),
        ([], None, "two or more folds"),
        (5, np.arange(100) % 3, "groups has only 3 different values, fewer than the 5 folds"),
        (
            [(np.arange(50), np.arange(50, 100)), (np.arange(50, 100), np.arange(50))],
            np.arange(100) % 7,
            "cv divides groups",
        ),
    ],
    ids=["one", "not a partition", "overlap", "none", "few groups", "divided groups"],
)
def test_bad_folds(cv, groups, message):
    with pytest.raises(ValueError, match=message):
        make_folds(outcomes(100), cv, groups=groups)


def test_an_outcome_in_one_fold_only_is_named():
    outcome = np.append(outcomes(99) % 2, 2)
    with pytest.warns(UserWarning, match=r"class 'rare' occurs in one fold only \(1 rows\)"):
        make_folds(outcome, 5, outcome_names=["the unlabeled case", "class 'common'", "class 'rare'"])


def test_a_rare_outcome_in_groups_is_named_once():
    outcome = np.append(outcomes(99) % 2, 2)
    with pytest.warns(UserWarning, match="one fold only") as caught:
        make_folds(outcome, 5, groups=np.arange(100) // 2, random_state=0)
    assert len(caught) == 1  # scikit-learn says the same without the name


class Untouchable(ClassifierMixin, BaseEstimator):
    """Must not be fitted."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("fitted before the folds were checked")

    def predict_proba(self, X):
        raise AssertionError


@pytest.mark.parametrize(
    ("cv", "groups", "message"),
    [
        (1, None, "at least two"),
        (ShuffleSplit(3, random_state=0), None, "exactly once"),
        (2, np.arange(100) % 2, "point mode cuts in two"),
    ],
)
def test_folds_are_checked_before_anything_is_fitted(cv, groups, message):
    X = np.random.default_rng(0).normal(size=(100, 2))
    data = SelectiveLabels.from_arrays(X, outcomes(100) - 1, decision_maker=np.arange(100) % 3, groups=groups)
    with pytest.raises(ValueError, match=message):
        cross_fit(data, Untouchable(), cv=cv, in_halves=True, random_state=0)


def test_a_rare_class_is_named_before_anything_is_fitted():
    X = np.random.default_rng(0).normal(size=(100, 2))
    y = np.array(["common", "other"], dtype=object)[np.arange(100) % 2]
    y[3] = "rare"
    data = SelectiveLabels.from_arrays(X, y, decision_maker=np.arange(100) % 3)
    with (
        pytest.warns(UserWarning, match="class 'rare' occurs in one fold only"),
        pytest.raises(AssertionError),
    ):
        cross_fit(data, Untouchable(), random_state=0)
