"""A yes that inspects: what it predicts, what it costs, and which end of a score is acted on."""

import numpy as np
import pandas as pd
import pytest

import selective_labels as sl

HOW = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}
NAMED = {"inspect": 400, "missed": 3000}
MATRIX = [[0, 400], [3000, 400]]


def make_frame(n_cases=900, sign=1):
    """Adjusters send the cases for inspection that look suspicious to them; a label is seen only then."""
    rng = np.random.default_rng(5)
    x, hidden = rng.normal(size=n_cases), rng.normal(size=n_cases)
    found = (x + hidden + rng.normal(size=n_cases) > 1.2).astype(float)
    adjuster = rng.integers(0, 6, n_cases)
    sent = (sign * (x + hidden) + rng.normal(size=n_cases) > np.linspace(-0.6, 1.6, 6)[adjuster]).astype(int)
    frame = pd.DataFrame({"x": x, "adjuster": adjuster, "sent": sent, "score": x})
    frame["found"] = np.where(sent == 1, found, np.nan)
    return frame


FRAME = make_frame()
ROLES = {"label": "found", "decision": "sent", "decision_maker": "adjuster", "features": ["x"]}
INSPECTED = sl.SelectiveLabels.from_frame(FRAME, **ROLES, decision_means="inspect")
ACCEPTED = sl.SelectiveLabels.from_frame(FRAME, **ROLES)
SCORE = FRAME["score"].to_numpy()


def ends(result):
    return [getattr(result, name) for name in ("lower", "upper", "ci_lower", "ci_upper")]


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "cost"])
def test_inspecting_is_accepting_with_the_labels_turned_round(metric):
    """Without decision_means, one had to name as the event what is not looked for."""
    cost = {"cost": MATRIX} if metric == "cost" else {}
    found = sl.evaluate("human", INSPECTED, metric=metric, **cost, **HOW)
    turned = sl.evaluate("human", ACCEPTED, metric=metric, pos_label=0, **cost, **HOW)
    np.testing.assert_allclose(ends(found), ends(turned), rtol=1e-9)


def test_a_policy_curve_inspects_the_highest_scores():
    curve = sl.policy_curve(SCORE, INSPECTED, cost=NAMED, rates=[0.2, 0.5], **HOW)
    turned = sl.policy_curve(-SCORE, ACCEPTED, pos_label=0, cost=MATRIX, rates=[0.2, 0.5], **HOW)
    for ours, theirs in (("missed", "good_lost"), ("in_vain", "failures"), ("cost", "cost")):
        for one, other in zip(curve.evaluations[ours], turned.evaluations[theirs], strict=True):
            np.testing.assert_allclose(ends(one), ends(other), rtol=1e-9)
    chosen, same = curve.cut_offs.minimax_regret, turned.cut_offs.minimax_regret
    assert chosen == same
    threshold = curve.cut_offs.thresholds[chosen]
    assert np.mean(threshold <= SCORE) == pytest.approx(curve.cut_offs.acceptance[chosen], abs=1e-12)
    assert "or more)" in str(curve)
    assert "failures" not in str(curve)


@pytest.mark.parametrize("data", [INSPECTED, ACCEPTED], ids=["inspect", "accept"])
def test_the_recommended_cut_off_is_that_of_a_policy(data):
    points = np.round(10.0 * SCORE) * (1 if data is INSPECTED else -1)  # many cases have the same score
    event = {} if data is INSPECTED else {"pos_label": 0}
    cut_offs = sl.policy_curve(points, data, cost=MATRIX, rates=[0.5], **event, **HOW).cut_offs
    for place in (5, cut_offs.minimax_regret, 20):
        policy = sl.Policy(points, threshold=float(cut_offs.thresholds[place]))
        found = sl.evaluate(policy, data, metric=["acceptance", "cost"], cost=MATRIX, **event, **HOW)
        assert found[0].lower == pytest.approx(cut_offs.acceptance[place], abs=1e-12)
        assert found[1].upper == pytest.approx(cut_offs.worst_cost[place], rel=1e-9)


@pytest.mark.parametrize(("missed", "said"), [(4e9, "inspect every case"), (300, "inspect no case")])
def test_a_rule_that_acts_on_every_case_or_none_is_called_that(missed, said):
    cost = {"inspect": 400, "missed": missed}
    curve = sl.policy_curve(SCORE, INSPECTED, cost=cost, rates=[0.5], **HOW)
    assert f"Smallest regret in the worst case: {said};" in str(curve)
    assert INSPECTED.vocabulary.say(curve.money_a_year(1000)).startswith(f"To {said} would")


def test_the_humans_cost_is_one_figure_whatever_the_way():
    evaluator = sl.Evaluator(INSPECTED, cost=NAMED, **HOW)
    direct = evaluator.evaluate("human", metric="cost")
    curve = evaluator.policy_curve(SCORE, rates=[0.3])
    np.testing.assert_allclose(ends(curve.human["cost"]), ends(direct), rtol=1e-9)
    everybody = sl.Policy(SCORE, threshold=float(SCORE.min()))
    against = evaluator.compare(everybody, "human", metric="cost")
    # Inspecting every case costs 400 whatever the labels are.
    np.testing.assert_allclose([400 - direct.upper, 400 - direct.lower], ends(against)[:2], rtol=1e-9)


def test_a_threshold_inspects_scores_from_it_on():
    cut = float(np.sort(SCORE)[600])
    share = sl.evaluate(sl.Policy(SCORE, threshold=cut), INSPECTED, metric="acceptance", **HOW)
    assert share.lower == pytest.approx(np.mean(cut <= SCORE), abs=1e-12)
    as_classes = sl.evaluate((cut <= SCORE).astype(int), INSPECTED, metric="cost", cost=NAMED, **HOW)
    as_policy = sl.evaluate(sl.Policy(SCORE, threshold=cut), INSPECTED, metric="cost", cost=NAMED, **HOW)
    np.testing.assert_allclose(ends(as_policy)[:2], ends(as_classes)[:2], rtol=1e-9)


def test_partitions_read_it_the_same_way(tmp_path):
    FRAME.assign(reversed=-SCORE).to_parquet(tmp_path / "cases.parquet")
    inspected, accepted = (
        sl.SelectiveLabels.from_parquet(tmp_path, **ROLES, decision_means=means, fit_rows=900)
        for means in ("inspect", "accept")
    )
    found = sl.evaluate("human", inspected, metric=["cost", "balanced_accuracy"], cost=NAMED, **HOW)
    turned = sl.evaluate(
        "human", accepted, metric=["cost", "balanced_accuracy"], cost=MATRIX, pos_label=0, **HOW
    )
    for one, other in zip(found, turned, strict=True):
        np.testing.assert_allclose(ends(one), ends(other), rtol=1e-9)
    curve = sl.policy_curve("score", inspected, cost=NAMED, rates=[0.2, 0.5], **HOW)
    turned = sl.policy_curve("reversed", accepted, pos_label=0, cost=MATRIX, rates=[0.2, 0.5], **HOW)
    for one, other in zip(curve.evaluations["missed"], turned.evaluations["good_lost"], strict=True):
        np.testing.assert_allclose(ends(one), ends(other), rtol=1e-6)
    np.testing.assert_allclose(ends(curve.human["cost"]), ends(found[0]), rtol=1e-9)


def test_costs_by_name_are_the_matrix():
    by_name, matrix = (
        sl.evaluate("human", INSPECTED, metric="cost", cost=cost, **HOW) for cost in (NAMED, MATRIX)
    )
    assert ends(by_name) == ends(matrix)
    lender = {"default": 5000, "declined_good": 600}
    by_name = sl.evaluate("human", ACCEPTED, metric="cost", cost=lender, **HOW)
    matrix = sl.evaluate("human", ACCEPTED, metric="cost", cost=[[0, 600], [5000, 0]], **HOW)
    assert ends(by_name) == ends(matrix)


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ({"default": 1, "declined_good": 2}, "cost names 'default', and a yes means inspect"),
        ({"inspect": 1}, "cost gives no 'missed'"),
        ({"inspect": 1, "mised": 2}, "cost names 'mised', which is not one of"),
        ({"inspect": "much", "missed": 2}, "must be numbers"),
        ({"inspect": -1, "missed": 2}, "must not be negative"),
    ],
)
def test_wrong_costs_by_name_are_refused(cost, words):
    with pytest.raises(sl.InputError, match=words) as caught:
        sl.evaluate("human", INSPECTED, metric="cost", cost=cost, **HOW)
    assert caught.value.argument == "cost"


def test_a_transposed_matrix_is_questioned():
    with pytest.warns(UserWarning, match="is the matrix transposed"):
        sl.Evaluator(INSPECTED, assumption="none", **HOW).evaluate(
            "human", metric="cost", cost=np.transpose(MATRIX)
        )


@pytest.mark.filterwarnings("ignore::selective_labels.ConstantRuleWarning")
def test_a_rule_is_learned_with_costs_by_name():
    rule = sl.UCLClassifier(estimator="plug-in", cost=NAMED, nuisance="logistic", random_state=0)
    assert rule.fit(INSPECTED).cost_.tolist() == MATRIX


def test_people_who_do_the_opposite_of_what_a_yes_means_are_a_warning():
    with pytest.warns(UserWarning, match="decision_means='inspect'"):
        sl.evaluate(sl.Policy(SCORE), ACCEPTED, **HOW)
    lender = sl.SelectiveLabels.from_frame(make_frame(sign=-1), **ROLES, decision_means="inspect")
    with pytest.warns(UserWarning, match="decision_means='accept'"):
        sl.evaluate(sl.Policy(SCORE), lender, **HOW)
