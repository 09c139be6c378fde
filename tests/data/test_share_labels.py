"""Labels shared within cases: who sees what, against brute force; and what every entry makes of it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import selective_labels as sl
from selective_labels import InputError, SelectiveLabels
from selective_labels.data.roles import HOLE
from tests.panel_designs import make_panels

FITTED = {"nuisance": "logistic", "cv": 2, "random_state": 0}
QUICK = FITTED | {"propensity": "shares"}


@st.composite
def tables(draw):
    """Rows of a few cases; labels belong to cases, and at least one is seen."""
    n_rows = draw(st.integers(2, 14))
    numbers = st.lists(st.integers(0, 4), min_size=n_rows, max_size=n_rows)
    case, maker = np.array(draw(numbers)), np.array(draw(numbers))
    label = np.array(draw(st.lists(st.integers(0, 2), min_size=5, max_size=5)))
    decision = np.array(draw(st.lists(st.integers(0, 1), min_size=n_rows, max_size=n_rows)))
    decision[draw(st.integers(0, n_rows - 1))] = 1
    return case, maker, decision, label[case]


@given(tables())
@settings(max_examples=200, deadline=None)
def test_every_row_has_label_decision_and_panel_of_its_case(table):
    case, maker, decision, y = table
    data = SelectiveLabels.from_arrays(
        None, y, decision=decision, decision_maker=maker, groups=case, share_labels=True
    )
    pairs = list(
        zip(data.panels.panel.tolist(), data.panels.people[data.panels.member].tolist(), strict=True)
    )
    for row in range(len(y)):
        rows = [other for other in range(len(y)) if case[other] == case[row]]
        anyone = any(decision[other] for other in rows)
        assert data.decision[row] == anyone
        assert (data.y[row] == HOLE) == (not anyone)
        if anyone:
            assert data.classes[data.y[row]] == y[row], "the label is that of the case"
        code = data.decision_maker_codes[row]
        assert {member for panel, member in pairs if panel == code} == {maker[other] for other in rows}
        assert data.own_decision[row] == decision[row]
    assert len(set(data.decision_makers.tolist())) == data.n_decision_makers, "a name for every panel"


@given(tables(), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_unseen_labels_are_never_read(table, seed):
    case, maker, decision, y = table
    garbage = np.where(decision == 1, y, np.random.default_rng(seed).integers(-1, 9, len(y)))
    roles = {"decision": decision, "decision_maker": maker, "groups": case, "share_labels": True}
    one, other = (SelectiveLabels.from_arrays(None, each, **roles) for each in (y, garbage))
    assert_array_equal(one.y, other.y)
    assert_array_equal(one.classes, other.classes)


def test_parts_are_as_if_given_alone():
    sample = make_panels(60, 0)
    data = SelectiveLabels.from_arrays(sample.X, sample.y, **sample.roles)
    _, part = data.split(0.5, random_state=0)
    rows = np.flatnonzero(np.isin(data.features[:, 0], part.features[:, 0]))
    roles = {name: value if value is True else value[rows] for name, value in sample.roles.items()}
    alone = SelectiveLabels.from_arrays(sample.X[rows], sample.y[rows], **roles)
    for name in ("y", "decision", "decision_maker_codes", "own_decision", "own_decision_maker_codes"):
        assert_array_equal(getattr(part, name), getattr(alone, name))
    for name in ("panel", "member", "people"):
        assert_array_equal(getattr(part.panels, name), getattr(alone.panels, name))
    assert_array_equal(part.decision_makers, alone.decision_makers)


def test_nothing_is_shared_unless_asked():
    sample = make_panels(60, 0)
    data = SelectiveLabels.from_arrays(sample.X, sample.y, **(sample.roles | {"share_labels": False}))
    assert_array_equal(data.decision, sample.decision)
    assert data.panels is None
    assert "share_labels=True" in repr(data), "but it is suggested"


def note(labels, makers, decisions=(1, 1, 0)):
    roles = {"decision_maker": makers, "decision": list(decisions), "groups": [1, 1, 1]}
    return "share_labels" in repr(SelectiveLabels.from_arrays(None, labels, **roles))


def test_sharing_is_suggested_where_labels_agree_before_several_people():
    assert note(["a", "a", "b"], [1, 2, 3])
    assert not note(["a", "b", "b"], [1, 2, 3]), "labels differ: they are not of the case"
    assert not note(["a", "a", "b"], [1, 1, 1]), "one decision-maker saw it"
    assert not note(["a", "a", "a"], [1, 2, 3], (1, 1, 1)), "no row would gain a label"
    assert not note(["a", "a", "a"], [1, 2, 3], (1, 0, 0)), "no two labels that could agree"


def refusal(**changed):
    given = {
        "X": None,
        "y": ["no", "yes", "no"],
        "decision_maker": ["a", "b", "a"],
        "groups": ["c1", "c1", "c2"],
        "share_labels": True,
    }
    with pytest.raises(InputError) as error:
        SelectiveLabels.from_arrays(**(given | changed))
    return str(error.value)


def test_contradictions_are_named():
    text = refusal()
    assert "contradict each other in 1 of 2 cases ('c1' has 'no' and 'yes')" in text
    assert text.startswith("groups ")


def test_other_refusals():
    agreeing = {"y": ["no", None, "yes"]}
    assert refusal(groups=None) == "share_labels=True needs groups: which rows are one case."
    assert "the first is 'c1'" in refusal(**agreeing, strata=[1, 2, 1])
    assert "leave one of the two out" in refusal(**agreeing, assignment=np.full((3, 2), 0.5))


def shared(n_cases=300, seed=0, **settings):
    sample = make_panels(n_cases, seed, **settings)
    return sample, SelectiveLabels.from_arrays(sample.X, sample.y, **sample.roles)


def test_bounds_without_an_instrument_against_brute_force():
    sample, data = shared()
    rule = (sample.X[:, 0] > 0).astype(int)
    seen = pd.Series(sample.decision).groupby(sample.case).transform("max").to_numpy() == 1
    result = sl.evaluate(rule, data, assumption="none", **QUICK)
    right = np.mean(seen & (rule == sample.y))
    assert_allclose([result.lower, result.upper], [right, right + np.mean(~seen)])
    assert result.sample.n_clusters == 300, "cases are what is independent"
    assert result.sample.n_panels == data.n_decision_makers


def test_panels_of_one_are_decision_makers():
    """One row for each case: sharing changes no number."""
    sample, data = shared(400, sizes=(1,))
    without = SelectiveLabels.from_arrays(sample.X, sample.y, **(sample.roles | {"share_labels": False}))
    rule = (sample.X[:, 0] > 0).astype(int)
    one, other = (sl.evaluate(rule, each, **QUICK) for each in (data, without))
    assert (one.lower, one.upper, one.ci_lower) == (other.lower, other.upper, other.ci_lower)


def test_results_say_what_the_instrument_is():
    sample, data = shared()
    result = sl.evaluate((sample.X[:, 0] > 0).astype(int), data, **QUICK)
    assert "the panel that saw it" in repr(result)
    assert "how many, must be independent of the label" in repr(result)
    assert f"{len(sample.y):,} rows" in repr(result)


def test_comparisons_and_curves():
    sample, data = shared()
    rule = (sample.X[:, 0] > 0).astype(int)
    assert sl.compare(rule, 1 - rule, data, **QUICK).sample.n_clusters == 300
    curve = sl.threshold_curve(1 / (1 + np.exp(-sample.X[:, 0])), data, **QUICK)
    assert "300 clusters" in repr(curve)


def test_people_are_judged_by_their_own_decisions():
    """Not by the panel's: one of three accepting does not make three acceptances."""
    sample, data = shared()
    contest = sl.compare(sample.X[:, 0], "human", data, assumption="none", **QUICK)
    seen = pd.Series(sample.decision).groupby(sample.case).transform("max").to_numpy() == 1
    n_accepted = sample.decision.sum()
    policy = np.zeros(len(sample.y))
    order = np.argsort(sample.X[:, 0], kind="stable")
    # Rows of one case tie: the case at the cut-off is accepted in part.
    policy[order[:n_accepted]] = 1
    cut = sample.X[order[n_accepted - 1], 0]
    ties = sample.X[:, 0] == cut
    policy[ties] = policy[ties].mean()
    failed = np.mean(sample.decision * sample.y)
    low = np.mean(policy * seen * sample.y) - failed
    assert_allclose([contest.lower, contest.upper], [low, low + np.mean(policy * ~seen)])


def test_rows_of_a_case_are_not_independent():
    sample, data = shared()
    with pytest.raises(InputError, match="the rows of a case have one label"):
        sl.evaluate((sample.X[:, 0] > 0).astype(int), data, cluster="none", **QUICK)


def test_checks_take_every_case_once():
    _, data = shared(1200)
    diagnosis = sl.diagnose(data, random_state=0)
    assert diagnosis.n_samples == 1200
    assert diagnosis.n_decision_makers == 2, "bands of 500 cases or more"
    assert f"{data.n_decision_makers:,} panels of 12 people, in 2 bands" in repr(diagnosis)
    assert diagnosis["SL101"].status == "ok", "panels differ in leniency"


@pytest.mark.parametrize("mode", ["partial", "point"])
def test_training_uses_shared_labels(mode):
    sample, data = shared(1500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = sl.UCLClassifier(mode, "plug-in", **FITTED).fit(data)
        apart = sl.UCLClassifier(mode, "plug-in", **FITTED).fit(
            SelectiveLabels.from_arrays(sample.X, sample.y, **(sample.roles | {"share_labels": False}))
        )
    assert model.nuisance_report_.banded
    width, width_apart = (np.mean(each.predict_bounds(sample.X).width) for each in (model, apart))
    assert width < width_apart, "more labels, narrower bounds"
    with pytest.raises(InputError, match="use evaluate"):
        model.score(data)


def test_baselines_learn_from_shared_labels():
    sample, data = shared()
    model = sl.SelectedSampleClassifier("linear", random_state=0).fit(data)
    assert model.predict(sample.X).shape == sample.y.shape
    with pytest.raises(InputError, match="use_decision_maker"):
        sl.IPWClassifier("linear", use_decision_maker=True, cv=2, random_state=0).fit(data)


def test_methods_of_single_decision_makers_refuse():
    sample, data = shared()
    for method in (sl.contraction, sl.quintile_contraction, sl.extrapolate):
        with pytest.raises(InputError, match="follows single decision-makers"):
            method(sample.X[:, 0], data)
    with pytest.raises(InputError, match="panels decide"):
        sl.UCLClassifier(instrument="numeric", **FITTED).fit(data)


def test_a_stratum_with_one_panel_is_refused_by_that_name():
    sample = make_panels(100, 0, sizes=(12,))
    data = SelectiveLabels.from_arrays(sample.X, sample.y, strata=sample.case % 2, **sample.roles)
    with pytest.warns(UserWarning, match="one panel saw all cases"):
        sl.evaluate(np.zeros(len(data), dtype=int), data, **QUICK)
    mixed = make_panels(200, 0, sizes=(11, 12))
    strata = (np.bincount(mixed.case) == 12)[mixed.case]
    data = SelectiveLabels.from_arrays(mixed.X, mixed.y, strata=strata, **mixed.roles)
    with pytest.raises(InputError, match="1 of 2 strata have one panel only"):
        sl.evaluate(np.zeros(len(data), dtype=int), data, **QUICK)


def test_tables_share_too():
    frame = pd.DataFrame(
        {"age": [30, 30, 41], "judge": ["a", "b", "a"], "failed": ["no", None, "yes"], "person": [1, 1, 2]}
    )
    roles = {"label": "failed", "decision_maker": "judge", "groups": "person", "share_labels": True}
    data = SelectiveLabels.from_frame(frame, **roles)
    assert_array_equal(data.y, [0, 0, 1])
    assert data.decision_makers.tolist() == ["'a'", "'a' + 'b'"]
