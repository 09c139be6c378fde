"""Bands and choices: bounds are those of single questions, intervals hold together."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels import Evaluator, InputError, Policy, SelectiveLabels
from selective_labels.datasets import make_decision_makers
from selective_labels.evaluation.display import ENDS
from tests.evaluation.partitioned.tables import folds_of, from_folder, in_memory, make_table, write

QUICK = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}
COST = [[0.0, 1.0], [3.0, 0.0]]
# Simulation error of a critical value.
CLOSE = 0.03


@pytest.fixture(scope="module")
def sample():
    return make_decision_makers(700, n_classes=2, n_decision_makers=4, random_state=8)


@pytest.fixture(scope="module")
def evaluator(sample):
    return Evaluator(sample.X, sample.y, decision_maker=sample.decision_maker, **QUICK)


@pytest.fixture(scope="module")
def rules(sample):
    return {f"rule {k}": (sample.X[:, k] < 0.0).astype(int) for k in range(3)}


def ends(results):
    return np.array([[getattr(each, end) for end in ENDS] for each in results])


def wider(single, band):
    """The bounds are the same, and the intervals are as wide as those of the single values, or wider.

    A single interval whose ends have very different errors may reach further at one of them: the shortest one
    (Stoye) puts nearly all its error probability on the other.
    """
    one, other = ends(single), ends(band)
    assert_allclose(other[:, :2], one[:, :2], rtol=1e-12)
    assert (other[:, 3] - other[:, 2] >= one[:, 3] - one[:, 2] - 1e-12).all()
    return (other[:, 3] - other[:, 2]) / np.maximum(one[:, 3] - one[:, 2], 1e-12)


def test_a_threshold_curve(sample, evaluator):
    score = -sample.X[:, 0]
    single = evaluator.threshold_curve(score)
    band = evaluator.threshold_curve(score, simultaneous=True)
    for name, points in single.evaluations.items():
        ratio = wider(points, band.evaluations[name])
        assert ratio.mean() < 1.55, "the critical value of 41 errors is at most half more than that of one"
    assert "at all thresholds at once" in str(band)
    assert "at one threshold" in str(single)


def test_a_policy_curve(sample, evaluator):
    how = {"rates": [0.2, 0.5, 0.8], "cost": COST}
    single = evaluator.policy_curve(-sample.X[:, 0], **how)
    band = evaluator.policy_curve(-sample.X[:, 0], simultaneous=True, **how)
    for name, points in single.evaluations.items():
        wider(points, band.evaluations[name])
        assert_allclose(ends([single.human[name]]), ends([band.human[name]]))
    assert "at all rates at once" in str(band)
    assert "at one rate" in str(single)


def test_what_is_recommended_is_quoted_from_a_limit(sample, evaluator):
    cut = evaluator.policy_curve(-sample.X[:, 0], cost=COST, rates=[0.5]).cut_offs
    assert (cut.worst_cost_upper > cut.worst_cost).all()
    assert (cut.worst_regret_upper >= cut.worst_regret).all()
    text = " ".join(cut.sentences())
    assert f"costs {cut.worst_cost_upper[cut.minimax_cost]:.4g} a case at most" in text
    assert f"saves {cut.worst_regret_upper[cut.minimax_regret]:.4g} a case at most" in text


def test_one_cut_off_has_the_one_sided_limit(sample, evaluator):
    """With nothing to choose the limit is that of the set interval at twice the error."""
    cut = evaluator.policy_curve(np.ones(len(sample.y)), cost=COST, rates=[0.5]).cut_offs
    everybody = evaluator.evaluate(Policy(np.zeros(len(sample.y)), threshold=9.0), metric="cost", cost=COST)
    single = everybody.with_interval("set", 0.9)
    assert_allclose(cut.worst_cost[-1], single.upper, rtol=1e-9)
    assert cut.worst_cost_upper[-1] >= single.ci_upper - CLOSE * single.standard_errors[1]


@pytest.mark.parametrize(("metric", "more"), [("accuracy", True), ("error", False), ("tpr", True)])
def test_the_best_guarantee_is_chosen(evaluator, rules, metric, more):
    found = evaluator.choose(rules, metric=metric)
    single = {name: evaluator.evaluate(rule, metric=metric) for name, rule in rules.items()}
    guarantee = {name: each.lower if more else -each.upper for name, each in single.items()}
    assert found.best == max(guarantee, key=guarantee.get)
    assert found.chosen is found.evaluations[found.best]
    wider(single.values(), found.evaluations.values())


def test_copies_of_a_model_are_one_model(evaluator, rules):
    """Then there is nothing to choose, and the interval is that of the identified set."""
    copies = evaluator.choose(dict.fromkeys("abcde", rules["rule 0"])).chosen
    alone = evaluator.evaluate(rules["rule 0"]).with_interval("set")
    reach = np.array(alone.standard_errors) * CLOSE
    assert_allclose(copies.ci_lower, alone.ci_lower, atol=reach[0])
    assert_allclose(copies.ci_upper, alone.ci_upper, atol=reach[1])


def test_more_candidates_widen_the_intervals(sample, evaluator):
    generator = np.random.default_rng(1)
    many = {str(k): (sample.X @ generator.normal(size=4) < 0).astype(int) for k in range(15)}
    few = {name: many[name] for name in ("0", "1")}
    first, second = evaluator.choose(few).evaluations["0"], evaluator.choose(many).evaluations["0"]
    assert second.ci_lower < first.ci_lower < first.ci_upper < second.ci_upper


def test_clusters_and_repeats(sample, rules):
    """Copies of all rows in groups say what the rows say: nothing is learned from a copy."""
    twice = np.repeat(np.arange(len(sample.y)), 2)
    data = SelectiveLabels.from_arrays(
        sample.X[twice], sample.y[twice], decision_maker=sample.decision_maker[twice], groups=twice
    )
    found = Evaluator(data, assumption="none", n_repeats=2, **QUICK).choose(
        {name: rule[twice] for name, rule in rules.items()}
    )
    wanted = Evaluator(sample.X, sample.y, assumption="none", **QUICK).choose(rules)
    assert_allclose(ends(found.evaluations.values()), ends(wanted.evaluations.values()), atol=2e-3)


def test_a_choice_shows_itself(evaluator, rules):
    found = evaluator.choose(rules)
    assert str(found).startswith(f"Best of 3 by the largest lower bound on accuracy: {found.best}")
    assert "holds although it was chosen" in str(found).replace("\n", " ")
    assert found.to_frame()["candidate"].tolist() == list(rules)
    assert found.to_frame().loc[found.to_frame()["best"], "candidate"].tolist() == [found.best]
    assert len(json.loads(found.to_json())["table"]) == len(found) == 3
    assert "<table" in found._repr_html_()
    assert [each.get_text() for each in found.plot().get_yticklabels()] == list(rules)
    assert "together with all others" in str(found.chosen)


@pytest.mark.parametrize(
    ("candidates", "options", "words"),
    [
        ({}, {}, "dict of names"),
        ([1], {}, "dict of names"),
        ({"a": Policy([0.1])}, {}, "has a Policy, 'a'"),
        ({"a": 0}, {"metric": ["accuracy", "tpr"]}, "one metric"),
        ({"a": 0}, {"assumption": ["none", "instrument"]}, "one assumption"),
        ({"a": 0, "b": 1}, {"assumption": "tilt"}, "no simultaneous intervals"),
        ({"a": 0, "model b": [7]}, {}, "model b: predictions have 1 rows"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(evaluator, candidates, options, words):
    with pytest.raises(InputError, match=words):
        evaluator.choose(candidates, **options)


def test_the_tilt_has_no_band(sample, evaluator):
    with pytest.raises(InputError, match="no simultaneous intervals"):
        evaluator.threshold_curve(
            -sample.X[:, 0], metric="accuracy", assumption="tilt", thresholds=[0.0], simultaneous=True
        )


def test_partitions_add_up_to_the_same(tmp_path):
    frame, roles = make_table(400), ("sample_weight", "groups")
    memory = Evaluator(in_memory(frame, *roles), cv=folds_of(frame["person"]), **QUICK)
    parts = Evaluator(from_folder(write(frame, tmp_path), *roles), **QUICK)
    wanted = memory.choose({name: frame[name].to_numpy() for name in ("guess", "other")} | {"nobody": 0})
    found = parts.choose({"guess": "guess", "other": "other", "nobody": 0})
    assert found.best == wanted.best
    how = {"thresholds": [-0.5, 0.0, 0.5], "metric": "tpr", "simultaneous": True}
    curves = parts.threshold_curve("score", **how), memory.threshold_curve(frame["score"].to_numpy(), **how)
    for one, other in ((found, wanted), curves):
        assert_allclose(one.to_frame().select_dtypes(float), other.to_frame().select_dtypes(float), rtol=1e-6)


def test_partitions_refuse_what_cells_do_not_hold(tmp_path):
    frame = make_table(300)
    with pytest.raises(InputError, match=r"choose takes metrics of predicted labels.*data\.sample"):
        Evaluator(from_folder(write(frame, tmp_path)), **QUICK).choose(
            {"a": "score", "b": "other_score"}, metric="auc"
        )
