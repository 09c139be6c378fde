"""Parallel execution: threads, worker processes that end with their parent, and progress reports.

Also the limit on how far a compressed file may expand.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from selective_labels._errors import WorkerError

T = TypeVar("T")
# Arguments: description of the work, number of finished steps, total number of steps.
Listener = Callable[[str, int, int], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Report the progress of all long work inside the block to a listener.

    Examples
    --------
    >>> with listening(lambda what, done, total: print(f"{what}: {done} of {total}")):
    ...     squares = list(with_progress((x * x for x in range(2)), "squares", 2))
    squares: 0 of 2
    squares: 1 of 2
    squares: 2 of 2
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def with_progress(results: Iterable[T], what: str, total: int) -> Iterator[T]:
    """Yield results and report each one to the listener as it arrives.

    Parameters
    ----------
    results : iterable
        Results computed lazily, such as those of joblib with ``return_as="generator"``.
    what : str
        Short description of the work, shown to users.
    total : int
        Number of results.
    """
    listener = _listener.get()
    if listener is None:
        yield from results
        return
    listener(what, 0, total)
    for done, result in enumerate(results, start=1):
        listener(what, done, total)
        yield result


# A function, followed by its arguments.
Task = tuple[Any, ...]


class Workers:
    """Run lists of tasks in parallel and return results in the order of the tasks.

    Parameters
    ----------
    n_jobs : int, optional
        Default: the setting of :func:`joblib.parallel_config`; otherwise all cores, or one inside another
        parallel task. Threads are used unless joblib is configured otherwise.
    """

    def __init__(self, n_jobs: int | None = None):
        backend, configured = get_active_backend()
        if n_jobs is None and configured is None and not backend.nesting_level:
            n_jobs = -1
        try:
            self._parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        except ValueError:  # multiprocessing and Ray return all results at once
            self._parallel = Parallel(n_jobs=n_jobs, prefer="threads")

    @property
    def n_jobs(self) -> int:
        """Number of tasks that run at the same time."""
        return effective_n_jobs(self._parallel.n_jobs)

    def __enter__(self) -> "Workers":
        self._parallel.__enter__()
        # BLAS thread limits apply to the process and OpenMP limits to each thread, so both are set.
        self._limit = one_thread()
        self._limit.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._limit.__exit__(*error)
        self._parallel.__exit__(*error)

    def do(self, tasks: Iterable[Task], what: str) -> list[Any]:
        """Run all tasks and return their results, reporting each to the listener as it arrives.

        Parameters
        ----------
        tasks : iterable of (function, *arguments)
        what : str
            Short description of the work, shown to users.
        """
        tasks = list(tasks)
        if not tasks:
            return []
        settings = get_config()  # settings are per thread: a new thread would start with the defaults
        results = self._parallel(delayed(_on_one_thread)(settings, *task) for task in tasks)
        return list(with_progress(results, what, len(tasks)))


def one_thread() -> AbstractContextManager[Any]:
    """Limit BLAS and OpenMP to one thread, so that results do not depend on the load of the machine."""
    return _controller().limit(limits=1)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # cached because it scans all loaded libraries, which is slow


def _on_one_thread(settings: dict[str, Any], function: Callable[..., Any], *arguments: Any) -> Any:
    # scikit-learn's own `delayed` sets the warning filters, which all threads share. Warnings were lost or
    # appeared without cause when two tasks started or ended at the same time.
    with config_context(**settings), one_thread():
        return function(*arguments)


# Interval at which a worker checks that its parent process is alive.
LOOK_SECONDS = 0.2
# Dask exceptions that mean that workers or the scheduler were lost.
LOSSES = (".KilledWorker", ".CommClosedError")


def in_processes(
    tasks: Iterable[tuple[Any, ...]], *, n_jobs: int | None, in_order: bool = True, **options: Any
) -> Iterator[Any]:
    """Run tasks in joblib's processes, or its configured backend, and yield results as they arrive.

    Parameters
    ----------
    tasks : iterable of (function, *arguments)
    in_order : bool
        Whether to yield results in the order of the tasks. Otherwise they come as they finish.
    **options
        Passed to :class:`joblib.Parallel`.

    Raises
    ------
    WorkerError
        A worker was killed.

    Examples
    --------
    >>> list(in_processes([(pow, 2, 3), (pow, 3, 2)], n_jobs=1))
    [8, 9]
    """
    return_as = "generator" if in_order else "generator_unordered"
    # Thread and cluster backends ignore the initializer: they need no watch on the parent.
    watched = {"initializer": _watch, "initargs": (os.getpid(),)}
    parallel = Parallel(n_jobs=n_jobs, return_as=return_as, **options, **watched)
    with losses_told():
        yield from parallel(delayed(function)(*arguments) for function, *arguments in tasks)


@contextmanager
def losses_told() -> Iterator[None]:
    """Raise :class:`WorkerError` if workers are lost, whichever backend ran the tasks."""
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
    """Whether Dask raised the error because it lost workers. Does not import Dask."""
    names = [f"{each.__module__}.{each.__name__}" for each in type(error).__mro__]
    return any(each.startswith("distributed.") and each.endswith(LOSSES) for each in names)


def _watch(parent: int) -> None:
    threading.Thread(target=_end_with, args=(parent,), name="end with parent", daemon=True).start()


def _end_with(parent: int) -> None:
    """Exit when the parent process is gone. joblib's workers would finish their task first."""
    while os.getppid() == parent:
        time.sleep(LOOK_SECONDS)
    # An import could block here. If the module is not loaded, this process has written no file.
    atomic = sys.modules.get("selective_labels.io.files")
    if atomic is not None:
        atomic.discard_unfinished()
    os._exit(1)


MIB = 2**20
# Numeric tables and models compress to between a third and a tenth of their size, text to a twentieth.
LARGEST_RATIO = 100
ALWAYS_ALLOWED = 256 * MIB


def largest_expansion(packed: int) -> int:
    """Largest size in bytes that a compressed file of this size may expand to.

    Examples
    --------
    >>> largest_expansion(1000) == 256 * MIB, largest_expansion(100 * MIB) // MIB
    (True, 10000)
    """
    return max(LARGEST_RATIO * packed, ALWAYS_ALLOWED)
