"""Gradient boosting, and any scikit-learn classifier, as a model of the outcome."""

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier

from selective_labels.nuisance.coding import spread_columns
from selective_labels.weighting import fit_weighted

# Slow learning with shallow trees: unregularised boosting makes maxima over decision-makers too large.
BOOSTING = {"learning_rate": 0.1, "max_leaf_nodes": 6, "min_samples_leaf": 20, "l2_regularization": 10.0}
MAX_ITERATIONS = 200
EARLY_STOPPING_ROWS = 2000
EARLY_STOPPING_CLASS_ROWS = 20
FIXED_ITERATIONS = 100


class ClassifierJoint:
    """A model of the outcome made of one scikit-learn classifier of features and decision-maker.

    The decision-maker is one more column (`categorical=True`, for classifiers that take categories)
    or one indicator column each.

    Parameters
    ----------
    n_arms, n_outcomes : int
    classifier : scikit-learn classifier with ``predict_proba``
    categorical : bool
    """

    def __init__(self, n_arms: int, n_outcomes: int, classifier: ClassifierMixin, categorical: bool = False):
        self.n_arms = n_arms
        self.n_outcomes = n_outcomes
        self.classifier = classifier
        self.categorical = categorical

    def fit(
        self, X: np.ndarray, arm: np.ndarray, outcome: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> "ClassifierJoint":
        """Fit to rows with known decision-maker (`arm`) and outcome."""
        self.classifier_ = fit_weighted(clone(self.classifier), self._design(X, arm), outcome, sample_weight)
        return self

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under every decision-maker, (n_arms, n, n_outcomes)."""
        arms = range(self.n_arms)
        return np.stack([self.own(X, np.full(len(X), arm)) for arm in arms])

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under its own decision-maker, (n, n_outcomes)."""
        probabilities = self.classifier_.predict_proba(self._design(X, arm))
        return spread_columns(probabilities, self.classifier_.classes_, self.n_outcomes)

    def _design(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        if self.categorical:
            return np.column_stack([X, arm])
        return np.hstack([X, arm[:, None] == np.arange(self.n_arms)])


class BoostedJoint(ClassifierJoint):
    """Slow histogram gradient boosting with the decision-maker as a category."""

    def __init__(self, n_arms: int, n_outcomes: int, random_state: int | None = None):
        super().__init__(n_arms, n_outcomes, HistGradientBoostingClassifier(), categorical=True)
        self.random_state = random_state

    def fit(
        self, X: np.ndarray, arm: np.ndarray, outcome: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> "BoostedJoint":
        """Fit, stopping early where there are rows enough to tell when."""
        rarest = np.unique(outcome, return_counts=True)[1].min()
        stop = len(X) >= EARLY_STOPPING_ROWS and rarest >= EARLY_STOPPING_CLASS_ROWS
        self.classifier = HistGradientBoostingClassifier(
            **BOOSTING,
            max_iter=MAX_ITERATIONS if stop else FIXED_ITERATIONS,
            early_stopping=stop,
            categorical_features=[X.shape[1]],
            random_state=self.random_state,
        )
        self.empty_ = np.isnan(X).all(axis=0)
        super().fit(X, arm, outcome, sample_weight)
        return self

    def _design(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        # Histograms cannot be made of a column without a single value, as some have in some fold.
        return super()._design(np.where(self.empty_, 0.0, X), arm)
