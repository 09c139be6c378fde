"""Families of outcome models with the settings that are compared, and models for a numeric instrument."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import SplineTransformer

from selective_labels.nuisance.models.boosting import FEW_LEAVES, BoostedJoint
from selective_labels.nuisance.models.logistic import (
    IndexLogistic,
    IndexSettings,
    LogisticSettings,
    PooledLogistic,
)

N_KNOTS = 5
DEGREE = 3


class SmoothJoint:
    """Model of the outcome with a numeric instrument in place of a category.

    P(outcome = c | x, z) = model(x, z, B_1(z), ..., B_m(z)),   B_1, ..., B_m cubic splines with five knots

    A row is thus informative about nearby values of the instrument. Trees need no splines. In logistic models
    with slopes of decision-makers, products of z with the numeric features replace these slopes.

    Parameters
    ----------
    model : model of the outcome with one arm
    values : (n_arms,) array
        Numeric value of each arm, ascending.
    categorical : tuple of int
        Columns of the features with category codes.

    Examples
    --------
    >>> from selective_labels.nuisance.models.logistic import LogisticSettings
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
        # A quadratic model contains the products with z already.
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
    """Standardised values and their spline basis, one row per value.

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


# Prior variances of features' coefficients and of decision-makers' slopes; the ridge penalty decreases.
PRIOR_VARIANCES = ((0.01, 0.0), (0.01, 0.01), (0.1, 0.01), (0.1, 0.1), (1.0, 0.0), (1.0, 1.0))
# Cubic in two indices: three indices or higher powers increased held-out loss in the paper's designs.
N_INDICES, INDEX_DEGREE = 2, 3
INDEX_VARIANCES = ((0.01, 0.01), (0.1, 0.01), (0.1, 0.1), (1.0, 0.1), (1.0, 1.0))
# Leaves of larger trees, for outcomes with interactions of several features.
MANY_LEAVES = 24
# A factory takes (n_arms, n_outcomes) and returns an unfitted model.
Factory = Callable[[int, int], Any]


@dataclass(frozen=True)
class Candidate:
    """One setting of one family of models.

    Attributes
    ----------
    family, settings : str
    factory : Factory
    later : bool
        Costly, so tried only if the other settings of its family are not clearly worse.
    """

    family: str
    settings: str
    factory: Factory
    later: bool = False


def listed_families(categorical: tuple[int, ...], seed: int) -> dict[str, list[Candidate]]:
    """Candidates of every family, by name; logistic models in order of decreasing ridge penalty.

    Examples
    --------
    >>> {name: len(settings) for name, settings in listed_families((), 0).items()}
    {'logistic': 6, 'quadratic': 6, 'index': 5, 'boosting': 2}
    """
    return {
        "logistic": _logistic("logistic", False, categorical),
        "quadratic": _logistic("quadratic", True, categorical),
        "index": _index(categorical),
        "boosting": _boosting(categorical, seed),
    }


def _logistic(family: str, products: bool, categorical: tuple[int, ...]) -> list[Candidate]:
    settings = [LogisticSettings(products, variance, slopes) for variance, slopes in PRIOR_VARIANCES]
    return [
        Candidate(family, each.describe(), partial(PooledLogistic, settings=each, categorical=categorical))
        for each in settings
    ]


def _index(categorical: tuple[int, ...]) -> list[Candidate]:
    settings = [IndexSettings(N_INDICES, INDEX_DEGREE, *variances) for variances in INDEX_VARIANCES]
    return [
        Candidate("index", each.describe(), partial(IndexLogistic, settings=each, categorical=categorical))
        for each in settings
    ]


def _boosting(categorical: tuple[int, ...], seed: int) -> list[Candidate]:
    make = partial(BoostedJoint, categorical=categorical, random_state=seed)
    return [
        Candidate("boosting", f"{leaves} leaves", partial(make, n_leaves=leaves), later=leaves > FEW_LEAVES)
        for leaves in (FEW_LEAVES, MANY_LEAVES)
    ]
