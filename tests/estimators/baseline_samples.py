"""A small selectively labeled sample, and classifiers that remember or know things."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin


class Sample(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    decision: np.ndarray
    decision_maker: np.ndarray
    y_true: np.ndarray


def make_sample(n_samples: int = 300, n_classes: int = 3, seed: int = 0) -> Sample:
    """Leniency differs by decision-maker and feature; labels are 0..K-1 with -1 for holes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 3))
    decision_maker = rng.choice(np.array(["ann", "bob", "cem"], dtype=object), n_samples, p=[0.5, 0.3, 0.2])
    leniency = np.array([-1.0, 0.0, 1.5])[np.searchsorted(["ann", "bob", "cem"], decision_maker.astype(str))]
    decision = (rng.random(n_samples) < expit(leniency + X[:, 0])).astype(int)
    scores = X[:, :1] * np.linspace(-1, 1, n_classes) + rng.gumbel(size=(n_samples, n_classes))
    y_true = scores.argmax(axis=1)
    return Sample(X, np.where(decision == 1, y_true, -1), decision, decision_maker, y_true)


class Recorder(ClassifierMixin, BaseEstimator):
    """Predicts the first class and remembers what it was given."""

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> "Recorder":
        self.X_, self.y_, self.sample_weight_ = X, y, sample_weight
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.repeat(self.classes_[:1], len(X))


class KnownPropensity(ClassifierMixin, BaseEstimator):
    """Knows P(D=1 | x) as a function of the first feature."""

    def __init__(self, chance: Any = None) -> None:
        self.chance = chance

    def fit(self, X: np.ndarray, y: np.ndarray) -> "KnownPropensity":
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        chance = self.chance(X[:, 0])
        return np.column_stack([1 - chance, chance])


class Recogniser(ClassifierMixin, BaseEstimator):
    """Gives a small chance of a label where it has met the first feature in training, else one half."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Recogniser":
        self.met_ = np.unique(X[:, 0])
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        chance = np.where(np.isin(X[:, 0], self.met_), 0.001, 0.5)
        return np.column_stack([1 - chance, chance])
