"""The identification step: bounds and point estimates of class probabilities at training and new rows."""

import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike, fspath
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
from joblib import hash as content_hash
from sklearn.utils.validation import check_memory

from selective_labels._errors import InputError, LargeWorkWarning
from selective_labels._validation import SKILL_RANGE
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.instrument import Instrument, NoAssumption
from selective_labels.assumptions.refused import Informed
from selective_labels.data.reading import read_strata
from selective_labels.data.roles import HOLE, read_assignment
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.cautions import (
    caution_warning,
    cautions_of,
    doubts_of_instrument,
    in_words,
    instrument_warning,
    quick_balance,
)
from selective_labels.diagnostics.diagnose import warn_if_not_allowed
from selective_labels.estimators.tilt_mode import TiltChoice, choose_tilt
from selective_labels.identification.bounds import Bounds
from selective_labels.identification.costs import decided, gains, point_costs, worst_case_costs
from selective_labels.identification.event_bounds import LaminarBounds
from selective_labels.identification.point import project_within
from selective_labels.identification.prevalence import tilted_regrets
from selective_labels.inference.row_intervals import (
    WorstCaseRegret,
    decided_shares,
    decision_level,
    widened,
    worst_case_regret,
)
from selective_labels.nuisance.assignment import SHARES
from selective_labels.nuisance.calibrated_bounds import UNKNOWN, CalibratedBounds, RowScores, fit_bounds
from selective_labels.nuisance.cross_fit import (
    CrossFit,
    FittingSettings,
    arm_chances,
    cross_fit,
    new_propensity,
)
from selective_labels.nuisance.first_stage import HeldOutRows, first_stage
from selective_labels.nuisance.slopes import (
    held_out_slopes,
    one_step,
    point_estimate,
    shrinkage_if_strong,
    slope_moments,
    stepped,
)
from selective_labels.nuisance.tilts import Tilted


@dataclass(frozen=True)
class DirectFit:
    """P(Y=k | x, D=1) from models of the labeled rows only, one for each fold.

    Attributes
    ----------
    models : CrossFit
        Models of the labels with a single decision-maker for all labeled rows, or the given probabilities.
    fitted : bool
        Whether models were fitted.
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

    The joint model also has to fit decisions, and its estimate for labeled cases, P(Y=k, D=1 | x) /
    P(D=1 | x), performed worse than this plain fit on real loans. The folds are those of the joint model.

    Parameters
    ----------
    joint : CrossFit
        Joint model of the same rows.
    """
    if joint.report.chosen == "injected":
        return DirectFit(joint.without_rows(), fitted=False)
    own = joint.held_out[data.y != HOLE]
    folds = [(np.flatnonzero(own != each), np.flatnonzero(own == each)) for each in np.unique(own)]
    named = fitting.nuisance is None or isinstance(fitting.nuisance, str)
    chosen = joint.report.chosen if named else fitting.nuisance
    return fit_labeled(data, chosen, folds, fitting.seed, n_jobs=fitting.n_jobs)


def fit_labeled(
    data: SelectiveLabels, nuisance: Any, cv: Any, seed: int | None, *, n_jobs: int | None = None
) -> DirectFit:
    """Cross-fit models of the label on the labeled rows. Given probabilities are taken as they are.

    Parameters
    ----------
    nuisance : as for :class:`selective_labels.UCLClassifier`
    cv : folds of the labeled rows, or their number
    """
    if callable(nuisance) and not hasattr(nuisance, "fit"):
        given = FittingSettings(nuisance, cv=cv, seed=seed).cross_fit(data, seed=seed)
        return DirectFit(given.without_rows(), fitted=False)
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
    models = cross_fit(alone, nuisance, cv=cv, propensity=SHARES, n_jobs=n_jobs, random_state=seed)
    return DirectFit(models.without_rows(), fitted=True)


NO_RANGE = (0.0, 1.0)


@dataclass(frozen=True)
class Slope:
    """Point identification: numeric values of the decision-makers (None: leniency) and the shrinkage.

    `step` is the correction that the one-step estimator of a numeric instrument adds to the probabilities.
    """

    codes: np.ndarray | None
    shrinkage: float
    step: np.ndarray | None = None


@dataclass(frozen=True)
class Identified:
    """Bounds on class probabilities from a nuisance model, and point estimates if the mode has them.

    Attributes
    ----------
    cost : (n_classes, n_classes) array or None
    slope : Slope or None
        Set in point mode.
    direct : DirectFit or None
        Set in point mode if the instrument is too weak. Estimates are then those of the labeled rows.
    choice : TiltChoice or None
        Tilt and auto mode: whether the tilt is used, and why.
    concentration : float
        Concentration of the first stage, if the mode has one.
    assignment : callable or None
        Known assignment probabilities at new rows, as a function of the features as given by users.
    class_weight : (n_classes,) array or None
        Value of a correct prediction of each class. None: equal values.
    rule : CalibratedBounds or None
        Bounds of rows under the instrument and what is assumed besides.
    alone : CalibratedBounds or None
        Bounds under the instrument alone, if something is assumed besides.
    share : tuple of (n_classes,) array, float and float, or None
        The event with a known share, its multiplier, and the limit of the share that binds.
    cautions : tuple of str
        Why what was assumed is doubtful.
    decided_shares : (n_tails,) array or None
        Share of the training rows that are decided at each error rate. None in models of earlier versions.
    """

    joint: CrossFit
    n_classes: int
    label_range: Any
    cost: np.ndarray | None
    slope: Slope | None = None
    direct: DirectFit | None = None
    choice: TiltChoice | None = None
    concentration: float = float("nan")
    assignment: Callable[[Any], np.ndarray] | None = None
    class_weight: np.ndarray | None = None
    rule: CalibratedBounds | None = None
    alone: CalibratedBounds | None = None
    share: tuple[np.ndarray, float, float] | None = None
    cautions: tuple[str, ...] = ()
    decided_shares: np.ndarray | None = None

    @property
    def has_probabilities(self) -> bool:
        """Whether class probabilities, and not only bounds, are identified."""
        return self.slope is not None or self.tilt is not None or self.direct is not None

    @property
    def tilt(self) -> Tilted | None:
        """The tilt, if it is used."""
        return None if self.choice is None else self.choice.tilt

    def bounds(
        self, X: np.ndarray, strata: np.ndarray | None = None, confidence_level: float | None = None
    ) -> Bounds:
        """Calibrated bounds at new rows, with a margin if a level is given. Crossing bounds are repaired.

        `strata` are those of the rows, as given by users; without them, bounds are means over strata.
        """
        if self.rule is None:
            raise InputError(
                "this model was saved before bounds of rows were calibrated; fit it again with this version.",
                "model",
            )
        cells = self.rule.strata.codes(strata, len(X))
        if strata is not None and self.rule.strata.labels is not None:
            new = (cells == UNKNOWN) & ~pd.isna(strata)
            if new.any():
                warnings.warn(
                    f"strata: {new.sum()} rows have values that fit has not seen, such as "
                    f"{strata[new][0]!r}; their bounds are means over the strata of fit.",
                    UserWarning,
                    stacklevel=4,
                )
        found, errors = self.rule.with_errors(self.joint, X, cells)
        return found if confidence_level is None else widened(found, errors, confidence_level)

    def decided(
        self, X: np.ndarray, strata: np.ndarray | None = None, confidence_level: float | None = None
    ) -> np.ndarray:
        """Rows for which only one class can be optimal, (n_samples,) bool.

        With a level, at most the share 1 - level of the decided rows is expected to be a mistake
        (:func:`selective_labels.inference.row_intervals.decision_level`).
        """
        if confidence_level is not None and self.decided_shares is not None:
            confidence_level = decision_level(self.decided_shares, confidence_level)
        if confidence_level == 1.0:
            return np.zeros(len(X), dtype=bool)
        return decided(self.bounds(X, strata, confidence_level), self.cost)

    def probabilities(self, X: np.ndarray, given: Any) -> np.ndarray:
        """Class probabilities at new rows, (n_samples, n_classes). Not in partial mode.

        `given` are the features as given by users, from which a known assignment is computed.
        """
        if self.direct is not None:
            return self.direct.probabilities(X, self.n_classes)
        known = None
        if self.assignment is not None:
            n_makers = len(self.joint.folds[0].lookup)
            features = given.X if isinstance(given, SelectiveLabels) else given
            known = read_assignment(self.assignment, features, len(X), n_makers)
        bounds = self.bounds(X, read_strata(given))
        if self.tilt is not None:
            return self._tilted(X, known, bounds)
        assert self.slope is not None
        moments = slope_moments(self.joint, X, self.n_classes, self.slope.codes, known)
        estimate = stepped(point_estimate(moments, self.slope.shrinkage), self.slope.step)
        return project_within(estimate, bounds)

    def _tilted(self, X: np.ndarray, known: np.ndarray | None, bounds: Bounds) -> np.ndarray:
        """Estimate with joint and assignment probabilities averaged over the folds, as for bounds."""
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
        """Cost of predicting each class, and gain of each class, both (n_samples, n_classes).

        From bounds: worst-case regrets (Theorem 5.3) and lower bounds. From class probabilities: regrets
        (Theorem 4.4) and the probabilities. With a cost matrix or a label range, the gain is the largest cost
        minus the cost. With class weights, the gain is the weighted lower bound (or probability), which a
        correct prediction is guaranteed to yield (maximin), and the cost is the difference to the best class.
        With a known share, regrets are tilted by its multiplier.
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

    def worst_case_regret(
        self, scores: RowScores, chosen: np.ndarray, data: SelectiveLabels
    ) -> WorstCaseRegret:
        """Worst-case regret of a rule that predicts these classes for the training rows."""
        tilt, fixed = None, 0.0
        if self.share is not None:
            members, multiplier, limit = self.share
            tilt, fixed = multiplier * members, multiplier * limit
        found = worst_case_regret(
            scores, chosen, data.weights, cost=self.cost, tilt=tilt, clusters=data.groups
        )
        return WorstCaseRegret(found.value + fixed, found.error)

    @property
    def _without_range(self) -> bool:
        lowest, highest = self.label_range
        return np.ndim(lowest) == np.ndim(highest) == 0 and (lowest, highest) == NO_RANGE


@dataclass(frozen=True)
class TrainingRows:
    """Identified quantities at the training rows, from held-out models.

    Attributes
    ----------
    crossed : (n_samples,) bool array
        Whether the bounds crossed and were repaired.
    scores : RowScores
        Scores behind the bounds.
    probabilities : (n_samples, n_classes) array or None
        Estimates of point and tilt mode, unless only the labeled rows are used.
    alone : Bounds or None
        Bounds from the instrument alone, if there is a further assumption.
    """

    bounds: Bounds
    crossed: np.ndarray
    probabilities: np.ndarray | None
    scores: RowScores
    alone: Bounds | None = None

    @property
    def known(self) -> Bounds | np.ndarray:
        """Input of the learner: probabilities if available, else bounds."""
        return self.bounds if self.probabilities is None else self.probabilities


@dataclass(frozen=True)
class PlugIn:
    """The cheapest class at each point given the identified quantities, without a learner."""

    identified: Identified

    def scores(self, X: np.ndarray, given: Any) -> np.ndarray:
        """Minus the cost of every class, (n_samples, n_classes); `given` as for :class:`Identified`."""
        identified = self.identified
        if identified.has_probabilities:
            known: Bounds | np.ndarray = identified.probabilities(X, given)
        else:
            known = identified.bounds(X, read_strata(given))
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
    skill_range: float = SKILL_RANGE,
    direction: Informed | None = None,
) -> tuple[Identified, TrainingRows]:
    """Cross-fit the nuisance model and compute the estimates of the mode.

    The parameters are those of :class:`selective_labels.UCLClassifier`. `assignment` computes known
    assignment probabilities at new rows. `direction` is what auto mode knows of the refused.
    """
    point = mode == "point"
    if mode == "partial" and not data.numeric and not assignment_matters(data):
        fitting = replace(fitting, propensity=SHARES)
    joint = fitting.cross_fit(data, seed=fitting.seed, in_halves=point, new_rows=assignment is None)
    data = replace(data, label_weights=joint.label_weights)
    # With all labels seen, nothing is to be bounded, and decision-makers have nothing to add.
    instrument_alone: Assumption = NoAssumption() if data.labeled.all() else Instrument()
    known = instrument_alone if assumption is None or data.labeled.all() else assumption
    rule, scores = fit_bounds(joint, data, known, label_range)
    bounds, crossed = scores.bounds()
    alone, alone_bounds, alone_scores = None, None, scores
    if assumption is not None:  # the bounds from the instrument alone are kept for comparison
        alone, alone_scores = fit_bounds(joint, data, instrument_alone, label_range)
        alone_bounds = alone_scores.bounds()[0]
    identified = Identified(
        joint, len(data.classes), label_range, cost, assignment=assignment, rule=rule, alone=alone
    )
    probabilities = None
    plain = alone_scores.uncalibrated
    doubts = doubts_of_instrument(
        data, joint, None if plain is None else {instrument_alone.name: plain}, seed=fitting.seed
    )
    if doubts:
        warnings.warn(instrument_warning(doubts[0], unused=mode == "auto"), stacklevel=4)
    cautions = cautions_of(data, joint, [known], doubts=doubts, seed=fitting.seed).get(known.name, ())
    known_doubts = {in_words(each) for each in doubts}
    for sentence in cautions:
        if sentence not in known_doubts:
            warnings.warn(caution_warning(sentence), stacklevel=4)
    identified = replace(identified, cautions=cautions)
    if point:
        identified, probabilities = _by_slope(identified, data, instrument, bounds, fitting)
    elif mode in ("tilt", "auto"):
        doubtful = cautions[0] if cautions else None
        choice, probabilities = choose_tilt(joint, data, bounds, mode, skill_range, direction, doubtful)
        identified = replace(identified, choice=choice)
    rows = TrainingRows(bounds, crossed, probabilities, replace(scores, uncalibrated=None), alone_bounds)
    shares = decided_shares(scores, data.weights, cost)
    return replace(identified, joint=joint.without_rows(), decided_shares=shares), rows


# A model of who decides is worth fitting for bounds only where balance fails clearly.
CLEARLY = 1e-3


def assignment_matters(data: SelectiveLabels) -> bool:
    """Whether shares of decision-makers, within strata, cannot stand for who decides a case."""
    if data.assignment is not None:
        return bool(np.ptp(data.assignment, axis=0).any())
    return quick_balance(data) < CLEARLY


def _by_slope(
    identified: Identified, data: SelectiveLabels, instrument: str, bounds: Bounds, fitting: FittingSettings
) -> tuple[Identified, np.ndarray | None]:
    """Point mode: the slope, if a test shows that it improves on the estimate for labeled cases."""
    joint, by_leniency = identified.joint, instrument == "leniency"
    codes = None if by_leniency else data.decision_makers.astype(float)
    moments, own = held_out_slopes(joint, data, codes)
    if joint.in_halves and not data.labeled.all():
        warn_if_not_allowed(data, joint, random_state=fitting.seed, stacklevel=6)
    shrinkage, step = 0.0, None
    injected = joint.report.chosen == "injected"  # given probabilities have no estimation error
    if not injected:
        if by_leniency:
            stage = first_stage(HeldOutRows(joint, data))
            deviation, concentration = stage.instrument, stage.concentration
        else:
            deviation, concentration = own.sign * own.deviation, own.concentration(data.sample_weight)
        identified = replace(identified, concentration=concentration)
        shrinkage = shrinkage_if_strong(
            moments,
            replace(own, deviation=deviation),
            concentration,
            data.sample_weight,
            None if data.panels is None else data.groups,
        )
    if np.isinf(shrinkage):
        direct = fit_direct(data, joint, fitting)
        return replace(identified, slope=Slope(codes, shrinkage), direct=direct), None
    if not by_leniency:
        shrinkage = 0.0  # the step corrects the ratio
    estimate = point_estimate(moments, shrinkage)
    if not (by_leniency or injected):
        step = one_step(estimate, own, data.sample_weight)
    estimate = project_within(stepped(estimate, step), bounds)
    return replace(identified, slope=Slope(codes, shrinkage, step)), estimate


Heard = tuple[tuple[Identified, TrainingRows], list[Warning]]

# A search over five folds and the final fit need six results before one is needed again.
MOST_RECENT = 8
# With more rows, keeping the result takes too much memory.
MOST_ROWS = 200_000

_recent: OrderedDict[str, Heard] = OrderedDict()
_lock = Lock()


def identify_once(
    memory: Any, data: SelectiveLabels, fitting: FittingSettings, **problem: Any
) -> tuple[Identified, TrainingRows]:
    """Call :func:`identify`, or return its cached result for the same data and settings.

    Without a memory, the most recent results are kept while the program runs: a search over `estimator` or
    `surrogate` fits the nuisance models of each fold once. Warnings are part of the result and are issued
    again.

    Parameters
    ----------
    memory : None, path or joblib.Memory
    fitting : FittingSettings
        The number of jobs does not affect the cache key.
    problem
        Further arguments of :func:`identify`.
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
    """Clear the results kept without a memory."""
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
    """Hash of everything that the result depends on, or None if the result must not be kept.

    A user's function or class may be redefined under the same name, so such problems are not kept.
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
    fitting.warn_of_runtime(data)  # outside the block, which would delay it until the work is done
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = identify(data, fitting=replace(fitting, n_jobs=n_jobs), **problem)
    heard = (each.message for each in caught if not issubclass(each.category, LargeWorkWarning))
    return found, [each for each in heard if isinstance(each, Warning)]
