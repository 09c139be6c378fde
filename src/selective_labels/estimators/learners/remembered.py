"""Identification done once, where several learners share it."""

import warnings
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

from sklearn.utils.validation import check_memory

from selective_labels.data import SelectiveLabels
from selective_labels.estimators.learners.identified import Identified, TrainingRows, identify
from selective_labels.nuisance.settings import FittingSettings


def identify_once(
    memory: Any, data: SelectiveLabels, fitting: FittingSettings, **problem: Any
) -> tuple[Identified, TrainingRows]:
    """Call :func:`identify`, or take what it gave for the same data and settings from the memory.

    What it warned of the first time is said again: a warning is part of the result.

    Parameters
    ----------
    memory : None, path or joblib.Memory
        None: nothing is kept.
    data : SelectiveLabels
    fitting : FittingSettings
        The number of jobs does not matter.
    problem
        What else :func:`identify` takes.
    """
    if memory is None:
        return identify(data, fitting=fitting, **problem)
    if isinstance(memory, PathLike):
        memory = fspath(memory)
    remembered = check_memory(memory).cache(_identify_and_listen, ignore=["n_jobs"])
    found, heard = remembered(data, replace(fitting, n_jobs=None), fitting.n_jobs, **problem)
    for warning in heard:
        warnings.warn(warning, stacklevel=4)
    return found


def _identify_and_listen(
    data: SelectiveLabels, fitting: FittingSettings, n_jobs: int | None, **problem: Any
) -> tuple[tuple[Identified, TrainingRows], list[Warning]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = identify(data, fitting=replace(fitting, n_jobs=n_jobs), **problem)
    return found, [each.message for each in caught if isinstance(each.message, Warning)]
