"""Run the study: draws side by side, each kept at once, so that an interrupted run goes on."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from selective_labels._parallel import in_processes
from study.coverage.designs import DESIGNS
from study.coverage.replication import replicate

SEED = 20261116


def run(out: Path, names: Iterable[str] = (), n_replications: int | None = None, n_jobs: int = 1) -> None:
    """Draw what is missing and append it, one line for each draw.

    Parameters
    ----------
    out : Path
        A folder, with one file for each design.
    names : iterable of str
        Designs; default all.
    n_replications : int, optional
        Default: what the design says.
    n_jobs : int
    """
    out.mkdir(parents=True, exist_ok=True)
    for name in names or DESIGNS:
        done = {each["draw"] for each in draws(out, name)}
        missing = [each for each in range(n_replications or DESIGNS[name].n_replications) if each not in done]
        tasks = [(draw, name, number) for number in missing]
        with path(out, name).open("a") as file:
            for row in in_processes(tasks, n_jobs=n_jobs, in_order=False):
                file.write(json.dumps(row) + "\n")
                file.flush()
        print(f"{name}: {len(done)} draws were there, {len(missing)} are new", flush=True)


def draw(name: str, number: int) -> dict[str, Any]:
    """One line of results; the seed belongs to the design and to the number of the draw."""
    place = list(DESIGNS).index(name)
    found, cautions = replicate(name, np.random.SeedSequence(SEED, spawn_key=(place, number)))
    intervals = [[*key, *ends] for key, ends in found.items()]
    return {"draw": number, "intervals": intervals, "cautions": cautions}


def draws(out: Path, name: str) -> list[dict[str, Any]]:
    """Draws that are kept."""
    file = path(out, name)
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def path(out: Path, name: str) -> Path:
    """File of a design.

    Examples
    --------
    >>> path(Path("runs"), "J=8, not additive").name
    'j-8-not-additive.jsonl'
    """
    words = "".join(each if each.isalnum() else " " for each in name.lower()).split()
    return out / ("-".join(words) + ".jsonl")
