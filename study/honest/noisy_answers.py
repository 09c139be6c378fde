"""Noise in the answers, as the paper words it: class probabilities and bounds themselves are multiplied."""

from collections.abc import Iterator

import numpy as np
from sklearn.model_selection import KFold

import selective_labels as sl
from selective_labels import Bounds
from selective_labels.identification.bounds import repair
from selective_labels.identification.costs import CostSensitiveProblem, gains, point_costs, worst_case_costs
from study.scoring import Split

N_FOLDS = 5
# One family at every level: only the noise is to change.
NUISANCE = "quadratic"
Answers = Bounds | np.ndarray


def held_out_answers(split: Split, mode: str, seed: int) -> tuple[Answers, str]:
    """Class probabilities (point) or bounds (partial) of the training rows, by models of the other folds.

    Besides, what most of these models ended in.
    """
    X, y, makers = split.features, split.y, split.decision_maker
    n_classes = int(y.max()) + 1
    # A class that a fold's labeled rows lack is not known there.
    lower, upper = np.zeros((len(X), n_classes)), np.ones((len(X), n_classes))
    ended = []
    for train, rest in KFold(N_FOLDS, shuffle=True, random_state=seed).split(X):
        model = sl.UCLClassifier(mode, "plug-in", nuisance=NUISANCE, random_state=seed)
        model.fit(X[train], y[train], decision_maker=makers[train])
        ended.append(model.mode_)
        cells = np.ix_(rest, model.classes_)
        if mode == "point":
            lower[cells] = model.predict_proba(X[rest])
        else:
            found = model.predict_bounds(X[rest])
            lower[cells], upper[cells] = found.lower, found.upper
    return lower if mode == "point" else Bounds(lower, upper), max(ended, key=ended.count)


def with_noise(answers: Answers, level: float, seed: int) -> Answers:
    """Multiply every number by noise of its own.

    v~ = min(v (1 + level e)^+, 1),   e standard normal; bounds that no probabilities fit are repaired.

    Examples
    --------
    >>> with_noise(np.array([[0.25, 0.75]]), 0.0, 0)
    array([[0.25, 0.75]])
    """
    noise = np.random.default_rng(seed)

    def multiplied(values: np.ndarray) -> np.ndarray:
        return np.clip(values * (1.0 + level * noise.standard_normal(values.shape)), 0.0, 1.0)

    if not isinstance(answers, Bounds):
        return multiplied(answers)
    return repair(Bounds(multiplied(answers.lower), multiplied(answers.upper)))[0]


def noisy_predictions(
    split: Split, mode: str, levels: tuple[float, ...], seed: int
) -> Iterator[tuple[float, np.ndarray, str]]:
    """At each level of noise: codes that the linear softmax learner predicts for the test rows; its mode."""
    answers, ended = held_out_answers(split, mode, seed)
    weights = np.ones(len(split.features))
    for level in levels:
        known = with_noise(answers, level, seed)
        costs = worst_case_costs(known) if isinstance(known, Bounds) else point_costs(known)
        problem = CostSensitiveProblem(split.features, costs, gains(costs), weights)
        scores = sl.LinearScore().learn(problem, "softmax", seed).scores(split.test_features)
        yield level, scores.argmax(axis=1), ended
