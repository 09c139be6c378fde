import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels import Bounds
from selective_labels.identification.bounds import raw_bounds
from selective_labels.identification.costs import contrast_extremes, decided, minimax_class, possible_classes
from tests.reference.decision_rules import randomised_minimax
from tests.reference.linear_programs import LabelRangeSet, smallest_regrets


def test_minimax_class_takes_the_first_of_equals():
    lower = np.array([[0.2, 0.3, 0.3], [0.1, 0.1, 0.1], [0.0, 0.0, 0.0]])
    assert_array_equal(minimax_class(Bounds(lower, np.ones_like(lower))), [1, 0, 0])


def test_minimax_class_follows_the_costs():
    bounds = Bounds(np.array([[0.6, 0.2]]), np.array([[0.8, 0.4]]))
    assert minimax_class(bounds) == [0]
    # Missing class 1 costs ten times as much, which turns the rule.
    assert minimax_class(bounds, cost=[[0, 1], [10, 0]]) == [1]


def test_randomised_minimax_is_the_fraction_of_manski():
    lower = np.array([[0.3, 0.2], [0.1, 0.45]])
    high, low = 1 - lower[:, 0], lower[:, 1]
    # Two classes: q_1 = (u_1 - 1/2) / (u_1 - l_1).
    assert_allclose(
        randomised_minimax(Bounds(lower, np.ones((2, 2))))[:, 1], (high - 0.5) / (high - low), rtol=1e-12
    )


def test_randomised_minimax_without_slack_is_the_best_class():
    lower = np.array([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])
    assert_array_equal(randomised_minimax(Bounds(lower, lower)), [[0, 1, 0], [1, 0, 0]])


def test_randomised_minimax_with_nothing_seen_is_uniform():
    assert_allclose(randomised_minimax(Bounds(np.zeros((1, 4)), np.ones((1, 4)))), 0.25)


def test_possible_classes_without_labels_are_all():
    everything = Bounds(np.zeros((1, 3)), np.ones((1, 3)))
    assert possible_classes(everything).all()
    assert not decided(everything).any()


def test_possible_classes_with_all_labels_are_the_largest():
    eta = np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]])
    bounds = Bounds(eta, eta)
    # A tie leaves two classes, which is not decided.
    assert_array_equal(possible_classes(bounds), [[False, True, False], [True, False, True]])
    assert_array_equal(decided(bounds), [True, False])


def test_decided_rows_lead_by_more_than_the_slack():
    bounds = raw_bounds(np.random.default_rng(1).dirichlet(np.ones(4), size=(1, 500)))
    second, first = np.sort(bounds.lower, axis=1)[:, -2:].T
    assert_array_equal(decided(bounds), first > second + bounds.slack)


def test_decided_depends_on_the_costs():
    bounds = Bounds(np.array([[0.5, 0.3]]), np.array([[0.7, 0.5]]))
    assert not decided(bounds, cost=[[0, 1], [1, 0]]).any()
    # η_1 is at least .3, so a miss that costs ten decides the row.
    assert decided(bounds, cost=[[0, 1], [10, 0]]).all()


def test_pairwise_domination_can_miss_an_impossible_prediction():
    # Action 2 hedges at a price: it is beaten by 0 or by 1 at every η, but by neither at all of them.
    cost = np.array([[0.0, 1.0, 0.55], [1.0, 0.0, 0.55], [1.0, 1.0, 1.0]])
    bounds = Bounds(np.zeros((1, 3)), np.array([[1.0, 1.0, 0.0]]))
    joint = np.array([[1.0, 0.0, 0.0, 0.0]])
    exact = smallest_regrets([LabelRangeSet(joint, bounds.lower[0], bounds.upper[0])], cost)
    # The set with a cost matrix is an outer set: 2 is kept although its regret is never zero.
    assert exact[0, 2] > 0.01
    assert contrast_extremes(bounds, cost)[0][0, 2] == 0
    assert possible_classes(bounds, cost).all()
