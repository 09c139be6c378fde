"""What users get: curves, teams and comparisons of policies, and sentences for what cannot be."""

import json

import numpy as np
import pytest

import selective_labels as sl
from selective_labels.datasets import make_decision_makers
from tests.evaluation.samples import LIMIT, fully_labeled

QUICK = {"nuisance": "logistic", "propensity": "shares", "cv": 2, "random_state": 0}
COST = [[0.0, 1.0], [5.0, 0.0]]


def score(X):
    return -X[:, 0] + 0.3 * X[:, 1]


@pytest.fixture(scope="module")
def sample():
    return make_decision_makers(900, n_classes=2, n_decision_makers=4, random_state=3)


@pytest.fixture(scope="module")
def data(sample):
    return sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)


@pytest.fixture(scope="module")
def curve(sample, data):
    return sl.policy_curve(score(sample.X), data, rates=[0.0, 0.3, 0.5, 0.6, 1.0], cost=COST, **QUICK)


def test_measures_fit_together(curve):
    """Accepted and refused failures are all failures; refused are failures or good cases."""
    frame = curve.to_frame()
    everybody = frame["failures_lower"].iloc[-1]
    np.testing.assert_allclose(frame["failures_lower"] + frame["avoided_lower"], everybody, atol=1e-12)
    np.testing.assert_allclose(
        frame["avoided_lower"] + frame["good_lost_upper"], 1 - frame["rate"], atol=1e-12
    )
    np.testing.assert_allclose(
        frame["failure_rate_upper"][1:] * frame["rate"][1:], frame["failures_upper"][1:], atol=1e-12
    )
    # C[true, predicted]: a failure accepted costs five, a good case refused one.
    point = curve.evaluations["cost"][2]
    failures, lost = curve.evaluations["failures"][2], curve.evaluations["good_lost"][2]
    assert point.upper == pytest.approx(5 * failures.upper + lost.upper, abs=1e-12)


def test_a_step_is_narrower_than_the_difference_of_two_points(curve):
    step = curve.difference(0.5, 0.6)
    points = curve.evaluations["failures"]
    assert step.width < points[2].width
    assert 0.0 <= step.lower <= step.upper <= 0.1, "a tenth of the cases cannot fail more often than they are"
    assert step.lower == pytest.approx(points[3].lower - points[2].lower, abs=1e-12), "nested: ends subtract"


def test_at_the_human_rate_it_is_what_compare_says(curve, sample, data):
    against = curve.against_human()
    expected = sl.compare(score(sample.X), "human", data, **QUICK)
    assert (against.lower, against.ci_upper) == pytest.approx((expected.lower, expected.ci_upper), abs=1e-12)


def test_the_human_point_is_a_count(curve, sample):
    point = curve.human["failures"]
    assert point.lower == point.upper == pytest.approx(np.mean(sample.y == 1))
    assert point.exact
    assert curve.human["failure_rate"].lower == pytest.approx(np.mean(sample.y[sample.decision == 1] == 1))


def test_points_of_decision_makers_are_their_own_shares(curve, sample):
    for row in curve.decision_makers.itertuples():
        own = sample.decision_maker == row.decision_maker
        assert row.cases == own.sum()
        assert row.failures == pytest.approx(np.mean(sample.y[own] == 1))
        assert row.failures_ci_lower < row.failures < row.failures_ci_upper


def test_contraction_is_human_and_score_on_the_most_lenient(sample, data):
    """Contraction says what "both" says on the cases of the decision-maker who accepts most."""
    old = sl.contraction(score(sample.X), data)
    own = sample.decision_maker == old.decision_makers[0]
    mine = sl.SelectiveLabels.from_arrays(
        sample.X[own], sample.y[own], decision_maker=sample.decision_maker[own]
    )
    both = sl.policy_curve(
        score(sample.X)[own], mine, rule="both", rates=[0.3, 0.6, 1.0], assumption="none", **QUICK
    )
    for accepted, failures in zip(both.evaluations["acceptance"], both.evaluations["failures"], strict=True):
        assert failures.lower == failures.upper
        # Contraction draws a straight line over the cases with equal scores, and over refused ones here.
        assert failures.lower == pytest.approx(float(old.at(accepted.lower).lower[0]), abs=1e-12)


def test_either_and_both_stand_around_the_human(sample, data):
    """ "both" accepts less than the human, "either" more; the rest follows."""
    both, either = (
        sl.policy_curve(score(sample.X), data, rule=rule, rates=[0.4], **QUICK) for rule in ("both", "either")
    )
    human = both.human
    assert both.evaluations["acceptance"][0].upper < human["acceptance"].lower
    assert either.evaluations["acceptance"][0].lower > human["acceptance"].lower
    more = either.difference("human", 0.4)
    assert more.lower >= -LIMIT * more.standard_errors[0], "nobody is refused in addition"
    assert both.difference("human", 0.4).upper <= 0.0
    total = both.evaluations["acceptance"][0].lower + either.evaluations["acceptance"][0].lower
    assert total == pytest.approx(0.4 + human["acceptance"].lower), "intersection and union"


def test_teams_in_compare_and_evaluate(sample, data):
    team = sl.Policy(score(sample.X), acceptance=0.5, with_human="both")
    result = sl.compare(team, "human", data, metric="failures", **QUICK)
    assert result.verdict == "a", "fewer cases accepted, so fewer failures"
    assert result.lower == result.upper
    assert result.disagreement == pytest.approx(
        np.mean((sample.y >= 0) & (score(sample.X) > np.median(score(sample.X)))), abs=2e-3
    )
    value = sl.evaluate(team, data, metric=["failures", "failure_rate"], **QUICK)
    human = np.mean(sample.y == 1)
    assert value[0].lower - human == pytest.approx(result.lower)
    costs = sl.compare(team, sl.Policy(score(sample.X), acceptance=0.5), data, cost=COST, **QUICK)
    assert costs.metric == "cost"
    assert costs.ci_lower < costs.lower <= costs.upper < costs.ci_upper


def test_deferring_everything_is_the_human_and_nothing_the_score(sample, data):
    scores = score(sample.X)
    everything, nothing = (
        sl.Policy(scores, acceptance=0.5, with_human=np.full(900, share)) for share in (True, False)
    )
    result = sl.compare(everything, "human", data, **QUICK)
    assert (result.lower, result.upper, result.disagreement) == (0.0, 0.0, 0.0)
    alone = sl.evaluate(sl.Policy(scores, acceptance=0.5), data, **QUICK)
    deferred = sl.evaluate(nothing, data, **QUICK)
    assert (alone.lower, alone.ci_upper) == (deferred.lower, deferred.ci_upper)


def test_undecided_cases_go_to_the_human(sample, data):
    class Rule:
        classes_ = np.array([0, 1])

        def predict(self, X):
            return (X[:, 0] < 0).astype(int)

        def decision_function(self, X):
            return -X[:, 0]

        def decided(self, X):
            return np.abs(X[:, 0]) > 0.5

    by_name = sl.evaluate(sl.Policy(Rule(), threshold=0.0, with_human="undecided"), data, **QUICK)
    rows = np.abs(sample.X[:, 0]) <= 0.5
    by_rows = sl.evaluate(sl.Policy(-sample.X[:, 0], threshold=0.0, with_human=rows), data, **QUICK)
    assert (by_name.lower, by_name.ci_upper) == pytest.approx((by_rows.lower, by_rows.ci_upper), abs=1e-12)
    alone = sl.evaluate(sl.Policy(-sample.X[:, 0], threshold=0.0), data, **QUICK)
    assert by_name.width < alone.width, "what the human accepts of them is seen"


def test_with_every_label_seen_a_threshold_gives_counts():
    X, y, _ = fully_labeled()
    result = sl.evaluate(sl.Policy(score(X), threshold=0.0), X, y)
    assert result.exact
    assert result.lower == pytest.approx(np.mean((score(X) < 0) & (y == 1)))


def test_weight_two_is_a_row_twice(sample):
    weights = 1.0 + (np.arange(900) % 2)
    twice = np.repeat(np.arange(900), weights.astype(int))
    points = []
    for rows, given in ((np.arange(900), {"sample_weight": weights}), (twice, {})):
        found = sl.policy_curve(
            score(sample.X)[rows], sample.X[rows], sample.y[rows], rates=[0.5], cost=COST, assumption="none",
            decision_maker=sample.decision_maker[rows], **given, **QUICK,
        )  # fmt: skip
        points.append([found.evaluations[name][0].upper for name in ("failures", "failure_rate", "cost")])
    np.testing.assert_allclose(*points, atol=1e-12)


def test_text_frame_json_and_plot(curve):
    text = str(curve)
    assert "more failures in 100 cases" in text
    assert "Could still be best" in text
    assert "Assumption (instrument)" in text
    assert max(len(line) for line in text.splitlines()[:6]) < 160, "the table fits"
    assert len(json.loads(curve.to_json())["table"]) == len(curve) == 5
    for measure in ("failures", "profit"):
        assert curve.plot(measure).get_ylabel()


def test_a_refused_label_is_never_read(sample):
    garbage = np.where(sample.decision == 1, sample.y_true, 1 - sample.y_true)
    frames = [
        sl.policy_curve(
            score(sample.X), sample.X, labels, rates=[0.5], decision=sample.decision, cost=COST,
            decision_maker=sample.decision_maker, **QUICK,
        ).to_frame()
        for labels in (sample.y_true, garbage)
    ]  # fmt: skip
    assert frames[0].equals(frames[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rates": [0.2, 1.2]}, "rates must be numbers between 0 and 1"),
        ({"rates": "many"}, "rates must be numbers"),
        ({"rule": "all"}, "rule='all' is not one of"),
        ({"cost": [[1, 2, 3]]}, "cost has shape"),
        ({"cost": "much"}, "cost must hold numbers"),
        ({"assumption": ["none", "instrument"]}, "takes one assumption"),
    ],
)
def test_bad_values_of_the_curve(sample, data, options, message):
    with pytest.raises(sl.InputError, match=message):
        sl.policy_curve(score(sample.X), data, **QUICK | options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"acceptance": 0.5, "threshold": 0.0}, "not both"),
        ({"acceptance": 1.5}, "between 0 and 1"),
        ({"threshold": np.nan}, "finite"),
        ({"with_human": "never"}, "with_human is 'never'"),
    ],
)
def test_bad_policies(options, message):
    with pytest.raises(sl.InputError, match=message):
        sl.Policy([0.1, 0.2], **options)


def test_bad_comparisons(sample, data):
    policy = sl.Policy(score(sample.X))
    with pytest.raises(sl.InputError, match="another Policy or with 'human'"):
        sl.compare(policy, 1, data, **QUICK)
    with pytest.raises(sl.InputError, match="needs cost="):
        sl.compare(policy, "human", data, metric="cost", **QUICK)
    with pytest.raises(sl.InputError, match="is not one of"):
        sl.evaluate(policy, data, metric="tpr", **QUICK)
    with pytest.raises(sl.InputError, match="method decided"):
        sl.evaluate(sl.Policy(score(sample.X), with_human="undecided"), data, **QUICK)
    with pytest.raises(sl.InputError, match="give one value for each"):
        sl.evaluate(sl.Policy(score(sample.X), with_human=[True]), data, **QUICK)


def test_a_score_that_is_high_for_good_cases_is_noticed(sample, data):
    risk = score(sample.X)
    for judge in (
        lambda given: sl.evaluate(sl.Policy(given), data, **QUICK),
        lambda given: sl.compare(sl.Policy(given), "human", data, **QUICK),
        lambda given: sl.policy_curve(given, data, rates=[0.5], **QUICK),
    ):
        with pytest.warns(UserWarning, match="if a high score means a good case, turn its sign"):
            judge(-risk)
        judge(risk)  # a warning would be an error
