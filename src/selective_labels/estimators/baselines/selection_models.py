"""Models of selection from econometrics: Heckman's two steps and the bivariate probit, for two classes."""

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtr
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from selective_labels.data import SelectiveLabels
from selective_labels.estimators.base import SelectiveClassifier, read_features
from selective_labels.estimators.baselines.probit import fit_probit, fit_selection
from selective_labels.models.features import standardised
from selective_labels.support.errors import InputError


class SelectionClassifier(SelectiveClassifier):
    """What the two share: features made numbers, who decided as part of the selection, two classes.

    Who decides moves the decision and not the label: decision-makers, if given, enter the equation of the
    decision alone. Without them only the shape of the normal distribution identifies anything.
    """

    ridge: float

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the two classes for everybody, (n_samples, 2)."""
        check_is_fitted(self)
        chance = self._chance(self._outcome_columns(read_features(self, X)))
        return np.column_stack([1.0 - chance, chance])

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, (n_samples,)."""
        chance = self.predict_proba(X)[:, 1]  # first of all, as it checks that this was fitted
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
        """Set `coefficients_` and `correlation_`; every label may be seen."""

    def _learn(self, data: SelectiveLabels) -> None:
        if not self.ridge > 0.0:
            raise InputError(f"ridge={self.ridge!r} must be positive.", "ridge")
        if len(data.classes) != 2:
            # The last words are scikit-learn's.
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
    """Heckman's two steps: the chance of acceptance corrects a regression among the accepted.

    1. probit of D on features and decision-maker: index w c;
    2. among the accepted, y = x b + σ m(w c) + error,   m(v) = φ(v) / Φ(v) (inverse Mills ratio);

    and P(Y*=1 | x) is taken as x b, within [0, 1]. It assumes that what is unseen in decision and label is
    jointly normal and shifts the label linearly (which a label of 0 and 1 cannot quite obey), and that who
    decides does not change the label.

    Parameters
    ----------
    ridge : float
        Penalty ridge/2 Σ b² on coefficients of standardised features, small beside any number of rows.

    Attributes
    ----------
    coefficients_ : array
        b, of the constant and the standardised features.
    mills_ : float
        σ: positive, if accepted cases have the second class more often than others like them.
    classes_, n_ignored_labels_, n_features_in_, feature_names_in_
        As for the other baselines.

    Examples
    --------
    Made-up cases in which what decision-makers see, and the features do not hold, raises both the chance of
    acceptance and that of the second class:

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
        # Neither the constant nor the ratio is held back.
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
    """Probit with selection: decision and label share a normal disturbance.

    D = 1{w c + u > 0},   Y* = 1{x b + e > 0},   (u, e) normal with correlation ρ,

    by maximum likelihood; P(Y*=1 | x) = Φ(x b). It assumes this very model, and that who decides does not
    change the label.

    Parameters
    ----------
    ridge : float
        Penalty ridge/2 times the squares of b, c (constants apart) and of atanh ρ.

    Attributes
    ----------
    coefficients_ : array
        b, of the constant and the standardised features.
    correlation_ : float
        ρ: what moves decision and label alike and is not among the features.
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
