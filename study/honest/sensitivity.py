"""Noise in the nuisances or in the answers, and how much accuracy point and partial learning lose by it."""

from collections.abc import Iterator
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import selective_labels as sl
from study.engine import Rows
from study.honest.designs import draw_synthetic, limits_of
from study.honest.noisy_answers import noisy_predictions
from study.scoring import Scorer, Split, split_rows
from study.tasks import Setup, Task, whole_number

# The paper's text says (alpha_y, alpha_d) = (.7, .5), the released notebook (.5, .7): both are run.
CELLS = ("nucem-y0.5-d0.7", "nucem-y0.7-d0.5", "uc-y0.5-d0.7", "uc-y0.7-d0.5")
LEVELS = (0.0, 0.3, 0.5, 0.7)
MODES = ("point", "partial")
# Where the noise goes: into probabilities of decision and label, or (as the paper words it) into class
# probabilities and bounds.
NUISANCES, ANSWERS = "all", "answers"


class NoisyClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are multiplied by noise and brought back to sum one.

        p~_ik = p_ik (1 + level e_ik)^+ / sum_j p_ij (1 + level e_ij)^+,   e standard normal.

    Parameters
    ----------
    classifier : scikit-learn classifier
    level : float
    random_state : int

    Examples
    --------
    >>> X = np.arange(20.0)[:, None]
    >>> noisy = NoisyClassifier(LogisticRegression(), level=0.5).fit(X, X[:, 0] > 9)
    >>> bool(np.allclose(noisy.predict_proba(X).sum(axis=1), 1.0))
    True
    """

    def __init__(self, classifier: Any, level: float = 0.0, random_state: int = 0) -> None:
        self.classifier = classifier
        self.level = level
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "NoisyClassifier":
        """Fit the classifier, and begin a stream of noise that belongs to these rows."""
        self.classifier_ = clone(self.classifier).fit(X, y)
        self.classes_ = self.classifier_.classes_
        # Folds have different rows, so their noise is independent.
        self._noise = np.random.default_rng([self.random_state, crc32(np.ascontiguousarray(X).tobytes())])
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Noisy probabilities, new noise at every call."""
        clean = self.classifier_.predict_proba(X)
        noisy = clean * np.maximum(1.0 + self.level * self._noise.standard_normal(clean.shape), 0.0)
        total = noisy.sum(axis=1, keepdims=True)
        return np.where(total > 0, noisy / np.where(total > 0, total, 1.0), clean)


def run_sensitivity(task: Task, setup: Setup) -> Rows:
    """Point and partial learning with the linear softmax learner, at each level of noise."""
    seeds = task.seeds(setup.entropy, 3)
    split = split_rows(draw_synthetic(task, setup, seeds[0]), whole_number(seeds[1]))
    scorer = Scorer(split, limits_of(draw_synthetic, task.cell, task.mirrored))
    seed = whole_number(seeds[2])
    predictions = _noisy_nuisances if task.part == NUISANCES else noisy_predictions
    return [
        scorer.row(predicted, mode, "linear", f"sigma={level}", mode=ended)
        for mode in MODES
        for level, predicted, ended in predictions(split, mode, LEVELS, seed)
    ]


def _noisy_nuisances(
    split: Split, mode: str, levels: tuple[float, ...], seed: int
) -> Iterator[tuple[float, np.ndarray, str]]:
    for level in levels:
        nuisance = NoisyClassifier(_quadratic(), level, seed)
        learner = sl.UCLClassifier(mode, "linear", nuisance=nuisance, random_state=seed)
        learner.fit(split.features, split.y, decision_maker=split.decision_maker)
        yield level, learner.predict(split.test_features), learner.mode_


def _quadratic() -> Any:
    """Squares and products of features and indicators of decision-makers, with ridge."""
    return make_pipeline(
        PolynomialFeatures(2, include_bias=False), StandardScaler(), LogisticRegression(C=0.1, max_iter=500)
    )
