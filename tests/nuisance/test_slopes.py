"""The slope is used where the instrument is strong, and left alone where it is weak."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels.data import SelectiveLabels
from selective_labels.datasets import make_decision_makers
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.slopes import (
    OwnInstrument,
    choose_shrinkage,
    held_out_slopes,
    moment_losses,
    point_estimate,
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
    shrinkage, losses = choose_shrinkage(moments, own)
    assert np.isfinite(shrinkage), "the score test must see that the slope helps"
    assert losses[shrinkage] == min(losses.values()), "then the smallest held-out loss decides"


def test_equal_decision_makers_leave_the_labeled_cases_answer():
    _, moments, own = slopes_of(0.0)
    shrinkage, _ = choose_shrinkage(moments, own)
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
