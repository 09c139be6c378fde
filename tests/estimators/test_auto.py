"""Auto mode: the plain learner unless something is known, and what it says of itself."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import selective_labels as sl
from selective_labels import ConstantRuleWarning, DiagnosticWarning, InputError
from selective_labels.assumptions import Informed, Instrument, Prevalence
from selective_labels.datasets import make_decision_makers
from selective_labels.estimators import tilt_mode
from tests.estimators.samples import fit, quick

pytestmark = pytest.mark.remembers

COST = [[0.0, 1.0], [3.0, 0.0]]


@pytest.fixture(scope="module")
def alike():
    """Refused cases are like accepted ones, and decision-makers differ much."""
    drawn = make_decision_makers(900, 2, random_state=2)
    rng = np.random.default_rng(0)
    accept = 0.5 + 0.06 * (drawn.decision_maker - 3.5)
    return drawn.X, np.where(rng.random(900) < accept, drawn.y_true, -1), drawn.decision_maker


@pytest.fixture(scope="module")
def strong():
    return make_decision_makers(4000, 2, additive=False, random_state=3)


def known(event, **given):
    return Instrument() & Informed(event, **given)


@pytest.mark.parametrize("cost", [None, COST, "balanced"], ids=["0-1", "cost", "balanced"])
@pytest.mark.parametrize(
    "estimator",
    ["linear", "plug-in", None, LogisticRegression(C=0.1), LinearSVC(), sl.LinearScore(0.01)],
    ids=str,
)
def test_the_fallback_is_the_plain_learner_bit_for_bit(alike, estimator, cost):
    X, y, maker = alike
    model = quick("auto", estimator, cost=cost).fit(X, y, decision_maker=maker)
    assert model.mode_ == "labeled-only"
    plain = sl.SelectedSampleClassifier(estimator, cost=cost, nuisance="logistic", random_state=0).fit(X, y)
    assert_array_equal(model.predict(X), plain.predict(X))
    if hasattr(plain, "predict_proba"):
        assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert "labeled rows alone" in model.mode_reason_
    assert float(model.instrument_part_) == model.instrument_part_.changed == 0.0


REPEATED = {"groups": np.arange(900) // 2, "strata": np.arange(900) // 2 % 3}
WEIGHTS = {"sample_weight": np.linspace(0.2, 3.0, 900)}


@pytest.mark.parametrize(
    "roles", [WEIGHTS, REPEATED, WEIGHTS | REPEATED], ids=["weights", "repeated cases", "both"]
)
@pytest.mark.parametrize(
    "estimator",
    ["linear", "plug-in", None, LogisticRegression(C=0.1), LinearSVC(), sl.NeuralScore(max_epochs=5)],
    ids=str,
)
def test_the_fallback_has_the_same_roles_and_columns(alike, estimator, roles):
    """With weights, cases that repeat, and where the learner takes them a category and a skewed column."""
    X, y, maker = alike
    if not isinstance(estimator, LogisticRegression | LinearSVC):
        amount = np.exp(2.0 * X[:, 0])
        X = pd.DataFrame(X).assign(amount=amount, kind=np.where(X[:, 1] > 0, "p", "q"))
        X.columns = X.columns.astype(str)
    model = quick("auto", estimator, cost=COST).fit(X, y, decision_maker=maker, **roles)
    assert model.mode_ == "labeled-only"
    plain = sl.SelectedSampleClassifier(estimator, cost=COST, nuisance="logistic", random_state=0)
    kept = {name: role for name, role in roles.items() if name != "strata"}
    plain.fit(X, y, **kept)
    assert_array_equal(model.predict(X), plain.predict(X))
    if hasattr(plain, "predict_proba"):
        assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("estimator", ["linear", "plug-in", None], ids=str)
def test_the_fallback_is_the_same_where_several_raters_share_a_label(estimator):
    drawn, rng, case = (
        make_decision_makers(450, 2, random_state=2),
        np.random.default_rng(0),
        np.arange(900) // 2,
    )
    maker = (drawn.decision_maker[case] + np.arange(900) % 2) % 8
    y = np.where(rng.random(900) < 0.5 + 0.06 * (maker - 3.5), drawn.y_true[case], -1)
    roles = {"decision_maker": maker, "groups": case, "strata": case % 3, "share_labels": True}
    data = sl.SelectiveLabels.from_arrays(drawn.X[case], y, **roles)
    model = quick("auto", estimator, cost=COST).fit(data)
    assert model.mode_ == "labeled-only"
    plain = sl.SelectedSampleClassifier(estimator, cost=COST, nuisance="logistic", random_state=0).fit(data)
    assert_array_equal(model.predict_proba(drawn.X), plain.predict_proba(drawn.X))
    assert_array_equal(model.predict(drawn.X), plain.predict(drawn.X))


def test_the_tilt_is_used_where_the_instrument_shows_a_difference(strong):
    model = fit(quick("auto"), strong)
    assert model.mode_ == "tilt"
    assert model.gate_open_
    asked = fit(quick("tilt"), strong)
    assert_array_equal(model.predict_proba(strong.X), asked.predict_proba(strong.X))
    part = model.instrument_part_
    others = sl.SelectedSampleClassifier("plug-in", nuisance="logistic", random_state=0).fit(
        strong.X, strong.y
    )
    assert 0.0 < part.changed < 0.5
    assert part.gain > 0.0
    assert_allclose(part.changed, np.mean(others.predict(strong.X) != model.predict(strong.X)), atol=0.03)
    assert "the labeled rows alone" in str(part)


def test_a_doubtful_instrument_is_not_used():
    """Who decides makes the label: each decision-maker accepts nearly all and sees one class only."""
    rng = np.random.default_rng(0)
    X, maker = rng.normal(size=(1500, 2)), rng.integers(0, 2, 1500)
    y = np.where(rng.random(1500) < 0.9, np.where(rng.random(1500) < 0.9, maker, 1 - maker), -1)
    with pytest.warns(DiagnosticWarning, match="SL401"):
        model = quick("auto", LogisticRegression()).fit(X, y, decision_maker=maker)
    assert model.mode_ == "labeled-only"
    assert "SL401" in model.mode_reason_
    assert_array_equal(model.predict(X), LogisticRegression().fit(X[y >= 0], y[y >= 0]).predict(X))
    with pytest.warns(DiagnosticWarning, match="SL401.*learned without the instrument"):
        model = quick("auto", LogisticRegression(), assumption=known(1)).fit(X, y, decision_maker=maker)
    assert model.mode_ == "stated-odds"
    control = sl.SelectedSampleClassifier(
        LogisticRegression(), refused_odds={1: np.exp(0.25)}, random_state=0
    )
    assert_array_equal(model.predict_proba(X), control.fit(X, y).predict_proba(X))


def test_cases_that_repeat_need_strata(strong):
    rows, cases = np.arange(4000), np.arange(4000) // 2
    how = {"decision_maker": strong.decision_maker, "groups": cases}
    model = quick("auto").fit(strong.X[rows // 2 * 2], strong.y, **how)
    assert model.mode_ == "labeled-only"
    assert "no strata are named" in model.mode_reason_


def test_one_decision_maker_is_no_instrument(alike):
    X, y, _ = alike
    one = np.zeros(len(y))
    for assumption, mode in ((None, "labeled-only"), (known(1), "stated-odds")):
        model = quick("auto", "linear", assumption=assumption).fit(X, y, decision_maker=one)
        assert model.mode_ == mode
        assert "one decision-maker only, and so no instrument" in model.mode_reason_


def test_all_labels_seen_leaves_nothing_to_decide(alike):
    X = alike[0]
    model = quick("auto", LinearSVC(), assumption=known(1)).fit(X, (X[:, 0] > 0).astype(int))
    assert model.mode_reason_ == "Learned from all rows: every label is seen."


def test_an_empty_confidence_set_is_no_reason_to_use_a_tilt(strong, monkeypatch):
    """Every odds ratio is rejected: this speaks against the model, not for a difference or a direction."""
    found = tilt_mode.fit_tilt

    def rejecting(*rows):
        tilt = found(*rows)
        refused = replace(tilt.refused, statistic=np.full_like(tilt.refused.statistic, 50.0))
        return replace(tilt, refused=refused, statistic_at_zero=50.0)

    monkeypatch.setattr(tilt_mode, "fit_tilt", rejecting)
    for assumption, mode in ((None, "labeled-only"), (known(1), "stated-odds")):
        model = fit(quick("auto", assumption=assumption, random_state=7), strong)
        assert model.mode_ == mode
        assert "no odds ratio" in model.mode_reason_


def test_a_learner_without_probabilities(alike, strong):
    """It has none where the instrument is not used, and cannot take a direction."""
    X, y, maker = alike
    model = quick("auto", LinearSVC()).fit(X, y, decision_maker=maker)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(InputError, match="estimator has no predict_proba, which a stated direction needs"):
        quick("auto", LinearSVC(), assumption=known(0)).fit(X, y, decision_maker=maker)
    assert fit(quick("auto", LinearSVC()), strong).predict_proba(X).shape == (900, 2)


def test_the_right_direction_keeps_to_its_side(strong):
    model = fit(quick("auto", assumption=known(0)), strong)
    assert model.mode_ == "tilt"
    supported = model.tilt_.tilts[model.tilt_.weights > 0]
    assert (supported[:, 0] <= 1e-9).all(), "the refused are of the first class more often"
    assert model.tilt_.mean[0] < 0.0
    assert "the labeled rows with the stated direction" in str(model.instrument_part_)
    assert model.instrument_part_.changed > 0.0


def test_the_wrong_direction_is_contradicted_and_no_gain_is_taken(strong):
    with pytest.warns(DiagnosticWarning, match="SL1006.*no gain is taken"):
        model = fit(quick("auto", assumption=known(1)), strong)
    assert model.mode_ == "labeled-only"
    assert "contradicts" in model.mode_reason_
    plain = sl.SelectedSampleClassifier("plug-in", nuisance="logistic", random_state=0).fit(
        strong.X, strong.y
    )
    assert_array_equal(model.predict(strong.X), plain.predict(strong.X))


def test_a_direction_is_a_direction_and_nothing_else(alike):
    X, y, maker = alike
    for assumption in (Instrument() & Prevalence(1, 0.4), known(1) & Prevalence(1, 0.4)):
        with pytest.raises(InputError, match="mode='auto' is Instrument"):
            quick("auto", assumption=assumption).fit(X, y, decision_maker=maker)
    with pytest.raises(InputError, match="a direction also with 'auto'"):
        quick("tilt", assumption=known(1)).fit(X, y, decision_maker=maker)


def test_a_constant_rule_is_said_to_be_constant(alike):
    X, y, maker = alike
    with pytest.warns(ConstantRuleWarning, match="for everybody") as auto:
        quick("auto", "linear", cost=[[0.0, 1.0], [500.0, 0.0]]).fit(X, y, decision_maker=maker)
    with pytest.warns(ConstantRuleWarning, match="for everybody") as labeled:
        sl.SelectedSampleClassifier("linear", cost=[[0.0, 1.0], [500.0, 0.0]]).fit(X, y)
    said = [each for each in (*auto, *labeled) if each.category is ConstantRuleWarning]
    assert [each.filename for each in said] == [__file__] * 2, "each points at the caller of fit"


def mostly_refused():
    """Most cases of the second class are refused by everybody."""
    rng = np.random.default_rng(0)
    X, maker = rng.normal(size=(3000, 1)), rng.integers(0, 4, 3000)
    truth = (rng.random(3000) < 0.55).astype(int)
    accept = np.where(truth == 1, 0.25, 0.6) + 0.01 * maker
    X[truth == 1] += 0.3
    return X, np.where(rng.random(3000) < accept, truth, -1), maker, truth


def test_partial_mode_says_once_which_class_it_gives_up():
    X, y, maker, _ = mostly_refused()
    with pytest.warns(UserWarning, match="the worst case gives the class up. assumption=") as said:
        quick("partial").fit(X, y, decision_maker=maker)
    (of_rule,) = [each for each in said if str(each.message).startswith("the rule predicts")]
    assert of_rule.filename == __file__, "it points at the caller of fit"


@pytest.mark.filterwarnings("error:the rule predicts")
@pytest.mark.filterwarnings("ignore:SL")  # how strong the instrument is does not matter here
def test_where_no_worst_case_is_guarded_against_no_class_is_given_up():
    X, y, maker, truth = mostly_refused()
    for mode in ("point", "tilt", "auto"):
        quick(mode).fit(X, y, decision_maker=maker)
    quick("partial", cost="balanced").fit(X, y, decision_maker=maker)
    quick("partial").fit(X, truth, decision_maker=maker)  # every label is seen
    sl.SelectedSampleClassifier("linear").fit(X, y)


def test_other_learners_are_not_warned_of(strong):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(quick("partial"), strong)
