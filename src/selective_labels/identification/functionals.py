"""Sharp bounds on linear functionals of the class probabilities, and on the regret, of a fixed classifier.

The class probabilities of each row vary freely within its identified set. The expectation of the row minima
is therefore attained and is the sharp lower bound; the same holds for the maxima.

A classifier is given as ``prediction`` of shape (n_samples, n_classes), the probability of predicting each
class; a hard classifier is the one-hot case. Ratios of expectations are in `rates`.
"""

import numpy as np
from numpy.typing import ArrayLike

from selective_labels._errors import InputError
from selective_labels.identification.bounds import Array, Bounds
from selective_labels.identification.costs import linear_extremes
from selective_labels.identification.event_bounds import LaminarBounds


def normalized_weights(weights: ArrayLike | None, n_samples: int) -> Array:
    """Normalised weights w_i / Σ_j w_j; 1 / n without weights.

    Parameters
    ----------
    weights : array-like of shape (n_samples,) or None
        Non-negative sample weights. Weights of zero outside a subgroup restrict a functional to that
        subgroup.
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
    if weights.shape != (n_samples,):  # a programming error: user weights are validated earlier
        raise ValueError(f"weights have shape {weights.shape}, but there are {n_samples} rows.")
    if (weights < 0).any() or not weights.sum() > 0:
        raise InputError("Weights must be non-negative and at least one must be positive.", "sample_weight")
    return weights / weights.sum()


def mean_extremes(
    coefficients: ArrayLike, bounds: Bounds, weights: ArrayLike | None = None
) -> tuple[float, float]:
    """E[min_η Σ_k c_k(X) η_k(X)] and E[max_η Σ_k c_k(X) η_k(X)] over the identified set.

    With slack δ the minimum is E[Σ_k c_k l_k + δ min_k c_k], and the maximum has max_k c_k. If upper bounds
    bind, the slack is allocated greedily. The bounds are sharp wherever the identified set is. For a
    difference of two functionals, pass the difference of their coefficients: they cancel where two
    classifiers agree. The cost is O(n K log K).

    Parameters
    ----------
    coefficients : array-like of shape (n_samples, n_classes) or (n_classes,)
        Contribution of a case of each class, for instance from `accuracy_coefficients`.
    bounds : Bounds
        Identified set of each row.
    weights : array-like of shape (n_samples,), optional
        Sample weights.

    Returns
    -------
    minimum, maximum : float

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
    """Coefficients c_k(x) = Σ_a P(t(x)=a) C[k, a] of the expected cost; the error has C = 1 - I.

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
    """Coefficients c_k(x) = -log q_k(x) of the log loss, with q_k clipped at machine epsilon.

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
    """Coefficients c_k(x) = Σ_j (q_j(x) - 1{j=k})² = Σ_j q_j² - 2 q_k + 1 of the Brier score, in [0, 2].

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
    """Coefficients c_k = 1{k in classes} of the share of these classes.

    With weights that are zero outside a score bin, the functional is the calibration in that bin.

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
    """Coefficients c_k(x) = d(x) b_k + (1 - d(x)) c_0 of the value of a policy that acts with probability d.

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
    """Bounds min_η and max_η of P(Y* in classes | x) = Σ_{k in classes} η_k(x), row by row.

    Both bounds are realizable (E5), and so is every choice of one value per row. The ratios in `rates` need
    no other information about the identified set.

    Parameters
    ----------
    bounds : Bounds
        Identified set of each row.
    classes : int or array-like of int
        Codes of the classes in the event.

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

    The regret is not linear, because the Bayes rule it compares with depends on the same η. `regret_rows`
    gives the solution.

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
    5.3 with E5 and E12). Both bounds are exact for stochastic classifiers and for any box ∩ simplex as well.

    The largest regret is the maximum over j of a linear program with coefficients e_j - π. The smallest is
    min_τ τ - V(τ), where V(τ) is the largest accuracy under the cap η_k ≤ τ on all classes. Raising the cap
    by ε adds at most ε to each class and thus at most ε Σ_a π_a = ε to the accuracy, so the smallest feasible
    cap is optimal. The cost is O(n K² log K). With event slack, the smallest regret of a stochastic
    classifier is the mean over its predictions: valid, and sharp for hard classifiers.

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
    # Rounding can make the difference slightly negative; a regret never is.
    return np.maximum(minimum, 0.0), maximum


def smallest_cap(bounds: Bounds) -> Array:
    """Smallest feasible cap min_η max_k η_k: the smallest τ ≥ max_k l_k with Σ_k min(u_k, τ) ≥ 1.

    The sum of minima is the smallest of the lines Σ_{i≤c} u_(i) + (K - c) τ, with u_(1) ≤ u_(2) ≤ ... and
    c = 0..K-1. The condition is therefore τ ≥ (1 - Σ_{i≤c} u_(i)) / (K - c) for every c.

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
