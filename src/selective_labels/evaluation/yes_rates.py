"""Rates of a yes, alone and given the outcome, of decisions, of a score, and of both together."""

from dataclasses import dataclass

import numpy as np

from selective_labels._errors import UndefinedError
from selective_labels.identification.bounds import Array
from selective_labels.identification.disparity import (
    GroupShares,
    largest_weighted_gap,
    weighted_gap,
    weighted_gap_gradient,
)
from selective_labels.identification.rates import NEGLIGIBLE
from selective_labels.inference.bound_estimators import Ratio, SeenRatio
from selective_labels.inference.evidence import Ends, Estimate, Evidence, mean_estimate, smooth_estimate

# Cases of similar risk are those in the same tenth.
N_TENTHS = 10


@dataclass(frozen=True, eq=False)
class YesRates:
    """Rates of a yes of one way to decide: yes(x) = rule(x) + human(x) D.

    Attributes
    ----------
    rule, human : (n_samples,) arrays
        Probability that the rule says yes, and that the decision taken counts.
    decision : (n_samples,) array
        D.
    label : (n_samples,) int array
        Codes, -1 where not observed.
    event, n_classes : int
    """

    rule: Array
    human: Array
    decision: Array
    label: np.ndarray
    event: int
    n_classes: int

    @property
    def observed(self) -> bool:
        """Whether the labels of all yes's are observed: decisions alone, or both together."""
        return not self.rule.any()

    def rate(self) -> Ratio:
        """P(yes)."""
        none, one = np.zeros(self._shape), np.ones(self._shape)
        return SeenRatio.of(none, self.rule + self.human * self.decision, one, np.zeros(len(self.rule)))

    def given(self, happened: bool) -> Ratio:
        """P(yes | Y = event), or P(yes | Y ≠ event)."""
        which = self._indicator(happened)
        seen = self.human * self._seen(happened)
        below = np.broadcast_to(which, self._shape)
        return SeenRatio.of(self.rule[:, None] * which, seen, below, np.zeros(len(seen)))

    def event_among_yes(self) -> Ratio:
        """P(Y = event | yes)."""
        open_above = self.rule[:, None] * self._indicator(True)
        seen = self.human * self._seen(True)
        below = self.rule + self.human * self.decision
        return SeenRatio.of(open_above, seen, np.zeros(self._shape), below)

    def outcome_weighted(self, first: np.ndarray) -> "OutcomeWeightedGap":
        """Gap between the cases `first` and the others, weighted by outcome; for observed yes's."""
        return OutcomeWeightedGap(self, first)

    def risk_adjusted(self, first: np.ndarray, risk: Array) -> "RiskAdjustedGap":
        """Gap between the cases `first` and the others at similar risk."""
        return RiskAdjustedGap(self.rule + self.human * self.decision, first, risk)

    @property
    def _shape(self) -> tuple[int, int]:
        return len(self.rule), self.n_classes

    def _indicator(self, happened: bool) -> Array:
        found = (np.arange(self.n_classes) == self.event).astype(float)
        return found if happened else 1.0 - found

    def _seen(self, happened: bool) -> Array:
        known = (self.label == self.event) == happened
        return self.decision * (known & (self.label >= 0))


@dataclass(frozen=True, eq=False)
class OutcomeWeightedGap:
    """Δ of :mod:`selective_labels.identification.disparity` between two groups, from scores.

    The ends are attained at shares of the event in the box of both groups' bounds. A share inside its bounds
    has no first-order effect, so the delta method uses the shares at an end only.

    Attributes
    ----------
    rates : YesRates
    first : (n_samples,) bool array
        The group whose rate counts positive; the other is the rest of the cases with a positive weight.
    """

    rates: YesRates
    first: np.ndarray

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper bound."""
        mass = np.ones(len(self.first)) if weights is None else np.asarray(weights)
        masks = [mass * self.first, mass * ~self.first]
        if not all(each.any() for each in masks):
            raise UndefinedError("one of the groups has no case.", "by")
        rates = self.rates
        which = np.broadcast_to(np.eye(rates.n_classes)[rates.event], (len(mass), rates.n_classes))
        share = Ratio(which, np.ones_like(which))
        limits = [share.ends(evidence, each) for each in masks]
        seen = [
            [mean_estimate(rates.human * rates._seen(happened), each) for each in masks]
            for happened in (True, False)
        ]
        size = [mean_estimate(self.first, mass), mean_estimate(~self.first & (mass > 0.0), mass)]
        smallest = self._end([limits[1], limits[0]], [each[::-1] for each in seen], size[::-1])
        largest = self._end(limits, seen, size)
        return smooth_estimate(lambda value: -value, [-1.0], [smallest]), largest

    @staticmethod
    def _end(limits: list[Ends], seen: list[list[Estimate]], size: list[Estimate]) -> Estimate:
        groups = GroupShares(*(np.array([each.value for each in pair]) for pair in (*seen, size)))
        box = [np.array([each[end].value for each in limits]) for end in (0, 1)]
        # Sampling error must not make a rate exceed one.
        lower = np.maximum(box[0], groups.seen_event)
        upper = np.maximum(np.minimum(box[1], 1.0 - groups.seen_other), lower)
        if not (lower.min() > NEGLIGIBLE and upper.max() < 1.0 - NEGLIGIBLE):
            raise UndefinedError("the event, or its complement, may have no probability in a group.", "by")
        event = largest_weighted_gap(groups, lower, upper)
        by_event_seen, by_other_seen, by_event, by_size = weighted_gap_gradient(groups, event)
        parts, slopes = [*seen[0], *seen[1], *size], [*by_event_seen, *by_other_seen, *by_size]
        for place, ends in enumerate(limits):
            for end, reached in zip(ends, (lower[place], upper[place]), strict=True):
                if event[place] == reached:
                    parts.append(end)
                    slopes.append(by_event[place])
                    break
        value = weighted_gap(groups, event)
        influence = sum(slope * part.influence for slope, part in zip(slopes, parts, strict=True))
        return Estimate(value, np.asarray(influence))


@dataclass(frozen=True, eq=False)
class RiskAdjustedGap:
    """Gap in the rate of a yes between two groups at similar risk.

    β of the regression yes = β 1{first} + one constant for each tenth of the risk, that is the mean over
    tenths of the gaps, with weights n_1 n_2 / (n_1 + n_2).
    """

    yes: Array
    first: np.ndarray
    risk: Array

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """The gap, twice: it is a point."""
        mass = np.ones(len(self.first)) if weights is None else np.asarray(weights)
        _, level = np.unique(self.risk, return_inverse=True)
        by_level = np.bincount(level, mass)
        rank = (np.cumsum(by_level) - by_level / 2.0) / mass.sum()
        tenth = np.floor(np.clip(rank, 0.0, 1.0 - NEGLIGIBLE) * N_TENTHS).astype(int)[level]
        size = np.maximum(np.bincount(tenth, mass), np.finfo(float).tiny)

        def net(values: Array) -> Array:
            return values - (np.bincount(tenth, mass * values) / size)[tenth]

        group, yes = net(self.first.astype(float)), net(self.yes)
        spread = float(np.sum(mass * group**2))
        if not spread > NEGLIGIBLE * mass.sum():
            raise UndefinedError("no tenth of the risk has cases of both groups.", "by")
        gap = float(np.sum(mass * group * yes)) / spread
        found = Estimate(gap, len(mass) * mass * group * (yes - gap * group) / spread)
        return found, found
