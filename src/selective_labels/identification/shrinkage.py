"""Empirical-Bayes shrinkage across decision-makers, before a maximum over them is taken."""

import numpy as np


def shrink_across_decision_makers(joint: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Draw each decision-maker's probabilities to their common mean, as far as they differ by noise alone.

    p̃_z = m + max(0, 1 - s² / v) (p_z - m),   m = mean_z p_z,   v = Σ_z |p_z - m|² / (J - 1),

    with s² the mean noise variance of the deviations. The maximum of noisy estimates is biased up; after
    shrinking, hardly (methods of James and Stein; the factor is common to all outcomes of a row, so that
    the shrunken probabilities stay coherent: they remain non-negative and sum to one).

    Parameters
    ----------
    joint : (n_decision_makers, n_samples, n_classes + 1) array
    noise : (n_samples,) array
        Sum over outcomes of the noise variance of p_z - m, averaged over decision-makers
        (see :func:`jackknife_noise`).

    Returns
    -------
    array of the shape of `joint`

    Examples
    --------
    >>> joint = np.array([[[0.5, 0.5]], [[0.7, 0.3]]])
    >>> shrink_across_decision_makers(joint, np.array([0.02])).round(3)
    array([[[0.55, 0.45]],
           [[0.65, 0.35]]])
    """
    mean = joint.mean(axis=0)
    deviation = joint - mean
    spread = np.sum(deviation**2, axis=(0, 2)) / max(len(joint) - 1, 1)
    factor = np.maximum(0.0, 1.0 - noise / np.maximum(spread, np.finfo(float).tiny))
    return mean + factor[:, None] * deviation


def jackknife_noise(by_fold: np.ndarray) -> np.ndarray:
    """Noise variance of deviations between decision-makers, from the disagreement of folds' models.

    s² = (L - 1) / L · Σ_l Σ_z Σ_c (d_lzc - d̄_zc)² / (J - 1),   d_lz = p_lz - mean_z p_lz,

    the delete-a-group jackknife: each fold's model leaves out one of L groups of rows.

    Parameters
    ----------
    by_fold : (n_folds, n_decision_makers, n_samples, n_classes + 1) array

    Returns
    -------
    (n_samples,) array

    Examples
    --------
    >>> jackknife_noise(np.ones((5, 3, 2, 4)))
    array([0., 0.])
    """
    n_folds, n_decision_makers = by_fold.shape[:2]
    deviation = by_fold - by_fold.mean(axis=1, keepdims=True)
    disagreement = np.sum((deviation - deviation.mean(axis=0)) ** 2, axis=(0, 1, 3))
    return (n_folds - 1) / n_folds * disagreement / max(n_decision_makers - 1, 1)
