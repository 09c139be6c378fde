"""The attacks as an experiment of the study: a task is one draw of one cell, with one kind of models."""

from selective_labels import InputError
from study.attacks.answers import COLUMNS
from study.attacks.cells import CELLS, Ask
from study.engine import Experiment, Rows
from study.tasks import Setup, Task

# Models by name of the part, and draws of each cell.
NUISANCE: dict[str, str | None] = {"logistic": "logistic", "default": None}
DRAWS = {"logistic": 200, "default": 40}


def run_task(task: Task, setup: Setup) -> Rows:
    """Draw once and ask."""
    cell = CELLS[task.cell]
    seeds = task.seeds(setup.entropy, 2)
    asked = Ask.of(setup.n_samples or cell.n, seeds, NUISANCE[task.part])
    return [each.row() for each in cell.run(asked)]


EXPERIMENT = Experiment("attacks", "honest", tuple(CELLS), DRAWS, run_task, mirrors=(False,), columns=COLUMNS)


def check_nuisance(name: str) -> str:
    """Name of the part, or an error that says what there is.

    Examples
    --------
    >>> check_nuisance("logistic")
    'logistic'
    """
    if name not in NUISANCE:
        raise InputError(f"--nuisance {name} is not one of {', '.join(NUISANCE)}.")
    return name
