import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import accuracy_score, log_loss

from selective_labels import Bounds
from selective_labels.identification.costs import best_case_costs, worst_case_costs
from selective_labels.identification.functionals import (
    brier_coefficients,
    class_coefficients,
    log_loss_coefficients,
    normalized_weights,
)
from tests.reference.functionals import linear_program, random_member, random_population, regret_program
from tests.reference.population_bounds import (
    accuracy_coefficients,
    cost_coefficients,
    event_range,
    mean_extremes,
    policy_coefficients,
    regret_extremes,
    regret_rows,
)

EXACT = 1e-8  # what the linear programs deliver

shapes = pytest.mark.parametrize(
    ("n_classes", "hard", "box"),
    [(k, hard, box) for k in (2, 3, 4) for hard in (True, False) for box in (True, False)],
)
seeds = st.integers(0, 2**32 - 1)


def bounds_of(population):
    return Bounds(population.lower, population.upper)


def coefficients_of(name, prediction, seed=0):
    n_samples, n_classes = prediction.shape
    rng = np.random.default_rng(seed)
    other = rng.dirichlet(np.ones(n_classes), size=n_samples)
    builders = {
        "accuracy": lambda: accuracy_coefficients(prediction),
        "error": lambda: cost_coefficients(prediction, 1 - np.eye(n_classes)),
        "cost": lambda: cost_coefficients(prediction, rng.normal(size=(n_classes, n_classes))),
        "log_loss": lambda: log_loss_coefficients(0.9 * prediction + 0.1 / n_classes),
        "brier": lambda: brier_coefficients(prediction),
        "share": lambda: class_coefficients([0, n_classes - 1], n_classes),
        "policy": lambda: policy_coefficients(prediction[:, 0], rng.normal(size=n_classes), default=0.3),
        "difference": lambda: accuracy_coefficients(prediction) - accuracy_coefficients(other),
    }
    return builders[name]()


@shapes
@pytest.mark.parametrize(
    "name", ["accuracy", "error", "cost", "log_loss", "brier", "share", "policy", "difference"]
)
def test_linear_functionals_solve_their_linear_program(name, n_classes, hard, box):
    population = random_population(1, n_classes=n_classes, hard=hard, box=box)
    coefficients = coefficients_of(name, population.prediction)
    found = mean_extremes(coefficients, bounds_of(population), population.weights)
    full = np.broadcast_to(coefficients, population.lower.shape)
    assert_allclose(found, linear_program(full, population), atol=EXACT)


def test_accuracy_of_a_hard_classifier_is_the_bound_of_the_predicted_class():
    population = random_population(2, hard=True)
    lower = (population.prediction * population.lower).sum(axis=1)
    slack = bounds_of(population).slack
    found = mean_extremes(accuracy_coefficients(population.prediction), bounds_of(population))
    assert_allclose(found, [lower.mean(), (lower + slack).mean()], atol=1e-14)


def test_accuracy_and_error_mirror_each_other():
    population = random_population(3)
    n_classes = population.lower.shape[1]
    accuracy = mean_extremes(accuracy_coefficients(population.prediction), bounds_of(population))
    error = mean_extremes(
        cost_coefficients(population.prediction, 1 - np.eye(n_classes)), bounds_of(population)
    )
    assert_allclose(error, [1 - accuracy[1], 1 - accuracy[0]], atol=1e-14)


def test_difference_ignores_rows_where_classifiers_agree():
    population = random_population(4, n_samples=30, hard=True)
    other = population.prediction.copy()
    other[5] = np.roll(other[5], 1)
    coefficients = accuracy_coefficients(population.prediction) - accuracy_coefficients(other)
    low, high = mean_extremes(coefficients, bounds_of(population))
    # E[1{t1≠t2} (l_t1 - l_t2 ∓ δ)], and the classifiers differ in one row of thirty
    row = coefficients[5] @ population.lower[5]
    slack = bounds_of(population).slack[5]
    assert_allclose([low, high], [(row - slack) / 30, (row + slack) / 30], atol=1e-14)


def test_known_labels_give_the_usual_scores():
    rng = np.random.default_rng(5)
    labels = rng.integers(3, size=50)
    probabilities = rng.dirichlet(np.ones(3), size=50)
    weights = rng.uniform(size=50)
    known = Bounds(np.eye(3)[labels], np.eye(3)[labels])
    hard = np.eye(3)[probabilities.argmax(axis=1)]
    accuracy = accuracy_score(labels, probabilities.argmax(axis=1), sample_weight=weights)
    assert_allclose(mean_extremes(accuracy_coefficients(hard), known, weights), [accuracy] * 2)
    loss = log_loss(labels, probabilities, sample_weight=weights)
    assert_allclose(mean_extremes(log_loss_coefficients(probabilities), known, weights), [loss] * 2)
    brier = np.average(((probabilities - known.lower) ** 2).sum(axis=1), weights=weights)
    assert_allclose(mean_extremes(brier_coefficients(probabilities), known, weights), [brier] * 2)


def test_log_loss_of_a_certain_prediction_is_finite():
    assert np.isfinite(log_loss_coefficients([[0.0, 1.0]])).all()


def test_calibration_in_a_bin_is_a_share_within_its_rows():
    population = random_population(6, n_samples=8)
    in_bin = np.arange(8) < 3
    found = mean_extremes(class_coefficients(1, 3), bounds_of(population), population.weights * in_bin)
    inside = type(population)(*(field[:3] for field in population))
    expected = linear_program(np.broadcast_to(class_coefficients(1, 3), (3, 3)), inside)
    assert_allclose(found, expected, atol=EXACT)


@shapes
def test_event_range_is_what_some_class_probabilities_attain(n_classes, hard, box):
    population = random_population(7, n_classes=n_classes, hard=hard, box=box)
    classes = [0, 1] if n_classes > 2 else [0]
    event = np.broadcast_to(class_coefficients(classes, n_classes), population.lower.shape)
    ends = np.transpose(event_range(bounds_of(population), classes))
    for row, found in enumerate(ends):
        alone = type(population)(*(field[row : row + 1] for field in population))
        assert_allclose(found, linear_program(event[row : row + 1], alone), atol=EXACT)


@shapes
@pytest.mark.parametrize("seed", range(3))
def test_regret_solves_its_linear_program_in_every_row(seed, n_classes, hard, box):
    population = random_population(seed, n_samples=12, n_classes=n_classes, hard=hard, box=box)
    found = np.transpose(regret_rows(population.prediction, bounds_of(population)))
    rows = zip(population.prediction, population.lower, population.upper, strict=True)
    assert_allclose(found, [regret_program(*row) for row in rows], atol=EXACT)


def test_regret_of_a_stochastic_classifier_that_splits_its_guesses():
    # Away from the lower bounds: a uniform guess has regret max η - 1/K, least at the most even η.
    population = random_population(8, n_samples=40, n_classes=4, box=True)
    uniform = np.full_like(population.prediction, 0.25)
    found = np.transpose(regret_rows(uniform, bounds_of(population)))
    rows = zip(uniform, population.lower, population.upper, strict=True)
    assert_allclose(found, [regret_program(*row) for row in rows], atol=EXACT)


@pytest.mark.parametrize("box", [True, False])
def test_regret_of_a_hard_classifier_is_the_cost_of_its_class(box):
    population = random_population(9, n_samples=40, n_classes=4, hard=True, box=box)
    bounds, predicted = bounds_of(population), population.prediction == 1
    lowest, highest = regret_rows(population.prediction, bounds)
    assert_allclose(lowest, best_case_costs(bounds)[predicted], atol=1e-14)
    assert_allclose(highest, worst_case_costs(bounds)[predicted], atol=1e-14)


@settings(deadline=None, max_examples=25)
@given(seed=seeds, box=st.booleans())
def test_regret_ends_hold_for_every_member_of_the_identified_set(seed, box):
    population = random_population(seed, box=box)
    eta = random_member(population, seed)
    regret = eta.max(axis=1) - (population.prediction * eta).sum(axis=1)
    lowest, highest = regret_rows(population.prediction, bounds_of(population))
    assert (lowest <= regret + EXACT).all()
    assert (regret <= highest + EXACT).all()


def test_regret_extremes_average_the_rows():
    population = random_population(10)
    rows = regret_rows(population.prediction, bounds_of(population))
    expected = [np.average(end, weights=population.weights) for end in rows]
    found = regret_extremes(population.prediction, bounds_of(population), population.weights)
    assert_allclose(found, expected)


@settings(deadline=None, max_examples=50)
@given(seed=seeds)
def test_permuting_classes_changes_no_functional(seed):
    population = random_population(seed, n_classes=4, box=True)
    order = np.random.default_rng(seed).permutation(4)
    permuted = Bounds(population.lower[:, order], population.upper[:, order])
    for function in (mean_extremes, regret_extremes):
        found = function(population.prediction[:, order], permuted)
        assert_allclose(found, function(population.prediction, bounds_of(population)), atol=1e-12)


@pytest.mark.parametrize("weights", [[0.0, 0.0], [1.0, -0.5], [np.nan, 1.0]])
def test_weights_that_weigh_nothing_are_refused(weights):
    with pytest.raises(ValueError, match="non-negative"):
        normalized_weights(weights, 2)


def test_small_weights_are_weights():
    assert_allclose(normalized_weights([1e-3, 3e-3], 2), [0.25, 0.75])


def test_a_policy_is_worth_its_default_where_it_does_not_act():
    # Acting on half of the cases mixes the utility with the default; never acting leaves the default.
    found = policy_coefficients([0.5, 0.0, 1.0], utility=[2.0, -4.0], default=1.0)
    assert_allclose(found, [[1.5, -1.5], [1.0, 1.0], [2.0, -4.0]])


def test_weights_of_another_length_are_refused():
    with pytest.raises(ValueError, match="3 rows"):
        normalized_weights([1.0, 2.0], 3)
