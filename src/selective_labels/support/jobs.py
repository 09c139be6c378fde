"""Work on the cores there are: tasks side by side, each on one thread."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from selective_labels.support.progress import followed

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
        return list(followed(results, what, len(tasks)))


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
