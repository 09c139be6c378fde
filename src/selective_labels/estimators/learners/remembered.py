"""Identification done once, where several learners share it."""

import warnings
from os import PathLike, fspath
from typing import Any

from sklearn.utils.validation import check_memory

from selective_labels.data import SelectiveLabels
from selective_labels.estimators.learners.identified import Identified, TrainingRows, identify


def identify_once(memory: Any, data: SelectiveLabels, **settings: Any) -> tuple[Identified, TrainingRows]:
    """Call :func:`identify`, or take what it gave for the same data and settings from the memory.

    What it warned of the first time is said again: a warning is part of the result.

    Parameters
    ----------
    memory : None, path or joblib.Memory
        None: nothing is kept.
    data : SelectiveLabels
    settings
        Those of :func:`identify`; the number of jobs does not matter.
    """
    if memory is None:
        return identify(data, **settings)
    if isinstance(memory, PathLike):
        memory = fspath(memory)
    found, heard = check_memory(memory).cache(_identify_and_listen, ignore=["n_jobs"])(data, **settings)
    for message, category in heard:
        warnings.warn(message, category, stacklevel=4)
    return found


def _identify_and_listen(
    data: SelectiveLabels, n_jobs: int | None, **settings: Any
) -> tuple[tuple[Identified, TrainingRows], list[tuple[str, type[Warning]]]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = identify(data, n_jobs=n_jobs, **settings)
    return found, [(str(each.message), each.category) for each in caught]
