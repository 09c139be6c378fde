"""Policies on partitions: the same numbers as of rows, and what bins of the score may change is stated."""

from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from selective_labels import (
    Evaluator,
    InputError,
    Policy,
    UCLClassifier,
    compare,
    evaluate,
    plan,
    policy_curve,
)
from selective_labels import assumptions as a
from selective_labels.evaluation.partitioned import keys
from selective_labels.evaluation.prediction_check import PredictionBalance
from tests.evaluation.partitioned.tables import folds_of, from_folder, in_memory, make_table, numbers, write

QUICK = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}
CLOSE = {"rtol": 1e-8, "atol": 1e-8}
COST = [[0, 1], [5, 0]]
MEASURES = ["acceptance", "failures", "failure_rate", "avoided", "good_lost", "cost", "profit"]


def both(frame, folder, *roles):
    keys = frame["person"] if "groups" in roles else np.arange(len(frame))
    return in_memory(frame, *roles), from_folder(write(frame, folder), *roles), folds_of(keys)


@pytest.mark.parametrize("rule", ["score", "both", "either"])
def test_a_curve_of_policies(rule, tmp_path):
    roles = {"score": (), "both": ("sample_weight",), "either": ("groups",)}[rule]
    frame = make_table(600)
    memory, lazy, cv = both(frame, tmp_path, *roles)
    how = {"rates": [0.0, 0.3, 0.55, 1.0], "rule": rule, "cost": COST, **QUICK}
    found = policy_curve("score", lazy, **how)
    wanted = policy_curve(frame["score"].to_numpy(), memory, cv=cv, **how)
    pd.testing.assert_frame_equal(found.to_frame(), wanted.to_frame(), **CLOSE)
    pd.testing.assert_frame_equal(found.decision_makers, wanted.decision_makers, **CLOSE)
    for name, each in wanted.human.items():
        assert_allclose(numbers(found.human[name]), numbers(each), **CLOSE)
    if rule == "score":
        pd.testing.assert_frame_equal(found.cut_offs.to_frame(), wanted.cut_offs.to_frame(), **CLOSE)
    for pair in (("human", 0.5), (0.3, 0.55)):
        assert_allclose(numbers(found.difference(*pair)), numbers(wanted.difference(*pair)), **CLOSE)
    assert_allclose(numbers(found.against_human("cost")), numbers(wanted.against_human("cost")), **CLOSE)
    assert found.sentences()[0] == wanted.sentences()[0]


@pytest.mark.parametrize(
    "policy",
    [
        {"acceptance": 0.4},
        {"threshold": 0.123},  # between two values that occur
        {"with_human": "both"},
        {"threshold": -0.5, "with_human": "either"},
    ],
    ids=str,
)
def test_a_policy_alone_and_against_the_human(policy, tmp_path):
    frame = make_table(600)
    memory, lazy, cv = both(frame, tmp_path)
    pair = Policy("score", **policy), Policy(frame["score"].to_numpy(), **policy)
    assumption = a.Instrument() & a.Informed(0.0)
    how = {"metric": MEASURES, "cost": COST, "assumption": ["instrument", assumption], **QUICK}
    for one, other in zip(
        evaluate(pair[0], lazy, **how), evaluate(pair[1], memory, cv=cv, **how), strict=True
    ):
        assert (one.metric, one.assumption) == (other.metric, other.assumption)
        assert_allclose(numbers(one), numbers(other), **CLOSE)
    found = compare(pair[0], "human", lazy, **QUICK)
    wanted = compare(pair[1], "human", memory, cv=cv, **QUICK)
    assert_allclose(numbers(found), numbers(wanted), **CLOSE)
    assert (found.verdict, found.metric) == (wanted.verdict, wanted.metric)
    assert_allclose(found.disagreement, wanted.disagreement, **CLOSE)


def test_two_policies_and_a_classifier_against_the_human(tmp_path):
    frame = make_table(600)
    frame["score"] = frame["score"].round(1)
    memory, lazy, cv = both(frame, tmp_path)
    found = compare(Policy("score", 0.5), Policy("other_score", 0.4), lazy, metric="failure_rate", **QUICK)
    rows = [Policy(frame[name].to_numpy(), rate) for name, rate in (("score", 0.5), ("other_score", 0.4))]
    wanted = compare(*rows, memory, metric="failure_rate", cv=cv, **QUICK)
    assert_allclose(numbers(found), numbers(wanted), **CLOSE)
    stated = a.Instrument() & a.Prevalence(1.0, (0.3, 0.6))
    for column in ("score", "guess"):
        one = compare(column, "human", lazy, assumption=stated, **QUICK)
        other = compare(frame[column].to_numpy(), "human", memory, assumption=stated, cv=cv, **QUICK)
        assert_allclose(numbers(one), numbers(other), **CLOSE)


def test_cases_that_a_classifier_leaves_to_the_human(tmp_path):
    frame = make_table(600)
    memory, lazy, cv = both(frame, tmp_path)
    model = UCLClassifier(estimator="linear", nuisance="logistic", random_state=0).fit(memory)
    policy = Policy(model, 0.5, with_human="undecided")
    found, wanted = evaluate(policy, lazy, **QUICK), evaluate(policy, memory, cv=cv, **QUICK)
    assert_allclose(numbers(found), numbers(wanted), **CLOSE)


def test_bins_state_how_far_a_policy_may_be_off(tmp_path, monkeypatch):
    monkeypatch.setattr(keys, "MOST_EDGES", 30)
    frame = make_table(1200)
    frame["score"] += np.random.default_rng(1).uniform(0, 0.01, len(frame))  # no ties
    memory, lazy, cv = both(frame, tmp_path)
    how = {"rates": [0.25, 0.5, 0.75], "cost": COST, **QUICK}
    found = policy_curve("score", lazy, **how)
    wanted = policy_curve(frame["score"].to_numpy(), memory, cv=cv, **how)
    for name in MEASURES[1:]:
        for one, other in zip(found.evaluations[name], wanted.evaluations[name], strict=True):
            error = one.sample.rank_error
            assert 0.0 < error < 0.1
            assert one.lower <= other.lower + 1e-12
            assert one.upper >= other.upper - 1e-12
            assert_allclose([one.lower, one.upper], [other.lower, other.upper], atol=2.0 * error)
    acceptance = [each.sample.rank_error for each in found.evaluations["acceptance"]]
    assert acceptance == [0.0, 0.0, 0.0]  # what is accepted in all is what was asked for
    # Cut-offs are values that bins begin with: exact, though fewer.
    chosen = found.cut_offs.to_frame()
    same = [np.average(frame["score"] < each) for each in chosen["threshold"]]
    assert_allclose(chosen["acceptance"], same, atol=1e-12)


def test_what_a_policy_cannot_say_in_partitions(tmp_path):
    lazy = from_folder(write(make_table(300), tmp_path))
    with pytest.raises(InputError, match=r"with_human is an array; .*data\.sample"):
        evaluate(Policy("score", with_human=np.zeros(300)), lazy, **QUICK)
    with pytest.raises(InputError, match="'undecided' needs a classifier"):
        evaluate(Policy("score", with_human="undecided"), lazy, **QUICK)
    with pytest.raises(InputError, match="does not know the assumption"):
        policy_curve("score", lazy, assumption=a.Instrument() & a.Prevalence(1.0, 0.4), **QUICK)
    with pytest.raises(InputError, match="metric 'cost' needs cost="):
        compare(Policy("score"), "human", lazy, metric="cost", **QUICK)


def test_plans_are_made_of_the_same_moments(tmp_path):
    frame = make_table(600)
    memory, lazy, cv = both(frame, tmp_path, "sample_weight")
    guess, other = frame["guess"].to_numpy(), frame["other"].to_numpy()
    score = frame["score"].to_numpy()
    pairs = [
        (evaluate("guess", lazy, **QUICK), evaluate(guess, memory, cv=cv, **QUICK)),
        (compare("guess", "other", lazy, **QUICK), compare(guess, other, memory, cv=cv, **QUICK)),
        (
            compare(Policy("score", 0.5), "human", lazy, **QUICK),
            compare(Policy(score, 0.5), "human", memory, cv=cv, **QUICK),
        ),
    ]
    for found, wanted in pairs:
        assert_allclose(astuple(found.design), astuple(wanted.design), **CLOSE)
        how = {"lottery": 50, "leniency": 0.95}
        one, other = (plan(each, **how).to_frame().set_index("way")["interval"] for each in (found, wanted))
        assert len(one) >= 4  # whose label is worth most is not known without rows
        assert_allclose(one, other[one.index], **CLOSE)


def test_the_human_has_the_figures_of_rows_in_memory(tmp_path):
    frame = make_table(600)
    memory, lazy, cv = both(frame, tmp_path, "sample_weight", "groups")
    assumption = a.Instrument() & a.Informed(0.0)
    metrics = ["accuracy", "cost", "tpr", "ppv", "f1", "balanced_accuracy", "share"]
    how = {"metric": metrics, "cost": COST, "assumption": ["none", "instrument", assumption], **QUICK}
    one = evaluate("human", lazy, by="region", **how)
    other = evaluate("human", memory, by=frame["region"], cv=cv, **how)
    for found, wanted in ((one, other), (one.gaps, other.gaps)):
        assert len(found) == len(wanted)
        for each, same in zip(found, wanted, strict=True):
            assert (each.metric, each.assumption) == (same.metric, same.assumption)
            assert_allclose(numbers(each), numbers(same), **CLOSE)
    curve = policy_curve("score", lazy, cost=COST, rates=[0.5], **QUICK).human["cost"]
    cost = evaluate("human", lazy, metric="cost", cost=COST, **QUICK)
    assert_allclose([cost.lower, cost.ci_upper], [curve.lower, curve.ci_upper], **CLOSE)
    for metric in ("accuracy", "ppv", "f1"):
        found = compare("guess", "human", lazy, metric=metric, **QUICK)
        wanted = compare(frame["guess"].to_numpy(), "human", memory, metric=metric, cv=cv, **QUICK)
        assert_allclose(numbers(found), numbers(wanted), **CLOSE)


def test_columns_made_of_decisions_are_refused(tmp_path, monkeypatch):
    frame = make_table(1500)
    frame["copy"] = 1.0 - frame["released"]
    _, lazy, _ = both(frame, tmp_path)
    evaluator = Evaluator(lazy, **QUICK)
    for ask in (
        lambda: evaluator.evaluate("copy"),
        lambda: evaluator.compare("guess", "copy"),
        lambda: evaluator.threshold_curve("copy"),
        lambda: evaluator.policy_curve("copy", rates=[0.5]),
    ):
        with pytest.raises(InputError, match="depend on who decided"):
            ask()
    assert evaluator.evaluate("copy", assumption="none").sample.cautions == ()
    monkeypatch.setattr(PredictionBalance, "p_value", lambda *given: 0.005)
    for found in (evaluator.evaluate("guess"), evaluator.threshold_curve("score", thresholds=[0.0])):
        assert "doubtful" in str(found)
