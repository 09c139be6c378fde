"""What the data say about class probabilities, at the training rows and at new ones."""

import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike, fspath
from threading import Lock
from typing import Any

import numpy as np
from joblib import hash as content_hash
from sklearn.utils.validation import check_memory

from selective_labels._errors import DiagnosticWarning, LargeWorkWarning
from selective_labels.assumptions.base import Assumption
from selective_labels.data.roles import HOLE, read_assignment
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.diagnose import instrument_refuted, warn_if_not_allowed
from selective_labels.identification.bounds import Bounds
from selective_labels.identification.costs import gains, point_costs, worst_case_costs
from selective_labels.identification.event_bounds import AnyFloor, LaminarBounds
from selective_labels.identification.point import project_within
from selective_labels.identification.prevalence import tilted_regrets
from selective_labels.nuisance.assignment import SHARES
from selective_labels.nuisance.cross_fit import CrossFit, arm_chances, cross_fit, new_propensity
from selective_labels.nuisance.first_stage import HeldOutRows, Tilted, first_stage, fit_tilt
from selective_labels.nuisance.row_bounds import identified_bounds
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.nuisance.slopes import (
    held_out_slopes,
    one_step,
    point_estimate,
    shrinkage_if_strong,
    slope_moments,
    stepped,
)


@dataclass(frozen=True)
class DirectFit:
    """P(Y=k | x, D=1), by models of the labeled rows alone, one for each fold.

    Attributes
    ----------
    models : CrossFit
        Of the labels of one decision-maker, who saw all labeled rows; where probabilities were given, these.
    fitted : bool
        Whether there was something to fit.
    """

    models: CrossFit
    fitted: bool

    def probabilities(self, X: np.ndarray, n_classes: int) -> np.ndarray:
        """Mean over the folds' models, (n_samples, n_classes)."""
        total = np.zeros((len(X), n_classes))
        for number, fold in enumerate(self.models.folds):
            for rows in self.models.chunks(np.arange(len(X)), n_classes + 1):
                chances = new_propensity(self.models, number, X[rows])
                total[rows] += np.einsum("nz,znk->nk", chances, fold.joint(X[rows])[:, :, 1:])
        return total / np.maximum(total.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def fit_direct(data: SelectiveLabels, joint: CrossFit, fitting: FittingSettings) -> DirectFit:
    """Fit the family of the joint model to the labeled rows, without decision-makers.

    The joint model spends its terms on decisions as much as on labels, and its answer for the labeled cases,
    P(Y=k, D=1 | x) / P(D=1 | x), was below this plain fit on real loans. Folds are those of the joint model.

    Parameters
    ----------
    data : SelectiveLabels
    joint : CrossFit
        Of the same rows.
    fitting : FittingSettings
    """
    if joint.report.chosen == "injected":
        return DirectFit(joint.without_rows(), fitted=False)
    labeled = np.flatnonzero(data.y != HOLE)
    alone = replace(
        data.bare().take(labeled),
        decision_maker=np.zeros(len(labeled), dtype=int),
        decision_maker_codes=np.zeros(len(labeled), dtype=int),
        decision_makers=np.zeros(1, dtype=int),
        strata=None,
        assignment=None,
        numeric=False,
    )
    own = joint.held_out[labeled]
    folds = [(np.flatnonzero(own != each), np.flatnonzero(own == each)) for each in np.unique(own)]
    named = fitting.nuisance is None or isinstance(fitting.nuisance, str)
    models = cross_fit(
        alone,
        joint.report.chosen if named else fitting.nuisance,
        cv=folds,
        propensity=SHARES,
        n_jobs=fitting.n_jobs,
        random_state=fitting.seed,
    )
    return DirectFit(models.without_rows(), fitted=True)


# Concentration of the first stage below which tilts are not learned. Frozen before the confirmation study.
GATE = 25.0
GATE_CODE = "SL105"
NO_RANGE = (0.0, 1.0)


@dataclass(frozen=True)
class Slope:
    """Point identification: the numbers of the decision-makers (None: leniency) and the shrinkage.

    `step` is what the one-step estimator of the ratio of a number adds to the class probabilities.
    """

    codes: np.ndarray | None
    shrinkage: float
    step: np.ndarray | None = None


@dataclass(frozen=True)
class Identified:
    """Bounds of class probabilities, and point estimates where the mode has them, from a nuisance model.

    Attributes
    ----------
    joint : CrossFit
    n_classes : int
    label_range : pair
    cost : (n_classes, n_classes) array or None
    slope : Slope or None
        In point mode.
    tilt : Tilted or None
        In tilt mode.
    direct : DirectFit or None
        Where the instrument is too weak for the mode: its answer is that of the labeled rows.
    concentration : float
        Of the first stage, where the mode has one.
    assignment : callable or None
        Gives known probabilities of decision-makers at new rows, from features as users give them.
    class_weight : (n_classes,) array or None
        What a right prediction of each class is worth; None: all the same.
    assumption : Assumption or None
        What is assumed besides the instrument.
    classes : array or None
        Labels of the classes, which an assumption speaks of.
    share : tuple of (n_classes,) array, float and float, or None
        The event whose share is known, its multiplier, and the end of the share that this presses against.
    """

    joint: CrossFit
    n_classes: int
    label_range: Any
    cost: np.ndarray | None
    slope: Slope | None = None
    tilt: Tilted | None = None
    direct: DirectFit | None = None
    concentration: float = float("nan")
    assignment: Callable[[Any], np.ndarray] | None = None
    class_weight: np.ndarray | None = None
    assumption: Assumption | None = None
    classes: np.ndarray | None = None
    share: tuple[np.ndarray, float, float] | None = None

    @property
    def has_probabilities(self) -> bool:
        """Whether class probabilities are identified, and not bounds alone."""
        return self.slope is not None or self.tilt is not None or self.direct is not None

    def bounds(self, X: np.ndarray) -> Bounds:
        """Bounds at new rows; where they crossed they are repaired."""
        floors = floors_of(self.assumption, self.classes)
        return identified_bounds(self.joint, X, self.n_classes, self.label_range, floors=floors)[0]

    def probabilities(self, X: np.ndarray, given: Any) -> np.ndarray:
        """Class probabilities at new rows, (n_samples, n_classes); not in partial mode.

        `given` are the features as users give them, of which a known assignment is a function.
        """
        if self.direct is not None:
            return self.direct.probabilities(X, self.n_classes)
        known = None
        if self.assignment is not None:
            n_makers = len(self.joint.folds[0].lookup)
            features = given.X if isinstance(given, SelectiveLabels) else given
            known = read_assignment(self.assignment, features, len(X), n_makers)
        bounds = self.bounds(X)
        if self.tilt is not None:
            return self._tilted(X, known, bounds)
        assert self.slope is not None
        moments = slope_moments(self.joint, X, self.n_classes, self.slope.codes, known)
        estimate = stepped(point_estimate(moments, self.slope.shrinkage), self.slope.step)
        return project_within(estimate, bounds)

    def _tilted(self, X: np.ndarray, known: np.ndarray | None, bounds: Bounds) -> np.ndarray:
        """By joint probabilities and chances of arms averaged over the folds, as bounds are."""
        assert self.tilt is not None
        fit, found = self.joint, np.empty((len(X), self.n_classes))
        for rows in fit.chunks(np.arange(len(X)), self.n_classes + 1):
            labeled = np.mean([fold.joint(X[rows])[:, :, 1:] for fold in fit.folds], axis=0)
            chances = np.mean(
                [
                    arm_chances(fit, n, X[rows], None if known is None else known[rows])
                    for n in range(len(fit.folds))
                ],
                axis=0,
            )
            here = Bounds(bounds.lower[rows], bounds.upper[rows])
            found[rows] = self.tilt.probabilities(labeled, chances, here)
        return found

    def costs_and_gains(self, known: Bounds | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cost of predicting each class, and what each class is worth, both (n_samples, n_classes).

        From bounds: worst-case regrets (Theorem 5.3) and lower bounds; from class probabilities: regrets
        (Theorem 4.4) and the probabilities. With a cost matrix or a label range, worth is the largest cost
        minus the cost. With weights of classes, worth is the weighted lower bound (or probability), which a
        right prediction is sure to bring (maximin), and the cost what is missing to the best class. With a
        known share, regrets are tilted by its multiplier.
        """
        if self.share is not None and isinstance(known, Bounds):
            members, multiplier, _ = self.share
            costs = tilted_regrets(known, members, multiplier, self.cost)
            return costs - costs.min(axis=1, keepdims=True), gains(costs)
        if self.class_weight is not None:
            worth = (known.lower if isinstance(known, Bounds) else known) * self.class_weight
            return worth.max(axis=1, keepdims=True) - worth, worth
        if isinstance(known, Bounds):
            costs, worth = worst_case_costs(known, self.cost), known.lower
        else:
            costs, worth = point_costs(known, self.cost), known
        plain = self.cost is None and self._without_range and not isinstance(known, LaminarBounds)
        return costs, worth if plain else gains(costs)

    def worst_regrets(self, bounds: Bounds) -> np.ndarray:
        """Largest regret of each prediction, (n_samples, n_classes); its mean is that of a rule."""
        if self.share is None:
            return worst_case_costs(bounds, self.cost)
        members, multiplier, limit = self.share
        return tilted_regrets(bounds, members, multiplier, self.cost) + multiplier * limit

    @property
    def _without_range(self) -> bool:
        lowest, highest = self.label_range
        return np.ndim(lowest) == np.ndim(highest) == 0 and (lowest, highest) == NO_RANGE


@dataclass(frozen=True)
class TrainingRows:
    """What is identified at the training rows, each by the model that has not seen it.

    Attributes
    ----------
    bounds : Bounds
    crossed : (n_samples,) bool array
        Where the bounds crossed and were repaired.
    probabilities : (n_samples, n_classes) array or None
        In point and tilt mode, unless the labeled rows alone are learned from.
    alone : Bounds or None
        By the instrument alone, where more is assumed.
    """

    bounds: Bounds
    crossed: np.ndarray
    probabilities: np.ndarray | None
    alone: Bounds | None = None

    @property
    def known(self) -> Bounds | np.ndarray:
        """What the mode learns from."""
        return self.bounds if self.probabilities is None else self.probabilities


@dataclass(frozen=True)
class PlugIn:
    """The cheapest class at each point, by what is identified there; no learner."""

    identified: Identified

    def scores(self, X: np.ndarray, given: Any) -> np.ndarray:
        """Minus the cost of every class, (n_samples, n_classes); `given` as for :class:`Identified`."""
        identified = self.identified
        known = identified.probabilities(X, given) if identified.has_probabilities else identified.bounds(X)
        return -identified.costs_and_gains(known)[0]


def identify(
    data: SelectiveLabels,
    *,
    mode: str,
    instrument: str,
    label_range: Any,
    cost: np.ndarray | None,
    fitting: FittingSettings,
    assignment: Callable[[Any], np.ndarray] | None = None,
    assumption: Assumption | None = None,
) -> tuple[Identified, TrainingRows]:
    """Cross-fit the nuisance model, and what the mode makes of it.

    The parameters are those of :class:`selective_labels.UCLClassifier`; `assignment` is what gives known
    probabilities of decision-makers at new rows.
    """
    point = mode == "point"
    # A maximum over decision-makers needs no probabilities of them; one over a number is kept to its overlap.
    if mode == "partial" and not data.numeric:
        fitting = replace(fitting, propensity=SHARES)
    joint = fitting.cross_fit(data, seed=fitting.seed, in_halves=point, new_rows=assignment is None)
    n_classes, floors = len(data.classes), floors_of(assumption, data.classes)
    known = joint, data.features, n_classes, label_range
    bounds, crossed = identified_bounds(*known, held_out=True, floors=floors)
    # What the instrument says by itself is always kept beside.
    alone = identified_bounds(*known, held_out=True)[0] if floors else None
    identified = Identified(
        joint,
        n_classes,
        label_range,
        cost,
        assignment=assignment,
        assumption=assumption,
        classes=None if assumption is None else data.classes,
    )
    probabilities = None
    if point:
        identified, probabilities = _by_slope(identified, data, instrument, bounds, fitting)
    elif mode == "auto" and (refuted := instrument_refuted(data, joint)) is not None:
        warnings.warn(refuted, stacklevel=4)
        identified = replace(identified, direct=fit_direct(data, joint, fitting))
    elif mode in ("tilt", "auto"):
        identified, probabilities = _by_tilt(identified, data, bounds, fitting)
    rows = TrainingRows(bounds, crossed, probabilities, alone)
    return replace(identified, joint=joint.without_rows()), rows


def floors_of(assumption: Assumption | None, classes: np.ndarray | None) -> tuple[AnyFloor, ...]:
    """Floors that an assumption puts under what the instrument leaves open."""
    return () if assumption is None or classes is None else assumption.floors(classes)


def _by_slope(
    identified: Identified, data: SelectiveLabels, instrument: str, bounds: Bounds, fitting: FittingSettings
) -> tuple[Identified, np.ndarray | None]:
    """Point mode: the slope where a test shows that it improves on the labeled cases' answer."""
    joint, by_leniency = identified.joint, instrument == "leniency"
    codes = None if by_leniency else data.decision_makers.astype(float)
    moments, own = held_out_slopes(joint, data, codes)
    if joint.in_halves and not data.decision.all():
        warn_if_not_allowed(data, joint, random_state=fitting.seed, stacklevel=6)
    shrinkage, step = 0.0, None
    injected = joint.report.chosen == "injected"  # what is given has no noise to shrink, nor an error
    if by_leniency and not injected:
        stage = first_stage(HeldOutRows(joint, data))
        identified = replace(identified, concentration=stage.concentration)
        shrinkage = shrinkage_if_strong(
            moments,
            replace(own, deviation=stage.instrument),
            stage.concentration,
            data.sample_weight,
            None if data.panels is None else data.groups,
        )
    if np.isinf(shrinkage):
        direct = fit_direct(data, joint, fitting)
        return replace(identified, slope=Slope(codes, shrinkage), direct=direct), None
    estimate = point_estimate(moments, shrinkage)
    if not (by_leniency or injected):
        step = one_step(estimate, own, data.sample_weight)
    estimate = project_within(stepped(estimate, step), bounds)
    return replace(identified, slope=Slope(codes, shrinkage, step)), estimate


def _by_tilt(
    identified: Identified, data: SelectiveLabels, bounds: Bounds, fitting: FittingSettings
) -> tuple[Identified, np.ndarray | None]:
    """Tilt mode: tilts that the instrument supports where it is strong enough, else the direct fit."""
    rows = HeldOutRows(identified.joint, data)
    stage = first_stage(rows)
    identified = replace(identified, concentration=stage.concentration)
    if data.decision.all() or stage.concentration < GATE:
        if not data.decision.all():
            warn_of_closed_gate(stage.concentration)
        return replace(identified, direct=fit_direct(data, identified.joint, fitting)), None
    tilt = fit_tilt(rows, stage)
    estimate = np.empty((len(data), identified.n_classes))
    for part in rows:
        here = Bounds(bounds.lower[part.rows], bounds.upper[part.rows])
        estimate[part.rows] = tilt.probabilities(part.labeled, part.propensity, here)
    return replace(identified, tilt=tilt), estimate


def warn_of_closed_gate(concentration: float) -> None:
    """Say that decision-makers differ too little for a tilt, and what is done instead."""
    text = (
        f"(tilt, gate closed): decision-makers move decisions too little to learn how the refused differ "
        f"(concentration {concentration:.1f}, {GATE:g} needed): the classifier is fitted to the labeled rows "
        "alone, as if the refused were like them."
    )
    warnings.warn(DiagnosticWarning(GATE_CODE, text), stacklevel=5)


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
    fitting.warn_of_runtime(data)  # with what is caught it would come when the work is done
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = identify(data, fitting=replace(fitting, n_jobs=n_jobs), **problem)
    heard = (each.message for each in caught if not issubclass(each.category, LargeWorkWarning))
    return found, [each for each in heard if isinstance(each, Warning)]
