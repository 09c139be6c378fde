"""SL501: monotonicity with exclusion."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import binom

from selective_labels.diagnostics.exclusion import MONOTONICITY_CHECK, Shares, marginal_curve, slope_p_value
from selective_labels.diagnostics.hypothesis_tests import CellPairs
from tests.diagnostics import designs
from tests.diagnostics.contexts import context_of, seed


def one_cell(seen, leniency):
    n_makers = len(seen)
    return Shares(
        np.arange(n_makers), np.zeros(n_makers, dtype=int), np.full(n_makers, 500.0), seen, leniency
    )


def test_curve_finds_the_slope_of_a_parabola():
    leniency = np.linspace(0.2, 0.8, 20)
    curve = marginal_curve(one_cell(0.1 + 0.5 * leniency**2, leniency), np.random.default_rng(0))
    assert_allclose(curve.slopes, curve.knots, atol=1e-8)


def test_slope_at_its_limit_has_a_uniform_p_value():
    # One slope at zero: P(p < .05) = .05; 4.5 standard errors of 2,000 draws are .022.
    generator = np.random.default_rng(1)
    drawn = [
        slope_p_value(np.array([x]), np.eye(1) * 0.01, generator)
        for x in 0.1 * generator.standard_normal(2000)
    ]
    assert abs(np.mean(np.array(drawn) < 0.05) - 0.05) < 0.022


def test_valid_designs_are_left_alone():
    for draw in (designs.plain, designs.random_within_strata, designs.on_the_boundary):
        assert MONOTONICITY_CHECK(context_of(draw(4000, 8, seed()))).status == "ok"


def test_decision_makers_who_sort_the_other_way_are_found():
    assert MONOTONICITY_CHECK(context_of(designs.opposite_skill(40_000, 8, seed()))).status == "violated"


def test_few_decision_makers():
    assert MONOTONICITY_CHECK(context_of(designs.plain(1000, 4, seed()))).status == "not applicable"


def test_placebo_labels_within_strata_are_left_alone():
    """Thirty samples: more rejections than chance has once in a million at 7 % each would be too many."""
    rejected = 0
    for number in range(30):
        drawn = designs.placebo_labels(12_000, 20, np.random.SeedSequence([501, number]))
        rejected += MONOTONICITY_CHECK(context_of(drawn)).status == "violated"
    assert rejected <= binom.isf(1e-6, 30, 0.07)


def test_what_is_left_within_cells_and_its_noise_against_matrices():
    """Weighted least squares cell by cell, by pseudo-inverse."""
    generator = np.random.default_rng(0)
    maker, cell = np.repeat(np.arange(6), 2), np.array([0, 1, 0, 1, 0, 2, 1, 2, 1, 2, 0, 2])
    rows, variance = generator.integers(20, 90, 12).astype(float), generator.uniform(0.1, 0.3, 12)
    along = np.column_stack([np.ones(12), generator.random(12)])
    pairs = CellPairs(maker, cell, rows, along)
    operator = np.eye(12)
    for each in range(3):
        here = np.flatnonzero(cell == each)
        root = np.sqrt(rows[here])[:, None]
        hat = (root * along[here]) @ np.linalg.pinv(root * along[here])
        operator[np.ix_(here, here)] -= hat * root.T / root
    average = (maker == np.arange(6)[:, None]) * rows
    operator = average / average.sum(axis=1, keepdims=True) @ operator
    values = generator.random((12, 2))
    assert_allclose(pairs.left(values), operator @ values, atol=1e-12)
    noise = operator @ np.diag(variance / rows) @ operator.T
    assert_allclose(pairs.covariance(variance), noise, atol=1e-14)


def test_weights_and_groups_count_as_repeated_rows_of_one_case():
    """A row with weight three is three rows of one group: the same shares, the same effective number."""
    generator = np.random.default_rng(0)
    seen, decided, maker = (generator.integers(2, size=60) for _ in range(3))
    weight, cell = generator.integers(1, 4, size=60), np.zeros(60, dtype=int)
    rows = np.repeat(np.arange(60), weight)
    weighted = Shares.of(seen * decided, decided, maker, cell, weight.astype(float))
    repeated = Shares.of((seen * decided)[rows], decided[rows], maker[rows], cell[rows], None, rows)
    for name in ("maker", "rows", "seen", "leniency"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name))


def test_copies_of_cases_are_no_more_evidence_if_the_groups_say_so():
    drawn = designs.plain(2000, 8, seed())
    rows = np.repeat(np.arange(2000), 4)
    copies = designs.Drawn(drawn.X[rows], drawn.y[rows], drawn.decision_maker[rows], None, rows)
    found, once = (MONOTONICITY_CHECK(context_of(each)) for each in (copies, drawn))
    assert_allclose(found.statistic, once.statistic, rtol=1e-6)
