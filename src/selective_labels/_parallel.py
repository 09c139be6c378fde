"""Work in other processes, which end when this one does, however it ends."""

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
# Called with what is being done, how many steps are done, and how many there are.
Listener = Callable[[str, int, int], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell a listener about all long work inside the block.

    Examples
    --------
    >>> with listening(lambda what, done, total: print(f"{what}: {done} of {total}")):
    ...     squares = list(followed((x * x for x in range(2)), "squares", 2))
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
    """Hand results on, and tell the listener as each arrives.

    Parameters
    ----------
    results : iterable
        Whose work is done while it is iterated over, such as joblib's with ``return_as="generator"``.
    what : str
        A few words for people.
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


# A function and its arguments.
Task = tuple[Any, ...]


class Workers:
    """Do lists of tasks side by side, results in the order of the tasks.

    Parameters
    ----------
    n_jobs : int, optional
        Default: what :func:`joblib.parallel_config` says; else the cores there are, or one inside the task
        of somebody else. Threads, unless joblib is told otherwise.
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
        """How many tasks run side by side."""
        return effective_n_jobs(self._parallel.n_jobs)

    def __enter__(self) -> "Workers":
        self._parallel.__enter__()
        # Numbers of threads of linear algebra are the process's, those of OpenMP each thread's: both are set.
        self._limit = one_thread()
        self._limit.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._limit.__exit__(*error)
        self._parallel.__exit__(*error)

    def do(self, tasks: Iterable[Task], what: str) -> list[Any]:
        """Results of all tasks; listeners are told of each as it arrives.

        Parameters
        ----------
        tasks : iterable of (function, *arguments)
        what : str
            A few words for people.
        """
        tasks = list(tasks)
        if not tasks:
            return []
        settings = get_config()  # of this thread: a new one would begin with the defaults
        results = self._parallel(delayed(_on_one_thread)(settings, *task) for task in tasks)
        return list(with_progress(results, what, len(tasks)))


def one_thread() -> AbstractContextManager[Any]:
    """Inside this, linear algebra and OpenMP use one thread, and give the same bits whatever else runs."""
    return _controller().limit(limits=1)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all libraries of the process, which takes a while


def _on_one_thread(settings: dict[str, Any], function: Callable[..., Any], *arguments: Any) -> Any:
    # Not scikit-learn's own `delayed`: it sets the filters of warnings, which all threads share, so that
    # warnings got lost or came up from nowhere when two tasks began or ended at once.
    with config_context(**settings), one_thread():
        return function(*arguments)


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
    atomic = sys.modules.get("selective_labels.io.files")
    if atomic is not None:
        atomic.discard_unfinished()
    os._exit(1)


MIB = 2**20
# Tables and models of numbers shrink to a third or a tenth, text to a twentieth.
LARGEST_RATIO = 100
ALWAYS_ALLOWED = 256 * MIB


def largest_expansion(packed: int) -> int:
    """Bytes that so many packed bytes may become.

    Examples
    --------
    >>> largest_expansion(1000) == 256 * MIB, largest_expansion(100 * MIB) // MIB
    (True, 10000)
    """
    return max(LARGEST_RATIO * packed, ALWAYS_ALLOWED)
