"""Estimated bounds when the share of an event in the population is known.

The bounds are solved with a Lagrange multiplier, and their standard errors include the error of the share.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri
from scipy.stats import t as student

from selective_labels._errors import UndefinedError
from selective_labels.identification.bounds import Array
from selective_labels.identification.prevalence import (
    LagrangeMultiplier,
    Share,
    at_multipliers,
    best_multipliers,
    candidate_multipliers,
    candidates,
    widest_share,
)
from selective_labels.inference.evidence import (
    ComparedRows,
    Ends,
    Estimate,
    Evidence,
    NoiseOf,
    mean_estimate,
    of_rows,
    ratio_estimate,
    subtract,
)
from selective_labels.inference.simultaneous import critical_value

MAX_STEPS = 50
STEP_TOLERANCE = 1e-10
NEGLIGIBLE = 1e-14
# Multipliers whose bounds differ by fewer standard errors than this count as indistinguishable.
CLOSE = 2.0
# With more candidates, neighbouring multipliers and their bounds are close anyway, so ties are ignored.
FEW_CANDIDATES = 12
# One-sided level of a bound selected as the best of several.
LEVEL = 0.95
# Relative increase in the length of the interval above which a warning is given.
NOTICED = 0.05


class ContradictedError(UndefinedError):
    """No class probabilities agree with both the data and all assumptions."""


def shared_ratio_end(
    numerator: Array, denominator: Array, evidence: Evidence, weights: Array | None, sign: float
) -> Estimate:
    """Lower (sign -1) or upper (sign 1) bound on E[c · η] / E[g · η] when shares are known.

    θ = (E[c · η_ν] ± E[ν (π - η_ν,A)]) / E[g · η_ν],   η_ν where ±(c - θ g) - ν 1_A is largest

    Any multiplier ν gives a valid bound, and the best ν gives the sharp bound. The best ν is one number for
    the whole sample and optimal, so to first order the bound does not change with it. ν = 0 ignores the
    share, so the bound is never wider than without the share. If several multipliers are within two standard
    errors of each other, the best one looks better than it is. The interval is then made valid for the best
    of all of them (:func:`best_of`).

    The share refers to the whole population, so rows outside the subgroup (weight zero) enter through their
    part of the share.
    """
    assert evidence.population is not None
    inside, population = evidence.inside(weights), evidence.population
    above, below = numerator * inside, denominator * inside
    mass = population / population.sum()
    value = _ratio(above, below, LagrangeMultiplier(evidence.evenly(), np.zeros_like(mass), ()), mass, sign)
    for _ in range(MAX_STEPS):
        gain = sign * (above - value * below)
        found = best_multipliers(gain, evidence.extreme, evidence.shares, mass)
        previous, value = value, _ratio(above, below, found, mass, sign)
        if abs(value - previous) <= STEP_TOLERANCE:
            break
    best = _estimate(above, below, found, evidence, sign)
    slope = float(np.vdot(mass, found.of(below)))
    rivals = [
        _rival(best.value, slope, gain, each, evidence, sign) for each in _close(gain, found, evidence, mass)
    ]
    return best_of([best, *rivals], evidence.covariance, sign) if rivals else best


def notice_ties(low: Estimate, high: Estimate, noise_of: NoiseOf) -> Ends:
    """Return the two bounds unchanged, and warn if selection among ties makes the interval much longer.

    Ties are common and usually cost little: a factor of 1.2 on one standard error, when most of the interval
    is the distance between the bounds. The warning is given if the interval is longer by a twentieth or more.
    """
    reaches = [float(ndtri(LEVEL)) * standard_error(each, noise_of) for each in (low, high)]
    excess = sum(
        reach * (1.0 - 1.0 / max(each.widened, 1.0)) for reach, each in zip(reaches, (low, high), strict=True)
    )
    if excess > NOTICED * max(high.value - low.value + sum(reaches), NEGLIGIBLE):
        warnings.warn(
            "two ways to use the known share cannot be told apart: the interval is widened to hold for "
            "either.",
            UserWarning,
            stacklevel=2,
        )
    return low, high


def best_of(estimates: Sequence[Estimate], noise_of: NoiseOf, sign: float) -> Estimate:
    """First (best) of several valid bounds, with a standard error that accounts for the selection.

    reach = min_ν (±θ_ν + c s_ν),   c the 95 % quantile of max_ν of the bounds' joint normal noise,
    s = (reach ∓ θ_best) / 1.645

    These are intersection bounds (Chernozhukov, Lee and Rosen, 2013). The interval extends to the best of the
    confidence limits, each computed with the critical value for all of them jointly.

    Parameters
    ----------
    estimates : sequence of Estimate
        Valid bounds, the best one first.
    noise_of : callable
        Function from influences to a covariance matrix.
    sign : float
        1 for upper bounds, -1 for lower bounds.

    Examples
    --------
    >>> from selective_labels.inference.evidence import covariance
    >>> scores = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0])
    >>> best = best_of([mean_estimate(each) for each in scores], covariance, 1.0)
    >>> best.value, round(best.widened, 2)
    (0.5, 1.19)
    """
    best = estimates[0]
    size = max(len(each.outside) for each in estimates)
    moved = np.array([each.outside or (0.0,) * size for each in estimates])
    matrix = noise_of([each.influence for each in estimates]) + moved @ moved.T
    errors = np.sqrt(np.diag(matrix))
    if not errors[0] > NEGLIGIBLE:
        return best
    factor = max(critical_value(matrix, LEVEL), float(ndtri(LEVEL)))
    beyond = [sign * (each.value - best.value) for each in estimates]
    reach = max(float(np.min(np.array(beyond) + factor * errors)), 0.0)
    widened = float(reach / (float(ndtri(LEVEL)) * errors[0]))
    outside = tuple(widened * each for each in best.outside)
    return replace(best, influence=widened * best.influence, outside=outside, widened=widened)


def contradiction(evidence: Evidence, tail: float) -> str:
    """Describe the known share that the scores contradict beyond sampling error; empty if there is none.

    E[L_A] <= π <= E[U_A], with the smallest and largest share that the other assumptions allow.
    """
    assert evidence.population is not None
    for share in evidence.shares:
        weights = evidence.population * of_rows(share.rows, evidence.population)
        for sign, limit, words in ((-1.0, share.high, "at least"), (1.0, share.low, "at most")):
            probabilities = evidence.extreme(sign * share.members)
            found = mean_estimate(share.of(probabilities), weights)
            error = float(np.hypot(standard_error(found, evidence.covariance), share.error))
            excess = -sign * (found.value - limit)
            if excess > student.isf(tail, max(evidence.count_units(weights), 2) - 1) * error:
                return (
                    f"contradicted: what else is assumed puts the share at {words} {found.value:.3f} "
                    f"(standard error {error:.3f}), and it is stated as {limit:.3g}."
                )
    return ""


def _ratio(above: Array, below: Array, found: LagrangeMultiplier, mass: Array, sign: float) -> float:
    bottom = float(np.vdot(mass, found.of(below)))
    if not bottom > NEGLIGIBLE:
        raise UndefinedError("its condition has no probability among these cases.", "metric")
    return float(np.vdot(mass, found.of(above) + sign * found.surplus)) / bottom


def _estimate(
    above: Array, below: Array, found: LagrangeMultiplier, evidence: Evidence, sign: float
) -> Estimate:
    population = evidence.population
    assert population is not None
    top = found.of(above) + sign * found.surplus
    bottom = mean_estimate(found.of(below), population)
    if not bottom.value > NEGLIGIBLE:
        raise UndefinedError("its condition has no probability among these cases.", "metric")
    ratio = ratio_estimate(mean_estimate(top, population), bottom)
    moved = _moved(found, evidence, sign / bottom.value)
    largest = float(below.max())
    return replace(ratio, outside=moved, support=min(max(bottom.value / largest, 0.0), 1.0))


def _rival(
    value: float, slope: float, gain: Array, other: LagrangeMultiplier, evidence: Evidence, sign: float
) -> Estimate:
    """Bound from another multiplier, to first order around the best one."""
    beyond = mean_estimate(other.worth(gain), evidence.population)
    scale = sign / slope
    outside = _moved(other, evidence, scale)
    return Estimate(value + scale * beyond.value, scale * beyond.influence, outside=outside)


def _moved(found: LagrangeMultiplier, evidence: Evidence, scale: float) -> tuple[float, ...]:
    """Change of the bound per standard error of each share."""
    assert evidence.population is not None
    mass = evidence.population / evidence.population.sum()
    return tuple(
        float(scale * multiplier * mass[share.rows].sum() * share.error)
        for share, multiplier in zip(evidence.shares, found.multipliers, strict=True)
    )


def _close(
    gain: Array, best: LagrangeMultiplier, evidence: Evidence, mass: Array
) -> list[LagrangeMultiplier]:
    """Other multipliers whose bounds are statistically indistinguishable from the best one."""
    base, found = best.worth(gain), []
    for number, share in enumerate(evidence.shares):
        options = candidates(gain, share)
        if len(options) > FEW_CANDIDATES:
            continue
        for option in options.tolist():
            multipliers = [*best.multipliers[:number], option, *best.multipliers[number + 1 :]]
            if option == best.multipliers[number]:
                continue
            other = at_multipliers(gain, evidence.extreme, evidence.shares, multipliers)
            difference = mean_estimate(other.worth(gain) - base, evidence.population)
            if difference.value <= CLOSE * standard_error(difference, evidence.covariance):
                found.append(other)
    return found


def standard_error(estimate: Estimate, noise_of: NoiseOf) -> float:
    """Standard error by rows or clusters, including the errors of external numbers."""
    noise = noise_of([estimate.influence])[0, 0]
    return float(np.sqrt(noise + np.sum(np.square(estimate.outside))))


# A share within this distance of a stated limit counts as at the limit.
AT_END = 1e-9


@dataclass(frozen=True, eq=False)
class SharedSeparation:
    """centre + scale · Cov(gain, η) / (π (1 - π)) when π = E[η] is known, possibly up to an interval.

    For a given π the separation is linear in η, and E[gain η] is solved by its multiplier. If π is known up
    to an interval, the bound uses the π with the most extreme value
    (:func:`selective_labels.identification.prevalence.widest_share`).

    Attributes
    ----------
    gain : (n_samples,) array
    event : int
        Code of the class that is the event.
    spill : callable of chances and weights
        Effect of each row on E[gain · chance] through the gains of the other rows.
    compared : callable of chances and weights
        The events and the other rows.
    """

    gain: Array
    event: int
    centre: float
    scale: float
    spill: Callable[[Array, Array | None], Array]
    compared: Callable[[Array, Array | None], ComparedRows]

    def ends(self, evidence: Evidence, weights: Array | None, plain: Ends) -> Ends:
        """Lower and upper bound, never wider than `plain`, the bounds without the share.

        Both pairs of bounds are valid. If they are statistically indistinguishable, the interval accounts for
        the selection of the better one.
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
        """Share within the stated range at which the bound is most extreme."""
        if share.low == share.high:
            return share.low
        assert evidence.population is not None
        mass, gain = evidence.population / evidence.population.sum(), sign * self._gains(share)
        lines = []
        for each in candidate_multipliers(gain, evidence.extreme, (share,)):
            (multiplier,) = each.multipliers
            penalised = gain - multiplier * share.members
            lines.append((multiplier, float(np.vdot(mass, each.of(penalised)))))
        slopes, intercepts = np.array(lines).T
        mean = sign * float(np.vdot(mass, of_rows(self.gain, mass)))
        return widest_share(slopes, intercepts, mean, (share.low, share.high))

    def _at(self, prevalence: float, known: Evidence, weights: Array | None, sign: float) -> Estimate:
        """Bound at one value of the share."""
        share = replace(known.shares[0], low=prevalence, high=prevalence)
        evidence, gains = replace(known, shares=(share,)), self._gains(share)
        assert known.population is not None
        joint = shared_ratio_end(gains, np.ones_like(gains), evidence, weights, sign)
        at = best_multipliers(
            sign * gains, known.extreme, (share,), known.population / known.population.sum()
        )
        chance = at.probabilities[:, self.event]
        mean = mean_estimate(of_rows(self.gain, chance), weights)
        ranks, all_ranks = (
            mean_estimate(self.spill(each, weights), weights).influence
            for each in (chance, np.ones_like(chance))
        )
        spread = prevalence * (1.0 - prevalence)
        contrast = (joint.value - mean.value * prevalence) / spread
        influence = joint.influence + ranks - prevalence * (mean.influence + all_ranks)
        # The share affects the bound through its multiplier and through the denominator.
        moved = [each / spread for each in joint.outside] or [0.0]
        moved[0] -= share.error * (mean.value + contrast * (1.0 - 2.0 * prevalence)) / spread
        return Estimate(
            self.centre + self.scale * contrast,
            self.scale * influence / spread,
            support=min(prevalence, 1.0 - prevalence),
            outside=tuple(self.scale * each for each in moved),
            compared=self.compared(chance, weights),
        )


def _of_the_other(share: Share) -> Share:
    """With two classes, the constraint on the share of the other class."""
    return replace(share, members=1.0 - share.members, low=1.0 - share.high, high=1.0 - share.low)
