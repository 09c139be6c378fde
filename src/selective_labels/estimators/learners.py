"""Learners of the cost-sensitive problem: linear scores, scikit-learn classifiers, and their selection."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from selective_labels._errors import InputError
from selective_labels.estimators.identified import Identified, PlugIn
from selective_labels.estimators.neural import NeuralScore
from selective_labels.identification.costs import (
    MARGIN_LOSSES,
    SCORE_LOSSES,
    CostSensitiveProblem,
    cross_entropy,
    margin_loss,
    softmax_cost,
)
from selective_labels.nuisance.models.encoders import (
    boosting,
    fit_weighted,
    one_hot_before,
    standardised_for_learner,
)

# A small ridge: without it, the softmax risk of linear scores has its minimum at infinity.
RIDGE = 1e-4
MAX_ITERATIONS = 2000
# The softmax risk is not convex: starts are multiples of the cross-entropy solution and random points.
START_SCALES = (1.0, 4.0)
N_RANDOM_STARTS = 2

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


class LinearScore(BaseEstimator):
    """Scores that are linear in the standardised features, used by ``estimator="linear"``.

    min_B Σ_i v_i φ(x_i'B; w_i) / Σ_i v_i + ridge/2 ‖B‖²,   φ the surrogate of the costs w,

    where costs have unit scale and the intercept is not penalised.

    Parameters
    ----------
    ridge : float
        Penalty, larger than zero.

    Attributes
    ----------
    scale : fitted Pipeline
        Set by `learn`, as is `coefficients`.
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
        """Return a fitted copy."""
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
    surrogate : "softmax", "cross-entropy", "logistic", "hinge" or "exponential"
        The last three require two classes.
    random_state : int, optional
        Seed of the random starts for the softmax.

    Returns
    -------
    scale : fitted Pipeline
    coefficients : (n_features + 1, n_classes) array
    """
    scale = standardised_for_learner(problem.X, problem.labels, problem.categorical)
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
    """Mean loss of linear scores plus ridge. Targets have unit scale, so that the ridge is comparable."""
    scale = float(weight @ np.ptp(targets, axis=1)) or 1.0
    shape = (design.shape[1], targets.shape[1])
    # Storing arrays class by class makes sums over few classes several times faster.
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
    penalised[-1] = 0.0  # the intercept is not penalised
    return value + ridge / 2 * float(np.sum(penalised**2)), (gradient + ridge * penalised).ravel()


def _minimise(objective: Objective, start: np.ndarray) -> np.ndarray:
    options = {"maxiter": MAX_ITERATIONS, "maxfun": 2 * MAX_ITERATIONS}
    result = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    if result.status == 1:  # the iteration limit was reached
        message = f"The linear score did not converge in {MAX_ITERATIONS} steps; the best found is used."
        warnings.warn(message, ConvergenceWarning, stacklevel=3)
    return result.x


# Weights below this fraction of the largest are dropped: they are negligible, and some classifiers fail.
NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class ClassifierScore:
    """Scores of a fitted scikit-learn classifier. Classes that it never saw get the lowest score."""

    classifier: Any
    n_classes: int

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Score of every class, (n_samples, n_classes)."""
        seen = self.classifier.classes_
        if len(seen) == 1:
            values = np.ones((len(X), 1))
        elif hasattr(self.classifier, "predict_proba") and not _calibrated_apart(self.classifier):
            values = self.classifier.predict_proba(X)
        elif hasattr(self.classifier, "decision_function"):
            values = self.classifier.decision_function(X)
            values = np.column_stack([-values / 2, values / 2]) if values.ndim == 1 else values
        else:
            values = (self.classifier.predict(X)[:, None] == seen).astype(float)
        full = np.full((len(X), self.n_classes), values.min(axis=1, keepdims=True) - 1.0)
        full[:, seen] = values
        return full

    def best(self, X: np.ndarray) -> np.ndarray:
        """Class with the highest score, (n_samples,). Many classifiers do not need probabilities for it."""
        return self.classifier.predict(X)


def _calibrated_apart(classifier: Any) -> bool:
    """Whether probabilities are calibrated separately, so that their argmax may differ from `predict`."""
    last = classifier[-1] if isinstance(classifier, Pipeline) else classifier
    return bool(getattr(last, "probability", False))


def fit_classifier(problem: CostSensitiveProblem, estimator: Any) -> ClassifierScore:
    """Fit a classifier with its own loss to the cost-sensitive problem.

    With two classes, the label is the cheaper class and the weight is the cost of a mistake, |w|. With more
    classes, each row is repeated once per class, with the gain of the class as weight. The pointwise
    minimiser of a proper loss is then proportional to the gains, so the best class has the highest
    probability. "auto" early stopping is switched off in that case, because validation rows would have copies
    in the training set.

    Parameters
    ----------
    estimator : scikit-learn classifier whose ``fit`` takes sample weights, or a Pipeline that ends in one

    Returns
    -------
    ClassifierScore
    """
    rows, labels, weights = _weighted_rows(problem)
    keep = weights > NEGLIGIBLE * weights.max(initial=0.0)
    if not keep.any():  # all classes have the same cost everywhere
        keep, weights = np.ones_like(keep), np.ones_like(weights)
    rows, labels, weights = rows[keep], labels[keep], weights[keep]
    if len(np.unique(labels)) == 1:
        constant = DummyClassifier(strategy="most_frequent").fit(problem.X[rows], labels)
        return ClassifierScore(constant, problem.n_classes)
    # Weights with mean one preserve the usual meaning of the estimator's regularisation.
    learner = _stopped_by_no_copies(_one_score_per_class(estimator), repeated=problem.n_classes > 2)
    fitted = fit_weighted(learner, problem.X[rows], labels, weights / weights.mean())
    return ClassifierScore(fitted, problem.n_classes)


def _stopped_by_no_copies(estimator: Any, repeated: bool) -> Any:
    """Clone the estimator, without automatic early stopping if rows are repeated.

    The validation set would contain copies of training rows, and its loss would never stop falling.
    """
    copy = clone(estimator)
    request = [
        name
        for name, value in copy.get_params().items()
        if name.endswith("early_stopping") and value == "auto"
    ]
    return copy.set_params(**dict.fromkeys(request, False)) if repeated else copy


def _one_score_per_class(estimator: Any) -> Any:
    """Clone the estimator such that a support vector machine in it scores classes and not pairs of them."""
    copy = clone(estimator)
    pairs = [
        name
        for name, value in copy.get_params().items()
        if name.endswith("decision_function_shape") and value == "ovo"
    ]
    return copy.set_params(**dict.fromkeys(pairs, "ovr"))


def _weighted_rows(problem: CostSensitiveProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n_samples, n_classes = problem.costs.shape
    if n_classes == 2:
        signed = problem.signed_weight
        return np.arange(n_samples), (signed > 0).astype(int), problem.sample_weight * np.abs(signed)
    rows = np.repeat(np.arange(n_samples), n_classes)
    labels = np.tile(np.arange(n_classes), n_samples)
    return rows, labels, problem.sample_weight[rows] * problem.gains.ravel()


PLUG_IN = "plug-in"
# Learners with default settings, by name.
NAMED = {"linear": LinearScore, PLUG_IN: None, "neural": NeuralScore}
ScoreLearner = LinearScore | NeuralScore


def check_learner(estimator: Any) -> None:
    """Raise :class:`InputError` for what is neither a name, a score learner, a classifier nor None."""
    if isinstance(estimator, str) and estimator not in NAMED:
        names = ", ".join(map(repr, NAMED))
        raise InputError(f"estimator={estimator!r} is not one of {names} or a classifier.", "estimator")
    classifier = hasattr(estimator, "fit") and is_classifier(estimator)
    if not (estimator is None or isinstance(estimator, str | ScoreLearner) or classifier):
        raise InputError(f"estimator={estimator!r} is not a scikit-learn classifier.", "estimator")


def check_surrogate(estimator: Any, surrogate: str, n_classes: int) -> None:
    """Raise :class:`InputError`, with the valid choices, for an invalid pair of estimator and surrogate."""
    check_learner(estimator)
    valid: tuple[str, ...] = ()
    if score_learner(estimator) is not None:
        valid = SCORE_LOSSES + (MARGIN_LOSSES if n_classes == 2 else ())
    if surrogate not in ("auto", *valid):
        allowed = ", ".join(map(repr, ("auto", *valid)))
        known = estimator is None or isinstance(estimator, str)
        name = repr(estimator) if known else type(estimator).__name__
        raise InputError(
            f"surrogate={surrogate!r} does not go with estimator={name} and {n_classes} classes; "
            f"valid: {allowed}."
        )


def usual_surrogate(surrogate: str, *, from_labels: bool) -> str:
    """Return the surrogate to use if none is named.

    The paper's softmax is used where regrets are estimates, and cross-entropy where rows have labels. The
    softmax risk is close to the error rate, which is mostly noise for single labels: on held-out labels,
    cross-entropy was better in ten of eleven designs, by .4 points on average.

    Examples
    --------
    >>> usual_surrogate("auto", from_labels=False), usual_surrogate("auto", from_labels=True)
    ('softmax', 'cross-entropy')
    >>> usual_surrogate("hinge", from_labels=True)
    'hinge'
    """
    if surrogate != "auto":
        return surrogate
    return "cross-entropy" if from_labels else "softmax"


def score_learner(estimator: Any) -> ScoreLearner | None:
    """Return the score learner given as an object or by name, or None for other estimators.

    Examples
    --------
    >>> score_learner("linear"), score_learner(LinearScore(ridge=1.0)), score_learner("plug-in")
    (LinearScore(), LinearScore(ridge=1.0), None)
    """
    if isinstance(estimator, ScoreLearner):
        return estimator
    make = NAMED[estimator] if isinstance(estimator, str) else None
    return None if make is None else make()


def learn_scores(
    estimator: Any, problem: CostSensitiveProblem, surrogate: str, seed: int, identified: Identified
) -> Any:
    """Train a learner. The result has a method `scores`.

    Parameters
    ----------
    estimator : as for :class:`selective_labels.UCLClassifier`
    surrogate : str
        Output of :func:`usual_surrogate`. Used by score learners only.
    identified : Identified
        Source of the costs for "plug-in".
    """
    learner = score_learner(estimator)
    if learner is not None:
        return learner.learn(problem, surrogate, seed)
    if isinstance(estimator, str):
        return PlugIn(identified)
    if estimator is None:
        boosted = HistGradientBoostingClassifier(random_state=seed)
        return fit_classifier(problem, boosting(boosted, problem.categorical))
    return fit_classifier(problem, one_hot_before(estimator, problem.categorical))
