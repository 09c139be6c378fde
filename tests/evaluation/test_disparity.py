"""Disparity: against the truth, where the outcome test errs, groups, roles, bad input, texts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import selective_labels as sl
from selective_labels import InputError
from tests.disparity_designs import draw, truth

FAST = {"nuisance": "logistic", "propensity": "shares", "random_state": 0}
ENDS = ["lower", "upper", "ci_lower", "ci_upper"]


@pytest.fixture(scope="module")
def cases():
    return draw(6000, 12, np.random.default_rng(4))


@pytest.fixture(scope="module")
def evaluator(cases):
    return sl.Evaluator(cases.data(), **FAST)


@pytest.fixture(scope="module")
def found(cases, evaluator):
    return evaluator.disparity(cases.group, score=cases.X[:, 0], threshold=0.5, reference="A")


def test_every_gap_is_near_the_truth(found):
    """Seven standard errors beyond the ends."""
    whole = draw(400_000, 12, np.random.default_rng(5))
    below = whole.X[:, 0] < 0.5
    ways = {"human": whole.decision, "score": below, "both": below & (whole.decision == 1)}
    seen = 0
    for who, yes in ways.items():
        for measure, value in truth(whole, yes).items():
            if (who, measure) == ("score", "outcome_weighted"):
                continue
            gap = found.get(who, measure, "B", "A")
            low, high = gap.standard_errors
            assert gap.lower - 7 * low <= value <= gap.upper + 7 * high, (who, measure)
            seen += 1
    assert seen == 14


def test_outcome_test_has_the_wrong_sign_and_ours_has_not(found):
    """Group B faces a higher bar: at every risk it gets a yes less often."""
    plain = found.get("human", "event_among_yes", "B", "A")
    assert plain.ci_lower > 0.0  # read by itself: B faces a lower bar
    given = found.get("human", "outcome_weighted", "B", "A")
    assert given.ci_upper < 0.0
    said = " ".join(found.verdicts())
    assert "B is accepted less often than A" in said
    assert "a lower bar for B; robust form: no conclusion" in said


def test_joint_bounds_are_inside_those_of_both_outcomes(found):
    """The share of the event moves both rates, so their weighted sum is narrower than its parts."""
    parts = [found.get("human", each, "B", "A") for each in ("given_event", "given_no_event")]
    whole = found.get("human", "outcome_weighted", "B", "A")
    assert whole.width < min(each.width for each in parts)
    assert min(each.lower for each in parts) <= whole.lower
    assert whole.upper <= max(each.upper for each in parts)


def test_human_rates_are_those_of_evaluate(cases, evaluator, found):
    """A no predicts the event: P(yes | event) is one minus the true positive rate of decisions, and so on."""
    for metric, measure in (("tpr", "given_event"), ("fpr", "given_no_event")):
        for each in evaluator.evaluate("human", metric=metric, by=cases.group):
            here = found.get("human", measure, each.subgroup)
            assert_allclose([1 - each.upper, 1 - each.lower], [here.lower, here.upper], atol=1e-10)
            assert_allclose([1 - each.ci_upper, 1 - each.ci_lower], [here.ci_lower, here.ci_upper], atol=1e-9)


def test_human_levels_are_those_of_the_policy_curve(cases, evaluator, found):
    """Over both groups, P(yes) is the acceptance of the human, and P(yes, event) the failures."""
    human = evaluator.policy_curve(cases.X[:, 0], rates=[0.5]).human
    size = [np.mean(cases.group == each) for each in found.groups]
    rate, harm = (
        np.array([found.get("human", measure, each).lower for each in found.groups])
        for measure in ("rate", "event_among_yes")
    )
    assert_allclose(size @ rate, human["acceptance"].lower, atol=1e-12)
    assert_allclose(size @ (rate * harm), human["failures"].lower, atol=1e-12)


def test_labels_of_all_cases_leave_nothing_open(cases):
    data = sl.SelectiveLabels.from_arrays(cases.X, cases.label)
    score = sl.disparity(data, by=cases.group, score=cases.X[:, 0], threshold=0.5, **FAST)
    for measure in ("given_event", "given_no_event", "event_among_yes"):
        gap = score.get("score", measure, *_pair(score))
        assert gap.width < 1e-12
    assert_allclose(score.get("human", "given_event", "A").lower, 1.0)


def _pair(result):
    return next(each for each in result.groups if each != result.reference), result.reference


def test_without_an_instrument_bounds_are_wider(cases, evaluator, found):
    wide = evaluator.disparity(cases.group, assumption="none", reference="A")
    for measure in ("given_event", "given_no_event", "outcome_weighted"):
        assert wide.get("human", measure, "B", "A").width > found.get("human", measure, "B", "A").width


def test_combinations_narrow_the_bounds(cases, evaluator, found):
    from selective_labels import assumptions as a

    known = a.Instrument() & a.Informed(1)
    narrow = evaluator.disparity(cases.group, assumption=known, reference="A")
    first, second = (each.get("human", "outcome_weighted", "B", "A") for each in (narrow, found))
    assert first.width <= second.width + 1e-12
    assert first.assumption == known.name


def test_groups_in_the_other_order_turn_the_signs(cases, evaluator, found):
    turned = evaluator.disparity(cases.group, reference="B")
    for measure in ("rate", "given_event", "outcome_weighted"):
        one, other = turned.get("human", measure, "A", "B"), found.get("human", measure, "B", "A")
        assert_allclose([one.lower, one.upper], [-other.upper, -other.lower], atol=1e-12)


def test_like_risk_compares_within_tenths(cases, evaluator):
    """Decisions that depend on the score alone have no gap at like risk, and one in the rate."""
    score = np.digitize(cases.X[:, 0] + 0.5 * (cases.group == "B"), np.linspace(-1.2, 1.2, 9)).astype(float)
    decision = (score < 5).astype(int)
    data = sl.SelectiveLabels.from_arrays(
        cases.X, np.where(decision == 1, cases.label, -1), decision=decision
    )
    found = sl.disparity(data, by=cases.group, score=score, reference="A", assumption="none", **FAST)
    assert found.get("human", "rate", "B", "A").upper < -0.1
    assert abs(found.get("human", "risk_adjusted", "B", "A").lower) < 1e-12


def test_weights_count_as_repeated_rows(cases):
    rows, twice = np.arange(800), np.repeat(np.arange(800), 2)

    def ask(rows, **more):
        seen = np.where(cases.decision == 1, cases.label, -1)[rows]
        data = sl.SelectiveLabels.from_arrays(cases.X[rows], seen, decision=cases.decision[rows], **more)
        asked = {"by": cases.group[rows], "score": cases.X[rows, 0], "threshold": 0.0, "reference": "A"}
        found = sl.disparity(data, **asked, assumption="none", **FAST)
        return found.to_frame()[["lower", "upper"]].to_numpy()

    assert_allclose(ask(rows, sample_weight=np.full(800, 2.0)), ask(twice), atol=1e-9)


def test_clusters_widen_the_intervals(cases):
    twice = np.repeat(np.arange(600), 2)
    seen = np.where(cases.decision == 1, cases.label, -1)[twice]

    def error(**more):
        data = sl.SelectiveLabels.from_arrays(cases.X[twice], seen, decision=cases.decision[twice], **more)
        found = sl.disparity(data, by=cases.group[twice], assumption="none", reference="A", **FAST)
        return found.get("human", "outcome_weighted", "B", "A").standard_errors[0]

    assert error(groups=twice) > 1.3 * error()


def test_a_group_with_five_cases_gets_its_sentence_and_costs_nobody_else(cases, evaluator, found):
    group = np.where(np.arange(len(cases.group)) < 5, "tiny", cases.group)
    few = evaluator.disparity(group, reference="A")
    assert "Few cases in tiny (5)" in few.text()
    whole = few.get("human", "outcome_weighted", "B", "A")
    assert_allclose(whole.lower, found.get("human", "outcome_weighted", "B", "A").lower, atol=5e-3)


def test_a_group_that_got_no_yes_has_reasons(cases):
    decision = np.where(np.arange(len(cases.group)) < 40, 0, cases.decision)
    group = np.where(np.arange(len(cases.group)) < 40, "never", cases.group)
    data = sl.SelectiveLabels.from_arrays(
        cases.X, np.where(decision == 1, cases.label, -1), decision=decision
    )
    found = sl.disparity(data, by=group, assumption="none", reference="A", **FAST)
    reason = found.get("human", "event_among_yes", "never").reason
    assert "no probability" in reason
    assert found.get("human", "rate", "B", "A").reason is None


@pytest.mark.parametrize(
    ("asked", "argument", "words"),
    [
        ({"by": "town"}, "by", "neither a feature"),
        ({"by": np.zeros(6000)}, "by", "there is no gap"),
        ({"by": None, "reference": "C"}, "reference", "no group"),
        ({"by": None, "threshold": 0.3}, "threshold", "needs score"),
        ({"by": None, "assumption": ["none", "instrument"]}, "assumption", "takes one"),
        ({"by": None, "assumption": "tilt"}, "assumption", "bounds one event alone"),
    ],
)
def test_bad_input_is_one_sentence(cases, evaluator, asked, argument, words):
    by = cases.group if asked["by"] is None else asked["by"]
    with pytest.raises(InputError, match=words) as error:
        evaluator.disparity(by, **{name: value for name, value in asked.items() if name != "by"})
    assert error.value.argument == argument


def test_words_are_those_of_the_table(cases):
    seen = np.where(cases.decision == 1, cases.label, -1)
    words = {"yes": "search", "yes_past": "searched", "means": "inspect"}
    data = sl.SelectiveLabels.from_arrays(cases.X, seen, decision=cases.decision, vocabulary=words)
    found = sl.disparity(data, by=cases.group, reference="A", assumption="none", **FAST)
    assert "P(1 | searched)" in found.text()
    # B is searched less, and more is found: a higher bar, by both forms of the outcome test.
    assert "a higher bar for B; robust form: a higher bar for B" in found.text()


def test_text_says_disparity_and_never_discrimination(found):
    said = found.text() + found.html()
    assert "disparity" in said.lower()
    assert "discriminat" not in said.lower()
    assert "does not show why" in said
    assert r"\toprule" in found.to_latex()
    assert len(found.plot().get_yticklabels()) == len([each for each in found.gaps if each.defined])
