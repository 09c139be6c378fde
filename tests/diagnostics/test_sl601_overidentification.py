"""SL601: over-identification of NUCEM."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels.diagnostics.nucem import OVERIDENTIFICATION_CHECK, cell_linearity, implied_variance
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def testimplied_variance_is_that_of_the_moment():
    slope, intercept, leniency = np.array([0.3, 0.5]), np.array([0.02, -0.01]), np.array([0.6])
    # The moment D (Y_k - η_k) takes the values of four outcomes: unlabeled, and three classes.
    joint = np.append(intercept + 0.6 * slope, 0.0)
    joint[2] = 0.6 - joint.sum()
    values = np.vstack([np.zeros(2), np.eye(3)[:, :2] - slope])
    chance = np.append(0.4, joint)
    mean = chance @ values
    expected = (values - mean).T @ (chance[:, None] * (values - mean))
    assert_allclose(implied_variance(leniency, slope, intercept)[0], expected)


def test_statistic_ignores_the_order_of_decision_makers():
    generator = np.random.default_rng(0)
    counts = generator.multinomial(300, [0.4, 0.2, 0.3, 0.1], size=6)
    assert_allclose(cell_linearity(counts[::-1]).total, cell_linearity(counts).total)


def test_statistic_ignores_which_class_is_last():
    generator = np.random.default_rng(1)
    chance = [[1 - each, 0.2 * each, 0.5 * each, 0.3 * each] for each in np.linspace(0.3, 0.7, 6)]
    counts = np.stack([generator.multinomial(2000, row) for row in chance])
    turned = counts[:, [0, 2, 3, 1]]
    assert_allclose(cell_linearity(turned).total, cell_linearity(counts).total, rtol=1e-3)


@pytest.mark.parametrize("with_strata", [False, True])
def test_valid_without_features(with_strata):
    drawn = designs.without_features(4000, 8, seed(), with_strata=with_strata)
    assert OVERIDENTIFICATION_CHECK(context_of(drawn)).status == "ok"


def test_valid_with_features():
    result = OVERIDENTIFICATION_CHECK(context_of(designs.plain(4000, 8, seed())))
    assert result.status == "ok"
    assert "first-stage F" in result.message  # the power proxy stands beside the finding


def test_violation_without_features_is_found():
    # Power is .9 at n = 40,000; at 200,000 a miss would be a mistake.
    assert (
        OVERIDENTIFICATION_CHECK(context_of(designs.nucem_violated(200_000, 8, seed()))).status == "violated"
    )


def test_violation_with_features_is_found():
    assert (
        OVERIDENTIFICATION_CHECK(context_of(designs.plain(30_000, 8, seed(), additive=False))).status
        == "violated"
    )


def test_weak_instrument_is_not_tested_given_features():
    result = OVERIDENTIFICATION_CHECK(context_of(designs.plain(2000, 8, seed(), leniency_spread=0.0)))
    assert result.status == "not applicable"


def test_weak_instrument_without_features_is_no_pass():
    drawn = designs.without_features(2000, 8, seed())
    shuffled = np.random.default_rng(0).permutation(drawn.decision_maker)
    assert OVERIDENTIFICATION_CHECK(context_of(designs.Drawn(drawn.X, drawn.y, shuffled))).status == "warning"


def test_two_decision_makers():
    assert OVERIDENTIFICATION_CHECK(context_of(designs.plain(500, 2, seed()))).status == "not applicable"
