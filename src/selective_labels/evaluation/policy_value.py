"""Sharp bounds on the value of a policy or the difference of two, and the choice of a threshold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
import pandas as pd
from scipy.special import ndtr
from scipy.stats import t as student

from selective_labels._display import Tabular, digits
from selective_labels._errors import UndefinedError
from selective_labels._vocabulary import ACCEPT, INSPECT
from selective_labels.evaluation.metrics import SHARE_ROUNDING
from selective_labels.evaluation.policy import Cases, PolicyActions, PolicyMeasure, mixed
from selective_labels.evaluation.predictions import any_pending, seen_worth
from selective_labels.identification.bounds import Array, Bounds, allocate_slack
from selective_labels.identification.event_bounds import LaminarBounds
from selective_labels.identification.rates import NEGLIGIBLE
from selective_labels.inference.bound_estimators import Ratio
from selective_labels.inference.evidence import (
    Ends,
    Estimate,
    Evidence,
    NoiseOf,
    by_row,
    count_scores,
    mean_estimate,
    of_rows,
    ratio_estimate,
)
from selective_labels.inference.simultaneous import critical_value
from selective_labels.nuisance.score_formulas import seen_labels

Term = tuple[float, PolicyActions]


@dataclass(frozen=True, eq=False)
class PolicyValue:
    """Value of a policy, or a signed sum of values, under one measure.

    A policy accepts by rule with probability a(x) and leaves the case to the human with probability h(x):

        E[a(X) Σ_k v_k η_k(X) + Σ_k r_k η_k(X)] + E[h(X) D v_Y],   v = accepted - refused,   r = refused.

    The second part is observed. The first is linear in η, and so is the difference of two policies, with a(x)
    their difference: cases that both treat in the same way cancel. Each row's slack goes to the class with
    the smallest (largest) value, so the bounds are sharp. Rates among accepted cases divide by E[a + h D],
    which is known.

    A threshold that is set by an acceptance rate is estimated. Its part of the influence function is the
    contribution of the marginal case times the shortfall of cases below the threshold.

    Attributes
    ----------
    decision : (n_samples,) array
    worth_seen : (n_samples,) array
        D v_Y: contribution of a case that the human accepted, zero if refused.
    label : (n_samples, n_classes) array or None
        With the worst case of pending outcomes: 1{Y=k} where the label is seen. The ends are then those of
        :class:`selective_labels.inference.bound_estimators.PendingRatio`.
    """

    terms: tuple[Term, ...]
    policy_measure: PolicyMeasure
    decision: Array
    worth_seen: Array
    label: Array | None = None

    @classmethod
    def of(cls, policy_measure: PolicyMeasure, data: Cases, *terms: Term) -> "PolicyValue":
        """Return the value of signed policies on the rows of data, or on cells of rows."""
        decision = data.row_decision.astype(float)  # each row's own, even if labels are shared
        worth = seen_worth(data, policy_measure.accepted - policy_measure.refused)
        label = seen_labels(data.y, len(data.classes)) if any_pending(data) else None
        return cls(terms, policy_measure, decision, worth, label)

    @property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        low = high = 0.0
        for sign, actions in self.terms:
            ends = self.policy_measure.limits(actions.known_acceptance)
            low += min(sign * end for end in ends)
            high += max(sign * end for end in ends)
        return low, high

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Return the lower and the upper bound."""
        mass = np.ones(len(self.decision)) if weights is None else weights
        laid = [_Laid.out(actions, sign, self, mass) for sign, actions in self.terms]
        find = self._end if self.label is None else self._end_with_pending
        return find(evidence, mass, laid, -1.0), find(evidence, mass, laid, 1.0)

    def reach(self, weights: Array) -> float:
        """Return the largest error of the value if scores are binned: the order within a bin is unknown.

        A case that moves across the threshold changes the value by at most the range of the value of
        accepting it. The range includes zero if the human also decides. A rate also changes through its
        denominator.
        """
        total, worth = 0.0, self.policy_measure.accepted - self.policy_measure.refused
        for sign, actions in self.terms:
            part = abs(sign) * actions.unordered(self.decision, weights)
            if not part:
                continue
            alone = actions.known_acceptance is not None
            ends = worth if alone else np.append(worth, 0.0)
            moved = part * float(np.ptp(ends))
            if self.policy_measure.per_accepted:
                size = float(np.average(actions.accepted(self.decision, weights), weights=by_row(weights)))
                unsure = 0.0 if alone else part
                moved = (moved + unsure * float(np.abs(worth).max())) / max(size - unsure, NEGLIGIBLE)
            total += moved
        return total

    def additions(self, weights: Array) -> tuple[Array | None, Array]:
        """Return the contribution of a case of each class (None for a rate), and the observed part."""
        laid = [_Laid.out(actions, sign, self, weights) for sign, actions in self.terms]
        seen = self._seen(laid)
        return None if self.policy_measure.per_accepted else self._gain(laid), seen

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
            if self.policy_measure.per_accepted:
                part = ratio_estimate(part, each.size)
                support = min(support, each.size.value)
            each.value = part.value
            value += each.sign * part.value
            influence = influence + each.sign * part.influence
            raw = raw + each.sign * scores
        influence = influence + self._of_cut_offs(evidence, weights, laid, side)
        counts = None
        if not any(each.actions.by_share for each in laid) and (
            len(laid) == 1 or not self.policy_measure.per_accepted
        ):
            below = of_rows(laid[0].taken, raw) if self.policy_measure.per_accepted else np.ones_like(raw)
            # Without a gain the value is observed: rows count as units whatever the scores are.
            unit = evidence.unit if gain.any() else evidence.even
            counts = count_scores(raw, below, weights, signed=len(laid) > 1, unit=unit)
        return Estimate(value, influence, counts, support)

    def _end_with_pending(
        self, evidence: Evidence, weights: Array, laid: "list[_Laid]", side: float
    ) -> Estimate:
        """Return the tightest of three bounds; see :class:`PendingRatio`."""
        assert self.label is not None
        if not any(each.human.any() for each in laid):
            return self._end(evidence, weights, laid, side)
        human = sum((each.scale * each.human for each in laid), np.zeros(len(self.decision)))
        if evidence.shares:
            raise UndefinedError(
                "policies have no interval under a known share and the worst case of pending outcomes.",
                "metric",
            )
        worth = self.policy_measure.accepted - self.policy_measure.refused
        unknown = 1.0 - self.label.sum(axis=1)
        # The worst label of a row has the largest contribution to the end.
        worst = worth[(side * human[:, None] * worth).argmax(axis=1)] * unknown
        best = worth[(-side * human[:, None] * worth).argmax(axis=1)] * unknown
        whole = [replace(each, accept=each.accept + each.human) for each in laid]
        given = [replace(each, accept=each.accept + each.human * self.decision) for each in laid]
        alone = Evidence(self.label, unknown, self.label)
        found = [
            replace(self, label=None, worth_seen=self.worth_seen + self.decision * worst)._end(
                evidence, weights, laid, side
            ),
            replace(self, label=None, worth_seen=(self.decision - 1.0) * best)._end(
                evidence, weights, whole, side
            ),
            replace(self, label=None, worth_seen=np.zeros_like(worst))._end(alone, weights, given, side),
        ]
        return min(found, key=lambda end: side * end.value)

    def _end_with_shares(
        self, evidence: Evidence, weights: Array, laid: "list[_Laid]", side: float
    ) -> Estimate:
        """Return a bound under known shares; the observed part is added to every class, as η sums to one."""
        if self.policy_measure.per_accepted:
            raise UndefinedError("a rate among the accepted has no interval under a known share.", "metric")
        gain = self._gain(laid) + self._seen(laid)[:, None]
        end = Ratio(gain, np.ones_like(gain), signed=True).ends(evidence, weights)[int(side > 0.0)]
        influence = end.influence + self._of_cut_offs(evidence, weights, laid, side)
        return Estimate(end.value, influence, outside=end.outside)

    def _of_cut_offs(self, evidence: Evidence, weights: Array, laid: "list[_Laid]", side: float) -> Array:
        """Influence of thresholds that are set by an acceptance rate."""
        influence = np.zeros_like(weights)
        for each in laid:
            if each.actions.by_share:
                marginal = self._marginal(evidence, laid, each, side)
                slope = float(np.average(marginal, weights=each.near))
                shortfall = mean_estimate(of_rows(each.shortfall, weights), weights)
                influence = influence + slope * shortfall.influence
        return influence

    def _seen(self, laid: "list[_Laid]") -> Array:
        """Observed contribution of the cases that the human accepts."""
        nothing = np.zeros(len(self.decision))
        return np.asarray(sum((each.sign * each.human for each in laid), nothing) * self.worth_seen)

    def _coefficients(self, accept: Array) -> Array:
        """Contribution of a case of each class to one term, (n_samples, n_classes)."""
        return (
            accept[:, None] * (self.policy_measure.accepted - self.policy_measure.refused)
            + self.policy_measure.refused
        )

    def _gain(self, laid: "list[_Laid]", other: "tuple[_Laid, Array] | None" = None) -> Array:
        """Sum over terms; `other` replaces the acceptance probabilities of one term."""
        gain = np.zeros((len(self.decision), len(self.policy_measure.accepted)))
        for each in laid:
            accept = other[1] if other is not None and each is other[0] else each.accept
            gain += each.scale * self._coefficients(accept)
        return gain

    def _marginal(self, evidence: Evidence, laid: "list[_Laid]", one: "_Laid", side: float) -> Array:
        """Contribution of each row if it is below instead of above the threshold of one term.

        Rows at the threshold keep their allocation of slack. A row that moves from one side to the other has
        its slack reallocated for the side to which it moves.
        """
        at_cut = ((one.below > 0.0) & (one.below < 1.0))[:, None]
        now, moved = self._gain(laid), []
        for mode in (one.actions.below, one.actions.above):
            gain = self._gain(laid, (one, mode[0]))
            probabilities = _farthest(evidence.bounds, side * np.where(at_cut, now, gain))
            worth = np.einsum("nk,nk->n", gain, probabilities)
            taken = mode[0] + mode[1] * self.decision
            worth = worth + one.scale * mode[1] * self.worth_seen
            moved.append(worth - (one.scale * one.value * taken if self.policy_measure.per_accepted else 0.0))
        return moved[0] - moved[1]


def _farthest(bounds: Bounds, gain: Array) -> Array:
    """Class probabilities that maximize Σ_k gain_k η_k over the model's bounds; ceilings are ignored."""
    if isinstance(bounds, LaminarBounds):
        return bounds.extreme(gain)
    return allocate_slack(bounds.lower, bounds.slack, gain, (), np.zeros((len(gain), 0)))


@dataclass(eq=False)
class _Laid:
    """A term evaluated on the rows, and its value once it is computed."""

    actions: PolicyActions
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
    def out(cls, actions: PolicyActions, sign: float, of: PolicyValue, weights: Array) -> "_Laid":
        below, near = actions.share_below(of.decision, weights)
        accept, human = mixed(below, actions.below, actions.above)
        taken = accept + human * of.decision
        size = mean_estimate(of_rows(taken, weights), weights)
        if of.policy_measure.per_accepted and not size.value > NEGLIGIBLE:
            raise UndefinedError("nobody is accepted.", "metric")
        scale = sign / size.value if of.policy_measure.per_accepted else sign
        wanted = of.decision if actions.acceptance is None else np.full(len(below), actions.acceptance)
        return cls(actions, sign, below, near, accept, human, taken, wanted - below, size, scale)


@dataclass(frozen=True, eq=False)
class CutOffs(Tabular):
    """Thresholds of one score, compared by worst-case cost and worst-case regret.

    Attributes
    ----------
    thresholds : (n_cut_offs,) array
        Ascending, and cases with a score below the threshold are accepted; where a yes inspects descending,
        and cases with a score from the threshold on are inspected, as in :class:`Policy`.
    acceptance : (n_cut_offs,) array
        Acceptance rate at each threshold.
    worst_cost : (n_cut_offs,) array
        Estimated upper bound on the mean cost.
    worst_regret : (n_cut_offs,) array
        Estimated worst-case regret against the best threshold: max_c' max_η cost(c) - cost(c').
    worst_cost_upper, worst_regret_upper : (n_cut_offs,) arrays
        Upper confidence limits of the two, each at all thresholds at once: they hold with probability
        `confidence_level` for a threshold that is chosen by looking at them, such as a recommended one.
    possible : (n_cut_offs,) bool array
        Whether the threshold is best for some η in the estimated identified set.
    could_be_best : (n_cut_offs,) bool array
        The same with sampling error: the set contains all best thresholds with probability
        `confidence_level`.
    """

    thresholds: Array
    acceptance: Array
    worst_cost: Array
    worst_regret: Array
    worst_cost_upper: Array
    worst_regret_upper: Array
    possible: np.ndarray
    could_be_best: np.ndarray
    confidence_level: float
    decision_means: str = ACCEPT

    @property
    def minimax_cost(self) -> int:
        """Index of the threshold with the smallest worst-case cost."""
        return int(self.worst_cost.argmin())

    @property
    def minimax_regret(self) -> int:
        """Index of the threshold with the smallest worst-case regret."""
        return int(self.worst_regret.argmin())

    def to_frame(self) -> pd.DataFrame:
        """Return a frame with one row per threshold."""
        return pd.DataFrame(
            {
                "threshold": self.thresholds,
                "acceptance": self.acceptance,
                "worst_cost": self.worst_cost,
                "worst_regret": self.worst_regret,
                "worst_cost_upper": self.worst_cost_upper,
                "worst_regret_upper": self.worst_regret_upper,
                "possible": self.possible,
                "could_be_best": self.could_be_best,
            }
        )

    def constant(self, place: int) -> str | None:
        """What a threshold does that acts on every case or on none; None for any other."""
        share = float(self.acceptance[place])
        if share >= 1.0 - SHARE_ROUNDING:
            return "accept every case"
        return "accept no case" if share <= SHARE_ROUNDING else None

    def doing(self, place: int) -> str:
        """What a threshold does, as a clause."""
        cut = digits(self.thresholds[place])
        scores = f"a score of {cut} or more" if self.decision_means == INSPECT else f"a score below {cut}"
        return self.constant(place) or f"accept {self.acceptance[place]:.0%} ({scores})"

    def sentences(self) -> list[str]:
        """Describe the recommended thresholds and their uncertainty."""
        cost, regret = self.minimax_cost, self.minimax_regret
        inside = self.acceptance[self.could_be_best]
        return [
            f"Smallest cost in the worst case: {self.doing(cost)}; it costs "
            f"{digits(self.worst_cost_upper[cost])} a case at most.",
            f"Smallest regret in the worst case: {self.doing(regret)}; the best cut-off saves "
            f"{digits(self.worst_regret_upper[regret])} a case at most.",
            f"Both limits are {self.confidence_level:.0%} limits for all {len(self.thresholds)} cut-offs at "
            "once, so they hold for the recommended ones.",
            f"Could still be best ({self.confidence_level:.0%}, sampling error included): cut-offs that "
            f"accept from {inside.min():.0%} to {inside.max():.0%}, {self.could_be_best.sum()} of "
            f"{len(self.thresholds)}.",
        ]


class Repeated(Protocol):
    """Interface of scored rows or cells for the choice of a threshold."""

    @property
    def size(self) -> int:
        """Number of rows or cells."""

    def repeated(self, assumption: str) -> Sequence[tuple[Evidence, Array, NoiseOf]]:
        """Return evidence, weights, and a covariance function of influences for each repetition."""

    def count_units(self, rows: np.ndarray) -> int:
        """Return the number of independent units in a mask of rows."""


def choose_cut_off(
    sample: Repeated,
    risk: Array,
    policy_measure: PolicyMeasure,
    assumption: str,
    thresholds: Array,
    confidence_level: float = 0.95,
) -> CutOffs:
    """Compare thresholds by bounds on their costs and on the differences of their costs.

    With Δ_k = accepted_k - refused_k, and M⁺(c) = E[1{s<c} max_η Σ_k Δ_k η_k], M⁻ the same with the minimum,

        max_η cost(c) - cost(c') = M⁺(c) - M⁺(c')   if c >= c',   M⁻(c) - M⁻(c')   if c < c',

    because two thresholds differ only in the cases between them. c can be best if and only if no c' is better
    for every η. The η that favours c over all others at once has the largest Δ above c and the smallest
    below, so pairwise comparisons suffice. They need two sums over the rows, whatever the number of
    thresholds.

    Sampling error: c is excluded if for some c' the lower bound on cost(c) - cost(c') exceeds zero by more
    than a critical value times its standard error. The critical value has a Bonferroni correction for the
    number of comparisons. The upper limits of worst costs, and of worst regrets, hold for all thresholds at
    once (:mod:`selective_labels.inference.simultaneous`), because one of them is chosen.
    """
    below = (risk[None, :] < thresholds[:, None]).astype(float)
    repeats = sample.repeated(assumption)
    found = [_judge(evidence, below, policy_measure, weights, noise) for evidence, weights, noise in repeats]
    least, error = _over_repeats([each.excess for each in found], [each.excess_errors for each in found])
    cost, cost_error = _over_repeats([each.cost for each in found], [each.cost_errors for each in found])
    units = max(sample.count_units(np.ones(sample.size, dtype=bool)) - 1, 1)
    constant = student.isf((1.0 - confidence_level) / max(len(thresholds) - 1, 1), units)
    of_costs = np.mean([each.cost_noise for each in found], axis=0)
    of_sums = np.mean([each.noise for each in found], axis=0)
    reach_cost = _with_units(critical_value(of_costs, confidence_level), units)
    largest = partial(_largest_of_pairs, errors=_pair_errors(of_sums))
    reach_regret = _with_units(critical_value(of_sums, confidence_level, largest), units)
    return CutOffs(
        thresholds=thresholds,
        acceptance=np.average(below, axis=1, weights=by_row(repeats[0][1])),
        worst_cost=cost,
        # The largest value of cost(c) - cost(c') is minus the smallest of cost(c') - cost(c).
        worst_regret=np.maximum((-least).max(axis=0), 0.0),
        worst_cost_upper=cost + reach_cost * cost_error,
        worst_regret_upper=np.maximum((reach_regret * error - least).max(axis=0), 0.0),
        possible=least.max(axis=1) <= 1e-12,
        could_be_best=(least - constant * error).max(axis=1) <= 1e-12,
        confidence_level=confidence_level,
    )


def _over_repeats(values: Sequence[Array], errors: Sequence[Array]) -> tuple[Array, Array]:
    """Return medians, and standard errors that include the variation over repetitions of cross-fitting."""
    middle = np.median(values, axis=0)
    spread = np.square(np.array(errors)) + np.square(np.array(values) - middle)
    return middle, np.sqrt(np.median(spread, axis=0))


def _with_units(constant: float, units: float) -> float:
    """Constant of Student's distribution with the tail of a normal one."""
    return float(student.isf(ndtr(-constant), units))


@dataclass(frozen=True, eq=False)
class _JudgedCuts:
    """Bounds of all thresholds from one repetition of cross-fitting.

    Attributes
    ----------
    cost : (n_cut_offs,) array
        Worst cost of each c.
    cost_noise : (n_cut_offs, n_cut_offs) array
        Its covariance matrix.
    excess : (n_cut_offs, n_cut_offs) array
        Lower bounds on cost(c) - cost(c').
    noise : (2 n_cut_offs, 2 n_cut_offs) array
        Covariance matrix of M⁻ and M⁺.
    """

    cost: Array
    cost_noise: Array
    excess: Array
    noise: Array

    @property
    def cost_errors(self) -> Array:
        """Standard errors of the worst costs."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.cost_noise), 0.0)))

    @property
    def excess_errors(self) -> Array:
        """Standard errors of the lower bounds on differences."""
        return _pair_errors(self.noise)


def _judge(
    evidence: Evidence, below: Array, policy_measure: PolicyMeasure, weights: Array, noise: NoiseOf
) -> _JudgedCuts:
    """Return worst costs and lower bounds on differences of costs, with their covariance matrices."""
    change = policy_measure.accepted - policy_measure.refused

    def largest(gain: Array, worth: Array) -> Array:
        return np.asarray(np.einsum("nk...,k->n...", evidence.extreme(gain), worth))

    least, most = (largest(side * change, change) for side in (-1.0, 1.0))
    accepted, refused = (largest(each, each) for each in (policy_measure.accepted, policy_measure.refused))
    parts = [of_rows(row, weights) for row in below]
    costs = [mean_estimate(row * accepted + (1.0 - row) * refused, weights) for row in parts]
    sums = [mean_estimate(row * score, weights) for score in (least, most) for row in parts]
    values = np.reshape([each.value for each in sums], (2, len(below)))
    low, high = values[:, :, None] - values[:, None, :]
    return _JudgedCuts(
        cost=np.array([each.value for each in costs]),
        cost_noise=noise([each.influence for each in costs]),
        excess=np.where(_larger(len(below)), low, high),
        noise=noise([each.influence for each in sums]),
    )


def _larger(n_cut_offs: int) -> np.ndarray:
    """Mark the pairs with c > c': their difference is at least the minimum over the cases in between."""
    return np.tri(n_cut_offs, dtype=bool)


def _pair_errors(noise: Array) -> Array:
    """Standard errors of the lower bounds on cost(c) - cost(c'); rows: c, columns: c'."""
    size = len(noise) // 2
    low, high = (
        np.diag(each)[:, None] + np.diag(each)[None, :] - 2.0 * each
        for each in (noise[:size, :size], noise[size:, size:])
    )
    return np.asarray(np.sqrt(np.maximum(np.where(_larger(size), low, high), 0.0)))


def _largest_of_pairs(draws: Array, errors: Array) -> Array:
    """Largest standardized error of all lower bounds on cost(c) - cost(c'), for each draw."""
    size = len(errors)
    found = np.full(len(draws), -np.inf)
    scale = np.where(errors > NEGLIGIBLE, errors, np.inf)
    for place in range(size):
        lower, higher = draws[:, : place + 1], draws[:, size + place :]
        parts = (
            (lower[:, [place]] - lower) / scale[place, : place + 1],
            (higher[:, [0]] - higher) / scale[place, place:],
        )
        for part in parts:
            np.maximum(found, part.max(axis=1), out=found)
    return found
