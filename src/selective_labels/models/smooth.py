"""Models of the outcome that are smooth in a numeric instrument."""

from typing import Any

import numpy as np
from sklearn.preprocessing import SplineTransformer

from selective_labels.models.logistic import PooledLogistic
from selective_labels.models.trees import BoostedJoint

N_KNOTS = 5
DEGREE = 3


class SmoothJoint:
    """A model of the outcome that sees the instrument as a number, not as a category.

    P(outcome = c | x, z) = model(x, z, B_1(z), ..., B_m(z)),   B_1, ..., B_m cubic splines with five knots

    so that a row tells about the values of the instrument near its own. Trees need no splines. In logistic
    models with decision-makers' slopes, products of z with the numbers among the features stand for these.

    Parameters
    ----------
    model : model of the outcome with one arm
    values : (n_arms,) array
        The number that each arm stands for, ascending.
    categorical : tuple of int
        Columns of the features that hold codes of categories.

    Examples
    --------
    >>> from selective_labels.models.logistic import LogisticSettings
    >>> inner = PooledLogistic(1, 2, LogisticSettings(False, 1.0, 0.0))
    >>> arm, X = np.repeat(np.arange(8), 50), np.zeros((400, 1))
    >>> model = SmoothJoint(inner, np.arange(8.0)).fit(X, arm, (np.arange(400) % 50 < 5 * arm).astype(int))
    >>> model.joint(X[:1])[[1, 6], 0, 1].round(1)
    array([0.1, 0.6])
    """

    def __init__(self, model: Any, values: np.ndarray, categorical: tuple[int, ...] = ()) -> None:
        self.model = model
        self.categorical = categorical
        logistic = isinstance(model, PooledLogistic)
        # Products of all columns contain those with z.
        self.with_products = logistic and model.settings.slope_variance > 0.0 and not model.settings.products
        self.columns = spline_columns(values, only_number=isinstance(model, BoostedJoint))

    def fit(
        self, X: np.ndarray, arm: np.ndarray, outcome: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> "SmoothJoint":
        """Fit to rows with known arm and outcome."""
        self.model.fit(self._design(X, arm), np.zeros(len(X), dtype=int), outcome, sample_weight)
        return self

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row at every value of the instrument, (n_arms, n, n_outcomes)."""
        arms = (np.full(len(X), arm) for arm in range(len(self.columns)))
        return np.stack([self.own(X, arm) for arm in arms])

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row at its own value of the instrument, (n, n_outcomes)."""
        return np.asarray(self.model.own(self._design(X, arm), np.zeros(len(X), dtype=int)))

    def _design(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        parts = [X, self.columns[arm]]
        if self.with_products:
            numbers = np.delete(X, list(self.categorical), axis=1)
            parts.append(numbers * self.columns[arm, :1])
        return np.hstack(parts)


def spline_columns(values: np.ndarray, *, only_number: bool = False) -> np.ndarray:
    """Columns of a number at some of its values: itself, at unit scale, and splines of it.

    Examples
    --------
    >>> spline_columns(np.array([0.0, 1.0, 5.0])).shape, spline_columns(np.arange(20.0)).shape
    ((3, 5), (20, 8))
    """
    number = ((values - values.mean()) / (values.std() or 1.0))[:, None]
    if only_number or len(values) < 3:
        return number
    knots = np.quantile(number, np.linspace(0.0, 1.0, min(N_KNOTS, len(values))))
    splines = SplineTransformer(degree=min(DEGREE, len(values) - 1), knots=knots[:, None])
    return np.hstack([number, np.asarray(splines.fit_transform(number))])
