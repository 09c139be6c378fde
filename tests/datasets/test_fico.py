import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from selective_labels.datasets import load_heloc, make_fico, make_selective

HELOC = Path(__file__).parents[3] / "shared" / "data" / "heloc_fico" / "heloc_dataset_v1.csv.gz"
needs_heloc = pytest.mark.skipif(
    not HELOC.exists(), reason="file: FICO's HELOC file is not beside the project"
)


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(0)
    X = pd.DataFrame(generator.normal(size=(2000, 3)), columns=["income", "age", "risk"])
    noise = generator.logistic(size=2000)
    return X, np.where(X["income"] + X["risk"] + noise > 0, "repaid", "failed")


@pytest.mark.parametrize("selection", ["nucem", "uc"])
@pytest.mark.parametrize("mirrored", [False, True])
def test_decision_probabilities_are_the_papers(table, selection, mirrored):
    X, y = table
    hidden = np.where(y == "repaid", 0.8, -0.5)
    sample = make_selective(
        X,
        y,
        selection=selection,
        strength=0.7,
        score="risk",
        hidden=hidden,
        n_decision_makers=3,
        mirrored=mirrored,
        random_state=0,
    )
    score = ((X["risk"] - X["risk"].mean()) / X["risk"].std(ddof=0)).to_numpy()
    u = -hidden if mirrored else hidden
    for column, z in enumerate((1, 2, 3)):
        if selection == "uc":
            expected = expit(0.7 * u + 0.3 * (1 + z) * score)
        else:
            expected = 0.7 * expit(u) + 0.3 * expit((1 + z) * score)
        assert_allclose(sample.oracle.decision_probabilities[:, column], expected, rtol=1e-12)


def test_decisions_follow_their_probabilities(table):
    sample = make_selective(*table, n_decision_makers=4, random_state=0)
    own = sample.oracle.decision_probabilities[np.arange(2000), sample.decision_maker - 1]
    for z in (1, 2, 3, 4):
        rows = sample.decision_maker == z
        spread = np.sqrt((own[rows] * (1 - own[rows])).sum())
        # Five standard errors, false alarm 5.7e-7 for each decision-maker.
        assert abs((sample.decision[rows] - own[rows]).sum()) < 5 * spread


def test_features_and_labels_stay_as_they_are(table):
    X, y = table
    sample = make_selective(X, y, random_state=0)
    assert sample.X is X, "a frame stays the same frame"
    assert_array_equal(np.array(["failed", "repaid"])[sample.y_true], y)  # codes follow the sorted classes
    assert_array_equal(sample.y, np.where(sample.decision == 1, sample.y_true, -1))
    assert set(sample.decision_maker) == set(range(1, 11))


def test_default_selection_is_confounded_in_the_stated_direction(table):
    X, y = table
    plain, mirrored = (make_selective(X, y, strength=0.9, mirrored=m, random_state=1) for m in (False, True))
    assert_array_equal(plain.decision_maker, mirrored.decision_maker)  # only the decisions differ
    # Compare within tenths of the features' own prediction, so that only the hidden part can act.
    index = pd.qcut(X["income"] + X["risk"], 10, labels=False).to_numpy()

    def favour(sample):
        labeled, rest = (
            np.array([sample.y_true[(sample.decision == d) & (index == b)].mean() for b in range(10)])
            for d in (1, 0)
        )
        return (labeled - rest).mean()

    assert favour(plain) > 0.1, "cases with the last class are labeled more often than they look"
    assert favour(mirrored) < -0.1, "and less often when mirrored"


def test_three_classes_work():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 2))
    sample = make_selective(X, generator.choice(["a", "b", "c"], 300), random_state=0)
    assert set(sample.y_true) == {0, 1, 2}


@pytest.mark.parametrize(
    "name", ["probabilities", "joint", "lower", "bayes_accuracy", "minimax_accuracy", "selected_accuracy"]
)
def test_oracle_does_not_pretend_to_know(table, name):
    oracle = make_selective(*table, score="risk", hidden=np.zeros(2000), random_state=0).oracle
    with pytest.raises(AttributeError, match=f"{name}.*the law of the labels is not known"):
        getattr(oracle, name)


def test_oracle_survives_pickling(table):
    oracle = make_selective(*table, score="risk", hidden=np.zeros(2000), random_state=0).oracle
    copy = pickle.loads(pickle.dumps(oracle))
    assert_array_equal(copy.decision_probabilities, oracle.decision_probabilities)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.array(["a", "b"])}, "one label for each of the 2000 rows"),
        ({"y": np.array([None, *["a"] * 1999], dtype=object)}, "missing labels"),
        ({"y": np.zeros(2000)}, "two classes"),
        ({"score": np.zeros(3)}, "score must be 2000 finite numbers"),
        ({"hidden": np.full(2000, np.nan)}, "hidden must be 2000 finite numbers"),
        ({"selection": "other"}, "selection"),
        ({"strength": -0.1}, "strength"),
        ({"n_decision_makers": 0}, "n_decision_makers"),
    ],
)
def test_bad_arguments_are_named(table, change, message):
    X, y = table
    arguments = {"X": X, "y": y, "score": "risk", "hidden": np.zeros(2000)} | change
    with pytest.raises(ValueError, match=message):
        make_selective(**arguments)


@pytest.fixture(scope="module")
def small_heloc(tmp_path_factory):
    """A file of HELOC's form, small enough for a forest."""
    generator = np.random.default_rng(0)
    risk = generator.integers(33, 95, 600)
    frame = pd.DataFrame(
        {
            "RiskPerformance": np.where(risk + generator.normal(0, 20, 600) > 65, "Good", "Bad"),
            "ExternalRiskEstimate": np.where(generator.random(600) < 0.05, -9, risk),
            "NumTotalTrades": generator.choice([-8, -7, 3, 9], 600),
        }
    )
    folder = tmp_path_factory.mktemp("heloc")
    frame.to_csv(folder / "heloc.csv", index=False)
    frame.to_csv(folder / "heloc.csv.gz", index=False)
    return folder, frame


def test_loader_reads_both_forms_and_keeps_special_values(small_heloc):
    folder, frame = small_heloc
    X, y = load_heloc(folder / "heloc.csv")
    packed, packed_y = load_heloc(str(folder / "heloc.csv.gz"))
    pd.testing.assert_frame_equal(X, frame.drop(columns="RiskPerformance"))
    pd.testing.assert_frame_equal(X, packed)
    assert_array_equal(y, packed_y)
    assert_array_equal(y == 1, frame["RiskPerformance"] == "Good")


def test_loader_turns_special_values_into_holes_when_told(small_heloc):
    folder, frame = small_heloc
    X, _ = load_heloc(folder / "heloc.csv", special_as_missing=True)
    special = frame.drop(columns="RiskPerformance").isin([-7, -8, -9])
    assert_array_equal(X.isna(), special)


def test_loader_refuses_another_table(tmp_path):
    pd.DataFrame({"RiskPerformance": ["Good"], "age": [3]}).to_csv(tmp_path / "other.csv", index=False)
    with pytest.raises(ValueError, match="no column ExternalRiskEstimate"):
        load_heloc(tmp_path / "other.csv")
    pd.DataFrame({"RiskPerformance": ["Fair"], "ExternalRiskEstimate": [3]}).to_csv(
        tmp_path / "other.csv", index=False
    )
    with pytest.raises(ValueError, match="'Fair'"):
        load_heloc(tmp_path / "other.csv")


@pytest.mark.parametrize("hidden", ["boosting", "forest", "released"])
@pytest.mark.parametrize("selection", ["nucem", "uc"])
def test_fico_is_reproducible_and_mirrors(small_heloc, hidden, selection):
    path = small_heloc[0] / "heloc.csv"
    arguments = {"selection": selection, "alpha": 0.9, "hidden": hidden, "random_state": 5}
    sample, again = make_fico(path, **arguments), make_fico(path, **arguments)
    mirrored = make_fico(path, mirrored=True, **arguments)
    assert_array_equal(sample.decision, again.decision)
    assert_array_equal(sample.decision_maker, mirrored.decision_maker)
    gain = sample.oracle.decision_probabilities - mirrored.oracle.decision_probabilities
    assert gain[sample.y_true == 1].mean() > 0, "selection favours repaid loans"
    assert gain[sample.y_true == 0].mean() < 0, "and, mirrored, the others"
    if hidden != "boosting":  # a regression by boosting can predict less than zero or more than one
        assert gain[sample.y_true == 1].min() >= 0, "predictions in [0, 1] have residuals of one sign"
        assert gain[sample.y_true == 0].max() <= 0, "for each label"
    assert (gain != 0).mean() > 0.5, "and does so for most loans"


def test_fico_refuses_another_hidden_variable(small_heloc):
    with pytest.raises(ValueError, match="hidden must be one of boosting, forest, released"):
        make_fico(small_heloc[0] / "heloc.csv", hidden="svm")


@needs_heloc
def test_heloc_itself():
    X, y = load_heloc(HELOC)
    assert X.shape == (10459, 23)
    assert y.sum() == 5000, "47.8 % repaid"
    assert (X == -9).all(axis=1).sum() == 588, "rows without any bureau record"


@needs_heloc
def test_fico_on_heloc_selects_in_both_directions():
    plain, mirrored = (
        make_fico(HELOC, "uc", alpha=0.7, hidden="released", mirrored=m, random_state=0)
        for m in (False, True)
    )
    share = plain.y_true.mean()
    assert plain.y_true[plain.decision == 1].mean() > share + 0.1, "as published, favours repaid loans"
    assert mirrored.y_true[mirrored.decision == 1].mean() < plain.y_true[plain.decision == 1].mean() - 0.1, (
        "mirrored, selects fewer of them"
    )
