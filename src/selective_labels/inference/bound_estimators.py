"""Estimates of the bounds on a functional from scores, each with its influence function.

A functional of one classifier, or the difference of two, is one of three types: a ratio of expectations that
are linear in the class probabilities (`Ratio`; a mean if the denominator is constant), a separation of an
event from its complement (`Separation`, `RankSeparation`), or the regret (`Regret`). Each type first finds
the class probabilities that attain the bound, then averages their scores. This choice does not depend on the
noise of a row's own score, so the delta method applies. A row can be a cell of identical rows, with linear
forms as scores (:mod:`selective_labels.evaluation.partitioned.cells`). Arrays of scores then have one more
axis.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol, Self

import numpy as np

from selective_labels._errors import UndefinedError
from selective_labels.identification.bounds import Array, Bounds
from selective_labels.identification.costs import linear_extremes
from selective_labels.identification.event_bounds import LaminarBounds
from selective_labels.identification.functionals import smallest_cap
from selective_labels.identification.rates import NEGLIGIBLE, balanced_accuracy_extremes
from selective_labels.inference.evidence import (
    ComparedRows,
    Ends,
    Estimate,
    Evidence,
    by_row,
    count_scores,
    mean_estimate,
    of_rows,
    ratio_estimate,
    smooth_estimate,
    subtract,
)
from selective_labels.inference.known_prevalence import SharedSeparation, notice_ties, shared_ratio_end

# From evidence and weights to a lower and an upper bound.
FindEnds = Callable[[Evidence, Array], Ends]
MAX_STEPS = 50
STEP_TOLERANCE = 1e-12
# With fewer events, or fewer other rows, ranks say too little for an interval of an AUC.
FEWEST_EVENTS = 10.0


class Functional(Protocol):
    """A functional of the class probabilities that can be bounded."""

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper bound; rows with weight zero are outside the population."""


@dataclass(frozen=True, eq=False)
class Ratio:
    """E[Σ_k c_k(X) η_k(X)] / E[Σ_k g_k(X) η_k(X)].

    The largest value θ solves max_η E[Σ_k (c_k - θ g_k) η_k] = 0, so the slack of each row goes to the class
    with the largest c_k - θ g_k. The smallest value is found likewise. Dinkelbach's iteration solves both,
    for hard and stochastic classifiers and any number of classes, and the bounds are sharp. The allocation of
    a row depends only on c, g and θ. Because θ is optimal, the bound does not change with the allocation to
    first order, and the delta method holds it fixed.

    Attributes
    ----------
    numerator, denominator : (n_samples, n_classes) arrays
        c and g, with g non-negative.
    signed : bool
        Whether the ratio is the difference of two ratios with the same denominator.
    """

    numerator: Array
    denominator: Array
    signed: bool = False

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper bound."""
        if self.known_denominator and not evidence.shares and self._known_numerator:
            end = self._end(evidence, weights, 1.0)
            return end, end
        start = None if evidence.shares else self._start(evidence, weights)
        low, high = (self._end(evidence, weights, sign, start) for sign in (-1.0, 1.0))
        return notice_ties(low, high, evidence.covariance) if evidence.shares else (low, high)

    def _start(self, evidence: Evidence, weights: Array | None) -> float:
        """First θ: with a known denominator the allocation does not depend on it; else spread evenly."""
        if self.known_denominator:
            return 0.0
        return _ratio_of_means(*self._scores(evidence.evenly()), _shares(weights, len(evidence.slack)))

    @cached_property
    def _denominators(self) -> tuple[float, float]:
        """Smallest and largest g."""
        return float(self.denominator.min()), float(self.denominator.max())

    @property
    def _is_mean(self) -> bool:
        """Whether this was made as a mean (:meth:`SeenRatio.mean`): g is the number one, stored once."""
        return False

    @cached_property
    def known_denominator(self) -> bool:
        """Whether g does not depend on the class."""
        return self._is_mean or bool((self.denominator == self.denominator[:, :1]).all())

    @property
    def _known_numerator(self) -> bool:
        """Whether c does not depend on the class, so that the value is known."""
        return bool((self.numerator == self.numerator[:, :1]).all())

    def row_ends(self, evidence: Evidence) -> tuple[Array, Array]:
        """Scores of the lower and upper bound of a mean over all rows, that is with g = 1."""
        low, high = (self._scores(evidence.extreme(sign * self.numerator))[0] for sign in (-1.0, 1.0))
        return low, high

    def _end(
        self, evidence: Evidence, weights: Array | None, sign: float, start: float | None = None
    ) -> Estimate:
        if evidence.shares:
            return shared_ratio_end(self.numerator, self.denominator, evidence, weights, sign)
        shares = _shares(weights, len(evidence.slack))
        value = self._start(evidence, weights) if start is None else start
        for _ in range(MAX_STEPS):
            gain = self.numerator if value == 0.0 else self.numerator - value * self.denominator
            scores = self._scores(evidence.extreme(sign * gain))
            previous, value = value, _ratio_of_means(*scores, shares)
            if self.known_denominator or abs(value - previous) <= STEP_TOLERANCE:
                break
        counts = count_scores(*scores, weights, self.signed, evidence.unit)
        above = mean_estimate(scores[0], weights)
        if self._is_mean:
            return replace(above, counts=counts)
        below = mean_estimate(scores[1], weights)
        least, most = self._denominators
        support = min(max(below.value / most, 0.0), 1.0)
        found = replace(ratio_estimate(above, below), counts=counts, support=support)
        # A mean has no condition; probabilities sum to one up to rounding.
        if most - least <= ROUNDING * most:
            return found
        return replace(found, compared=self._compared(scores[1], weights))

    def _compared(self, condition: Array, weights: Array | None) -> ComparedRows | None:
        """Return the rows that meet the condition, given the scores of the denominator.

        None if the rate is the same in every row, as that of a constant rule.
        """
        low, high = self._span
        if low == high:
            return None
        reach = (high - low) / (2.0 if self.signed else 1.0)
        masses = (_masses(weights, condition) * condition,)
        return ComparedRows(masses, 0.5 * reach**2, (low, high), 0.0)

    @cached_property
    def _span(self) -> tuple[float, float]:
        """Smallest and largest rate that a row can have."""
        possible = self.denominator > 0.0
        values = self.numerator[possible] / self.denominator[possible]
        return float(values.min()), float(values.max())

    def _scores(self, probabilities: Array) -> tuple[Array, Array]:
        """Scores of the numerator and denominator, from scores of the class probabilities."""
        above = np.einsum("nk,nk...->n...", self.numerator, probabilities)
        if self.known_denominator:  # class probabilities sum to one, and so do their scores
            return above, of_rows(self.denominator[:, 0], above)
        return above, np.einsum("nk,nk...->n...", self.denominator, probabilities)


@dataclass(frozen=True, eq=False)
class SeenRatio(Ratio):
    """(E[Σ_k c_k(X) η_k(X)] + E[a]) / (E[Σ_k g_k(X) η_k(X)] + E[b]) with observed a and b.

    Class probabilities sum to one, so a and b are part of c and g: this is a ratio. The observed parts are
    added after averaging over classes, in the order of :class:`PolicyValue`, and give the same digits.

    Attributes
    ----------
    open_above, open_below : (n_samples, n_classes) arrays
        c and g without the observed parts.
    seen_above, seen_below : (n_samples,) arrays
        a and b.
    """

    open_above: Array = field(kw_only=True)
    seen_above: Array = field(kw_only=True)
    open_below: Array = field(kw_only=True)
    seen_below: Array = field(kw_only=True)

    @classmethod
    def of(cls, open_above: Array, seen_above: Array, open_below: Array, seen_below: Array) -> Self:
        """Return the ratio of two sums of an open and a seen part."""
        return cls(
            open_above + seen_above[:, None],
            open_below + seen_below[:, None],
            open_above=open_above,
            seen_above=seen_above,
            open_below=open_below,
            seen_below=seen_below,
        )

    @classmethod
    def mean(cls, open_part: Array, seen: Array) -> Self:
        """Return the mean of an open and a seen part over all rows: E[Σ_k c_k(X) η_k(X)] + E[a]."""
        one, nothing = np.broadcast_to(1.0, open_part.shape), np.broadcast_to(0.0, seen.shape)
        above = open_part + seen[:, None]
        return cls(above, one, open_above=open_part, seen_above=seen, open_below=one, seen_below=nothing)

    @property
    def _is_mean(self) -> bool:
        return not any(self.denominator.strides)

    def _scores(self, probabilities: Array) -> tuple[Array, Array]:
        above = np.einsum("nk,nk...->n...", self.open_above, probabilities)
        above = above + of_rows(self.seen_above, above)
        if self.known_denominator:
            return above, of_rows(self.denominator[:, 0], above)
        below = np.einsum("nk,nk...->n...", self.open_below, probabilities)
        return above, below + of_rows(self.seen_below, below)


@dataclass(frozen=True, eq=False)
class PendingRatio(Ratio):
    """E[Σ_k c_k η_k + D v_Y] / E[Σ_k g_k η_k + D w_Y], where the label of some accepted cases is not known.

    Each end is the tightest of three bounds: (1) the instrument's bounds with c and g, and the worst label of
    each pending case; (2) the instrument's bounds with c + v and g + w, less the worst label of each declined
    case; (3) without the instrument, the worst label of each case whose label is not known, by its decision.

    Attributes
    ----------
    numerator, denominator : (n_samples, n_classes) arrays
        c and g.
    worth : (2, n_classes) array
        v and w.
    accepted : (n_samples,) bool array
        D.
    label : (n_samples, n_classes) array
        1{Y=k} where the label is seen; otherwise zero.
    """

    worth: Array = field(kw_only=True)
    accepted: np.ndarray = field(kw_only=True)
    label: Array = field(kw_only=True)

    @cached_property
    def known_denominator(self) -> bool:
        """Whether the denominator does not depend on labels."""
        return not self.worth[1].any() and bool((self.denominator == self.denominator[:, :1]).all())

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper bound."""
        if evidence.shares:
            raise UndefinedError(
                "figures of people have no interval under a known share and pending='worst-case'.",
                "metric",
            )
        low, high = self._end(evidence, weights, -1.0), self._end(evidence, weights, 1.0)
        if low.compared is None or high.compared is None:  # two of the three bounds, of which one counts rows
            low, high = replace(low, compared=None), replace(high, compared=None)
        return low, high

    def _end(
        self, evidence: Evidence, weights: Array | None, sign: float, start: float | None = None
    ) -> Estimate:
        unknown = self.label.sum(axis=1) == 0.0
        with_pending = self._with_worst(evidence, weights, sign, self.worth, self.accepted, unknown)
        above, below = self._if_accepted(np.ones((len(self.accepted), 1)))
        declined = replace(self, numerator=above, denominator=below)
        less_declined = declined._with_worst(evidence, weights, sign, -self.worth, ~self.accepted, unknown)
        alone = Evidence(self.label, unknown.astype(float), self.label)
        by_decision = Ratio(*self._if_accepted(self.accepted[:, None]))._end(alone, weights, sign)
        return min(with_pending, less_declined, by_decision, key=lambda end: sign * end.value)

    def _if_accepted(self, accepted: np.ndarray) -> tuple[Array, Array]:
        """Return c + D v and g + D w."""
        return self.numerator + accepted * self.worth[0], self.denominator + accepted * self.worth[1]

    def _with_worst(
        self,
        evidence: Evidence,
        weights: Array | None,
        sign: float,
        worth: Array,
        rows: np.ndarray,
        unknown: np.ndarray,
    ) -> Estimate:
        """Bound in which the given rows, where their label is unknown, have the worst v - θ w."""
        seen = rows[:, None] * (self.label @ worth.T)
        open_rows = rows & unknown
        value, code = 0.0, -1
        for _ in range(MAX_STEPS):
            worst = int((sign * (worth[0] - value * worth[1])).argmax())
            if worst == code:
                break
            code = worst
            above, below = (seen + open_rows[:, None] * worth[:, code]).T
            found = SeenRatio.of(self.numerator, above, self.denominator, below)._end(evidence, weights, sign)
            value = found.value
        return found


def ratio_difference(first: Ratio, second: Ratio) -> Ratio | None:
    """Difference of two ratios with one denominator; None if the denominators differ."""
    if not np.array_equal(first.denominator, second.denominator):
        return None
    above = first.numerator - second.numerator
    pending = [
        (sign, each) for sign, each in ((1.0, first), (-1.0, second)) if isinstance(each, PendingRatio)
    ]
    if not pending:
        return Ratio(above, first.denominator, signed=True)
    if any(each.worth[1].any() for _, each in pending):
        return None
    worth = np.sum([sign * each.worth for sign, each in pending], axis=0)
    return replace(pending[0][1], numerator=above, signed=True, worth=worth)


@dataclass(frozen=True, eq=False)
class SeenSeparation:
    """½ (1 - a / p + b / (1 - p)): balanced accuracy of decisions, with p = P(event) alone unknown.

    a = P(accepted, event) and b = P(accepted, no event) are observed. The value increases in p, so its ends
    are those of p. If a yes predicts the event, the value is one minus this.

    Attributes
    ----------
    missed, passed : (n_samples,) arrays
        Whether an accepted case is the event, and whether it is not; their means are a and b.
    predicts_event : bool
        Whether a yes predicts that the event happens.
    """

    missed: Array
    passed: Array
    event: int
    n_classes: int
    predicts_event: bool = False

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper bound."""
        which = np.broadcast_to(np.eye(self.n_classes)[self.event], (len(self.missed), self.n_classes))
        low, high = Ratio(which, np.ones_like(which)).ends(evidence, weights)
        like = evidence.slack if weights is None else weights
        seen = self.missed, self.passed
        missed, passed = (mean_estimate(of_rows(each, like), weights) for each in seen)
        first, second = (high, low) if self.predicts_event else (low, high)
        return self._end(first, missed, passed), self._end(second, missed, passed)

    def _end(self, share: Estimate, missed: Estimate, passed: Estimate) -> Estimate:
        sign = -1.0 if self.predicts_event else 1.0
        p, rest = share.value, 1.0 - share.value
        if not min(p, rest) > NEGLIGIBLE:
            raise UndefinedError(
                "the event, or its complement, has no probability among these cases.", "metric"
            )
        slopes = np.array([missed.value / p**2 + passed.value / rest**2, -1.0 / p, 1.0 / rest])
        found = smooth_estimate(
            lambda share, a, b: 0.5 * (1.0 - sign * (a / share - b / (1.0 - share))),
            0.5 * sign * slopes,
            [share, missed, passed],
        )
        return replace(found, support=min(p, rest))


@dataclass(frozen=True, eq=False)
class KnownRatioDifference:
    """Difference of two ratios whose denominators do not depend on η, such as predictive values.

    E[Σ_k c_k η_k] / E[g] - E[Σ_k c'_k η_k] / E[g'] is linear in η, so the slack goes to the class with the
    largest (smallest) c_k / E[g] - c'_k / E[g']. The bounds are sharp.
    """

    first: Ratio
    second: Ratio

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper bound."""
        scale = [self._below(each, evidence, weights).value for each in (self.first, self.second)]
        if min(scale) <= NEGLIGIBLE:
            raise UndefinedError("its condition has no probability among these cases.", "metric")
        gain = self.first.numerator / scale[0] - self.second.numerator / scale[1]
        low, high = (self._end(evidence, weights, gain, sign) for sign in (-1.0, 1.0))
        return low, high

    def _end(self, evidence: Evidence, weights: Array | None, gain: Array, sign: float) -> Estimate:
        if evidence.shares:
            # The variance contribution of the two denominators is not derived for a solution by multipliers.
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

    For the balanced accuracy of two classes, the gain is the probability of predicting the event and the
    scale is ½. The model's bounds determine in which rows η is at its upper bound, exactly
    (:func:`selective_labels.identification.rates.balanced_accuracy_extremes`).

    Attributes
    ----------
    values : (n_samples,) array
        Gain of each row.
    event : int
        Code of the class that is the event.
    centre : float
        Constant in place of ½; zero for a difference.
    """

    values: Array
    event: int
    scale: float
    centre: float = 0.5

    @property
    def fewest(self) -> float:
        """Smallest number of events, and of other rows, with which an interval is reported."""
        return 0.0

    @property
    def unseen(self) -> float:
        """Squared effect of a row whose gain differs by .7 from the mean of those in the sample."""
        return 0.5 * self.scale**2

    def compared(self, chance: Array, weights: Array | None) -> ComparedRows:
        """Return the events and the other rows, given the chance of the event in each row."""
        weight = _masses(weights, chance)
        # A gain lies between zero and one, and the difference of two gains between minus one and one.
        span = (0.0, 1.0) if self.centre else (-1.0, 1.0)
        return ComparedRows((weight * chance, weight * (1.0 - chance)), self.unseen, span, self.fewest)

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper bound."""
        gain = self.gain(weights)
        if evidence.shares:
            plain = self.ends(replace(evidence, shares=()), weights)
            known = SharedSeparation(gain, self.event, self.centre, self.scale, self.spill, self.compared)
            return known.ends(evidence, weights, plain)
        event = evidence.bounds.lower[:, self.event], evidence.bounds.upper[:, self.event]
        extremes = balanced_accuracy_extremes(gain, *event, by_row(weights))
        low, high = (
            self._end(evidence, weights, gain, np.asarray(at_upper, dtype=float))
            for at_upper in (extremes.minimum_at_upper, extremes.maximum_at_upper)
        )
        return low, high

    def gain(self, weights: Array | None) -> Array:
        """Gain of each row."""
        return self.values

    def spill(self, mass: Array, weights: Array | None) -> Array:
        """Effect of each row on E[gain · mass] through the gains of the other rows."""
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
        compared = self.compared(chance, weights)
        return replace(found, support=min(share.value, 1.0 - share.value), compared=compared)

    def _mean_of_gain(self, gain: Array, mass: Array, weights: Array | None) -> Estimate:
        direct = mean_estimate(of_rows(gain, mass) * mass, weights)
        indirect = mean_estimate(self.spill(mass, weights), weights)
        return Estimate(direct.value, direct.influence + indirect.influence)


@dataclass(frozen=True, eq=False)
class RankSeparation(Separation):
    """AUC, or the difference of two: a separation with mid-ranks of scores as gain and scale one.

    AUC = ½ + Cov(F, η) / (E[η] (1 - E[η])), with F the mid-rank distribution function of the score. F is
    estimated from the same rows. Its part of the influence function is the effect of a row on the ranks of
    the other rows (Hájek's projection).

    Attributes
    ----------
    values : (n_scores, n_samples) int array
        Level of each score, with 0 for the lowest value.
    signs : tuple of float
        One sign per score.
    """

    signs: tuple[float, ...] = (1.0,)

    @property
    def fewest(self) -> float:
        """Smallest number of events, and of other rows, with which an interval is reported."""
        return FEWEST_EVENTS

    @property
    def unseen(self) -> float:
        """Squared effect of a row whose rank differs by .5; by .7 for the difference of two ranks."""
        return 0.25 if len(self.signs) == 1 else 0.5

    def gain(self, weights: Array | None) -> Array:
        """Mid-ranks in [0, 1]."""
        share = _shares(by_row(weights), self.values.shape[1])
        return np.sum([sign * _mass_below(level, share) for sign, level in self._scores], axis=0)

    def spill(self, mass: Array, weights: Array | None) -> Array:
        """Mass at higher scores, whose ranks each row raises."""
        moved = _shares(weights, len(mass)) * mass
        above = moved if moved.ndim == 1 else moved.sum(axis=1)
        spills = [sign * _mass_below(level.max() - level, above) for sign, level in self._scores]
        return of_rows(np.sum(spills, axis=0), mass)

    @property
    def _scores(self) -> list[tuple[float, np.ndarray]]:
        return list(zip(self.signs, self.values, strict=True))


def outer_difference(first: Ends, second: Ends) -> Ends:
    """[lower - upper', upper - lower']: always valid, and sharp if the two concern different cases."""
    return subtract(first[0], second[1]), subtract(first[1], second[0])


def _ratio_of_means(above: Array, below: Array, shares: Array) -> float:
    denominator = float(np.vdot(shares, below))
    if not denominator > NEGLIGIBLE:
        raise UndefinedError("its condition has no probability among these cases.", "metric")
    return float(np.vdot(shares, above)) / denominator


def _shares(weights: Array | None, n_samples: int) -> Array:
    return np.full(n_samples, 1.0 / n_samples) if weights is None else weights / weights.sum()


def _masses(weights: Array | None, like: Array) -> Array:
    """Weight of each row; for cells, one inside and zero outside, because their moments hold the weights."""
    if weights is None:
        return np.ones_like(like)
    return weights if weights.ndim == 1 else weights.any(axis=1, keepdims=True).astype(float)


def _mass_below(level: np.ndarray, mass: Array) -> Array:
    """Mass at lower levels plus half of the mass at the same level."""
    by_level = np.bincount(level, weights=mass)
    return (np.cumsum(by_level) - by_level / 2.0)[level]


ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Regret:
    """Regret E[max_j η_j(X) - Σ_a π_a(X) η_a(X)] against the Bayes rule.

    A model that was not fitted on the row selects the rival classes. Given the rivals, each bound is linear:

    - lower: E[min_η Σ_k (q_k - π_k) η_k] with the best distribution q over rivals. By weak duality any q
      gives a valid lower bound, and the best q gives the sharp one;
    - upper: E[max_η (η_j - Σ_a π_a η_a)] with the strongest rival j.

    The lower bound is valid for any model. The upper bound is not, because a wrong rival lowers it. It is
    correct to first order if the strongest rival is well separated from the next one (margin condition). A
    known share of an event tightens only the lower bound.

    Attributes
    ----------
    prediction : (n_samples, n_classes) array
        Probability of predicting each class.
    """

    prediction: Array

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper bound."""
        low, high = (mean_estimate(each, weights) for each in self.row_ends(evidence))
        if evidence.shares:
            rival = self._rivals(evidence)[0]
            low = shared_ratio_end(rival, np.ones_like(rival), evidence, weights, -1.0)
            return notice_ties(low, high, evidence.covariance)
        return low, high

    def row_ends(self, evidence: Evidence) -> tuple[Array, Array]:
        """Scores of the lower and upper bound."""
        low, high = self._rivals(evidence)
        return (
            np.einsum("nk,nk->n", low, evidence.extreme(-low)),
            np.einsum("nk,nk->n", high, evidence.extreme(high)),
        )

    def _rivals(self, evidence: Evidence) -> tuple[Array, Array]:
        """Rivals minus the prediction, for the lower and upper bound."""
        low, high = (find(self.prediction, evidence.bounds) for find in (best_lottery, strongest_rival))
        return low - self.prediction, high - self.prediction


def best_lottery(prediction: Array, bounds: Bounds) -> Array:
    """argmax_q min_η Σ_k (q_k - π_k) η_k over distributions q: the dual of the smallest regret.

    The smallest regret is τ - V(τ), with τ the smallest feasible cap on all η_k and V(τ) the largest accuracy
    under it (:func:`tests.reference.population_bounds.regret_rows`). Let μ be the π of the class
    that takes the last of the slack. The solution depends on whether one class k' or a set of classes C
    determines the cap:

        τ = l_k' :       q_k = (π_k - μ)^+ where the cap binds, and the rest on k'
        Σ_C τ + Σ_{k not in C} u_k = 1 :   q_k = π_k in C, and the rest evenly on C

    The result is sharp for any box and any prediction. With event slack it is sharp for hard predictions, and
    valid otherwise.

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.1, 0.6], [0.3, 0.3]]), np.array([[0.4, 0.9], [0.7, 0.7]]))
    >>> best_lottery(np.array([[1.0, 0.0], [1.0, 0.0]]), bounds)
    array([[0., 1.],
           [1., 0.]])
    """
    if isinstance(bounds, LaminarBounds):
        return _laminar_lottery(prediction, bounds)
    cap = smallest_cap(bounds)[:, None]
    capped = Bounds(bounds.lower, np.minimum(bounds.upper, cap))
    accuracy = linear_extremes(prediction, capped)[1]
    reaching = bounds.upper >= cap - ROUNDING
    top, rows = bounds.lower.argmax(axis=1), np.arange(len(cap))
    forced = bounds.lower[rows, top] >= cap[:, 0] - ROUNDING
    lottery = np.where(reaching, prediction, 0.0)
    left = 1.0 - lottery.sum(axis=1, keepdims=True)
    spread = lottery + reaching * left / reaching.sum(axis=1, keepdims=True)
    lottery = np.where(reaching, np.maximum(prediction - _last_filled(prediction, capped), 0.0), 0.0)
    lottery[rows, top] = 0.0
    lottery[rows, top] = 1.0 - lottery.sum(axis=1)
    found = np.where(forced[:, None], lottery, spread)
    # A regret that is positive only by rounding counts as zero.
    return np.where((cap[:, 0] - accuracy > ROUNDING)[:, None], found, prediction)


def _last_filled(prediction: Array, capped: Bounds) -> Array:
    """Column with π of the class that takes the last of the slack, with classes in descending order of π."""
    order = np.argsort(-prediction, axis=1, kind="stable")
    filled = np.cumsum(np.take_along_axis(capped.width, order, axis=1), axis=1)
    last = (filled < capped.slack[:, None] - ROUNDING).sum(axis=1).clip(max=prediction.shape[1] - 1)
    return np.take_along_axis(prediction, np.take_along_axis(order, last[:, None], axis=1), axis=1)


def strongest_rival(prediction: Array, bounds: Bounds) -> Array:
    """One-hot class j with the largest max_η (η_j - Σ_a π_a η_a).

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.1, 0.6]]), np.array([[0.4, 0.9]]))
    >>> strongest_rival(np.array([[1.0, 0.0]]), bounds)
    array([[0., 1.]])
    """
    classes = np.eye(prediction.shape[1])
    values = [linear_extremes(rival - prediction, bounds)[1] for rival in classes]
    return classes[np.argmax(values, axis=0)]


def _laminar_lottery(prediction: Array, bounds: LaminarBounds) -> Array:
    """Σ_t π_t q_t: for each class t that may be predicted, q_t is uniform over its highest rivals.

    The best case for t gives it its upper bound and keeps its rivals as low as possible. If the slack of an
    event raised one of the highest rivals, the event has no class below them. The distribution over these
    rivals therefore receives that slack however it is divided.
    """
    lottery = np.zeros_like(prediction)
    for candidate in np.flatnonzero(prediction.any(axis=0)).tolist():
        level = bounds.best_case(candidate)
        rivals = np.delete(np.arange(level.shape[1]), candidate)
        height = level[:, rivals].max(axis=1, keepdims=True)
        highest = np.zeros_like(level)
        highest[:, rivals] = level[:, rivals] >= height - ROUNDING
        # A regret that is positive only by rounding counts as zero.
        none = level[:, [candidate]] >= height - ROUNDING
        chosen = np.where(none, np.eye(level.shape[1])[candidate], highest)
        lottery += prediction[:, [candidate]] * chosen / chosen.sum(axis=1, keepdims=True)
    return lottery
