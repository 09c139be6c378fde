"""The forest-weighted ratio finds class probabilities that a strong instrument identifies."""

from dataclasses import replace

import numpy as np
import pytest

from study import forest_ratio
from study.forest_ratio import DESIGNS, Draw


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    monkeypatch.setattr(forest_ratio, "N_TREES", 20)


def strong(n, seed):
    """Decisions follow z and a hidden u, labels follow x and u: the labeled cases mislead."""
    generator = np.random.default_rng(seed)
    X, u = generator.normal(size=(n, 2)), generator.integers(0, 2, n)
    z = generator.uniform(-1.0, 1.0, n)
    first = np.where(X[:, 0] > 0, 0.5, 0.3) + 0.2 * u
    y = (generator.random(n) > first).astype(int)
    seen = generator.random(n) < 0.5 + 0.3 * np.sign(z) + 0.15 * (2 * u - 1)
    eta = np.where(X[:, 0] > 0, 0.6, 0.4)
    return Draw(X, np.where(seen, y, -1), z, np.column_stack([eta, 1.0 - eta]))


def test_a_strong_instrument_gives_the_population_not_the_labeled_cases():
    train, new = strong(6000, 0), strong(2000, 1)
    estimate = forest_ratio.forest_ratio(train, new.X, 200, 0)
    error = np.abs(estimate - new.truth).mean()
    labeled = train.y >= 0
    bias = abs(np.mean(train.y[labeled] == 0) - train.truth[:, 0].mean())
    assert error < 0.06, "a step of .2 that the trees have to find"
    assert abs(estimate[:, 0].mean() - new.truth[:, 0].mean()) < bias / 2, (
        "labeled cases are of the first class more often"
    )


def test_the_direction_of_the_instrument_does_not_matter():
    train, new = strong(1500, 2), strong(100, 3)
    one = forest_ratio.forest_ratio(train, new.X, 100, 0)
    other = forest_ratio.forest_ratio(replace(train, z=-train.z), new.X, 100, 0)
    np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("name", DESIGNS)
def test_the_designs_have_laws(name):
    draw = DESIGNS[name](400, 0)
    np.testing.assert_allclose(draw.truth.sum(axis=1), 1.0, atol=1e-9)
    assert set(np.unique(draw.y)) == {-1, 0, 1, 2}
