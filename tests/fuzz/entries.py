"""Every public entry, as a function of one odd table."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import selective_labels as sl
from tests.strategies import Case

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


def _learn(mode: str) -> Callable[[Case], Any]:
    def learn(case: Case) -> Any:
        model = sl.UCLClassifier(mode, "linear", **QUICK).fit(case.X, case.y, **case.roles)
        bounds = model.predict_bounds(case.X)
        assert set(model.predict(case.X)) <= set(model.classes_.tolist())
        return bounds

    return learn


def _baseline(name: str) -> Callable[[Case], Any]:
    def fit(case: Case) -> None:
        model = getattr(sl, name)().fit(case.X, case.y, **case.roles)
        assert set(model.predict(case.X)) <= set(model.classes_.tolist())

    return fit


def _evaluate(case: Case) -> Any:
    data = read(case)
    metrics = ["accuracy", "share", "tpr", "f1"]
    return sl.evaluate(_predicted(data), data, metric=metrics, assumption="all", **QUICK)


def _with_scores(function: Callable[..., Any], **others: Any) -> Callable[[Case], Any]:
    def run(case: Case) -> Any:
        data = read(case)
        return function(_scores(data), data, **others)

    return run


def _assess(case: Case) -> Any:
    return sl.assess(read(case), **QUICK)


ENTRIES: dict[str, Callable[[Case], Any]] = {
    "SelectiveLabels": read,
    "split": lambda case: read(case).split(random_state=0) and None,
    "fit partial": _learn("partial"),
    "fit point": _learn("point"),
    "fit tilt": _learn("tilt"),
    **{name: _baseline(name) for name in BASELINES},
    "evaluate": _evaluate,
    "compare": lambda case: sl.compare(_predicted(data := read(case)), data.classes[0], data, **QUICK),
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
    "assess": _assess,
}
# How many examples `make test` and `make fuzz` try.
FEW = dict.fromkeys(ENTRIES, 15) | {"assess": 3}
MANY = dict.fromkeys(ENTRIES, 1_000) | {"SelectiveLabels": 10_000, "split": 10_000, "assess": 100}


def check(name: str, case: Case) -> str:
    """Run an entry; "refused" or "done". Anything but a sentence, or an invalid result, is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = ENTRIES[name](case)
        except sl.InputError:
            return "refused"
    _check_result(result)
    return "done"


def _check_result(result: Any) -> None:
    """One exit: in order, within the interval, or NaN with a reason."""
    if isinstance(result, sl.Bounds):
        assert np.isfinite(result.lower).all()
        assert (result.lower >= -1e-9).all()
        assert (result.upper <= 1 + 1e-9).all()
        assert (result.lower <= result.upper + 1e-9).all()
    elif isinstance(result, sl.Evaluations):
        for each in result:
            _check_result(each)
    elif isinstance(result, sl.Evaluation | sl.Comparison):
        ends = result.lower, result.upper
        if np.isnan(ends).any():
            assert result.reason, "what does not exist has a reason"
        else:
            assert ends[0] <= ends[1] + 1e-9
            assert np.isnan(result.ci_lower) or result.ci_lower <= ends[0] + 1e-9
            assert np.isnan(result.ci_upper) or result.ci_upper >= ends[1] - 1e-9
