"""Ends where a share of the population is known: by a multiplier, and with the error of the share."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.special import ndtri
from scipy.stats import t as student

from selective_labels._errors import UndefinedError
from selective_labels.identification.bounds import Array
from selective_labels.identification.prevalence import (
    Share,
    Tilt,
    best_tilt,
    candidates,
    tilt,
    tilts,
    widest_share,
)
from selective_labels.inference.evidence import (
    Ends,
    Estimate,
    Evidence,
    mean_estimate,
    of_rows,
    ratio_estimate,
    subtract,
)

# From influences to the covariance matrix of estimates.
NoiseOf = Callable[[Sequence[Array]], Array]
MAX_STEPS = 50
STEP_TOLERANCE = 1e-10
NEGLIGIBLE = 1e-14
# Multipliers whose ends differ by fewer standard errors than this cannot be told apart.
CLOSE = 2.0
# Among more of them neighbours are always close, and their ends are too.
FEW_CANDIDATES = 12
# One-sided level at which an end holds although it is the best of several; normal draws to find the factor.
LEVEL = 0.95
N_DRAWS = 20_000
# An interval that is longer by so large a part is worth a word.
NOTICED = 0.05


class ContradictedError(UndefinedError):
    """No class probabilities agree with the data and with all that is assumed."""


def shared_ratio_end(
    numerator: Array, denominator: Array, evidence: Evidence, weights: Array | None, sign: float
) -> Estimate:
    """Lower (sign -1) or upper end of E[c · η] / E[g · η] where shares are known.

    θ = (E[c · η_ν] ± E[ν (π - η_ν,A)]) / E[g · η_ν],   η_ν where ±(c - θ g) - ν 1_A is largest

    Any ν gives a valid end, the best one the sharp end; it is one number for the whole sample, and optimal,
    so that to first order the end does not move with it. No share is one of them (ν = 0), so that the end is
    never wider than without. Where several cannot be told apart (two standard errors), the best looks better
    than it is: the interval then holds for the best of all of them (:func:`best_of`).

    The share is about everybody, so rows outside the subgroup at hand (weight zero) enter by what they leave
    of it.
    """
    assert evidence.population is not None
    inside, population = evidence.inside(weights), evidence.population
    above, below = numerator * inside, denominator * inside
    mass = population / population.sum()
    value = _ratio(above, below, Tilt(evidence.evenly(), np.zeros_like(mass), ()), mass, sign)
    for _ in range(MAX_STEPS):
        gain = sign * (above - value * below)
        found = best_tilt(gain, evidence.extreme, evidence.shares, mass)
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
    """Return the two ends as they are, and warn if they are the best of several and the interval shows it.

    Ties are common and cost little: a factor of 1.2 on one error, where most of the interval is between its
    ends. What is worth a word is an interval that is longer by a twentieth or more.
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
    """The first of several valid ends, the best, with an error that holds although it was chosen.

    reach = min_ν (±θ_ν + c s_ν),   c the 95 % quantile of max_ν of the ends' joint normal noise,
    s = (reach ∓ θ_best) / 1.645

    Intersection bounds (Chernozhukov, Lee and Rosen, 2013): the interval reaches as far as the best limit,
    each with the factor that all of them need.

    Parameters
    ----------
    estimates : sequence of Estimate
        The best first.
    noise_of : callable
        From influences to a covariance matrix.
    sign : float
        1 for upper ends, -1 for lower ones.

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
    scale = np.maximum(errors, NEGLIGIBLE)
    squares, axes = np.linalg.eigh(matrix / np.outer(scale, scale))
    # The symmetric root: any other depends on the signs of axes, and so on rounding.
    noise = _normal_draws(len(errors)) @ (axes * np.sqrt(np.maximum(squares, 0.0))) @ axes.T
    factor = max(float(np.quantile(noise.max(axis=1), LEVEL)), float(ndtri(LEVEL)))
    beyond = [sign * (each.value - best.value) for each in estimates]
    reach = max(float(np.min(np.array(beyond) + factor * errors)), 0.0)
    widened = float(reach / (float(ndtri(LEVEL)) * errors[0]))
    outside = tuple(widened * each for each in best.outside)
    return replace(best, influence=widened * best.influence, outside=outside, widened=widened)


@cache
def _normal_draws(number: int) -> Array:
    """The same draws every time, so that results can be repeated."""
    return np.random.default_rng(0).standard_normal((N_DRAWS, number))


def contradiction(evidence: Evidence, tail: float) -> str:
    """Say which known share the scores contradict beyond noise; empty if none.

    E[L_A] <= π <= E[U_A]: the smallest and the largest share that the rest of what is assumed allows.
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


def _ratio(above: Array, below: Array, found: Tilt, mass: Array, sign: float) -> float:
    bottom = float(np.vdot(mass, found.of(below)))
    if not bottom > NEGLIGIBLE:
        raise UndefinedError("its condition has no probability among these cases.", "metric")
    return float(np.vdot(mass, found.of(above) + sign * found.surplus)) / bottom


def _estimate(above: Array, below: Array, found: Tilt, evidence: Evidence, sign: float) -> Estimate:
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


def _rival(value: float, slope: float, gain: Array, other: Tilt, evidence: Evidence, sign: float) -> Estimate:
    """The end by another multiplier, to first order around the best one's."""
    beyond = mean_estimate(other.worth(gain), evidence.population)
    scale = sign / slope
    outside = _moved(other, evidence, scale)
    return Estimate(value + scale * beyond.value, scale * beyond.influence, outside=outside)


def _moved(found: Tilt, evidence: Evidence, scale: float) -> tuple[float, ...]:
    """How far one standard error of each share moves the end."""
    assert evidence.population is not None
    mass = evidence.population / evidence.population.sum()
    return tuple(
        float(scale * multiplier * mass[share.rows].sum() * share.error)
        for share, multiplier in zip(evidence.shares, found.multipliers, strict=True)
    )


def _close(gain: Array, best: Tilt, evidence: Evidence, mass: Array) -> list[Tilt]:
    """Other multipliers whose end cannot be told from the best one's."""
    base, found = best.worth(gain), []
    for number, share in enumerate(evidence.shares):
        options = candidates(gain, share)
        if len(options) > FEW_CANDIDATES:
            continue
        for option in options.tolist():
            multipliers = [*best.multipliers[:number], option, *best.multipliers[number + 1 :]]
            if option == best.multipliers[number]:
                continue
            other = tilt(gain, evidence.extreme, evidence.shares, multipliers)
            difference = mean_estimate(other.worth(gain) - base, evidence.population)
            if difference.value <= CLOSE * standard_error(difference, evidence.covariance):
                found.append(other)
    return found


def standard_error(estimate: Estimate, noise_of: NoiseOf) -> float:
    """Error of an estimate, by rows or clusters, and of the numbers from elsewhere that it uses."""
    noise = noise_of([estimate.influence])[0, 0]
    return float(np.sqrt(noise + np.sum(np.square(estimate.outside))))


# Shares closer than this to an end of what is stated are at it.
AT_END = 1e-9


@dataclass(frozen=True, eq=False)
class SharedSeparation:
    """centre + scale · Cov(gain, η) / (π (1 - π)) where π = E[η] is known, maybe up to an interval.

    Linear in η for a given π: E[gain η] by its multiplier. Of an interval, the π counts at which the end is
    furthest out (:func:`selective_labels.identification.prevalence.widest_share`).

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
