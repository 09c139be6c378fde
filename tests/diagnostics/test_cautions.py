"""What results say unasked of the assumptions that they rest on."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import selective_labels as sl
from selective_labels._errors import DiagnosticWarning
from selective_labels.assumptions import Informed, Instrument, NoAssumption, Nucem, Refused, Unconfounded
from selective_labels.diagnostics import combinations
from selective_labels.diagnostics.cautions import cautions_of, doubts_of_instrument
from selective_labels.nuisance.cross_fit import FittingSettings
from selective_labels.nuisance.scores import cross_fit_scores
from selective_labels.report.model_card import model_card
from tests.diagnostics import designs
from tests.diagnostics.contexts import seed

QUICK = {"nuisance": "logistic", "random_state": 0}


def data_of(drawn):
    return sl.SelectiveLabels.from_arrays(**drawn.arguments())


@pytest.fixture(scope="module")
def changed():
    """Who decides changes the outcome; SL501 alone rejects."""
    return data_of(designs.who_decides_changes_the_outcome(4000, 8, seed(), change=0.6))


def fitted(data):
    return FittingSettings("logistic", cv=2, seed=0).cross_fit(data, seed=0)


def test_a_doubt_stands_with_every_assumption_that_uses_who_decided(changed):
    chosen = [Instrument(), Nucem(), Instrument() & Informed(1), NoAssumption()]
    found = cautions_of(changed, fitted(changed), chosen, seed=0)
    assert set(found) == {"instrument", "nucem", "instrument & informed(1)"}
    (doubt,) = found["instrument"]
    assert "doubtful here (SL501)" in doubt
    assert "rank cases differently" in doubt


def test_a_valid_design_is_left_alone():
    """Five samples at .0014 and .01: an alarm in any has probability below .07; the seeds are fixed."""
    chosen = [Instrument(), Instrument() & Informed(1)]
    for number in range(5):
        data = data_of(designs.plain(1500, 8, seed(number), n_classes=2, mirrored=True))
        assert cautions_of(data, fitted(data), chosen, seed=0) == {}


def by_hidden_reasons(strength, number):
    """Labels and decisions share a reason of this strength that no feature shows."""
    random = np.random.default_rng(seed(number))
    X, hidden, maker = random.normal(size=(6000, 2)), random.normal(size=6000), random.integers(0, 8, 6000)
    label = random.random(6000) < expit(X[:, 0] + strength * hidden)
    seen = random.random(6000) < expit(np.linspace(-1.5, 1.5, 8)[maker] + X[:, 1] - strength * hidden)
    return sl.SelectiveLabels.from_arrays(X, np.where(seen, label, -1), decision_maker=maker)


def test_hidden_reasons_are_said_where_they_are_assumed_away():
    """Three samples at .01 without them: an alarm in any has probability .03; the seeds are fixed."""
    chosen = [Unconfounded(), NoAssumption()]
    for number in range(3):
        data = by_hidden_reasons(0.0, number)
        assert cautions_of(data, fitted(data), chosen, seed=0) == {}
    data = by_hidden_reasons(1.5, 0)
    found = cautions_of(data, fitted(data), chosen, seed=0)
    assert set(found) == {"unconfounded"}
    assert "not to be trusted here (SL901)" in found["unconfounded"][0]


def test_bounds_that_cross_are_said_also_where_the_mean_does_not():
    data = by_hidden_reasons(1.0, 0)
    fit = fitted(data)
    wrong, right = (Instrument() & Refused(1, at_least=each) for each in (6.0, 1.0))
    scores = cross_fit_scores(fit, data, [Instrument(), wrong, right])
    found = cautions_of(data, fit, [wrong, right], scores, seed=0)
    assert "doubtful (SL1001)" in found[wrong.name][-1]
    assert right.name not in found


def test_case_mix_is_no_doubt(changed):
    """Where assignment is modelled or given, decision-makers may show different labels."""
    fit = fitted(changed)
    modelled = replace(fit.report.assignment, chosen="logistic")
    report = replace(fit.report, assignment=modelled)
    assert [each.code for each in doubts_of_instrument(changed, fit)] == ["SL501"]
    assert doubts_of_instrument(changed, replace(fit, report=report)) == []


@pytest.mark.parametrize("assumption", [Unconfounded(), Instrument() & Informed(1)])
def test_cases_that_nobody_accepts_are_said_where_an_assumption_extrapolates(assumption):
    data = data_of(designs.never_accepted(2500, 6, seed()))
    found = cautions_of(data, fitted(data), [Instrument(), assumption], seed=0)
    assert set(found) == {assumption.name}
    assert any("SL303" in each for each in found[assumption.name])


def test_results_say_it_and_promise_nothing_beside_it(changed):
    rule = (changed.X[:, 0] > 0).astype(int)
    results = sl.evaluate(rule, changed, assumption=["none", "instrument"], **QUICK)
    assert not results[0].sample.cautions
    assert "SL501" in results[1].sample.cautions[0]
    compared = sl.compare(rule, 1 - rule, changed, **QUICK)
    curve = sl.threshold_curve(changed.X[:, 0], changed, thresholds=[0.0], **QUICK)
    policies = sl.policy_curve(changed.X[:, 0], changed, **QUICK)
    relaxed = sl.sensitivity_curve(rule, changed, parameter="ratio", values=[1.0, 2.0], **QUICK)
    for text in (each.text() for each in (results[1], compared, curve, policies, relaxed)):
        assert "doubtful here (SL501)" in text
        assert "conservative" not in text


def test_auto_does_not_learn_from_a_doubtful_instrument(changed):
    with pytest.warns(DiagnosticWarning, match="SL501.*learned without the instrument"):
        model = sl.UCLClassifier("auto", "plug-in", nuisance="logistic", random_state=0).fit(changed)
    assert model.mode_ == "labeled-only"
    assert "doubtful" in model.cautions_[0]


def test_partial_mode_says_it_and_goes_on(changed):
    with pytest.warns(DiagnosticWarning, match="SL501"):
        model = sl.UCLClassifier("partial", "plug-in", nuisance="logistic", random_state=0).fit(changed)
    assert model.mode_ == "partial"
    assert "doubtful here (SL501)" in model_card(model)


def test_bounds_of_partial_mode_do_not_mind_the_case_mix():
    """Assignment depends on a feature, and partial mode uses shares: no warning."""
    data = data_of(designs.assigned_by_a_feature(3000, 8, seed(), strength=2.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DiagnosticWarning)
        sl.UCLClassifier("partial", "plug-in", nuisance="logistic", random_state=0).fit(data)


def test_a_wrong_direction_is_said(changed):
    drawn = designs.plain(2500, 8, seed(), n_classes=2, mirrored=True, additive=False)
    data, rule = data_of(drawn), (drawn.X[:, 0] > 0).astype(int)
    wrong, right = Instrument() & Informed(0), Instrument() & Informed(1)
    results = sl.evaluate(rule, data, assumption=[wrong, right], **QUICK)
    assert "The direction of 'informed(0)' is doubtful (SL1006)" in results[0].sample.cautions[0]
    assert not results[1].sample.cautions
    for result, event in zip(results, ("0", "1"), strict=True):
        assert (
            f"those refused by a decision-maker have the event '{event}' at least as often" in result.text()
        )


def test_the_direction_is_tested_once_for_all_steps_of_a_curve(changed, monkeypatch):
    tested = []

    def counted(fit, data, event, find=combinations._falls_with_leniency):
        tested.append(event)
        return find(fit, data, event)

    monkeypatch.setattr(combinations, "_falls_with_leniency", counted)
    drawn = designs.plain(2500, 8, seed(), n_classes=2, mirrored=True, additive=False)
    data = data_of(drawn)
    fit, ratios = (
        fitted(data),
        [Refused(0, at_least=1.0, at_most=most, scale="odds") for most in (1.5, 2.0, 3.0)],
    )
    steps = [Instrument() & each for each in (*ratios, Refused(1, at_least=1.0, at_most=2.0, scale="odds"))]
    found = cautions_of(data, fit, steps, doubts=[], seed=0)
    assert tested == [(0,), (1,)]
    said = [[text for text in found.get(each.name, ()) if "SL1006" in text] for each in steps]
    assert [len(each) for each in said] == [1, 1, 1, 0]
    assert all(repr(part.name) in text for part, (text,) in zip(ratios, said[:3], strict=True))


def test_partitions_say_the_same(tmp_path, changed):
    frame = pd.DataFrame(np.asarray(changed.X), columns=["a", "b"])
    frame["label"] = pd.Series(changed.y.astype(float)).where(changed.decision == 1)
    frame["decided"], frame["who"] = changed.decision, changed.decision_maker
    frame["guess"] = (frame["a"] > 0).astype(float)
    frame.to_parquet(tmp_path / "part-0.parquet")
    data = sl.SelectiveLabels.from_parquet(
        tmp_path, label="label", decision="decided", decision_maker="who", features=["a", "b"]
    )
    assert "SL501" in sl.evaluate("guess", data, **QUICK).text()
