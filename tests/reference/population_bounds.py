"""Sharp bounds of metrics when the class probabilities of the population are known.

Predictions are (n_samples, n_classes) probabilities of predicting each class, or for rates and scores of one
event (n_samples,) numbers with `lower` and `upper` bounds on its probability; weights are optional. The
ratios are found by iteration, not by the sort of the package; linear programs and a search of all edges
check them in turn (`tests/identification/test_rates.py`).
"""

import numpy as np
from numpy.typing import ArrayLike

from selective_labels._errors import UndefinedError
from selective_labels.identification.bounds import Array, Bounds, Mask
from selective_labels.identification.costs import linear_extremes
from selective_labels.identification.event_bounds import LaminarBounds
from selective_labels.identification.functionals import class_coefficients, normalized_weights, smallest_cap
from selective_labels.identification.rates import (
    NEGLIGIBLE,
    Extremes,
    _as_rows,
    _separation_extremes,
)


def mean_extremes(
    coefficients: ArrayLike, bounds: Bounds, weights: ArrayLike | None = None
) -> tuple[float, float]:
    """E[min_η Σ_k c_k(X) η_k(X)] and E[max_η Σ_k c_k(X) η_k(X)] over the identified set.

    With slack δ the minimum is E[Σ_k c_k l_k + δ min_k c_k], and the maximum has max_k c_k. If upper bounds
    bind, the slack is allocated greedily. The bounds are sharp wherever the identified set is. For a
    difference of two functionals, pass the difference of their coefficients: they cancel where two
    classifiers agree. The cost is O(n K log K).

    Examples
    --------
    Bounds on the error of one classifier minus the error of another, which differ only in the second row:

    >>> bounds = Bounds(lower=np.array([[0.5, 0.1], [0.2, 0.6]]), upper=np.array([[0.9, 0.5], [0.4, 0.8]]))
    >>> a, b = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> np.round(mean_extremes(accuracy_coefficients(b) - accuracy_coefficients(a), bounds), 3)
    array([0.1, 0.3])
    """
    minimum, maximum = linear_extremes(coefficients, bounds)
    weights = normalized_weights(weights, len(minimum))
    return float(weights @ minimum), float(weights @ maximum)


def accuracy_coefficients(prediction: ArrayLike) -> Array:
    """Coefficients c_k(x) = P(t(x)=k) of the accuracy.

    Examples
    --------
    >>> accuracy_coefficients([[0, 1], [0.3, 0.7]])
    array([[0. , 1. ],
           [0.3, 0.7]])
    """
    return np.asarray(prediction, dtype=float)


def cost_coefficients(prediction: ArrayLike, cost: ArrayLike) -> Array:
    """Coefficients c_k(x) = Σ_a P(t(x)=a) C[k, a] of the expected cost; the error has C = 1 - I.

    Examples
    --------
    >>> cost_coefficients([[1, 0], [0.5, 0.5]], cost=[[0, 1], [10, 0]])
    array([[ 0. , 10. ],
           [ 0.5,  5. ]])
    """
    return np.asarray(prediction, dtype=float) @ np.asarray(cost, dtype=float).T


def policy_coefficients(action: ArrayLike, utility: ArrayLike, default: float = 0.0) -> Array:
    """Coefficients c_k(x) = d(x) b_k + (1 - d(x)) c_0 of the value of a policy that acts with probability d.

    Examples
    --------
    >>> policy_coefficients([1, 0], utility=[1, -5])
    array([[ 1., -5.],
           [ 0.,  0.]])
    """
    act = np.asarray(action, dtype=float)[:, None]
    return act * np.asarray(utility, dtype=float) + (1 - act) * default


def event_range(bounds: Bounds, classes: ArrayLike) -> tuple[Array, Array]:
    """Bounds min_η and max_η of P(Y* in classes | x) = Σ_{k in classes} η_k(x), row by row.

    Both bounds are realizable (E5), and so is every choice of one value per row. The ratios in `rates` need
    no other information about the identified set.

    Examples
    --------
    >>> bounds = Bounds(lower=np.array([[0.25, 0.25, 0.25]]), upper=np.array([[0.5, 0.5, 0.5]]))
    >>> event_range(bounds, [0, 1])
    (array([0.5]), array([0.75]))
    """
    return linear_extremes(class_coefficients(classes, bounds.lower.shape[1]), bounds)


def regret_extremes(
    prediction: ArrayLike, bounds: Bounds, weights: ArrayLike | None = None
) -> tuple[float, float]:
    """E[min_η r(X)] and E[max_η r(X)] of the regret r(x) = max_j η_j(x) - Σ_a P(t(x)=a) η_a(x).

    The regret is not linear, because the Bayes rule it compares with depends on the same η. `regret_rows`
    gives the solution.

    Examples
    --------
    >>> bounds = Bounds(lower=np.array([[0.1, 0.5], [0.4, 0.3]]), upper=np.array([[0.5, 0.9], [0.7, 0.6]]))
    >>> np.round(regret_extremes([[1, 0], [1, 0]], bounds), 3)
    array([0. , 0.5])
    """
    minimum, maximum = regret_rows(prediction, bounds)
    weights = normalized_weights(weights, len(minimum))
    return float(weights @ minimum), float(weights @ maximum)


def rate_extremes(
    prediction: ArrayLike, lower: ArrayLike, upper: ArrayLike, weights: ArrayLike | None = None
) -> Extremes:
    """min_η and max_η of P(t=a | event) = E[π_a(X) η(X)] / E[η(X)], with π_a(x) = P(t(x)=a).

    This covers TPR, FPR and any rate given the true class. The maximum θ solves max_η E[(π_a - θ) η] = 0, so
    η = u where π_a > θ and η = l elsewhere; the minimum is the reverse. For a hard classifier, with
    A = E[1{t=a} ·] and B = E[1{t≠a} ·], the bounds are A(l) / (A(l) + B(u)) and A(u) / (A(u) + B(l)). If the
    event can have probability zero, the bounds are over the η for which the rate is defined. The cost is O(n
    log n).

    Examples
    --------
    >>> ends = rate_extremes([1.0, 0.0], lower=[0.4, 0.1], upper=[0.6, 0.4])
    >>> round(ends.minimum, 3), round(ends.maximum, 3)
    (0.5, 0.857)
    >>> ends.maximum_at_upper
    array([ True, False])
    """
    prediction, lower, upper, weights = _as_rows(prediction, lower, upper, weights)
    return _ratio_extremes(prediction, lower, upper, weights, offset=0.0)


def predictive_value_extremes(
    prediction: ArrayLike, lower: ArrayLike, upper: ArrayLike, weights: ArrayLike | None = None
) -> Extremes:
    """min_η and max_η of P(event | t=a) = E[π_a(X) η(X)] / E[π_a(X)], at η = l and at η = u.

    For the predicted class itself this is the PPV. The denominator is known, so the functional is linear in
    η. The cost is O(n).

    Examples
    --------
    >>> ends = predictive_value_extremes([1.0, 0.0], lower=[0.4, 0.1], upper=[0.6, 0.4])
    >>> ends.minimum, ends.maximum
    (0.4, 0.6)
    """
    prediction, lower, upper, weights = _as_rows(prediction, lower, upper, weights)
    predicted = weights * prediction
    if not predicted.sum() > 0:
        raise UndefinedError("The predictive value is undefined: the class is never predicted.", "metric")
    predicted = predicted / predicted.sum()
    return Extremes(
        float(predicted @ lower),
        float(predicted @ upper),
        np.zeros(len(lower), dtype=bool),
        np.ones(len(lower), dtype=bool),
    )


def f1_extremes(
    prediction: ArrayLike, lower: ArrayLike, upper: ArrayLike, weights: ArrayLike | None = None
) -> Extremes:
    """min_η and max_η of F1 = 2 E[π(X) η(X)] / (E[π(X)] + E[η(X)]), with π(x) = P(t(x) = event).

    E[π] is known, so the argument of `rate_extremes` applies with a constant in the denominator: the maximum
    θ has η = u where 2π > θ. For a hard classifier the bounds are 2 A(l) / (P(t=1) + A(l) + B(u)) and 2 A(u)
    / (P(t=1) + A(u) + B(l)), with A over the cases predicted as the event and B over the others. The cost is
    O(n log n).

    Examples
    --------
    >>> ends = f1_extremes([1.0, 0.0], lower=[0.4, 0.1], upper=[0.6, 0.4])
    >>> round(ends.minimum, 3), round(ends.maximum, 3)
    (0.444, 0.706)
    """
    prediction, lower, upper, weights = _as_rows(prediction, lower, upper, weights)
    return _ratio_extremes(2 * prediction, lower, upper, weights, offset=float(weights @ prediction))


def auc_extremes(
    score: ArrayLike, lower: ArrayLike, upper: ArrayLike, weights: ArrayLike | None = None
) -> Extremes:
    """min_η and max_η of P(S > S' | event, no event') + ½ P(S = S' | event, no event') for independent cases.

    AUC = E[F | event] - E[F | no event] + ½ = ½ + Cov(F, η) / (E[η] (1 - E[η])), with F the mid-rank
    distribution function of the score. It is bounded like balanced accuracy, with F in place of π. The bounds
    are exact if the rows are the population. In a sample of distinct cases, each row paired with itself
    counts as a tie. These pairs change the result by O(1 / n), and not at all if labels are certain. The cost
    is O(n log n).

    Examples
    --------
    >>> ends = auc_extremes([0.9, 0.2, 0.1], lower=[0.6, 0.2, 0.1], upper=[0.8, 0.4, 0.3])
    >>> round(ends.minimum, 3), round(ends.maximum, 3)
    (0.636, 0.835)
    """
    score, lower, upper, weights = _as_rows(score, lower, upper, weights)
    return _separation_extremes(_mid_ranks(score, weights), lower, upper, weights, scale=1.0)


def regret_rows(prediction: ArrayLike, bounds: Bounds) -> tuple[Array, Array]:
    """min_η and max_η of max_j η_j - Σ_a π_a η_a, row by row, with π_a the probability of predicting a.

    A hard classifier t with slack δ has [(max_{j≠t} l_j - l_t - δ)^+, (max_{j≠t} l_j - l_t + δ)^+] (Theorem
    5.3 with E5 and E12). Both bounds are exact for stochastic classifiers and for any box ∩ simplex as well.

    The largest regret is the maximum over j of a linear program with coefficients e_j - π. The smallest is
    min_τ τ - V(τ), where V(τ) is the largest accuracy under the cap η_k ≤ τ on all classes. Raising the cap
    by ε adds at most ε to each class and thus at most ε Σ_a π_a = ε to the accuracy, so the smallest feasible
    cap is optimal. The cost is O(n K² log K). With event slack, the smallest regret of a stochastic
    classifier is the mean over its predictions: valid, and sharp for hard classifiers.

    Examples
    --------
    >>> bounds = Bounds(lower=np.array([[0.1, 0.6]]), upper=np.array([[0.4, 0.9]]))
    >>> np.round(np.hstack(regret_rows([[1, 0]], bounds)), 3)
    array([0.2, 0.8])
    """
    prediction = np.asarray(prediction, dtype=float)
    rivals = np.eye(prediction.shape[1])
    maximum = np.max([linear_extremes(rival - prediction, bounds)[1] for rival in rivals], axis=0)
    if isinstance(bounds, LaminarBounds):
        return np.einsum("nk,nk->n", prediction, bounds.best_case_costs()), maximum
    cap = smallest_cap(bounds)
    capped = Bounds(bounds.lower, np.minimum(bounds.upper, cap[:, None]))
    minimum = cap - linear_extremes(prediction, capped)[1]
    # Rounding can make the difference slightly negative; a regret never is.
    return np.maximum(minimum, 0.0), maximum


def _mid_ranks(score: Array, weights: Array) -> Array:
    """P(S < s) + ½ P(S = s) at each score s."""
    _, level = np.unique(score, return_inverse=True)
    mass = np.bincount(level, weights=weights)
    return (np.cumsum(mass) - mass / 2)[level]


def _ratio_extremes(gain: Array, lower: Array, upper: Array, weights: Array, offset: float) -> Extremes:
    """min_η and max_η of E[gain η] / (offset + E[η])."""
    maximum, maximum_at_upper = _ratio_maximum(gain, lower, upper, weights, offset)
    minimum, minimum_at_upper = _ratio_maximum(-gain, lower, upper, weights, offset)
    # `0.0 - x`, because `-x` would turn a rate of zero into minus zero.
    return Extremes(0.0 - minimum, maximum, minimum_at_upper, maximum_at_upper)


def _ratio_maximum(
    gain: Array, lower: Array, upper: Array, weights: Array, offset: float
) -> tuple[float, Mask]:
    """max_η E[gain η] / (offset + E[η]) by Dinkelbach's iteration, and the rows at their upper bound.

    If θ is the ratio of some η, the η with the upper bound exactly where gain > θ has a larger one, unless θ
    is the maximum.
    """
    best, chosen = -np.inf, np.ones(len(gain), dtype=bool)
    at_upper = chosen
    while True:
        event = weights * np.where(at_upper, upper, lower)
        denominator = offset + event.sum()
        if not (denominator > NEGLIGIBLE and gain @ event / denominator > best):
            break
        best, chosen = float(gain @ event / denominator), at_upper
        at_upper = gain > best
    if best == -np.inf:
        raise UndefinedError("The condition has probability zero.", "metric")
    return best, chosen
