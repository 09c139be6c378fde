"""A thousand random problems, K in 2..5 and J in 2..6, against linear programs to 1e-9."""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels import Bounds
from selective_labels.identification.bounds import raw_bounds, realizable
from selective_labels.identification.costs import (
    best_case_costs,
    decided,
    linear_extremes,
    minimax_class,
    possible_classes,
    worst_case_costs,
)
from tests.reference.decision_rules import randomised_minimax
from tests.reference.latent_models import random_label_range, random_model
from tests.reference.linear_programs import (
    LabelRangeSet,
    largest_regrets,
    lottery,
    minima,
    over_hidden_features,
    over_response_types,
    smallest_regrets,
)

SIZES = list(product(range(2, 6), range(2, 7)))
ROWS = 50  # 20 sizes x 50 rows = 1000 problems; rows of one size are solved together
EXACT = {"rtol": 0, "atol": 1e-9}


@dataclass(frozen=True)
class Problems:
    """Rows of one size; joint has shape (ROWS, n_decision_makers, n_classes + 1)."""

    joint: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    cost: np.ndarray

    @property
    def bounds(self) -> Bounds:
        return raw_bounds(self.joint.swapaxes(0, 1), self.lowest, self.highest)

    @property
    def sets(self) -> list[LabelRangeSet]:
        return [LabelRangeSet(*row) for row in zip(self.joint, self.lowest, self.highest, strict=True)]


def draw(seed: int, with_label_range: bool) -> list[Problems]:
    rng = np.random.default_rng(seed)
    problems = []
    for n_classes, n_decision_makers in SIZES:
        ranges = [(np.zeros(n_classes), np.ones(n_classes))] * ROWS
        if with_label_range:
            ranges = [random_label_range(rng, n_classes) for _ in range(ROWS)]
        models = [random_model(rng, n_classes, n_decision_makers, 5, *ends) for ends in ranges]
        joint = np.stack([model.joint for model in models])
        lowest, highest = (np.stack(ends) for ends in zip(*ranges, strict=True))
        problems.append(Problems(joint, lowest, highest, rng.normal(size=(n_classes, n_classes))))
    return problems


@pytest.fixture(scope="module")
def unrestricted() -> list[Problems]:
    return draw(20250, with_label_range=False)


@pytest.fixture(scope="module")
def restricted() -> list[Problems]:
    return draw(20251, with_label_range=True)


def zero_one(problems: Problems) -> np.ndarray:
    return 1.0 - np.eye(problems.lowest.shape[1])


def test_theorem_5_2_realizable_bounds_are_sharp(unrestricted):
    for problems in unrestricted:
        units = np.eye(problems.lowest.shape[1])
        sharp = realizable(problems.bounds)
        # E6: the joint law of label and decisions allows exactly the realizable interval.
        smallest = minima([over_response_types(unit, joint) for joint in problems.joint for unit in units])
        largest = -minima([over_response_types(-unit, joint) for joint in problems.joint for unit in units])
        assert_allclose(sharp.lower.ravel(), smallest, **EXACT)
        assert_allclose(sharp.upper.ravel(), largest, **EXACT)


def test_realizable_bounds_with_a_label_range(restricted):
    for problems in restricted:
        units = np.eye(problems.lowest.shape[1])
        sharp = realizable(problems.bounds)
        # Both a and b bind: the box-and-simplex program, an outer set for three or more classes (E13).
        smallest = minima([row.smallest(unit) for row in problems.sets for unit in units])
        largest = -minima([row.smallest(-unit) for row in problems.sets for unit in units])
        assert_allclose(sharp.lower.ravel(), smallest, **EXACT)
        assert_allclose(sharp.upper.ravel(), largest, **EXACT)


@pytest.mark.parametrize("label_range", ["unrestricted", "restricted"])
def test_linear_extremes(label_range, request):
    rng = np.random.default_rng(1)
    for problems in request.getfixturevalue(label_range):
        coefficients = rng.normal(size=problems.lowest.shape)
        pairs = list(zip(problems.sets, coefficients, strict=True))
        smallest, largest = linear_extremes(coefficients, problems.bounds)
        # Pouring is greedy, and greedy is optimal on a box cut by one simplex.
        assert_allclose(smallest, minima([row.smallest(c) for row, c in pairs]), **EXACT)
        assert_allclose(largest, -minima([row.smallest(-c) for row, c in pairs]), **EXACT)


@pytest.mark.parametrize("label_range", ["unrestricted", "restricted"])
def test_theorem_5_3_worst_case_costs(label_range, request):
    for problems in request.getfixturevalue(label_range):
        exact = largest_regrets(problems.sets, zero_one(problems))
        # The rival is the best class at the same probabilities: the maximum runs over rivals and the set.
        assert_allclose(worst_case_costs(problems.bounds), exact, **EXACT)


def test_worst_case_costs_with_a_cost_matrix(restricted):
    for problems in restricted:
        exact = largest_regrets(problems.sets, problems.cost)
        # An arbitrary cost matrix, negative costs included, changes the coefficients and nothing else.
        assert_allclose(worst_case_costs(problems.bounds, problems.cost), exact, **EXACT)


@pytest.mark.parametrize("label_range", ["unrestricted", "restricted"])
def test_e12_best_case_costs_and_possible_classes(label_range, request):
    for problems in request.getfixturevalue(label_range):
        exact = smallest_regrets(problems.sets, zero_one(problems))
        # Mass that the class cannot take must go to its rivals.
        assert_allclose(best_case_costs(problems.bounds), exact, **EXACT)
        # A class can be best exactly where its smallest regret is zero.
        assert (possible_classes(problems.bounds) == (exact < 1e-8)).all()


def test_possible_classes_with_a_cost_matrix_are_an_outer_set(restricted):
    n_excluded = 0
    for problems in restricted:
        possible = possible_classes(problems.bounds, problems.cost)
        regrets = smallest_regrets(problems.sets, problems.cost)
        # What is ruled out has a positive regret at every η of the set.
        assert (regrets[~possible] > 1e-9).all()
        # Some prediction is best at every η, so a row never runs empty.
        assert possible.any(axis=1).all()
        n_excluded += (~possible).sum()
    assert n_excluded > 200, "the check must not pass because nothing was ruled out"


def test_randomised_minimax_is_the_optimal_lottery(unrestricted):
    for problems in unrestricted:
        bounds = problems.bounds
        chances = randomised_minimax(bounds)
        corners = bounds.lower[:, None] + bounds.slack[:, None, None] * np.eye(chances.shape[1])
        regret = (corners.max(axis=2) - np.einsum("nk,njk->nj", chances, corners)).max(axis=1)
        # The lottery attains the value of the program.
        assert_allclose(regret, minima([lottery(lower) for lower in bounds.lower]), **EXACT)
        # Probabilities are probabilities.
        assert chances.min() >= 0
        assert_allclose(chances.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        # A lottery can only improve on the best single class.
        assert (regret <= worst_case_costs(bounds).min(axis=1) + 1e-12).all()


def test_minimax_class_is_the_largest_lower_bound(unrestricted):
    for problems in unrestricted:
        # Without a label range the robust class needs no costs at all.
        assert (minimax_class(problems.bounds) == problems.bounds.lower.argmax(axis=1)).all()


@pytest.mark.parametrize("label_range", ["unrestricted", "restricted"])
def test_decided_rows_have_no_worst_case_regret(label_range, request):
    n_decided = 0
    for problems in request.getfixturevalue(label_range):
        rows = decided(problems.bounds)
        # One class can be best if and only if predicting it can never be wrong by regret.
        assert ((worst_case_costs(problems.bounds).min(axis=1) <= 1e-9) == rows).all()
        n_decided += rows.sum()
    assert 50 < n_decided < 950, "both kinds of rows must occur"


@pytest.mark.parametrize("seed", range(20))
def test_bounds_with_a_label_range_are_those_of_a_program_over_hidden_features(seed):
    """Two classes, at most four decision-makers: sharp, and never outside the range."""
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.uniform(0.0, 1.0, 2))
    ends = np.array([1 - high, low]), np.array([1 - low, high])
    model = random_model(rng, 2, int(rng.integers(1, 5)), 4, *ends)
    bounds = realizable(raw_bounds(model.stream, *ends))
    smallest, largest = (
        sign * minima([over_hidden_features(model.joint, sign, low, high)])[0] for sign in (1.0, -1.0)
    )
    np.testing.assert_allclose([bounds.lower[0, 1], bounds.upper[0, 1]], [smallest, largest], atol=1e-8)
    assert (bounds.lower >= ends[0] - 1e-12).all()
    assert (bounds.upper <= ends[1] + 1e-12).all()
