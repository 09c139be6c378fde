"""Sharp bounds of linear functionals of the class probabilities, and of the regret, for a fixed classifier.

Every row may hold any class probabilities of its identified set, whatever the other rows hold. So the
expectation of the smallest value in each row is itself attained: it is the sharp lower end, and likewise for
the largest.

A classifier is always given as ``prediction`` of shape (n_samples, n_classes), the probability with which
it predicts each class; a hard classifier is the one-hot case. Functionals that are ratios of expectations
stand in `ranking`.
"""

import numpy as np
from numpy.typing import ArrayLike

from selective_labels._errors import InputError
from selective_labels.identification.bounds import Array, Bounds
from selective_labels.identification.costs import linear_extremes
from selective_labels.identification.event_bounds import LaminarBounds


def normalized_weights(weights: ArrayLike | None, n_samples: int) -> Array:
    """w_i / Σ_j w_j, and 1 / n without weights.

    Parameters
    ----------
    weights : array-like of shape (n_samples,) or None
        Non-negative sample weights; zero outside a subgroup restricts every functional to that subgroup.
    n_samples : int
        Number of rows.

    Returns
    -------
    ndarray of shape (n_samples,)
        Weights that sum to one.

    Examples
    --------
    >>> normalized_weights([1, 0, 3], 3)
    array([0.25, 0.  , 0.75])
    """
    if weights is None:
        return np.full(n_samples, 1.0 / n_samples)
    weights = np.asarray(weights, dtype=float)
    if weights.shape != (n_samples,):  # a mistake of the caller: the weights of data have passed its checks
        raise ValueError(f"weights have shape {weights.shape}, but there are {n_samples} rows.")
    if (weights < 0).any() or not weights.sum() > 0:
        raise InputError("Weights must be non-negative and at least one must be positive.", "sample_weight")
    return weights / weights.sum()


def mean_extremes(
    coefficients: ArrayLike, bounds: Bounds, weights: ArrayLike | None = None
) -> tuple[float, float]:
    """E[min_η Σ_k c_k(X) η_k(X)] and E[max_η Σ_k c_k(X) η_k(X)] over the identified set.

    With slack δ this is E[Σ_k c_k l_k + δ min_k c_k] and the same with the largest c_k; with a box that
    binds, the slack is poured greedily. Sharp wherever the identified set is. A difference of two
    functionals is bounded through the difference of their coefficients, which cancel where two classifiers
    agree. Cost O(n K log K).

    Parameters
    ----------
    coefficients : array-like of shape (n_samples, n_classes) or (n_classes,)
        What a case of each class contributes, for instance from `accuracy_coefficients`.
    bounds : Bounds
        Identified set of each row.
    weights : array-like of shape (n_samples,), optional
        Sample weights.

    Returns
    -------
    minimum, maximum : float

    Examples
    --------
    The error of one classifier minus that of another, which differ in the second row only:

    >>> bounds = Bounds(lower=np.array([[0.5, 0.1], [0.2, 0.6]]), upper=np.array([[0.9, 0.5], [0.4, 0.8]]))
    >>> a, b = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> np.round(mean_extremes(accuracy_coefficients(b) - accuracy_coefficients(a), bounds), 3)
    array([0.1, 0.3])
    """
    minimum, maximum = linear_extremes(coefficients, bounds)
    weights = normalized_weights(weights, len(minimum))
    return float(weights @ minimum), float(weights @ maximum)


def accuracy_coefficients(prediction: ArrayLike) -> Array:
    """c_k(x) = P(t(x)=k): a case of class k counts with the probability that it is predicted.

    Parameters
    ----------
    prediction : array-like of shape (n_samples, n_classes)
        Probability of predicting each class.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> accuracy_coefficients([[0, 1], [0.3, 0.7]])
    array([[0. , 1. ],
           [0.3, 0.7]])
    """
    return np.asarray(prediction, dtype=float)


def cost_coefficients(prediction: ArrayLike, cost: ArrayLike) -> Array:
    """c_k(x) = Σ_a P(t(x)=a) C[k, a]; the error is the case C = 1 - I.

    Parameters
    ----------
    prediction : array-like of shape (n_samples, n_classes)
        Probability of predicting each class.
    cost : array-like of shape (n_classes, n_classes)
        ``cost[true, predicted]``.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> cost_coefficients([[1, 0], [0.5, 0.5]], cost=[[0, 1], [10, 0]])
    array([[ 0. , 10. ],
           [ 0.5,  5. ]])
    """
    return np.asarray(prediction, dtype=float) @ np.asarray(cost, dtype=float).T


def log_loss_coefficients(probabilities: ArrayLike) -> Array:
    """c_k(x) = -log q_k(x), with q_k held at the machine epsilon or above so that the loss stays finite.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_classes)
        Predicted class probabilities q.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> log_loss_coefficients([[0.5, 0.5]]).round(3)
    array([[0.693, 0.693]])
    """
    return -np.log(np.maximum(np.asarray(probabilities, dtype=float), np.finfo(float).eps))


def brier_coefficients(probabilities: ArrayLike) -> Array:
    """c_k(x) = Σ_j (q_j(x) - 1{j=k})² = Σ_j q_j² - 2 q_k + 1, between 0 and 2.

    Parameters
    ----------
    probabilities : array-like of shape (n_samples, n_classes)
        Predicted class probabilities q.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> brier_coefficients([[0.5, 0.5], [0, 1]])
    array([[0.5, 0.5],
           [2. , 0. ]])
    """
    probabilities = np.asarray(probabilities, dtype=float)
    return (probabilities**2).sum(axis=1, keepdims=True) - 2 * probabilities + 1


def class_coefficients(classes: ArrayLike, n_classes: int) -> Array:
    """c_k = 1{k in classes}: the share of these classes.

    With weights that are zero outside a score bin, it is the calibration in that bin.

    Parameters
    ----------
    classes : int or array-like of int
        Codes of the classes that count.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_classes,)

    Examples
    --------
    >>> class_coefficients([0, 2], 3)
    array([1., 0., 1.])
    """
    return np.isin(np.arange(n_classes), classes).astype(np.float64)


def policy_coefficients(action: ArrayLike, utility: ArrayLike, default: float = 0.0) -> Array:
    """c_k(x) = d(x) b_k + (1 - d(x)) c_0: the value of acting with probability d on a case of class k.

    Parameters
    ----------
    action : array-like of shape (n_samples,)
        Probability d of acting.
    utility : array-like of shape (n_classes,)
        Utility b_k of acting on a case of class k.
    default : float
        Utility c_0 of not acting, the same for all classes.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> policy_coefficients([1, 0], utility=[1, -5])
    array([[ 1., -5.],
           [ 0.,  0.]])
    """
    act = np.asarray(action, dtype=float)[:, None]
    return act * np.asarray(utility, dtype=float) + (1 - act) * default


def event_range(bounds: Bounds, classes: ArrayLike) -> tuple[Array, Array]:
    """min_η and max_η of P(Y* in classes | x) = Σ_{k in classes} η_k(x), row by row.

    Both ends are realizable (E5), and any choice of one value per row is too: this is all that the ratios of
    `ranking` need to know about the identified set.

    Parameters
    ----------
    bounds : Bounds
        Identified set of each row.
    classes : int or array-like of int
        Codes of the classes that make up the event.

    Returns
    -------
    lower, upper : ndarray of shape (n_samples,)

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

    The regret compares with the Bayes rule of the same η, so it is not linear; see `regret_rows` for the
    solution.

    Parameters
    ----------
    prediction : array-like of shape (n_samples, n_classes)
        Probability of predicting each class.
    bounds : Bounds
        Identified set of each row.
    weights : array-like of shape (n_samples,), optional
        Sample weights.

    Returns
    -------
    minimum, maximum : float

    Examples
    --------
    >>> bounds = Bounds(lower=np.array([[0.1, 0.5], [0.4, 0.3]]), upper=np.array([[0.5, 0.9], [0.7, 0.6]]))
    >>> np.round(regret_extremes([[1, 0], [1, 0]], bounds), 3)
    array([0. , 0.5])
    """
    minimum, maximum = regret_rows(prediction, bounds)
    weights = normalized_weights(weights, len(minimum))
    return float(weights @ minimum), float(weights @ maximum)


def regret_rows(prediction: ArrayLike, bounds: Bounds) -> tuple[Array, Array]:
    """min_η and max_η of max_j η_j - Σ_a π_a η_a, row by row, with π_a the probability of predicting a.

    A hard classifier t with slack δ has [(max_{j≠t} l_j - l_t - δ)^+, (max_{j≠t} l_j - l_t + δ)^+] (Theorem
    5.3 with E5 and E12). Both ends are exact for stochastic classifiers and for any box ∩ simplex too.

    The largest regret is max_j of a linear maximum with coefficients e_j - π. The smallest is min_τ τ - V(τ),
    where V(τ) is the largest accuracy under the cap η_k ≤ τ on all classes. Raising the cap by ε adds mass of
    at most ε to each class, so it adds at most ε Σ_a π_a = ε to the accuracy: the smallest feasible cap is
    best. Cost O(n K² log K). With earmarked slack, the smallest regret of a stochastic classifier is the
    mean over its predictions: valid, and sharp for hard ones.

    Parameters
    ----------
    prediction : array-like of shape (n_samples, n_classes)
        Probability of predicting each class.
    bounds : Bounds
        Identified set of each row.

    Returns
    -------
    minimum, maximum : ndarray of shape (n_samples,)

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
    # Pouring up to the cap rounds in the last digit, and a regret is never negative.
    return np.maximum(minimum, 0.0), maximum


def smallest_cap(bounds: Bounds) -> Array:
    """min_η max_k η_k: the smallest τ ≥ max_k l_k with Σ_k min(u_k, τ) ≥ 1.

    As a sum of minima is the smallest of the lines Σ_{i≤c} u_(i) + (K - c) τ, with u_(1) ≤ u_(2) ≤ ... and
    c = 0..K-1, the condition is τ ≥ (1 - Σ_{i≤c} u_(i)) / (K - c) for every c.

    Examples
    --------
    >>> smallest_cap(Bounds(np.array([[0.1, 0.2, 0.1]]), np.array([[0.2, 0.8, 0.7]])))
    array([0.4])
    """
    n_classes = bounds.upper.shape[1]
    upper = np.sort(bounds.upper, axis=1)
    below = np.cumsum(upper, axis=1) - upper
    level = ((1 - below) / (n_classes - np.arange(n_classes))).max(axis=1)
    return np.maximum(bounds.lower.max(axis=1), level)
