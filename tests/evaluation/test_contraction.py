"""Contraction against a case-by-case version, and where its assumption holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from selective_labels import contraction
from selective_labels.inference.exact_intervals import wilson
from tests.reference.contraction import contracted

# Standard errors of a false alarm of 7e-6 per comparison.
LIMIT = 4.5


def draw(seed, n_samples=400, n_makers=4, decimals=12):
    """Cases with a hidden reason that moves decision and outcome, assigned by lot."""
    rng = np.random.default_rng(seed)
    x, hidden = rng.standard_normal((2, n_samples))
    maker = rng.integers(n_makers, size=n_samples)
    decision = (rng.random(n_samples) < expit(1.5 * maker / n_makers - 0.5 - x - 2 * hidden)).astype(int)
    failed = (rng.random(n_samples) < expit(x + 2 * hidden)).astype(int)
    return x.round(decimals), np.where(decision == 1, failed, -1), maker, decision, failed


@pytest.mark.parametrize("seed", range(5))
def test_whole_curve_equals_contraction_case_by_case(seed):
    score, y, maker, decision, _ = draw(seed)
    curve = contraction(score, y, decision_maker=maker)
    rates = [decision[maker == j].mean() for j in range(4)]
    mine = maker == np.argmax(rates)
    expected = [
        contracted(score[mine], decision[mine], y[mine] == 1, kept)
        for kept in range(decision[mine].sum() + 1)
    ]
    assert_allclose(curve.lower, expected, atol=1e-12)
    assert_allclose(curve.x, np.arange(len(expected)) / mine.sum(), atol=1e-12)
    assert curve.decision_makers.tolist() == [np.argmax(rates)]
    assert curve.n_samples == mine.sum()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000))
def test_equal_scores_give_the_mean_over_orders(seed):
    score, y, maker, _, _ = draw(seed, n_samples=40, n_makers=1, decimals=0)
    y[0] = 1  # somebody fails
    curve = contraction(score, y, decision_maker=maker, pos_label=1)
    expected = [0.0]
    for value in np.unique(score[y >= 0]):
        tied = y[(score == value) & (y >= 0)]
        expected += [expected[-1] + np.mean(tied == 1) / 40 * m for m in range(1, len(tied) + 1)]
    grid = np.minimum(np.arange(len(expected)) / 40, curve.x[-1])
    assert_allclose(
        curve.at(grid).lower, expected, atol=1e-12
    )  # each of m tied cases fails with the mean rate


def test_row_order_does_not_matter():
    score, y, maker, _, _ = draw(0, decimals=1)
    order = np.random.default_rng(1).permutation(len(y))
    one = contraction(score, y, decision_maker=maker)
    other = contraction(score[order], y[order], decision_maker=maker[order])
    assert_allclose(one.lower, other.lower, atol=1e-12)


def test_it_finds_the_failure_rate_of_the_intersection_policy():
    score, y, maker, _, _ = draw(0, n_samples=40_000)
    curve = contraction(score, y, decision_maker=maker)
    # Every case decided by the most lenient rule: the population in which contraction claims to stand.
    big = np.random.default_rng(1)
    x, hidden = big.standard_normal((2, 1_000_000))
    accepted = big.random(1_000_000) < expit(1.5 * 3 / 4 - 0.5 - x - 2 * hidden)
    fails = big.random(1_000_000) < expit(x + 2 * hidden)
    for rate in (0.1, 0.3, 0.5):
        cut = np.quantile(np.where(accepted, x, np.inf), rate)
        policy = accepted & (x <= cut)
        truth = np.mean(policy & fails)
        error = np.sqrt(truth * (1 - truth) * (1 / curve.n_samples + 1e-6))
        assert abs(curve.at(rate).lower[0] - truth) < LIMIT * error  # the policy "both accept"
    alone = np.mean((x <= np.quantile(x, 0.5)) & fails)
    assert abs(curve.at(0.5).lower[0] - alone) > LIMIT * error  # and not the score alone


def test_intervals_cover_at_a_fixed_acceptance():
    n_repeats, covered = 200, 0
    big = np.random.default_rng(1)
    x, hidden = big.standard_normal((2, 1_000_000))
    accepted = big.random(1_000_000) < expit(1.5 * 3 / 4 - 0.5 - x - 2 * hidden)
    fails = big.random(1_000_000) < expit(x + 2 * hidden)
    truth = np.mean(accepted & (x <= np.quantile(np.where(accepted, x, np.inf), 0.4)) & fails)
    for seed in range(n_repeats):
        score, y, maker, _, _ = draw(seed + 100, n_samples=1600)
        read = contraction(score, y, decision_maker=maker, pool=0.02, random_state=0).at(0.4)
        covered += read.ci_lower[0] <= truth <= read.ci_upper[0]
    # 4.5 binomial standard deviations below 95 %.
    assert covered / n_repeats > 0.95 - LIMIT * np.sqrt(0.95 * 0.05 / n_repeats)


def test_human_curve_is_what_each_decision_maker_did():
    score, y, maker, decision, _ = draw(3)
    human = contraction(score, y, decision_maker=maker).human
    points = sorted((decision[maker == j].mean(), np.mean(y[maker == j] == 1)) for j in range(4))
    assert_allclose(np.column_stack([human.x, human.lower]), points)
    middle = (human.x[0] + human.x[1]) / 2
    assert_allclose(human.at(middle).lower, (human.lower[0] + human.lower[1]) / 2)  # interpolated


def test_versus_human_compares_at_equal_acceptance():
    score, y, maker, _, _ = draw(3)
    curve = contraction(score, y, decision_maker=maker)
    table = curve.versus_human()
    assert_allclose(table["contraction"], curve.at(np.minimum(table["acceptance"], curve.x[-1])).lower)
    assert_allclose(table["difference"], table["contraction"] - table["human"])
    assert abs(table["difference"].iloc[-1]) < 1e-12  # the most lenient one meets the end of the curve
    assert not curve.to_frame()["human"].isna().iloc[-1]


def test_pooled_decision_makers_are_chosen_off_fold():
    rng = np.random.default_rng(0)
    n_samples, n_makers = 3000, 100  # thirty cases each and all alike: the in-sample maximum is noise
    maker = rng.integers(n_makers, size=n_samples)
    y = np.where(rng.random(n_samples) < 0.5, rng.random(n_samples) < 0.3, -1).astype(int)
    score = rng.random(n_samples)
    alone = contraction(score, y, decision_maker=maker)
    pooled = contraction(score, y, decision_maker=maker, pool=0.01, random_state=0)
    error = np.sqrt(0.25 / pooled.n_samples)
    assert alone.x[-1] > 0.65  # the winner's curse
    assert abs(pooled.x[-1] - 0.5) < LIMIT * error  # chosen by other cases, it is gone
    assert pooled.n_samples > 10 * alone.n_samples


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10_000))
def test_curve_rises_and_stays_below_acceptance(seed):
    score, y, maker, _, _ = draw(seed, n_samples=60)
    curve = contraction(score, y, decision_maker=maker, pos_label=0, min_cases=2)
    assert (np.diff(curve.lower) >= 0).all()
    assert (curve.lower <= curve.x + 1e-12).all()  # failures are accepted cases
    assert ((curve.ci_lower <= curve.lower + 1e-12) & (curve.lower <= curve.ci_upper + 1e-12)).all()


def test_wilson_interval_inverts_the_score_test():
    rate, n_cases = np.array([0.0, 0.1, 0.5, 1.0]), 80
    for end in wilson(rate, n_cases, 0.95):
        inside = (end > 0) & (end < 1)
        distance = np.abs(rate - end)[inside] / np.sqrt(end * (1 - end) / n_cases)[inside]
        assert_allclose(distance, 1.959964, rtol=1e-6)


def test_unseen_labels_are_never_read():
    score, y, maker, decision, _ = draw(0)
    garbage = np.random.default_rng(1).integers(-1, 9, len(y))
    clean = contraction(score, y, decision_maker=maker, decision=decision)
    dirty = contraction(score, np.where(decision == 1, y, garbage), decision_maker=maker, decision=decision)
    assert_array_equal(clean.lower, dirty.lower)
    assert_array_equal(clean.ci_upper, dirty.ci_upper)
    assert_array_equal(clean.human.lower, dirty.human.lower)


def test_it_says_what_it_identifies_and_draws_itself():
    score, y, maker, _, _ = draw(0)
    curve = contraction(score, y, decision_maker=maker)
    assert "not of the score alone" in str(curve)
    assert "as if by lot" in curve._repr_html_()
    axes = curve.plot(Figure().subplots())
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["contraction", "human"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": np.full(400, np.nan)}, "score must be one column of finite numbers"),
        ({"score": np.zeros((400, 2))}, "score must be one column of finite numbers"),
        ({"score": np.zeros(399)}, "equal length"),
        ({"pos_label": 7}, "pos_label=7 is not among the labels '0', '1'"),
        ({"pool": 1.5}, "pool=1.5 must lie between 0 and 1"),
        ({"y": np.full(400, -1)}, "no label at all"),
        ({"decision_maker": [None] * 400}, "decision_maker is missing"),
    ],
)
def test_bad_input_gets_one_clear_sentence(change, message):
    score, y, maker, _, _ = draw(0)
    arguments = {"score": score, "y": y, "decision_maker": maker} | change
    with pytest.raises(ValueError, match=message):
        contraction(**arguments)


def test_four_cases_do_not_make_the_most_lenient():
    """Somebody who accepted all of four cases is not taken; the result says who may be."""
    score, y, maker, _, _ = draw(0)
    maker, y = maker.copy(), y.copy()
    maker[:4], y[:4] = 9, 1
    curve = contraction(score, y, decision_maker=maker)
    assert curve.decision_makers.tolist() == [3]
    assert "the most lenient decision-maker with 30 cases or more (3)" in str(curve)
    assert contraction(score, y, decision_maker=maker, min_cases=4).decision_makers.tolist() == [9]
    with pytest.raises(ValueError, match=r"no decision-maker has min_cases=500 cases .* pool=0\.1"):
        contraction(score, y, decision_maker=maker, min_cases=500)
