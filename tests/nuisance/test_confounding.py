"""Boxes around point estimates: their ends, and the leverage that widens them, from their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels.data import SelectiveLabels
from selective_labels.datasets import make_decision_makers
from selective_labels.identification.bounds import Bounds
from selective_labels.nuisance.confounding import (
    ScoredBox,
    linear_scores,
    slope_box,
    slope_leverage,
    with_lower_bounds,
)
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.propensity import arm_propensity
from selective_labels.nuisance.score_formulas import Scores


def test_a_slope_box_reaches_kappa_times_the_leverage_either_way():
    values, plug_in = np.array([[1.4, -0.4], [0.3, 0.7]]), np.array([[0.8, 0.2], [0.5, 0.5]])
    box = slope_box(Scores(values, plug_in, np.zeros(2, dtype=bool)), np.array([2.0, 5.0]), kappa=0.1)
    reach = np.array([[0.2], [0.5]])
    assert_allclose(box.lower, values - reach)
    assert_allclose(box.upper, values + reach)
    assert_allclose(box.plug_in.lower, plug_in - reach)
    assert_allclose(box.plug_in.upper, plug_in + reach)


@pytest.mark.parametrize("propensity", ["shares", "model"])
def test_leverage_is_measured_on_two_halves(propensity):
    """V is a product of deviations in both halves; the spread of leniency is that of their mean."""
    sample = make_decision_makers(300, n_classes=2, n_decision_makers=4, random_state=0)
    data = SelectiveLabels.from_arrays(sample.X, sample.y, decision_maker=sample.decision_maker)
    fit = cross_fit(data, "logistic", cv=2, in_halves=True, propensity=propensity, random_state=0)
    found = slope_leverage(fit, data)
    for row in range(0, 300, 23):
        fold = fit.folds[fit.held_out[row]]
        chance = arm_propensity(fit, fit.held_out[row], data)(np.array([row]))[0]
        first, second = (1 - model.joint(data.X[[row]])[:, 0, 0] for model in fold.models)
        strength = np.sum(chance * (first - chance @ first) * (second - chance @ second))
        mean = (first + second) / 2
        spread = np.sum(chance * np.abs(mean - chance @ mean))
        assert_allclose(found[row], spread / max(strength, 1e-3))


def scored(lower, upper):
    ends = np.array([lower]), np.array([upper])
    return ScoredBox(*ends, Bounds(*ends))


def test_what_a_box_cannot_hold_goes_to_the_last_class():
    # The upper ends leave a tenth: the smallest mean puts it where it costs most, as noise may have to.
    minimum, maximum = linear_scores(scored([0.1, 0.1, 0.1], [0.3, 0.3, 0.3]), [1.0, 5.0, 3.0])
    assert_allclose(minimum, 0.3 * (1 + 5 + 3) + 0.1 * 5)
    assert_allclose(maximum, 0.3 * (1 + 5 + 3) + 0.1 * 1)


def test_lower_bounds_enter_where_the_models_say_that_they_are_larger():
    """The choice is that of the models; what is averaged are scores."""
    box = scored([0.2, 0.3], [0.6, 0.7])
    lower = Scores(np.array([[-5.0, 7.0]]), np.array([[0.1, 0.4]]), np.zeros(1, dtype=bool))
    narrower, crossed = with_lower_bounds(box, lower)
    assert not crossed.any()
    assert_array_equal(narrower.lower, [[0.2, 7.0]])
    assert_array_equal(narrower.plug_in.lower, [[0.2, 0.4]])
    assert_array_equal(narrower.upper, box.upper)
    assert_array_equal(narrower.plug_in.upper, box.plug_in.upper)
