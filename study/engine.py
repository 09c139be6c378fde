"""Run the tasks of an experiment: in parallel, resumable, each finished task kept at once."""

import json
import subprocess
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import joblib
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from selective_labels import InputError
from selective_labels._parallel import in_processes, listening, with_progress
from selective_labels.io.files import whole_file
from study.table import TaskTable
from study.tasks import TUNING, Setup, Task

RESULT_COLUMNS = (
    "method",
    "classifier",
    "setting",
    "accuracy",
    "expected_accuracy",
    "excess_risk",
    "excess_worst_case_risk",
    "bayes_accuracy",
    "minimax_accuracy",
    "selected_accuracy",
    "labeled_share",
    "mode",
    "constant",
)
CHOICE_COLUMNS = ("name", "value")
# Seed and size of the runs in a folder.
RUN_FILE = "run.json"
# What a task took, and the commit that did it.
TIME_COLUMNS = ("seconds", "processor_seconds", "unconverged", "commit")

Rows = list[Mapping[str, Any]]
Work = Callable[[Task, Setup], Rows]


@dataclass(frozen=True)
class Experiment:
    """Cells and parts of an experiment, and what a task of it does.

    Attributes
    ----------
    name, protocol : str
    cells : tuple of str
    parts : mapping of str to int
        Name of each part, and how often it is repeated unless someone asks for another number.
    run : callable (Task, Setup) -> list of rows
    choose : callable (Task, Setup) -> list of rows, optional
        Chooses settings on a draw of its own, once for each cell, direction and part.
    mirrors : tuple of bool
    needs_data : bool
        Whether the experiment needs the HELOC table.
    at_most : mapping of str to int
        Cells that are repeated less often than their part says.
    columns : tuple of str
        Of the results.
    """

    name: str
    protocol: str
    cells: tuple[str, ...]
    parts: Mapping[str, int]
    run: Work
    choose: Work | None = None
    mirrors: tuple[bool, ...] = (False, True)
    needs_data: bool = False
    at_most: Mapping[str, int] = field(default_factory=dict)
    columns: tuple[str, ...] = RESULT_COLUMNS

    def tasks(
        self,
        cells: Iterable[str] = (),
        parts: Iterable[str] = (),
        repetitions: int | None = None,
        only: Collection[int] = (),
    ) -> list[Task]:
        """List tasks, repetition by repetition, so that an unfinished run has something of every cell.

        Parameters
        ----------
        cells, parts : names or patterns
            Empty: all.
        repetitions : int, optional
            Default: what each part says, and the cell allows.
        only : ints
            Numbers of single repetitions, counted from zero. Empty: all.
        """
        chosen = _matching("cells", self.cells, cells)
        numbers = {
            (part, cell): only or range(self.repetitions(part, cell) if repetitions is None else repetitions)
            for part in _matching("parts", tuple(self.parts), parts)
            for cell in chosen
        }
        return [
            Task(self.name, self.protocol, cell, mirrored, part, repetition)
            for repetition in sorted(set().union(*numbers.values()))
            for part, cell in numbers
            if repetition in numbers[part, cell]
            for mirrored in self.mirrors
        ]

    def repetitions(self, part: str, cell: str) -> int:
        """How often a part of a cell is repeated unless someone asks for another number."""
        return min(self.parts[part], self.at_most.get(cell, self.parts[part]))


class Workers(NamedTuple):
    """Who does the work.

    Attributes
    ----------
    jobs : int
        Number of processes; -1: one for each core, or all workers of the cluster.
    backend : str, optional
        "dask": the workers of a Dask cluster.
    scheduler : str, optional
        Address of its scheduler.
    """

    jobs: int = 1
    backend: str | None = None
    scheduler: str | None = None


def reproduce(
    experiment: Experiment,
    tasks: list[Task],
    setup: Setup,
    out: Path,
    *,
    resume: bool = False,
    workers: Workers | None = None,
) -> TaskTable:
    """Run the tasks that are not done yet, and keep each as soon as it is finished.

    Parameters
    ----------
    experiment : Experiment
    tasks : list of Task
    setup : Setup
    out : Path
        Folder of `results.csv`, `settings.csv` (what was chosen on a separate draw) and `times.csv`.
    resume : bool
        Go on where an earlier run ended; without it, results in the folder are an error.
    workers : Workers, optional

    Returns
    -------
    TaskTable
        The results.
    """
    workers = Workers() if workers is None else workers
    results = TaskTable(out / "results.csv", experiment.columns)
    settings = TaskTable(out / "settings.csv", CHOICE_COLUMNS)
    if not resume and (results.path.exists() or settings.path.exists()):
        raise InputError(f"{out} holds results already; add --resume to go on, or name another --out.")
    if experiment.needs_data and setup.data is None:
        raise InputError("The FICO experiment needs the HELOC table: give its path with --data.")
    _check_same_run(out, setup)
    done, chosen = results.recover(), settings.recover()
    missing = [task for task in tasks if task not in done]
    times = TaskTable(out / "times.csv", TIME_COLUMNS)
    times.recover()
    with _cluster(workers):
        if experiment.choose is not None:
            draws = {replace(task, repetition=TUNING): None for task in missing}
            to_choose = [task for task in draws if task not in chosen]
            _run_all(experiment.choose, to_choose, setup, settings, times, workers, "Choosing settings")
            if draws:
                setup = replace(setup, choices=_choices(settings, experiment))
        _run_all(experiment.run, missing, setup, results, times, workers, f"{experiment.name} tasks")
    return results


def run_task(work: Work, task: Task, setup: Setup) -> tuple[Task, Rows, Mapping[str, float]]:
    """Do one task on one thread; its rows depend on the task and the setup only, the time taken does not.

    Besides rows and times, it counts the fits that ended before they had converged.
    """
    start, processor = time.perf_counter(), time.process_time()
    with (
        threadpool_limits(1),
        warnings.catch_warnings(record=True) as unconverged,
        # Steps within a task are no progress of the study.
        listening(lambda *_: None),
    ):
        # Weak instruments and single decision-makers are the study's subject, and its page speaks of them.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ConvergenceWarning)
        rows = work(task, setup)
    taken = (time.perf_counter() - start, time.process_time() - processor, len(unconverged))
    return task, rows, dict(zip(TIME_COLUMNS[:-1], taken, strict=True))


def _run_all(
    work: Work,
    tasks: list[Task],
    setup: Setup,
    table: TaskTable,
    times: TaskTable,
    workers: Workers,
    what: str,
) -> None:
    if not tasks:
        return
    todo = [(run_task, work, task, setup) for task in tasks]
    commit = current_commit()
    finished = in_processes(todo, n_jobs=workers.jobs, in_order=False, batch_size=1)
    for task, rows, taken in with_progress(finished, what, len(tasks)):
        table.append(task, rows)
        times.append(task, [{**taken, "commit": commit}])


def current_commit() -> str:
    """Name the commit of the clone, with a plus if files differ from it; empty outside a clone."""
    describe = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
    try:
        told = subprocess.run(
            describe, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return told.stdout.strip()


@contextmanager
def _cluster(workers: Workers) -> Iterator[None]:
    """Send joblib's work to a Dask cluster, if there is to be one."""
    if workers.backend is None:
        yield
        return
    if workers.backend != "dask":
        raise InputError(f"--backend {workers.backend} is not known; the only one is dask.")
    if workers.scheduler is None:
        raise InputError("--backend dask needs the address of a scheduler: give it with --scheduler.")
    try:
        from distributed import Client
    except ImportError:
        raise InputError("--backend dask needs Dask; install it with: pip install dask distributed") from None
    with (
        Client(workers.scheduler, set_as_default=False) as client,
        joblib.parallel_config("dask", client=client),
    ):
        yield


def _choices(settings: TaskTable, experiment: Experiment) -> dict[tuple[str, bool, str], dict[str, Any]]:
    choices: dict[tuple[str, bool, str], dict[str, Any]] = {}
    frame = settings.read()
    ours = frame[(frame["experiment"] == experiment.name) & (frame["protocol"] == experiment.protocol)]
    for row in ours.to_dict("records"):
        key = (row["cell"], row["mirrored"], row["part"])
        choices.setdefault(key, {})[row["name"]] = json.loads(row["value"])
    return choices


def _check_same_run(out: Path, setup: Setup) -> None:
    """Refuse to mix results of different sizes or seeds in one folder."""
    path = out / RUN_FILE
    ours = {"seed": setup.entropy, "samples": setup.n_samples}
    if not path.exists():
        out.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as draft:
            draft.write_text(json.dumps(ours) + "\n")
        return
    theirs = json.loads(path.read_text())
    for name, value in ours.items():
        if theirs.get(name) != value:
            raise InputError(
                f"{out} was made with --{name} {theirs.get(name)}, not {value}; name another --out."
            )


def _matching(what: str, names: tuple[str, ...], patterns: Iterable[str]) -> list[str]:
    patterns = list(patterns)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise InputError(f"--{what} {pattern} matches none of {', '.join(names)}.")
    return [name for name in names if not patterns or any(fnmatchcase(name, each) for each in patterns)]
