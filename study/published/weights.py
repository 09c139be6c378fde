"""The released weights: unregularised boosting, quantiles for extremes, raw bounds, clipped ratios."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import KFold

from study.task_memory import TaskMemory

N_ITERATIONS = 500
N_FOLDS = 5
# In place of the maximum and the minimum over decision-makers, for several classes.
HIGH, LOW = 0.8, 0.2
CLIP = 0.9


@dataclass(frozen=True)
class Rows:
    """Cases as the released code sees them.

    Attributes
    ----------
    X : (n, p) array
    y : (n,) int array
        Class codes from 0; read where the decision is 1 only.
    decision, decision_maker : (n,) int arrays
    """

    X: np.ndarray
    y: np.ndarray
    decision: np.ndarray
    decision_maker: np.ndarray

    def take(self, rows: np.ndarray) -> "Rows":
        """Some of the rows."""
        return Rows(self.X[rows], self.y[rows], self.decision[rows], self.decision_maker[rows])

    def seen(self, label: int) -> np.ndarray:
        """1 where the label was seen and is this one, 0 elsewhere."""
        return ((self.decision == 1) & (self.y == label)).astype(int)


class Models:
    """Boosting models, fitted once in a task, and the noise of the released sensitivity study.

    Parameters
    ----------
    level : float
        Of the noise.
    random_state : int, sequence of int or None
        Seeds the noise: what is asked in the same order gets the same noise at all levels.
    memory : TaskMemory, optional
    """

    def __init__(
        self, level: float = 0.0, random_state: Any = None, memory: TaskMemory | None = None
    ) -> None:
        self.level = level
        self._noise = np.random.default_rng(random_state)
        self._expectations = (TaskMemory() if memory is None else memory).cache(_expectations)

    def means(self, X: np.ndarray, y: np.ndarray, at: list[np.ndarray]) -> np.ndarray:
        """Fit E[y | x], and predict each table of `at`, (len(at), n)."""
        return self._expectations(X, y, at)

    def noisy(self, means: np.ndarray) -> np.ndarray:
        """Multiply each row, all that is said of one table, by a factor 1 + level e of its own, e normal."""
        return means * (1.0 + self.level * self._noise.standard_normal((len(means), 1)))


WeightFunction = Callable[[Rows, Rows, int, Models], np.ndarray]


def cross_fitted(
    function: WeightFunction, rows: Rows, n_classes: int, random_state: int, models: Models | None = None
) -> np.ndarray:
    """Weights of all rows, each by models of the other four folds, shape (n,) or (n, n_classes)."""
    models = Models() if models is None else models
    folds = KFold(N_FOLDS, shuffle=True, random_state=random_state)
    parts = [
        (test, function(rows.take(train), rows.take(test), n_classes, models))
        for train, test in folds.split(rows.X)
    ]
    weights = np.empty((len(rows.X), *parts[0][1].shape[1:]))
    for test, values in parts:
        weights[test] = values
    return weights


def inverse_propensity(train: Rows, test: Rows, n_classes: int, models: Models) -> np.ndarray:
    """1 / P(D=1 | x), clipped at its .9 quantile."""
    return _clipped(1.0 / models.means(train.X, train.decision, [test.X])[0])


def partial_costs(train: Rows, test: Rows, n_classes: int, models: Models) -> np.ndarray:
    """max_p u_p - l_k from raw bounds, p = k included; l and u are quantiles over decision-makers."""
    makers = np.unique(train.decision_maker)
    with_maker = np.column_stack([train.X, train.decision_maker])
    at = [np.column_stack([test.X, np.full(len(test.X), maker)]) for maker in makers]
    return _costs(train, with_maker, at, n_classes, models)


def partial_costs_without_instrument(train: Rows, test: Rows, n_classes: int, models: Models) -> np.ndarray:
    """The control: the same costs from bounds that do not know the decision-maker."""
    return _costs(train, train.X, [test.X], n_classes, models)


def point_costs(train: Rows, test: Rows, n_classes: int, models: Models) -> np.ndarray:
    """max_p eta_p - eta_k, clipped; eta_k = Cov(D Y_k, Z | x) / Cov(D, Z | x) from separate models."""
    eta = _covariance_ratios(train, test, list(range(n_classes)), models)
    return np.apply_along_axis(_clipped, 0, eta.max(axis=1, keepdims=True) - eta)


def binary_partial_weight(train: Rows, test: Rows, n_classes: int, models: Models) -> np.ndarray:
    """(u - 1/2)^+ - (1/2 - l)^+ with maximum and minimum: the released code for two classes."""
    makers = np.unique(test.decision_maker)
    design = np.column_stack([train.X, train.decision_maker])
    at = [np.column_stack([test.X, np.full(len(test.X), maker)]) for maker in makers]
    lower = models.means(design, train.seen(1), at)
    upper = lower + 1.0 - models.means(design, train.decision, at)
    return np.maximum(upper.min(axis=0) - 0.5, 0.0) - np.maximum(0.5 - lower.max(axis=0), 0.0)


def binary_point_weight(train: Rows, test: Rows, n_classes: int, models: Models) -> np.ndarray:
    """eta_1 - 1/2, its size clipped at the .9 quantile."""
    weight = _covariance_ratios(train, test, [1], models)[:, 0] - 0.5
    return np.sign(weight) * _clipped(np.abs(weight))


def _costs(
    train: Rows, design: np.ndarray, at: list[np.ndarray], n_classes: int, models: Models
) -> np.ndarray:
    refused = 1.0 - models.means(design, train.decision, at)
    lower, upper = np.empty((2, len(at[0]), n_classes))
    for label in range(n_classes):
        # Noise anew for every class and decision-maker, in P(D=0 | x, z) too.
        unseen = models.noisy(refused)
        labeled = models.noisy(models.means(design, train.seen(label), at))
        lower[:, label] = np.quantile(labeled, HIGH, axis=0)
        upper[:, label] = np.quantile(labeled + unseen, LOW, axis=0)
    return np.maximum(upper.max(axis=1, keepdims=True) - lower, 0.0)


def _covariance_ratios(train: Rows, test: Rows, labels: list[int], models: Models) -> np.ndarray:
    """Each expectation by a model with a noise of its own; Z, D Z and D Z Y_k as classes, by number."""

    def expectation(target: np.ndarray) -> np.ndarray:
        return models.noisy(models.means(train.X, target, [test.X]))[0]

    by_maker = train.decision * train.decision_maker
    both = expectation(by_maker)
    decided, maker = expectation(train.decision), expectation(train.decision_maker)
    columns = []
    for label in labels:
        seen = train.seen(label)
        numerator = expectation(seen * train.decision_maker) - expectation(seen) * maker
        columns.append(numerator / (both - decided * maker))
    return np.column_stack(columns)


def _expectations(X: np.ndarray, y: np.ndarray, at: list[np.ndarray]) -> np.ndarray:
    """Expectations of a target whose values are its classes."""
    model = HistGradientBoostingClassifier(max_iter=N_ITERATIONS).fit(X, y)
    return np.array([model.predict_proba(each) @ model.classes_ for each in at])


def _clipped(values: np.ndarray) -> np.ndarray:
    return np.minimum(values, np.quantile(values, CLIP))
