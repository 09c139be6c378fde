"""Work in other processes, which end when this one does, however it ends."""

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, delayed

from selective_labels.support.errors import WorkerError

# How often a worker looks whether whoever started it still lives.
LOOK_SECONDS = 0.2
# Dask's words for workers or a scheduler that are gone.
LOSSES = (".KilledWorker", ".CommClosedError")


def in_processes(
    tasks: Iterable[tuple[Any, ...]], *, n_jobs: int | None, in_order: bool = True, **options: Any
) -> Iterator[Any]:
    """Results of tasks, as they come, by the processes of joblib or whatever it is configured to use.

    Parameters
    ----------
    tasks : iterable of (function, *arguments)
    n_jobs : int, optional
    in_order : bool
        Results in the order of the tasks; else as they are finished.
    **options
        For :class:`joblib.Parallel`.

    Raises
    ------
    WorkerError
        A worker was ended from outside.

    Examples
    --------
    >>> list(in_processes([(pow, 2, 3), (pow, 3, 2)], n_jobs=1))
    [8, 9]
    """
    return_as = "generator" if in_order else "generator_unordered"
    # Threads and clusters do not ask for the initializer: they end by themselves.
    watched = {"initializer": _watch, "initargs": (os.getpid(),)}
    parallel = Parallel(n_jobs=n_jobs, return_as=return_as, **options, **watched)
    with losses_told():
        yield from parallel(delayed(function)(*arguments) for function, *arguments in tasks)


@contextmanager
def losses_told() -> Iterator[None]:
    """Say in a sentence that workers are gone, whoever did the work."""
    try:
        yield
    except BrokenProcessPool:
        raise WorkerError(
            "A worker process was ended from outside, as happens when memory runs out; "
            "try fewer jobs at a time, or smaller partitions."
        ) from None
    except Exception as error:
        if not (isinstance(error, CancelledError) or _of_cluster(error)):
            raise
        raise WorkerError(
            f"The Dask cluster is gone, or lost its workers ({type(error).__name__}); start it, and the same "
            "work, again."
        ) from error


def _of_cluster(error: Exception) -> bool:
    """Whether it is an error by which Dask tells of losses; nothing is imported to find out."""
    names = [f"{each.__module__}.{each.__name__}" for each in type(error).__mro__]
    return any(each.startswith("distributed.") and each.endswith(LOSSES) for each in names)


def _watch(parent: int) -> None:
    threading.Thread(target=_end_with, args=(parent,), name="end with parent", daemon=True).start()


def _end_with(parent: int) -> None:
    """Wait until the parent is gone, then end: joblib's workers would finish their task first."""
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    # An import could wait for ever here; what is not loaded has written nothing.
    atomic = sys.modules.get("selective_labels.saving.atomic")
    if atomic is not None:
        atomic.discard_unfinished()
    os._exit(1)
