"""The FICO experiment as released: five decision-makers, an in-sample residual, default settings."""

from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from selective_labels import datasets
from study.engine import Rows
from study.honest.designs import FICO_CELLS
from study.published import weights
from study.published.splits import (
    FICO_SPLITS,
    Predictions,
    ReleasedSplit,
    over_splits,
    released_split,
)
from study.tasks import Setup, Task

N_DECISION_MAKERS = 5
N_CLASSES = 2


def run_fico(task: Task, setup: Setup) -> Rows:
    """One replication: every method and classifier on six splits; part "point" is apart, being slow."""
    assert setup.data is not None
    cell = FICO_CELLS[task.cell]
    sample = datasets.make_fico(
        setup.data,
        cell["selection"],
        cell["strength"],
        n_decision_makers=N_DECISION_MAKERS,
        hidden="released",
        mirrored=task.mirrored,
        random_state=task.seeds(setup.entropy, 1)[0],
    )
    X = np.asarray(sample.X, dtype=float)[: setup.n_samples]
    # Standardised on all rows, those of the test set included.
    spread = X.std(axis=0, ddof=1)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    splits = [released_split(sample, X, state) for state in FICO_SPLITS]
    common = {"labeled_share": float(np.mean(sample.decision))}
    return over_splits(splits, _point if task.part == "point" else _usual, common)


def _classifiers(random_state: int) -> dict[str, Any]:
    return {
        "LogisticRegression": LogisticRegression(),
        "SVM": SVC(),
        "RandomForest": RandomForestClassifier(random_state=random_state),
        "GradientBoosting": HistGradientBoostingClassifier(),
        "AdaBoost": AdaBoostClassifier(random_state=random_state),
    }


def _usual(split: ReleasedSplit) -> Predictions:
    train, labeled = split.train, split.labeled
    ones, everybody = np.ones(len(train.X)), np.ones(len(train.X), dtype=bool)
    propensity = weights.cross_fitted(weights.inverse_propensity, train, N_CLASSES, split.random_state)
    partial = weights.cross_fitted(weights.binary_partial_weight, train, N_CLASSES, split.random_state)
    return {
        **_predictions("selected", split, labeled, train.y, ones),
        **_predictions("ipw", split, labeled, train.y, propensity),
        **_predictions("full", split, everybody, train.y, ones),
        **_predictions("partial", split, everybody, (partial > 0).astype(int), np.abs(partial)),
    }


def _point(split: ReleasedSplit) -> Predictions:
    point = weights.cross_fitted(weights.binary_point_weight, split.train, N_CLASSES, split.random_state)
    everybody = np.ones(len(point), dtype=bool)
    return dict(_predictions("point", split, everybody, (point > 0).astype(int), np.abs(point)))


def _predictions(
    method: str, split: ReleasedSplit, rows: np.ndarray, labels: np.ndarray, weight: np.ndarray
) -> Predictions:
    predictions = {}
    for name, classifier in _classifiers(split.random_state).items():
        classifier.fit(split.train.X[rows], labels[rows], sample_weight=weight[rows])
        predictions[method, name] = classifier.predict(split.X_test)
    return predictions
