"""Ends of the identified interval of a functional, estimated from scores, each with its influence.

A functional of one classifier, or the difference of two, is one of three things: a ratio of expectations that
are linear in the class probabilities (`Ratio`; with a constant below, a mean), a separation of an event from
its complement (`Separation`, `RankSeparation`), or the regret (:mod:`selective_labels.inference.regret`).
Each finds where its extreme lies and then averages scores there: where does not depend on a row's own noise,
so the delta method applies. What is called a row may be a cell of rows that are alike, whose scores are
linear forms (:mod:`selective_labels.cells.cells`): arrays of scores then have one more axis.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from selective_labels.identification.bounds import Array
from selective_labels.identification.ranking import NEGLIGIBLE, balanced_accuracy_extremes
from selective_labels.inference.estimates import (
    Ends,
    Estimate,
    by_row,
    mean_estimate,
    of_rows,
    ratio_estimate,
    smooth_estimate,
    subtract,
)
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.exact import count_scores
from selective_labels.inference.known_shares import notice_ties, shared_ratio_end
from selective_labels.inference.shared_separation import SharedSeparation
from selective_labels.support.errors import UndefinedError

# From evidence and weights to two ends.
FindEnds = Callable[[Evidence, Array], Ends]
MAX_STEPS = 50
STEP_TOLERANCE = 1e-12


class Functional(Protocol):
    """Something between two ends."""

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper end; rows of weight zero are outside the population."""


@dataclass(frozen=True, eq=False)
class Ratio:
    """E[Σ_k c_k(X) η_k(X)] / E[Σ_k g_k(X) η_k(X)].

    The largest value θ solves max_η E[Σ_k (c_k - θ g_k) η_k] = 0, so the slack of each row goes to the class
    with the largest c_k - θ g_k, and the smallest likewise (Dinkelbach's iteration; hard and stochastic
    classifiers, any number of classes). Sharp. Where it goes depends on the row through c, g and the number θ
    only, and θ is optimal: to first order the end does not move with it, and the delta method holds the
    choice fixed.

    Attributes
    ----------
    numerator, denominator : (n_samples, n_classes) arrays
        c and g, g not negative.
    signed : bool
        Whether it is the difference of two ratios with the same denominator.
    """

    numerator: Array
    denominator: Array
    signed: bool = False

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper end."""
        low, high = (self._end(evidence, weights, sign) for sign in (-1.0, 1.0))
        return notice_ties(low, high, evidence.covariance) if evidence.shares else (low, high)

    @cached_property
    def known_denominator(self) -> bool:
        """Whether g does not depend on the class."""
        return bool((self.denominator == self.denominator[:, :1]).all())

    def row_ends(self, evidence: Evidence) -> tuple[Array, Array]:
        """Scores of the lower and of the upper end of a mean over everybody, that is where g = 1."""
        low, high = (self._scores(evidence.extreme(sign * self.numerator))[0] for sign in (-1.0, 1.0))
        return low, high

    def _end(self, evidence: Evidence, weights: Array | None, sign: float) -> Estimate:
        if evidence.shares:
            return shared_ratio_end(self.numerator, self.denominator, evidence, weights, sign)
        shares = _shares(weights, len(evidence.slack))
        # A known denominator makes the choice independent of θ; else start with the slack spread evenly.
        value = 0.0
        if not self.known_denominator:
            value = _ratio_of_means(*self._scores(evidence.evenly()), shares)
        for _ in range(MAX_STEPS):
            scores = self._scores(evidence.extreme(sign * (self.numerator - value * self.denominator)))
            previous, value = value, _ratio_of_means(*scores, shares)
            if self.known_denominator or abs(value - previous) <= STEP_TOLERANCE:
                break
        above, below = (mean_estimate(each, weights) for each in scores)
        counts = count_scores(*scores, weights, self.signed, evidence.unit)
        support = min(max(below.value / self.denominator.max(), 0.0), 1.0)
        return replace(ratio_estimate(above, below), counts=counts, support=support)

    def _scores(self, probabilities: Array) -> tuple[Array, Array]:
        """Scores of numerator and denominator, from scores of class probabilities."""
        above = np.einsum("nk,nk...->n...", self.numerator, probabilities)
        if self.known_denominator:  # class probabilities sum to one, and so do their scores
            return above, of_rows(self.denominator[:, 0], above)
        return above, np.einsum("nk,nk...->n...", self.denominator, probabilities)


@dataclass(frozen=True, eq=False)
class KnownRatioDifference:
    """Difference of two ratios whose denominators do not depend on η, such as predictive values.

    E[Σ_k c_k η_k] / E[g] - E[Σ_k c'_k η_k] / E[g'], linear in η: the slack goes to the class with the largest
    (smallest) c_k / E[g] - c'_k / E[g']. Sharp.
    """

    first: Ratio
    second: Ratio

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper end."""
        scale = [self._below(each, evidence, weights).value for each in (self.first, self.second)]
        if min(scale) <= NEGLIGIBLE:
            raise UndefinedError("its condition has no probability among these cases.", "metric")
        gain = self.first.numerator / scale[0] - self.second.numerator / scale[1]
        low, high = (self._end(evidence, weights, gain, sign) for sign in (-1.0, 1.0))
        return low, high

    def _end(self, evidence: Evidence, weights: Array | None, gain: Array, sign: float) -> Estimate:
        if evidence.shares:
            # The two denominators vary too, and by a multiplier their part of the error is not worked out.
            raise UndefinedError(
                "the difference of two predictive values has no interval under a known share.", "metric"
            )
        probabilities, parts = evidence.extreme(sign * gain), []
        for each in (self.first, self.second):
            above = mean_estimate(np.einsum("nk,nk...->n...", each.numerator, probabilities), weights)
            parts.append(ratio_estimate(above, self._below(each, evidence, weights)))
        return subtract(*parts)

    @staticmethod
    def _below(ratio: Ratio, evidence: Evidence, weights: Array | None) -> Estimate:
        shape = evidence.slack if weights is None else weights
        return mean_estimate(of_rows(ratio.denominator[:, 0], shape), weights)


@dataclass(frozen=True, eq=False)
class Separation:
    """½ + scale · (E[gain | event] - E[gain | no event]) = ½ + scale · Cov(gain, η) / (E[η] (1 - E[η])).

    Balanced accuracy of two classes has the probability of predicting the event as gain and scale ½. Where η
    is at its upper end comes from the model's bounds, exactly
    (:func:`selective_labels.identification.ranking.balanced_accuracy_extremes`).

    Attributes
    ----------
    values : (n_samples,) array
        The gain.
    event : int
        Code of the class that is the event.
    scale : float
    centre : float
        What stands in place of ½: zero for a difference.
    """

    values: Array
    event: int
    scale: float
    centre: float = 0.5

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper end."""
        gain = self.gain(weights)
        if evidence.shares:
            plain = self.ends(replace(evidence, shares=()), weights)
            known = SharedSeparation(gain, self.event, self.centre, self.scale, self.spill)
            return known.ends(evidence, weights, plain)
        event = evidence.bounds.lower[:, self.event], evidence.bounds.upper[:, self.event]
        extremes = balanced_accuracy_extremes(gain, *event, by_row(weights))
        low, high = (
            self._end(evidence, weights, gain, np.asarray(at_upper, dtype=float))
            for at_upper in (extremes.minimum_at_upper, extremes.maximum_at_upper)
        )
        return low, high

    def gain(self, weights: Array | None) -> Array:
        """Return the gain of each row."""
        return self.values

    def spill(self, mass: Array, weights: Array | None) -> Array:
        """How much a row moves E[gain · mass] by moving the gains of the others."""
        return np.zeros_like(mass)

    def _end(self, evidence: Evidence, weights: Array | None, gain: Array, at_upper: Array) -> Estimate:
        event = np.eye(evidence.lower.shape[1])[self.event]
        low, high = (evidence.extreme(sign * event)[:, self.event] for sign in (-1.0, 1.0))
        chance = low + of_rows(at_upper, low) * (high - low)
        joint = self._mean_of_gain(gain, chance, weights)
        mean = self._mean_of_gain(gain, np.ones_like(chance), weights)
        share = mean_estimate(chance, weights)
        spread = share.value * (1.0 - share.value)
        if not spread > NEGLIGIBLE:
            raise UndefinedError(
                "the event, or its complement, has no probability among these cases.", "metric"
            )
        contrast = (joint.value - mean.value * share.value) / spread
        by_share = -(mean.value + contrast * (1.0 - 2.0 * share.value)) / spread
        gradient = self.scale * np.array([1.0 / spread, -share.value / spread, by_share])
        both = [joint, mean, share]
        found = smooth_estimate(lambda *_: self.centre + self.scale * contrast, gradient, both)
        return replace(found, support=min(share.value, 1.0 - share.value))

    def _mean_of_gain(self, gain: Array, mass: Array, weights: Array | None) -> Estimate:
        direct = mean_estimate(of_rows(gain, mass) * mass, weights)
        indirect = mean_estimate(self.spill(mass, weights), weights)
        return Estimate(direct.value, direct.influence + indirect.influence)


@dataclass(frozen=True, eq=False)
class RankSeparation(Separation):
    """AUC, or the difference of two: a separation with the mid-ranks of scores as gain, and scale one.

    AUC = ½ + Cov(F, η) / (E[η] (1 - E[η])), F the mid-rank distribution function of the score. F is estimated
    from the same rows; its part of the influence is how much a row moves the ranks of the others (Hájek's
    projection).

    Attributes
    ----------
    values : (n_scores, n_samples) int array
        Levels of each score, from its lowest value up.
    signs : tuple of float
        One for each score.
    """

    signs: tuple[float, ...] = (1.0,)

    def gain(self, weights: Array | None) -> Array:
        """Mid-ranks in [0, 1]."""
        share = _shares(by_row(weights), self.values.shape[1])
        return np.sum([sign * _mass_below(level, share) for sign, level in self._scores], axis=0)

    def spill(self, mass: Array, weights: Array | None) -> Array:
        """Mass at higher scores, whose ranks a row raises."""
        moved = _shares(weights, len(mass)) * mass
        above = moved if moved.ndim == 1 else moved.sum(axis=1)
        spills = [sign * _mass_below(level.max() - level, above) for sign, level in self._scores]
        return of_rows(np.sum(spills, axis=0), mass)

    @property
    def _scores(self) -> list[tuple[float, np.ndarray]]:
        return list(zip(self.signs, self.values, strict=True))


def outer_difference(first: Ends, second: Ends) -> Ends:
    """[lower - upper', upper - lower']: sharp if the two concern different cases, and valid always."""
    return subtract(first[0], second[1]), subtract(first[1], second[0])


def _ratio_of_means(above: Array, below: Array, shares: Array) -> float:
    denominator = float(np.vdot(shares, below))
    if not denominator > NEGLIGIBLE:
        raise UndefinedError("its condition has no probability among these cases.", "metric")
    return float(np.vdot(shares, above)) / denominator


def _shares(weights: Array | None, n_samples: int) -> Array:
    return np.full(n_samples, 1.0 / n_samples) if weights is None else weights / weights.sum()


def _mass_below(level: np.ndarray, mass: Array) -> Array:
    """Mass at lower levels and half of that at the same level."""
    by_level = np.bincount(level, weights=mass)
    return (np.cumsum(by_level) - by_level / 2.0)[level]
