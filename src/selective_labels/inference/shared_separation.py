"""Ends of a separation (balanced accuracy, AUC) where the share of its event is known."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from selective_labels.identification.bounds import Array
from selective_labels.identification.multipliers import Share, best_tilt, tilts
from selective_labels.identification.separation_share import widest_share
from selective_labels.inference.estimates import Ends, Estimate, mean_estimate, of_rows, subtract
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.known_shares import (
    CLOSE,
    NEGLIGIBLE,
    best_of,
    notice_ties,
    shared_ratio_end,
    standard_error,
)
from selective_labels.support.errors import UndefinedError

# Shares closer than this to an end of what is stated are at it.
AT_END = 1e-9


@dataclass(frozen=True, eq=False)
class SharedSeparation:
    """centre + scale · Cov(gain, η) / (π (1 - π)) where π = E[η] is known, maybe up to an interval.

    Linear in η for a given π: E[gain η] by its multiplier. Of an interval, the π counts at which the end is
    furthest out (:func:`selective_labels.identification.separation_share.widest_share`).

    Attributes
    ----------
    gain : (n_samples,) array
    event : int
        Code of the class that is the event.
    centre, scale : float
    spill : callable of chances and weights
        How much a row moves E[gain · chance] by moving the gains of the others.
    """

    gain: Array
    event: int
    centre: float
    scale: float
    spill: Callable[[Array, Array | None], Array]

    def ends(self, evidence: Evidence, weights: Array | None, plain: Ends) -> Ends:
        """Lower and upper end, never wider than `plain`, the ends without the share.

        Both are valid. If they cannot be told apart, the interval holds for the better of the two.
        """
        low, high = (self._end(evidence, weights, *each) for each in zip(plain, (-1.0, 1.0), strict=True))
        return notice_ties(low, high, evidence.covariance)

    def _end(self, evidence: Evidence, weights: Array | None, plain: Estimate, sign: float) -> Estimate:
        (share, *others) = evidence.shares
        everybody = bool((evidence.inside(weights) > 0.0).all())
        alone = np.flatnonzero(share.members).tolist() == [self.event]
        if others or not (alone or len(share.members) == 2) or not share.rows.all() or not everybody:
            raise UndefinedError(
                "with a known share of another class, of groups, or among some of the cases only, it has no "
                "closed form.",
                "metric",
            )
        own = share if alone else _of_the_other(share)
        if not NEGLIGIBLE < own.low <= own.high < 1.0 - NEGLIGIBLE:
            raise UndefinedError("the event, or its complement, has no probability.", "metric")
        known = replace(evidence, shares=(own,))
        prevalence = self._furthest_out(own, known, sign)
        held = self._at(prevalence, known, weights, sign)
        inside = own.low + AT_END < prevalence < own.high - AT_END
        if inside and sign * plain.value <= sign * held.value + AT_END:
            return plain  # the share does not bind
        best, other = sorted((held, plain), key=lambda each: sign * each.value)
        apart = standard_error(subtract(best, other), evidence.covariance)
        rivals = [other] if abs(other.value - best.value) <= CLOSE * apart else []
        return best_of([best, *rivals], evidence.covariance, sign) if rivals else best

    def _gains(self, share: Share) -> Array:
        return self.gain[:, None] * share.members

    def _furthest_out(self, share: Share, evidence: Evidence, sign: float) -> float:
        """The share within what is stated at which the end lies furthest out."""
        if share.low == share.high:
            return share.low
        assert evidence.population is not None
        mass, gain = evidence.population / evidence.population.sum(), sign * self._gains(share)
        lines = []
        for each in tilts(gain, evidence.extreme, (share,)):
            (multiplier,) = each.multipliers
            tilted = gain - multiplier * share.members
            lines.append((multiplier, float(np.vdot(mass, each.of(tilted)))))
        slopes, intercepts = np.array(lines).T
        mean = sign * float(np.vdot(mass, of_rows(self.gain, mass)))
        return widest_share(slopes, intercepts, mean, (share.low, share.high))

    def _at(self, prevalence: float, known: Evidence, weights: Array | None, sign: float) -> Estimate:
        """The end at one value of the share."""
        share = replace(known.shares[0], low=prevalence, high=prevalence)
        evidence, gains = replace(known, shares=(share,)), self._gains(share)
        assert known.population is not None
        joint = shared_ratio_end(gains, np.ones_like(gains), evidence, weights, sign)
        at = best_tilt(sign * gains, known.extreme, (share,), known.population / known.population.sum())
        chance = at.probabilities[:, self.event]
        mean = mean_estimate(of_rows(self.gain, chance), weights)
        ranks, all_ranks = (
            mean_estimate(self.spill(each, weights), weights).influence
            for each in (chance, np.ones_like(chance))
        )
        spread = prevalence * (1.0 - prevalence)
        contrast = (joint.value - mean.value * prevalence) / spread
        influence = joint.influence + ranks - prevalence * (mean.influence + all_ranks)
        # The share moves the end through its multiplier, and through the denominator.
        moved = [each / spread for each in joint.outside] or [0.0]
        moved[0] -= share.error * (mean.value + contrast * (1.0 - 2.0 * prevalence)) / spread
        return Estimate(
            self.centre + self.scale * contrast,
            self.scale * influence / spread,
            support=min(prevalence, 1.0 - prevalence),
            outside=tuple(self.scale * each for each in moved),
        )


def _of_the_other(share: Share) -> Share:
    """Of two classes, what is known of the other one."""
    return replace(share, members=1.0 - share.members, low=1.0 - share.high, high=1.0 - share.low)
