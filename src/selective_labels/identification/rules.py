"""Decision rules over an identified set: robust class, robust lottery, classes that can be best."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from selective_labels.identification.bounds import ROUNDING, Array, Bounds, Mask
from selective_labels.identification.costs import best_case_costs, contrast_extremes, worst_case_costs


def minimax_class(bounds: Bounds, cost: ArrayLike | None = None) -> NDArray[np.intp]:
    """Class with the smallest worst-case regret, the first of equals.

    argmin_k w_k   with the `worst_case_costs` of Theorem 5.3

    Without cost matrix and label range this is argmax_k lower_k, also the class of the largest guaranteed
    accuracy.

    Returns
    -------
    int array of shape (n_samples,)

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.25, 0.5]]), np.array([[0.5, 0.75]]))
    >>> minimax_class(bounds), minimax_class(bounds, cost=[[0, 9], [1, 0]])
    (array([1]), array([0]))
    """
    return worst_case_costs(bounds, cost).argmin(axis=1)


def randomised_minimax(bounds: Bounds) -> Array:
    """Lottery over predictions with the smallest worst-case zero-one regret.

    argmin_q max_η [max_j η_j - Σ_k q_k η_k]   over η >= lower, Σ_k η_k = 1

    The inner maximum sits at a corner lower + slack·e_j, where class j is best or the corner does not bind:
    the regret there is c_j - slack·q_j - Σ_k q_k lower_k with c_j = lower_j + slack. For a given largest
    value τ of c_j - slack·q_j class j needs q_j = max(0, (c_j - τ) / slack), and what is left goes to the
    class with the largest lower bound. The regret is then convex and piecewise linear in τ, so one of at
    most n_classes + 1 knots is best. The set is that without a label range (a = 0, b = 1); upper bounds are
    not read. Two classes: Manski's fraction.

    Returns
    -------
    array of shape (n_samples, n_classes)
        Probabilities; sums to one.

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

    # The lowest level at which the lottery does not need more than probability one.
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


def possible_classes(bounds: Bounds, cost: ArrayLike | None = None) -> Mask:
    """Classes that can still be the best prediction for some class probabilities in the set.

    zero-one: {k : min_η [max_j η_j - η_k] = 0}, exact for every box-and-simplex set (E12);
    with a cost matrix: {a : no single b has a smaller expected cost at every η}, an outer set, because a
    prediction can be beaten everywhere by several rivals in turn.

    Returns
    -------
    bool array of shape (n_samples, n_classes)
        At least one class per row.

    Examples
    --------
    >>> possible_classes(Bounds(np.array([[0.5, 0.25, 0.0]]), np.array([[0.75, 0.5, 0.25]])))
    array([[ True,  True, False]])
    """
    smallest = best_case_costs(bounds) if cost is None else contrast_extremes(bounds, cost)[0]
    return smallest <= ROUNDING


def decided(bounds: Bounds, cost: ArrayLike | None = None) -> Mask:
    """Rows where only one class can be best, so that the data tell the best prediction.

    Examples
    --------
    >>> decided(Bounds(np.array([[0.5, 0.25], [0.7, 0.1]]), np.array([[0.75, 0.5], [0.9, 0.3]])))
    array([False,  True])
    """
    return possible_classes(bounds, cost).sum(axis=1) == 1
