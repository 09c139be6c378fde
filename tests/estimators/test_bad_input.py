"""UCLClassifier on bad and awkward input: one clear sentence, or a defined behaviour."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from tests.estimators.samples import fit, make_sample, quick

MODES = ["partial", "point"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "both"}, "mode='both' is not one of 'partial', 'point'"),
        ({"instrument": "size"}, "instrument='size' is not one of"),
        (
            {"estimator": "forest"},
            "estimator='forest' is not one of 'linear', 'plug-in', 'neural' or a classifier",
        ),
        ({"estimator": LinearRegression()}, "not a scikit-learn classifier"),
        ({"estimator": 3}, "not a scikit-learn classifier"),
        ({"estimator": KNeighborsClassifier()}, "takes no sample"),
        ({"cost": np.eye(2)}, r"cost has shape \(2, 2\); it must be \(3, 3\)"),
        ({"cost": np.full((3, 3), np.nan)}, "finite"),
        ({"nuisance": "forest"}, "nuisance='forest' is not one of"),
        ({"nuisance": lambda X: np.ones((len(X), 4, 3))}, "the unlabeled class first"),
        ({"cv": 1}, "at least two folds"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        fit(quick(**settings), make_sample(100))


def test_the_numeric_instrument_needs_numbers():
    sample = make_sample(100)
    makers = [f"maker {code}" for code in sample.decision_maker]
    with pytest.raises(ValueError, match="'numeric' needs a decision_maker of numbers"):
        fit(quick("point", instrument="numeric"), sample, decision_maker=makers)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.full((100, 2), np.inf), "infinity"),
        (np.full((100, 2), "text"), "numeric"),
        (pd.DataFrame({"a": [{}] * 100}), "column 'a' whose values are neither numbers, text nor dates"),
        (pd.DataFrame(np.zeros((100, 2)), columns=["a", "a"]), "several columns named 'a'"),
        (np.zeros((99, 2)), "y has 100 rows and X has 99"),
        (np.zeros(100), "Expected 2D array"),
    ],
    ids=["infinite", "text", "objects", "duplicated", "lengths", "one column"],
)
def test_bad_features(X, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(X, np.arange(100) % 3 - 1, decision_maker=np.arange(100) % 4)


@pytest.mark.parametrize(
    ("y", "roles", "message"),
    [
        (np.full(100, -1), {}, "no label at all"),
        (np.arange(100) % 2 - 1, {}, "only one class"),
        (np.arange(100) % 3 - 1, {"decision_maker": None}, "decision_maker is missing: y has holes"),
        (np.where(np.arange(100) < 2, np.nan, 1.0), {"decision": np.ones(100)}, r"in 2 rows \(0, 1\)"),
        (np.arange(100) % 3 - 1, {"decision_maker": np.arange(3)}, "decision_maker has 3 rows and X has 100"),
        (None, {}, "requires y"),
    ],
)
def test_bad_labels(y, roles, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(make_sample(100).X, y, **{"decision_maker": np.arange(100) % 4, **roles})


@pytest.mark.parametrize(
    ("estimator", "nuisance"), [(None, "logistic"), ("plug-in", "boosting"), ("linear", "quadratic")]
)
@pytest.mark.parametrize("mode", MODES)
def test_missing_and_constant_features(estimator, nuisance, mode):
    sample = make_sample(300)
    X = np.column_stack([sample.X, np.ones(300)])
    X[::5, 0] = np.nan
    fitted = quick(mode, estimator, nuisance=nuisance).fit(X, sample.y, decision_maker=sample.decision_maker)
    assert np.isfinite(fitted.decision_function(X)).all()
    assert np.mean(fitted.predict(X) == sample.y_true) > 0.4  # better than one class for all


@pytest.mark.filterwarnings("ignore:the rule predicts")  # as it should, and is what is asked for here
@pytest.mark.parametrize("estimator", [None, "plug-in", "linear"], ids=str)
def test_constant_features_only(estimator):
    sample = make_sample(300)
    fitted = quick(estimator=estimator).fit(np.ones((300, 2)), sample.y, decision_maker=sample.decision_maker)
    assert len(np.unique(fitted.predict(np.ones((300, 2))))) == 1


def test_missing_features_reach_an_estimator_that_refuses_them():
    sample = make_sample(100)
    X = np.where(sample.X > 1, np.nan, sample.X)
    with pytest.raises(ValueError, match="NaN"):
        quick(estimator=LogisticRegression()).fit(X, sample.y, decision_maker=sample.decision_maker)
