"""The slope is used where the instrument is strong, and left alone where it is weak."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ttest_1samp

from selective_labels import SelectiveLabels
from selective_labels.datasets import make_decision_makers
from selective_labels.identification.point import Moments, numeric_moments, two_fold_moments
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.slopes import (
    SHRINKAGE,
    VERY_STRONG,
    OwnInstrument,
    held_out_slopes,
    moment_losses,
    one_step,
    point_estimate,
    shrinkage_if_strong,
    slope_moments,
    stepped,
)


def slopes_of(spread):
    sample = make_decision_makers(6000, leniency_spread=spread, random_state=1)
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    fit = cross_fit(data, "logistic", in_halves=True, random_state=0)
    return sample, *held_out_slopes(fit, data)


@pytest.fixture(scope="module")
def strong():
    return slopes_of(1.0)


def test_a_strong_instrument_is_used(strong):
    _, moments, own = strong
    assert shrinkage_if_strong(moments, own) == SHRINKAGE, "the score test must see that the slope helps"


def test_a_very_strong_instrument_needs_no_test():
    """A test of two answers that hardly differ passes one time in twenty."""
    moments = Moments(np.full((60, 2), 0.025), np.full(60, 0.05), np.full((60, 2), 0.5))
    rng = np.random.default_rng(0)
    own = OwnInstrument(rng.normal(size=60), rng.normal(size=(60, 2)))
    assert np.isinf(shrinkage_if_strong(moments, own, VERY_STRONG - 1.0))
    assert shrinkage_if_strong(moments, own, VERY_STRONG) == SHRINKAGE


def test_equal_decision_makers_leave_the_labeled_cases_answer():
    _, moments, own = slopes_of(0.0)
    shrinkage = shrinkage_if_strong(moments, own)
    assert np.isinf(shrinkage), "noise in the instrument must not pass for evidence"
    assert_allclose(point_estimate(moments, shrinkage), moments.selected)


def test_the_moment_loss_prefers_the_truth_to_what_the_labeled_cases_say(strong):
    sample, moments, own = strong
    truth = sample.oracle.probabilities(sample.X)
    gain = moment_losses(moments.selected, own) - moment_losses(truth, own)
    # A true mean of zero would exceed this with probability 0.05; the loss exists to tell the two apart.
    assert gain.mean() > 1.645 * gain.std() / np.sqrt(len(gain))


def test_slopes_sum_to_one_for_every_shrinkage(strong):
    _, moments, _ = strong
    for shrinkage in (0.0, 0.01, np.inf):
        assert_allclose(point_estimate(moments, shrinkage).sum(axis=1), 1.0)


def test_weights_enter_the_loss_as_repeated_rows():
    own = OwnInstrument(np.array([0.3, -0.2]), np.array([[0.4, 0.1], [-0.1, 0.2]]))
    probabilities = np.array([[0.7, 0.3], [0.2, 0.8]])
    repeated = OwnInstrument(own.deviation[[0, 1, 1]], own.labeled[[0, 1, 1]])
    assert_allclose(
        moment_losses(probabilities, own, np.array([1.0, 2.0])).mean(),
        moment_losses(probabilities[[0, 1, 1]], repeated).mean(),
    )


# Under every decision-maker, the same in every row: unlabeled, first and second class.
JOINT = np.array([[0.5, 0.1, 0.4], [0.2, 0.3, 0.5], [0.7, 0.1, 0.2]])


@pytest.mark.parametrize("given", [True, False], ids=["known assignment", "shares"])
def test_what_happened_is_set_against_the_mean_over_who_could_have_decided(given):
    """λ_Z - Σ_z e_z λ_z and 1{Y=k} - Σ_z e_z p_kz, with the chances of the row where they are known."""
    rng = np.random.default_rng(3)
    y, maker = rng.integers(-1, 2, 50), rng.integers(3, size=50)
    known = rng.dirichlet([1.0, 2.0, 3.0], 50)
    data = SelectiveLabels.from_arrays(
        np.zeros((50, 1)), y, decision_maker=maker, assignment=known if given else None
    )
    fit = cross_fit(data, lambda X: np.broadcast_to(JOINT, (len(X), 3, 3)))
    _, own = held_out_slopes(fit, data)
    chances = known if given else np.tile(np.bincount(maker) / 50, (50, 1))
    for row in range(50):
        leniency = [1 - JOINT[z][0] for z in range(3)]
        assert_allclose(own.deviation[row], leniency[maker[row]] - np.dot(chances[row], leniency))
        for k in range(2):
            assert_allclose(own.labeled[row, k], (y[row] == k) - np.dot(chances[row], JOINT[:, 1 + k]))


def test_known_assignment_is_summed_over_the_decision_makers_of_an_arm():
    sample = make_decision_makers(600, random_state=2)
    known = np.random.default_rng(4).dirichlet(np.ones(8), 600)
    data = SelectiveLabels.from_arrays(
        sample.X, sample.y, decision_maker=sample.decision_maker, assignment=known
    )
    fit = cross_fit(data, "logistic", cv=2, n_bands=3, in_halves=True, random_state=0)
    _, own = held_out_slopes(fit, data)
    row = 17
    fold = fit.folds[fit.held_out[row]]
    leniency = 1 - fold.joint(data.X[[row]])[:, 0, 0]
    arms = fold.lookup
    mean = sum(known[row, maker] * leniency[arms[maker]] for maker in range(8))
    assert_allclose(own.deviation[row], leniency[arms[sample.decision_maker[row]]] - mean)


def test_the_moment_loss_of_one_row_by_hand():
    """f (D - m_D) Σ_k η_k² - 2 f Σ_k (D Y_k - m_k) η_k, with D - m_D = 0.4 - 0.3 and f = 0.5."""
    own = OwnInstrument(np.array([0.5]), np.array([[0.4, -0.3]]))
    loss = moment_losses(np.array([[0.2, 0.8]]), own)
    assert_allclose(loss, 0.5 * 0.1 * (0.04 + 0.64) - 2 * 0.5 * (0.4 * 0.2 - 0.3 * 0.8))


def whole_population():
    """Cases in the proportions of a law under NUCEM: half of all, and more of the labeled, are of class 1."""
    law = np.array([[0.7, 0.03, 0.27], [0.1, 0.33, 0.57]])
    counts = np.round(500 * law).astype(int)
    maker = np.repeat([0, 1], 500)
    y = np.concatenate([np.repeat([-1, 0, 1], row) for row in counts])
    data = SelectiveLabels.from_arrays(np.zeros((1000, 1)), y, decision_maker=maker)
    return held_out_slopes(cross_fit(data, lambda X: np.broadcast_to(law, (len(X), 2, 3))), data)


def test_without_noise_the_slope_is_the_truth():
    moments, own = whole_population()
    assert np.isfinite(shrinkage_if_strong(moments, own))
    assert_allclose(point_estimate(moments, 0.0), 0.5)
    losses = [moment_losses(point_estimate(moments, each), own).mean() for each in (np.inf, 0.0)]
    # Up to a constant the loss is V Σ_k (η_k - 1/2)², with V = 0.09 and labeled cases 0.3 and 0.7.
    assert_allclose(losses[0] - losses[1], 0.09 * 2 * 0.2**2)


def test_a_slope_is_used_where_a_one_sided_test_at_five_percent_says_so():
    rng = np.random.default_rng(0)
    used, expected = [], []
    while len(used) < 40:
        truth = rng.dirichlet(np.ones(2))
        moments = Moments(np.tile(0.05 * truth, (60, 1)), np.full(60, 0.05), np.tile([0.4, 0.6], (60, 1)))
        own = OwnInstrument(rng.normal(size=60), rng.normal(size=(60, 2)))
        step = moment_losses(point_estimate(moments, 0.1), own) - moment_losses(moments.selected, own)
        p_value = ttest_1samp(step, 0.0, alternative="less").pvalue
        if p_value < 0.3 and not 0.045 < p_value < 0.055:  # a normal and a t test differ near the edge
            expected.append(p_value < 0.05)
            used.append(np.isfinite(shrinkage_if_strong(moments, own)))
    assert used == expected
    assert 5 < sum(used) < 35, "both answers occur"


@pytest.fixture(scope="module")
def fitted():
    sample = make_decision_makers(400, n_classes=3, random_state=5)
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    return data, cross_fit(data, "logistic", cv=3, n_bands=4, in_halves=True, random_state=0)


CODES = np.array([5.0, 1.0, 4.0, 2.0, 8.0, 3.0, 7.0, 6.0])


def by_hand(fold, X, codes, shares):
    halves = [model.joint(X) for model in fold.models]
    if codes is None:
        return two_fold_moments(*halves, shares)
    # The number of a group is the mean of those of its decision-makers.
    numbers = [np.mean(codes[fold.lookup == arm]) for arm in range(4)]
    return numeric_moments(numbers, (halves[0] + halves[1]) / 2, shares)


@pytest.mark.parametrize("codes", [None, CODES], ids=["leniency", "numbers"])
def test_moments_of_new_rows_are_means_over_folds(fitted, codes):
    data, fit = fitted
    found = slope_moments(fit, data.X[:30], 3, codes)
    parts = [by_hand(fold, data.X[:30], codes, fit.shares) for fold in fit.folds]
    assert_allclose(found.covariance, np.mean([each.covariance for each in parts], axis=0))
    assert_allclose(found.selected, np.mean([each.selected for each in parts], axis=0))
    assert_allclose(found.strength, found.covariance.sum(axis=1))


@pytest.mark.parametrize("codes", [None, CODES], ids=["leniency", "numbers"])
def test_moments_of_training_rows_are_those_of_the_model_that_has_not_seen_them(fitted, codes):
    data, fit = fitted
    found, _ = held_out_slopes(fit, data, codes)
    for row in range(0, 400, 57):
        fold = fit.folds[fit.held_out[row]]
        shares = np.bincount(fold.lookup[data.decision_maker_codes], minlength=4) / len(data)
        expected = by_hand(fold, data.X[[row]], codes, shares)
        assert_allclose(found.covariance[row], expected.covariance[0])
        assert_allclose(found.selected[row], expected.selected[0])
        assert_allclose(found.strength[row], expected.strength[0])


def test_one_step_makes_the_moment_of_the_ratio_hold():
    generator = np.random.default_rng(0)
    z, weight = generator.normal(size=2000), generator.exponential(size=2000)
    seen = generator.random(2000) < 0.5 + 0.2 * np.tanh(z)
    labeled = np.column_stack([0.7 * seen, 0.3 * seen]) - [0.35, 0.15]
    own = OwnInstrument(z, labeled)
    plug_in = np.column_stack([np.full(2000, 0.6), np.full(2000, 0.4)])
    step = one_step(plug_in, own, weight)
    assert_allclose(step, [0.1, -0.1])
    missing = labeled - stepped(plug_in, step) * labeled.sum(axis=1, keepdims=True)
    assert_allclose((weight * z) @ missing, 0.0, atol=1e-9)


def test_a_weak_number_takes_no_step():
    generator = np.random.default_rng(0)
    own = OwnInstrument(generator.normal(size=500), generator.normal(size=(500, 2)))
    plug_in = np.full((500, 2), 0.5)
    assert one_step(plug_in, own) is None
    assert_allclose(stepped(plug_in, None), plug_in)
