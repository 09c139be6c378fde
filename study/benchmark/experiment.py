"""The benchmark as an experiment of the study: a task is one draw of one table, for all contestants."""

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from selective_labels import InputError
from study.benchmark.cases import Cell, Halves
from study.benchmark.contestants import BASES, FULL, Field, field, selected
from study.benchmark.simulated import simulated_cells
from study.benchmark.tidy import tidy_cells
from study.engine import Experiment, Rows
from study.tasks import Setup, Task, whole_number

COLUMNS = (
    "kind",
    "contestant",
    "mode",
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
LEARN, EVALUATE = "learn", "evaluate"


def cells_of(folder: Path | None) -> dict[str, Cell]:
    """All cells: those that need no file, and those of the folder."""
    cells = {**simulated_cells(folder), **tidy_cells(folder)}
    if folder is not None and len(cells) == len(simulated_cells(None)):
        raise InputError(f"{folder} has no folder with a tidy.csv.gz in it, and no HELOC table.")
    return cells


def experiment(folder: Path | None, contestants: tuple[Path, ...] = ()) -> Experiment:
    """Cells, and what a task does."""
    cells = cells_of(folder)
    draws = {name: cell.draws for name, cell in cells.items()}
    return Experiment(
        "benchmark",
        "field",
        tuple(cells),
        {"all": max(draws.values())},
        partial(run_task, contestants),
        at_most=draws,
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
    halves = cell.draw(task.mirrored, seeds[0], setup.n_samples or cell.rows)
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
    fits = {name: partial(learner, data, seed) for name, learner in everybody.learners.items()}
    # The oracle of the same learner sees every label: what is above the naive one is due to selection.
    whole = replace(halves.train, y=np.asarray(halves.train.y_true)).data()
    fits |= {f"{FULL}, {base}": partial(selected, base, whole, seed) for base in BASES}
    return [{"kind": LEARN, "contestant": name, **_accuracy(fit, halves)} for name, fit in fits.items()]


def _accuracy(fit: Any, halves: Halves) -> dict[str, Any]:
    start = time.process_time()
    try:
        fitted = fit()
        taken = time.process_time() - start
        predicted = np.asarray(fitted.predict(halves.population.X))
    except Exception as error:
        # A contestant that fails has no number; the page says how often.
        return {"failure": f"{type(error).__name__}: {error}"[:200]}
    return {
        "accuracy": float(np.mean(predicted == halves.population.y_true)),
        "seconds": taken,
        # Where the instrument is too weak, some of ours are the classifier of the labeled rows, and say so.
        "mode": getattr(fitted, "mode_", ""),
    }


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
