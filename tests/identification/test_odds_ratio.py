"""Tilts against exact finite populations: every expectation is a sum over all that can happen."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import expit

from selective_labels.identification.odds_ratio import (
    MomentSums,
    TiltWeights,
    contrasts,
    event_odds,
    event_scores,
    everybody,
    far_tilts,
    odds_scores,
    refused,
    relative_odds,
    tilted_answer,
)
from tests.reference.odds_ratios import answer_moments, odds_residuals, odds_score_slopes

EXACT = 1e-8
STEP = 1e-5


class Population:
    """One kind of case, decided by five decision-makers: all rows that can occur, with their chances.

    logit P(D=1 | z, Y*=k) = a_z + γ_k, so model O holds.
    """

    def __init__(self, seed, n_classes):
        rng = np.random.default_rng(seed)
        self.truth = rng.dirichlet(np.full(n_classes, 3.0))
        self.tilt = rng.normal(size=n_classes)
        self.leniency_logits = rng.normal(size=5)
        self.propensity = rng.dirichlet(np.full(5, 3.0))
        self.labeled = self.truth * expit(self.leniency_logits[:, None] + self.tilt)
        self.rng = rng
        self.read()

    def read(self):
        rows = list(product(range(len(self.labeled)), range(-1, self.labeled.shape[1])))
        self.arm, self.y = (np.array(each) for each in zip(*rows, strict=True))
        chance = np.where(self.y >= 0, self.labeled[self.arm, self.y], 1 - self.labeled.sum(axis=1)[self.arm])
        self.chance = self.propensity[self.arm] * chance

    @property
    def leniency(self):
        return self.labeled.sum(axis=1)

    @property
    def instrument(self):
        """Any function of the decision-maker, of mean zero."""
        values = np.sin(1.0 + np.arange(5.0)) + self.leniency
        return values - self.propensity @ values

    def expect(self, values):
        return self.chance @ values

    def spread(self, labeled):
        return np.repeat(labeled[:, None], len(self.y), axis=1)

    @property
    def many(self):
        return np.repeat(self.propensity[None], len(self.y), axis=0)

    def residual_moment(self, labeled, tilt):
        residuals = odds_residuals(self.spread(labeled), self.many, self.arm, self.y, relative_odds(tilt))
        return self.expect(self.instrument[self.arm, None] * residuals)


CASES = [(seed, n_classes) for seed in range(5) for n_classes in (2, 3, 4)]


@pytest.mark.parametrize(("seed", "n_classes"), CASES)
def test_the_same_class_probabilities_for_every_decision_maker(seed, n_classes):
    here = Population(seed, n_classes)
    odds = relative_odds(here.tilt)
    assert_allclose(everybody(here.labeled, odds), np.tile(here.truth, (5, 1)), atol=1e-12)
    unseen = here.truth - here.labeled
    assert_allclose(refused(here.labeled, odds), unseen / unseen.sum(axis=1, keepdims=True), atol=1e-12)


@pytest.mark.parametrize(("seed", "n_classes"), CASES)
def test_scores_have_the_mean_that_they_should(seed, n_classes):
    here = Population(seed, n_classes)
    scores = odds_scores(here.labeled[here.arm], here.y, relative_odds(here.tilt))
    assert_allclose(scores.sum(axis=1), 1.0, atol=1e-12)
    for arm in range(5):
        own = here.arm == arm
        assert_allclose(here.chance[own] @ scores[own] / here.chance[own].sum(), here.truth, atol=EXACT)


@pytest.mark.parametrize(("seed", "n_classes"), CASES)
def test_the_moment_is_zero_at_the_truth_and_flat_in_the_nuisance(seed, n_classes):
    here = Population(seed, n_classes)
    assert_allclose(here.residual_moment(here.labeled, here.tilt), 0.0, atol=EXACT)
    for _ in range(3):
        direction = here.rng.normal(size=here.labeled.shape) * here.labeled
        ends = [here.residual_moment(here.labeled + s * STEP * direction, here.tilt) for s in (1, -1)]
        assert_allclose((ends[0] - ends[1]) / (2 * STEP), 0.0, atol=EXACT)


@pytest.mark.parametrize(("seed", "n_classes"), CASES)
def test_given_the_tilt_the_bias_is_a_product_of_two_errors(seed, n_classes):
    """A wrong q alone, or a wrong c alone, does no harm: checked with both written out."""
    here = Population(seed, n_classes)
    odds = relative_odds(here.tilt)
    share = refused(here.labeled, odds)
    weight = (1 - here.leniency) / (here.labeled @ odds)
    seen = np.eye(n_classes + 1)[here.y][:, :n_classes]
    wrong_share = here.rng.dirichlet(np.ones(n_classes), size=5)
    wrong_weight = weight * here.rng.uniform(0.5, 2.0, size=5)
    for q, c in ((wrong_share, weight), (share, wrong_weight), (wrong_share, wrong_weight)):
        step = np.where(here.y >= 0, 1 + c[here.arm] * odds[here.y], 0.0)
        scores = q[here.arm] + step[:, None] * (seen - q[here.arm])
        for arm in range(5):
            own = here.arm == arm
            bias = here.chance[own] @ scores[own] / here.chance[own].sum() - here.truth
            expected = (q - share)[arm] * (1 - here.leniency[arm] - c[arm] * (here.labeled @ odds)[arm])
            assert_allclose(bias, expected, atol=EXACT)


@pytest.mark.parametrize(("seed", "n_classes"), CASES)
def test_slopes_of_the_score_are_its_derivatives(seed, n_classes):
    here = Population(seed, n_classes)
    own, tilt = here.labeled[here.arm], here.tilt
    slopes = odds_score_slopes(own, here.y, relative_odds(tilt))
    for other in range(n_classes):
        move = STEP * np.eye(n_classes)[other]
        ends = [odds_scores(own, here.y, relative_odds(tilt + s * move)) for s in (1, -1)]
        assert_allclose(slopes[:, :, other], (ends[0] - ends[1]) / (2 * STEP), atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_the_instrument_identifies_the_tilt_of_two_classes(seed):
    """With leniency as the instrument the moment crosses zero at the true tilt."""
    here = Population(seed, 2)

    def moment(contrast):
        tilt = contrast * contrasts(2)[0]
        residuals = odds_residuals(
            here.spread(here.labeled), here.many, here.arm, here.y, relative_odds(tilt)
        )
        deviation = here.leniency - here.propensity @ here.leniency
        return here.expect(deviation[here.arm] * residuals[:, 1])

    true = here.tilt[1] - here.tilt[0]
    assert_allclose(brentq(moment, true - 0.5, true + 0.5, xtol=1e-12), true, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_without_an_instrument_every_tilt_fits(seed):
    here = Population(seed, 3)
    here.labeled[:] = here.labeled[0]
    here.read()
    for tilt in here.rng.normal(size=(4, 3)):
        assert_allclose(here.residual_moment(here.labeled, tilt), 0.0, atol=EXACT)


class Additive(Population):
    """NUCEM: seen labels are linear in leniency with slope η, a tilt of the labeled cases' answer."""

    def __init__(self, seed, n_classes):
        super().__init__(seed, n_classes)
        leniency = self.rng.uniform(0.3, 0.7, size=5)
        covariance = self.rng.normal(size=n_classes)
        covariance -= covariance.mean()
        covariance *= 0.5 * (leniency.min() * self.truth).min() / np.abs(covariance).max()
        self.labeled = leniency[:, None] * self.truth + covariance
        self.mean = self.propensity @ self.labeled
        self.tilt = np.log(self.mean / self.mean.sum()) - np.log(self.truth)
        self.read()

    def answer_moment(self, mean, tilt, strength_factor=1.0):
        strength = self.propensity @ (self.instrument * self.leniency) * strength_factor
        moments = answer_moments(
            np.tile(mean, (len(self.y), 1)),
            self.y,
            relative_odds(tilt),
            self.instrument[self.arm],
            np.full(len(self.y), strength),
        )
        assert_allclose(moments.sum(axis=1), 0.0, atol=1e-12)
        return self.expect(moments)


@pytest.mark.parametrize(("seed", "n_classes"), CASES)
def test_the_tilted_answer_has_an_orthogonal_moment(seed, n_classes):
    here = Additive(seed, n_classes)
    selected = here.mean / here.mean.sum()
    assert_allclose(tilted_answer(selected, relative_odds(here.tilt)), here.truth, atol=1e-12)
    assert_allclose(here.answer_moment(here.mean, here.tilt), 0.0, atol=EXACT)
    assert_allclose(here.answer_moment(here.mean, here.tilt, strength_factor=3.0), 0.0, atol=EXACT)
    for _ in range(3):
        direction = here.rng.normal(size=n_classes) * here.mean
        ends = [here.answer_moment(here.mean + s * STEP * direction, here.tilt) for s in (1, -1)]
        assert_allclose((ends[0] - ends[1]) / (2 * STEP), 0.0, atol=EXACT)


def test_without_its_correction_the_tilted_answer_is_not_orthogonal():
    here = Additive(0, 3)
    direction = np.array([1.0, -0.5, 0.2]) * here.mean

    def uncorrected(mean):
        answer = tilted_answer(mean / mean.sum(), relative_odds(here.tilt))
        seen = np.eye(4)[here.y][:, :3]
        residual = seen - mean - answer * ((here.y >= 0)[:, None] - mean.sum())
        return here.expect(here.instrument[here.arm, None] * residual)

    slope = (uncorrected(here.mean + STEP * direction) - uncorrected(here.mean - STEP * direction)) / (
        2 * STEP
    )
    assert np.abs(slope).max() > 1e-3


@pytest.mark.parametrize("seed", range(10))
def test_the_event_tilt_is_exact_where_the_event_is_tilted(seed):
    """Four classes; refusal depends on whether the prediction is right, and on nothing else of the label."""
    here = Population(seed, 4)
    predicted, gamma = 2, here.rng.normal()
    right = np.arange(4) == predicted
    here.labeled = here.truth * expit(here.leniency_logits[:, None] + gamma * right)
    here.read()
    chance, event = here.labeled[:, predicted], here.y == predicted

    def mean_score(chance, leniency):
        scores = event_scores(chance[here.arm], leniency[here.arm], event, here.y >= 0, float(np.exp(-gamma)))
        return here.expect(here.instrument[here.arm] * scores), here.expect(scores)

    assert_allclose(mean_score(chance, here.leniency), [0.0, here.truth[predicted]], atol=EXACT)
    for _ in range(3):
        moves = here.rng.normal(size=(2, 5)) * 0.1
        ends = [
            mean_score(chance + s * STEP * moves[0], here.leniency + s * STEP * moves[1]) for s in (1, -1)
        ]
        assert_allclose((np.array(ends[0]) - ends[1]) / (2 * STEP), 0.0, atol=EXACT)


def test_infinite_tilts_are_limits():
    labeled, y = np.array([[0.1, 0.3], [0.2, 0.2], [0.4, 0.3]]), np.array([0, 1, -1])
    for sign in (1, -1):
        near = odds_scores(labeled, y, relative_odds([0.0, sign * 40.0]))
        assert_allclose(odds_scores(labeled, y, relative_odds([0.0, sign * np.inf])), near, atol=1e-12)
    chance, leniency = labeled[:, 1], labeled.sum(axis=1)
    for ratio in (0.0, np.inf):
        near = event_scores(chance, leniency, y == 1, y >= 0, np.clip(ratio, 1e-15, 1e15))
        assert_allclose(event_scores(chance, leniency, y == 1, y >= 0, ratio), near, atol=1e-12)
        # Right where seen, nobody or everybody where not: the ends without an instrument.
        expected = np.where(y >= 0, y == 1, ratio > 0)
        assert_allclose(event_scores(chance, leniency, y == 1, y >= 0, ratio), expected, atol=1e-12)


def test_the_event_tilt_of_two_classes_is_the_class_tilt():
    labeled, y = np.array([[0.1, 0.3], [0.2, 0.2], [0.4, 0.3]]), np.array([0, 1, -1])
    by_event = event_scores(labeled[:, 1], labeled.sum(axis=1), y == 1, y >= 0, 3.0)
    assert_allclose(by_event, odds_scores(labeled, y, event_odds(3.0))[:, 1])


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_contrasts_are_orthogonal_and_sum_to_zero(n_classes):
    rows = contrasts(n_classes)
    assert_allclose(rows @ rows.T, np.eye(n_classes - 1) / 2, atol=1e-12)
    assert_allclose(rows.sum(axis=1), 0.0, atol=1e-12)


def test_statistic_is_the_quadratic_form():
    rng = np.random.default_rng(0)
    moments = rng.normal(size=(4, 500, 2))
    mean = moments.mean(axis=1)
    covariance = np.stack([np.cov(each.T, bias=True) for each in moments])
    statistic = MomentSums(mean, covariance, 500).statistic
    expected = [500 * m @ np.linalg.inv(c) @ m for m, c in zip(mean, covariance, strict=True)]
    assert_allclose(statistic, expected, rtol=1e-8)


def test_weights_are_prior_times_likelihood():
    contrast = np.linspace(-6, 6, 601)
    tilts = np.vstack([contrast[:, None] * contrasts(2), far_tilts(2)])
    center = 1.5 / 2.0  # prior N(0, 1) and a statistic (c - 1.5)²: posterior N(.75, 1/2)
    statistic = np.append((contrast - 1.5) ** 2, [100.0] * 4)
    found = TiltWeights.from_grid(tilts, statistic)
    assert_allclose(found.mean @ [-1, 1], center, atol=1e-6)
    assert_allclose(found.spread, np.sqrt(0.5) / 2, atol=1e-4)
    assert_allclose(found.weights.sum(), 1.0)
    lower, upper = found.confidence_range()
    assert_allclose([lower[1] - upper[0], upper[1] - lower[0]], [1.5 - 1.96, 1.5 + 1.96], atol=0.02)
    kept, weights = found.heaviest()
    assert len(kept) < 400
    assert abs(weights.sum() - 1) < 1e-12


def test_an_unbounded_confidence_set_is_called_unbounded():
    tilts = np.vstack([np.linspace(-6, 6, 61)[:, None] * contrasts(2), far_tilts(2)])
    weak = TiltWeights.from_grid(tilts, np.zeros(len(tilts)))
    assert np.isneginf(weak.confidence_range()[0]).all()
    assert np.isposinf(weak.confidence_range()[1]).all()
    none = TiltWeights.from_grid(tilts, np.full(len(tilts), 50.0))
    assert np.isnan(none.confidence_range()[0]).all()


def test_far_tilts_of_three_classes_hold_every_limit():
    odds = relative_odds(far_tilts(3))
    assert np.isfinite(odds).all()
    assert {tuple(row > 0) for row in odds} == {
        row for row in product((True, False), repeat=3) if 1 <= sum(row) <= 2
    }
