"""The experiments of the honest protocol."""

from functools import partial

from study.engine import Experiment, Rows
from study.honest import rate, sensitivity
from study.honest.designs import (
    FICO_CELLS,
    STRONG_CELLS,
    SYNTHETIC_CELLS,
    Draw,
    draw_fico,
    draw_strong,
    draw_synthetic,
)
from study.honest.methods import NEURAL, choose_for_cell, compare_methods
from study.tasks import Setup, Task

PROTOCOL = "honest"
# Classifiers of each part, and how often it is repeated.
MAIN, MORE = ("linear", "boosting"), ("adaboost", "forest", "svm")
PARTS = {"main": (MAIN, 20), "more": (MORE, 5), NEURAL: ((NEURAL,), 1)}


def _run(task: Task, setup: Setup, draw: Draw) -> Rows:
    return compare_methods(task, setup, draw, PARTS[task.part][0])


def _choose(task: Task, setup: Setup, draw: Draw) -> Rows:
    return choose_for_cell(task, setup, draw, PARTS[task.part][0])


def _comparison(
    name: str, cells: tuple[str, ...], parts: tuple[str, ...], draw: Draw, needs_data: bool = False
) -> Experiment:
    return Experiment(
        name,
        PROTOCOL,
        cells,
        {part: PARTS[part][1] for part in parts},
        partial(_run, draw=draw),
        partial(_choose, draw=draw),
        needs_data=needs_data,
    )


EXPERIMENTS = (
    _comparison("synthetic", tuple(SYNTHETIC_CELLS), ("main", NEURAL), draw_synthetic),
    _comparison("fico", tuple(FICO_CELLS), ("main", "more"), draw_fico, needs_data=True),
    _comparison("strong", tuple(STRONG_CELLS), ("main",), draw_strong),
    Experiment(
        "sensitivity",
        PROTOCOL,
        sensitivity.CELLS,
        dict.fromkeys((sensitivity.NUISANCES, sensitivity.ANSWERS), 20),
        sensitivity.run_sensitivity,
    ),
    Experiment("rate", PROTOCOL, rate.CELLS, {"all": 20}, rate.run_rate),
    Experiment("learner-rate", PROTOCOL, rate.LEARNER_CELLS, {"all": 5}, rate.run_learners),
)
