"""The synthetic experiments as released: notebook constants, 200 steps, the best of six splits."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from selective_labels import datasets
from selective_labels.datasets import SelectiveSample
from study.engine import Rows
from study.honest.designs import N_SYNTHETIC, SYNTHETIC_CELLS
from study.published import weights
from study.published.network import (
    BASELINE_RATE,
    PROPOSED_RATE,
    cost_predictions,
    cross_entropy_predictions,
)
from study.published.splits import (
    SYNTHETIC_SPLITS,
    Predictions,
    ReleasedSplit,
    over_splits,
    released_split,
)
from study.scoring import is_constant, population_limits
from study.task_memory import TaskMemory
from study.tasks import Setup, Task, whole_number

CLASSIFIER = "network"
N_CLASSES = 3
# The stored sensitivity study: these strengths and levels, whatever the paper prints (E16).
SENSITIVITY_CELLS = ("nucem-y0.5-d0.7", "uc-y0.5-d0.7")
NOISE_LEVELS = (0.0, 3.0, 5.0, 7.0)
ARTEFACT_STEPS = (200, 5000)
SELECTED_SLOWLY = "selected, at partial's rate"
ARTEFACT_CELLS = ("nucem-y0.3-d0.3", "nucem-y0.5-d0.5", "uc-y0.3-d0.3", "uc-y0.5-d0.5")


def run_synthetic(task: Task, setup: Setup) -> Rows:
    """One replication: every method on six splits. Part "point" is apart because it is slow by nature."""
    sample, common = _draw(task, setup)
    splits = [released_split(sample, sample.X, state) for state in SYNTHETIC_SPLITS]
    return over_splits(splits, _point if task.part == "point" else _usual, common)


def run_sensitivity(task: Task, setup: Setup) -> Rows:
    """Point or partial learning with noisy models, at each level of noise.

    Part "partial" has two lines to hold them against: training on all labels, and the commonest class.
    """
    sample, common = _draw(task, setup)
    splits = [released_split(sample, sample.X, state) for state in SYNTHETIC_SPLITS]
    function = weights.point_costs if task.part == "point" else weights.partial_costs
    seed, memory = whole_number(task.seeds(setup.entropy, 2)[1]), TaskMemory()
    rows: Rows = []
    for level in NOISE_LEVELS:

        def noisy(split: ReleasedSplit, level: float = level) -> Predictions:
            models = weights.Models(level, (seed, split.random_state), memory)
            return {(task.part, CLASSIFIER): _proposed(split, function, models)}

        rows += _at_level(level, over_splits(splits, noisy, common))
    if task.part == "partial":
        rows += _at_level(0.0, over_splits(splits, _lines, common))
    return rows


def _at_level(level: float, rows: Rows) -> Rows:
    return [{**row, "setting": f"sigma={level}, {row['setting']}"} for row in rows]


def _lines(split: ReleasedSplit) -> Predictions:
    """What needs no weights: training on all labels, and the commonest class of the training rows."""
    X, y = split.train.X, split.train.y
    full = cross_entropy_predictions(X, y, np.ones(len(y)), split.X_test, N_CLASSES, split.random_state)
    commonest = np.full(len(split.y_test), np.bincount(y).argmax())
    return {("full", CLASSIFIER): full[0], ("constant", CLASSIFIER): commonest}


def run_artefact(task: Task, setup: Setup) -> Rows:
    """One split: the same network at 200 and at 5,000 steps, with and without the instrument."""
    sample, common = _draw(task, setup)
    seed = whole_number(task.seeds(setup.entropy, 2)[1])
    split = released_split(sample, sample.X, seed)
    labeled, train = split.labeled, split.train
    ones = np.ones(labeled.sum())
    # The released networks learn from labels at twice the rate at which they learn from costs.
    predicted = {
        name: cross_entropy_predictions(
            train.X[labeled], train.y[labeled], ones, split.X_test, N_CLASSES, seed, ARTEFACT_STEPS, rate
        )
        for name, rate in (("selected", BASELINE_RATE), (SELECTED_SLOWLY, PROPOSED_RATE))
    }
    functions = {
        "partial": weights.partial_costs,
        "no-instrument": weights.partial_costs_without_instrument,
    }
    for name, function in functions.items():
        costs = weights.cross_fitted(function, train, N_CLASSES, seed)
        predicted[name] = cost_predictions(train.X, costs, split.X_test, seed, ARTEFACT_STEPS)
    return [
        {
            "method": method,
            "classifier": CLASSIFIER,
            "setting": f"steps={steps}",
            "accuracy": float(np.mean(codes == split.y_test)),
            "constant": float(is_constant(codes)),
            **common,
        }
        for method, at_steps in predicted.items()
        for steps, codes in zip(ARTEFACT_STEPS, at_steps, strict=True)
    ]


def _draw(task: Task, setup: Setup) -> tuple[SelectiveSample, Mapping[str, Any]]:
    sample = datasets.make_paper_synthetic(
        setup.n_samples or N_SYNTHETIC,
        **SYNTHETIC_CELLS[task.cell],
        constants="released_notebook",
        mirrored=task.mirrored,
        random_state=task.seeds(setup.entropy, 2)[0],
    )
    share = float(np.mean(sample.decision))
    return sample, {**population_limits(sample.oracle), "labeled_share": share}


def _usual(split: ReleasedSplit) -> Predictions:
    train, labeled = split.train, split.labeled
    propensity = weights.cross_fitted(weights.inverse_propensity, train, N_CLASSES, split.random_state)
    weight = {
        "selected": (labeled, np.ones(len(train.X))),
        "ipw": (labeled, propensity),
        "full": (np.ones(len(train.X), dtype=bool), np.ones(len(train.X))),
    }
    predictions = {}
    for method, (rows, values) in weight.items():
        predictions[method, CLASSIFIER] = cross_entropy_predictions(
            train.X[rows], train.y[rows], values[rows], split.X_test, N_CLASSES, split.random_state
        )[0]
    predictions["partial", CLASSIFIER] = _proposed(split, weights.partial_costs)
    return predictions


def _point(split: ReleasedSplit) -> Predictions:
    return {("point", CLASSIFIER): _proposed(split, weights.point_costs)}


def _proposed(
    split: ReleasedSplit, function: weights.WeightFunction, models: weights.Models | None = None
) -> np.ndarray:
    costs = weights.cross_fitted(function, split.train, N_CLASSES, split.random_state, models)
    return cost_predictions(split.train.X, costs, split.X_test, split.random_state)[0]
