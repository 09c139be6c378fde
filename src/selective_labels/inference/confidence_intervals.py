"""The confidence interval of a parameter between two estimated bounds.

The constants of Imbens and Manski and of Stoye, which multiply the standard errors; the rule for crossed
bounds; and what is reported in small cells.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr, ndtri, owens_t, stdtrit
from scipy.stats import t as student

from selective_labels._validation import require_choice, require_share
from selective_labels.inference.exact_intervals import Interval, wilson
from selective_labels.inference.standard_errors import (
    FEWEST,
    ROUNDING,
    BoundStandardErrors,
    few_clusters_factor,
)

INTERVALS = ("parameter", "set")
Pair = tuple[float, float]
NAN = float("nan")
NOTHING = Interval(NAN, NAN)
EVERYTHING = (-float("inf"), float("inf"))

# With fewer rows no interval is reported, because even an exact one would be uninformative.
FEWEST_ROWS = 5
# Level at which the normal quantile is one.
ONE_ERROR = 1.0 - 2.0 * float(ndtr(-1.0))
# Error probability of reporting a contradiction when the true bounds coincide.
FALSE_CONTRADICTION = 5e-4


@dataclass(frozen=True)
class Reported:
    """Bounds and confidence interval as reported.

    Attributes
    ----------
    lower, upper : float
        Bounds in order and within the possible values; NaN if the bounds are contradictory.
    interval : Interval
        Confidence interval; NaN if there is none.
    errors : pair of float
        Standard errors, widened if few rows carry the variance.
    crossed : bool
        Whether the estimated bounds crossed.
    exact : bool
        Whether the interval is exact, computed from counts.
    reason : str or None
        Reason for a NaN.
    """

    lower: float
    upper: float
    interval: Interval
    errors: Pair
    crossed: bool = False
    exact: bool = False
    reason: str | None = None


def uncross(
    lower: float, upper: float, errors: Pair, correlation: float = 0.0, number: float = np.inf
) -> tuple[float, float, bool]:
    """Put two estimated bounds in order; every estimate with two bounds uses this rule.

    1. lower <= upper: the bounds are unchanged.
    2. lower > upper by no more than sampling error: both become the value that is the same number of standard
       errors from each, (lower s_U + upper s_L) / (s_L + s_U). An interval around this value contains the
       interval around the crossed bounds, so its coverage is at least as high.
    3. lower > upper by more, (lower - upper) / sd(lower - upper) > t: both become NaN. The assumption, or a
       model in use, contradicts the data. If the true bounds coincide, this happens with a probability of at
       most one in two thousand.

    Parameters
    ----------
    errors : pair of float
        Standard errors; if they are unknown (NaN), a crossing counts as sampling error.
    correlation : float
        Correlation of the estimated bounds.
    number : float
        Effective number of units that carry the variance.

    Returns
    -------
    lower, upper : float
    crossed : bool
        True in the second and third case.

    Examples
    --------
    >>> uncross(0.4, 0.6, (0.1, 0.1)), uncross(0.52, 0.5, (0.01, 0.03))
    ((0.4, 0.6, False), (0.515, 0.515, True))
    >>> uncross(0.8, 0.2, (0.1, 0.1))
    (nan, nan, True)
    """
    excess = lower - upper
    if not excess > ROUNDING * max(1.0, abs(lower), abs(upper)):
        return lower, max(lower, upper), False
    if not sum(errors) > 0.0:  # unknown or zero
        return (lower + upper) / 2.0, (lower + upper) / 2.0, True
    low, high = errors
    noise = np.sqrt(max(low**2 + high**2 - 2.0 * correlation * low * high, 0.0))
    if excess > student.isf(FALSE_CONTRADICTION, max(number, FEWEST) - 1.0) * noise:
        return NAN, NAN, True
    meeting = (lower * high + upper * low) / (low + high)
    return meeting, meeting, True


def report(
    spread: BoundStandardErrors,
    interval: str = "parameter",
    confidence_level: float = 0.95,
    limits: Pair = EVERYTHING,
    constant: float | None = None,
) -> Reported:
    """Bounds in order, with a confidence interval that is valid in small cells.

    - Fewer than five rows, or fewer than two clusters: no interval.
    - Scores that are labels (0 and 1, with equal weights): an exact interval, see
      :mod:`selective_labels.inference.exact_intervals`. Each tail has the error probability that corresponds
      to the constant of the parameter (or set) interval.
    - Rates among some of the rows, AUC and balanced accuracy: Wilson's limits. An AUC needs ten events and
      ten other cases.
    - Otherwise bounds ± constant · standard error, with Student's factor for the effective number of units
      (:func:`selective_labels.inference.standard_errors.effective_number`). A standard error of zero only
      means that all n scores in the sample are equal. A share of 1 - (α/2)^(1/n) of the population can have
      other scores, anywhere in the range of possible values, and the interval allows for it.

    Parameters
    ----------
    interval : "parameter" or "set"
    confidence_level : float
        Above one half.
    limits : pair of float
        Range of possible values.
    constant : float, optional
        Critical value of many intervals that hold at once, in place of that of a single interval (see
        :mod:`selective_labels.inference.simultaneous`). With few units it becomes Student's with this tail.

    Examples
    --------
    >>> report(BoundStandardErrors(0.52, 0.5, (0.01, 0.03), 0.0, 400, n_units=400), limits=(0.0, 1.0)).crossed
    True
    >>> report(BoundStandardErrors(1.0, 1.0, (0.0, 0.0), 1.0, 3), limits=(0.0, 1.0)).reason
    'an interval needs five cases or more, and there are 3.'
    """
    check_interval(interval, confidence_level)
    # Clipping a bound to the range of possible values can only bring it closer to the truth.
    ends = _clipped(spread.lower, limits), _clipped(spread.upper, limits)
    too_few = _too_few(spread)
    errors = spread.errors if too_few else _floored(spread, ends, confidence_level, limits)
    lower, upper, crossed = uncross(*ends, errors, spread.correlation, min(spread.effective))
    if np.isnan(lower):
        reason = (
            "the ends cross by more than noise explains: the assumption, or a model in use, contradicts the "
            "data."
        )
        return Reported(NAN, NAN, NOTHING, errors, crossed, reason=reason)
    if too_few:
        return Reported(lower, upper, NOTHING, errors, crossed, reason=too_few)
    if constant is None:
        constants = _constants(replace(spread, lower=lower, upper=upper), errors, interval, confidence_level)
    else:
        constants = (_among_units(constant, spread, confidence_level),) * 2
    found = Interval(lower - constants[0] * errors[0], upper + constants[1] * errors[1])
    # Noisy scores can put a bound outside the values that a rate can take; there Wilson's limits say nothing.
    if spread.compared is not None and spread.compared.span[0] <= lower <= upper <= spread.compared.span[1]:
        found = _score_limits(replace(spread, lower=lower, upper=upper), errors, constants)
    first, second = spread.counts
    exact = first is not None and second is not None
    if first is not None and second is not None:
        tails = float(ndtr(-constants[0])), float(ndtr(-constants[1]))
        found = Interval(first.interval(tails).lower, second.interval(tails).upper)
    found = Interval(*(_clipped(end, limits) for end in found))
    return Reported(lower, upper, found, errors, crossed, exact)


def report_gap(
    gap: BoundStandardErrors,
    first: Reported,
    second: Reported,
    interval: str,
    confidence_level: float,
    limits: Pair,
) -> Reported:
    """Report the difference of two estimates on different cases, from the reports of both.

    reach² = reach_1² + reach_2² on each side. This combines the intervals of both estimates, including exact
    ones. The standard errors of the difference alone would miss the uncertainty of a small group in which all
    scores are equal.
    """
    found = report(gap, interval, confidence_level, limits)
    reason = first.reason or second.reason or found.reason
    if reason:
        return replace(found, interval=NOTHING, reason=reason)
    low = np.hypot(first.lower - first.interval.lower, second.interval.upper - second.upper)
    high = np.hypot(first.interval.upper - first.upper, second.lower - second.interval.lower)
    joined = Interval(max(found.lower - low, limits[0]), min(found.upper + high, limits[1]))
    return replace(found, interval=Interval(float(joined[0]), float(joined[1])))


@dataclass(frozen=True)
class Basis:
    """Inputs to recompute an interval, for one estimate or for the difference of two."""

    spread: BoundStandardErrors
    limits: tuple[float, float]
    parts: "tuple[Basis, Basis] | None" = None

    def report(self, interval: str, confidence_level: float, constant: float | None = None) -> Reported:
        """Bounds and confidence interval; `constant` is the critical value of many intervals at once."""
        if self.parts is None:
            return report(self.spread, interval, confidence_level, self.limits, constant)
        first, second = (each.report(interval, confidence_level) for each in self.parts)
        return report_gap(self.spread, first, second, interval, confidence_level, self.limits)


def check_interval(interval: str, confidence_level: float) -> None:
    """Raise an error if the type of interval or the confidence level is invalid."""
    require_choice("interval", interval, INTERVALS)
    require_share("confidence_level", confidence_level, low=0.5)


def _clipped(value: float, limits: Pair) -> float:
    """Return the nearest possible value; NaN stays NaN."""
    return float(min(max(value, limits[0]), limits[1]))


def _too_few(spread: BoundStandardErrors) -> str | None:
    if spread.clustered:
        if spread.n_clusters < FEWEST:
            return f"an interval needs two clusters or more, and there is {spread.n_clusters}."
    elif spread.n_clusters < FEWEST_ROWS:
        verb = "is" if spread.n_clusters == 1 else "are"
        return f"an interval needs five cases or more, and there {verb} {spread.n_clusters}."
    return None if spread.compared is None else spread.compared.too_few


def _score_limits(spread: BoundStandardErrors, errors: Pair, constants: Pair) -> Interval:
    """Wilson's limits of bounds on a rate or separation, with the numbers that give their standard errors.

    |end - θ| <= c √((θ - low) (high - θ) / n),   n = (end - low) (high - end) / error²

    The standard error of a rate falls as it approaches one, so limits that hold it fixed are too narrow on
    the side of one half. Where the end is within half a unit of low or high, n is the number of units, or
    what their standard error half a unit inside says if that is fewer.
    """
    compared, found = spread.compared, []
    assert compared is not None
    (low, high), ends = compared.span, (spread.lower, spread.upper)
    for place, (end, error, constant) in enumerate(zip(ends, errors, constants, strict=True)):
        rate, scaled = (end - low) / (high - low), error / (high - low)
        units = max(min((compared.lower, compared.upper)[place]), FEWEST)
        inside = np.clip(rate, 0.5 / units, 1.0 - 0.5 / units)
        least = units * (spread.errors[place] / error) ** 2  # as many as Student's factor leaves
        number = max(rate * (1.0 - rate) / scaled**2, min(least, inside * (1.0 - inside) / scaled**2))
        limit = wilson(np.array(rate), number / constant**2, ONE_ERROR)[place]
        found.append(low + float(limit) * (high - low))
    return Interval(*found)


def _constants(spread: BoundStandardErrors, errors: Pair, interval: str, confidence_level: float) -> Pair:
    both = float(ndtri((1.0 + confidence_level) / 2.0))
    width = spread.upper - spread.lower
    # A point estimate has a single error, so no error probability is divided between two bounds.
    one = width == 0.0 and spread.correlation >= LARGEST_CORRELATION
    if interval == "set" or one or not max(errors) > 0.0:
        return both, both
    return parameter_constants(width, errors, spread.correlation, spread.n_clusters, confidence_level)


def _among_units(constant: float, spread: BoundStandardErrors, confidence_level: float) -> float:
    """Student's quantile for all units, without the factor that standard errors already have."""
    units = max(min(spread.n_units, spread.n_clusters), FEWEST)
    return float(stdtrit(units - 1.0, ndtr(constant))) / few_clusters_factor(units, confidence_level)


def _floored(spread: BoundStandardErrors, ends: Pair, confidence_level: float, limits: Pair) -> Pair:
    """Standard errors; where they are zero, a value that allows for scores not present in the sample."""
    tail = (1.0 - confidence_level) / 2.0
    room = ends[0] - limits[0], limits[1] - ends[1]
    floored = []
    for end, error, space, support in zip(
        ends, spread.widened(confidence_level), room, spread.supports, strict=True
    ):
        reach = space if np.isfinite(space) else abs(end)
        unmet = -np.expm1(np.log(tail) / max(spread.n_units * support, 1.0)) * reach / -ndtri(tail)
        floored.append(float(error if error > ROUNDING * max(reach, abs(end)) else unmet))
    return floored[0], floored[1]


# Correlations are capped here, because the bivariate normal distribution has no density at one.
LARGEST_CORRELATION = 1.0 - 1e-9


# Larger than the constant at any confidence level that differs from one in double precision.
LARGEST_CONSTANT = 40.0


# Smallest share of the error probability for one bound; the optimal division is rarely so unequal.
SMALLEST_TAIL = 1e-4


def parameter_constants(
    width: float,
    errors: tuple[float, float],
    correlation: float,
    n_samples: float,
    confidence_level: float = 0.95,
) -> tuple[float, float]:
    """Constants c_L and c_U of the interval [lower - c_L s_L, upper + c_U s_U].

    At least one standard error must be positive.

    Examples
    --------
    >>> [round(each, 3) for each in parameter_constants(0.5, (0.01, 0.01), 0.0, n_samples=2000)]
    [1.645, 1.645]
    """
    largest = max(errors)
    if width > largest * np.sqrt(np.log(n_samples)):
        constant = imbens_manski_constant(width / largest, confidence_level)
        return constant, constant
    # A bound without error adds no length; a tiny error keeps the optimisation well defined.
    error_lower, error_upper = np.maximum(errors, 1e-9 * largest)
    return stoye_constants(0.0, error_lower, error_upper, correlation, confidence_level)


def imbens_manski_constant(relative_width: float, confidence_level: float = 0.95) -> float:
    """Constant C of the interval that covers the parameter (Imbens and Manski 2004).

    Φ(C + Δ / max(s_L, s_U)) - Φ(-C) = 1 - α

    C is z_{1-α/2} when the identified interval is a point. It falls to z_{1-α} as the interval becomes wide,
    because the parameter is then close to at most one bound.

    Parameters
    ----------
    relative_width : float
        Δ / max(s_L, s_U), non-negative.

    Examples
    --------
    >>> round(imbens_manski_constant(0.0), 3), round(imbens_manski_constant(10.0), 3)
    (1.96, 1.645)
    """
    narrow, wide = ndtri((1.0 + confidence_level) / 2.0), ndtri(confidence_level)
    if relative_width >= LARGEST_CONSTANT:
        return float(wide)

    def excess(constant: float) -> float:
        return float(ndtr(constant + relative_width) - ndtr(-constant)) - confidence_level

    return float(brentq(excess, wide - 1e-9, narrow + 1e-9, xtol=1e-12))


def stoye_constants(
    width: float, error_lower: float, error_upper: float, correlation: float, confidence_level: float = 0.95
) -> tuple[float, float]:
    """Constants of the shortest interval that covers the parameter, given the correlation of the bounds.

    minimise c_L s_L + c_U s_U subject to
    P(W_L <= c_L,  W_U >= -c_U - Δ/s_U) >= 1 - α   (the parameter at the lower bound),
    P(W_U >= -c_U, W_L <= c_L + Δ/s_L) >= 1 - α    (the parameter at the upper bound),

    with W_L and W_U standard normal with correlation ρ. This is the third interval of Stoye (2009). Unlike
    the constant of Imbens and Manski, it does not require that the bounds are ordered in every sample.

    Parameters
    ----------
    width : float
        Δ, non-negative.
    error_lower, error_upper : float
        Standard errors s_L, s_U, positive.
    correlation : float
        Correlation ρ of the estimated bounds.
    confidence_level : float
        Above one half.

    Returns
    -------
    c_L, c_U

    Examples
    --------
    >>> [round(each, 3) for each in stoye_constants(0.0, 1.0, 1.0, correlation=0.0)]
    [1.955, 1.955]
    >>> [round(each, 3) for each in stoye_constants(9.0, 1.0, 1.0, correlation=0.0)]
    [1.645, 1.645]
    """
    opposite = -float(np.clip(correlation, -LARGEST_CORRELATION, LARGEST_CORRELATION))
    room_lower, room_upper = (min(width / error, LARGEST_CONSTANT) for error in (error_lower, error_upper))

    def shortfall(upper: float, lower: float) -> float:
        at_lower = bivariate_normal(lower, upper + room_upper, opposite)
        at_upper = bivariate_normal(lower + room_lower, upper, opposite)
        return confidence_level - min(at_lower, at_upper)

    # Neither constant can be below the one-sided constant, at which the other one is infinite.
    smallest, largest = ndtri(confidence_level), ndtri(1.0 - (1.0 - confidence_level) * SMALLEST_TAIL)

    def upper_for(lower: float) -> float:
        """Smallest feasible c_U for a given c_L."""
        if shortfall(smallest, lower) <= 0.0:
            return float(smallest)
        return float(brentq(shortfall, smallest, LARGEST_CONSTANT, args=(lower,), xtol=1e-13))

    def length(lower: float) -> float:
        return lower * error_lower + upper_for(lower) * error_upper

    best = minimize_scalar(length, bounds=(smallest, largest), method="bounded", options={"xatol": 1e-7})
    lower = float(best.x)
    if width == 0.0:
        reach = min(FLATNESS, (lower - float(smallest)) / 2.0)  # below the smallest, no c_U is large enough
        lower = _sharpened(
            (lower - reach, lower, lower + reach), upper_for, (error_lower, error_upper), opposite
        )
    return lower, upper_for(lower)


# A minimum is flat: its place is known to the root of the rounding error only, and lies within this distance.
FLATNESS = 1e-5


def _sharpened(
    near: tuple[float, float, float],
    upper_for: Callable[[float], float],
    errors: tuple[float, float],
    correlation: float,
) -> float:
    """Root of the first-order condition s_L ∂P/∂c_U = s_U ∂P/∂c_L around a minimum of the length.

    The condition locates the minimum to rounding error, so that equal data in another order give equal
    intervals.
    """
    scale = np.sqrt(1.0 - correlation**2)

    def steepness(first: float) -> float:
        second = upper_for(first)
        by_first = np.exp(-(first**2) / 2.0) * ndtr((second - correlation * first) / scale)
        by_second = np.exp(-(second**2) / 2.0) * ndtr((first - correlation * second) / scale)
        return float(errors[0] * by_second - errors[1] * by_first)

    before, minimum, after = near
    if not steepness(before) < 0.0 < steepness(after):  # the minimum is at an end of the range
        return minimum
    return float(brentq(steepness, before, after, xtol=1e-12))


def bivariate_normal(first: float, second: float, correlation: float) -> float:
    """P(W_1 <= first, W_2 <= second) of standard normal variables, for positive limits.

    ½ Φ(h) + ½ Φ(k) - T(h, (k - ρh) / (h √(1-ρ²))) - T(k, (h - ρk) / (k √(1-ρ²)))

    with Owen's function T (Owen 1956). The result is exact up to rounding, whereas general routines integrate
    numerically.

    Examples
    --------
    >>> bool(abs(bivariate_normal(1.0, 2.0, 0.0) - ndtr(1.0) * ndtr(2.0)) < 1e-15)
    True
    """
    scale = np.sqrt(1.0 - correlation**2)
    tilt_first = owens_t(first, (second - correlation * first) / (first * scale))
    tilt_second = owens_t(second, (first - correlation * second) / (second * scale))
    return float((ndtr(first) + ndtr(second)) / 2.0 - tilt_first - tilt_second)
