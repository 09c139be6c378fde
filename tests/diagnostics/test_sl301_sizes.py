"""SL301: sizes."""

import numpy as np

from selective_labels.diagnostics.overlap import SIZES_CHECK
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def test_large_decision_makers_are_fine():
    result = SIZES_CHECK(context_of(designs.plain(1000, 4, seed())))
    assert result.status == "ok"
    assert result.advice == ""


def test_small_decision_makers_are_named():
    drawn = designs.plain(1000, 4, seed())
    makers = np.where(
        np.arange(1000) < 100, "small " + (np.arange(1000) // 10).astype(str).astype(object), "x"
    )
    result = SIZES_CHECK(context_of(designs.Drawn(drawn.X, drawn.y, makers)))
    assert result.status == "warning"
    assert "small 0" in result.advice


def test_one_decision_maker():
    drawn = designs.plain(100, 4, seed())
    assert SIZES_CHECK(context_of(designs.Drawn(drawn.X, drawn.y, np.zeros(100)))).status == "not applicable"
