"""SL101: conditional strength decides relevance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels import SelectiveLabels
from selective_labels.datasets import make_paper_synthetic
from selective_labels.diagnostics.context import Context, directions
from selective_labels.diagnostics.strength import CONDITIONAL_STRENGTH_CHECK, leave_out_strength
from tests.diagnostics import designs
from tests.diagnostics.contexts import FITTING, context_of, seed


def slow_strength(columns, codes):
    """The same by definition: products of different rows of one decision-maker."""
    total = 0.0
    for code in np.unique(codes):
        own = columns[codes == code]
        products = own @ own.T
        pairs = products.sum() - np.trace(products)
        total += pairs / (len(own) - 1)
    return total / len(codes)


def test_strength_is_the_mean_product_of_different_rows():
    generator = np.random.default_rng(0)
    columns, codes = generator.standard_normal((60, 3)), np.arange(60) % 4
    sums = np.zeros((4, 6))
    extended = np.column_stack([columns, np.sum(columns**2, axis=1), np.ones(60), np.ones(60)])
    np.add.at(sums, codes, extended)
    assert_allclose(leave_out_strength(sums), slow_strength(columns, codes))


def test_strength_has_no_noise_on_average():
    # 400 samples of pure noise: the mean is zero within 4.5 standard errors (false alarm 7e-6).
    generator, values = np.random.default_rng(1), []
    for _ in range(400):
        noise = generator.standard_normal((40, 1))
        extended = np.column_stack([noise, noise**2, np.ones(40), np.ones(40)])
        values.append(leave_out_strength(extended.reshape(8, 5, 4).sum(axis=1))[0])
    assert abs(np.mean(values)) < 4.5 * np.std(values) / np.sqrt(len(values))


def test_directions_are_orthonormal():
    X = np.random.default_rng(2).standard_normal((500, 3)) @ [[1, 2, 0], [0, 1, 0], [0, 0, 9]]
    basis = directions(X)
    # ddof 1 in the variances: unit up to 1 / n.
    assert_allclose(basis.T @ basis / 500, np.eye(4), atol=0.005)


def test_directions_of_a_category_of_many_values_are_orthonormal():
    # Of 300 values hardly one has ten rows: the indicator of all others is one nearly everywhere.
    codes = np.random.default_rng(3).integers(300, size=1000).astype(float)
    codes[:20] = 0.0
    basis = directions(codes[:, None], categorical=(0,))
    assert_allclose(basis.T @ basis / 1000, np.eye(basis.shape[1]), atol=0.005)


def test_a_category_of_many_values_does_not_strengthen_decision_makers():
    drawn = designs.plain(3000, 6, seed())
    text = np.random.default_rng(4).integers(1000, size=3000)
    X = np.column_stack([drawn.X[:, 0], text])
    data = SelectiveLabels.from_arrays(X, drawn.y, decision_maker=drawn.decision_maker, categorical=[1])
    strength = CONDITIONAL_STRENGTH_CHECK(Context(data, FITTING, n_permutations=99)).statistic
    # Acceptance is yes or no, so leniency has a variance of a quarter at most.
    assert strength < 0.25


def test_what_tells_cells_apart_is_no_direction_within_them():
    cell = np.repeat([0, 1, 2], 40)
    X = np.column_stack([cell.astype(float), np.random.default_rng(5).standard_normal(120) + cell])
    basis = directions(X, categorical=(0,), cell=cell)
    assert basis.shape == (120, 2)
    assert_allclose([basis[cell == each, 1].mean() for each in range(3)], 0.0, atol=1e-12)


def test_a_repeated_feature_adds_no_direction():
    X = np.random.default_rng(2).standard_normal((500, 1))
    assert directions(np.hstack([X, X])).shape == (500, 2)


def test_strength_is_that_of_the_design():
    drawn = designs.plain(8000, 8, seed())
    result = CONDITIONAL_STRENGTH_CHECK(context_of(drawn))
    assert result.status == "ok"
    # V = .225² E_x[Var_z tanh(a_z + .8 x)] by Monte Carlo over x; .003 is 4.5 standard errors.
    x = np.random.default_rng(0).standard_normal((20_000, 1))
    truth = 0.225**2 * np.tanh(np.linspace(-2, 2, 8) + 0.8 * x).var(axis=1).mean()
    assert_allclose(result.statistic, truth, atol=0.003)


def test_equal_decision_makers_are_not_told_apart():
    result = CONDITIONAL_STRENGTH_CHECK(context_of(designs.plain(4000, 8, seed(), leniency_spread=0.0)))
    assert result.status == "warning"
    assert result.p_value > 0.05


def test_hardly_different_decision_makers_warn_however_many_cases():
    # a_z on [-.3, .3]: a standard deviation of under three points, found with 12,000 cases, yet too little.
    result = CONDITIONAL_STRENGTH_CHECK(context_of(designs.plain(12_000, 8, seed(), leniency_spread=0.15)))
    assert result.p_value < 0.05
    assert result.status == "warning"


@pytest.mark.parametrize(("selection", "status"), [("nucem", "warning"), ("uc", "ok")])
def test_paper_designs(selection, status):
    # Marginal leniencies are equal in both; given features only "uc" has decision-makers that differ.
    sample = make_paper_synthetic(5000, selection=selection, random_state=3)
    drawn = designs.Drawn(sample.X, sample.y, sample.decision_maker)
    assert CONDITIONAL_STRENGTH_CHECK(context_of(drawn)).status == status
