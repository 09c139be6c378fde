"""Who takes part: learners and evaluators, each a function, so that others can add theirs.

A learner gets the training cases and a seed and returns something with `predict`. An evaluator gets class
codes predicted for the test cases, these cases, and a seed, and returns ends and interval of the accuracy on
everybody. Both see labels only where they were seen. A file that defines `LEARNERS` or `EVALUATORS`, dicts
from names to such functions, takes part with ``python -m study benchmark --contestants FILE``.
"""

import runpy
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

import selective_labels as sl
from selective_labels import InputError


class Predicts(Protocol):
    """What a learner returns."""

    def predict(self, X: Any) -> np.ndarray:
        """Predict class codes."""
        ...


class Ends(NamedTuple):
    """What an evaluator returns: the identified interval, and a 95 % confidence interval."""

    lower: float
    upper: float
    ci_lower: float
    ci_upper: float


Learner = Callable[[sl.SelectiveLabels, int], Predicts]
Evaluator = Callable[[np.ndarray, sl.SelectiveLabels, int], Ends]

# What a learner is made of; oracle and control have the same.
BASES = ("linear", "boosting")


def estimator(base: str, seed: int) -> Any:
    """The learner of the rule."""
    return HistGradientBoostingClassifier(max_iter=100, random_state=seed) if base == "boosting" else base


def selected(base: str, data: sl.SelectiveLabels, seed: int) -> Predicts:
    """The labeled cases alone: the naive one."""
    return sl.SelectedSampleClassifier(estimator(base, seed)).fit(data)


def weighted(base: str, data: sl.SelectiveLabels, seed: int) -> Predicts:
    """Labeled cases, weighted by the inverse of their chance to be labeled."""
    return sl.IPWClassifier(estimator(base, seed), random_state=seed).fit(data)


def unified(mode: str, base: str, data: sl.SelectiveLabels, seed: int) -> Predicts:
    """Unified cost-sensitive learning."""
    return sl.UCLClassifier(mode, estimator(base, seed), random_state=seed).fit(data)


def no_instrument(base: str, data: sl.SelectiveLabels, seed: int) -> Predicts:
    """The control: partial learning with one decision-maker for everybody. It gains by smoothing only."""
    nobody = np.zeros(len(data.y), dtype=int)
    return sl.UCLClassifier("partial", estimator(base, seed), random_state=seed).fit(
        data.X, data.y, decision_maker=nobody, groups=data.groups
    )


OURS: dict[str, Callable[[str, sl.SelectiveLabels, int], Predicts]] = {
    "selected": selected,
    "ipw": weighted,
    "partial": partial(unified, "partial"),
    "tilt": partial(unified, "tilt"),
    "point": partial(unified, "point"),
    "no instrument": no_instrument,
}
LEARNERS: dict[str, Learner] = {
    f"{name}, {base}": partial(learner, base) for base in BASES for name, learner in OURS.items()
}


def judged(assumption: str, predicted: np.ndarray, data: sl.SelectiveLabels, seed: int) -> Ends:
    """Ends and interval of the accuracy by `evaluate`."""
    found: Any = sl.evaluate(predicted, data, assumption=assumption, random_state=seed)
    return Ends(found.lower, found.upper, found.ci_lower, found.ci_upper)


EVALUATORS: dict[str, Evaluator] = {
    assumption: partial(judged, assumption)
    for assumption in ("none", "instrument", "tilt", "nucem", "unconfounded")
}


class Field(NamedTuple):
    """Everybody who takes part."""

    learners: Mapping[str, Learner]
    evaluators: Mapping[str, Evaluator]


def field(files: tuple[Path, ...] = ()) -> Field:
    """Ours, and those of files.

    Examples
    --------
    >>> len(field().learners), list(field().evaluators)[1]
    (12, 'instrument')
    """
    learners, evaluators = dict(LEARNERS), dict(EVALUATORS)
    for path in files:
        found = runpy.run_path(str(path))
        if not {"LEARNERS", "EVALUATORS"} & set(found):
            raise InputError(f"{path} defines neither LEARNERS nor EVALUATORS.")
        for ours, theirs in ((learners, "LEARNERS"), (evaluators, "EVALUATORS")):
            taken = sorted(set(ours) & set(found.get(theirs, {})))
            if taken:
                raise InputError(f"{path}: the name {taken[0]!r} is taken; choose another.")
            ours.update(found.get(theirs, {}))
    return Field(learners, evaluators)
