"""Work on all parts of a table: by a Dask cluster if one is at hand, else on this machine's cores."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd
from joblib import effective_n_jobs

from selective_labels.partitions.sources import DaskSource, Source
from selective_labels.support.jobs import one_thread
from selective_labels.support.processes import in_processes, losses_told
from selective_labels.support.progress import followed

# Sums of so many parts are added at a time.
BRANCHES = 8
# Fewer rows than this are done in this process: starting others takes longer.
FEW_ROWS = 300_000

# From some rows to something that can be combined.
RowsTask = Callable[[pd.DataFrame], Any]
Combine = Callable[[Sequence[Any]], Any]


def over_parts(
    source: Source,
    columns: Sequence[str],
    task: RowsTask,
    combine: Combine,
    *,
    n_jobs: int | None = None,
    what: str = "",
) -> Any:
    """Combine what a task says of all rows, a bounded number of them at a time.

    Parameters
    ----------
    source : ParquetSource or DaskSource
    columns : sequence of str
        What the task needs; nothing else is read.
    task : callable of a frame
        Plain function of some rows, indexed by their numbers. Sent to other processes.
    combine : callable of a sequence of results
        Must give the same in any order, up to rounding.
    n_jobs : int, optional
        Processes on this machine, if no Dask client is active. Default: the cores there are.
    what : str
        A few words for people.

    Returns
    -------
    The combination; None if there is no row.
    """
    parts = source.parts
    if not parts:
        return None
    if isinstance(source, DaskSource) or active_client() is not None:
        return _by_dask(parts, columns, task, combine)
    results: Iterator[Any]
    if source.n_rows < FEW_ROWS or len(parts) == 1:
        results = (one_part(part, columns, task, combine) for part in parts)
    else:
        n_jobs = effective_n_jobs(-1 if n_jobs is None else n_jobs)
        tasks = [(one_part, part, columns, task, combine) for part in parts]
        results = in_processes(tasks, n_jobs=n_jobs, pre_dispatch=n_jobs + 1, batch_size=1)
    waiting: list[Any] = []
    for result in followed(results, what, len(parts)):
        waiting.append(result)
        if len(waiting) == BRANCHES:
            waiting = [_combined(waiting, combine)]
    return _combined(waiting, combine)


def one_part(part: Any, columns: Sequence[str], task: RowsTask, combine: Combine) -> Any:
    """Combine what a task says of the rows of one part; None if it has none."""
    with one_thread():
        found = None
        for frame in part.frames(columns):
            found = _combined([found, task(frame)], combine)
        return found


def active_client() -> Any:
    """The Dask client that is active, or None; nothing is imported to find out."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _by_dask(parts: Sequence[Any], columns: Sequence[str], task: RowsTask, combine: Combine) -> Any:
    """Results of parts, combined in a tree by whichever scheduler Dask would use."""
    import dask

    shared = dask.delayed(task, pure=False)
    found = [dask.delayed(one_part)(part, list(columns), shared, combine) for part in parts]
    while len(found) > 1:
        groups = [found[first : first + BRANCHES] for first in range(0, len(found), BRANCHES)]
        found = [dask.delayed(_combined)(group, combine) for group in groups]
    with losses_told():
        return dask.compute(found[0])[0]


def _combined(results: Sequence[Any], combine: Combine) -> Any:
    kept = [each for each in results if each is not None]
    if len(kept) < 2:
        return kept[0] if kept else None
    return combine(kept)
