"""SL302: overlap."""

import numpy as np

from selective_labels.diagnostics.overlap import OVERLAP_CHECK
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def test_random_assignment_overlaps():
    result = OVERLAP_CHECK(context_of(designs.plain(2000, 4, seed())))
    assert result.status == "ok"
    assert result.statistic > 0.95  # by lot, all weights are one up to noise


def test_feature_that_names_the_decision_maker():
    result = OVERLAP_CHECK(context_of(designs.assigned_by_a_feature(2000, 4, seed(), strength=6.0)))
    assert result.status == "warning"


def test_strata_of_one_decision_maker_each():
    drawn = designs.plain(400, 4, seed())
    alone = designs.Drawn(drawn.X, drawn.y, drawn.decision_maker, drawn.decision_maker)
    assert OVERLAP_CHECK(context_of(alone)).status == "violated"


def test_some_strata_of_one_decision_maker():
    drawn = designs.plain(400, 4, seed())
    some = designs.Drawn(drawn.X, drawn.y, drawn.decision_maker, (drawn.decision_maker == 3).astype(int))
    result = OVERLAP_CHECK(context_of(some))
    assert result.status == "warning"
    assert f"{np.mean(drawn.decision_maker == 3):.0%}" in result.message
