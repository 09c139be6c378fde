"""Ends of the identified interval of a functional, estimated from scores, each with its influence.

A functional of one classifier, or the difference of two, is one of three things: a ratio of expectations that
are linear in the class probabilities (`Ratio`; with a constant below, a mean), a separation of an event from
its complement (`Separation`, `RankSeparation`), or the regret (`Regret`). Each finds where its extreme lies
and then averages scores there: where does not depend on a row's own noise, so the delta method applies.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from selective_labels.identification.bounds import Array, Bounds, repair
from selective_labels.identification.point import project_to_simplex
from selective_labels.identification.ranking import NEGLIGIBLE, balanced_accuracy_extremes
from selective_labels.inference.estimates import Estimate, mean_estimate, ratio_estimate, smooth_estimate
from selective_labels.inference.exact import count_scores
from selective_labels.nuisance.scores import Scores
from selective_labels.support.errors import UndefinedError

Ends = tuple[Estimate, Estimate]

MAX_STEPS = 50
STEP_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the data say about the class probabilities η(x) = lower(x) + slack(x) v(x), v any distribution.

    Attributes
    ----------
    lower : (n_samples, n_classes) array
        Scores of the lower bounds; of η itself if `slack` is zero.
    slack : (n_samples,) array
        Scores of the slack: exactly zero where a point assumption identifies η.
    model : (n_samples, n_classes) array
        What a model that has not seen the row says of `lower`. To choose with, not to average.
    """

    lower: Array
    slack: Array
    model: Array

    @classmethod
    def from_scores(cls, scores: Scores, point: bool) -> "Evidence":
        """Scores under an assumption that bounds η, or (`point`) identifies it but in bounded rows."""
        if not point:
            return cls(scores.values, scores.slack, scores.plug_in)
        bounded = scores.by_bounds
        model = np.where(bounded[:, None], scores.plug_in, project_to_simplex(scores.plug_in))
        return cls(scores.values, np.where(bounded, scores.slack, 0.0), model)

    @classmethod
    def from_labels(cls, y: np.ndarray, n_classes: int) -> "Evidence":
        """Nothing is missing: the label itself is the score."""
        seen = (y[:, None] == np.arange(n_classes)).astype(float)
        return cls(seen, np.zeros(len(y)), seen)

    @cached_property
    def bounds(self) -> Bounds:
        """The model's identified set, realizable and mended where it is empty."""
        room = np.maximum(1.0 - self.model.sum(axis=1, keepdims=True), 0.0)
        return repair(Bounds(self.model, self.model + room))[0]

    def at(self, coefficients: Array, share: Array) -> Array:
        """Scores of Σ_k c_k η_k where the slack is worth `share` (n_samples,) a unit."""
        return np.einsum("nk,nk->n", coefficients, self.lower) + self.slack * share


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
        return self._end(evidence, weights, -1.0), self._end(evidence, weights, 1.0)

    @cached_property
    def known_denominator(self) -> bool:
        """Whether g does not depend on the class."""
        return bool((self.denominator == self.denominator[:, :1]).all())

    def _end(self, evidence: Evidence, weights: Array | None, sign: float) -> Estimate:
        shares = _shares(weights, len(evidence.slack))
        # A known denominator makes the choice independent of θ; else start with the slack spread evenly.
        value = 0.0
        if not self.known_denominator:
            spread = self.numerator.mean(axis=1), self.denominator.mean(axis=1)
            value = _ratio_of_means(*self._scores(evidence, *spread), shares)
        for _ in range(MAX_STEPS):
            receiver = np.argmax(sign * (self.numerator - value * self.denominator), axis=1)
            scores = self._scores(
                evidence, _picked(self.numerator, receiver), _picked(self.denominator, receiver)
            )
            previous, value = value, _ratio_of_means(*scores, shares)
            if self.known_denominator or abs(value - previous) <= STEP_TOLERANCE:
                break
        above, below = (mean_estimate(each, weights) for each in scores)
        counts = count_scores(*scores, weights, self.signed)
        support = min(max(below.value / self.denominator.max(), 0.0), 1.0)
        return replace(ratio_estimate(above, below), counts=counts, support=support)

    def _scores(self, evidence: Evidence, above_share: Array, below_share: Array) -> tuple[Array, Array]:
        """Scores of numerator and denominator for what a unit of slack is worth in each."""
        above = evidence.at(self.numerator, above_share)
        if self.known_denominator:  # class probabilities sum to one, and so do their scores
            return above, self.denominator[:, 0]
        return above, evidence.at(self.denominator, below_share)


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
        scale = [mean_estimate(each.denominator[:, 0], weights).value for each in (self.first, self.second)]
        if min(scale) <= NEGLIGIBLE:
            raise UndefinedError("its condition has no probability among these cases.", "metric")
        gain = self.first.numerator / scale[0] - self.second.numerator / scale[1]
        low, high = (self._end(evidence, weights, choice) for choice in (gain.argmin(1), gain.argmax(1)))
        return low, high

    def _end(self, evidence: Evidence, weights: Array | None, receiver: np.ndarray) -> Estimate:
        parts = []
        for each in (self.first, self.second):
            share = _picked(each.numerator, receiver)
            above = mean_estimate(evidence.at(each.numerator, share), weights)
            parts.append(ratio_estimate(above, mean_estimate(each.denominator[:, 0], weights)))
        return subtract(*parts)


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
        event = evidence.bounds.lower[:, self.event], evidence.bounds.upper[:, self.event]
        extremes = balanced_accuracy_extremes(gain, *event, weights)
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
        return np.zeros(len(mass))

    def _end(self, evidence: Evidence, weights: Array | None, gain: Array, at_upper: Array) -> Estimate:
        event = np.eye(evidence.lower.shape[1])[self.event]
        chance = evidence.at(np.broadcast_to(event, evidence.lower.shape), at_upper)
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
        direct = mean_estimate(gain * mass, weights)
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
        share = _shares(weights, self.values.shape[1])
        return np.sum([sign * _mass_below(level, share) for sign, level in self._scores], axis=0)

    def spill(self, mass: Array, weights: Array | None) -> Array:
        """Mass at higher scores, whose ranks a row raises."""
        above = _shares(weights, len(mass)) * mass
        spills = [sign * _mass_below(level.max() - level, above) for sign, level in self._scores]
        return np.sum(spills, axis=0)

    @property
    def _scores(self) -> list[tuple[float, np.ndarray]]:
        return list(zip(self.signs, self.values, strict=True))


@dataclass(frozen=True, eq=False)
class Regret:
    """E[max_j η_j(X) - Σ_a π_a(X) η_a(X)]: what the Bayes rule would be right more often.

    With rival classes frozen by a model that has not seen the row, each end is linear:
    lower: E[min_η Σ_k (q_k - π_k) η_k] with the best lottery q of rivals (weak duality: any q gives a valid
    lower end, the best one the sharp end);
    upper: E[max_η (η_j - Σ_a π_a η_a)] with the strongest rival j.

    The lower end is valid for any model. The upper end is not: a wrong rival lowers it. It is right to
    first order where the strongest rival is separated from the next (margin condition).

    Attributes
    ----------
    prediction : (n_samples, n_classes) array
        Probability of predicting each class.
    """

    prediction: Array

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper end."""
        low = best_lottery(self.prediction, evidence.bounds) - self.prediction
        high = strongest_rival(self.prediction, evidence.bounds) - self.prediction
        return (
            mean_estimate(evidence.at(low, low.min(axis=1)), weights),
            mean_estimate(evidence.at(high, high.max(axis=1)), weights),
        )


def best_lottery(prediction: Array, bounds: Bounds) -> Array:
    """argmax_q min_η Σ_k (q_k - π_k) η_k over lotteries q: the dual of the smallest regret.

    With m = min_k (q_k - π_k) given, the best q is max(π_k + m, 0) plus the rest on the class with the
    largest lower bound; the value is concave and piecewise linear in m, so m is 0 or one of -π_k.

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.1, 0.6], [0.3, 0.3]]), np.array([[0.4, 0.9], [0.7, 0.7]]))
    >>> best_lottery(np.array([[1.0, 0.0], [1.0, 0.0]]), bounds)
    array([[0., 1.],
           [1., 0.]])
    """
    lower, slack = bounds.lower, bounds.slack
    top = lower.max(axis=1, keepdims=True)
    best, best_value = np.zeros(len(lower)), np.full(len(lower), -np.inf)
    for level in (np.zeros(len(lower)), *(-prediction.T)):
        kept = np.maximum(prediction + level[:, None], 0.0)
        value = np.einsum("nk,nk->n", lower - top, kept) + slack * level
        # What beats "no regret at all" by rounding only does not beat it.
        better = value > best_value + 1e-12
        best, best_value = np.where(better, level, best), np.where(better, value, best_value)
    lottery = np.maximum(prediction + best[:, None], 0.0)
    rows = np.arange(len(lower))
    lottery[rows, lower.argmax(axis=1)] += 1.0 - lottery.sum(axis=1)
    return lottery


def strongest_rival(prediction: Array, bounds: Bounds) -> Array:
    """One-hot class j with the largest max_η (η_j - Σ_a π_a η_a).

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.1, 0.6]]), np.array([[0.4, 0.9]]))
    >>> strongest_rival(np.array([[1.0, 0.0]]), bounds)
    array([[0., 1.]])
    """
    classes = np.eye(prediction.shape[1])
    predicted = np.einsum("nk,nk->n", prediction, bounds.lower)
    values = [
        bounds.lower[:, code] - predicted + bounds.slack * (rival - prediction).max(axis=1)
        for code, rival in enumerate(classes)
    ]
    return classes[np.argmax(values, axis=0)]


def subtract(first: Estimate, second: Estimate) -> Estimate:
    """Difference of two estimates from the same rows.

    Examples
    --------
    >>> subtract(mean_estimate([0.0, 1.0]), mean_estimate([1.0, 1.0])).value
    -0.5
    """
    support = min(first.support, second.support)
    return Estimate(first.value - second.value, first.influence - second.influence, support=support)


def outer_difference(first: Ends, second: Ends) -> Ends:
    """[lower - upper', upper - lower']: sharp if the two concern different cases, and valid always."""
    return subtract(first[0], second[1]), subtract(first[1], second[0])


def _picked(values: Array, column: np.ndarray) -> Array:
    """Of each row the entry in its column."""
    return values[np.arange(len(values)), column]


def _ratio_of_means(above: Array, below: Array, shares: Array) -> float:
    denominator = float(shares @ below)
    if not denominator > NEGLIGIBLE:
        raise UndefinedError("its condition has no probability among these cases.", "metric")
    return float(shares @ above) / denominator


def _shares(weights: Array | None, n_samples: int) -> Array:
    return np.full(n_samples, 1.0 / n_samples) if weights is None else weights / weights.sum()


def _mass_below(level: np.ndarray, mass: Array) -> Array:
    """Mass at lower levels and half of that at the same level."""
    by_level = np.bincount(level, weights=mass)
    return (np.cumsum(by_level) - by_level / 2.0)[level]
