"""Shrinkage across decision-makers: the formulas from their definition, and what they are for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from selective_labels.identification.bounds import jackknife_noise, shrink_across_decision_makers


@pytest.fixture
def by_fold():
    """Probabilities by four folds' models: (4 folds, 3 decision-makers, 5 rows, 1 + 2 classes)."""
    return np.random.default_rng(0).dirichlet(np.ones(3), size=(4, 3, 5))


def variance_between(joint, row):
    """Σ_z |p_z - m|² / (J - 1) of one row, by the textbook's sample variance of each outcome."""
    return sum(np.var(joint[:, row, outcome], ddof=1) for outcome in range(joint.shape[2]))


def test_noise_is_the_jackknife_variance_of_differences_between_decision_makers(by_fold):
    n_folds, n_makers, n_rows = by_fold.shape[:3]
    found = jackknife_noise(by_fold)
    assert found.shape == (n_rows,)
    for row in range(n_rows):
        # Pairs: Σ_z (d_z - d̄)² / (J - 1) = mean over pairs of decision-makers of (d_z - d_w)² / 2.
        pairs = []
        for first in range(n_makers):
            for second in range(first):
                contrast = by_fold[:, first, row] - by_fold[:, second, row]
                spread = contrast - contrast.mean(axis=0)
                pairs.append((n_folds - 1) / n_folds * (spread**2).sum() / 2)
        assert_allclose(found[row], np.mean(pairs))


def test_noise_that_all_decision_makers_share_is_none(by_fold):
    shift = np.random.default_rng(1).normal(size=(4, 1, 5, 3))
    # Only deviations from the common mean are shrunk, so only their noise counts.
    assert_allclose(jackknife_noise(by_fold + shift), jackknife_noise(by_fold))


def test_one_decision_maker_has_nothing_to_differ_from(by_fold):
    alone = by_fold[:, :1]
    assert_array_equal(jackknife_noise(alone), np.zeros(5))
    assert_array_equal(shrink_across_decision_makers(alone[0], np.zeros(5)), alone[0])


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0, 3.0])
def test_deviations_are_drawn_in_by_the_share_of_noise_in_their_variance(by_fold, share):
    joint = by_fold[0]
    noise = np.array([share * variance_between(joint, row) for row in range(5)])
    noise[4] = 0.0  # rows are shrunk one by one
    found = shrink_across_decision_makers(joint, noise)
    mean = joint.mean(axis=0)
    kept = max(0.0, 1.0 - share)
    assert_allclose(found[:, :4], mean[:4] + kept * (joint - mean)[:, :4], atol=1e-15)
    assert_allclose(found[:, 4], joint[:, 4])


def test_equal_decision_makers_stay_equal():
    joint = np.tile([0.5, 0.3, 0.2], (4, 2, 1))
    assert_allclose(shrink_across_decision_makers(joint, np.array([0.0, 0.1])), joint)
