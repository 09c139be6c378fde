"""Reported bounds and confidence intervals: the rule for crossed bounds, and intervals for small cells."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import t as student

from selective_labels._errors import require_choice
from selective_labels._validation import require_share
from selective_labels.inference.intervals import LARGEST_CORRELATION, Interval, parameter_constants
from selective_labels.inference.standard_errors import FEWEST, ROUNDING, BoundStandardErrors

INTERVALS = ("parameter", "set")
Pair = tuple[float, float]
NAN = float("nan")
NOTHING = Interval(NAN, NAN)
EVERYTHING = (-float("inf"), float("inf"))

# With fewer rows no interval is reported, because even an exact one would be uninformative.
FEWEST_ROWS = 5
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
    lower, upper : float
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
) -> Reported:
    """Bounds in order, with a confidence interval that is valid in small cells.

    - Fewer than five rows, or fewer than two clusters: no interval.
    - Scores that are labels (0 and 1, with equal weights): an exact interval, see
      :mod:`selective_labels.inference.intervals`. Each tail has the error probability that corresponds to the
      constant of the parameter (or set) interval.
    - Otherwise bounds ± constant · standard error, with Student's factor for the effective number of units
      (:func:`selective_labels.inference.standard_errors.effective_number`). A standard error of zero only
      means that all n scores in the sample are equal. A share of 1 - (α/2)^(1/n) of the population can have
      other scores, anywhere in the range of possible values, and the interval allows for it.

    Parameters
    ----------
    spread : BoundStandardErrors
    interval : "parameter" or "set"
    confidence_level : float
        Above one half.
    limits : pair of float
        Range of possible values.

    Examples
    --------
    >>> report(BoundStandardErrors(0.52, 0.5, (0.01, 0.03), 0.0, 400, n_units=400), limits=(0.0, 1.0)).crossed
    True
    >>> report(BoundStandardErrors(1.0, 1.0, (0.0, 0.0), 1.0, 3), limits=(0.0, 1.0)).reason
    'an interval needs five cases or more, and there are 3.'
    """
    check_interval(interval, confidence_level)
    # Clipping a bound to the range of possible values can only bring it closer to the truth.
    ends = float(np.clip(spread.lower, *limits)), float(np.clip(spread.upper, *limits))
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
    constants = _constants(replace(spread, lower=lower, upper=upper), errors, interval, confidence_level)
    found = Interval(lower - constants[0] * errors[0], upper + constants[1] * errors[1])
    first, second = spread.counts
    exact = first is not None and second is not None
    if first is not None and second is not None:
        tails = float(ndtr(-constants[0])), float(ndtr(-constants[1]))
        found = Interval(first.interval(tails).lower, second.interval(tails).upper)
    found = Interval(*(float(np.clip(end, *limits)) for end in found))
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

    def report(self, interval: str, confidence_level: float) -> Reported:
        """Bounds and confidence interval."""
        if self.parts is None:
            return report(self.spread, interval, confidence_level, self.limits)
        first, second = (each.report(interval, confidence_level) for each in self.parts)
        return report_gap(self.spread, first, second, interval, confidence_level, self.limits)


def check_interval(interval: str, confidence_level: float) -> None:
    """Raise an error if the type of interval or the confidence level is invalid."""
    require_choice("interval", interval, INTERVALS)
    require_share("confidence_level", confidence_level, low=0.5)


def _too_few(spread: BoundStandardErrors) -> str | None:
    if spread.clustered:
        if spread.n_clusters < FEWEST:
            return f"an interval needs two clusters or more, and there is {spread.n_clusters}."
    elif spread.n_clusters < FEWEST_ROWS:
        verb = "is" if spread.n_clusters == 1 else "are"
        return f"an interval needs five cases or more, and there {verb} {spread.n_clusters}."
    return None


def _constants(spread: BoundStandardErrors, errors: Pair, interval: str, confidence_level: float) -> Pair:
    both = float(ndtri((1.0 + confidence_level) / 2.0))
    width = spread.upper - spread.lower
    # A point estimate has a single error, so no error probability is divided between two bounds.
    one = width == 0.0 and spread.correlation >= LARGEST_CORRELATION
    if interval == "set" or one or not max(errors) > 0.0:
        return both, both
    return parameter_constants(width, errors, spread.correlation, spread.n_clusters, confidence_level)


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
