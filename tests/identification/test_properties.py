"""What must hold for bounds whatever the numbers are."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels.identification.bounds import raw_bounds, realizable, repair
from selective_labels.identification.costs import (
    best_case_costs,
    linear_extremes,
    possible_classes,
    worst_case_costs,
)
from selective_labels.identification.point import project_to_simplex, slope, two_fold_moments
from tests.reference.decision_rules import randomised_minimax

thorough = settings(deadline=None, max_examples=100, derandomize=True)
ROWS = 3


@st.composite
def joints(draw):
    """Joint probabilities of shape (n_decision_makers, ROWS, n_classes + 1), coherent in themselves only."""
    n_decision_makers, n_classes = draw(st.integers(2, 5)), draw(st.integers(2, 5))
    shape = (n_decision_makers, ROWS, n_classes + 1)
    # Multiples of 1/64 include zeros and ties without denormal numbers.
    masses = draw(arrays(np.int64, shape, elements=st.integers(0, 64)))
    masses = masses + (masses.sum(axis=2, keepdims=True) == 0)
    return masses / masses.sum(axis=2, keepdims=True)


@st.composite
def populations(draw):
    """Joint probabilities as in `joints` that some hidden label law explains, so that bounds never cross."""
    joint = draw(joints())
    n_decision_makers, n_classes = joint.shape[0], joint.shape[2] - 1
    eta = joint[0, :, 1:] + 1 / 64
    eta = eta / eta.sum(axis=1, keepdims=True)
    chances = draw(
        arrays(np.int64, (n_decision_makers, ROWS, n_classes), elements=st.integers(0, 16)),
    )
    labeled = eta * chances / 16
    return np.concatenate([1 - labeled.sum(axis=2, keepdims=True), labeled], axis=2)


@thorough
@given(joints(), st.randoms(use_true_random=False))
def test_adding_a_decision_maker_never_widens(joint, random):
    fewer = raw_bounds(joint[: random.randint(1, len(joint) - 1)])
    more = raw_bounds(joint)
    # One more maximum and one more minimum.
    assert (more.lower >= fewer.lower).all()
    assert (more.upper <= fewer.upper).all()


@thorough
@given(populations())
def test_adding_a_decision_maker_never_widens_the_regret(joint):
    fewer, more = raw_bounds(joint[:-1]), raw_bounds(joint)
    # A smaller set has a smaller largest and a larger smallest regret.
    assert (worst_case_costs(more) <= worst_case_costs(fewer) + 1e-12).all()
    assert (best_case_costs(more) >= best_case_costs(fewer) - 1e-12).all()


@thorough
@given(joints(), st.data())
def test_merging_identical_decision_makers_changes_nothing(joint, data):
    twin = data.draw(st.integers(0, len(joint) - 1))
    once, twice = raw_bounds(joint), raw_bounds(np.concatenate([joint, joint[[twin]]]))
    assert_array_equal(twice.lower, once.lower)
    assert_array_equal(twice.upper, once.upper)
    # In a slope the twins share what the one had.
    share = np.full(len(joint), 1 / len(joint))
    split = np.append(share, share[twin] / 2)
    split[twin] /= 2
    doubled = np.concatenate([joint, joint[[twin]]])
    assert_allclose(
        two_fold_moments(doubled, doubled, split).covariance,
        two_fold_moments(joint, joint, share).covariance,
        rtol=0,
        atol=1e-14,
    )


@thorough
@given(joints(), st.data())
def test_the_order_of_decision_makers_does_not_matter(joint, data):
    order = data.draw(st.permutations(range(len(joint))))
    direct, permuted = raw_bounds(joint), raw_bounds(joint[order])
    assert_array_equal(permuted.lower, direct.lower)
    assert_array_equal(permuted.upper, direct.upper)
    share = np.arange(1.0, len(joint) + 1)
    # A leniency slope knows no codes, so renaming decision-makers leaves it as it was.
    assert_allclose(
        two_fold_moments(joint[order], joint[order], share[order]).covariance,
        two_fold_moments(joint, joint, share).covariance,
        rtol=0,
        atol=1e-14,
    )


@thorough
@given(populations(), st.data())
def test_permuting_classes_commutes(joint, data):
    order = np.array(data.draw(st.permutations(range(joint.shape[2] - 1))))
    relabeled = joint[:, :, np.append(0, order + 1)]
    direct, permuted = raw_bounds(joint), raw_bounds(relabeled)
    assert_array_equal(permuted.lower, direct.lower[:, order])
    for function in (worst_case_costs, best_case_costs):
        assert_allclose(function(permuted), function(direct)[:, order], rtol=0, atol=1e-12)
    assert_array_equal(possible_classes(permuted), possible_classes(direct)[:, order])
    share = np.ones(len(joint))
    assert_allclose(
        two_fold_moments(relabeled, relabeled, share).covariance,
        two_fold_moments(joint, joint, share).covariance[:, order],
        rtol=0,
        atol=1e-14,
    )


@thorough
@given(joints())
def test_full_labels_give_zero_width(joint):
    eta = joint[0, :, 1:] + 1e-3
    eta = eta / eta.sum(axis=1, keepdims=True)
    complete = np.concatenate([np.zeros((1, ROWS, 1)), eta[None]], axis=2)
    partial = np.concatenate([np.full((1, ROWS, 1), 0.5), eta[None] / 2], axis=2)
    bounds = realizable(raw_bounds(np.concatenate([partial, complete])))
    # One decision-maker who labels everybody settles it.
    assert_allclose(bounds.width, 0.0, atol=1e-12)
    assert_allclose(bounds.lower, eta, rtol=0, atol=1e-15)


@thorough
@given(populations())
def test_populations_never_cross(joint):
    bounds = raw_bounds(joint)
    assert not bounds.crossed.any()
    mended, repaired = repair(bounds)
    # Nothing to repair: the result is the realizable set and no more.
    assert not repaired.any()
    assert_array_equal(mended.lower, realizable(bounds).lower)
    assert_array_equal(mended.upper, realizable(bounds).upper)


@thorough
@given(joints())
def test_realizable_bounds_are_attained(joint):
    bounds, _ = repair(raw_bounds(joint, 0.01, 0.9))
    for k in range(bounds.lower.shape[1]):
        smallest, largest = linear_extremes(np.eye(bounds.lower.shape[1])[k], bounds)
        # Each end is the extreme of η_k over the whole set.
        assert_allclose(bounds.lower[:, k], smallest, rtol=0, atol=1e-9)
        assert_allclose(bounds.upper[:, k], largest, rtol=0, atol=1e-9)


@thorough
@given(joints())
def test_repaired_bounds_are_never_crossed(joint):
    # With a label range all three kinds of crossing occur.
    bounds = raw_bounds(joint, 0.15, 0.6)
    mended, repaired = repair(bounds)
    assert not mended.crossed.any()
    assert_array_equal(repaired, bounds.crossed)


@thorough
@given(populations())
def test_lotteries_are_probabilities(joint):
    chances = randomised_minimax(raw_bounds(joint))
    assert (chances >= 0).all()
    assert_allclose(chances.sum(axis=1), 1.0, rtol=0, atol=1e-9)


@thorough
@given(joints(), st.floats(0, 10))
def test_slopes_sum_to_one_and_project_to_probabilities(joint, shrinkage):
    moments = two_fold_moments(joint, joint[::-1], np.ones(len(joint)))
    values = slope(moments.covariance, moments.strength, moments.selected, shrinkage)
    # Rounding grows with the size of the ratio.
    assert_allclose(values.sum(axis=1) - 1.0, 0.0, atol=1e-9 * (1 + np.abs(values).max()))
    probabilities = project_to_simplex(values)
    assert (probabilities >= 0).all()
    assert_allclose(probabilities.sum(axis=1), 1.0, rtol=0, atol=1e-12)
