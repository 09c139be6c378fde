"""From estimated ends to what is printed: the crossing rule, and intervals that hold in small cells."""

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

# Below this many rows no interval is printed: an exact one would say next to nothing.
FEWEST_ROWS = 5
# How often ends that may touch cross, by noise alone, so far that the assumption is said to be contradicted.
FALSE_CONTRADICTION = 5e-4


@dataclass(frozen=True)
class Reported:
    """Ends and interval as they are printed.

    Attributes
    ----------
    lower, upper : float
        In order and within the possible values; NaN if no value is left.
    interval : Interval
        NaN if there is none.
    errors : pair of float
        Standard errors, widened where few rows carry them.
    crossed : bool
        Whether the estimated ends were in the wrong order.
    exact : bool
        Whether the interval was made from counts.
    reason : str or None
        Why a number is NaN.
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
    """Put two estimated ends in order: the one crossing rule, for every estimate that has two ends.

    1. lower <= upper: they stay.
    2. lower > upper by no more than noise: both become the value that each reaches by as many of its
       standard errors, (lower s_U + upper s_L) / (s_L + s_U). An interval around it contains the interval
       around the crossed ends, so that it covers at least as often.
    3. lower > upper by more, (lower - upper) / sd(lower - upper) > t: no value is left, both become NaN. The
       assumption, or a model in use, contradicts the data. Where the ends of the truth touch, this happens
       at most once in two thousand times.

    Parameters
    ----------
    lower, upper : float
    errors : pair of float
        Standard errors; where they are unknown (NaN), a crossing counts as noise.
    correlation : float
        Of the estimated ends.
    number : float
        Units that carry the variance.

    Returns
    -------
    lower, upper : float
    crossed : bool
        True in the second and the third case.

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
    if not sum(errors) > 0.0:  # unknown, or zero
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
    """Ends in order, with an interval that holds in small cells.

    - Fewer than five rows, or two clusters: no interval.
    - Scores that are labels (0 and 1, of equal weight): exact, see
      :mod:`selective_labels.inference.intervals`, each tail with the error probability that the constant of
      the parameter's (set's) interval gives it.
    - Else ends ± constant · error, with Student's factor for the units that carry the variance
      (:func:`selective_labels.inference.standard_errors.effective_number`). An error of zero says only that
      all n scores happened to be alike: of the population, a share of 1 - (α/2)^(1/n) may have others,
      anywhere in the possible values, and the interval reaches as far.

    Parameters
    ----------
    spread : BoundStandardErrors
    interval : "parameter" or "set"
    confidence_level : float
        Above one half.
    limits : pair of float
        Possible values.

    Examples
    --------
    >>> report(Spread(0.52, 0.5, (0.01, 0.03), 0.0, 400, n_units=400), limits=(0.0, 1.0)).crossed
    True
    >>> report(Spread(1.0, 1.0, (0.0, 0.0), 1.0, 3), limits=(0.0, 1.0)).reason
    'an interval needs five cases or more, and there are 3.'
    """
    check_interval(interval, confidence_level)
    # Moving an end to the nearest possible value only brings it nearer to the truth.
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
    """Report first minus second of different cases, from what is reported of each.

    reach² = reach_1² + reach_2² to each side: the intervals of both, exact ones among them, joined by
    squares. The gap's own standard errors would know nothing of a small group without a mistake.
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
    """What an interval can be made from again: of one estimate, or of the two that a gap subtracts."""

    spread: BoundStandardErrors
    limits: tuple[float, float]
    parts: "tuple[Basis, Basis] | None" = None

    def report(self, interval: str, confidence_level: float) -> Reported:
        """Ends and interval."""
        if self.parts is None:
            return report(self.spread, interval, confidence_level, self.limits)
        first, second = (each.report(interval, confidence_level) for each in self.parts)
        return report_gap(self.spread, first, second, interval, confidence_level, self.limits)


def check_interval(interval: str, confidence_level: float) -> None:
    """Refuse an interval that cannot be made."""
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
    # A point estimate is one number with one error: nothing is to be divided between two ends.
    one = width == 0.0 and spread.correlation >= LARGEST_CORRELATION
    if interval == "set" or one or not max(errors) > 0.0:
        return both, both
    return parameter_constants(width, errors, spread.correlation, spread.n_clusters, confidence_level)


def _floored(spread: BoundStandardErrors, ends: Pair, confidence_level: float, limits: Pair) -> Pair:
    """Errors, where they are zero as large as rows that were not met may make them."""
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
