"""Who bounds a class: the decision-makers (or bands) that cannot be told from the best one for it."""

import numpy as np
from scipy.stats import chi2
from sklearn.linear_model import Ridge

from selective_labels.models.features import standardised
from selective_labels.nuisance.selectors import ArmShares, Pools

# Below this level, decision-makers are said to differ (in one more direction).
LEVEL = 0.05


def class_pools(surplus: np.ndarray, decision_maker: np.ndarray, lookup: np.ndarray, n_arms: int) -> Pools:
    """Pool, for each class, the arms that cannot be told from the one that shows it most.

    S_z = mean of 1{D=1, Y=k} - E[. | x] over the rows of decision-maker z,   Ŝ_z = shrunken S_z,
    pool_k = {a : Ŝ_ka >= max_b Ŝ_kb - 1.5 se(Ŝ_ka - Ŝ_kb)},   Ŝ_a = mean of Ŝ_z over the rows of the arm

    Decision-makers differ in leniency and in skill, so shares of all classes are shrunk together: in the
    coordinates in which the noise is white and decision-makers differ most, then second most, ... (canonical
    variates), as many as a sequential χ² test at 5 % finds, each by its own empirical-Bayes factor. Where
    they differ in leniency alone, one coordinate is left, and all rows tell about every class. Where nothing
    is found, all arms are one pool: then there is no instrument to speak of, and no noise is followed.

    Parameters
    ----------
    surplus : (n_samples, n_classes) array
        See :func:`class_surplus`. Not of the rows to be scored.
    decision_maker : (n_samples,) int array
    lookup : (n_decision_makers,) int array
        The arm of each decision-maker: its own, or a band.
    n_arms : int

    Examples
    --------
    Of four decision-makers two see class 0 only, the others class 1 only:

    >>> maker, label = np.arange(800) % 4, np.arange(800) // 4 % 2
    >>> seen = (label == maker % 2)[:, None] & (label[:, None] == np.arange(2))
    >>> class_pools(seen - seen.mean(axis=0), maker, np.arange(4), 4).members
    array([[ True, False],
           [False,  True],
           [ True, False],
           [False,  True]])
    """
    counts = np.bincount(decision_maker, minlength=len(lookup)).astype(float)
    rows = np.maximum(counts, 1.0)[:, None]
    sums = np.stack([np.bincount(decision_maker, each, len(lookup)) for each in surplus.T], axis=1)
    residual = surplus - (sums / rows)[decision_maker]
    noise = residual.T @ residual / max(len(residual) - np.count_nonzero(counts), 1)
    deviations = (sums / rows - surplus.mean(axis=0)) * (counts > 0.0)[:, None]
    white, loadings, strength = _canonical(deviations, counts, noise)
    factor = strength / (strength + 1.0 / rows)
    weight = (lookup == np.arange(n_arms)[:, None]) * counts
    total = weight.sum(axis=1, keepdims=True)
    weight = weight / np.maximum(total, 1.0)
    shares = weight @ (white * factor) @ loadings
    variance = weight**2 @ (strength * (1.0 - factor)) @ loadings**2
    arms = ArmShares(shares, variance, total[:, 0])
    members, lost = arms.near_best(np.ones((1, n_arms), dtype=bool))
    return Pools(members[0], float(lost[0]), arms)


def class_surplus(
    X: np.ndarray, y: np.ndarray, n_classes: int, strata: np.ndarray | None, categorical: tuple[int, ...]
) -> np.ndarray:
    """Seen labels minus what the case alone would lead one to expect, (n_samples, n_classes).

    Against the mean of the stratum, or against a linear prediction from the features without strata.

    Examples
    --------
    >>> class_surplus(np.zeros((2, 1)), np.array([1, -1]), 2, np.array([0, 0]), ())
    array([[ 0. ,  0.5],
           [ 0. , -0.5]])
    """
    seen = (y[:, None] == np.arange(n_classes)).astype(float)
    if strata is not None:
        rows = np.maximum(np.bincount(strata), 1)
        return seen - np.stack([np.bincount(strata, column) / rows for column in seen.T], axis=1)[strata]
    features = standardised(categorical).fit_transform(X)
    return np.asarray(seen - Ridge().fit(features, seen).predict(features))


def _canonical(
    deviations: np.ndarray, counts: np.ndarray, noise: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates in which noise is white and arms differ most first.

    Returns
    -------
    white : (n_arms, n_coordinates) array
    loadings : (n_coordinates, n_classes) array
        white @ loadings gives the deviations back.
    strength : (n_coordinates,) array
        Variance between arms, free of noise; zero where a test does not see any.
    """
    size, axes = np.linalg.eigh(noise)
    kept = size > 1e-9 * max(float(size[-1]), np.finfo(float).tiny)
    scale = np.sqrt(size[kept])
    white = deviations @ (axes[:, kept] / scale)
    squares, turn = np.linalg.eigh((white * counts[:, None]).T @ white)
    squares, turn = squares[::-1], turn[:, ::-1]
    free = np.count_nonzero(counts) - 1
    found = np.zeros(len(squares), dtype=bool)
    for first in range(len(squares)):
        degrees = (free - first) * (len(squares) - first)
        if degrees <= 0 or squares[first:].sum() <= chi2.ppf(1.0 - LEVEL, degrees):
            break
        found[first] = True
    total = counts.sum()
    room = max(float(total - np.sum(counts**2) / total), np.finfo(float).tiny)
    strength = np.where(found, np.maximum(squares - free, 0.0) / room, 0.0)
    return white @ turn, turn.T @ (axes[:, kept] * scale).T, strength
