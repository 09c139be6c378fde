"""A linear score function, trained until it has converged."""

import warnings
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from selective_labels.estimators.learners.problem import CostSensitiveProblem
from selective_labels.estimators.learners.surrogates import (
    MARGIN_LOSSES,
    cross_entropy,
    margin_loss,
    softmax_cost,
)
from selective_labels.models.features import standardised
from selective_labels.support.errors import InputError

# A whisper of ridge: without it a softmax of linear scores has its minimum at infinity.
RIDGE = 1e-4
MAX_ITERATIONS = 2000
# The softmax risk is not convex: multiples of the cross-entropy solution and random starts are tried.
START_SCALES = (1.0, 4.0)
N_RANDOM_STARTS = 2

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


class LinearScore(BaseEstimator):
    """Scores that are linear in the standardised features: what ``estimator="linear"`` stands for.

    min_B Σ_i v_i φ(x_i'B; w_i) / Σ_i v_i + ridge/2 ‖B‖²,   φ the surrogate of the costs w,

    at costs of unit scale; the intercept is free.

    Parameters
    ----------
    ridge : float
        Larger than zero.

    Attributes
    ----------
    scale : fitted Pipeline
        Once learned, as `coefficients`.
    coefficients : (n_features + 1, n_classes) array
        The last row is the intercept.

    Examples
    --------
    >>> import selective_labels as sl
    >>> clf = sl.UCLClassifier(estimator=sl.LinearScore(ridge=0.01))
    >>> clf.set_params(estimator__ridge=0.1).get_params()["estimator__ridge"]
    0.1
    """

    scale: Pipeline
    coefficients: np.ndarray

    def __init__(self, ridge: float = RIDGE):
        self.ridge = ridge

    def learn(
        self, problem: CostSensitiveProblem, surrogate: str, random_state: int | None = None
    ) -> "LinearScore":
        """Return a copy that has learned the problem."""
        if not 0.0 < self.ridge < np.inf:
            raise InputError(
                f"estimator=LinearScore(ridge={self.ridge!r}): ridge must be larger than zero and finite.",
                "estimator",
            )
        learned = clone(self)
        learned.scale, learned.coefficients = fit_linear(problem, surrogate, random_state, self.ridge)
        return learned

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Score of every class, (n_samples, n_classes)."""
        scores = self.scale.transform(X) @ self.coefficients[:-1]
        scores += self.coefficients[-1]
        return scores


def fit_linear(
    problem: CostSensitiveProblem, surrogate: str, random_state: int | None = None, ridge: float = RIDGE
) -> tuple[Pipeline, np.ndarray]:
    """Minimise the mean surrogate over linear scores by L-BFGS.

    Parameters
    ----------
    problem : CostSensitiveProblem
    surrogate : "softmax", "cross-entropy", "logistic", "hinge" or "exponential"
        The last three for two classes.
    random_state : int, optional
        Of the random starts, for the softmax.
    ridge : float

    Returns
    -------
    scale : fitted Pipeline
    coefficients : (n_features + 1, n_classes) array
    """
    scale = standardised(problem.categorical).fit(problem.X)
    design = _with_intercept(scale.transform(problem.X))
    weight = problem.sample_weight / problem.sample_weight.sum()
    if surrogate in MARGIN_LOSSES:
        contrast = _minimise(
            _margin_objective(design, problem, weight, surrogate, ridge), np.zeros(design.shape[1])
        )
        coefficients = np.column_stack([-contrast / 2, contrast / 2])
        return scale, coefficients
    shape = (design.shape[1], problem.n_classes)
    convex = _score_objective(design, problem.gains, weight, cross_entropy, ridge)
    start = _minimise(convex, np.zeros(shape[0] * shape[1]))
    if surrogate == "cross-entropy":
        return scale, start.reshape(shape)
    objective = _score_objective(design, problem.costs, weight, softmax_cost, ridge)
    solutions = [_minimise(objective, each) for each in _starts(start, random_state)]
    best = min(solutions, key=lambda solution: objective(solution)[0])
    return scale, best.reshape(shape)


def _with_intercept(features: np.ndarray) -> np.ndarray:
    return np.column_stack([features, np.ones(len(features))])


def _starts(solution: np.ndarray, random_state: int | None) -> list[np.ndarray]:
    rng = np.random.default_rng(random_state)
    spread = max(float(solution.std()), 0.1)
    random = [rng.normal(scale=spread, size=solution.shape) for _ in range(N_RANDOM_STARTS)]
    return [scale * solution for scale in START_SCALES] + random


def _score_objective(
    design: np.ndarray,
    targets: np.ndarray,
    weight: np.ndarray,
    loss: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
    ridge: float,
) -> Objective:
    """Mean loss of linear scores plus ridge; targets at unit scale, so that ridge means the same."""
    scale = float(weight @ np.ptp(targets, axis=1)) or 1.0
    shape = (design.shape[1], targets.shape[1])
    # Class by class in memory: sums over few classes are then sums of long columns, several times faster.
    columns, scaled = np.ascontiguousarray(design.T), np.asfortranarray(targets / scale)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        coefficients = flat.reshape(shape)
        values, gradient = loss((coefficients.T @ columns).T, scaled)
        slope = columns @ (weight[:, None] * gradient)
        return _ridged(float(weight @ values), slope, coefficients, ridge)

    return objective


def _margin_objective(
    design: np.ndarray, problem: CostSensitiveProblem, weight: np.ndarray, surrogate: str, ridge: float
) -> Objective:
    signed = problem.signed_weight
    sign = np.where(signed >= 0, 1.0, -1.0)
    size = weight * np.abs(signed)
    size = size / max(float(size.sum()), np.finfo(float).tiny)
    loss = margin_loss(surrogate)

    def objective(coefficients: np.ndarray) -> tuple[float, np.ndarray]:
        values, gradient = loss(sign * (design @ coefficients))
        return _ridged(float(size @ values), design.T @ (size * sign * gradient), coefficients, ridge)

    return objective


def _ridged(
    value: float, gradient: np.ndarray, coefficients: np.ndarray, ridge: float
) -> tuple[float, np.ndarray]:
    penalised = coefficients.copy()
    penalised[-1] = 0.0  # the intercept is free
    return value + ridge / 2 * float(np.sum(penalised**2)), (gradient + ridge * penalised).ravel()


def _minimise(objective: Objective, start: np.ndarray) -> np.ndarray:
    options = {"maxiter": MAX_ITERATIONS, "maxfun": 2 * MAX_ITERATIONS}
    result = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    if result.status == 1:  # the limit was reached
        message = f"The linear score did not converge in {MAX_ITERATIONS} steps; the best found is used."
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return result.x
