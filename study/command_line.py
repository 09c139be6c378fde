"""The commands of the study: run its experiments, and write its page."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from selective_labels import InputError
from selective_labels.cli.console import guarded, working
from selective_labels.cli.main import advise

SECONDS_BETWEEN_LINES = 60.0
Names = list[str] | None


class ExperimentName(StrEnum):
    """What can be reproduced."""

    SYNTHETIC = "synthetic"
    FICO = "fico"
    SENSITIVITY = "sensitivity"
    STRONG = "strong"
    RATE = "rate"
    LEARNER_RATE = "learner-rate"
    ARTEFACT = "artefact"
    TILT = "tilt"


class Protocol(StrEnum):
    """As it should be, or as it was."""

    HONEST = "honest"
    PUBLISHED = "published"


class Backend(StrEnum):
    """Who does the work, other than processes on this computer."""

    DASK = "dask"


app = typer.Typer(
    help="The replication study: the paper's experiments as published, and as they should be.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@app.callback()
def top(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options that stand before the command."""
    context.obj = {"debug": debug}


@app.command(epilog="Example: python -m study reproduce synthetic --out runs/honest --jobs 2")
@guarded
def reproduce(
    context: typer.Context,
    experiment: Annotated[ExperimentName, typer.Argument(help="The experiment.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder of the results.", metavar="DIR")],
    protocol: Annotated[
        Protocol, typer.Option(help="honest: with controls; published: what was done.")
    ] = Protocol.HONEST,
    reps: Annotated[
        int | None, typer.Option(help="Repetitions of each cell. Default: the study's own.", min=1)
    ] = None,
    repetition: Annotated[
        list[int] | None,
        typer.Option(help="One repetition alone, by its number in the results. Repeatable.", min=0),
    ] = None,
    cells: Annotated[
        Names, typer.Option(help="Cells, such as 'uc-*'. Repeatable, or with commas. Default: all.")
    ] = None,
    parts: Annotated[
        Names, typer.Option(help="Parts, such as main or point. Repeatable, or with commas. Default: all.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an earlier run ended.")] = False,
    jobs: Annotated[
        int | None, typer.Option(help="Processes; -1: one for each core. Default: 1.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="The HELOC table, for fico and tilt.", exists=True, metavar="FILE")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Cases in each data set. Default: the study's own.", min=50)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Where the random numbers begin.")] = None,
    backend: Annotated[Backend | None, typer.Option(help="Send the work to a cluster.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of its scheduler.", metavar="ADDRESS")
    ] = None,
) -> None:
    """Run an experiment; results are kept as they come, and can be resumed."""
    from study.catalogue import find_experiment
    from study.engine import Workers
    from study.engine import reproduce as run
    from study.tasks import ENTROPY, Setup

    if reps is not None and repetition:
        raise InputError("--repetition names single repetitions, --reps how many: give one of them.")
    if jobs == 0:
        raise InputError("--jobs 0: give a number of processes, or -1 for one on each core.")
    if backend is None and scheduler is not None:
        raise InputError("--scheduler needs --backend dask.")
    if backend is not None and jobs is not None:
        raise InputError("--jobs are processes of this computer; a cluster uses all of its workers.")
    chosen = find_experiment(experiment.value, protocol.value)
    tasks = chosen.tasks(_listed(cells), _listed(parts), reps, repetition or ())
    setup = Setup(ENTROPY if seed is None else seed, samples, data)
    if jobs is None:
        jobs = 1 if backend is None else -1
    workers = Workers(jobs, None if backend is None else backend.value, scheduler)
    advise(f"Finished tasks are kept in {out}; add --resume to go on.")
    with _told():
        table = run(chosen, tasks, setup, out, resume=resume, workers=workers)
    typer.echo(f"{len(tasks)} tasks of {experiment.value} ({protocol.value}) are in {table.path}.")


@app.command(epilog="Example: python -m study page runs/honest runs/published --out study/results")
@guarded
def page(
    context: typer.Context,
    results: Annotated[list[Path], typer.Argument(help="Folders or CSV files of results.", exists=True)],
    out: Annotated[Path, typer.Option(help="Folder of the page.", metavar="DIR")],
    published: Annotated[
        Path | None,
        typer.Option(help="Folder with the published means (CSV), to set beside ours.", exists=True),
    ] = None,
) -> None:
    """Write the page of the study from whatever results there are."""
    from study.page import write_page

    for path in write_page(results, out, published):
        typer.echo(f"Wrote {path}.")


@app.command(epilog="Example: python -m study coverage --out runs/coverage --jobs 2 --docs docs")
@guarded
def coverage(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder of the draws.", metavar="DIR")],
    designs: Annotated[
        Names, typer.Option(help="Designs, by name. Repeatable. Default: all.", show_default=False)
    ] = None,
    reps: Annotated[
        int | None, typer.Option(help="Draws of each design. Default: the study's own.", min=1)
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    docs: Annotated[Path | None, typer.Option(help="Folder to write coverage.md to.", metavar="DIR")] = None,
) -> None:
    """Count how often intervals have the truth in them; draws are kept, and a run goes on by itself."""
    from study.coverage.designs import DESIGNS
    from study.coverage.run import run
    from study.coverage.table import write_page

    unknown = [name for name in designs or [] if name not in DESIGNS]
    if unknown:
        raise InputError(f"--designs {unknown[0]!r} is not one of {', '.join(map(repr, DESIGNS))}.")
    run(out, designs or (), reps, jobs)
    if docs is not None:
        table = write_page(out, docs)
        typer.echo(
            f"{len(table)} cells, {int(table['below'].sum())} below their limits: {docs / 'coverage.md'}."
        )


@app.command(epilog="Example: python -m study combinations --out runs/combinations --reps 1000 --docs docs")
@guarded
def combinations(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder of the draws.", metavar="DIR")],
    laws: Annotated[
        Names, typer.Option(help="Laws, by name. Repeatable. Default: all.", show_default=False)
    ] = None,
    reps: Annotated[int, typer.Option(help="Draws of each law.", min=1)] = 1000,
    docs: Annotated[
        Path | None, typer.Option(help="Folder to write coverage-combinations.md to.", metavar="DIR")
    ] = None,
) -> None:
    """Count how often intervals under combinations of assumptions have the truth in them; a run goes on."""
    from study.coverage.combinations import LAWS
    from study.coverage.combined_run import run_combinations
    from study.coverage.combined_table import write_combined_page

    unknown = [name for name in laws or [] if name not in LAWS]
    if unknown:
        raise InputError(f"--laws {unknown[0]!r} is not one of {', '.join(map(repr, LAWS))}.")
    run_combinations(out, reps, laws or ())
    if docs is not None:
        table = write_combined_page(out, docs)
        typer.echo(f"{len(table)} cells, the least {table['coverage'].min():.3f}: coverage-combinations.md.")


@app.command(epilog="Example: python -m study partitions --out runs/partitions --reps 200 --wide 20")
@guarded
def partitions(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder of the draws.", metavar="DIR")],
    reps: Annotated[int, typer.Option(help="Draws of each design.", min=1)] = 200,
    wide: Annotated[int, typer.Option(help="Draws that all rows fit models in, too.", min=0)] = 20,
) -> None:
    """Count how often intervals have the truth in them where few of a table's rows fit the models."""
    from study.coverage.partitions import run_partitions, table

    run_partitions(out, reps, wide)
    typer.echo(table(out).round(4).to_string(index=False))


@app.command(epilog="Example: python -m study attacks --out runs/attacks --reps 200 --jobs 2 --docs docs")
@guarded
def attacks(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder of the draws.", metavar="DIR")],
    nuisance: Annotated[
        str, typer.Option(help="Models: logistic, or default (which takes ten times as long).")
    ] = "logistic",
    cells: Annotated[Names, typer.Option(help="Cells, such as 'auc-*'. Repeatable. Default: all.")] = None,
    reps: Annotated[int | None, typer.Option(help="Draws of each cell. Default: 200, or 40.", min=1)] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where an earlier run ended.")] = False,
    samples: Annotated[int | None, typer.Option(help="Cases of each draw, in all cells.", min=50)] = None,
    seed: Annotated[int | None, typer.Option(help="Where the random numbers begin.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    docs: Annotated[
        Path | None, typer.Option(help="Folder to write coverage-attacks.md to.", metavar="DIR")
    ] = None,
) -> None:
    """Count how often natural misuse ends in a number that is wrong without a word."""
    from study.attacks.experiment import EXPERIMENT, check_nuisance
    from study.attacks.page import write_page
    from study.engine import Workers
    from study.engine import reproduce as run
    from study.tasks import ENTROPY, Setup

    part = check_nuisance(nuisance)
    tasks = EXPERIMENT.tasks(_listed(cells), [part], reps)
    advise(f"Finished draws are kept in {out}; add --resume to go on.")
    setup = Setup(ENTROPY if seed is None else seed, samples)
    with _told():
        table = run(EXPERIMENT, tasks, setup, out, resume=resume, workers=Workers(jobs))
    typer.echo(f"{len(tasks)} draws are in {table.path}.")
    if docs is not None:
        typer.echo(f"Wrote {write_page(table.read(), docs, setup.entropy)}.")


@app.command(epilog="Example: python -m study benchmark --out runs/field --data FOLDER --jobs 2 --page DIR")
@guarded
def benchmark(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder of the results.", metavar="DIR")],
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of folders with a tidy.csv.gz each.", exists=True, metavar="FOLDER"),
    ] = None,
    contestants: Annotated[
        list[Path] | None,
        typer.Option(help="A file with LEARNERS or EVALUATORS. Repeatable.", exists=True, metavar="FILE"),
    ] = None,
    cells: Annotated[Names, typer.Option(help="Tables, such as 'human-*'. Default: all.")] = None,
    reps: Annotated[int | None, typer.Option(help="Draws of each table.", min=1)] = None,
    samples: Annotated[int | None, typer.Option(help="Rows of each half, at most.", min=50)] = None,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    page: Annotated[
        Path | None, typer.Option(help="Folder to write benchmark.md and .csv to.", metavar="DIR")
    ] = None,
) -> None:
    """Run learners and evaluators on every table; draws are kept, and the same command goes on."""
    from study.benchmark.experiment import experiment, tasks_of
    from study.benchmark.page import write_page
    from study.engine import Workers
    from study.engine import reproduce as run
    from study.tasks import Setup

    chosen = experiment(data, tuple(contestants or ()))
    tasks = tasks_of(chosen, data, cells=_listed(cells), repetitions=reps)
    advise(f"Finished draws are kept in {out}; the same command goes on.")
    with _told():
        table = run(
            chosen, tasks, Setup(n_samples=samples, data=data), out, resume=True, workers=Workers(jobs)
        )
    typer.echo(f"{len(tasks)} draws are in {table.path}.")
    if page is not None:
        for path in write_page(out, page):
            typer.echo(f"Wrote {path}.")


@app.command(epilog="Example: python -m study modes --out runs/modes --data FOLDER --jobs 2 --page DIR")
@guarded
def modes(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder of the results.", metavar="DIR")],
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of folders with a tidy.csv.gz each.", exists=True, metavar="FOLDER"),
    ] = None,
    cells: Annotated[Names, typer.Option(help="Tables, such as 'human-*'. Default: all.")] = None,
    reps: Annotated[int | None, typer.Option(help="Draws of each table and direction.", min=1)] = None,
    repetition: Annotated[
        list[int] | None, typer.Option(help="One draw alone, by its number. Repeatable.", min=0)
    ] = None,
    samples: Annotated[int | None, typer.Option(help="Rows of each half, at most.", min=50)] = None,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    page: Annotated[
        Path | None, typer.Option(help="Folder to write modes.md and modes.csv to.", metavar="DIR")
    ] = None,
) -> None:
    """Learn in every mode on tables whose truth is known; draws are kept, and the same command goes on."""
    from study.benchmark.modes import modes_experiment, modes_tasks
    from study.benchmark.modes_page import write_modes_page
    from study.engine import Workers
    from study.engine import reproduce as run
    from study.tasks import Setup

    chosen = modes_experiment(data)
    tasks = modes_tasks(chosen, data, cells=_listed(cells), repetitions=reps, only=repetition or ())
    advise(f"Finished draws are kept in {out}; the same command goes on.")
    with _told():
        table = run(
            chosen, tasks, Setup(n_samples=samples, data=data), out, resume=True, workers=Workers(jobs)
        )
    typer.echo(f"{len(tasks)} draws are in {table.path}.")
    if page is not None:
        for path in write_modes_page(table.read(), page):
            typer.echo(f"Wrote {path}.")


def _listed(names: list[str] | None) -> list[str]:
    return [part for name in names or [] for part in name.split(",") if part]


@contextmanager
def _told() -> Iterator[None]:
    """Tell how far the run has come: bars on a terminal, else a line a minute, for logs of long runs."""
    if sys.stderr.isatty():
        with working():
            yield
        return
    from selective_labels._parallel import listening

    start, last = {}, {}

    def listen(what: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done == 0:
            start[what] = last[what] = now
        if done and (now - last[what] >= SECONDS_BETWEEN_LINES or done == total):
            last[what] = now
            left = (now - start[what]) / done * (total - done) / 60
            print(f"{what}: {done} of {total}, about {left:.0f} minutes left", file=sys.stderr, flush=True)

    with listening(listen):
        yield
