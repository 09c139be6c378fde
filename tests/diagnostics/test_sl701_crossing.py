"""SL701: crossing bounds."""

from selective_labels.diagnostics.exclusion import CROSSING_CHECK
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def test_valid_design_hardly_crosses():
    result = CROSSING_CHECK(context_of(designs.plain(4000, 8, seed())))
    assert result.status == "ok"
    assert result.statistic < 0.01


def test_gross_violation_crosses():
    assert (
        CROSSING_CHECK(context_of(designs.label_depends_on_decision_maker(3000, 6, seed()))).status
        == "violated"
    )
