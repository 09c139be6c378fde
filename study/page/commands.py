"""The commands that make a set of results again."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from study.catalogue import find_experiment
from study.page.numbers import of
from study.page.reading import USUAL_RUN
from study.table import TASK_COLUMNS

PAGE = "python -m study page {folders} --published PUBLISHED_MEANS --out study/results"


def commands(rows: pd.DataFrame, run: Mapping[str, Any]) -> str:
    """Shell commands, one for each part of each experiment, and the one that makes the page.

    Parameters
    ----------
    rows : DataFrame
        Results.
    run : mapping
        Their seed and the number of samples.

    Examples
    --------
    >>> task = dict(zip(TASK_COLUMNS, ("rate", "honest", "additive-n500", False, "all", 0)))
    >>> print(commands(pd.DataFrame([task]), {"seed": 7, "samples": None}))
    python -m study reproduce rate --parts all --cells additive-n500 --reps 1 --seed 7 ...
    python -m study page runs/honest --published PUBLISHED_MEANS --out study/results
    """
    tasks = rows.drop_duplicates([*TASK_COLUMNS])
    folders: dict[str, None] = {}
    lines = []
    options = "".join(f" --{name} {run[name]}" for name, usual in USUAL_RUN.items() if run[name] != usual)
    columns = (tasks["protocol"], tasks["experiment"], tasks["part"])
    for protocol, name, part in sorted(set(zip(*columns, strict=True))):
        folder = f"runs/{protocol}"
        line = _command(of(tasks, protocol=protocol, experiment=name, part=part), name, protocol, part)
        lines.append(f"{line}{options} --jobs 2 --out {folder}{' --resume' if folder in folders else ''}")
        folders[folder] = None
    return "\n".join([*lines, PAGE.format(folders=" ".join(folders))])


def missing_means(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Published means that no repetition of ours stands beside: experiment, part, cell and method."""
    ours = of(rows, protocol="published", mirrored=False)
    names = ["experiment", "cell", "method"]
    there = set(ours[names].itertuples(index=False, name=None))
    left = [row for row in published.to_dict("records") if tuple(row[name] for name in names) not in there]
    frame = pd.DataFrame(left, columns=published.columns)
    usual = np.where(frame["experiment"] == "sensitivity", "partial", "usual")
    return frame.assign(part=np.where(frame["method"] == "point", "point", usual))


def missing_commands(missing: pd.DataFrame) -> str:
    """Shell commands that make the means of :func:`missing_means`, once each."""
    lines = []
    for (name, part), here in missing.assign(repetition=0).groupby(["experiment", "part"], sort=False):
        line = _command(here, str(name), "published", str(part))
        lines.append(f"{line} --out runs/published --resume")
    return "\n".join(lines)


def _command(tasks: pd.DataFrame, name: str, protocol: str, part: str) -> str:
    """Name what differs from the experiment's own cells and repetitions."""
    experiment = find_experiment(name, protocol)
    words = ["python -m study reproduce", name]
    if protocol != "honest":
        words.append(f"--protocol {protocol}")
    words.append(f"--parts {part}")
    cells = list(dict.fromkeys(tasks["cell"]))
    if len(cells) < len(experiment.cells):
        words.append(f"--cells {','.join(cells)}")
    repetitions = int(tasks["repetition"].max()) + 1
    if repetitions != experiment.parts[part]:
        words.append(f"--reps {repetitions}")
    if experiment.needs_data:
        words.append("--data heloc_dataset_v1.csv.gz")
    return " ".join(words)
