"""Logistic models that are curved in a few directions of the features: indices."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from selective_labels.models.logistic import TOLERANCE
from selective_labels.models.pooled_outcomes import joint_outcomes, own_outcomes
from selective_labels.models.pooled_ridge import Coefficients, fit_ridge
from selective_labels.models.pooled_rows import PooledRows, feature_lines

# Prior variance of the linear model that finds the directions, and how exactly it is solved.
FIRST_VARIANCE = 0.1
FIRST_TOLERANCE = 1e-6
# Standard deviations from the mean beyond which an index, or a power of one, says no more.
FARTHEST_INDEX = 4.0
FARTHEST_POWER = 10.0
# Directions along which the linear model moves less than this part of its largest move are rounding.
ROUNDING = 1e-8
# Of more columns than these the covariance, whose axes cost the cube of their number, is not written out.
MOST_COVARIANCE = 512


@dataclass(frozen=True)
class IndexSettings:
    """How many directions, how curved, and how much is pooled.

    Attributes
    ----------
    n_indices : int
        At most: there are no more than columns.
    degree : int
        Of the polynomials in the indices.
    variance, slope_variance : float
        Prior variances, as in :class:`selective_labels.models.logistic.LogisticSettings`.
    """

    n_indices: int
    degree: int
    variance: float
    slope_variance: float

    def describe(self) -> str:
        """Say the settings in a few words."""
        return f"prior variance {self.variance:g}, of decision-makers' slopes {self.slope_variance:g}"


class IndexLogistic:
    r"""A coherent model of decision and label that is curved in a few directions of the features.

    P(outcome = c | x, z) ∝ exp(h(u)·b_c + a_cz + u·s_cz),   u = A'x,   ridge on b, a and s,

    with h all powers and products of the indices u up to a degree. The directions A are those along which a
    linear model of the same rows moves most (the leading singular vectors of its logits, of decision-makers
    as well). Labels and decisions mostly depend on a few sums of features; then two indices have the
    curvature that squares and products of all features need many more coefficients for.

    Parameters
    ----------
    n_arms, n_outcomes : int
    settings : IndexSettings
    categorical : tuple of int
        Columns of the features that hold codes of categories.

    Attributes
    ----------
    scale_ : fitted Pipeline
    directions_ : (n_columns, n_indices) array
    powers_ : fitted Pipeline
    outcomes_ : codes of the outcomes seen
    coefficients_ : Coefficients
    """

    def __init__(
        self, n_arms: int, n_outcomes: int, settings: IndexSettings, categorical: tuple[int, ...] = ()
    ):
        self.n_arms = n_arms
        self.n_outcomes = n_outcomes
        self.settings = settings
        self.categorical = categorical

    def fit(
        self, X: np.ndarray, arm: np.ndarray, outcome: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> "IndexLogistic":
        """Fit to rows with known decision-maker (`arm`) and outcome."""
        return next(fit_index_path([self], X, arm, outcome, sample_weight))

    def fit_rows(
        self,
        rows: PooledRows,
        directions: np.ndarray,
        tolerance: float = TOLERANCE,
        start: "IndexLogistic | None" = None,
    ) -> "IndexLogistic":
        """Fit to rows that are prepared already, along given directions."""
        self.scale_: Pipeline = rows.scale
        self.outcomes_ = rows.outcomes
        self.directions_ = directions
        powers = PolynomialFeatures(self.settings.degree, include_bias=False)
        self.powers_: Pipeline = make_pipeline(powers, StandardScaler()).fit(self._indices(rows.lines))
        curved = replace(rows, lines=self._terms(rows.lines), n_numbers=directions.shape[1])
        self.coefficients_: Coefficients = fit_ridge(
            curved,
            False,
            self.settings.variance,
            self.settings.slope_variance,
            tolerance,
            None if start is None else start.coefficients_,
        )
        return self

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under every decision-maker, (n_arms, n, n_outcomes)."""
        terms = self._terms(feature_lines(self.scale_, X))
        return joint_outcomes(self.coefficients_, terms, self.outcomes_, self.n_outcomes)

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under its own decision-maker, (n, n_outcomes)."""

        def terms_of(order: np.ndarray) -> np.ndarray:
            return self._terms(feature_lines(self.scale_, X, order))

        return own_outcomes(self.coefficients_, terms_of, arm, self.outcomes_, self.n_outcomes)

    def _indices(self, lines: np.ndarray) -> np.ndarray:
        return np.clip(lines[1:].T @ self.directions_, -FARTHEST_INDEX, FARTHEST_INDEX)

    def _terms(self, lines: np.ndarray) -> np.ndarray:
        """A line of ones, the indices, their powers and products."""
        terms = self.powers_.transform(self._indices(lines)).T
        return np.vstack([lines[:1], np.clip(terms, -FARTHEST_POWER, FARTHEST_POWER)])


def fit_index_path(
    models: Sequence[IndexLogistic],
    X: np.ndarray,
    arm: np.ndarray,
    outcome: np.ndarray,
    sample_weight: np.ndarray | None = None,
    tolerance: float = TOLERANCE,
) -> Iterator[IndexLogistic]:
    """Fit models that differ in prior variances only to the same rows, along the same directions."""
    first = models[0]
    rows = PooledRows.read(X, arm, outcome, sample_weight, first.n_arms, first.categorical)
    linear = fit_ridge(rows, False, FIRST_VARIANCE, FIRST_VARIANCE, FIRST_TOLERANCE)
    directions = leading_directions(linear, covariance_root(rows.lines[1:]))
    start = None
    for model in models:
        start = model.fit_rows(rows, directions[:, : model.settings.n_indices], tolerance, start)
        yield start


def covariance_root(columns: np.ndarray) -> np.ndarray:
    """A root of the covariance of some columns: R R' = Σ.

    The axes of Σ, each as long as its standard deviation; of many columns the centred rows over √n, which are
    such a root themselves.

    Parameters
    ----------
    columns : (n_columns, n_samples) array

    Returns
    -------
    (n_columns, n_columns or n_samples) array

    Examples
    --------
    >>> root = covariance_root(np.array([[1.0, 3.0], [2.0, 6.0]]))
    >>> (root @ root.T).round(12)
    array([[1., 2.],
           [2., 4.]])
    """
    if len(columns) > MOST_COVARIANCE:
        return (columns - columns.mean(axis=1, keepdims=True)) / np.sqrt(columns.shape[1])
    variances, axes = np.linalg.eigh(np.atleast_2d(np.cov(columns, bias=True)))
    return axes * np.sqrt(np.maximum(variances, 0.0))


def leading_directions(linear: Coefficients, root: np.ndarray) -> np.ndarray:
    """Directions along which the logits of a linear model move, the one that moves them most first.

    M = [B; (S_z - S̄) / √J for all z],   M Σ M' = U diag(s²) U',   A = M' U diag(1/s):  Var(A'x) = 1

    Parameters
    ----------
    linear : Coefficients
        B (base slopes) and S_z (decision-makers' slopes).
    root : (n_columns, any number) array
        Of Σ, the covariance of the columns; see :func:`covariance_root`.

    Returns
    -------
    (n_columns, n_directions) array

    Examples
    --------
    >>> linear = Coefficients(np.array([[0.0, 3.0, 4.0], [0.0, 6.0, 8.0]]), None, np.zeros((2, 1, 1)))
    >>> np.abs(leading_directions(linear, np.eye(2)))
    array([[0.6],
           [0.8]])
    """
    common = linear.base[:, 1:]
    slopes = linear.local[:, :, 1:]
    own = np.zeros((*slopes.shape[:2], common.shape[1]))
    own[:, :, : slopes.shape[2]] = slopes - slopes.mean(axis=1, keepdims=True)
    moves = np.concatenate([common, own.reshape(-1, common.shape[1]) / np.sqrt(slopes.shape[1])])
    left, sizes, _ = np.linalg.svd(moves @ root, full_matrices=False)
    kept = sizes > ROUNDING * max(sizes.max(initial=0.0), np.finfo(float).tiny)
    kept[:1] = True
    return moves.T @ left[:, kept] / np.maximum(sizes[kept], np.finfo(float).tiny)
