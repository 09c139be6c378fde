import numpy as np
import pytest
from numpy.testing import assert_allclose

from selective_labels import InputError
from selective_labels.datasets import make_tilted
from selective_labels.identification.odds_ratio import everybody, relative_odds
from tests.datasets.frequencies import (
    N_DRAWS,
    STANDARD_ERRORS,
    feature_bins,
    joint_deviations,
    truth_deviations,
)


@pytest.mark.parametrize("design", [{}, {"n_classes": 2, "tilt": [0.0, 1.0]}], ids=str)
def test_oracle_agrees_with_frequencies(design):
    sample = make_tilted(N_DRAWS, random_state=1, **design)
    bins = feature_bins(sample.X[:, 0], sample.X[:, 1])
    assert abs(joint_deviations(sample, bins)).max() < STANDARD_ERRORS, "what is seen follows oracle.joint"
    assert abs(truth_deviations(sample, bins)).max() < STANDARD_ERRORS, "truth follows oracle.probabilities"


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_the_tilt_is_constant(n_classes):
    sample = make_tilted(200, n_classes, random_state=0)
    oracle = sample.oracle
    labeled, eta = oracle.joint(sample.X)[:, :, 1:], oracle.probabilities(sample.X)
    tilted = everybody(labeled, relative_odds(oracle.design.tilt))
    assert_allclose(tilted, np.repeat(eta[:, None], 8, axis=1), atol=1e-12)


def test_limits_are_ordered():
    oracle = make_tilted(1, tilt=[-1.0, 0.0, 1.0], random_state=0).oracle
    assert oracle.bayes_accuracy > max(oracle.minimax_accuracy, oracle.selected_accuracy)


def test_wrong_arguments_are_refused():
    with pytest.raises(InputError, match="tilt must be 3 finite numbers"):
        make_tilted(10, tilt=[0.0, 1.0])
    with pytest.raises(InputError, match="leniency_spread"):
        make_tilted(10, leniency_spread=-1.0)
