"""Rules and weights of the paper's binary learner, written out."""

import numpy as np

from selective_labels.identification.bounds import Array, Bounds
from selective_labels.identification.costs import point_costs, worst_case_costs
from selective_labels.identification.point import _project


def signed_point_weight(probabilities: Array) -> Array:
    """Signed weight for two-class learning when the class probabilities are known.

    w = 2 η_1 - 1,   excess risk = E[|w| 1{t ≠ sign(w)}]

    This is the binary form of Theorem 4.4, with E1: the paper's η_1 - 1/2 halves every risk. The sign is the
    label to learn (class 1 if positive) and the absolute value is the sample weight.

    Examples
    --------
    >>> signed_point_weight(np.array([[0.25, 0.75], [0.5, 0.5]]))
    array([0.5, 0. ])
    """
    costs = point_costs(_two_classes(probabilities))
    return costs[:, 0] - costs[:, 1]


def signed_partial_weight(bounds: Bounds) -> Array:
    """Signed weight for two-class learning when the class probabilities are bounded.

    w = max(2 upper~_1 - 1, 0) + min(2 lower~_1 - 1, 0),
    worst-case excess risk = E[|w| 1{t ≠ sign(w)}] + E[partial_constant]

    This is the binary form of Theorem 5.3 with realizable bounds (E2).

    Examples
    --------
    >>> signed_partial_weight(Bounds(np.array([[0.25, 0.5]]), np.array([[0.5, 0.75]])))
    array([0.5])
    """
    _two_classes(bounds.lower)
    costs = worst_case_costs(bounds)
    return costs[:, 0] - costs[:, 1]


def partial_constant(bounds: Bounds) -> Array:
    """Worst-case excess risk of two classes that no prediction avoids.

    min{(1 - 2 lower~_1)^+, (2 upper~_1 - 1)^+}   per row

    This is the constant in the binary form of Theorem 5.3, with E2: the mean of the minima, not the minimum
    of the means.

    Examples
    --------
    >>> partial_constant(Bounds(np.array([[0.25, 0.25]]), np.array([[0.75, 0.75]])))
    array([0.5])
    """
    _two_classes(bounds.lower)
    return worst_case_costs(bounds).min(axis=1)


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


def _two_classes(values: Array) -> Array:
    if values.shape[1] != 2:  # a programming error
        raise ValueError(f"a signed weight needs two classes, got {values.shape[1]}")
    return values
