"""Selection models from econometrics for two classes: Heckman's two-step estimator and bivariate probit."""

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.optimize import minimize
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


def bivariate_cdf(first: Array, second: Array, correlation: float) -> Array:
    """P(W_1 <= h, W_2 <= k) of correlated standard normal variables, row by row.

    Φ(h) Φ(k) + ∫_0^{asin ρ} exp(-(h² + k² - 2 h k sin t) / (2 cos² t)) dt / 2π,

    by Gauss-Legendre quadrature (Drezner and Wesolowsky 1990).

    Examples
    --------
    >>> bivariate_cdf(np.zeros(1), np.zeros(1), 0.5).round(6)
    array([0.333333])
    """
    angle = np.arcsin(correlation) * (NODES + 1.0) / 2.0
    weight = np.arcsin(correlation) / 2.0 * NODE_WEIGHTS / (2.0 * np.pi)
    total = ndtr(first) * ndtr(second)
    for each, mass in zip(angle, weight, strict=True):
        square = first**2 + second**2 - 2.0 * first * second * np.sin(each)
        total = total + mass * np.exp(-square / (2.0 * np.cos(each) ** 2))
    return np.clip(total, 0.0, 1.0)


def density(values: Array) -> Array:
    """Standard normal density."""
    return np.exp(-(values**2) / 2.0) / np.sqrt(2.0 * np.pi)


def fit_probit(X: Array, y: Array, weights: Array, ridge: float) -> Array:
    """argmin_b -Σ w_i log Φ((2 y_i - 1) x_i b) + ridge/2 Σ_{j>0} b_j². The first column is the constant.

    Returns
    -------
    (n_columns,) array
    """
    sign, free = 2.0 * y - 1.0, _penalty(X.shape[1], ridge)

    def loss(b: Array) -> tuple[float, Array]:
        index = sign * (X @ b)
        ratio = np.exp(-(index**2) / 2.0 - log_ndtr(index)) / np.sqrt(2.0 * np.pi)
        value = -weights @ log_ndtr(index) + free @ b**2 / 2.0
        return float(value), -X.T @ (weights * sign * ratio) + free * b

    return minimize(loss, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options=_OPTIONS).x


def selection_loss(
    parameters: Array, X: Array, W: Array, y: Array, seen: Array, weights: Array, ridge: float
) -> tuple[float, Array]:
    """Penalised negative log-likelihood of the probit with selection, and its gradient.

    D = 1{w c + u > 0},  Y* = 1{x b + e > 0},  corr(u, e) = ρ = tanh(r):

        Σ_{D=0} log Φ(-w c) + Σ_{D=1} log Φ₂(q x b, w c; q ρ),   q = 2 y - 1

    Parameters are b, c, r in one vector.
    """
    n_outcome, n_choice = X.shape[1], W.shape[1]
    b, c, r = parameters[:n_outcome], parameters[n_outcome:-1], parameters[-1]
    rho = float(np.clip(np.tanh(r), -LARGEST_CORRELATION, LARGEST_CORRELATION))
    choice, sign = W @ c, np.where(y == 1, 1.0, -1.0)[seen]
    index, there = sign * (X[seen] @ b), choice[seen]
    # The sign of the correlation depends on the label.
    chance = np.where(sign > 0, bivariate_cdf(index, there, rho), bivariate_cdf(index, there, -rho))
    chance = np.maximum(chance, SMALLEST)
    free = np.concatenate([_penalty(n_outcome, ridge), _penalty(n_choice, ridge), [ridge]])
    away = choice[~seen]
    value = -weights[~seen] @ log_ndtr(-away) - weights[seen] @ np.log(chance) + free @ parameters**2 / 2.0
    own, scale = sign * rho, np.sqrt(1.0 - rho**2)
    by_index = density(index) * ndtr((there - own * index) / scale) / chance
    by_choice = density(there) * ndtr((index - own * there) / scale) / chance
    joint = np.exp(-(index**2 + there**2 - 2.0 * own * index * there) / (2.0 * scale**2))
    by_rho = sign * joint / (2.0 * np.pi * scale) / chance
    ratio = np.exp(-(away**2) / 2.0 - log_ndtr(-away)) / np.sqrt(2.0 * np.pi)
    gradient = np.concatenate(
        [
            -X[seen].T @ (weights[seen] * sign * by_index),
            -W[seen].T @ (weights[seen] * by_choice) + W[~seen].T @ (weights[~seen] * ratio),
            [-(weights[seen] @ by_rho) * (1.0 - rho**2)],
        ]
    )
    return float(value), gradient + free * parameters


def fit_selection(
    X: Array, W: Array, y: Array, seen: Array, weights: Array, ridge: float
) -> tuple[Array, float]:
    """Coefficients of the outcome equation and the correlation, by penalised maximum likelihood."""
    start = np.concatenate(
        [
            fit_probit(X[seen], (y == 1)[seen].astype(float), weights[seen], ridge),
            fit_probit(W, seen.astype(float), weights, ridge),
            [0.0],
        ]
    )
    given = X, W, y, seen, weights, ridge
    found = minimize(selection_loss, start, given, jac=True, method="L-BFGS-B", options=_OPTIONS).x
    return found[: X.shape[1]], float(np.tanh(found[-1]))


_OPTIONS = {"maxiter": 2000, "maxfun": 4000, "ftol": 1e-12, "gtol": 1e-8}


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
    def _estimate(self, X: np.ndarray, W: np.ndarray, y: np.ndarray, seen: np.ndarray, w: np.ndarray) -> None:
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
        makers = data.decision_maker_codes[:, None] == np.arange(data.n_decision_makers)
        W = np.hstack([X, makers]) if data.n_decision_makers > 1 else X
        self._estimate(X, W, data.y, data.decision == 1, data.weights)

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

    def _estimate(self, X: np.ndarray, W: np.ndarray, y: np.ndarray, seen: np.ndarray, w: np.ndarray) -> None:
        columns = X[seen]
        if not seen.all():
            index = W[seen] @ fit_probit(W, seen.astype(float), w, self.ridge)
            mills = np.exp(-(index**2) / 2.0 - log_ndtr(index)) / np.sqrt(2.0 * np.pi)
            columns = np.column_stack([columns, mills])
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

    def _estimate(self, X: np.ndarray, W: np.ndarray, y: np.ndarray, seen: np.ndarray, w: np.ndarray) -> None:
        if seen.all():
            self.coefficients_, self.correlation_ = fit_probit(X, (y == 1).astype(float), w, self.ridge), 0.0
        else:
            self.coefficients_, self.correlation_ = fit_selection(X, W, y, seen, w, self.ridge)

    def _chance(self, columns: np.ndarray) -> np.ndarray:
        return ndtr(columns @ self.coefficients_)
