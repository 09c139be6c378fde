"""What the data say about class probabilities, at the training rows and at new ones."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selective_labels.assumptions import Assumption
from selective_labels.data import SelectiveLabels
from selective_labels.data.columns import read_assignment
from selective_labels.diagnostics import warn_if_not_allowed
from selective_labels.identification.atoms import AnyFloor
from selective_labels.identification.bounds import Bounds
from selective_labels.identification.costs import gains, point_costs, worst_case_costs
from selective_labels.identification.earmarked import Earmarked
from selective_labels.identification.multipliers import guaranteed_gains
from selective_labels.nuisance.assignment import SHARES
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.per_row import identified_bounds
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.nuisance.slopes import (
    choose_shrinkage,
    held_out_slopes,
    one_step,
    point_estimate,
    slope_moments,
    stepped,
)

NO_RANGE = (0.0, 1.0)


@dataclass(frozen=True)
class Slope:
    """Point identification: the numbers of the decision-makers (None: leniency) and the shrinkage.

    `assignment` gives known probabilities of decision-makers at new rows, from features as users give them;
    `step` is what the one-step estimator of the ratio of a number adds to the class probabilities.
    """

    codes: np.ndarray | None
    shrinkage: float
    assignment: Callable[[Any], np.ndarray] | None = None
    step: np.ndarray | None = None


@dataclass(frozen=True)
class Identified:
    """Bounds of class probabilities, and point estimates in point mode, from a cross-fitted nuisance model.

    Attributes
    ----------
    joint : CrossFit
    n_classes : int
    label_range : pair
    cost : (n_classes, n_classes) array or None
    slope : Slope or None
        None in partial mode.
    class_weight : (n_classes,) array or None
        What a right prediction of each class is worth; None: all the same.
    assumption : Assumption or None
        What is assumed besides the instrument.
    classes : array or None
        Labels of the classes, which an assumption speaks of.
    share : pair of ((n_classes,) array, float) or None
        The event whose share is known, and its multiplier.
    """

    joint: CrossFit
    n_classes: int
    label_range: Any
    cost: np.ndarray | None
    slope: Slope | None
    class_weight: np.ndarray | None = None
    assumption: Assumption | None = None
    classes: np.ndarray | None = None
    share: tuple[np.ndarray, float] | None = None

    def bounds(self, X: np.ndarray) -> Bounds:
        """Bounds at new rows; where they crossed they are repaired."""
        floors = floors_of(self.assumption, self.classes)
        return identified_bounds(self.joint, X, self.n_classes, self.label_range, floors=floors)[0]

    def probabilities(self, X: np.ndarray, given: Any) -> np.ndarray:
        """Class probabilities under NUCEM at new rows, (n_samples, n_classes); point mode only.

        `given` are the features as users give them, of which a known assignment is a function.
        """
        assert self.slope is not None
        known = None
        if self.slope.assignment is not None:
            n_makers = len(self.joint.folds[0].lookup)
            features = given.X if isinstance(given, SelectiveLabels) else given
            known = read_assignment(self.slope.assignment, features, len(X), n_makers)
        moments = slope_moments(self.joint, X, self.n_classes, self.slope.codes, known)
        return stepped(point_estimate(moments, self.slope.shrinkage), self.slope.step)

    def costs_and_gains(self, known: Bounds | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cost of predicting each class, and what each class is worth, both (n_samples, n_classes).

        From bounds: worst-case regrets (Theorem 5.3) and lower bounds; from class probabilities: regrets
        (Theorem 4.4) and the probabilities. With a cost matrix or a label range, worth is the largest cost
        minus the cost. With weights of classes, worth is the weighted lower bound (or probability), which a
        right prediction is sure to bring (maximin), and the cost what is missing to the best class. With a
        known share, worth is the accuracy that the rule with its multiplier is sure to have.
        """
        if self.share is not None and isinstance(known, Bounds):
            worth = guaranteed_gains(known, *self.share)
            return worth.max(axis=1, keepdims=True) - worth, worth - worth.min(axis=1, keepdims=True)
        if self.class_weight is not None:
            worth = (known.lower if isinstance(known, Bounds) else known) * self.class_weight
            return worth.max(axis=1, keepdims=True) - worth, worth
        if isinstance(known, Bounds):
            costs, worth = worst_case_costs(known, self.cost), known.lower
        else:
            costs, worth = point_costs(known, self.cost), known
        plain = self.cost is None and self._without_range and not isinstance(known, Earmarked)
        return costs, worth if plain else gains(costs)

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
        In point mode.
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
        partial = self.identified.slope is None
        known = self.identified.bounds(X) if partial else self.identified.probabilities(X, given)
        return -self.identified.costs_and_gains(known)[0]


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
    """Cross-fit the nuisance model and, in point mode, choose the shrinkage of the slope.

    The parameters are those of :class:`selective_labels.UCLClassifier`; `assignment` is what gives known
    probabilities of decision-makers at new rows.
    """
    n_classes = len(data.classes)
    point = mode == "point"
    # A maximum over decision-makers needs no probabilities of them; one over a number stays within overlap.
    if not point and not data.numeric:
        fitting = replace(fitting, propensity=SHARES)
    joint = fitting.cross_fit(data, seed=fitting.seed, in_halves=point, new_rows=assignment is None)
    slope, probabilities = None, None
    if point:
        by_leniency = instrument == "leniency"
        codes = None if by_leniency else data.decision_makers.astype(float)
        moments, own = held_out_slopes(joint, data, codes)
        shrinkage, step = 0.0, None
        if joint.in_halves and not data.decision.all():
            warn_if_not_allowed(data, joint, random_state=fitting.seed, stacklevel=5)
        injected = joint.report.chosen == "injected"  # what is given has no noise to shrink, nor an error
        shared = None if data.panels is None else data.groups
        if by_leniency and not injected:
            shrinkage, _ = choose_shrinkage(moments, own, data.sample_weight, shared)
        probabilities = point_estimate(moments, shrinkage)
        if not (by_leniency or injected):
            step = one_step(probabilities, own, data.sample_weight)
        probabilities = stepped(probabilities, step)
        slope = Slope(codes, shrinkage, assignment, step)
    floors = floors_of(assumption, data.classes)
    bounds, crossed = identified_bounds(
        joint, data.features, n_classes, label_range, held_out=True, floors=floors
    )
    identified = Identified(
        joint.without_rows(),
        n_classes,
        label_range,
        cost,
        slope,
        assumption=assumption,
        classes=None if assumption is None else data.classes,
    )
    alone = None
    if floors:  # what the instrument says by itself is always kept beside
        alone = identified_bounds(joint, data.features, n_classes, label_range, held_out=True)[0]
    return identified, TrainingRows(bounds, crossed, probabilities, alone)


def floors_of(assumption: Assumption | None, classes: np.ndarray | None) -> tuple[AnyFloor, ...]:
    """Floors that an assumption puts under what the instrument leaves open."""
    return () if assumption is None or classes is None else assumption.floors(classes)
