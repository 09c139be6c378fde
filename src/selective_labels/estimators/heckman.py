"""Selection models from econometrics for two classes: Heckman's two-step estimator and bivariate probit."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import log_ndtr, ndtr
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from selective_labels._errors import InputError
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.estimators.base import SelectiveClassifier, read_features
from selective_labels.nuisance.models.encoders import standardised

Array = np.ndarray

NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(32)
# Probabilities are clipped from below before taking logarithms.
SMALLEST = 1e-300
LARGEST_CORRELATION = 0.999
# Relative curvature that is added to every direction when coordinates are chosen.
LEAST_CURVATURE = 1e-10


def bivariate_cdf(first: Array, second: Array, correlation: Array | float) -> Array:
    """P(W_1 <= h, W_2 <= k) of correlated standard normal variables, row by row.

    Φ(h) Φ(k) + ∫_0^{asin ρ} exp(-(h² + k² - 2 h k sin t) / (2 cos² t)) dt / 2π,

    by Gauss-Legendre quadrature (Drezner and Wesolowsky 1990).

    Parameters
    ----------
    first, second : (n,) arrays
    correlation : float or (n,) array
        Rows may differ in the sign of the correlation only.

    Examples
    --------
    >>> bivariate_cdf(np.zeros(2), np.zeros(2), np.array([0.5, -0.5])).round(6)
    array([0.333333, 0.166667])
    """
    sign, top = np.sign(correlation), np.arcsin(np.max(np.abs(correlation), initial=0.0))
    square, product = first**2 + second**2, sign * first * second
    area = np.zeros(len(first))
    for angle, mass in zip(top * (NODES + 1.0) / 2.0, top / 2.0 * NODE_WEIGHTS, strict=True):
        area += mass * np.exp((product * np.sin(angle) - square / 2.0) / np.cos(angle) ** 2)
    return np.clip(ndtr(first) * ndtr(second) + sign * area / (2.0 * np.pi), 0.0, 1.0)


def density(values: Array) -> Array:
    """Standard normal density."""
    return np.exp(-(values**2) / 2.0) / np.sqrt(2.0 * np.pi)


def mills_ratio(index: Array) -> Array:
    """Inverse Mills ratio φ(v) / Φ(v), the derivative of log Φ.

    Examples
    --------
    >>> mills_ratio(np.array([0.0, -50.0])).round(3)
    array([ 0.798, 50.02 ])
    """
    return np.exp(-(index**2) / 2.0 - log_ndtr(index)) / np.sqrt(2.0 * np.pi)


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a linear index: features, and one indicator for every decision-maker that is never formed.

    The index of a row is x b + c_z, so that a decision-maker costs one number and not a column.

    Attributes
    ----------
    X : (n, n_features) array
        The first column is the constant.
    makers : (n,) int array or None
        Codes of decision-makers; None if only features enter.
    """

    X: Array
    makers: Array | None = None
    n_makers: int = 0

    @property
    def n_columns(self) -> int:
        """Number of features and decision-makers."""
        return self.X.shape[1] + self.n_makers

    def index(self, coefficients: Array) -> Array:
        """Index of every row."""
        n_features = self.X.shape[1]
        found: Array = self.X @ coefficients[:n_features]
        return found if self.makers is None else found + coefficients[n_features:][self.makers]

    def sums(self, values: Array) -> Array:
        """Σ_i v_i times the columns of row i."""
        own = self.X.T @ values
        if self.makers is None:
            return own
        return np.concatenate([own, np.bincount(self.makers, values, self.n_makers)])

    def whitening(self, curvature: Array, penalty: Array) -> "Whitening":
        """Coordinates in which Σ_i h_i w_i w_i' + diag(penalty) is the unit matrix."""
        n_features = self.X.shape[1]
        block = (self.X.T * curvature) @ self.X + np.diag(penalty[:n_features])
        if self.makers is None:
            return Whitening(_root(block), np.empty((n_features, 0)), np.empty(0))
        own = np.bincount(self.makers, curvature, self.n_makers) + penalty[n_features:]
        indicators = csr_array(
            (curvature, (np.arange(len(self.X)), self.makers)), (len(self.X), self.n_makers)
        )
        shared = np.asarray((indicators.T @ self.X).T) / own
        return Whitening(_root(block - (shared * own) @ shared.T), shared, np.sqrt(own))


def _root(matrix: Array) -> Array:
    """Cholesky factor; a small ridge covers rounding errors, and any coordinates give the same minimum."""
    diagonal = np.abs(np.diag(matrix))
    return np.linalg.cholesky(matrix + np.diag(LEAST_CURVATURE * (diagonal + diagonal.max() + SMALLEST)))


@dataclass(frozen=True, eq=False)
class Whitening:
    """Linear map θ = T φ of coefficients such that T' H T = 1 for a matrix H with a large diagonal block.

    With H = [[A, S D], [D S', D]], D diagonal and L L' = A - S D S',

        θ_x = L'^-1 φ_x,   θ_z = D^(-1/2) φ_z - S' θ_x.
    """

    root: Array
    shared: Array
    scale: Array

    def coefficients(self, point: Array) -> Array:
        """θ of φ."""
        n_features = len(self.root)
        own = solve_triangular(self.root.T, point[:n_features], lower=False)
        return np.concatenate([own, point[n_features:] / self.scale - self.shared.T @ own])

    def point(self, coefficients: Array) -> Array:
        """φ of θ."""
        own, others = np.split(coefficients, [len(self.root)])
        return np.concatenate([self.root.T @ own, self.scale * (others + self.shared.T @ own)])

    def gradient(self, gradient: Array) -> Array:
        """The gradient by φ from the gradient by θ."""
        own, others = np.split(gradient, [len(self.root)])
        return np.concatenate(
            [solve_triangular(self.root, own - self.shared @ others, lower=True), others / self.scale]
        )


def fit_probit(columns: Columns, y: Array, weights: Array, ridge: float) -> Array:
    """argmin_b -Σ w_i log Φ((2 y_i - 1) x_i b) + ridge/2 Σ_{j>0} b_j². The first column is the constant.

    Returns
    -------
    (n_columns,) array
    """
    sign, free = 2.0 * y - 1.0, _penalty(columns.n_columns, ridge)

    def loss(b: Array) -> tuple[float, Array]:
        index = sign * columns.index(b)
        value = -weights @ log_ndtr(index) + free @ b**2 / 2.0
        return float(value), -columns.sums(weights * sign * mills_ratio(index)) + free * b

    start = np.zeros(columns.n_columns)
    return _minimum(loss, start, [columns.whitening(_curvature(columns, y, weights, start), free)])


def _curvature(columns: Columns, y: Array, weights: Array, b: Array) -> Array:
    """Second derivative by the index of each row's negative log-likelihood in a probit: w λ (λ + v)."""
    index = (2.0 * y - 1.0) * columns.index(b)
    ratio = mills_ratio(index)
    return weights * np.maximum(ratio * (ratio + index), SMALLEST)


def selection_loss(
    parameters: Array, outcome: Columns, choice: Columns, y: Array, seen: Array, weights: Array, ridge: float
) -> tuple[float, Array]:
    """Penalised negative log-likelihood of the probit with selection, and its gradient.

    D = 1{w c + u > 0},  Y* = 1{x b + e > 0},  corr(u, e) = ρ = tanh(r):

        Σ_{D=0} log Φ(-w c) + Σ_{D=1} log Φ₂(q x b, w c; q ρ),   q = 2 y - 1

    Parameters are b, c, r in one vector. `outcome` has the columns of the rows with D = 1, `choice` those of
    all rows.
    """
    n_outcome, n_choice = outcome.n_columns, choice.n_columns
    b, c, r = parameters[:n_outcome], parameters[n_outcome:-1], parameters[-1]
    rho = float(np.clip(np.tanh(r), -LARGEST_CORRELATION, LARGEST_CORRELATION))
    chosen, sign = choice.index(c), np.where(y == 1, 1.0, -1.0)[seen]
    index, there, away = sign * outcome.index(b), chosen[seen], chosen[~seen]
    own, scale = sign * rho, np.sqrt(1.0 - rho**2)  # the sign of the correlation depends on the label
    chance = np.maximum(bivariate_cdf(index, there, own), SMALLEST)
    free = np.concatenate([_penalty(n_outcome, ridge), _penalty(n_choice, ridge), [ridge]])
    value = -weights[~seen] @ log_ndtr(-away) - weights[seen] @ np.log(chance) + free @ parameters**2 / 2.0
    by_index = density(index) * ndtr((there - own * index) / scale) / chance
    joint = np.exp(-(index**2 + there**2 - 2.0 * own * index * there) / (2.0 * scale**2))
    by_rho = sign * joint / (2.0 * np.pi * scale) / chance
    by_choice = np.empty(len(seen))
    by_choice[seen] = -density(there) * ndtr((index - own * there) / scale) / chance
    by_choice[~seen] = mills_ratio(-away)
    gradient = np.concatenate(
        [
            -outcome.sums(weights[seen] * sign * by_index),
            choice.sums(weights * by_choice),
            [-(weights[seen] @ by_rho) * (1.0 - rho**2)],
        ]
    )
    return float(value), gradient + free * parameters


def fit_selection(
    X: Array, choice: Columns, y: Array, seen: Array, weights: Array, ridge: float
) -> tuple[Array, float]:
    """Coefficients of the outcome equation and the correlation, by penalised maximum likelihood."""
    outcome, positive = Columns(X[seen]), (y == 1)[seen].astype(float)
    b = fit_probit(outcome, positive, weights[seen], ridge)
    c = fit_probit(choice, seen.astype(float), weights, ridge)
    given = outcome, choice, y, seen, weights, ridge
    coordinates = [
        outcome.whitening(_curvature(outcome, positive, weights[seen], b), _penalty(len(b), ridge)),
        choice.whitening(_curvature(choice, seen.astype(float), weights, c), _penalty(len(c), ridge)),
    ]
    found = _minimum(lambda p: selection_loss(p, *given), np.concatenate([b, c, [0.0]]), coordinates)
    return found[: X.shape[1]], float(np.tanh(found[-1]))


_OPTIONS = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-12, "gtol": 1e-8}


def _minimum(
    loss: Callable[[Array], tuple[float, Array]], start: Array, coordinates: Sequence[Whitening]
) -> Array:
    """Minimise by L-BFGS in whitened coordinates, block by block; further parameters stay as they are."""
    ends = np.cumsum([len(each.root) + len(each.scale) for each in coordinates])

    def blocks(method: str, values: Array) -> Array:
        *given, rest = np.split(values, ends)
        return np.concatenate(
            [*(getattr(each, method)(part) for each, part in zip(coordinates, given, strict=True)), rest]
        )

    def whitened(point: Array) -> tuple[float, Array]:
        value, gradient = loss(blocks("coefficients", point))
        return value, blocks("gradient", gradient)

    found = minimize(whitened, blocks("point", start), jac=True, method="L-BFGS-B", options=_OPTIONS)
    return blocks("coefficients", found.x)


def _penalty(n_columns: int, ridge: float) -> Array:
    """Ridge on all coefficients except the constant."""
    return np.concatenate([[0.0], np.full(n_columns - 1, ridge)])


class SelectionClassifier(SelectiveClassifier):
    """Base of the two selection models: numeric features, the selection equation, two classes.

    Decision-makers affect the decision and not the label, so they enter the selection equation only. Without
    them, only the functional form of the normal distribution identifies the model.
    """

    ridge: float

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the two classes for all cases, (n_samples, 2)."""
        check_is_fitted(self)
        chance = self._chance(self._outcome_columns(read_features(self, X)))
        return np.column_stack([1.0 - chance, chance])

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, (n_samples,)."""
        chance = self.predict_proba(X)[:, 1]  # called first, because it checks that the classifier is fitted
        return self.classes_[(chance > 0.5).astype(int)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        return tags

    @abstractmethod
    def _chance(self, columns: np.ndarray) -> np.ndarray:
        """Probability of the second class."""

    @abstractmethod
    def _estimate(self, X: Array, choice: Columns, y: Array, seen: Array, w: Array) -> None:
        """Set `coefficients_` and `correlation_`. All labels may be observed."""

    def _learn(self, data: SelectiveLabels) -> None:
        if not self.ridge > 0.0:
            raise InputError(f"ridge={self.ridge!r} must be positive.", "ridge")
        if len(data.classes) != 2:
            # The last sentence is the wording of scikit-learn.
            raise InputError(
                f"{type(self).__name__} is for two classes, and there are {len(data.classes)}. Only binary "
                "classification is supported.",
                "y",
            )
        self.scale_ = standardised(data.categorical).fit(data.features)
        X = self._outcome_columns(data.features)
        several = data.n_decision_makers > 1
        choice = Columns(X, data.decision_maker_codes, data.n_decision_makers) if several else Columns(X)
        self._estimate(X, choice, data.y, data.decision == 1, data.weights)

    def _outcome_columns(self, features: np.ndarray) -> np.ndarray:
        return np.hstack([np.ones((len(features), 1)), self.scale_.transform(features)])


class HeckmanClassifier(SelectionClassifier):
    """Heckman's two-step estimator: the probability of acceptance corrects a regression on accepted cases.

    1. probit of D on features and decision-maker: index w c;
    2. among the accepted, y = x b + σ m(w c) + error,   m(v) = φ(v) / Φ(v) (inverse Mills ratio);

    P(Y*=1 | x) is estimated by x b, clipped to [0, 1]. It assumes that the unobserved parts of decision and
    label are jointly normal and shift the label linearly (which cannot hold exactly for a label of 0 and 1),
    and that the decision-maker does not affect the label.

    Parameters
    ----------
    ridge : float
        Penalty ridge/2 Σ b² on coefficients of standardised features, small relative to the number of rows.

    Attributes
    ----------
    coefficients_ : array
        b, for the constant and the standardised features.
    mills_ : float
        σ. Positive if accepted cases have the second class more often than similar other cases.
    classes_, n_ignored_labels_, n_features_in_, feature_names_in_
        As for the other baselines.

    Examples
    --------
    Simulated cases in which information that decision-makers use and the features lack increases the
    probabilities of both acceptance and the second class:

    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(2000, n_classes=2, random_state=0)
    >>> found = HeckmanClassifier().fit(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> found.mills_ > 0
    True
    """

    def __init__(self, ridge: float = 0.01) -> None:
        self.ridge = ridge

    def _estimate(self, X: Array, choice: Columns, y: Array, seen: Array, w: Array) -> None:
        columns = X[seen]
        if not seen.all():
            index = choice.index(fit_probit(choice, seen.astype(float), w, self.ridge))
            columns = np.column_stack([columns, mills_ratio(index[seen])])
        # The constant and the Mills ratio are not penalised.
        penalty = np.zeros(columns.shape[1])
        penalty[1 : X.shape[1]] = self.ridge
        weighted = columns.T * w[seen]
        found = np.linalg.lstsq(weighted @ columns + np.diag(penalty), weighted @ (y[seen] == 1), rcond=None)[
            0
        ]
        self.coefficients_ = found[: X.shape[1]]
        self.mills_ = 0.0 if seen.all() else float(found[-1])

    def _chance(self, columns: np.ndarray) -> np.ndarray:
        return np.clip(columns @ self.coefficients_, 0.0, 1.0)


class BivariateProbitClassifier(SelectionClassifier):
    """Probit with selection: decision and label have correlated normal disturbances.

    D = 1{w c + u > 0},   Y* = 1{x b + e > 0},   (u, e) normal with correlation ρ,

    by maximum likelihood, and P(Y*=1 | x) = Φ(x b). It assumes exactly this model, and that the
    decision-maker does not affect the label.

    Parameters
    ----------
    ridge : float
        Penalty ridge/2 times the squares of b, c (except constants) and of atanh ρ.

    Attributes
    ----------
    coefficients_ : array
        b, for the constant and the standardised features.
    correlation_ : float
        ρ: the correlation of unobserved influences on decision and label.
    classes_, n_ignored_labels_, n_features_in_, feature_names_in_
        As for the other baselines.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3], [4], [5]], ["no", "no", None, "no", "yes", "yes"]
    >>> BivariateProbitClassifier().fit(X, y).predict([[0.5], [4.9]])
    array(['no', 'yes'], dtype=object)
    """

    def __init__(self, ridge: float = 0.01) -> None:
        self.ridge = ridge

    def _estimate(self, X: Array, choice: Columns, y: Array, seen: Array, w: Array) -> None:
        if seen.all():
            self.coefficients_, self.correlation_ = (
                fit_probit(Columns(X), (y == 1).astype(float), w, self.ridge),
                0.0,
            )
        else:
            self.coefficients_, self.correlation_ = fit_selection(X, choice, y, seen, w, self.ridge)

    def _chance(self, columns: np.ndarray) -> np.ndarray:
        return ndtr(columns @ self.coefficients_)
