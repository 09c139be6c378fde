"""Every public entry, as a function of one odd table."""

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import selective_labels as sl
from tests.fuzz.exits import check_result
from tests.fuzz.readers import READERS, check_reader
from tests.strategies import Case, cases
from tests.strategies.contents import models, tables

QUICK = {"nuisance": "logistic", "cv": 2, "random_state": 0, "n_jobs": 1}
BASELINES = (
    "SelectedSampleClassifier",
    "IPWClassifier",
    "ExpertConsistencyClassifier",
    "DoublyRobustClassifier",
    "FuzzyAugmentationClassifier",
    "ParcellingClassifier",
    "ReweightingClassifier",
    "HeckmanClassifier",
    "BivariateProbitClassifier",
)


def read(case: Case) -> sl.SelectiveLabels:
    """The table as the data object."""
    return sl.SelectiveLabels.from_arrays(case.X, case.y, **case.roles)


def _predicted(data: sl.SelectiveLabels) -> np.ndarray:
    return np.asarray(data.classes, dtype=object)[np.arange(len(data)) % len(data.classes)]


def _scores(data: sl.SelectiveLabels) -> np.ndarray:
    return np.arange(len(data)) % 7 / 7.0


def _learn(mode: str, estimator: str = "linear") -> Callable[[Case], Any]:
    def learn(case: Case) -> Any:
        model = sl.UCLClassifier(mode, estimator, **QUICK).fit(case.X, case.y, **case.roles)
        predicted = model.predict(case.X)
        assert set(predicted) <= set(model.classes_.tolist())
        assert len(predicted) == case.n
        assert np.isfinite(model.decision_function(case.X)).all()
        for level in (None, 0.9):
            possible, decided = (
                ask(case.X, confidence_level=level) for ask in (model.predict_set, model.decided)
            )
            assert possible.any(axis=1).all()
            single = possible.sum(axis=1) == 1
            # With a level, the promise on all decided rows asks for more than one on each.
            assert (single == decided).all() if level is None else (decided <= single).all()
        return model.predict_bounds(case.X)

    return learn


def _baseline(name: str) -> Callable[[Case], Any]:
    def fit(case: Case) -> None:
        model = getattr(sl, name)().fit(case.X, case.y, **case.roles)
        assert set(model.predict(case.X)) <= set(model.classes_.tolist())

    return fit


def _named(case: Case) -> Any:
    """The table by names of columns."""
    frame = pd.DataFrame(case.X)
    frame.columns = [f"x{k}" for k in range(frame.shape[1])]
    given = {"label": case.y} | {name: column for name, column in case.roles.items() if column is not None}
    for name, column in given.items():
        frame[name] = column
    return sl.SelectiveLabels.from_frame(frame, **{name: name for name in given})


def _evaluate(case: Case) -> Any:
    data = read(case)
    metrics = ["accuracy", "share", "tpr", "f1"]
    return sl.evaluate(_predicted(data), data, metric=metrics, assumption="all", **QUICK)


def _with_scores(function: Callable[..., Any], **others: Any) -> Callable[[Case], Any]:
    def run(case: Case) -> Any:
        data = read(case)
        return function(_scores(data), data, **others)

    return run


def _of_probabilities(case: Case) -> Any:
    data = read(case)
    chances = np.random.default_rng(0).dirichlet(np.ones(len(data.classes)), len(data))
    metrics = ["log_loss", "brier", "auc" if len(data.classes) == 2 else "balanced_accuracy"]
    return sl.evaluate(chances, data, metric=metrics, **QUICK)


def _combined(case: Case) -> Any:
    data = read(case)
    last = data.classes[-1]
    assumed = sl.assumptions.Instrument() & sl.assumptions.Prevalence(last, (0.2, 0.6))
    return sl.evaluate(_predicted(data), data, metric=["accuracy", "ppv"], assumption=assumed, **QUICK)


def _by_groups(case: Case) -> Any:
    data = read(case)
    by = np.where(np.arange(len(data)) % 3 == 0, "odd", "even")
    return sl.evaluate(_predicted(data), data, metric=["accuracy", "fpr", "regret"], by=by, **QUICK)


def _plan(case: Case) -> Any:
    data = read(case)
    return sl.plan(sl.evaluate(_predicted(data), data, **QUICK))


def _drift(case: Case) -> Any:
    data = read(case)
    return sl.drift(_predicted(data), data, period=np.arange(len(data)) // 20, **QUICK)


def _saved(case: Case) -> None:
    """A model survives the file that it is saved in."""
    model = sl.SelectedSampleClassifier("linear").fit(case.X, case.y, **case.roles)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.skops")
        sl.save_model(model, path)
        loaded = sl.load_model(path)
    assert loaded.model.classes_.tolist() == model.classes_.tolist()


def _assess(case: Case) -> Any:
    return sl.assess(read(case), **QUICK)


READERS_OF_TABLES: dict[str, Callable[[Case], Any]] = {
    "SelectiveLabels": read,
    "from_frame": _named,
    "split": lambda case: read(case).split(random_state=0) and None,
}
FITTING: dict[str, Callable[[Case], Any]] = {
    "fit partial": _learn("partial"),
    "fit plug-in": _learn("partial", "plug-in"),
    "fit point": _learn("point"),
    "fit tilt": _learn("tilt"),
    "fit auto": _learn("auto"),
    **{name: _baseline(name) for name in BASELINES},
    "save_model": _saved,
    "evaluate": _evaluate,
    "evaluate probabilities": _of_probabilities,
    "evaluate combined": _combined,
    "evaluate by": _by_groups,
    "compare": lambda case: sl.compare(_predicted(data := read(case)), data.classes[0], data, **QUICK),
    "compare human": lambda case: sl.compare(_predicted(data := read(case)), "human", data, **QUICK),
    "ladder": lambda case: sl.ladder(_predicted(data := read(case)), data, **QUICK),
    "diagnose": lambda case: sl.diagnose(read(case), cv=2, n_permutations=9, random_state=0, n_jobs=1),
    "threshold_curve": _with_scores(sl.threshold_curve, thresholds=[0.2, 0.5], **QUICK),
    "policy_curve": _with_scores(sl.policy_curve, rates=[0.2, 0.5], **QUICK),
    "sensitivity_curve": lambda case: sl.sensitivity_curve(
        _predicted(data := read(case)), data, values=[1.0, 2.0], **QUICK
    ),
    "contraction": _with_scores(sl.contraction, min_cases=1, random_state=0),
    "quintile_contraction": _with_scores(sl.quintile_contraction, n_bands=2, random_state=0),
    "extrapolate": lambda case: sl.extrapolate(
        _predicted(data := read(case)), data, n_draws=5, random_state=0
    ),
    "plan": _plan,
    "drift": _drift,
    "assess": _assess,
}
ENTRIES = READERS_OF_TABLES | FITTING
# How many examples `make test` and `make fuzz` try.
FEW = dict.fromkeys([*ENTRIES, *READERS], 15) | {"assess": 3}
MANY = dict.fromkeys([*READERS_OF_TABLES, *READERS], 10_000) | dict.fromkeys(FITTING, 1_000)


def inputs(name: str) -> Any:
    """Strategy of what an entry is given."""
    if name in READERS:
        return models if name == "load_model" else tables
    return cases()


def check(name: str, given: Any) -> str:
    """Run an entry; "refused" or "done". Anything but a sentence, or an invalid result, is an error."""
    if name in READERS:
        return check_reader(name, given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = ENTRIES[name](given)
        except sl.InputError:
            return "refused"
    check_result(result)
    return "done"
