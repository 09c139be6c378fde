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
from selective_labels.assumptions import Informed, Instrument
from study.task_memory import TaskMemory


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

# What a learner is made of. Smoothed: it is fed with estimated class probabilities in place of labels, as all
# that learn from bounds are, and gains by that alone; naive learner, oracle and control then are so, too.
PLAIN = ("linear", "boosting")
SMOOTHED = "smoothed "
# Where the instrument is too weak, some are fitted to the labels directly, by the linear learner of costs.
DIRECT = "direct linear"
BASES = (*PLAIN, DIRECT, *(SMOOTHED + base for base in PLAIN))
NAIVE, FULL = "selected", "full"
# Odds of the control, e^.25.
MILD = 1.284


def estimator(base: str, seed: int) -> Any:
    """The learner of the rule."""
    if base.removeprefix(SMOOTHED) == "boosting":
        return HistGradientBoostingClassifier(max_iter=100, random_state=seed)
    return "linear"


def selected(base: str, data: sl.SelectiveLabels, seed: int) -> Predicts:
    """The labeled cases alone: the naive one, and with every label the oracle."""
    if base in PLAIN:
        return sl.SelectedSampleClassifier(estimator(base, seed)).fit(data)
    seen = np.flatnonzero(data.y >= 0)
    groups = None if data.groups is None else data.groups[seen]
    # Without a hole and without decision-makers, bounds meet in the class probabilities, and tilt is direct.
    learner = _unified("tilt" if base == DIRECT else "partial", base, seed)
    return learner.fit(_rows(data.X, seen), data.y[seen], groups=groups)


def weighted(base: str, data: sl.SelectiveLabels, seed: int) -> Predicts:
    """Labeled cases, weighted by the inverse of their chance to be labeled."""
    return sl.IPWClassifier(estimator(base, seed), random_state=seed).fit(data)


def augmented(base: str, data: sl.SelectiveLabels, seed: int) -> Predicts:
    """Reject inference: refused cases enter with the shares of like accepted ones."""
    return sl.FuzzyAugmentationClassifier(estimator(base, seed), random_state=seed).fit(data)


def unified(mode: str, base: str, data: sl.SelectiveLabels, seed: int) -> Predicts:
    """Unified cost-sensitive learning."""
    return _unified(mode, base, seed).fit(data)


def directed(place: int, base: str, data: sl.SelectiveLabels, seed: int) -> Predicts:
    """Auto mode that is told that the refused have the first (0) or last (-1) class more often.

    In the package's designs the first is right as they are, and the last where they are mirrored.
    """
    worse = Instrument() & Informed(data.classes.tolist()[place])
    return _unified("auto", base, seed).set_params(assumption=worse).fit(data)


def odds_stated(place: int, base: str, data: sl.SelectiveLabels, seed: int) -> Predicts:
    """The control of a direction: mild odds of the refused, and no instrument."""
    odds = {data.classes.tolist()[place]: MILD}
    return sl.SelectedSampleClassifier(estimator(base, seed), refused_odds=odds).fit(data)


def no_instrument(base: str, data: sl.SelectiveLabels, seed: int) -> Predicts:
    """The control: partial learning with one decision-maker for everybody."""
    nobody = np.zeros(len(data.y), dtype=int)
    return _unified("partial", base, seed).fit(data.X, data.y, decision_maker=nobody, groups=data.groups)


def _unified(mode: str, base: str, seed: int) -> sl.UCLClassifier:
    # A memory of its own: what another contestant has computed would make this one seem fast.
    return sl.UCLClassifier(mode, estimator(base, seed), random_state=seed, memory=TaskMemory())


def _rows(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


Named = dict[str, Callable[[str, sl.SelectiveLabels, int], Predicts]]
BASELINES: Named = {NAIVE: selected, "ipw": weighted, "fuzzy augmentation": augmented}
OURS: Named = {
    NAIVE: selected,
    "no instrument": no_instrument,
    **{mode: partial(unified, mode) for mode in ("partial", "auto", "tilt", "point")},
    "auto (first worse)": partial(directed, 0),
    "auto (last worse)": partial(directed, -1),
    "first worse without instrument": partial(odds_stated, 0),
    "last worse without instrument": partial(odds_stated, -1),
}
TAKING_PART: dict[str, Named] = {
    **dict.fromkeys(BASES, OURS),
    **dict.fromkeys(PLAIN, BASELINES),
    DIRECT: {NAIVE: selected},
}
LEARNERS: dict[str, Learner] = {
    f"{name}, {base}": partial(learner, base) for base in BASES for name, learner in TAKING_PART[base].items()
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
    (27, 'instrument')
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
