"""What modes gain over the labeled rows alone: with the right, the wrong and no direction, and with costs.

The rule was frozen on other seeds. All learners are linear, with logistic models: the same on every table.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import selective_labels as sl
from selective_labels.assumptions import Informed, Instrument
from selective_labels.datasets import make_decision_makers
from study.benchmark.cases import Cell, Halves
from study.benchmark.contestants import MILD
from study.benchmark.experiment import cells_of
from study.benchmark.simulated import design_halves
from study.engine import Experiment, Rows
from study.tasks import Setup, Task, whole_number

# Draws of each table in each direction of selection, or of each table that cannot be turned round.
DRAWS = 20
SKILL = {"": 0.0, "-lenient": 1.0, "-strict": -1.0}
# Differences of skill are drawn at the first size alone.
SIZES = (5000, 15000)
# Cells of the benchmark that the cells below replace, and those of no use: nobody knows their truth.
REPLACED = ("skill-rises", "skill-falls")
# Tables whose refused cases have the last class more often; elsewhere the first, and mirrored the last.
LAST_WORSE = ("human", "philadelphia")
# Both halves of the loans, whole.
EVERYTHING = 10_000
# Costs of missing the last class, and of predicting it wrongly, where the other mistake costs one.
DEAR = 3.0
COSTS = ("misses", "alarms")
METHODS = (
    "labeled only",
    "auto",
    "auto, equal skill",
    "right",
    "wrong",
    "control",
    "wrong control",
    "all labels",
)
MODES = ("auto", "auto, equal skill", "right", "wrong")
COLUMNS = (
    *METHODS,
    *(f"mode of {name}" for name in MODES),
    *(f"cost of {name}, {dear}" for dear in COSTS for name in ("labeled only", "auto")),
    *(f"mode with costly {dear}" for dear in COSTS),
    "contradicted",
    "refused have more",
)


def modes_cells(folder: Path | None) -> dict[str, Cell]:
    """Cells whose truth is known: designs with differences of skill, then those of the benchmark."""
    strong = {
        f"{name}-n{size}{word}": Cell(
            partial(
                design_halves,
                partial(make_decision_makers, n_classes=2, additive=name == "additive", skill_slope=slope),
            ),
            mirrors=True,
            truth=True,
            rows=size,
        )
        for size in SIZES
        for name in ("additive", "not-additive")
        for word, slope in SKILL.items()
        if size == SIZES[0] or not slope
    }
    others = {name: cell for name, cell in cells_of(folder).items() if cell.truth and name not in REPLACED}
    for name, cell in others.items():
        if name.startswith("heloc"):
            others[name] = cell._replace(rows=EVERYTHING)
    return {**strong, **others}


def modes_experiment(folder: Path | None) -> Experiment:
    """Cells, and what a task does."""
    cells = tuple(modes_cells(folder))
    return Experiment("modes", "field", cells, {"all": DRAWS}, run_modes, columns=COLUMNS)


def modes_tasks(chosen: Experiment, folder: Path | None, **which: Any) -> list[Task]:
    """Tasks, without mirrored ones of tables that cannot be mirrored."""
    cells = modes_cells(folder)
    return [task for task in chosen.tasks(**which) if cells[task.cell].mirrors or not task.mirrored]


def run_modes(task: Task, setup: Setup) -> Rows:
    """Draw once, learn in every way, and judge by the labels of everybody: one row."""
    seeds = task.seeds(setup.entropy, 2)
    cell = modes_cells(setup.data)[task.cell]
    halves = cell.draw(task.mirrored, seeds[0], setup.n_samples or cell.rows)
    right = -1 if task.cell.startswith(LAST_WORSE) != task.mirrored else 0
    return [_learned(halves, right, whole_number(seeds[1]))]


def _learned(halves: Halves, right: int, seed: int) -> dict[str, Any]:
    data, truth = halves.train.data(), np.asarray(halves.population.y_true)
    classes = data.classes.tolist()
    worse, better = classes[right], classes[-1 - right]

    def auto(**settings: Any) -> sl.UCLClassifier:
        model = sl.UCLClassifier("auto", "linear", nuisance="logistic", random_state=seed, **settings)
        return model.fit(data)

    def alone(cases: Any = data, **settings: Any) -> sl.SelectedSampleClassifier:
        return sl.SelectedSampleClassifier("linear", random_state=seed, **settings).fit(cases)

    fitted: dict[str, Any] = {
        "labeled only": alone(),
        "auto": auto(),
        "auto, equal skill": auto(skill_range=0.0),
        "right": auto(assumption=Instrument() & Informed(worse)),
        "wrong": auto(assumption=Instrument() & Informed(better)),
        "control": alone(refused_odds={worse: MILD}),
        "wrong control": alone(refused_odds={better: MILD}),
        "all labels": alone(replace(halves.train, y=np.asarray(halves.train.y_true)).data()),
    }
    row: dict[str, Any] = {
        name: float(np.mean(model.predict(halves.population.X) == truth)) for name, model in fitted.items()
    }
    row |= {f"mode of {name}": fitted[name].mode_ for name in MODES}
    row["contradicted"] = "contradicts" in fitted["wrong"].mode_reason_
    # How much more often than its model of the labeled rows says the refused have the stated class.
    refused = np.flatnonzero(halves.population.y < 0)
    predicted = fitted["labeled only"].predict_proba(halves.population.take(refused).X)
    row["refused have more"] = float(np.mean((truth[refused] == worse) - predicted[:, classes.index(worse)]))
    for dear, matrix in zip(COSTS, _costs(len(classes)), strict=True):
        modes = auto(cost=matrix)
        for name, model in (("labeled only", alone(cost=matrix)), ("auto", modes)):
            chosen = np.searchsorted(data.classes, model.predict(halves.population.X))
            row[f"cost of {name}, {dear}"] = float(matrix[truth, chosen].mean())
        row[f"mode with costly {dear}"] = modes.mode_
    return row


def _costs(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Missing the last class is dear, or predicting it wrongly is."""
    even = 1.0 - np.eye(n_classes)
    misses, alarms = even.copy(), even.copy()
    misses[-1] *= DEAR
    alarms[:, -1] *= DEAR
    return misses, alarms
