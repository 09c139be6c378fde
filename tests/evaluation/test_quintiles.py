"""Contraction of the most lenient band within strata: bands, weights, and what they buy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels import contraction, quintile_contraction
from tests.reference.contraction import band_of, contracted

LIMIT = 4.5  # standard errors of a false alarm of 7e-6


def draw(seed, n_samples=3000, n_makers=30, n_strata=3):
    """Strata differ in risk and decision-makers work in one stratum each; leniency varies within."""
    rng = np.random.default_rng(seed)
    maker = rng.integers(n_makers, size=n_samples)
    stratum = maker % n_strata
    leniency = 0.3 + 0.5 * (maker // n_strata) / (n_makers // n_strata)
    risk = np.clip(rng.random(n_samples) * 0.6 + 0.2 * stratum / n_strata, 0, 1)
    decision = (rng.random(n_samples) < leniency - 0.2 * stratum / n_strata).astype(int)
    failed = (rng.random(n_samples) < risk).astype(int)
    return risk, np.where(decision == 1, failed, -1), maker, stratum, decision, failed


def by_hand(risk, y, maker, stratum, decision, n_bands):
    """Bands ranked by the same cases, and everything else with loops."""
    surplus = {
        j: np.mean([decision[i] - decision[stratum == stratum[i]].mean() for i in np.flatnonzero(maker == j)])
        for j in np.unique(maker)
    }
    band = band_of(maker.tolist(), stratum.tolist(), surplus, n_bands)
    acceptance, failure = np.zeros(n_bands), np.zeros(n_bands)
    for number in range(n_bands):
        for cell in np.unique(stratum):
            rows = (band == number) & (stratum == cell)
            share = np.mean(stratum == cell)
            acceptance[number] += share * decision[rows].mean()
            failure[number] += share * np.mean(y[rows] == 1)
    return band, acceptance, failure


@pytest.mark.parametrize("seed", range(3))
def test_bands_and_rates_equal_those_by_hand(seed):
    risk, y, maker, stratum, decision, _ = draw(seed, n_samples=1000)
    result = quintile_contraction(risk, y, decision_maker=maker, strata=stratum, cv=None)
    band, acceptance, failure = by_hand(risk, y, maker, stratum, decision, 5)
    order = np.argsort(acceptance)
    assert_allclose(result.human.x, acceptance[order], atol=1e-12)
    assert_allclose(result.human.lower, failure[order], atol=1e-12)
    assert result.decision_makers.tolist() == np.unique(maker[band == 4]).tolist()
    assert_allclose(result.lower[-1], failure[4], atol=1e-12)  # nobody refused yet: what the band did
    assert_allclose(result.x[-1], acceptance[4], atol=1e-12)


def test_one_stratum_with_one_band_member_is_plain_contraction():
    risk, y, maker, _, decision, _ = draw(0, n_makers=5, n_strata=1)
    quintile = quintile_contraction(risk, y, decision_maker=maker, cv=None)
    plain = contraction(risk, y, decision_maker=maker)
    assert_allclose(quintile.lower, plain.lower, atol=1e-12)
    assert_allclose(quintile.x, plain.x, atol=1e-12)
    mine = maker == plain.decision_makers[0]
    half = decision[mine].sum() // 2
    expected = contracted(risk[mine], decision[mine], y[mine] == 1, half)
    assert_allclose(quintile.at(half / mine.sum()).lower, expected, atol=1e-12)


def test_weights_give_all_bands_the_same_strata():
    # Outcomes depend on the stratum alone: then failures per accepted case are the same in all bands.
    rng = np.random.default_rng(0)
    n_samples = 40_000
    stratum = rng.integers(2, size=n_samples)
    maker = np.where(
        stratum == 0,
        rng.choice(10, n_samples, p=np.arange(1, 11) / 55),
        rng.choice(10, n_samples, p=np.arange(10, 0, -1) / 55),
    )
    decision = (rng.random(n_samples) < 0.3 + 0.05 * maker).astype(int)
    failed = (rng.random(n_samples) < np.array([0.2, 0.6])[stratum]).astype(int)
    y = np.where(decision == 1, failed, -1)
    result = quintile_contraction(rng.random(n_samples), y, decision_maker=maker, strata=stratum)
    # Strata weigh the same in every band, so failures per accepted case are the mean of both.
    rate = result.human.lower / result.human.x
    truth = np.average([0.2, 0.6], weights=np.bincount(stratum))
    error = np.sqrt(0.4 * 0.6 / (n_samples / 5 * 0.3)) * 2  # twice: weights cost effective cases
    assert (np.abs(rate - truth) < LIMIT * error).all()


def test_a_risk_score_beats_decisions_at_random():
    risk, y, maker, stratum, _, _ = draw(0, n_samples=20_000)
    table = quintile_contraction(risk, y, decision_maker=maker, strata=stratum, random_state=0).versus_human()
    assert (table["difference"].iloc[:3] < 0).all()  # refusing by risk is better than refusing by lot
    assert (np.diff(table["acceptance"]) > 0).all()


def test_a_case_does_not_choose_its_own_band():
    rng = np.random.default_rng(0)
    n_samples = 4000  # eight cases a decision-maker, all alike
    maker = rng.integers(500, size=n_samples)
    y = np.where(rng.random(n_samples) < 0.5, rng.random(n_samples) < 0.3, -1).astype(int)
    score = rng.random(n_samples)
    off_fold = quintile_contraction(score, y, decision_maker=maker, random_state=0)
    in_sample = quintile_contraction(score, y, decision_maker=maker, cv=None)
    error = np.sqrt(0.25 / (n_samples / 5))
    assert in_sample.human.x[-1] - in_sample.human.x[0] > 0.3  # leniency out of thin air
    assert np.ptp(off_fold.human.x) < 2 * LIMIT * error


def test_small_strata_are_left_out_and_counted():
    risk, y, maker, stratum, _, _ = draw(0, n_samples=1000)
    lonely = stratum.astype(object)
    lonely[:40] = "alone"
    maker = maker.copy()
    maker[:40] = 777
    result = quintile_contraction(risk, y, decision_maker=maker, strata=lonely.astype(str), cv=None)
    assert "40 of 1000 cases lie in strata that are too small" in str(result)
    rest = quintile_contraction(risk[40:], y[40:], decision_maker=maker[40:], strata=stratum[40:], cv=None)
    assert_allclose(result.human.lower, rest.human.lower, atol=1e-12)


def test_unseen_labels_are_never_read():
    risk, y, maker, stratum, decision, _ = draw(0)
    garbage = np.random.default_rng(1).integers(-1, 9, len(y))
    results = [
        quintile_contraction(
            risk, labels, decision_maker=maker, strata=stratum, decision=decision, random_state=0
        )
        for labels in (y, np.where(decision == 1, y, garbage))
    ]
    assert_array_equal(results[0].lower, results[1].lower)
    assert_array_equal(results[0].human.ci_lower, results[1].human.ci_lower)


def test_bad_input_gets_one_clear_sentence():
    risk, y, maker, stratum, _, _ = draw(0)
    with pytest.raises(ValueError, match="n_bands=1 must be a whole number, 2 or more"):
        quintile_contraction(risk, y, decision_maker=maker, n_bands=1)
    with pytest.raises(ValueError, match="no stratum has cases in all 5 leniency bands"):
        quintile_contraction(risk, y, decision_maker=maker % 3, strata=stratum)
    with pytest.raises(ValueError, match="strata is missing"):
        quintile_contraction(risk, y, decision_maker=maker, strata=[None] * len(y))
