"""Cost (regret) of each prediction under known or bounded class probabilities, and minimax rules.

The module holds point, worst-case and best-case costs, extremes of linear functions over the identified set,
signed weights for two classes, the rules that minimise the worst-case cost, and surrogate losses: smooth
approximations of the cost of the class with the highest score.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from selective_labels._errors import InputError
from selective_labels.identification.bounds import ROUNDING, Array, Bounds, Mask, clipped_sum_root, realizable
from selective_labels.identification.event_bounds import LaminarBounds


def point_costs(probabilities: Array, cost: ArrayLike | None = None) -> Array:
    """Excess risk of predicting each class when the class probabilities are known.

    w_k = max_p η_p - η_k,   or with a cost matrix   w_a = Σ_k η_k C[k, a] - min_b Σ_k η_k C[k, b]

    Theorem 4.4: the excess risk of a classifier t is E[w_t(X)].

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
    cost : array of shape (n_classes, n_classes), optional
        Cost matrix C[true, predicted]; zero-one by default.

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> point_costs(np.array([[0.5, 0.3, 0.2]]))
    array([[0. , 0.2, 0.3]])
    >>> point_costs(np.array([[0.75, 0.25]]), cost=[[0, 1], [4, 0]])
    array([[0.25, 0.  ]])
    """
    if cost is None:
        return probabilities.max(axis=1, keepdims=True) - probabilities
    expected = probabilities @ _cost_matrix(cost, probabilities.shape[1])
    return expected - expected.min(axis=1, keepdims=True)


def worst_case_costs(bounds: Bounds, cost: ArrayLike | None = None) -> Array:
    """Largest excess risk of predicting each class over the identified set.

    w_k = max_{p≠k} (upper~_p - lower~_k)^+,
    or with a cost matrix   w_a = max_b max_η Σ_k η_k (C[k, a] - C[k, b])

    Theorem 5.3: the worst-case excess risk of a classifier t is E[w_t(X)]. The bounds are first made
    `realizable`, because raw bounds can change the best class (E5). The result is exact for every
    box-and-simplex set; without a label range w_k = (slack + max_{j≠k} lower_j - lower_k)^+. The set must not
    be crossed.

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.5, 0.25, 0.0]]), np.array([[1.0, 1.0, 1.0]]))
    >>> worst_case_costs(bounds)
    array([[0.  , 0.5 , 0.75]])
    """
    if cost is not None:
        return contrast_extremes(bounds, cost)[1]
    if isinstance(bounds, LaminarBounds):  # one η may not attain both extremes
        return contrast_extremes(bounds, 1.0 - np.eye(bounds.lower.shape[1]))[1]
    sharp = realizable(bounds)
    return np.maximum(_largest_of_others(sharp.upper) - sharp.lower, 0.0)


def best_case_costs(bounds: Bounds) -> Array:
    """Smallest zero-one excess risk of predicting each class over the identified set.

    w_t = min_η max_j η_j - η_t = (max_{j≠t} clip(τ, lower_j, upper_j) - upper~_t)^+

    where τ solves Σ_{j≠t} clip(τ, lower_j, upper_j) = 1 - upper~_t. Without a label range this is
    (max_{j≠t} lower_j - lower_t - slack)^+. It corrects the paper's "symmetrically defined" lower bound
    (E12): probability that class t cannot take must go to the other classes. The set must not be crossed.

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    The example of E12: max_j lower_j - upper_0 would give 0.1.

    >>> best_case_costs(Bounds(np.array([[0.0, 0.3, 0.0]]), np.array([[0.2, 1.0, 1.0]])))
    array([[0.2, 0. , 0. ]])
    """
    if isinstance(bounds, LaminarBounds):
        return bounds.best_case_costs()
    sharp = realizable(bounds)
    costs = np.empty_like(sharp.lower)
    for candidate in range(sharp.lower.shape[1]):
        lower = np.delete(sharp.lower, candidate, axis=1)
        upper = np.delete(sharp.upper, candidate, axis=1)
        most = sharp.upper[:, candidate]
        level = clipped_sum_root(lower, upper, 1.0 - most)
        rival = np.clip(level[:, None], lower, upper).max(axis=1)
        costs[:, candidate] = np.maximum(rival - most, 0.0)
    return costs


def contrast_extremes(bounds: Bounds, cost: ArrayLike) -> tuple[Array, Array]:
    """Smallest and largest disadvantage of each prediction against its strongest rival.

    minimum_a = max_b min_η Σ_k η_k (C[k, a] - C[k, b]),   maximum_a = max_b max_η Σ_k η_k (C[k, a] - C[k, b])

    The maximum is the worst-case regret. The minimum is positive if and only if a single rival beats a at
    every η in the set. It never exceeds the best-case regret, where the rival may depend on η.

    Returns
    -------
    minimum, maximum : arrays of shape (n_samples, n_classes)

    Examples
    --------
    >>> contrast_extremes(Bounds(np.array([[0.5, 0.25]]), np.array([[0.75, 0.5]])), cost=[[0, 1], [4, 0]])
    (array([[0.25, 0.  ]]), array([[1.5, 0. ]]))
    """
    n_classes = bounds.lower.shape[1]
    matrix = _cost_matrix(cost, n_classes)
    # Start at zero, the contrast of a prediction with itself.
    minimum, maximum = np.zeros_like(bounds.lower), np.zeros_like(bounds.lower)
    for first in range(n_classes):
        for second in range(first):
            smallest, largest = linear_extremes(matrix[:, first] - matrix[:, second], bounds)
            minimum[:, first] = np.maximum(minimum[:, first], smallest)
            maximum[:, first] = np.maximum(maximum[:, first], largest)
            minimum[:, second] = np.maximum(minimum[:, second], -largest)
            maximum[:, second] = np.maximum(maximum[:, second], -smallest)
    return minimum, maximum


def linear_extremes(coefficients: ArrayLike, bounds: Bounds) -> tuple[Array, Array]:
    """Smallest and largest value of a linear function over the identified set.

    min and max of Σ_k c_k η_k   subject to   lower <= η <= upper, Σ_k η_k = 1

    The greedy solution is exact: start at the lower bounds and assign the slack to the classes in the order
    of their coefficients, each up to its width. The set must not be crossed.

    Parameters
    ----------
    coefficients : array of shape (n_classes,) or (n_samples, n_classes)

    Returns
    -------
    minimum, maximum : arrays of shape (n_samples,)

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.25, 0.25, 0.0]]), np.array([[1.0, 1.0, 0.25]]))
    >>> linear_extremes([0.0, 1.0, 3.0], bounds)
    (array([0.25]), array([1.25]))
    """
    if isinstance(bounds, LaminarBounds):
        return bounds.extremes(coefficients)
    coefficients = np.atleast_2d(np.asarray(coefficients, dtype=np.float64))
    ascending = np.argsort(coefficients, axis=1)
    base = (coefficients * bounds.lower).sum(axis=1)
    minimum, maximum = (
        base + _allocated_value(coefficients, bounds, order) for order in (ascending, ascending[:, ::-1])
    )
    return minimum, maximum


def extreme_probabilities(gain: Array, bounds: Bounds) -> Array:
    """Class probabilities in the identified set that maximise Σ_k gain_k η_k.

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.25, 0.25, 0.0]]), np.array([[1.0, 1.0, 0.25]]))
    >>> extreme_probabilities(np.array([[0.0, 1.0, 3.0]]), bounds)
    array([[0.25, 0.5 , 0.25]])
    """
    if isinstance(bounds, LaminarBounds):
        return bounds.extreme(gain)
    order = np.argsort(-np.broadcast_to(gain, bounds.lower.shape), axis=1, kind="stable")
    capacity = np.take_along_axis(bounds.width, order, axis=1)
    filled = np.minimum(np.cumsum(capacity, axis=1), bounds.slack[:, None])
    found = np.array(bounds.lower)
    np.put_along_axis(
        found, order, np.take_along_axis(found, order, axis=1) + np.diff(filled, axis=1, prepend=0.0), axis=1
    )
    return found


def gains(costs: Array) -> Array:
    """Gain of each prediction over the most costly one.

    v_k = max_j w_j - w_k >= 0

    Learners that maximise use the gains as weights; the best class has the largest gain.

    Examples
    --------
    >>> gains(np.array([[0.0, 0.5, 0.75]]))
    array([[0.75, 0.25, 0.  ]])
    """
    return costs.max(axis=1, keepdims=True) - costs


def _allocated_value(coefficients: Array, bounds: Bounds, order: np.ndarray) -> Array:
    capacity = np.take_along_axis(bounds.width, np.broadcast_to(order, bounds.lower.shape), axis=1)
    filled = np.minimum(np.cumsum(capacity, axis=1), bounds.slack[:, None])
    allocate_slack = np.diff(filled, axis=1, prepend=0.0)
    return (np.take_along_axis(coefficients, order, axis=1) * allocate_slack).sum(axis=1)


def _largest_of_others(values: Array) -> Array:
    """Largest entry of each row, excluding the entry itself."""
    second, first = np.partition(values, -2, axis=1)[:, -2:].T
    is_first = np.arange(values.shape[1]) == values.argmax(axis=1)[:, None]
    return np.where(is_first, second[:, None], first[:, None])


def _cost_matrix(cost: ArrayLike, n_classes: int) -> Array:
    matrix = np.asarray(cost, dtype=np.float64)
    if matrix.shape != (n_classes, n_classes) or not np.isfinite(matrix).all():
        raise InputError.about(
            "cost",
            f"must be a finite matrix C[true, predicted] of shape ({n_classes}, {n_classes}), "
            f"got shape {matrix.shape}",
        )
    return matrix


def minimax_class(bounds: Bounds, cost: ArrayLike | None = None) -> NDArray[np.intp]:
    """Class with the smallest worst-case regret; the first one in case of ties.

    argmin_k w_k   with the `worst_case_costs` of Theorem 5.3

    Without a cost matrix and a label range this is argmax_k lower_k, which also has the largest guaranteed
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


def possible_classes(bounds: Bounds, cost: ArrayLike | None = None) -> Mask:
    """Classes that are the best prediction for some class probabilities in the set.

    zero-one: {k : min_η [max_j η_j - η_k] = 0}, exact for every box-and-simplex set (E12);
    with a cost matrix: {a : no single b has a smaller expected cost at every η}. This is an outer set,
    because different rivals can beat a prediction at different η.

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
    """Rows in which only one class can be the best prediction, so that the data determine it.

    Examples
    --------
    >>> decided(Bounds(np.array([[0.5, 0.25], [0.7, 0.1]]), np.array([[0.75, 0.5], [0.9, 0.3]])))
    array([False,  True])
    """
    return possible_classes(bounds, cost).sum(axis=1) == 1


@dataclass(frozen=True)
class CostSensitiveProblem:
    """Cost-sensitive classification: the problem of Algorithm 1 once its weights are estimated.

    Attributes
    ----------
    X : (n_samples, n_features) array
    costs : (n_samples, n_classes) array
        Cost of predicting each class, from held-out models.
    gains : (n_samples, n_classes) array
        Non-negative value of each class. The largest gain is where the cost is smallest.
    sample_weight : (n_samples,) array
    categorical : tuple of int
        Columns of `X` that hold category codes.
    labels : (n_samples,) int array or None
        Codes of the observed labels, -1 where there is none: skewed columns are scaled as suits them.
    """

    X: np.ndarray
    costs: np.ndarray
    gains: np.ndarray
    sample_weight: np.ndarray
    categorical: tuple[int, ...] = ()
    labels: np.ndarray | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.costs.shape[1]

    @property
    def signed_weight(self) -> np.ndarray:
        """Two classes: cost of predicting the first minus cost of predicting the second.

        The sign indicates the better class, and the absolute value is the cost of a mistake.
        """
        return self.costs[:, 0] - self.costs[:, 1]


# Width of the smoothed corner that lets L-BFGS minimise the hinge. It is rounded from above: the loss is
# nowhere below the hinge, and above it by at most an eighth of the width.
ROUNDED_CORNER = 0.01
MARGIN_LOSSES = ("logistic", "hinge", "exponential")
SCORE_LOSSES = ("softmax", "cross-entropy")

Loss = tuple[np.ndarray, np.ndarray]


def softmax_cost(scores: np.ndarray, costs: np.ndarray) -> Loss:
    """Costs averaged with the softmax of the scores (the paper's surrogate), and the gradient.

    Σ_k w_k exp(h_k) / Σ_p exp(h_p)

    Theorem 6.1: the excess risk is at most K times the excess of this surrogate, for the infimum over all
    score functions (E10b: a restricted class leaves an approximation term). It is not convex in the scores.

    Parameters
    ----------
    scores, costs : (n_samples, n_classes) arrays

    Returns
    -------
    values : (n_samples,) array
    gradient : (n_samples, n_classes) array

    Examples
    --------
    >>> softmax_cost(np.array([[0.0, 0.0]]), np.array([[0.2, 0.6]]))
    (array([0.4]), array([[-0.1,  0.1]]))
    """
    from scipy.special import softmax  # the command line lists assumptions without scipy

    shares = softmax(scores, axis=1)
    values = np.sum(costs * shares, axis=1)
    return values, shares * (costs - values[:, None])


def cross_entropy(scores: np.ndarray, gains: np.ndarray) -> Loss:
    """Soft-label cross-entropy with gains as label weights, and its gradient.

    -Σ_k v_k log softmax_k(h)

    Its pointwise minimiser has softmax ∝ v, so the largest gain gets the highest score. It is convex in the
    scores.

    Examples
    --------
    >>> values, gradient = cross_entropy(np.array([[0.0, 0.0]]), np.array([[0.25, 0.75]]))
    >>> values.round(3), gradient
    (array([0.693]), array([[ 0.25, -0.25]]))
    """
    from scipy.special import log_softmax

    logs = log_softmax(scores, axis=1)
    total = gains.sum(axis=1, keepdims=True)
    return -np.sum(gains * logs, axis=1), total * np.exp(logs) - gains


def margin_loss(name: str) -> Callable[[np.ndarray], Loss]:
    """Return φ and φ' of a margin, with φ(0) >= 1 so that φ bounds the 0-1 loss (Proposition 6.2, E9).

    logistic: log2(1 + e^-a); exponential: e^-a; hinge: max(1 - a, 0) with its corner rounded from above,
    between 0.995 and 1.005.

    Examples
    --------
    >>> [float(margin_loss(name)(np.zeros(1))[0][0]) for name in MARGIN_LOSSES]
    [1.0, 1.0, 1.0]
    """
    return {"logistic": _logistic, "hinge": _hinge, "exponential": _exponential}[name]


def _logistic(margin: np.ndarray) -> Loss:
    from scipy.special import expit

    return np.logaddexp(0.0, -margin) / np.log(2.0), -expit(-margin) / np.log(2.0)


def _exponential(margin: np.ndarray) -> Loss:
    # Beyond this the exponential would overflow. Its tangent continues it and keeps it convex.
    capped = np.maximum(margin, -30.0)
    value = np.exp(-capped)
    return value * (1.0 + (capped - margin)), -value


def _hinge(margin: np.ndarray) -> Loss:
    short = np.maximum(1.0 + ROUNDED_CORNER / 2.0 - margin, 0.0)
    corner = short < ROUNDED_CORNER
    values = np.where(corner, short**2 / (2.0 * ROUNDED_CORNER), 1.0 - margin)
    return values, -np.where(corner, short / ROUNDED_CORNER, 1.0)
