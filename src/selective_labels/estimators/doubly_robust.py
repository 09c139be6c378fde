"""Regression of debiased scores on the features: the DR-learner of Rambachan, Coston and Kennedy."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from selective_labels._errors import InputError
from selective_labels._validation import random_stream
from selective_labels.assumptions.instrument import NoAssumption, Unconfounded
from selective_labels.data.roles import HOLE
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.estimators.base import SelectiveClassifier, check_cost, read_features
from selective_labels.estimators.ipw import draw_seed
from selective_labels.identification.bounds import Bounds, repair
from selective_labels.identification.costs import minimax_class, point_costs
from selective_labels.identification.point import project_to_simplex
from selective_labels.nuisance.cross_fit import cross_fit
from selective_labels.nuisance.models.encoders import boosting, fit_weighted, one_hot_before, standardised
from selective_labels.nuisance.scores import cross_fit_scores

# Smaller propensities are clipped, because a few huge scores would dominate the regression.
LEAST_CHANCE = 0.05


def _is_unconfounded(classifier: "DoublyRobustClassifier") -> bool:
    if classifier.gamma != 1.0:
        raise AttributeError("predict_proba exists for gamma=1 only; use predict_bounds.")
    return True


@dataclass(eq=False, repr=False)
class DoublyRobustClassifier(SelectiveClassifier):
    """A classifier from regressions of debiased scores on the features.

    φ_k = D Y_k + Γ^{±1} (AIPW_k - D Y_k),   AIPW_k = μ_k(X) + D / π(X) (1{Y=k} - μ_k(X)),
    μ_k(x) = P(Y=k | x, D=1),   π(x) = P(D=1 | x),   both cross-fitted

    The DR-learner of Rambachan, Coston and Kennedy (2022). With Γ = 1, the regression of φ_k on x estimates
    P(Y*=k | x) if there is no unobserved confounding (D independent of Y* given X). Its error is the product
    of the errors of π and μ. With Γ > 1, the two regressions estimate the ends of

        P(Y=k, D=1 | x) + P(D=0 | x) [μ_k(x) / Γ, Γ μ_k(x)],

    which contain P(Y*=k | x) if the frequency of each class among unlabeled cases is between 1/Γ and Γ times
    that among labeled cases. Predictions minimise the (worst-case) expected regret. There is no instrument:
    decision-makers cannot confirm Γ, and decision-makers, strata and assignment are not used.

    Parameters
    ----------
    estimator : scikit-learn regressor, "linear" or None
        Must accept ``sample_weight`` if weights are given. "linear": least squares on standardised, imputed
        features. None: gradient boosting (:class:`~sklearn.ensemble.HistGradientBoostingRegressor`).
    gamma : float
        Γ, at least 1.
    nuisance : None, "logistic", "quadratic", "index", "boosting", scikit-learn classifier, or callable
        Model of decision and label given the features, as in :class:`~selective_labels.UCLClassifier` with
        one decision-maker. A callable returns (n, 1, n_classes + 1).
    cost : (n_classes, n_classes) array or None
        C[true, predicted] over the sorted classes. None means 0-1 costs.
    cv : int, splitter or iterable of folds
    n_jobs : int or None
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : (n_classes,) array
    lower_models_, upper_models_ : lists of fitted regressors
        One for each class. Both are the same list if gamma is 1.
    clipped_share_ : float
        Share of training rows whose propensity was clipped at five percent, so that no inverse weight
        exceeds 20. If it is more than a few percent, predictions there rely on the model of labeled cases.
    n_ignored_labels_, n_features_in_, feature_names_in_
        As for :class:`selective_labels.SelectedSampleClassifier`.

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(600, random_state=0)
    >>> classifier = DoublyRobustClassifier("linear", gamma=2.0, nuisance="logistic", random_state=0)
    >>> bounds = classifier.fit(sample.X, sample.y).predict_bounds(sample.X)
    >>> bool((bounds.lower <= bounds.upper).all())
    True
    """

    estimator: Any = None
    gamma: float = 1.0
    nuisance: Any = None
    cost: Any = None
    cv: Any = 5
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    def _learn(self, data: SelectiveLabels) -> None:
        random_state = random_stream(self.random_state)
        regressor = _regressor(self.estimator, draw_seed(random_state), data.categorical)
        self.cost_ = check_cost(self.cost, data)
        lower, upper, self.clipped_share_ = self._scores(data, draw_seed(random_state))
        self.lower_models_ = _regressions(regressor, data, lower)
        self.upper_models_ = self.lower_models_ if self.gamma == 1.0 else _regressions(regressor, data, upper)

    def predict(self, X: Any) -> np.ndarray:
        """Classes with the smallest (worst-case) regret, (n_samples,)."""
        check_is_fitted(self)
        if self.gamma == 1.0:
            return self.classes_[point_costs(self.predict_proba(X), self.cost_).argmin(axis=1)]
        return self.classes_[minimax_class(self.predict_bounds(X), self.cost_)]

    @available_if(_is_unconfounded)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimates of P(Y*=k | x), projected onto the simplex, (n_samples, n_classes). gamma = 1 only."""
        check_is_fitted(self)
        return project_to_simplex(_predictions(self.lower_models_, read_features(self, X)))

    def predict_bounds(self, X: Any) -> Bounds:
        """Bounds on the class probabilities under Γ. Crossing bounds are repaired."""
        check_is_fitted(self)
        features = read_features(self, X)
        ends = (_predictions(models, features) for models in (self.lower_models_, self.upper_models_))
        return repair(Bounds(*(np.clip(end, 0.0, 1.0) for end in ends)))[0]

    def _scores(self, data: SelectiveLabels, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Scores for both ends, (n_samples, n_classes) each, and the share of clipped rows."""
        if not self.gamma >= 1.0:
            raise InputError(f"gamma={self.gamma!r} must be 1 (no confounding) or larger.", "gamma")
        if (data.y != HOLE).all():
            seen = np.eye(len(data.classes))[data.y]
            return seen, seen, 0.0
        everybody = replace(
            data,
            decision_maker=np.zeros(len(data), dtype=int),
            decision_maker_codes=np.zeros(len(data), dtype=int),
            decision_makers=np.zeros(1, dtype=int),
            strata=None,
            assignment=None,
        )
        fit = cross_fit(everybody, self.nuisance, cv=self.cv, n_jobs=self.n_jobs, random_state=seed)
        scores = cross_fit_scores(fit, everybody, [NoAssumption(), Unconfounded()], overlap=LEAST_CHANCE)
        seen = scores["none"].values
        unseen = scores["unconfounded"].values - seen
        lower, upper = seen + unseen / self.gamma, seen + unseen * self.gamma
        return lower, upper, float(np.average(scores["unconfounded"].clipped, weights=data.weights))


def _regressor(choice: Any, seed: int, categorical: tuple[int, ...]) -> Any:
    if choice is None:
        return boosting(HistGradientBoostingRegressor(random_state=seed), categorical)
    if isinstance(choice, str) and choice == "linear":
        return Pipeline([*standardised(categorical).steps, ("regressor", LinearRegression())])
    if isinstance(choice, str) or not (hasattr(choice, "fit") and is_regressor(choice)):
        raise InputError(
            f'estimator={choice!r}: give a scikit-learn regressor, "linear" or None.', "estimator"
        )
    return one_hot_before(choice, categorical)


def _regressions(regressor: Any, data: SelectiveLabels, scores: np.ndarray) -> list[Any]:
    return [fit_weighted(clone(regressor), data.features, column, data.sample_weight) for column in scores.T]


def _predictions(models: list[Any], features: np.ndarray) -> np.ndarray:
    return np.column_stack([model.predict(features) for model in models])
