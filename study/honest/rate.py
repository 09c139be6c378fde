"""How fast the excess risk falls as cases are added: plug-in rules, and learners for two to five classes."""

from typing import Any

import numpy as np

import selective_labels as sl
from selective_labels import datasets
from study.engine import Rows
from study.honest.designs import draw_strong, limits_of
from study.scoring import Scorer, Split
from study.task_memory import TaskMemory
from study.tasks import Setup, Task, whole_number

SIZES = (500, 1000, 2000, 4000, 8000, 16000, 32000)
CELLS = tuple(f"additive-n{size}" for size in SIZES)
# Beside the plug-in rule, the linear learner, and other numbers of classes.
N_CLASSES = (2, 3, 5)
LEARNER_SIZES = SIZES[:6]
LEARNER_CELLS = tuple(f"k{n_classes}-n{size}" for n_classes in N_CLASSES for size in LEARNER_SIZES)
N_TEST = 20000
# One family of nuisance models at all sizes: a change of model would look like a change of rate.
NUISANCE = "quadratic"


def run_rate(task: Task, setup: Setup) -> Rows:
    """Plug-in rules of growing samples of the additive design, judged on many new cases.

    The excess risk of point learning and the excess worst-case risk of partial learning should fall; that
    of training on the labeled cases should not.
    """
    split, seed = _drawn(task, setup, 3)
    scorer = Scorer(split, limits_of(draw_strong, "additive", task.mirrored))
    return _rows(scorer, seed, ("plug-in",))


def run_learners(task: Task, setup: Setup) -> Rows:
    """The same for a number of classes, with the linear learner beside the plug-in rule."""
    split, seed = _drawn(task, setup, int(task.cell.partition("-")[0].removeprefix("k")))
    return _rows(Scorer(split), seed, ("plug-in", "linear"))


def _drawn(task: Task, setup: Setup, n_classes: int) -> tuple[Split, int]:
    """One call draws training and test cases, so that they share the decision-makers and the law."""
    size = min(int(task.cell.rpartition("n")[2]), setup.n_samples or N_TEST + SIZES[-1])
    seeds = task.seeds(setup.entropy, 2)
    n_test = N_TEST if setup.n_samples is None else setup.n_samples
    sample = datasets.make_decision_makers(
        size + n_test, n_classes=n_classes, mirrored=task.mirrored, random_state=seeds[0]
    )
    return Split(sample, np.arange(size), np.arange(size, size + n_test)), whole_number(seeds[1])


def _rows(scorer: Scorer, seed: int, learners: tuple[str, ...]) -> Rows:
    split, memory, rows = scorer.split, TaskMemory(), []
    methods: list[tuple[str, str, Any]] = [
        ("selected", "linear", sl.SelectedSampleClassifier("linear", random_state=seed))
    ]
    methods += [
        (
            mode,
            learner,
            sl.UCLClassifier(mode, learner, nuisance=NUISANCE, random_state=seed, memory=memory),
        )
        for learner in learners
        for mode in ("partial", "point")
    ]
    for name, classifier, method in methods:
        method.fit(split.features, split.y, decision_maker=split.decision_maker)
        predicted = method.predict(split.test_features)
        mode = getattr(method, "mode_", "")
        rows.append(scorer.row(predicted, name, classifier, f"n={len(split.train)}", mode))
    return rows
