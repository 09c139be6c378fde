"""SL602: the point estimate within the bounds."""

import numpy as np

from selective_labels.diagnostics.nucem import POINT_IN_BOUNDS_CHECK, shortfalls
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def test_shortfall_is_one_sided():
    generator = np.random.default_rng(0)
    noise = generator.standard_normal((400, 2))
    tests = shortfalls(np.array([1.0, -1.0]) + noise, np.zeros((400, 2)))
    assert tests[0, 1] < 1e-6
    assert tests[1, 1] > 1 - 1e-6


def test_valid_design_is_left_alone():
    assert POINT_IN_BOUNDS_CHECK(context_of(designs.plain(4000, 8, seed()))).status == "ok"


def test_weak_instrument_has_no_point_estimate():
    result = POINT_IN_BOUNDS_CHECK(context_of(designs.plain(2000, 8, seed(), leniency_spread=0.0)))
    assert result.status == "not applicable"
    assert "SL101" in result.message
