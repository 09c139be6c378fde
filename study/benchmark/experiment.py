"""The benchmark as an experiment of the study: a task is one draw of one table, for all contestants."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from selective_labels import InputError
from study.benchmark.cases import MOST_ROWS, Cell, Halves
from study.benchmark.contestants import BASES, Field, field, selected
from study.benchmark.simulated import simulated_cells
from study.benchmark.tidy import tidy_cells
from study.engine import Experiment, Rows
from study.tasks import Setup, Task, whole_number

COLUMNS = (
    "kind",
    "contestant",
    "accuracy",
    "lower",
    "upper",
    "ci_lower",
    "ci_upper",
    "truth",
    "seconds",
    "labeled_share",
    "n_train",
    "failure",
)
REPETITIONS = 5
LEARN, EVALUATE = "learn", "evaluate"
FULL = "full"


def cells_of(folder: Path | None) -> dict[str, Cell]:
    """All cells: those that need no file, and those of the folder."""
    cells = {**simulated_cells(folder), **tidy_cells(folder)}
    if folder is not None and len(cells) == len(simulated_cells(None)):
        raise InputError(f"{folder} has no folder with a tidy.csv.gz in it, and no HELOC table.")
    return cells


def experiment(folder: Path | None, contestants: tuple[Path, ...] = ()) -> Experiment:
    """Cells, and what a task does."""
    return Experiment(
        "benchmark",
        "field",
        tuple(cells_of(folder)),
        {"all": REPETITIONS},
        partial(run_task, contestants),
        columns=COLUMNS,
    )


def tasks_of(chosen: Experiment, folder: Path | None, **which: Any) -> list[Task]:
    """Tasks, without mirrored ones of tables that cannot be mirrored."""
    cells = cells_of(folder)
    return [task for task in chosen.tasks(**which) if cells[task.cell].mirrors or not task.mirrored]


def run_task(contestants: tuple[Path, ...], task: Task, setup: Setup) -> Rows:
    """Draw once; every learner learns from it, every evaluator judges one rule on it."""
    seeds = task.seeds(setup.entropy, 2)
    cell = cells_of(setup.data)[task.cell]
    halves = cell.draw(task.mirrored, seeds[0], setup.n_samples or MOST_ROWS)
    everybody, seed = field(contestants), whole_number(seeds[1])
    common = {
        "labeled_share": float(np.mean(halves.train.y >= 0)),
        "n_train": len(halves.train.y),
    }
    rows = [*(_learned(halves, everybody, seed) if cell.truth else ()), *_judged(halves, everybody, seed)]
    return [{**common, **row} for row in rows]


def _learned(halves: Halves, everybody: Field, seed: int) -> Rows:
    """Accuracy on everybody of every learner, and of the oracle of each base."""
    data = halves.train.data()
    rows: Rows = []
    for name, learner in everybody.learners.items():
        rows.append({"kind": LEARN, "contestant": name, **_accuracy(partial(learner, data, seed), halves)})
    for base in BASES:
        # The oracle of the same learner sees every label: what is above the naive one is due to selection.
        whole = halves.train.__class__(**{**vars(halves.train), "y": halves.train.y_true}).data()
        rows.append(
            {
                "kind": LEARN,
                "contestant": f"{FULL}, {base}",
                **_accuracy(partial(selected, base, whole, seed), halves),
            }
        )
    return rows


def _accuracy(fit: Any, halves: Halves) -> dict[str, Any]:
    start = time.process_time()
    try:
        fitted = fit()
        taken = time.process_time() - start
        predicted = np.asarray(fitted.predict(halves.population.X))
    except Exception as error:
        # A contestant that fails has no number; the page says how often.
        return {"failure": f"{type(error).__name__}: {error}"[:200]}
    return {"accuracy": float(np.mean(predicted == halves.population.y_true)), "seconds": taken}


def _judged(halves: Halves, everybody: Field, seed: int) -> Rows:
    """Bounds of the accuracy of one rule: the naive linear one, learned on the other half."""
    rule = selected("linear", halves.train.data(), seed)
    predicted = np.asarray(rule.predict(halves.test.X)).astype(int)
    truth: float | None = None
    if halves.population.y_true is not None:
        truth = float(np.mean(np.asarray(rule.predict(halves.population.X)) == halves.population.y_true))
    data = halves.test.data()
    rows: Rows = []
    for name, evaluator in everybody.evaluators.items():
        start = time.process_time()
        try:
            ends = dict(evaluator(predicted, data, seed)._asdict())
        except Exception as error:
            ends = {"failure": f"{type(error).__name__}: {error}"[:200]}
        seconds = time.process_time() - start
        rows.append({"kind": EVALUATE, "contestant": name, "truth": truth, "seconds": seconds, **ends})
    return rows
