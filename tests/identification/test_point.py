import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from selective_labels import Bounds
from selective_labels.identification.bounds import raw_bounds
from selective_labels.identification.point import (
    Moments,
    SlopeMoments,
    numeric_moments,
    project_to_simplex,
    slope,
    two_fold_moments,
)
from tests.reference.decision_rules import project_to_bounds


@pytest.fixture
def population():
    """Joint of shape (6 decision-makers, 9 rows, 1 + 3 classes), and shares of shape (6, 9)."""
    rng = np.random.default_rng(7)
    return rng.dirichlet(np.ones(4), size=(6, 9)), rng.dirichlet(np.ones(6), size=9).T


def centered_sum(first, second, share):
    """Σ_z e_z (first_z - mean)(second_z - mean) from its definition."""
    center = first - (share * first).sum(axis=0)
    return (share * center * (second - (share * second).sum(axis=0))).sum(axis=0)


def test_slope_moments_are_covariances(population):
    joint, share = population
    instrument = np.random.default_rng(8).normal(size=share.shape)
    moments = SlopeMoments()
    for one in zip(instrument, joint, share, strict=True):
        moments.update(*one)
    expected = np.stack([centered_sum(instrument, joint[:, :, k], share) for k in (1, 2, 3)], axis=1)
    assert_allclose(moments.covariance, expected, rtol=0, atol=1e-14)
    # The leniency is the sum over classes, and so is its covariance.
    assert_allclose(moments.strength, centered_sum(instrument, 1 - joint[:, :, 0], share), rtol=0, atol=1e-14)
    labeled = (share[:, :, None] * joint[:, :, 1:]).sum(axis=0)
    assert_allclose(moments.selected, labeled / labeled.sum(axis=1, keepdims=True), rtol=1e-13)


def test_slope_moments_survive_large_codes(population):
    joint, _ = population
    codes, share = np.arange(6.0), np.full(6, 1 / 6)
    small, large = (numeric_moments(codes + shift, joint, share) for shift in (0.0, 1e9))
    # Sums of squares would lose everything at this shift.
    assert_allclose(large.covariance, small.covariance, rtol=1e-9, atol=1e-12)


def test_shares_are_normalised(population):
    joint, share = population
    once, scaled = (numeric_moments(range(6), joint, factor * share) for factor in (1.0, 10.0))
    assert_allclose(scaled.covariance, once.covariance, rtol=1e-12)
    # A decision-maker who never gets such a case does not count.
    absent = np.vstack([share, np.zeros((1, 9))])
    more = numeric_moments(range(7), np.concatenate([joint, joint[:1]]), absent)
    assert_allclose(more.covariance, once.covariance, rtol=1e-12)


def test_nobody_assigned_or_labeled_is_defined():
    moments = SlopeMoments()
    moments.update(1.0, [[1.0, 0.0, 0.0]], 0.0)
    # No share and no label: no covariance, and the uniform answer.
    assert_array_equal(moments.covariance, [[0.0, 0.0]])
    assert_array_equal(moments.selected, [[0.5, 0.5]])


def test_who_never_gets_a_case_says_nothing_about_it():
    moments = SlopeMoments()
    for instrument, joint in ((0.2, [0.5, 0.1, 0.4]), (0.9, [0.1, 0.6, 0.3])):
        moments.update(instrument, [joint, joint], share=np.array([0.0, 0.5]))
    # Nobody gets the first case, so nothing of it is labeled; the second has the mean of both.
    assert_allclose(moments.labeled, [[0.0, 0.0], [0.35, 0.35]])
    assert_allclose(moments.covariance, [[0.0, 0.0], [0.0875, -0.0175]])


def test_moments_need_a_decision_maker():
    with pytest.raises(ValueError, match="at least one decision-maker"):
        _ = SlopeMoments().selected
    with pytest.raises(ValueError, match="at least one decision-maker"):
        two_fold_moments([], [], [])


def test_streams_of_different_length_are_an_error(population):
    joint, share = population
    with pytest.raises(ValueError, match="zip"):
        two_fold_moments(joint, joint[:5], share)


def test_two_fold_moments_are_symmetrised(population):
    joint, share = population
    other = np.random.default_rng(9).dirichlet(np.ones(4), size=(6, 9))
    forward, backward = two_fold_moments(joint, other, share), two_fold_moments(other, joint, share)
    leniency, other_leniency = 1 - joint[:, :, 0], 1 - other[:, :, 0]
    expected = [
        centered_sum(leniency, other[:, :, k], share) + centered_sum(other_leniency, joint[:, :, k], share)
        for k in (1, 2, 3)
    ]
    assert_allclose(forward.covariance, np.stack(expected, axis=1) / 2, rtol=0, atol=1e-14)
    assert_allclose(forward.strength, centered_sum(leniency, other_leniency, share), rtol=0, atol=1e-14)
    # The folds have no order.
    assert_allclose(backward.covariance, forward.covariance, rtol=0, atol=1e-15)
    assert_allclose(backward.selected, forward.selected, rtol=1e-14)


def test_two_folds_remove_the_pull_to_the_selected_answer():
    # Truth: slope .30, labeled cases say .50, and the leniency hardly varies beside the noise.
    rng = np.random.default_rng(10)
    n_repetitions, n_cases = 4000, 50
    leniency = np.linspace(0.3, 0.6, 8)
    labeled = 0.5 * leniency.mean() + 0.3 * (leniency - leniency.mean())
    law = np.column_stack([1 - leniency, leniency - labeled, labeled])
    folds = [
        np.stack([rng.multinomial(n_cases, p, size=n_repetitions) / n_cases for p in law]) for _ in range(2)
    ]
    share = np.full(8, 1 / 8)

    def ratio_of_means(first, second):
        moments = two_fold_moments(first, second, share)
        residual = moments.covariance[:, 1] - 0.3 * moments.strength
        return residual.mean(), residual.std() / np.sqrt(n_repetitions)

    mean, error = ratio_of_means(*folds)
    # Independent folds: Cov - .3 V has mean zero; 5 standard errors are a false-alarm rate of 6e-7.
    assert abs(mean) < 5 * error
    mean, error = ratio_of_means(folds[0], folds[0])
    # One fold: its noise enters covariance and strength in the ratio p_k / λ, which pulls to .50.
    assert mean > 5 * error


def test_numeric_moments_ignore_the_direction_of_the_codes(population):
    joint, share = population
    up, down = (numeric_moments(sign * np.arange(6.0), joint, share) for sign in (1, -1))
    assert_allclose(up.covariance, down.covariance, rtol=0, atol=1e-15)
    # So that shrinkage adds to a strength that is not negative.
    assert (up.strength >= 0).all()


def test_numeric_moments_without_strength_are_not_turned():
    joint = np.array([[[0.5, 0.25, 0.25]], [[0.5, 0.5, 0.0]]])  # equal leniency, other classes
    moments = numeric_moments([0.0, 1.0], joint, [0.5, 0.5])
    assert_array_equal(moments.strength, [0.0])
    assert_array_equal(moments.covariance, [[0.0625, -0.0625]])


@pytest.mark.parametrize("shrinkage", [0.0, 1e-4, 0.1, 1e3])
def test_slopes_sum_to_one_for_every_shrinkage(population, shrinkage):
    joint, share = population
    other = np.random.default_rng(11).dirichlet(np.ones(4), size=(6, 9))
    moments = two_fold_moments(joint, other, share)
    values = slope(moments.covariance, moments.strength, moments.selected, shrinkage)
    assert_allclose(values.sum(axis=1), 1.0, rtol=0, atol=1e-9)
    # Two folds that contradict each other say nothing: the row falls back, at every shrinkage.
    weak = moments.strength <= 0
    assert 0 < weak.sum() < 9
    assert_array_equal(values[weak], moments.selected[weak])


def test_shrinkage_goes_from_the_slope_to_the_selected_answer():
    moments = Moments(np.array([[0.03, 0.01]]), np.array([0.04]), np.array([[0.25, 0.75]]))
    parts = moments.covariance, moments.strength, moments.selected
    assert_allclose(slope(*parts), [[0.75, 0.25]])
    assert_allclose(slope(*parts, shrinkage=1e9), moments.selected, rtol=1e-9)
    # One value per row is as good as a number.
    assert_allclose(slope(*parts, shrinkage=np.array([0.04])), [[0.5, 0.5]])
    two_rows = [np.repeat(part, 2, axis=0) for part in parts]
    with pytest.raises(ValueError, match="shrinkage"):
        slope(*parts, shrinkage=-1.0)
    with pytest.raises(ValueError, match="shrinkage"):
        slope(*two_rows, shrinkage=np.array([1.0, -1.0]))


def nearest(value, lower):
    """Nearest point of {η >= lower, Σ η = 1} by a general solver."""
    result = minimize(
        lambda eta: ((eta - value) ** 2).sum(),
        lower + (1 - lower.sum()) / len(lower),
        jac=lambda eta: 2 * (eta - value),
        method="SLSQP",
        bounds=[(low, None) for low in lower],
        constraints={"type": "eq", "fun": lambda eta: eta.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-14},
    )
    return result.x


def test_projections_are_nearest_points():
    rng = np.random.default_rng(12)
    values = rng.normal(size=(40, 4))
    assert_allclose(project_to_simplex(values), [nearest(v, np.zeros(4)) for v in values], atol=1e-6)
    lower = rng.dirichlet(np.ones(5), size=40)[:, :4]
    projected = project_to_bounds(values, Bounds(lower, np.ones((40, 4))))
    expected = [nearest(v, low) for v, low in zip(values, lower, strict=True)]
    assert_allclose(projected, expected, atol=1e-6)


def test_projection_keeps_what_is_inside():
    rng = np.random.default_rng(13)
    inside = rng.dirichlet(np.ones(3), size=20)
    assert_allclose(project_to_simplex(inside), inside, rtol=0, atol=1e-15)
    bounds = raw_bounds(rng.dirichlet(np.ones(4), size=(1, 20)))
    member = bounds.lower + bounds.slack[:, None] * inside
    assert_allclose(project_to_bounds(member, bounds), member, rtol=0, atol=1e-15)


def test_projection_survives_wild_ratios():
    # A ratio with a denominator near zero can have any size.
    wild = project_to_simplex(np.array([[1e17, -1e17, 0.0], [-3e12, -3e12, -1e13], [0.0, 0.0, 1e300]]))
    assert_allclose(wild, [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]], rtol=0, atol=1e-12)


def test_projection_without_slack_is_the_lower_bound():
    lower = np.array([[0.5, 0.5], [0.9, 0.1]])
    assert_allclose(project_to_bounds(np.array([[9.0, -8.0], [0.0, 1.0]]), Bounds(lower, lower)), lower)
