"""SL202: a classifier of decision-makers."""

import numpy as np
import pytest

from selective_labels.diagnostics.balance import CLASSIFIER_CHECK
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


@pytest.mark.parametrize("draw", [designs.plain, designs.random_within_strata])
def test_random_assignment_is_left_alone(draw):
    assert CLASSIFIER_CHECK(context_of(draw(3000, 8, seed(1)))).status == "ok"


def test_assignment_by_a_feature_is_found():
    result = CLASSIFIER_CHECK(context_of(designs.assigned_by_a_feature(3000, 8, seed())))
    assert result.status == "violated"
    assert result.statistic > 0


def test_many_decision_makers_are_told_apart_by_band():
    result = CLASSIFIER_CHECK(context_of(designs.assigned_by_a_feature(6000, 60, seed())))
    assert result.status == "violated"
    assert "leniency band" in result.message


def test_too_few_cases():
    drawn = designs.plain(30, 2, seed())
    result = CLASSIFIER_CHECK(context_of(drawn))
    assert result.status == "not applicable"


def test_a_decision_maker_of_one_case_does_no_harm():
    drawn = designs.plain(400, 4, seed())
    makers = np.where(np.arange(400) < 3, 100 + np.arange(400), drawn.decision_maker)
    assert CLASSIFIER_CHECK(context_of(designs.Drawn(drawn.X, drawn.y, makers))).p_value is not None
