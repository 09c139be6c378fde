"""Gradient boosting, and any scikit-learn classifier, as a model of the outcome."""

import numpy as np
from sklearn.base import ClassifierMixin, TransformerMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier

from selective_labels.models.features import TreeColumns, one_hot_columns
from selective_labels.models.forest import raw_sums, raw_under_arms
from selective_labels.models.outcomes import spread_columns
from selective_labels.support.weighting import fit_weighted

# Slow learning with shallow trees: unregularised boosting makes maxima over decision-makers too large.
BOOSTING = {"learning_rate": 0.1, "min_samples_leaf": 20, "l2_regularization": 10.0}
FEW_LEAVES = 6
MAX_ITERATIONS = 200
EARLY_STOPPING_ROWS = 2000
EARLY_STOPPING_CLASS_ROWS = 20
FIXED_ITERATIONS = 100


class ClassifierJoint:
    """A model of the outcome made of one scikit-learn classifier of features and decision-maker.

    Categories and the decision-maker are indicator columns, those of categories first.

    Parameters
    ----------
    n_arms, n_outcomes : int
    classifier : scikit-learn classifier with ``predict_proba``
    categorical : tuple of int
        Columns of the features that hold codes of categories.
    """

    def __init__(
        self, n_arms: int, n_outcomes: int, classifier: ClassifierMixin, categorical: tuple[int, ...] = ()
    ):
        self.n_arms = n_arms
        self.n_outcomes = n_outcomes
        self.classifier = classifier
        self.categorical = categorical

    def fit(
        self, X: np.ndarray, arm: np.ndarray, outcome: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> "ClassifierJoint":
        """Fit to rows with known decision-maker (`arm`) and outcome."""
        self.encoder_ = self._encoder().fit(X)
        design = self._design(self.encoder_.transform(X), arm)
        self.classifier_ = fit_weighted(clone(self.classifier), design, outcome, sample_weight)
        return self

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under every decision-maker, (n_arms, n, n_outcomes)."""
        # One call for all decision-makers: trees and encoders are slow to start.
        features = np.tile(self.encoder_.transform(X), (self.n_arms, 1))
        arms = np.repeat(np.arange(self.n_arms), len(X))
        return self._probabilities(features, arms).reshape(self.n_arms, len(X), self.n_outcomes)

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under its own decision-maker, (n, n_outcomes)."""
        return self._probabilities(self.encoder_.transform(X), arm)

    def _probabilities(self, features: np.ndarray, arm: np.ndarray) -> np.ndarray:
        probabilities = self.classifier_.predict_proba(self._design(features, arm))
        return spread_columns(probabilities, self.classifier_.classes_, self.n_outcomes)

    def _encoder(self) -> TransformerMixin:
        return one_hot_columns(self.categorical)

    def _design(self, features: np.ndarray, arm: np.ndarray) -> np.ndarray:
        return np.hstack([features, arm[:, None] == np.arange(self.n_arms)])


class BoostedJoint(ClassifierJoint):
    """Slow histogram gradient boosting with the decision-maker as one more category.

    Parameters
    ----------
    n_arms, n_outcomes : int
    categorical : tuple of int
    random_state : int, optional
    most_iterations : int
    n_leaves : int
        Of a tree, at most.
    """

    def __init__(
        self,
        n_arms: int,
        n_outcomes: int,
        categorical: tuple[int, ...] = (),
        random_state: int | None = None,
        most_iterations: int = MAX_ITERATIONS,
        n_leaves: int = FEW_LEAVES,
    ):
        super().__init__(n_arms, n_outcomes, HistGradientBoostingClassifier(), categorical)
        self.random_state = random_state
        self.most_iterations = most_iterations
        self.n_leaves = n_leaves

    def fit(
        self, X: np.ndarray, arm: np.ndarray, outcome: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> "BoostedJoint":
        """Fit, stopping early where there are rows enough to tell when."""
        rarest = np.unique(outcome, return_counts=True)[1].min()
        stop = len(X) >= EARLY_STOPPING_ROWS and rarest >= EARLY_STOPPING_CLASS_ROWS
        self.classifier = HistGradientBoostingClassifier(
            **BOOSTING,
            max_leaf_nodes=self.n_leaves,
            max_iter=min(MAX_ITERATIONS if stop else FIXED_ITERATIONS, self.most_iterations),
            early_stopping=stop,
            categorical_features=[*self.categorical, X.shape[1]],
            random_state=self.random_state,
        )
        super().fit(X, arm, outcome, sample_weight)
        return self

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under every decision-maker, (n_arms, n, n_outcomes)."""
        design = self._design(self.encoder_.transform(X), np.zeros(len(X)))
        raw = raw_under_arms(self.classifier_, design, self.n_arms, len(self.categorical))
        return self._spread(np.swapaxes(raw, 0, 1))

    def _probabilities(self, features: np.ndarray, arm: np.ndarray) -> np.ndarray:
        return self._spread(raw_sums(self.classifier_, self._design(features, arm)))

    def _spread(self, raw: np.ndarray) -> np.ndarray:
        """From sums of leaves, (..., n_trees_per_iteration, n), to probabilities, (..., n, n_outcomes)."""
        if raw.shape[-2] == 1:  # two outcomes: the log-odds of the second
            raw = np.concatenate([np.zeros_like(raw), raw], axis=-2)
        odds = np.exp(raw - raw.max(axis=-2, keepdims=True))
        odds /= odds.sum(axis=-2, keepdims=True)
        return spread_columns(np.swapaxes(odds, -1, -2), self.classifier_.classes_, self.n_outcomes)

    def _encoder(self) -> TransformerMixin:
        return TreeColumns(self.categorical)

    def _design(self, features: np.ndarray, arm: np.ndarray) -> np.ndarray:
        return np.column_stack([features, arm])
