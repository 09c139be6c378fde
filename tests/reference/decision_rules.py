"""Rules and projections that the library does not need, written out."""

import numpy as np

from selective_labels.identification.bounds import Array, Bounds
from selective_labels.identification.point import _project


def randomised_minimax(bounds: Bounds) -> Array:
    """Randomised prediction with the smallest worst-case zero-one regret.

    argmin_q max_η [max_j η_j - Σ_k q_k η_k]   over η >= lower, Σ_k η_k = 1

    The inner maximum is attained at a vertex lower + slack·e_j. Class j is best there, or the vertex does not
    bind. The regret at the vertex is c_j - slack·q_j - Σ_k q_k lower_k with c_j = lower_j + slack. For a
    given maximum τ of c_j - slack·q_j, class j needs q_j = max(0, (c_j - τ) / slack), and the remaining
    probability goes to the class with the largest lower bound. The regret is then convex and piecewise linear
    in τ, so one of at most n_classes + 1 knots is optimal. The set has no label range (a = 0, b = 1), so the
    upper bounds are not used. With two classes the result is Manski's fractional rule.

    Returns
    -------
    array of shape (n_samples, n_classes)
        Probability of predicting each class; rows sum to one.

    Examples
    --------
    >>> lower = np.array([[0.25, 0.25], [0.75, 0.0]])
    >>> randomised_minimax(Bounds(lower, lower + 0.5))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    lower = bounds.lower
    slack = np.maximum(bounds.slack, 0.0)[:, None]
    corner = lower + slack
    favourite = lower.argmax(axis=1)[:, None]
    shortfall = lower.max(axis=1, keepdims=True) - lower

    def needed(level: Array) -> Array:
        missing = np.maximum(corner - level, 0.0)
        return np.divide(missing, slack, out=np.zeros_like(missing), where=slack > 0.0)

    # Smallest level at which the required probabilities sum to at most one.
    descending = -np.sort(-corner, axis=1)
    count = np.arange(1, lower.shape[1] + 1)
    lowest_level = ((np.cumsum(descending, axis=1) - slack) / count).max(axis=1, keepdims=True)
    best_level, best_regret = lowest_level, np.full_like(lowest_level, np.inf)
    for level in (lowest_level, *np.split(corner, lower.shape[1], axis=1)):
        level = np.maximum(level, lowest_level)
        regret = level + (needed(level) * shortfall).sum(axis=1, keepdims=True)
        better = regret < best_regret
        best_level, best_regret = np.where(better, level, best_level), np.where(better, regret, best_regret)

    lottery = needed(best_level)
    rest = 1.0 - lottery.sum(axis=1, keepdims=True)
    np.put_along_axis(lottery, favourite, np.take_along_axis(lottery, favourite, axis=1) + rest, axis=1)
    return lottery


def project_to_bounds(values: Array, bounds: Bounds) -> Array:
    """Project each row onto its identified set {η >= lower, Σ_k η_k = 1}.

    η = lower + slack · proj((values - lower) / slack)

    where proj is the projection onto the simplex. This requires a = 0 and b = 1, so that upper bounds never
    bind. The result satisfies the bounds of the instrument. A row without slack equals its lower bounds.

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.3, 0.1], [0.6, 0.4]]), np.array([[0.9, 0.7], [0.6, 0.4]]))
    >>> project_to_bounds(np.array([[0.1, 0.9], [0.5, 0.5]]), bounds)
    array([[0.3, 0.7],
           [0.6, 0.4]])
    """
    slack = np.maximum(bounds.slack, 0.0)
    return bounds.lower + _project(values - bounds.lower, slack[:, None])
