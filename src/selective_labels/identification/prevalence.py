"""Bounds under a known prevalence: a constraint on the share of an event in the population.

A Lagrange multiplier for the constraint makes the problem separable again, so that each row is solved by
itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from selective_labels._errors import UndefinedError
from selective_labels.identification.bounds import Array, Bounds
from selective_labels.identification.costs import extreme_probabilities
from selective_labels.identification.event_bounds import LaminarBounds
from selective_labels.identification.functionals import normalized_weights

# From gains of shape (n_samples, n_classes) to the class probabilities, or their scores, that maximise them.
Extreme = Callable[[Array], Array]
# Largest number of multipliers to try; if there are more candidates, quantiles represent them.
MOST_CANDIDATES = 64
MAX_STEPS = 60
# Grid steps to each side of zero in the scan for a rule, and the largest number of entries it uses.
N_STEPS = 10
MOST_ROWS = 40_000
STEP_TOLERANCE = 1e-12
ROUNDING = 1e-9
# Rows whose maximiser changes when the multiplier moves by this much are indifferent.
INDIFFERENCE = 1e-9


@dataclass(frozen=True, eq=False)
class Share:
    """Constraint low <= E[Σ_{k in A} η_k(X) | rows] <= high on the share of an event.

    Attributes
    ----------
    members : (n_classes,) array of 0 and 1
        Indicator of the classes in the event A.
    low, high : float
        Range of the share.
    rows : (n_samples,) bool array
        Rows that the constraint concerns.
    error : float
        Standard error of `low` and `high`, if they were estimated from another source.
    times : (n_samples,) array or None
        Number of rows behind each entry, if entries are cells of identical rows; None if each entry is one
        row.
    """

    members: Array
    low: float
    high: float
    rows: np.ndarray
    error: float = 0.0
    times: Array | None = None

    def limit(self, multiplier: float) -> float:
        """Limit of the share that binds for a multiplier of this sign."""
        return self.high if multiplier > 0.0 else self.low

    def of(self, probabilities: Array) -> Array:
        """Σ_{k in A} η_k of each row."""
        return np.asarray(np.einsum("nk...,k->n...", probabilities, self.members))


@dataclass(frozen=True, eq=False)
class LagrangeMultiplier:
    """Solution of the Lagrangian at multipliers ν: each row maximises (gain - ν 1_A) · η + ν π.

    Attributes
    ----------
    probabilities : (n_samples, n_classes) array
        Maximiser of each row. If rows are cells of identical rows, there is one more axis, for linear forms.
    surplus : (n_samples,) array
        ν (π - η_A), the term that the multipliers add to each row.
    multipliers : tuple of float
        One multiplier per share.
    """

    probabilities: Array
    surplus: Array
    multipliers: tuple[float, ...]

    def of(self, coefficients: Array) -> Array:
        """Σ_k c_k η_k of each row."""
        return np.asarray(np.einsum("nk,nk...->n...", coefficients, self.probabilities))

    def worth(self, gain: Array) -> Array:
        """Lagrangian gain · η + surplus of each row; by weak duality its mean is >= max_η E[gain · η]."""
        return self.of(gain) + self.surplus


def at_multipliers(
    gain: Array, extreme: Extreme, shares: Sequence[Share], multipliers: Sequence[float]
) -> LagrangeMultiplier:
    """Maximise the Lagrangian row by row for given multipliers.

    By weak duality the mean of gain · η + surplus is at least max_η E[gain · η] for any multipliers.
    """
    penalised = np.array(gain)
    for share, multiplier in zip(shares, multipliers, strict=True):
        penalised[share.rows] -= multiplier * share.members
    found = extreme(penalised)
    surplus = np.zeros_like(found[:, 0])
    for share, multiplier in zip(shares, multipliers, strict=True):
        surplus[share.rows] += multiplier * (share.limit(multiplier) - share.of(found[share.rows]))
    return LagrangeMultiplier(found, surplus, tuple(multipliers))


def candidates(gain: Array, share: Share) -> Array:
    """Multipliers at which the maximiser of a row changes: gain_k - gain_j, k in A and j not, and zero."""
    inside = np.flatnonzero(share.members > 0.0)
    outside = np.flatnonzero(share.members <= 0.0)
    rows = gain[share.rows]
    differences = (rows[:, inside, None] - rows[:, None, outside]).reshape(len(rows), -1)
    values, code = np.unique(differences.round(12), return_inverse=True)
    if len(values) > MOST_CANDIDATES:
        times = np.ones(len(rows)) if share.times is None else share.times[share.rows]
        mass = np.cumsum(np.bincount(code.ravel(), np.repeat(times, differences.shape[1])))
        # Use values that occur: the maximiser of a row changes only there.
        steps = np.linspace(0.0, 1.0, MOST_CANDIDATES) * mass[-1]
        values = values[np.minimum(np.searchsorted(mass, steps - ROUNDING * mass[-1]), len(values) - 1)]
    return np.unique(np.append(values, 0.0))


def candidate_multipliers(gain: Array, extreme: Extreme, shares: Sequence[Share]) -> list[LagrangeMultiplier]:
    """Solutions at all candidate multipliers; shares with fewer candidates repeat their last one."""
    options = [candidates(gain, share) for share in shares]
    most = max(map(len, options))
    return [
        at_multipliers(gain, extreme, shares, [float(each[min(number, len(each) - 1)]) for each in options])
        for number in range(most)
    ]


def best_multipliers(
    gain: Array, extreme: Extreme, shares: Sequence[Share], weights: Array
) -> LagrangeMultiplier:
    """Solution at the multipliers that minimise the mean of gain · η + surplus, which then is the maximum.

    max_{η in S, low <= E[η_A] <= high} E[gain · η]
        = min_ν  ν^+ high - ν^- low + E[max_{η in S(X)} (gain - ν 1_A) · η]

    The shares concern disjoint rows, so each multiplier is found separately. The probabilities satisfy the
    constraints.
    """
    tried = candidate_multipliers(gain, extreme, shares)
    values = [each.worth(gain) for each in tried]
    best = []
    for number, share in enumerate(shares):
        means = [float(np.vdot(weights[share.rows], each[share.rows])) for each in values]
        best.append(tried[int(np.argmin(means))].multipliers[number])
    return _with_shares(gain, extreme, shares, best, weights)


def _with_shares(
    gain: Array, extreme: Extreme, shares: Sequence[Share], multipliers: Sequence[float], weights: Array
) -> LagrangeMultiplier:
    """Solution in which rows that are indifferent at the best multipliers are divided to satisfy the shares.

    The maximum is the same without this step. The value of E[g · η] for any other g is not, so a ratio would
    change.
    """
    found = at_multipliers(gain, extreme, shares, multipliers)
    more, less = (
        at_multipliers(gain, extreme, shares, [each + step for each in multipliers]).probabilities
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
    return LagrangeMultiplier(probabilities, surplus, tuple(multipliers))


def shared_ratio_extremes(
    numerator: ArrayLike,
    denominator: ArrayLike,
    bounds: Bounds,
    shares: Sequence[Share],
    weights: ArrayLike | None = None,
) -> tuple[float, float]:
    """Min and max of E[c · η] / E[g · η] over the identified set with known shares of an event.

    The largest value θ solves max_η E[(c - θ g) · η] = 0 (Dinkelbach); each maximum is found by its
    multiplier. A mean has g = 1. The bounds are sharp, except that quantiles replace the candidates when
    there are many multipliers.

    Parameters
    ----------
    numerator, denominator : arrays broadcastable to (n_samples, n_classes)
        c and g.
    shares : sequence of Share
        Constraints on disjoint rows.
    weights : (n_samples,) array, optional
        Sample weights.

    Examples
    --------
    Accuracy of predicting class 0 for all cases, if class 1 has a share between .3 and .4:

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
    """Raise an error if no class probabilities in the set satisfy the shares."""
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
    """Largest regret of each prediction minus ν η_A: max_j max_η Σ_k (C[k, t] - C[k, j] - ν 1_A) η_k.

    If the share of A is known, the largest mean regret of a rule t is the minimum over ν of ν^+ high - ν^-
    low plus the mean of this quantity at t(x). The multiplier ν is the shadow price of the constraint on η_A.

    Parameters
    ----------
    members : (n_classes,) array of 0 and 1
        Indicator of the classes in A.
    multiplier : float
        ν.
    cost : (n_classes, n_classes) array, optional
        C[k, a], the cost of predicting a when k is true; zero-one by default.

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
    """Multiplier ν of the minimax-regret rule: minimise ν^+ high - ν^- low + E[min_t w_t(X; ν)].

    w is :func:`tilted_regrets`. The rule and the multiplier both minimise, so one scan over ν finds them: a
    coarse grid, then a fine grid around the best point. Large samples are thinned.
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
        found = best_multipliers(sign * (above - value * below), extreme, shares, mass)
        top = mass @ (np.einsum("nk,nk->n", above, found.probabilities) + sign * found.surplus)
        bottom = mass @ np.einsum("nk,nk->n", below, found.probabilities)
        previous, value = value, float(top / bottom)
        if abs(value - previous) <= STEP_TOLERANCE:
            break
    return value


def widest_share(
    slopes: ArrayLike, intercepts: ArrayLike, mean_gain: float, between: Sequence[float]
) -> float:
    """argmax_s of Cov(gain, η) / (s (1 - s)) = (J(s) - s E[gain]) / (s (1 - s)), J(s) = min_ν (ν s + I_ν).

    J(s) is the largest E[gain η] with E[η] = s, by the multipliers ν. Where a single ν attains the minimum,
    the value is I/s + (I + ν - E[gain]) / (1 - s). If both numerators are negative, this function is concave,
    with its maximum where s / (1 - s) equals the square root of their ratio. Otherwise it is convex or
    monotone. The largest value therefore lies at such a maximum, at a crossing of two lines, or at an end of
    the interval. All of these points are compared, so the result is exact.

    Parameters
    ----------
    slopes, intercepts : (n_multipliers,) arrays
        ν and I_ν = E[max_η (gain - ν) η].
    mean_gain : float
        E[gain].
    between : low and high
        Range of s, strictly between 0 and 1.

    Returns
    -------
    float

    Examples
    --------
    Two cells of equal mass with gains 1 and 0, and η between .2 and .6 in each. The separation is largest at
    a share of .4; in the second call the share is known to be larger.

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
