"""Identification done once, where several learners share it."""

import warnings
from collections import OrderedDict
from dataclasses import replace
from os import PathLike, fspath
from threading import Lock
from typing import Any

from joblib import hash as content_hash
from sklearn.utils.validation import check_memory

from selective_labels.data import SelectiveLabels
from selective_labels.estimators.learners.identified import Identified, TrainingRows, identify
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.support.errors import LargeWorkWarning

Heard = tuple[tuple[Identified, TrainingRows], list[Warning]]

# A search over five folds and the final fit ask for six different ones before any comes again.
MOST_RECENT = 8
# Above it, what is kept would weigh more than what is saved.
MOST_ROWS = 200_000

_recent: OrderedDict[str, Heard] = OrderedDict()
_lock = Lock()


def identify_once(
    memory: Any, data: SelectiveLabels, fitting: FittingSettings, **problem: Any
) -> tuple[Identified, TrainingRows]:
    """Call :func:`identify`, or take what it gave for the same data and settings.

    Without a memory, the last few are kept while the program runs: a search over `estimator` or `surrogate`
    fits the nuisance models of each fold once. What was warned of the first time is said again: a warning is
    part of the result.

    Parameters
    ----------
    memory : None, path or joblib.Memory
    data : SelectiveLabels
    fitting : FittingSettings
        The number of jobs does not matter.
    problem
        What else :func:`identify` takes.
    """
    if isinstance(memory, PathLike):
        memory = fspath(memory)
    if memory is None:
        found, heard = _recently(data, fitting, problem)
    else:
        remembered = check_memory(memory).cache(_identify_and_listen, ignore=["n_jobs"])
        found, heard = remembered(data, replace(fitting, n_jobs=None), fitting.n_jobs, **problem)
    for warning in heard:
        warnings.warn(warning, stacklevel=4)
    return found


def forget() -> None:
    """Drop what was kept without a memory."""
    with _lock:
        _recent.clear()


def _recently(data: SelectiveLabels, fitting: FittingSettings, problem: dict[str, Any]) -> Heard:
    key = _key(data, fitting, problem)
    with _lock:
        if key is not None and key in _recent:
            _recent.move_to_end(key)
            return _recent[key]
    result = _identify_and_listen(data, fitting, fitting.n_jobs, **problem)
    if key is not None:
        with _lock:
            _recent[key] = result
            while len(_recent) > MOST_RECENT:
                _recent.popitem(last=False)
    return result


def _key(data: SelectiveLabels, fitting: FittingSettings, problem: dict[str, Any]) -> str | None:
    """Name of everything that the result depends on; None if it is not to be kept.

    A function or class of the user's may be written anew under its old name, so only what is plain counts.
    """
    plain = (fitting.nuisance is None or isinstance(fitting.nuisance, str)) and isinstance(fitting.cv, int)
    ends = problem["label_range"]
    functions = callable(problem.get("assignment")) or (
        isinstance(ends, tuple | list) and any(map(callable, ends))
    )
    assumed = problem.get("assumption")
    own = assumed is not None and any(
        not type(each).__module__.startswith("selective_labels.") for each in getattr(assumed, "parts", ())
    )
    if not plain or functions or own or len(data) > MOST_ROWS:
        return None
    return content_hash((data, replace(fitting, n_jobs=None), problem))


def _identify_and_listen(
    data: SelectiveLabels, fitting: FittingSettings, n_jobs: int | None, **problem: Any
) -> Heard:
    fitting.say_beforehand(data)  # with what is caught it would come when the work is done
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = identify(data, fitting=replace(fitting, n_jobs=n_jobs), **problem)
    heard = (each.message for each in caught if not issubclass(each.category, LargeWorkWarning))
    return found, [each for each in heard if isinstance(each, Warning)]
