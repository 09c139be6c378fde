"""What a policy, or the difference of two, is worth: sharp ends from scores and from what was seen."""

from dataclasses import dataclass

import numpy as np

from selective_labels.identification.bounds import Array, Bounds
from selective_labels.identification.earmarked import Earmarked, poured
from selective_labels.identification.ranking import NEGLIGIBLE
from selective_labels.inference.ends import Ratio
from selective_labels.inference.estimates import (
    Ends,
    Estimate,
    by_row,
    mean_estimate,
    of_rows,
    ratio_estimate,
)
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.exact import count_scores
from selective_labels.policies.courses import Course, mixed
from selective_labels.policies.ground import Cases
from selective_labels.policies.stakes import Stake
from selective_labels.support.errors import UndefinedError

Term = tuple[float, Course]
Modes = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class PolicyValue:
    """Value of a policy, or a signed sum of values, under one stake.

    A policy accepts by rule with probability a(x) and leaves the case to the human with probability h(x):

        E[a(X) Σ_k v_k η_k(X) + Σ_k r_k η_k(X)] + E[h(X) D v_Y],   v = accepted - refused,   r = refused.

    The second part is seen. The first is linear in η, and so is a difference of two policies, with a(x) their
    difference: what both do alike cancels. Each row's slack goes to the class that is worth least (most), so
    the ends are sharp. Rates among the accepted divide by E[a + h D], which is known.

    Where the cut-off is set by a share of the cases it is estimated, and its part of the influence is what
    the marginal case adds, times how many cases too few are below.

    Attributes
    ----------
    terms : list of (sign, Course)
    stake : Stake
    decision : (n_samples,) array
    worth_seen : (n_samples,) array
        D v_Y: what the human's accepting a case added, zero where it was refused.
    """

    terms: tuple[Term, ...]
    stake: Stake
    decision: Array
    worth_seen: Array

    @classmethod
    def of(cls, stake: Stake, data: Cases, *terms: Term) -> "PolicyValue":
        """Value of courses on the rows of data, or on cells of rows."""
        decision = data.row_decision.astype(float)  # each row's own, also where labels are shared
        seen = data.row_decision == 1
        worth = np.zeros(len(data))
        worth[seen] = (stake.accepted - stake.refused)[data.y[seen]]
        return cls(terms, stake, decision, worth)

    @property
    def limits(self) -> tuple[float, float]:
        """Possible values."""
        low = high = 0.0
        for sign, course in self.terms:
            ends = self.stake.limits(course.known_acceptance)
            low += min(sign * end for end in ends)
            high += max(sign * end for end in ends)
        return low, high

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper end."""
        mass = np.ones(len(self.decision)) if weights is None else weights
        laid = [_Laid.out(course, sign, self, mass) for sign, course in self.terms]
        return self._end(evidence, mass, laid, -1.0), self._end(evidence, mass, laid, 1.0)

    def reach(self, weights: Array) -> float:
        """How far the value may be off where bins stand for scores: the case at the cut-off is any of a bin.

        A case that moves across the cut-off changes the value by what is between the least and the most that
        accepting it is worth, zero among them if the human has a say; a rate by its denominator too.
        """
        total, worth = 0.0, self.stake.accepted - self.stake.refused
        for sign, course in self.terms:
            part = abs(sign) * course.unordered(self.decision, weights)
            if not part:
                continue
            alone = course.known_acceptance is not None
            ends = worth if alone else np.append(worth, 0.0)
            moved = part * float(np.ptp(ends))
            if self.stake.per_accepted:
                size = float(np.average(course.accepted(self.decision, weights), weights=by_row(weights)))
                unsure = 0.0 if alone else part
                moved = (moved + unsure * float(np.abs(worth).max())) / max(size - unsure, NEGLIGIBLE)
            total += moved
        return total

    def additions(self, weights: Array) -> tuple[Array | None, Array]:
        """What a case of each class adds to the value, and what was seen adds; None of a rate."""
        laid = [_Laid.out(course, sign, self, weights) for sign, course in self.terms]
        seen = self._seen(laid)
        return None if self.stake.per_accepted else self._gain(laid), seen

    def _end(self, evidence: Evidence, weights: Array, laid: "list[_Laid]", side: float) -> Estimate:
        if evidence.shares:
            return self._end_with_shares(evidence, weights, laid, side)
        gain = self._gain(laid)
        probabilities = evidence.extreme(side * gain)
        value, influence, raw = 0.0, np.zeros_like(weights), np.zeros_like(weights)
        support = 1.0
        for each in laid:
            scores = np.einsum("nk,nk...->n...", self._coefficients(each.accept), probabilities)
            scores = scores + of_rows(each.human * self.worth_seen, scores)
            part = mean_estimate(scores, weights)
            if self.stake.per_accepted:
                part = ratio_estimate(part, each.size)
                support = min(support, each.size.value)
            each.value = part.value
            value += each.sign * part.value
            influence = influence + each.sign * part.influence
            raw = raw + each.sign * scores
        influence = influence + self._of_cut_offs(evidence, weights, laid, side)
        counts = None
        if not any(each.course.by_share for each in laid) and (len(laid) == 1 or not self.stake.per_accepted):
            below = of_rows(laid[0].taken, raw) if self.stake.per_accepted else np.ones_like(raw)
            # What is seen needs no scores: rows count whatever these are.
            unit = evidence.unit if gain.any() else evidence.even
            counts = count_scores(raw, below, weights, signed=len(laid) > 1, unit=unit)
        return Estimate(value, influence, counts, support)

    def _end_with_shares(
        self, evidence: Evidence, weights: Array, laid: "list[_Laid]", side: float
    ) -> Estimate:
        """Where means over rows are known. Probabilities sum to one: what is seen is added to every class."""
        if self.stake.per_accepted:
            raise UndefinedError("a rate among the accepted has no interval under a known share.", "metric")
        gain = self._gain(laid) + self._seen(laid)[:, None]
        end = Ratio(gain, np.ones_like(gain), signed=True).ends(evidence, weights)[int(side > 0.0)]
        influence = end.influence + self._of_cut_offs(evidence, weights, laid, side)
        return Estimate(end.value, influence, outside=end.outside)

    def _of_cut_offs(self, evidence: Evidence, weights: Array, laid: "list[_Laid]", side: float) -> Array:
        """Influence of cut-offs that are set by a share of the cases."""
        influence = np.zeros_like(weights)
        for each in laid:
            if each.course.by_share:
                marginal = self._marginal(evidence, laid, each, side)
                slope = float(np.average(marginal, weights=each.near))
                shortfall = mean_estimate(of_rows(each.shortfall, weights), weights)
                influence = influence + slope * shortfall.influence
        return influence

    def _seen(self, laid: "list[_Laid]") -> Array:
        """What the human's accepting cases added."""
        nothing = np.zeros(len(self.decision))
        return np.asarray(sum((each.sign * each.human for each in laid), nothing) * self.worth_seen)

    def _coefficients(self, accept: Array) -> Array:
        """What a case of each class adds to one term's sum, (n_samples, n_classes)."""
        return accept[:, None] * (self.stake.accepted - self.stake.refused) + self.stake.refused

    def _gain(self, laid: "list[_Laid]", other: "tuple[_Laid, Array] | None" = None) -> Array:
        """Sum over terms; one of them may accept others than it does."""
        gain = np.zeros((len(self.decision), len(self.stake.accepted)))
        for each in laid:
            accept = other[1] if other is not None and each is other[0] else each.accept
            gain += each.scale * self._coefficients(accept)
        return gain

    def _marginal(self, evidence: Evidence, laid: "list[_Laid]", one: "_Laid", side: float) -> Array:
        """What each row adds by being below the cut-off of one term rather than above.

        Where rows are at the cut-off with some probability, their slack is where it is; a row that moves from
        one side to the other takes its slack where it then counts.
        """
        at_cut = ((one.below > 0.0) & (one.below < 1.0))[:, None]
        now, moved = self._gain(laid), []
        for mode in (one.course.below, one.course.above):
            gain = self._gain(laid, (one, mode[0]))
            probabilities = _farthest(evidence.bounds, side * np.where(at_cut, now, gain))
            worth = np.einsum("nk,nk->n", gain, probabilities)
            taken = mode[0] + mode[1] * self.decision
            worth = worth + one.scale * mode[1] * self.worth_seen
            moved.append(worth - (one.scale * one.value * taken if self.stake.per_accepted else 0.0))
        return moved[0] - moved[1]


def _farthest(bounds: Bounds, gain: Array) -> Array:
    """Class probabilities of the model with the largest Σ_k gain_k η_k; ceilings are not looked at."""
    if isinstance(bounds, Earmarked):
        return bounds.extreme(gain)
    return poured(bounds.lower, bounds.slack, gain, (), np.zeros((len(gain), 0)))


@dataclass(eq=False)
class _Laid:
    """A term on the rows at hand, and its value once it is known."""

    course: Course
    sign: float
    below: Array
    near: Array
    accept: Array
    human: Array
    taken: Array
    shortfall: Array
    size: Estimate
    scale: float
    value: float = 0.0

    @classmethod
    def out(cls, course: Course, sign: float, of: PolicyValue, weights: Array) -> "_Laid":
        below, near = course.share_below(of.decision, weights)
        accept, human = mixed(below, course.below, course.above)
        taken = accept + human * of.decision
        size = mean_estimate(of_rows(taken, weights), weights)
        if of.stake.per_accepted and not size.value > NEGLIGIBLE:
            raise UndefinedError("nobody is accepted.", "metric")
        scale = sign / size.value if of.stake.per_accepted else sign
        wanted = of.decision if course.acceptance is None else np.full(len(below), course.acceptance)
        return cls(course, sign, below, near, accept, human, taken, wanted - below, size, scale)
