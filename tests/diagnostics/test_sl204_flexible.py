"""SL204: a flexible model of decision-makers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels import SelectiveLabels, diagnose
from selective_labels.diagnostics.assignment_model import RandomAssignment, block_score
from selective_labels.diagnostics.balance import FLEXIBLE_CHECK, quick_assignment
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed

SHAPES = ["product", "steps"]


def data_of(drawn):
    roles = {"decision_maker": drawn.decision_maker, "strata": drawn.strata, "groups": drawn.groups}
    return SelectiveLabels.from_arrays(drawn.X, drawn.y, **roles)


@pytest.mark.parametrize("draw", [designs.plain, designs.random_within_strata])
@pytest.mark.parametrize("n_decision_makers", [8, 60])
def test_random_assignment_is_left_alone(draw, n_decision_makers):
    drawn = draw(2000, n_decision_makers, seed(1))
    assert FLEXIBLE_CHECK(context_of(drawn)).status == "ok"
    assert quick_assignment(data_of(drawn), 0).status == "ok"


@pytest.mark.parametrize("shape", SHAPES)
def test_products_and_steps_are_found(shape):
    drawn = designs.assigned_by_shape(2000, 8, seed(), shape=shape)
    result = FLEXIBLE_CHECK(context_of(drawn))
    assert result.p_value < 1e-6
    assert "points more probability than overall shares" in result.message
    quick = quick_assignment(data_of(drawn), 0)
    assert quick.status == "violated"
    assert "\n" not in quick.message


@pytest.mark.parametrize("shape", SHAPES)
def test_diagnose_refuses_strata_and_not_features(shape):
    drawn = designs.assigned_by_shape(2000, 8, seed(), shape=shape)
    diagnosis = diagnose(**drawn.arguments(), cv=2, n_permutations=49, random_state=0)
    assert not diagnosis.allows("instrument", given="strata")
    assert "SL204" in diagnosis.allows("instrument", given="strata").reason
    # A quadratic model describes the product; trees recover half of the steps, and SL205 says so.
    given_features = diagnosis.allows("instrument", given="features")
    assert bool(given_features) == (shape == "product")
    assert str(given_features).startswith("not refuted" if shape == "product" else "doubtful")


def test_what_strata_explain_is_not_held_against_assignment():
    drawn = designs.assigned_by_shape(2000, 8, seed(), shape="steps")
    steps = np.where(np.sin(2.5 * drawn.X[:, 0]) > 0, 1, -1) * np.where(drawn.X[:, 1] > 0, 1, -1)
    within = designs.Drawn(drawn.X, drawn.y, drawn.decision_maker, steps)
    assert FLEXIBLE_CHECK(context_of(within)).status == "ok"


def test_weights_undo_what_sampling_did():
    """Cases are kept by feature and decision-maker together; the weights say so."""
    drawn = designs.plain(4000, 8, seed(2))
    kept_with = 1.0 / (1.0 + np.exp(-1.5 * drawn.X[:, 0] * (drawn.decision_maker - 3.5) / 3.5))
    kept = np.random.default_rng(0).random(4000) < kept_with
    sample = {"X": drawn.X[kept], "y": drawn.y[kept], "decision_maker": drawn.decision_maker[kept]}
    assert quick_assignment(SelectiveLabels.from_arrays(**sample), 0).status == "violated"
    weighted = SelectiveLabels.from_arrays(**sample, sample_weight=1.0 / kept_with[kept])
    assert quick_assignment(weighted, 0).status == "ok"


def test_a_weight_of_two_is_a_row_repeated_within_its_unit():
    generator = np.random.default_rng(0)
    predicted, cell = generator.random((60, 3)), np.arange(60) % 2
    arm, weight = generator.integers(3, size=60), generator.integers(1, 4, size=60)
    X, unit, rows = np.zeros((60, 1)), np.arange(60), np.repeat(np.arange(60), weight)
    weighted = block_score(predicted, RandomAssignment(X, arm, 3, cell, unit, weight.astype(float)))
    repeated = RandomAssignment(X[rows], arm[rows], 3, cell[rows], unit[rows], np.ones(len(rows)))
    assert_allclose(block_score(predicted[rows], repeated), weighted)


def test_score_is_standard_normal_when_arms_are_dealt_by_lot():
    """4,000 deals in 40 small cells: a variance of one within 5 of its standard errors (.022), mean too."""
    generator = np.random.default_rng(0)
    predicted, cell = generator.random((200, 4)), np.repeat(np.arange(40), 5)
    ones, unit, X = np.ones(200), np.arange(200), np.zeros((200, 1))
    arm = generator.integers(4, size=200)
    drawn = []
    for _ in range(4000):
        dealt = arm[np.argsort(cell + generator.random(200))]
        drawn.append(block_score(predicted, RandomAssignment(X, dealt, 4, cell, unit, ones))[0])
    assert abs(np.mean(drawn)) < 5 / np.sqrt(4000)
    assert abs(np.var(drawn) - 1.0) < 5 * np.sqrt(2 / 4000)


def test_too_few_cases():
    assert FLEXIBLE_CHECK(context_of(designs.plain(30, 2, seed()))).status == "not applicable"
    assert "no feature" in FLEXIBLE_CHECK(context_of(designs.without_features(300, 4, seed()))).message
