import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels import Bounds
from selective_labels.identification.bounds import (
    allocate_slack,
    as_label_range,
    raw_bounds,
    realizable,
    repair,
)
from tests.reference.latent_models import random_label_range

X = np.zeros((4, 2))


def test_bounds_know_their_size():
    bounds = Bounds(np.array([[0.2, 0.3, 0.1]]), np.array([[0.6, 0.7, 0.5]]))
    assert len(bounds) == 1
    assert_allclose(bounds.slack, [0.4])
    assert_allclose(bounds.width, 0.4)


def test_bounds_unpack_into_their_ends():
    ends = np.array([[0.2, 0.3]]), np.array([[0.6, 0.7]])
    lower, upper = Bounds(*ends)
    assert lower is ends[0]
    assert upper is ends[1]


@pytest.mark.parametrize(("lower", "upper"), [(np.zeros(3), np.ones(3)), (np.zeros((2, 3)), np.ones((2, 2)))])
def test_bounds_have_one_shape(lower, upper):
    with pytest.raises(ValueError, match=r"shape \(n_samples, n_classes\)"):
        Bounds(lower, upper)


CROSSED = {
    "lower bounds sum to more than one": ([0.6, 0.5, 0.0], [0.7, 0.6, 0.1]),
    "upper bounds sum to less than one": ([0.0, 0.1, 0.2], [0.3, 0.3, 0.3]),
    "one interval is reversed": ([0.5, 0.1, 0.1], [0.3, 0.8, 0.8]),
    "not a number": ([np.nan, 0.1, 0.1], [1.0, 1.0, 1.0]),
}


@pytest.mark.parametrize("case", CROSSED)
def test_bounds_know_when_they_cross(case):
    lower, upper = (np.array([end]) for end in CROSSED[case])
    assert Bounds(lower, upper).crossed.all()
    # Making ends realizable must not hide the crossing.
    assert realizable(Bounds(lower, upper)).crossed.all()


def test_rows_cross_one_by_one():
    lower, upper = (
        np.array(rows) for rows in zip(*CROSSED.values(), ([0.2, 0.2, 0.2], [0.5, 0.6, 0.7]), strict=True)
    )
    # What the other rows sum to is no help to a row.
    assert_array_equal(Bounds(lower, upper).crossed, [True, True, True, True, False])


def test_rounding_is_not_a_crossing():
    thirds = np.full((1, 3), 1 / 3) + 1e-13
    bounds = Bounds(thirds, thirds)
    assert not bounds.crossed.any()
    # A full label set still gives intervals in the right order.
    assert (realizable(bounds).width >= 0).all()


def test_contains_wants_a_probability_vector_inside():
    bounds = Bounds(np.full((3, 2), 0.25), np.full((3, 2), 0.75))
    # Inside; too low in one class; inside the box but not of sum one.
    assert_array_equal(bounds.contains([[0.5, 0.5], [0.2, 0.8], [0.5, 0.6]]), [True, False, False])
    assert bounds.contains([[0.2, 0.8]] * 3, tolerance=0.1).all()
    # One class inside does not make up for the others.
    one = Bounds(np.full((1, 3), 0.25), np.full((1, 3), 0.5))
    assert not one.contains([[0.3, 0.6, 0.1]]).any()


def test_raw_bounds_read_a_stream_once():
    joint = np.random.default_rng(0).dirichlet(np.ones(4), size=(5, 7))
    streamed, whole = raw_bounds(iter(joint)), raw_bounds(joint)
    # A generator is enough: nothing of shape (n_samples, n_decision_makers, n_classes) is kept.
    assert_array_equal(streamed.lower, whole.lower)
    assert_array_equal(streamed.upper, whole.upper)
    assert_array_equal(whole.lower, joint[:, :, 1:].max(axis=0))


def test_raw_bounds_need_a_decision_maker():
    with pytest.raises(ValueError, match="at least one decision-maker"):
        raw_bounds([])


def test_raw_bounds_leave_their_input_alone():
    joint = np.random.default_rng(1).dirichlet(np.ones(3), size=(4, 6))
    before = joint.copy()
    raw_bounds(joint)
    assert_array_equal(joint, before)


def test_one_decision_maker_gives_the_bounds_of_manski():
    bounds = raw_bounds([[[0.4, 0.1, 0.5]]])
    assert_allclose(bounds.lower, [[0.1, 0.5]])
    # Everything unlabeled may belong to any class.
    assert_allclose(bounds.upper, [[0.5, 0.9]])


def test_repair_scales_lower_bounds_that_sum_to_more_than_one():
    bounds, repaired = repair(Bounds(np.array([[0.9, 0.3], [0.2, 0.3]]), np.array([[0.7, 0.1], [0.7, 0.8]])))
    assert_array_equal(repaired, [True, False])
    assert_allclose(bounds.lower[0], [0.75, 0.25])
    # Zero slack: the repaired set is one vector.
    assert_allclose(bounds.width[0], 0.0, atol=1e-15)
    # The other row is untouched, its ends being realizable.
    assert_allclose(bounds.lower[1], [0.2, 0.3])
    assert_allclose(bounds.upper[1], [0.7, 0.8])


def test_repair_scales_upper_bounds_that_sum_to_less_than_one():
    bounds, repaired = repair(Bounds(np.zeros((2, 2)), np.array([[0.6, 0.2], [0.0, 0.0]])))
    assert repaired.all()
    # In proportion, or evenly if there is nothing to scale.
    assert_allclose(bounds.lower, [[0.75, 0.25], [0.5, 0.5]])
    assert_allclose(bounds.upper, bounds.lower)


def test_repair_exchanges_reversed_ends():
    bounds, repaired = repair(Bounds(np.array([[0.5, 0.1, 0.1]]), np.array([[0.3, 0.8, 0.8]])))
    assert repaired.all()
    # The interval spans the disagreement.
    assert_allclose([bounds.lower[0, 0], bounds.upper[0, 0]], [0.3, 0.5])


@pytest.mark.parametrize(
    ("lower", "upper", "expected"),
    [
        ([0.6, 0.4], [0.5, 0.9], ([0.5, 0.4], [0.6, 0.5])),
        ([0.5, 0.2], [0.4, 0.6], ([0.4, 0.5], [0.5, 0.6])),
    ],
    ids=["lower", "upper"],
)
def test_repair_does_not_scale_what_sums_to_one(lower, upper, expected):
    bounds, repaired = repair(Bounds(np.array([lower]), np.array([upper])))
    assert repaired.all()
    # Only the first interval is reversed: it spans the disagreement, and the other is what is left.
    assert_allclose(bounds.lower, [expected[0]])
    assert_allclose(bounds.upper, [expected[1]])


def test_repair_never_leaves_a_crossing():
    rng = np.random.default_rng(2)
    lower, upper = rng.uniform(size=(2, 5000, 3)) ** 2
    bounds = Bounds(lower, upper)
    mended, repaired = repair(bounds)
    # Exactly the crossed rows are reported.
    assert_array_equal(repaired, bounds.crossed)
    assert 0.1 < repaired.mean() < 1.0
    assert not mended.crossed.any()
    again = realizable(mended)
    # The result is realizable: doing it once more changes nothing.
    assert_allclose(again.lower, mended.lower, rtol=0, atol=1e-12)
    assert_allclose(again.upper, mended.upper, rtol=0, atol=1e-12)


def test_label_range_accepts_numbers_arrays_and_callables():
    lowest, highest = as_label_range((0.1, np.array([0.5, 0.9])), X, 2)
    assert_array_equal(lowest, [0.1, 0.1])
    assert_array_equal(highest, [0.5, 0.9])
    lowest, highest = as_label_range((lambda X: np.full((len(X), 2), 0.2), lambda X: [0.7, 0.8]), X, 2)
    assert lowest.shape == (4, 2)
    assert highest.shape == (2,)


@pytest.mark.parametrize("label_range", [(0.0, 1.0), (0.5, 0.5), ([0.0, 1.0], [0.0, 1.0])])
def test_label_range_may_be_nothing_or_everything(label_range):
    lowest, highest = as_label_range(label_range, X, 2)
    assert_array_equal(lowest, np.broadcast_to(label_range[0], 2))
    assert_array_equal(highest, np.broadcast_to(label_range[1], 2))


def in_one_row(values):
    """A callable that returns zeros and ones in turn, and these values in the last row."""
    return lambda X: np.vstack([np.tile([0.0, 1.0], (len(X) - 1, 1)), values])


@pytest.mark.parametrize(
    "label_range",
    [
        0.5,
        ([0.5, -0.1], 1.0),
        (in_one_row([0.7, 0.7]), 1.0),
        (0.0, in_one_row([0.3, 0.3])),
        (in_one_row([0.3, 0.3]), in_one_row([0.9, 0.2])),
        (0.1, 0.5, 0.9),
        (-0.1, 1.0),
        (0.0, 1.1),
        (0.6, 0.5),
        (0.6, 1.0),
        (0.0, 0.4),
        (np.nan, 1.0),
        ([0.1, 0.1, 0.1], 1.0),
        (np.zeros((4, 2)), 1.0),
        (lambda X: np.zeros((3, 2)), 1.0),
    ],
)
def test_label_range_errors_name_the_argument(label_range):
    with pytest.raises(ValueError, match=r"^label_range must"):
        as_label_range(label_range, X, 2)


@given(st.integers(0, 10**6), st.integers(2, 4))
def test_bounds_never_leave_the_label_range(seed, n_classes):
    """Whatever was estimated: also where the rows contradict the range, and are said to have crossed."""
    rng = np.random.default_rng(seed)
    lowest, highest = random_label_range(rng, n_classes)
    joints = rng.dirichlet(np.full(n_classes + 1, 0.5), size=(3, 20))
    mended, repaired = repair(raw_bounds(joints, lowest, highest), lowest, highest)
    assert (mended.lower >= lowest - 1e-9).all()
    assert (mended.upper <= highest + 1e-9).all()
    assert not mended.crossed.any()
    again, _ = repair(raw_bounds(joints), 0.0, 1.0)
    inside = ~repaired & (again.lower >= lowest).all(axis=1) & (again.upper <= highest).all(axis=1)
    assert (mended.lower[inside] >= again.lower[inside] - 1e-9).all(), "a range never widens"


@pytest.mark.parametrize("order", ["C", "F"])
def test_slack_is_allocated_in_any_layout_of_the_arrays(order):
    lower, gain = np.asfortranarray(np.zeros((2, 3, 2))), np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]])
    found = allocate_slack(np.array(lower, order=order), np.full((2, 2), 0.5), gain, [], np.zeros((2, 0)))
    assert_array_equal(found[..., 0], [[0.0, 0.5, 0.0], [0.5, 0.0, 0.0]])
    assert_array_equal(found[..., 1], found[..., 0])
