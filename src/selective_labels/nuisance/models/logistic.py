"""Multinomial logistic models of the outcome with partially pooled effects of decision-makers.

The file also has the constant model and the wrapper for probabilities given by the user.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from selective_labels._errors import InputError
from selective_labels.nuisance.models.ridge import (
    Coefficients,
    PooledRows,
    feature_lines,
    fit_ridge,
    softmax_with_last,
)


def spread_columns(probabilities: np.ndarray, outcomes: np.ndarray, n_outcomes: int) -> np.ndarray:
    """Expand the columns of a classifier that saw only some outcomes to all outcomes.

    An outcome that the classifier never saw gets probability zero.

    Examples
    --------
    >>> spread_columns(np.array([[0.2, 0.8]]), np.array([0, 2]), 3)
    array([[0.2, 0. , 0.8]])
    """
    if len(outcomes) == n_outcomes:
        return probabilities
    full = np.zeros((*probabilities.shape[:-1], n_outcomes))
    full[..., outcomes] = probabilities
    return full


# Tolerance for given probabilities, which may come from quadrature or single precision.
SUM_ROUNDING = 1e-6


class ConstantJoint:
    """Model for training rows with a single outcome: this outcome has probability one."""

    def __init__(self, n_arms: int, n_outcomes: int, outcome: int):
        self.n_arms = n_arms
        self.probabilities = np.eye(n_outcomes)[outcome]

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under every decision-maker, (n_arms, n, n_outcomes)."""
        return np.broadcast_to(self.probabilities, (self.n_arms, len(X), len(self.probabilities)))

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under its own decision-maker, (n, n_outcomes)."""
        return np.broadcast_to(self.probabilities, (len(X), len(self.probabilities)))


class InjectedJoint:
    """Probabilities given by the user: a callable X -> (n, n_decision_makers, n_classes + 1)."""

    def __init__(self, n_arms: int, n_outcomes: int, function: Callable[[np.ndarray], np.ndarray]):
        self.n_arms = n_arms
        self.n_outcomes = n_outcomes
        self.function = function

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under every decision-maker, (n_arms, n, n_outcomes)."""
        joint = np.asarray(self.function(X), dtype=float)
        expected = (len(X), self.n_arms, self.n_outcomes)
        if joint.shape != expected:
            raise InputError.about(
                "nuisance",
                f"returned an array of shape {joint.shape}; it must be (rows, decision-makers, "
                f"classes + 1) = {expected}, the unlabeled class first.",
            )
        total = joint.sum(axis=2)
        if not (
            (joint >= -SUM_ROUNDING).all() and (np.abs(total - 1.0) <= SUM_ROUNDING).all()
        ):  # NaN fails too
            raise InputError.about(
                "nuisance",
                "returned an array that is not a probability distribution over the unlabeled "
                "case and the classes: every entry must be non-negative, and the last axis must sum to one.",
            )
        return np.moveaxis(joint, 1, 0)

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under its own decision-maker, (n, n_outcomes)."""
        return self.joint(X)[arm, np.arange(len(X))]


def joint_outcomes(
    coefficients: Coefficients, terms: np.ndarray, outcomes: np.ndarray, n_outcomes: int
) -> np.ndarray:
    """Outcome probabilities of every row under every decision-maker, (n_arms, n_samples, n_outcomes).

    P(outcome = c | x, z) ∝ exp(common_c(x) + a_cz + g(x)·s_cz)

    Parameters
    ----------
    terms : (1 + n_columns, n_samples) array
        Transposed design matrix, the constant first.
    outcomes : int array
        Codes of the outcomes with coefficients; other outcomes get probability zero.

    Examples
    --------
    >>> lenient = np.log(np.array([[[3.0], [1.0]]]))
    >>> joint_outcomes(Coefficients(np.zeros((1, 1)), None, lenient), np.ones((1, 1)), np.arange(2), 2)[:, 0]
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    common = coefficients.common_logits(terms)
    local = coefficients.local.transpose(1, 0, 2)
    if local.shape[2] == 1:
        # exp(a + b) = exp(a) exp(b), so that many arms need few exponentials.
        odds = softmax_with_last(local) * softmax_with_last(common)
        odds /= odds.sum(axis=1, keepdims=True)
        return _outcomes_last(odds, outcomes, n_outcomes)
    logits = local @ terms[: local.shape[2]]
    logits += common
    return _outcomes_last(softmax_with_last(logits), outcomes, n_outcomes)


def own_outcomes(
    coefficients: Coefficients,
    terms_of: Callable[[np.ndarray], np.ndarray],
    arm: np.ndarray,
    outcomes: np.ndarray,
    n_outcomes: int,
) -> np.ndarray:
    """Outcome probabilities of every row under its own decision-maker, (n_samples, n_outcomes).

    The parameters are those of :func:`joint_outcomes`, except that `terms_of` returns the terms of the rows
    in a given order. With rows sorted by decision-maker, each decision-maker needs one matrix product.
    """
    order = np.argsort(arm, kind="stable")
    edges = np.searchsorted(arm[order], np.arange(coefficients.local.shape[1] + 1))
    logits = np.empty((len(coefficients.base), len(order)))
    logits[:, order] = coefficients.sorted_logits(terms_of(order), edges)
    return _outcomes_last(softmax_with_last(logits), outcomes, n_outcomes)


def _outcomes_last(probabilities: np.ndarray, outcomes: np.ndarray, n_outcomes: int) -> np.ndarray:
    """Move outcomes to the last axis; in memory they stay before the rows, which is faster to read later."""
    return spread_columns(np.swapaxes(probabilities, -1, -2), outcomes, n_outcomes)


# Tolerance of the mean log-loss: far smaller than its sampling error.
TOLERANCE = 1e-9
# Tolerance that suffices to compare models by held-out loss.
ROUGH = 1e-5


class RidgePenalty:
    """Prior variances, the inverse ridge penalty, which all settings have."""

    variance: float
    slope_variance: float

    def describe(self) -> str:
        """Describe the penalty in a few words."""
        return f"prior variance {self.variance:g}, of decision-makers' slopes {self.slope_variance:g}"


@dataclass(frozen=True)
class LogisticSettings(RidgePenalty):
    """Terms of the model and prior variances of their coefficients (the inverse ridge penalty).

    Attributes
    ----------
    products : bool
        Whether to include squares and products of features.
    variance : float
        Prior variance of the features' coefficients and of the decision-makers' intercepts.
    slope_variance : float
        Prior variance of the feature-by-decision-maker coefficients; zero excludes them.
    """

    products: bool
    variance: float
    slope_variance: float


class RidgeLogistic(ABC):
    """Logistic model with a ridge penalty. Subclasses say which terms of the features enter.

    Parameters
    ----------
    n_arms : int
        Number of decision-makers, or of leniency bands.
    n_outcomes : int
        Number of classes plus one.
    settings : LogisticSettings or IndexSettings
    categorical : tuple of int
        Columns of the features with category codes.

    Attributes
    ----------
    scale_ : fitted Pipeline
    outcomes_ : int array
        Codes of the outcomes in the training rows.
    """

    scale_: Pipeline
    outcomes_: np.ndarray
    coefficients_: Coefficients

    def __init__(self, n_arms: int, n_outcomes: int, settings: Any, categorical: tuple[int, ...] = ()):
        self.n_arms = n_arms
        self.n_outcomes = n_outcomes
        self.settings = settings
        self.categorical = categorical

    def fit(
        self, X: np.ndarray, arm: np.ndarray, outcome: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> Self:
        """Fit to rows with known decision-maker (`arm`) and outcome."""
        return next(fit_path([self], X, arm, outcome, sample_weight))

    def fit_rows(self, rows: PooledRows, tolerance: float = TOLERANCE, start: Self | None = None) -> Self:
        """Fit to prepared rows, starting from the solution of another ridge penalty if given."""
        self.scale_, self.outcomes_ = rows.scale, rows.outcomes
        self.coefficients_ = fit_ridge(
            self._prepared(rows, start),
            self.settings.products,
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

    @abstractmethod
    def _prepared(self, rows: PooledRows, start: Self | None) -> PooledRows:
        """Replace the features in the rows by the model's terms, those of `start` if given."""

    @abstractmethod
    def _terms(self, lines: np.ndarray) -> np.ndarray:
        """Transposed design matrix for transposed scaled features, the constant first."""


Ridge = TypeVar("Ridge", bound=RidgeLogistic)


class PooledLogistic(RidgeLogistic):
    r"""Joint model of decision and label with random effects of decision-makers.

    P(outcome = c | x, z) ∝ exp(f(x)·b_c + a_cz + g(x)·s_cz), with a ridge penalty on b, a and s,

    where f are the standardised features (optionally with squares and products) and g the standardised
    numeric features. The ridge penalty on a and s gives partial pooling: a decision-maker with few rows is
    shrunk towards the average one. Categories enter only as indicators in f, because slopes for every
    decision-maker and category would need more coefficients than there are rows.

    Its parameters and attributes are those of :class:`RidgeLogistic`.
    """

    def _prepared(self, rows: PooledRows, start: Self | None) -> PooledRows:
        return rows

    def _terms(self, lines: np.ndarray) -> np.ndarray:
        return lines


def fit_path(
    models: Sequence[Ridge],
    X: np.ndarray,
    arm: np.ndarray,
    outcome: np.ndarray,
    sample_weight: np.ndarray | None = None,
    tolerance: float = TOLERANCE,
) -> Iterator[Ridge]:
    """Fit models that differ only in prior variances to the same rows, each from the previous solution."""
    first = models[0]
    rows = PooledRows.read(X, arm, outcome, sample_weight, first.n_arms, first.categorical)
    start = None
    for model in models:
        start = model.fit_rows(rows, tolerance, start)
        yield start


# Prior variance and tolerance of the linear model that determines the directions.
FIRST_VARIANCE = 0.1
FIRST_TOLERANCE = 1e-6
# Indices and their powers are clipped at this many standard deviations from the mean.
FARTHEST_INDEX = 4.0
FARTHEST_POWER = 10.0
# Directions with a singular value below this fraction of the largest are rounding errors.
INDEX_ROUNDING = 1e-8
# With more columns than this the covariance is not computed, because its eigenvectors cost O(n_columns³).
MOST_COVARIANCE = 512


@dataclass(frozen=True)
class IndexSettings(RidgePenalty):
    """Number of indices, degree of the polynomials and prior variances.

    Attributes
    ----------
    n_indices : int
        Largest number of indices; there are no more than columns.
    degree : int
        Degree of the polynomials in the indices.
    variance, slope_variance : float
        Prior variances, as in :class:`selective_labels.nuisance.models.logistic.LogisticSettings`.
    """

    n_indices: int
    degree: int
    variance: float
    slope_variance: float
    # The powers of the indices include their products.
    products: ClassVar[bool] = False


class IndexLogistic(RidgeLogistic):
    r"""Joint model of decision and label that is nonlinear in a few indices of the features.

    P(outcome = c | x, z) ∝ exp(h(u)·b_c + a_cz + u·s_cz),   u = A'x,   ridge penalty on b, a and s,

    where h are all powers and products of the indices u up to a degree. The directions A are those along
    which the logits of a linear model of the same rows vary most (their leading singular vectors, including
    the slopes of decision-makers). Labels and decisions often depend on a few linear combinations of
    features. Two indices then capture the nonlinearity with far fewer coefficients than squares and products
    of all features.

    Its parameters, and further attributes, are those of :class:`RidgeLogistic`.

    Attributes
    ----------
    directions_ : (n_columns, n_indices) array
        Of the first model where several are fitted to the same rows (see `fit_path`).
    powers_ : fitted Pipeline
    """

    directions_: np.ndarray
    powers_: Pipeline

    def _prepared(self, rows: PooledRows, start: Self | None) -> PooledRows:
        self.directions_ = self._directions(rows) if start is None else start.directions_
        powers = PolynomialFeatures(self.settings.degree, include_bias=False)
        self.powers_ = make_pipeline(powers, StandardScaler()).fit(self._indices(rows.lines))
        return replace(rows, lines=self._terms(rows.lines), n_numbers=self.directions_.shape[1])

    def _directions(self, rows: PooledRows) -> np.ndarray:
        linear = fit_ridge(rows, False, FIRST_VARIANCE, FIRST_VARIANCE, FIRST_TOLERANCE)
        found = leading_directions(linear, covariance_root(rows.lines[1:]))
        return found[:, : self.settings.n_indices]

    def _indices(self, lines: np.ndarray) -> np.ndarray:
        return np.clip(lines[1:].T @ self.directions_, -FARTHEST_INDEX, FARTHEST_INDEX)

    def _terms(self, lines: np.ndarray) -> np.ndarray:
        """Return a constant, the indices, their powers and products."""
        terms = self.powers_.transform(self._indices(lines)).T
        return np.vstack([lines[:1], np.clip(terms, -FARTHEST_POWER, FARTHEST_POWER)])


def covariance_root(columns: np.ndarray) -> np.ndarray:
    """Square root of the covariance of the columns: R R' = Σ.

    The root consists of the eigenvectors of Σ, scaled by the standard deviations along them. With many
    columns it is the centred data divided by √n.

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
    """Directions along which the logits of a linear model vary, in decreasing order of variation.

    M = [B; (S_z - S̄) / √J for all z],   M Σ M' = U diag(s²) U',   A = M' U diag(1/s):  Var(A'x) = 1

    Parameters
    ----------
    linear : Coefficients
        B (base slopes) and S_z (decision-makers' slopes).
    root : (n_columns, any number) array
        Root of the covariance Σ of the columns; see :func:`covariance_root`.

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
    kept = sizes > INDEX_ROUNDING * max(sizes.max(initial=0.0), np.finfo(float).tiny)
    kept[:1] = True
    return moves.T @ left[:, kept] / np.maximum(sizes[kept], np.finfo(float).tiny)
