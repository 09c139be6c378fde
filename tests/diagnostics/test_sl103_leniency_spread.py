"""SL103: spread of leniency without sampling noise."""

import numpy as np

from selective_labels.diagnostics.strength import LENIENCY_SPREAD_CHECK
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def test_spread_is_that_of_the_design():
    drawn = designs.plain(8000, 16, seed())
    result = LENIENCY_SPREAD_CHECK(context_of(drawn))
    # Leniencies are E_x[.5 + .225 tanh(a_z + .8 x)]; 1.9 points are 4.5 standard errors at n = 8,000.
    grid, x = np.linspace(-2, 2, 16), np.random.default_rng(0).standard_normal(20_000)
    truth = np.std([0.225 * np.tanh(each + 0.8 * x).mean() for each in grid])
    assert abs(result.statistic - truth) < 0.019


def test_noise_alone_is_no_spread():
    result = LENIENCY_SPREAD_CHECK(context_of(designs.plain(4000, 40, seed(), leniency_spread=0.0)))
    # Noise of 100 cases each would look like five points.
    assert result.statistic < 0.02
