"""The methods side by side on one draw: what people do, what the instrument adds, and the controls."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import selective_labels as sl
from study.engine import Rows
from study.honest.classifiers import GRIDS, choose_settings, make_classifier
from study.honest.designs import Draw, limits_of
from study.scoring import Scorer, Split, split_rows
from study.task_memory import TaskMemory
from study.tasks import Setup, Task, whole_number

NUISANCE = "nuisance"
# The library's network, with its own settings; it needs PyTorch.
NEURAL = "neural"
# None: the library compares its families of models by held-out log-loss.
NUISANCE_CANDIDATES = None


def compare_methods(task: Task, setup: Setup, draw: Draw, classifiers: tuple[str, ...]) -> Rows:
    """Fit every method with every classifier to one draw, and judge all on the same test rows.

    Parameters
    ----------
    task : Task
    setup : Setup
    draw : callable (Task, Setup, seed) -> SelectiveSample
    classifiers : tuple of str
        Names in `GRIDS`.

    Returns
    -------
    list of rows
    """
    seeds = task.seeds(setup.entropy, 3)
    split = split_rows(draw(task, setup, seeds[0]), whole_number(seeds[1]))
    scorer = Scorer(split, limits_of(draw, task.cell, task.mirrored))
    chosen, seed = setup.chosen(task), whole_number(seeds[2])
    rows, memory = [], TaskMemory()
    for name in classifiers:
        for method, fitted in _fitted(split, name, chosen, seed, memory):
            predicted = fitted.predict(split.test_features)
            rows.append(scorer.row(predicted, method, name, mode=getattr(fitted, "mode_", "")))
    return rows


def choose_for_cell(task: Task, setup: Setup, draw: Draw, classifiers: tuple[str, ...]) -> Rows:
    """Choose each classifier's settings, and the nuisance model, on a draw that is used for nothing else.

    Classifiers: five-fold cross-validation on the labeled training rows. Nuisance model: the library's own
    comparison by held-out log-loss. Neither reads an unseen label. All methods share what is chosen, so that
    they differ in nothing but what they do about selection.
    """
    seeds = task.seeds(setup.entropy, 3)
    split = split_rows(draw(task, setup, seeds[0]), whole_number(seeds[1]))
    seed, labeled = whole_number(seeds[2]), split.y >= 0
    choices: dict[str, Any] = {
        name: choose_settings(name, split.features[labeled], split.y[labeled], seed)
        for name in classifiers
        if name in GRIDS
    }
    learner = sl.UCLClassifier("partial", "plug-in", nuisance=NUISANCE_CANDIDATES, random_state=seed)
    learner.fit(split.features, split.y, decision_maker=split.decision_maker)
    choices[NUISANCE] = learner.nuisance_report_.chosen
    return [{"name": name, "value": json.dumps(value)} for name, value in choices.items()]


def _fitted(
    split: Split, name: str, chosen: Mapping[str, Any], seed: int, memory: TaskMemory
) -> Iterator[tuple[str, Any]]:
    """Every method, fitted to the training rows, one after the other."""
    makers = split.decision_maker
    yield from _neural_baselines(split, seed) if name == NEURAL else _baselines(split, name, chosen, seed)
    # For several classes the paper's own learner, its softmax of costs, trained until it has converged.
    own = name == NEURAL or (name == "linear" and split.y.max() > 1)
    estimator = name if own else make_classifier(name, chosen[name], seed)
    # One decision-maker for everybody: the same learner, and bounds that know nothing of the instrument.
    nobody = np.zeros(len(makers), dtype=int)
    for method, mode, ids in (
        ("partial", "partial", makers),
        ("point", "point", makers),
        ("no-instrument", "partial", nobody),
    ):
        learner = sl.UCLClassifier(
            mode, estimator, nuisance=chosen[NUISANCE], random_state=seed, memory=memory
        )
        yield method, learner.fit(split.features, split.y, decision_maker=ids)


def _baselines(split: Split, name: str, chosen: Mapping[str, Any], seed: int) -> Iterator[tuple[str, Any]]:
    makers = split.decision_maker
    # The decision-maker is a feature of the baselines, as the paper's text has it.
    classifier = make_classifier(name, chosen[name], seed)
    selected = sl.SelectedSampleClassifier(classifier, use_decision_maker=True, random_state=seed)
    weighted = sl.IPWClassifier(classifier, use_decision_maker=True, random_state=seed)
    full = sl.SelectedSampleClassifier(classifier, use_decision_maker=True, random_state=seed)
    yield "selected", selected.fit(split.features, split.y, decision_maker=makers)
    yield "ipw", weighted.fit(split.features, split.y, decision_maker=makers)
    yield "full", full.fit(split.features, split.y_true, decision_maker=makers)


def _neural_baselines(split: Split, seed: int) -> Iterator[tuple[str, Any]]:
    """The network itself, fitted to labels; where every row has one, the library's learner is just that."""
    for method, labels in (("selected", split.y), ("full", split.y_true)):
        seen = labels >= 0
        network = sl.UCLClassifier("partial", NEURAL, random_state=seed)
        yield method, network.fit(split.features[seen], labels[seen])
