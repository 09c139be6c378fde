"""Multinomial logistic models of the outcome with partially pooled effects of decision-makers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.pipeline import Pipeline

from selective_labels.models.pooled_outcomes import joint_outcomes, own_outcomes
from selective_labels.models.pooled_ridge import Coefficients, fit_ridge
from selective_labels.models.pooled_rows import PooledRows, feature_lines

# How far the mean log-loss may be from its minimum: far less than what chance makes of it in any sample.
TOLERANCE = 1e-9
# Enough to compare models by their loss on rows held out.
ROUGH = 1e-5


@dataclass(frozen=True)
class LogisticSettings:
    """What is pooled, and how much: prior variances of the coefficients (ridge).

    Attributes
    ----------
    products : bool
        Squares and products of features as well.
    variance : float
        Of the features' coefficients and of the decision-makers' intercepts.
    slope_variance : float
        Of the feature-by-decision-maker coefficients; zero leaves these out.
    """

    products: bool
    variance: float
    slope_variance: float

    def describe(self) -> str:
        """Say the settings in a few words."""
        return f"prior variance {self.variance:g}, of decision-makers' slopes {self.slope_variance:g}"


class PooledLogistic:
    r"""A coherent model of decision and label with random effects of decision-makers.

    P(outcome = c | x, z) ∝ exp(f(x)·b_c + a_cz + g(x)·s_cz), with ridge on b, a and s,

    where f are the standardised features (with squares and products if asked) and g the standardised
    features themselves. Ridge on a and s is partial pooling: a decision-maker with few rows is drawn
    to the average one. Categories are indicators in f only: with one slope for each decision-maker and
    category there would be more coefficients than rows to learn them from.

    Parameters
    ----------
    n_arms : int
        Number of decision-makers (or bands of them).
    n_outcomes : int
        Number of classes plus one.
    settings : LogisticSettings
    categorical : tuple of int
        Columns of the features that hold codes of categories.

    Attributes
    ----------
    scale_ : fitted Pipeline
    outcomes_ : codes of the outcomes seen
    coefficients_ : Coefficients
    """

    def __init__(
        self,
        n_arms: int,
        n_outcomes: int,
        settings: LogisticSettings,
        categorical: tuple[int, ...] = (),
    ):
        self.n_arms = n_arms
        self.n_outcomes = n_outcomes
        self.settings = settings
        self.categorical = categorical

    def fit(
        self, X: np.ndarray, arm: np.ndarray, outcome: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> "PooledLogistic":
        """Fit to rows with known decision-maker (`arm`) and outcome."""
        return self.fit_rows(PooledRows.read(X, arm, outcome, sample_weight, self.n_arms, self.categorical))

    def fit_rows(
        self, rows: PooledRows, tolerance: float = TOLERANCE, start: "PooledLogistic | None" = None
    ) -> "PooledLogistic":
        """Fit to rows that are prepared already, from the solution of another ridge if one is at hand."""
        self.scale_: Pipeline = rows.scale
        self.outcomes_ = rows.outcomes
        self.coefficients_: Coefficients = fit_ridge(
            rows,
            self.settings.products,
            self.settings.variance,
            self.settings.slope_variance,
            tolerance,
            None if start is None else start.coefficients_,
        )
        return self

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under every decision-maker, (n_arms, n, n_outcomes)."""
        terms = feature_lines(self.scale_, X)
        return joint_outcomes(self.coefficients_, terms, self.outcomes_, self.n_outcomes)

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under its own decision-maker, (n, n_outcomes)."""
        terms_of = partial(feature_lines, self.scale_, X)
        return own_outcomes(self.coefficients_, terms_of, arm, self.outcomes_, self.n_outcomes)


def fit_path(
    models: Sequence[PooledLogistic],
    X: np.ndarray,
    arm: np.ndarray,
    outcome: np.ndarray,
    sample_weight: np.ndarray | None = None,
    tolerance: float = TOLERANCE,
) -> Iterator[PooledLogistic]:
    """Fit models that differ in settings only to the same rows, each from the solution of the one before."""
    first = models[0]
    rows = PooledRows.read(X, arm, outcome, sample_weight, first.n_arms, first.categorical)
    start = None
    for model in models:
        start = model.fit_rows(rows, tolerance, start)
        yield start
