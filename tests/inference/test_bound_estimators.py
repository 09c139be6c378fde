"""Ends of functionals against the closed forms of the identified set, and their influences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selective_labels import Bounds
from selective_labels.identification.bounds import repair
from selective_labels.identification.costs import linear_extremes
from selective_labels.identification.rates import balanced_accuracy_extremes
from selective_labels.inference.bound_estimators import (
    KnownRatioDifference,
    RankSeparation,
    Ratio,
    Regret,
    Separation,
    best_lottery,
    outer_difference,
    strongest_rival,
)
from selective_labels.inference.evidence import Evidence, bootstrap_covariance, covariance, mean_estimate
from selective_labels.nuisance.score_formulas import Scores
from tests.reference.functionals import fractional_program, random_population
from tests.reference.population_bounds import (
    auc_extremes,
    event_range,
    f1_extremes,
    mean_extremes,
    predictive_value_extremes,
    rate_extremes,
    regret_extremes,
    regret_rows,
)

SEEDS = st.integers(0, 10_000)


def exact(bounds):
    """Evidence without noise: the scores are the bounds themselves."""
    return Evidence(bounds.lower, bounds.slack, bounds.lower)


def case(seed, n_classes=3, hard=False):
    generator = np.random.default_rng(seed)
    n_samples = 7
    raw = generator.dirichlet(np.ones(n_classes + 1), n_samples)
    lower = raw[:, 1:]
    bounds = Bounds(lower, lower + raw[:, :1])
    prediction = generator.dirichlet(np.ones(n_classes), n_samples)
    if hard:
        prediction = np.eye(n_classes)[generator.integers(n_classes, size=n_samples)]
        prediction[:n_classes] = np.eye(n_classes)
    return prediction, bounds, generator.uniform(0.2, 1.0, n_samples)


def values(functional, bounds, weights):
    return [end.value for end in functional.ends(exact(bounds), weights)]


def rate(prediction, a, k):
    """P(t=a | Y=k) as a ratio."""
    event = np.eye(prediction.shape[1])[k]
    return Ratio(prediction[:, [a]] * event, np.ones((len(prediction), 1)) * event)


class TestEvidence:
    VALUES = np.array([[0.7, -0.1], [0.2, 0.3]])
    PLUG_IN = np.array([[0.9, 0.5], [0.1, 0.4]])
    SCORES = Scores(VALUES, PLUG_IN, np.zeros(2, dtype=bool))

    def test_bounds_leave_slack(self):
        evidence = Evidence.from_scores(self.SCORES, point=False)
        np.testing.assert_array_equal(evidence.lower, self.VALUES)
        np.testing.assert_allclose(evidence.slack, [0.4, 0.5])
        np.testing.assert_array_equal(evidence.model, self.PLUG_IN)

    def test_a_point_leaves_none_and_its_model_is_a_probability(self):
        evidence = Evidence.from_scores(self.SCORES, point=True)
        np.testing.assert_array_equal(evidence.lower, self.VALUES)
        np.testing.assert_array_equal(evidence.slack, 0.0)  # exactly, whatever the scores sum to
        np.testing.assert_allclose(evidence.model, [[0.7, 0.3], [0.35, 0.65]])

    def test_labels_are_certain(self):
        evidence = Evidence.from_labels(np.array([1, 0, 2]), 3)
        one_hot = [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
        np.testing.assert_array_equal(evidence.lower, one_hot)
        np.testing.assert_array_equal(evidence.model, one_hot)
        np.testing.assert_array_equal(evidence.slack, 0.0)


@pytest.mark.parametrize("hard", [True, False])
@settings(deadline=None, max_examples=30)
@given(seed=SEEDS, n_classes=st.integers(2, 4))
def test_ratio_of_known_condition_is_linear(hard, seed, n_classes):
    prediction, bounds, weights = case(seed, n_classes, hard)
    ends = values(Ratio(prediction, np.ones_like(prediction)), bounds, weights)
    np.testing.assert_allclose(ends, mean_extremes(prediction, bounds, weights), atol=1e-12)


@pytest.mark.parametrize("hard", [True, False])
@settings(deadline=None, max_examples=15)
@given(seed=SEEDS, n_classes=st.integers(2, 4))
def test_any_ratio_is_that_of_the_linear_program(hard, seed, n_classes):
    """Any occurrence and any condition that a user may define, against the transformed linear program."""
    population = random_population(seed, n_classes=n_classes, hard=hard)
    generator = np.random.default_rng(seed)
    below = generator.uniform(0, 1, (n_classes, n_classes))
    above = below * generator.uniform(-1, 2, (n_classes, n_classes))
    ratio = Ratio(population.prediction @ above.T, population.prediction @ below.T)
    ends = values(ratio, Bounds(population.lower, population.upper), population.weights)
    program = fractional_program(ratio.numerator, ratio.denominator, 0.0, population)
    np.testing.assert_allclose(ends, program, atol=1e-8)


@pytest.mark.parametrize("hard", [True, False])
@settings(deadline=None, max_examples=30)
@given(seed=SEEDS, n_classes=st.integers(2, 4))
def test_rate_is_that_of_the_sort(hard, seed, n_classes):
    prediction, bounds, weights = case(seed, n_classes, hard)
    sorted_ends = rate_extremes(prediction[:, 0], *event_range(bounds, 1), weights)
    ends = values(rate(prediction, 0, 1), bounds, weights)
    np.testing.assert_allclose(ends, [sorted_ends.minimum, sorted_ends.maximum], atol=1e-10)


@pytest.mark.parametrize("hard", [True, False])
@settings(deadline=None, max_examples=30)
@given(seed=SEEDS)
def test_f1_is_that_of_the_sort(hard, seed):
    prediction, bounds, weights = case(seed, 3, hard)
    event = np.eye(3)[2]
    f1 = Ratio(2 * prediction[:, [2]] * event, prediction[:, [2]] + event)
    sorted_ends = f1_extremes(prediction[:, 2], *event_range(bounds, 2), weights)
    np.testing.assert_allclose(
        values(f1, bounds, weights), [sorted_ends.minimum, sorted_ends.maximum], atol=1e-10
    )


@pytest.mark.parametrize("hard", [True, False])
@settings(deadline=None, max_examples=30)
@given(seed=SEEDS, n_classes=st.integers(2, 4))
def test_regret_is_exact(hard, seed, n_classes):
    prediction, bounds, weights = case(seed, n_classes, hard)
    ends = values(Regret(prediction), bounds, weights)
    np.testing.assert_allclose(ends, regret_extremes(prediction, bounds, weights), atol=1e-10)


@settings(deadline=None, max_examples=30)
@given(seed=SEEDS)
def test_regret_lower_end_is_valid_with_wrong_rivals(seed):
    """Any lottery of rivals gives a value below the smallest regret: weak duality."""
    prediction, bounds, weights = case(seed)
    wrong = case(seed + 1)[1]
    lottery = best_lottery(prediction, wrong)
    np.testing.assert_allclose(lottery.sum(axis=1), 1.0)
    end = Regret(prediction).ends(Evidence(bounds.lower, bounds.slack, wrong.lower), weights)[0].value
    assert end <= regret_extremes(prediction, bounds, weights)[0] + 1e-12


@pytest.mark.parametrize("hard", [True, False])
@settings(deadline=None, max_examples=30)
@given(seed=SEEDS, n_classes=st.integers(2, 6))
def test_regret_has_its_best_lottery_and_strongest_rival_under_ceilings(hard, seed, n_classes):
    """Row by row the dual reaches the smallest regret of a box, and the rival the largest."""
    generator = np.random.default_rng(seed)
    eta = generator.dirichlet(np.ones(n_classes), 20)
    ceiling = eta + (1.0 - eta) * generator.random(eta.shape) ** 2
    box = repair(Bounds(eta * generator.random(eta.shape), ceiling))[0]
    prediction = generator.dirichlet(np.ones(n_classes), 20)
    if hard:
        prediction = np.eye(n_classes)[prediction.argmax(axis=1)]
    low, high = regret_rows(prediction, box)
    dual = linear_extremes(best_lottery(prediction, box) - prediction, box)[0]
    np.testing.assert_allclose(dual, low, atol=1e-9)
    rival = linear_extremes(strongest_rival(prediction, box) - prediction, box)[1]
    np.testing.assert_allclose(rival, high, atol=1e-9)


@pytest.mark.parametrize("hard", [True, False])
@settings(deadline=None, max_examples=30)
@given(seed=SEEDS)
def test_balanced_accuracy_is_exact(hard, seed):
    prediction, bounds, weights = case(seed, 2, hard)
    closed = balanced_accuracy_extremes(prediction[:, 1], *event_range(bounds, 1), weights)
    ends = values(Separation(prediction[:, 1], event=1, scale=0.5), bounds, weights)
    np.testing.assert_allclose(ends, [closed.minimum, closed.maximum], atol=1e-10)


@settings(deadline=None, max_examples=30)
@given(seed=SEEDS, n_classes=st.integers(2, 3))
def test_auc_is_exact(seed, n_classes):
    _, bounds, weights = case(seed, n_classes)
    score = np.random.default_rng(seed).integers(0, 4, len(weights))  # with ties
    closed = auc_extremes(score, *event_range(bounds, 1), weights)
    level = np.unique(score, return_inverse=True)[1]
    ends = values(RankSeparation(level[None], event=1, scale=1.0), bounds, weights)
    np.testing.assert_allclose(ends, [closed.minimum, closed.maximum], atol=1e-10)


@settings(deadline=None, max_examples=30)
@given(seed=SEEDS)
def test_predictive_values_differ_within_sharp_ends(seed):
    """Ends of a difference of predictive values lie within the difference of ends, and are attained."""
    one, bounds, weights = case(seed, 3, hard=True)
    other = np.roll(one, 1, axis=0)
    event = np.eye(3)[0]
    ratios = [Ratio(each[:, [0]] * event, np.repeat(each[:, [0]], 3, axis=1)) for each in (one, other)]
    low, high = values(KnownRatioDifference(*ratios), bounds, weights)
    separate = [predictive_value_extremes(e[:, 0], *event_range(bounds, 0), weights) for e in (one, other)]
    assert low >= separate[0].minimum - separate[1].maximum - 1e-12
    assert high <= separate[0].maximum - separate[1].minimum + 1e-12
    scale = [np.average(each[:, 0], weights=weights) for each in (one, other)]
    linear = one[:, [0]] * event / scale[0] - other[:, [0]] * event / scale[1]
    np.testing.assert_allclose([low, high], mean_extremes(linear, bounds, weights), atol=1e-12)


def noisy(n_samples=600, seed=0):
    """Scores with noise around bounds, weights, a lottery and a score with ties."""
    generator = np.random.default_rng(seed)
    raw = generator.dirichlet([2.0, 1.0, 1.0], n_samples)
    model = raw[:, 1:]
    scores = model + generator.normal(0, 0.4, model.shape)
    evidence = Evidence(scores, 1.0 - scores.sum(axis=1), model)
    prediction = generator.dirichlet([1.0, 1.0], n_samples)
    level = np.unique(generator.integers(0, 30, n_samples), return_inverse=True)[1]
    return evidence, generator.uniform(0.5, 1.5, n_samples), prediction, level


FUNCTIONALS = ["rate", "f1", "balanced accuracy", "auc", "auc difference", "regret"]


def functional_of(name, prediction, level):
    event = np.array([0.0, 1.0])
    levels = np.stack([level, level[::-1]])
    return {
        "rate": rate(prediction, 1, 1),
        "f1": Ratio(2 * prediction[:, [1]] * event, prediction[:, [1]] + event),
        "balanced accuracy": Separation(prediction[:, 1], event=1, scale=0.5),
        "auc": RankSeparation(level[None], event=1, scale=1.0),
        "auc difference": RankSeparation(levels, event=1, scale=1.0, centre=0.0, signs=(1.0, -1.0)),
        "regret": Regret(prediction),
    }[name]


@pytest.mark.parametrize("name", FUNCTIONALS)
def test_influence_is_the_derivative_in_the_weights(name):
    """influence_i = n w_i ∂θ/∂w_i, by central differences: what a row adds if it counts a little more."""
    evidence, weights, prediction, level = noisy(n_samples=300)
    functional = functional_of(name, prediction, level)
    ends = functional.ends(evidence, weights)
    step = 1e-5
    for row in range(0, 300, 37):
        up, down = (
            functional.ends(evidence, weights + sign * step * (np.arange(300) == row)) for sign in (1, -1)
        )
        slopes = [(high.value - low.value) / (2 * step) for high, low in zip(up, down, strict=True)]
        influence = [end.influence[row] / (300 * weights[row]) for end in ends]
        np.testing.assert_allclose(influence, slopes, atol=1e-8)


@pytest.mark.parametrize("name", FUNCTIONALS)
def test_no_weights_are_equal_weights(name):
    evidence, _, prediction, level = noisy(n_samples=50)
    functional = functional_of(name, prediction, level)
    for end, other in zip(
        functional.ends(evidence, None), functional.ends(evidence, np.full(50, 3.0)), strict=True
    ):
        np.testing.assert_allclose(end.value, other.value)
        np.testing.assert_allclose(end.influence, other.influence, atol=1e-12)


def test_only_a_condition_on_the_label_has_an_unknown_share():
    prediction, _, _ = case(0)
    assert Ratio(prediction, np.repeat(prediction[:, :1], 3, axis=1)).known_denominator
    assert not rate(prediction, 0, 1).known_denominator


def test_a_tie_with_no_regret_is_no_regret():
    # The rival leads by the slack: where all of it goes to the prediction, nothing is lost.
    bounds = Bounds(np.array([[0.1, 0.5]]), np.array([[0.5, 0.9]]))
    prediction = np.array([[1.0, 0.0]])
    np.testing.assert_allclose(best_lottery(prediction, bounds), prediction)


def test_differences_of_ends_take_the_far_ends_and_their_influences():
    first, second = (
        tuple(mean_estimate(scores) for scores in pair)
        for pair in ([[0.1, 0.3], [0.5, 0.9]], [[0.2, 0.6], [0.7, 0.8]])
    )
    low, high = outer_difference(first, second)
    np.testing.assert_allclose([low.value, high.value], [0.2 - 0.75, 0.7 - 0.4])
    # A row moves a difference by the difference of what it moves.
    np.testing.assert_allclose(low.influence, [-0.1 + 0.05, 0.1 - 0.05])
    np.testing.assert_allclose(high.influence, [-0.2 + 0.2, 0.2 - 0.2], atol=1e-15)


def test_influence_of_auc_is_that_of_the_bootstrap():
    """A multiplier bootstrap of the scores gives the standard error that the influence gives.

    With 400 draws a standard deviation is known to 3.5 %; five of these have a false alarm of 6e-7.
    """
    evidence, weights, prediction, level = noisy()
    functional = functional_of("auc", prediction, level)
    by_draws = bootstrap_covariance(
        lambda drawn: [end.value for end in functional.ends(evidence, drawn)],
        len(weights),
        weights=weights,
        n_draws=400,
        random_state=1,
    )
    by_influence = covariance([end.influence for end in functional.ends(evidence, weights)])
    np.testing.assert_allclose(np.sqrt(np.diag(by_influence)), np.sqrt(np.diag(by_draws)), rtol=0.175)


def test_rows_of_weight_zero_are_outside():
    """Influences of a subgroup vanish outside it, so that gaps between subgroups add up."""
    evidence, weights, prediction, level = noisy()
    inside = np.arange(len(weights)) % 3 == 0
    for functional in (rate(prediction, 1, 1), RankSeparation(level[None], event=1, scale=1.0)):
        for end in functional.ends(evidence, weights * inside):
            assert not end.influence[~inside].any()


def test_a_difference_needs_both_conditions():
    prediction, bounds, weights = case(0, 2, hard=True)
    usual = Ratio(prediction, np.ones_like(prediction))
    never = Ratio(np.zeros_like(prediction), np.zeros_like(prediction))
    for pair in ((usual, never), (never, usual)):
        with pytest.raises(ValueError, match="no probability"):
            KnownRatioDifference(*pair).ends(exact(bounds), weights)


def test_condition_without_probability_is_refused():
    prediction, bounds, weights = case(0, 2, hard=True)
    never = Ratio(np.zeros_like(prediction), np.zeros_like(prediction))
    with pytest.raises(ValueError, match="no probability"):
        never.ends(exact(bounds), weights)
