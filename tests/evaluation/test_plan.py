"""Plans: formulas against brute force, and sentences for what cannot be."""

import numpy as np
import pytest

import selective_labels as sl
from selective_labels.datasets import make_decision_makers
from selective_labels.evaluation.plan import expected_maximum, lottery_error, lottery_width
from selective_labels.evaluation.results import Design
from selective_labels.evaluation.scored_rows import leniency_moments

QUICK = {"nuisance": "logistic", "propensity": "shares", "cv": 2, "random_state": 0}


@pytest.fixture(scope="module")
def sample():
    return make_decision_makers(1200, n_classes=2, n_decision_makers=6, random_state=4)


@pytest.fixture(scope="module")
def data(sample):
    return sl.SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)


@pytest.fixture(scope="module")
def result(sample, data):
    return sl.evaluate((sample.X[:, 0] < 0).astype(int), data, **QUICK)


@pytest.fixture(scope="module")
def comparison(sample, data):
    one, other = (sample.X[:, 0] < 0).astype(int), (sample.X[:, 0] + 0.4 * sample.X[:, 1] < 0.1).astype(int)
    return sl.compare(one, other, data, **QUICK)


def test_the_largest_of_some_normal_variables():
    draws = np.random.default_rng(0).standard_normal((20_000, 12)).max(axis=1)
    assert expected_maximum(12) == pytest.approx(draws.mean(), abs=4.5 * draws.std() / np.sqrt(20_000))


def test_the_error_after_a_lottery_is_that_of_the_weighted_mean(sample):
    """By the library itself: labels of the drawn, weighted, everything seen."""
    right = (sample.y_true == (sample.X[:, 0] < 0)).astype(float)
    taken = sample.decision == 1
    design = Design(
        1200, taken.mean(), right[taken].mean(), right[taken].mean(), right[~taken].mean(),
        right[~taken].mean(), 1.0, 0.5, 0.1, 6,
    )  # fmt: skip
    widths = []
    for seed in range(20):
        drawn = np.random.default_rng(seed).choice(np.flatnonzero(~taken), 150, replace=False)
        rows = np.concatenate([np.flatnonzero(taken), drawn])
        weights = np.where(taken[rows], 1.0, (~taken).sum() / 150)
        found = sl.evaluate(
            (sample.X[rows, 0] < 0).astype(int), sample.X[rows], sample.y_true[rows], sample_weight=weights
        )
        widths.append(found.ci_upper - found.ci_lower)
    assert lottery_width(design, 150, 0.95) == pytest.approx(np.mean(widths), rel=0.03)


def test_all_refused_drawn_is_every_label_seen():
    design = Design(1000, 0.6, 0.7, 0.7, 0.4, 0.4, 1.0, 0.6, 0.1, 5)
    share = 0.6 * 0.7 + 0.4 * 0.4
    assert lottery_error(design, 400) == pytest.approx(np.sqrt(share * (1 - share) / 1000))


def test_spread_of_leniency_has_no_noise_in_it():
    """Equal rates: what is seen to differ is noise, and mean squares agree to 4.5 errors."""
    generator = np.random.default_rng(1)
    squares = []
    for _ in range(200):
        makers = np.repeat(np.arange(20), 30)
        y = np.where(generator.random(600) < 0.5, 1, -1)
        y[:2] = [0, 1]
        data = sl.SelectiveLabels.from_arrays(np.zeros((600, 1)), y, decision_maker=makers)
        squares.append(leniency_moments(data)[1] ** 2)
    # About half of the draws are below zero and cut off; the raw variance would be 0.0083.
    assert np.mean(squares) < 0.0083 / 4


def test_ways(result):
    found = sl.plan(result, lottery=200, leniency=1.0)
    frame = found.to_frame().set_index("way")
    now = result.ci_upper - result.ci_lower
    assert frame["interval"].iloc[0] == pytest.approx(now)
    errors = frame["interval"] - frame["bounds"]
    assert errors["2 times the cases"] == pytest.approx(errors.iloc[0] / np.sqrt(2), rel=0.05)
    assert frame["bounds"]["12 decision-makers"] < result.width
    assert frame.filter(like="who accept 100%", axis=0)["bounds"].iloc[0] == pytest.approx(0.0, abs=1e-12)
    assert frame["interval"]["200 refused cases accepted at random"] < now
    assert "Predictions by formula" in str(found)


def test_where_only_some_labels_matter_the_draw_is_among_these(comparison):
    found = sl.plan(comparison, lottery=100)
    frame = found.to_frame()
    last, before = frame.iloc[-1], frame.iloc[-2]
    assert "on which the two differ" in last["way"]
    assert last["interval"] < before["interval"], "labels that do not matter are not paid for"
    assert (found.worth > 0).sum() == pytest.approx(
        comparison.design.relevant * (1 - comparison.design.acceptance) * 1200, abs=1
    )


def test_targets(result, comparison):
    narrow = " ".join(sl.plan(result, width=result.width / 2).answers)
    assert "No number of cases" in narrow
    assert "refused cases" in narrow
    target = result.width + 0.5 * (result.ci_upper - result.ci_lower - result.width)
    assert "needs" in sl.plan(result, width=target).answers[0]
    assert "as it is" in sl.plan(result, width=1.0).answers[0]
    if comparison.lower <= 0.0 <= comparison.upper:
        assert "No number of cases settles it" in sl.plan(comparison).answers[-1]


def test_a_study_yet_to_be_made(data):
    frame = sl.plan_study(width=0.4, acceptance=0.6, leniency_spread=0.15)
    assert (np.diff(frame["bounds"]) < 0).all(), "more decision-makers, narrower bounds"
    assert np.isnan(sl.plan_study(width=0.1, acceptance=0.5, leniency_spread=0.0)["cases"]).all()
    diagnosed = sl.plan_study(sl.diagnose(data, nuisance="logistic", random_state=0), width=0.6)
    mean, spread = leniency_moments(data)
    by_hand = sl.plan_study(width=0.6, acceptance=mean, leniency_spread=spread)
    np.testing.assert_allclose(diagnosed["bounds"], by_hand["bounds"], atol=0.02)


def test_power_of_a_study_is_that_of_a_normal_end():
    """One decision-maker who accepts everybody: no slack, and a plain one-sided test."""
    found = sl.plan_study(
        effect=0.05, disagreement=0.2, acceptance=1.0, leniency_spread=0.0, decision_makers=(1,)
    )
    assert found["cases"][0] == np.ceil(0.2 * ((1.6448536 + 0.8416212) / 0.05) ** 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cases": 0.5}, "cases=0.5"),
        ({"decision_makers": 0}, "decision_makers=0"),
        ({"leniency": 1.5}, "leniency is 1.5"),
        ({"lottery": 10_000}, "cases were refused"),
        ({"width": 0.0}, "width is 0.0"),
        ({"power": 1.0}, "power is 1.0"),
    ],
)
def test_bad_values(result, options, message):
    with pytest.raises(sl.InputError, match=message):
        sl.plan(result, **options)


def test_a_plan_needs_a_result():
    with pytest.raises(sl.InputError, match="plan takes one result"):
        sl.plan(0.3)
    with pytest.raises(sl.InputError, match="give a diagnosis"):
        sl.plan_study(width=0.2)
    with pytest.raises(sl.InputError, match="width or effect"):
        sl.plan_study(acceptance=0.5, leniency_spread=0.1)
    with pytest.raises(sl.InputError, match="needs disagreement"):
        sl.plan_study(effect=0.1, acceptance=0.5, leniency_spread=0.1)


def test_a_lottery_that_is_not_predicted_is_not_passed_over_in_silence(data, sample):
    rule = (sample.X[:, 0] < 0).astype(int)
    found = sl.evaluate(rule, data, metric="tpr", **QUICK)
    made = sl.plan(found, lottery=20)
    assert not any("at random" in each["way"] for each in made.rows)
    assert "What a lottery, or other decision-makers, would bring to tpr is not predicted" in str(made)
