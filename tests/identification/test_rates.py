import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import balanced_accuracy_score, f1_score, recall_score, roc_auc_score

from selective_labels import Bounds
from selective_labels.identification.rates import balanced_accuracy_extremes
from tests.reference.functionals import (
    auc_value,
    balanced_accuracy_value,
    edge_search,
    f1_value,
    fractional_program,
    random_member,
    random_population,
    rate_value,
)
from tests.reference.population_bounds import (
    auc_extremes,
    event_range,
    f1_extremes,
    predictive_value_extremes,
    rate_extremes,
)

EXACT = 1e-8  # what the linear programs and the edge search deliver

shapes = pytest.mark.parametrize(
    ("n_classes", "hard", "box"),
    [(k, hard, box) for k in (2, 3, 4) for hard in (True, False) for box in (True, False)],
)
few_seeds = pytest.mark.parametrize("seed", range(5))
functionals = pytest.mark.parametrize(
    ("extremes", "value"),
    [
        (rate_extremes, rate_value),
        (f1_extremes, f1_value),
        (balanced_accuracy_extremes, balanced_accuracy_value),
        (auc_extremes, auc_value),
    ],
)
seeds = st.integers(0, 2**32 - 1)


def ends_of(found):
    return [found.minimum, found.maximum]


def event_of(population, classes):
    return event_range(Bounds(population.lower, population.upper), classes)


def indicator(population, class_):
    return np.broadcast_to(np.eye(population.lower.shape[1])[class_], population.lower.shape)


def calibrated_population(seed):
    """Bounds of an event around a good score, and a middle row so unknown that an end may lie inside it."""
    rng = np.random.default_rng([7, seed])
    score = np.append(rng.uniform(size=5), 0.5)
    tightness = np.append(rng.uniform(0.6, 1.0, size=5), 0.1)
    weights = np.append(rng.uniform(0.2, 1.0, size=5), 2.0)
    return score * tightness, 1 - (1 - score) * tightness, score, weights


@shapes
@few_seeds
def test_rates_solve_their_fractional_program(seed, n_classes, hard, box):
    population = random_population(seed, n_classes=n_classes, hard=hard, box=box)
    for predicted, true in [(0, 0), (1, 0)]:  # a rate of correct, and of wrong predictions
        prediction, event = population.prediction[:, predicted], indicator(population, true)
        found = rate_extremes(prediction, *event_of(population, true), population.weights)
        expected = fractional_program(prediction[:, None] * event, event, 0.0, population)
        assert_allclose(ends_of(found), expected, atol=EXACT)


@shapes
@few_seeds
def test_predictive_values_solve_their_linear_program(seed, n_classes, hard, box):
    population = random_population(seed, n_classes=n_classes, hard=hard, box=box)
    predicted = population.prediction.sum(axis=0).argmax()  # a hard classifier may predict some class never
    prediction, event = population.prediction[:, predicted], indicator(population, 1)
    found = predictive_value_extremes(prediction, *event_of(population, 1), population.weights)
    share = np.average(prediction, weights=population.weights)
    expected = fractional_program(prediction[:, None] * event, 0 * event, share, population)
    assert_allclose(ends_of(found), expected, atol=EXACT)


@shapes
@few_seeds
def test_f1_solves_its_fractional_program(seed, n_classes, hard, box):
    population = random_population(seed, n_classes=n_classes, hard=hard, box=box)
    prediction, event = population.prediction[:, 0], indicator(population, 0)
    found = f1_extremes(prediction, *event_of(population, 0), population.weights)
    share = np.average(prediction, weights=population.weights)
    expected = fractional_program(2 * prediction[:, None] * event, event, share, population)
    assert_allclose(ends_of(found), expected, atol=EXACT)


@few_seeds
@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("sign", [1, -1], ids=["good", "bad"])
def test_balanced_accuracy_is_the_best_of_all_edges(seed, hard, sign):
    lower, upper, score, weights = calibrated_population(seed)
    prediction = score > 0.5 if hard else score
    prediction = 1.0 * prediction if sign > 0 else 1.0 - prediction
    found = balanced_accuracy_extremes(prediction, lower, upper, weights)
    expected = edge_search(lambda eta: balanced_accuracy_value(prediction, eta, weights), lower, upper)
    assert_allclose(ends_of(found), expected, atol=EXACT)


@few_seeds
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("sign", [1, -1], ids=["good", "bad"])
def test_auc_is_the_best_of_all_edges(seed, ties, sign):
    lower, upper, score, weights = calibrated_population(seed)
    score = sign * (np.round(3 * score) if ties else score)
    found = auc_extremes(score, lower, upper, weights)
    expected = edge_search(lambda eta: auc_value(score, eta, weights), lower, upper)
    assert_allclose(ends_of(found), expected, atol=EXACT)


@pytest.mark.parametrize("extremes", [balanced_accuracy_extremes, auc_extremes])
def test_the_worst_case_of_a_good_classifier_can_lie_between_the_bounds_of_a_row(extremes):
    value = balanced_accuracy_value if extremes is balanced_accuracy_extremes else auc_value
    prediction = np.array([1.0, 0.5, 0.0])
    lower, upper = np.array([0.9, 0.0, 0.1]), np.array([0.9, 1.0, 0.1])
    found = extremes(prediction, lower, upper)
    # By symmetry the least favourable η of the middle row is one half, which no cut-off has
    assert_allclose(found.minimum_at_upper, [0.0, 0.5, 1.0], atol=1e-12)
    vertices = [value(prediction, np.where(prediction == 0.5, end, lower), 1.0) for end in (0.0, 1.0)]
    assert found.minimum < min(vertices) - 0.01


def test_hard_rates_have_the_form_of_the_table():
    population = random_population(11, n_samples=30, n_classes=3, hard=True)
    lower, upper = event_of(population, 0)
    hit, weights = population.prediction[:, 0], population.weights
    found = rate_extremes(hit, lower, upper, weights)
    sums = {
        (name, part): weights @ (bound * on)
        for name, bound in (("l", lower), ("u", upper))
        for part, on in (("A", hit), ("B", 1 - hit))
    }
    smallest = sums["l", "A"] / (sums["l", "A"] + sums["u", "B"])
    largest = sums["u", "A"] / (sums["u", "A"] + sums["l", "B"])
    assert_allclose(ends_of(found), [smallest, largest], atol=1e-14)
    # The selector: an undecided row is at its upper bound exactly where the class is predicted
    undecided = upper - lower > 1e-9
    np.testing.assert_array_equal(found.maximum_at_upper[undecided], hit[undecided] == 1)


def test_table_of_hard_rates_is_too_wide_for_a_stochastic_classifier():
    population = random_population(12, n_samples=30, n_classes=2)
    lower, upper = event_of(population, 0)
    prediction = population.prediction[:, 0]
    found = rate_extremes(prediction, lower, upper)
    wide_minimum = prediction @ lower / (prediction @ lower + (1 - prediction) @ upper)
    wide_maximum = prediction @ upper / (prediction @ upper + (1 - prediction) @ lower)
    # A row cannot be at its upper bound for the predicted part and at its lower bound for the rest
    assert wide_minimum < found.minimum - 0.01
    assert found.maximum + 0.01 < wide_maximum


def test_balanced_accuracy_of_a_hard_classifier_is_the_mean_of_its_two_rates():
    population = random_population(13, n_samples=30, n_classes=2, hard=True)
    lower, upper = event_of(population, 0)
    hit = population.prediction[:, 0]
    rates = rate_extremes(hit, lower, upper), rate_extremes(1 - hit, 1 - upper, 1 - lower)
    # More of the event among the hits, and less of it elsewhere, raises both rates: they are worst together
    expected = np.mean([ends_of(rate) for rate in rates], axis=0)
    assert_allclose(ends_of(balanced_accuracy_extremes(hit, lower, upper)), expected, atol=1e-14)


def test_balanced_accuracy_of_a_stochastic_classifier_is_narrower_than_the_mean_of_its_two_rates():
    prediction = np.array([1.0, 0.5, 0.0])
    lower, upper = np.array([0.9, 0.0, 0.1]), np.array([0.9, 1.0, 0.1])
    rates = rate_extremes(prediction, lower, upper), rate_extremes(1 - prediction, 1 - upper, 1 - lower)
    # One rate is worst with the event in the middle row, the other without it
    assert_allclose([rate.minimum for rate in rates], 0.7)
    assert_allclose(balanced_accuracy_extremes(prediction, lower, upper).minimum, 23 / 30)


@functionals
@settings(deadline=None, max_examples=40)
@given(seed=seeds, hard=st.booleans(), n_classes=st.integers(2, 4))
def test_selectors_attain_the_ends(extremes, value, seed, hard, n_classes):
    population = random_population(seed, n_samples=15, n_classes=n_classes, hard=hard, box=True)
    lower, upper = event_of(population, 0)
    prediction = population.prediction[:, 0]
    if prediction.sum() == 0:
        prediction = 1 - prediction  # F1 of a class that is never predicted has no precision
    found = extremes(prediction, lower, upper, population.weights)
    for end, at_upper in (
        (found.minimum, found.minimum_at_upper),
        (found.maximum, found.maximum_at_upper),
    ):
        eta = lower + at_upper * (upper - lower)
        assert_allclose(value(prediction, eta, population.weights), end, atol=1e-10)


@pytest.mark.parametrize("extremes", [balanced_accuracy_extremes, auc_extremes])
def test_the_selector_of_a_row_in_between_is_its_share_of_the_way_up(extremes):
    found = extremes([1.0, 0.5, 0.0], [0.9, 0.3, 0.1], [0.9, 0.9, 0.1])
    # The least favourable η of the middle row is one half, by symmetry: a third of the way from .3 to .9
    assert_allclose(found.minimum_at_upper[1], 1 / 3)


def test_selectors_of_predictive_values_are_the_ends_themselves():
    found = predictive_value_extremes([0.2, 0.9], [0.1, 0.2], [0.3, 0.4])
    assert not found.minimum_at_upper.any()
    assert found.maximum_at_upper.all()


@functionals
@settings(deadline=None, max_examples=15)
@given(seed=seeds)
def test_every_member_of_the_identified_set_lies_between_the_ends(extremes, value, seed):
    population = random_population(seed, n_classes=3, box=True)
    prediction = population.prediction[:, 0]
    found = extremes(prediction, *event_of(population, 0), population.weights)
    eta = random_member(population, seed)[:, 0]
    assert found.minimum - EXACT <= value(prediction, eta, population.weights) <= found.maximum + EXACT


@functionals
@settings(deadline=None, max_examples=25)
@given(seed=seeds)
def test_wider_bounds_never_narrow_the_ends(extremes, value, seed):
    population = random_population(seed, n_samples=20, n_classes=2)
    lower, upper = event_of(population, 0)
    shrink = np.random.default_rng(seed).uniform(size=20)
    wide = extremes(population.prediction[:, 0], shrink * lower, 1 - shrink * (1 - upper))
    narrow = extremes(population.prediction[:, 0], lower, upper)
    assert wide.minimum <= narrow.minimum + 1e-12
    assert narrow.maximum <= wide.maximum + 1e-12


@functionals
def test_integer_weights_repeat_rows(extremes, value):
    population = random_population(14, n_samples=10, n_classes=2)
    score, (lower, upper) = population.prediction[:, 0], event_of(population, 0)
    times = np.random.default_rng(14).integers(0, 4, size=10)
    repeated = extremes(*(np.repeat(array, times) for array in (score, lower, upper)))
    assert_allclose(ends_of(extremes(score, lower, upper, times)), ends_of(repeated), atol=1e-12)


def test_known_labels_give_the_usual_scores():
    rng = np.random.default_rng(15)
    score = np.round(rng.uniform(size=80), 1)  # with ties
    labels = (rng.uniform(size=80) < score).astype(int)
    predicted = (score > 0.6).astype(int)
    weights = rng.uniform(size=80)
    scorers = {
        rate_extremes: recall_score,
        f1_extremes: f1_score,
        balanced_accuracy_extremes: balanced_accuracy_score,
    }
    for extremes, scorer in scorers.items():
        expected = scorer(labels, predicted, sample_weight=weights)
        assert_allclose(ends_of(extremes(predicted, labels, labels, weights)), [expected] * 2)
    # A row paired with itself is never one of each class, so even the own pairs vanish
    expected = roc_auc_score(labels, score, sample_weight=weights)
    assert_allclose(ends_of(auc_extremes(score, labels, labels, weights)), [expected] * 2)


def test_auc_turns_around_with_its_score_and_ignores_its_scale():
    population = random_population(16, n_samples=20, n_classes=2)
    score, (lower, upper) = population.prediction[:, 0], event_of(population, 0)
    found = auc_extremes(score, lower, upper)
    turned = auc_extremes(-score, lower, upper)
    assert_allclose(ends_of(turned), [1 - found.maximum, 1 - found.minimum], atol=1e-12)
    assert_allclose(ends_of(auc_extremes(np.exp(5 * score), lower, upper)), ends_of(found), atol=1e-14)


@functionals
def test_rows_about_which_nothing_is_known(extremes, value):
    found = extremes(np.array([0.8, 0.6, 0.3]), np.zeros(3), np.ones(3))
    # The event may have probability zero or one, where ratios are undefined: these cut-offs are passed over
    expected = {
        rate_extremes: [0.3, 0.8],
        f1_extremes: [0.0, 2 * 1.4 / (1.7 + 2)],
        balanced_accuracy_extremes: [0.5 + 0.5 * (0.3 - 0.7), 0.5 + 0.5 * (0.7 - 0.3)],
        auc_extremes: [0.0, 1.0],
    }[extremes]
    assert_allclose(ends_of(found), expected, atol=1e-12)


@pytest.mark.parametrize("extremes", [rate_extremes, balanced_accuracy_extremes, auc_extremes])
def test_an_event_that_cannot_occur_is_refused(extremes):
    with pytest.raises(ValueError, match="probability zero"):
        extremes([0.2, 0.7], [0.0, 0.0], [0.0, 0.0])


@pytest.mark.parametrize("extremes", [balanced_accuracy_extremes, auc_extremes])
def test_rounding_does_not_make_an_impossible_complement_possible(extremes):
    almost = np.array([1 - 1e-16, 1.0, 1 + 1e-16])
    with pytest.raises(ValueError, match="probability zero"):
        extremes([0.2, 0.7, 0.4], almost, almost)


def test_predictive_value_of_a_class_never_predicted_is_refused():
    with pytest.raises(ValueError, match="never predicted"):
        predictive_value_extremes([0.0, 0.0], [0.1, 0.2], [0.3, 0.4])


@pytest.mark.parametrize(("lower", "upper"), [(-0.1, 0.5), (0.5, 0.4), (0.5, 1.1), (np.nan, 1.0)])
def test_bounds_that_are_no_probabilities_are_refused(lower, upper):
    with pytest.raises(ValueError, match="0 <= lower <= upper <= 1"):
        rate_extremes([0.5], [lower], [upper])
    with pytest.raises(ValueError, match="0 <= lower <= upper <= 1"):
        rate_extremes([0.5, 0.5], [0.2, lower], [0.6, upper])  # one good row does not mend a bad one
