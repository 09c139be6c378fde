import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from selective_labels.datasets.oracle import Axis, Table, integrate_choice, normal_rule
from selective_labels.datasets.paper import smoothed_expit


@pytest.mark.parametrize("slope", [0.5, 2.0, 20.0])
def test_rule_has_converged_at_the_pole_distance(slope):
    def mean(pole_distance):
        nodes, weights = normal_rule(pole_distance)
        return weights @ expit(slope * nodes + 0.7)

    assert_allclose(mean(np.pi / slope), mean(np.pi / slope / 4), atol=1e-10)  # a finer grid adds nothing


def test_rule_integrates_moments():
    nodes, weights = normal_rule(np.inf)
    moments = [weights @ nodes**power for power in (0, 1, 2, 4, 6)]
    assert_allclose(moments, [1, 0, 1, 3, 15], atol=1e-9)


@pytest.mark.parametrize("switch", [0.1234, 0.5, -0.987])
def test_choice_is_integrated_through_its_jump(switch):
    step = 0.05
    x = step * np.arange(-40, 41)
    gains = np.column_stack([x - switch, switch - x])
    values = np.column_stack([np.ones_like(x), np.zeros_like(x)])
    # The integral of 1{x > switch} over [-2, 2]; without the correction it would be off by up to step / 2.
    assert_allclose(integrate_choice(gains, values, step), 2 - switch, atol=1e-12)


def test_table_is_smooth_between_and_constant_beyond():
    axis = Axis.of_step(30, 0.1)
    table = Table((axis,), expit(axis.nodes)[:, None])
    points = np.random.default_rng(0).uniform(-5, 5, 100)
    assert_allclose(table(points)[:, 0], expit(points), atol=1e-9)
    assert_allclose(table(np.array([-100.0, 100.0]))[:, 0], [0, 1], atol=1e-12)


def test_table_of_two_axes():
    axes = (Axis.of_step(20, 0.25), Axis.of_step(25, 0.2))
    first, second = np.meshgrid(axes[0].nodes, axes[1].nodes, indexing="ij")
    table = Table(axes, np.stack([expit(first) * expit(second), expit(first)], axis=-1))
    u, v = np.random.default_rng(0).uniform(-5, 5, (2, 100))
    assert_allclose(table(u, v), np.column_stack([expit(u) * expit(v), expit(u)]), atol=1e-6)


@pytest.mark.parametrize("scale", [0.0, 0.3, 10.0])
def test_smoothed_expit_is_a_normal_mean(scale):
    def mean(w):
        return quad(lambda e: expit(w + scale * e) * norm.pdf(e), -9, 9, epsabs=1e-12, limit=200)[0]

    points = np.linspace(-8, 8, 5)
    assert_allclose(smoothed_expit(scale)(points), [mean(w) for w in points], atol=1e-8)
