"""Edges of the score formulas: floors, rows that nobody decides for, arms that hardly anybody goes to."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels.nuisance.score_formulas import (
    WEAKEST_STRENGTH,
    Rows,
    aipw_scores,
    envelope_scores,
    required_lead,
    required_strength,
    slope_or_bound_scores,
    slope_scores,
)

# Two arms, two rows, the second arm better for the only class.
JOINT = np.array([[[0.7, 0.3], [0.7, 0.3]], [[0.1, 0.9], [0.1, 0.9]]])
UNSEEN = np.array([-1, -1])


def test_the_user_says_how_rare_an_arm_may_be():
    share = np.array([[0.75, 0.25], [0.5, 0.5]])
    arm = np.array([0, 0])
    scores = envelope_scores(JOINT, arm, UNSEEN, share, overlap=0.3)
    assert_array_equal(scores.plug_in[:, 0], [0.3, 0.9])  # the better arm is too rare in the first row
    assert_array_equal(scores.clipped, [True, False])
    assert_array_equal(envelope_scores(JOINT, arm, UNSEEN, share).plug_in[:, 0], 0.9)


def test_every_row_keeps_the_arms_that_are_its_likeliest():
    share = np.array([[0.4, 0.6], [0.8, 0.2]])
    scores = envelope_scores(JOINT, np.array([0, 0]), UNSEEN, share, overlap=0.9)
    assert_array_equal(scores.plug_in[:, 0], [0.9, 0.3])
    assert scores.clipped.all()  # in both rows one arm is left out


def test_the_lead_is_measured_from_an_arm_that_is_not_too_rare():
    share = np.array([[0.75, 0.25]])
    leniency = np.array([0.2, 0.9])
    assert_allclose(required_lead(share, leniency, 100)[0, 1], 0.0)
    assert_allclose(required_lead(share, leniency, 100, overlap=0.3)[0, 0], 0.0)


def test_the_strictest_arm_is_the_most_lenient_where_it_is_alone():
    # Groups are numbered from zero, the strictest; nobody else sees this row.
    lead = required_lead(np.array([[0.0, 1.0]]), np.array([1.0, 0.0]), 100)
    assert lead[0, 1] == 0.0


def test_where_nobody_is_ever_decided_for_all_classes_are_alike():
    labeled = np.array([[0.0, 0.0, 0.0], [0.1, 0.2, 0.1]])
    scores = aipw_scores(labeled, UNSEEN)
    assert_allclose(scores.plug_in, [[1 / 3, 1 / 3, 1 / 3], [0.25, 0.5, 0.25]])
    assert_allclose(scores.values, scores.plug_in)
    assert_array_equal(scores.clipped, [True, False])


def test_the_user_says_how_weak_an_instrument_may_be():
    joint = np.array([[[0.6, 0.1, 0.3]], [[0.2, 0.3, 0.5]]])
    arm, y, share = np.array([1]), np.array([1]), np.array([[0.5, 0.5]])
    # Strength 0.04, slopes one half each; leniency of the arm 0.2 above its mean; labeled 0.2 and 0.4.
    usual = slope_scores(joint, joint, arm, y, share)
    assert not usual.bounded.any()
    drawn = (0.02 + 0.001 * np.array([1 / 3, 2 / 3])) / 0.041
    residual = np.array([0.0, 1.0]) - np.array([0.2, 0.4]) - drawn * (1.0 - 0.6)
    assert_allclose(usual.values[0], drawn + 0.2 / 0.04 * residual)
    weak = slope_scores(joint, joint, arm, y, share, weakest=0.4)
    assert weak.bounded.all()
    assert_allclose(weak.values[0], drawn)  # no denominator is held at a floor


def test_required_strength_is_a_concentration_of_25():
    decided = np.array([0.5, 0.2])
    strength = required_strength(decided, 1000)
    assert_allclose(1000 * strength / (decided * (1 - decided)), 25.0)
    assert_allclose(required_strength(decided, np.inf), WEAKEST_STRENGTH)  # known: there is no noise to pass


def test_weak_rows_enter_by_their_bounds_and_strong_rows_by_the_slope():
    strong, weak = [[0.6, 0.1, 0.3], [0.2, 0.3, 0.5]], [[0.6, 0.1, 0.3], [0.5, 0.2, 0.3]]
    joint = np.array([strong, weak]).transpose(1, 0, 2)
    arm, y, share = np.array([1, 1]), np.array([1, 1]), np.full((2, 2), 0.5)
    # Strengths .04 and .0025; 300 rows need 25 · .24 / 300 = .02 and 25 · .2475 / 300 = .02.
    found = slope_or_bound_scores(Rows(joint, joint, arm, y, share, 0.0, n_units=300))
    assert_array_equal(found.bounded, [False, True])
    assert_allclose(found.values[0], slope_scores(joint, joint, arm, y, share).values[0])
    assert_allclose(found.values[1], envelope_scores(joint, arm, y, share).values[1])
    assert_allclose(found.slack[0], 0.0, atol=1e-12)
    many = slope_or_bound_scores(Rows(joint, joint, arm, y, share, 0.0, n_units=3000))
    assert not many.bounded.any()  # more rows can tell smaller differences from noise
