"""A known share of an event in the population: one multiplier, and rows go their own ways again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from selective_labels._errors import UndefinedError
from selective_labels.identification.bounds import Array, Bounds
from selective_labels.identification.costs import extreme_probabilities
from selective_labels.identification.event_bounds import LaminarBounds
from selective_labels.identification.functionals import normalized_weights

# (n_samples, n_classes) gains -> the class probabilities, or scores of them, where the gain is largest.
Extreme = Callable[[Array], Array]
# So many multipliers are tried at most; more places where they matter are represented by quantiles.
MOST_CANDIDATES = 64
MAX_STEPS = 60
# Multipliers of a rule are scanned in so many steps to each side, by so many numbers at most.
N_STEPS = 10
MOST_ROWS = 40_000
STEP_TOLERANCE = 1e-12
ROUNDING = 1e-9
# Rows whose mind a multiplier changes within so much are indifferent.
INDIFFERENCE = 1e-9


@dataclass(frozen=True, eq=False)
class Share:
    """low <= E[Σ_{k in A} η_k(X) | rows] <= high.

    Attributes
    ----------
    members : (n_classes,) array of 0 and 1
        The event A.
    low, high : float
    rows : (n_samples,) bool array
        Whom it is about.
    error : float
        Standard error of `low` and `high`, from a source other than these rows.
    times : (n_samples,) array or None
        How many rows each is, where it is a cell of rows that are alike; None: each is one.
    """

    members: Array
    low: float
    high: float
    rows: np.ndarray
    error: float = 0.0
    times: Array | None = None

    def limit(self, multiplier: float) -> float:
        """The end that a multiplier presses against."""
        return self.high if multiplier > 0.0 else self.low

    def of(self, probabilities: Array) -> Array:
        """Σ_{k in A} η_k, row by row."""
        return np.asarray(np.einsum("nk...,k->n...", probabilities, self.members))


@dataclass(frozen=True, eq=False)
class Tilt:
    """A gain, tilted by multipliers ν of shares: (gain - ν 1_A) · η + ν π has its maximum row by row.

    Attributes
    ----------
    probabilities : (n_samples, n_classes) array
        Where the tilted gain is largest. What is called a row may be a cell of rows that are alike: then
        there is one more axis, of linear forms.
    surplus : (n_samples,) array
        ν (π - η_A): what the multipliers add to a row.
    multipliers : tuple of float
        One for each share.
    """

    probabilities: Array
    surplus: Array
    multipliers: tuple[float, ...]

    def of(self, coefficients: Array) -> Array:
        """Σ_k c_k η_k, row by row."""
        return np.asarray(np.einsum("nk,nk...->n...", coefficients, self.probabilities))

    def worth(self, gain: Array) -> Array:
        """Gain · η + surplus, row by row: in the mean it is not below max_η E[gain · η]."""
        return self.of(gain) + self.surplus


def tilt(gain: Array, extreme: Extreme, shares: Sequence[Share], multipliers: Sequence[float]) -> Tilt:
    """Tilt a gain: for any multipliers, the mean of gain · η + surplus is at least max_η E[gain · η]."""
    tilted = np.array(gain)
    for share, multiplier in zip(shares, multipliers, strict=True):
        tilted[share.rows] -= multiplier * share.members
    found = extreme(tilted)
    surplus = np.zeros_like(found[:, 0])
    for share, multiplier in zip(shares, multipliers, strict=True):
        surplus[share.rows] += multiplier * (share.limit(multiplier) - share.of(found[share.rows]))
    return Tilt(found, surplus, tuple(multipliers))


def candidates(gain: Array, share: Share) -> Array:
    """Multipliers at which some row changes its mind: gain_k - gain_j, k in A and j not, and zero."""
    inside = np.flatnonzero(share.members > 0.0)
    outside = np.flatnonzero(share.members <= 0.0)
    rows = gain[share.rows]
    differences = (rows[:, inside, None] - rows[:, None, outside]).reshape(len(rows), -1)
    values, code = np.unique(differences.round(12), return_inverse=True)
    if len(values) > MOST_CANDIDATES:
        times = np.ones(len(rows)) if share.times is None else share.times[share.rows]
        mass = np.cumsum(np.bincount(code.ravel(), np.repeat(times, differences.shape[1])))
        # Each a value that occurs: at any other, no row changes its mind.
        steps = np.linspace(0.0, 1.0, MOST_CANDIDATES) * mass[-1]
        values = values[np.minimum(np.searchsorted(mass, steps - ROUNDING * mass[-1]), len(values) - 1)]
    return np.unique(np.append(values, 0.0))


def tilts(gain: Array, extreme: Extreme, shares: Sequence[Share]) -> list[Tilt]:
    """A tilt for every number of a candidate; shares with fewer repeat their last."""
    options = [candidates(gain, share) for share in shares]
    most = max(map(len, options))
    return [
        tilt(gain, extreme, shares, [float(each[min(number, len(each) - 1)]) for each in options])
        for number in range(most)
    ]


def best_tilt(gain: Array, extreme: Extreme, shares: Sequence[Share], weights: Array) -> Tilt:
    """The multipliers with the smallest mean of gain · η + surplus: there it is the maximum itself.

    max_{η in S, low <= E[η_A] <= high} E[gain · η]
        = min_ν  ν^+ high - ν^- low + E[max_{η in S(X)} (gain - ν 1_A) · η]

    Shares are about different rows, so each multiplier is found by itself. The probabilities have the share.
    """
    tried = tilts(gain, extreme, shares)
    values = [each.worth(gain) for each in tried]
    best = []
    for number, share in enumerate(shares):
        means = [float(np.vdot(weights[share.rows], each[share.rows])) for each in values]
        best.append(tried[int(np.argmin(means))].multipliers[number])
    return _with_shares(gain, extreme, shares, best, weights)


def _with_shares(
    gain: Array, extreme: Extreme, shares: Sequence[Share], multipliers: Sequence[float], weights: Array
) -> Tilt:
    """The tilt in which rows that are indifferent at the best multipliers are divided so that shares hold.

    Without it the maximum is the same, but E[g · η] of any other g, and so how a ratio moves, is not.
    """
    found = tilt(gain, extreme, shares, multipliers)
    more, less = (
        tilt(gain, extreme, shares, [each + step for each in multipliers]).probabilities
        for step in (-INDIFFERENCE, INDIFFERENCE)
    )
    probabilities, surplus = np.array(found.probabilities), np.array(found.surplus)
    for share, multiplier in zip(shares, multipliers, strict=True):
        mass = weights[share.rows] / weights[share.rows].sum()
        most, least = (float(np.vdot(mass, share.of(each[share.rows]))) for each in (more, less))
        if not most - least > INDIFFERENCE:
            continue
        wanted = share.limit(multiplier) if multiplier else np.clip(least, share.low, share.high)
        part = float(np.clip((wanted - least) / (most - least), 0.0, 1.0))
        probabilities[share.rows] = part * more[share.rows] + (1.0 - part) * less[share.rows]
        room = share.limit(multiplier) - share.of(probabilities[share.rows])
        surplus[share.rows] = multiplier * room
    return Tilt(probabilities, surplus, tuple(multipliers))


def shared_ratio_extremes(
    numerator: ArrayLike,
    denominator: ArrayLike,
    bounds: Bounds,
    shares: Sequence[Share],
    weights: ArrayLike | None = None,
) -> tuple[float, float]:
    """Min and max of E[c · η] / E[g · η] over the identified set with known shares of an event.

    The largest value θ solves max_η E[(c - θ g) · η] = 0 (Dinkelbach), each maximum by its multiplier. A
    mean is the case g = 1. Sharp, but for the quantiles that stand for many multipliers.

    Parameters
    ----------
    numerator, denominator : arrays broadcastable to (n_samples, n_classes)
    bounds : Bounds
    shares : sequence of Share
        About different rows.
    weights : (n_samples,) array, optional

    Examples
    --------
    Accuracy of "0 for all", if class 1 has a share of .4 at most:

    >>> bounds = Bounds(np.array([[0.1, 0.2]]), np.array([[0.8, 0.9]]))
    >>> share = Share(np.array([0.0, 1.0]), 0.3, 0.4, np.array([True]))
    >>> np.round(shared_ratio_extremes([1.0, 0.0], [1.0, 1.0], bounds, [share]), 3)
    array([0.6, 0.7])
    """
    shape = bounds.lower.shape
    above, below = (
        np.broadcast_to(np.asarray(each, dtype=float), shape) for each in (numerator, denominator)
    )
    mass = normalized_weights(weights, shape[0])
    check_shares(shares, bounds, mass)

    def extreme(gain: Array) -> Array:
        return extreme_probabilities(gain, bounds)

    low, high = (_ratio_end(above, below, extreme, shares, mass, sign) for sign in (-1.0, 1.0))
    return low, high


def check_shares(shares: Sequence[Share], bounds: Bounds, mass: Array) -> None:
    """Refuse shares that no class probabilities in the set have."""
    for share in shares:
        low, high = (
            float(np.average((each @ share.members)[share.rows], weights=mass[share.rows]))
            for each in (
                extreme_probabilities(np.broadcast_to(-share.members, bounds.lower.shape), bounds),
                extreme_probabilities(np.broadcast_to(share.members, bounds.lower.shape), bounds),
            )
        )
        if low > share.high + ROUNDING or high < share.low - ROUNDING:
            raise UndefinedError(
                f"the share lies between {low:.4g} and {high:.4g}, which contradicts what is stated.",
                "assumption",
            )


def tilted_regrets(bounds: Bounds, members: Array, multiplier: float, cost: ArrayLike | None = None) -> Array:
    """Largest regret of each prediction less ν η_A: max_j max_η Σ_k (C[k, t] - C[k, j] - ν 1_A) η_k.

    Where the share of A is known, the largest mean regret of a rule t is min_ν ν^+ high - ν^- low plus the
    mean of this at t(x): whoever wants to make the rule look bad has a budget of η_A, and ν is its price.

    Parameters
    ----------
    bounds : Bounds
    members : (n_classes,) array of 0 and 1
    multiplier : float
    cost : (n_classes, n_classes) array, optional
        C[k, a] of predicting a where k is true; default 0-1.

    Returns
    -------
    array of shape (n_samples, n_classes)

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.4, 0.3]]), np.array([[0.7, 0.6]]))
    >>> tilted_regrets(bounds, np.array([0.0, 1.0]), 0.0).round(2)
    array([[0.2, 0.4]])
    """
    costs = 1.0 - np.eye(bounds.lower.shape[1]) if cost is None else np.asarray(cost, dtype=float)
    found = np.full(bounds.lower.shape, -np.inf)
    for predicted, row in enumerate(costs.T):
        for gain in np.unique(row - costs.T - multiplier * members, axis=0):
            largest = extreme_probabilities(np.broadcast_to(gain, bounds.lower.shape), bounds) @ gain
            found[:, predicted] = np.maximum(found[:, predicted], largest)
    return found


def minimax_multiplier(bounds: Bounds, share: Share, weights: Array, cost: ArrayLike | None = None) -> float:
    """ν with the smallest ν^+ high - ν^- low + E[min_t w_t(X; ν)]: the rule with the least largest regret.

    w is :func:`tilted_regrets`. Rule and multiplier are both on the side that minimises, so one scan finds
    them: first coarse, then around the best. Of many rows some are looked at.
    """
    n_classes = bounds.lower.shape[1]
    rows = np.unique(np.linspace(0, len(weights) - 1, min(len(weights), MOST_ROWS // n_classes)).astype(int))
    some, mass = _rows_of(bounds, rows), weights[rows] / weights[rows].sum()
    reach = 2.0 if cost is None else 2.0 * float(np.ptp(np.asarray(cost)))

    def best(grid: Array) -> float:
        values = [
            nu * share.limit(nu) + mass @ tilted_regrets(some, share.members, nu, cost).min(axis=1)
            for nu in grid.tolist()
        ]
        return float(grid[int(np.argmin(values))])

    step = reach / N_STEPS
    coarse = best(np.linspace(-reach, reach, 2 * N_STEPS + 1))
    return best(np.clip(coarse + np.linspace(-step, step, N_STEPS + 1), -reach, reach))


def _rows_of(bounds: Bounds, rows: np.ndarray) -> Bounds:
    lower, upper = bounds.lower[rows], bounds.upper[rows]
    if isinstance(bounds, LaminarBounds):
        return replace(bounds, lower=lower, upper=upper, amounts=bounds.event_slack[rows])
    return Bounds(lower, upper)


def _ratio_end(
    above: Array, below: Array, extreme: Extreme, shares: Sequence[Share], mass: Array, sign: float
) -> float:
    value = float(mass @ above.mean(axis=1) / (mass @ below.mean(axis=1)))
    for _ in range(MAX_STEPS):
        found = best_tilt(sign * (above - value * below), extreme, shares, mass)
        top = mass @ (np.einsum("nk,nk->n", above, found.probabilities) + sign * found.surplus)
        bottom = mass @ np.einsum("nk,nk->n", below, found.probabilities)
        previous, value = value, float(top / bottom)
        if abs(value - previous) <= STEP_TOLERANCE:
            break
    return value


def widest_share(
    slopes: ArrayLike, intercepts: ArrayLike, mean_gain: float, between: Sequence[float]
) -> float:
    """argmax_s of (J(s) - s E[gain]) / (s (1 - s)), J(s) = min_ν (ν s + I_ν): Cov(gain, η) / (s (1 - s)).

    J(s) is the largest E[gain η] with E[η] = s, by multipliers ν. Where one of them is the smallest, the
    value is I/s + (I + ν - E[gain]) / (1 - s). If both numerators are negative this is concave with its top
    where s / (1 - s) is the root of their ratio, else it is convex or monotone. So the largest is at a top,
    at a crossing of two lines, or at an end of the interval: all are compared, and the answer is exact.

    Parameters
    ----------
    slopes, intercepts : (n_multipliers,) arrays
        ν and I_ν = E[max_η (gain - ν) η].
    mean_gain : float
        E[gain].
    between : low and high
        Strictly between 0 and 1.

    Returns
    -------
    float

    Examples
    --------
    Two cells of equal mass, with gains 1 and 0 and η between .2 and .6 in each. Unknown, the share would be
    .4 at the largest separation; it is known to be larger.

    >>> round(widest_share([0.0, 1.0], [0.3, -0.1], 0.5, (0.2, 0.6)), 3)
    0.4
    >>> round(widest_share([0.0, 1.0], [0.3, -0.1], 0.5, (0.45, 0.6)), 3)
    0.45
    """
    slope, intercept = (np.asarray(each, dtype=float) for each in (slopes, intercepts))
    first, second = np.triu_indices(len(slope), k=1)
    apart = slope[second] - slope[first]
    crossings = (intercept[first] - intercept[second])[apart != 0.0] / apart[apart != 0.0]
    below, above = (np.sqrt(np.maximum(-each, 0.0)) for each in (intercept, intercept + slope - mean_gain))
    concave = (below > 0.0) & (above > 0.0)
    tops = below[concave] / (below + above)[concave]
    places = np.concatenate([crossings, tops])
    low, high = between
    places = np.append([low, high], places[(places > low) & (places < high)])
    return float(places[np.argmax(_separations(places, slope, intercept, mean_gain))])


def _separations(shares: Array, slope: Array, intercept: Array, mean_gain: float) -> Array:
    joint = (shares[:, None] * slope + intercept).min(axis=1)
    return np.asarray((joint - shares * mean_gain) / (shares * (1.0 - shares)))
