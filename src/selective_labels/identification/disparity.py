"""Gaps between two groups in the rate of a yes given the outcome, weighted by how often each outcome occurs.

In group g, a_g = P(yes, Y = event | g) and b_g = P(yes, Y ≠ event | g) are observed, and the share of the
event, p_g = P(Y = event | g), is bounded. With w_g the share of the group among the cases of both,

    Δ = P(Y = event) (a_1 / p_1 - a_2 / p_2) + P(Y ≠ event) (b_1 / (1 - p_1) - b_2 / (1 - p_2)),
    P(Y = event) = w_1 p_1 + w_2 p_2

is the system-wide disparity of Arnold, Dobbie and Hull (2022). The groups are different cases, so (p_1, p_2)
takes any value in the box of its bounds.
"""

from dataclasses import dataclass

import numpy as np

from selective_labels.identification.bounds import Array

# Steps of bisection: the interval shrinks to rounding error.
N_STEPS = 60


@dataclass(frozen=True)
class GroupShares:
    """What is known of two groups, each field of shape (2,).

    Attributes
    ----------
    seen_event, seen_other : (2,) arrays
        a and b.
    share : (2,) array
        w, which sums to one.
    """

    seen_event: Array
    seen_other: Array
    share: Array

    @property
    def swapped(self) -> "GroupShares":
        """The groups in the other order."""
        return GroupShares(self.seen_event[::-1], self.seen_other[::-1], self.share[::-1])


def weighted_gap(groups: GroupShares, event: Array) -> float:
    """Δ at the shares p of the event, (2,).

    Examples
    --------
    Both groups get a yes in 80 % of the cases without the event and in 40 % of those with it:

    >>> p = np.array([0.5, 0.2])
    >>> abs(weighted_gap(GroupShares(0.4 * p, 0.8 * (1 - p), np.array([0.3, 0.7])), p)) < 1e-12
    True
    """
    weight = float(groups.share @ event)
    first, second = groups.seen_event / event
    third, fourth = groups.seen_other / (1.0 - event)
    return float(weight * (first - second) + (1.0 - weight) * (third - fourth))


def weighted_gap_gradient(groups: GroupShares, event: Array) -> tuple[Array, Array, Array, Array]:
    """Derivatives of Δ by a, b, p and w, each (2,); the two shares w as if they were free.

    Examples
    --------
    >>> groups = GroupShares(np.array([0.1, 0.1]), np.array([0.3, 0.4]), np.array([0.5, 0.5]))
    >>> [each.round(2).tolist() for each in weighted_gap_gradient(groups, np.array([0.5, 0.5]))]
    [[1.0, -1.0], [1.0, -1.0], [0.5, -0.5], [0.1, 0.1]]
    """
    sign, weight = np.array([1.0, -1.0]), float(groups.share @ event)
    rest = 1.0 - event
    of_event, of_other = groups.seen_event / event, groups.seen_other / rest
    between = float(sign @ of_event - sign @ of_other)
    by_share = between * event
    by_event = between * groups.share - sign * weight * of_event / event
    by_event = by_event + sign * (1.0 - weight) * of_other / rest
    return sign * weight / event, sign * (1.0 - weight) / rest, by_event, by_share


def largest_weighted_gap(groups: GroupShares, lower: Array, upper: Array) -> Array:
    """Shares of the event in the box [lower, upper] at which Δ is largest, (2,).

    With w_1 + w_2 = 1, Δ is convex in p_1, whose best value is therefore an end, and concave in p_2, whose
    best value is an end or the root of a decreasing derivative. The smallest Δ is minus the largest one of
    the groups in the other order.

    Examples
    --------
    >>> groups = GroupShares(np.array([0.1, 0.1]), np.array([0.3, 0.4]), np.array([0.5, 0.5]))
    >>> largest_weighted_gap(groups, np.array([0.2, 0.2]), np.array([0.6, 0.5])).round(3)
    array([0.6  , 0.262])
    """
    best, found = -np.inf, lower
    for first in (lower[0], upper[0]):
        low, high = float(lower[1]), float(upper[1])
        for _ in range(N_STEPS):
            middle = (low + high) / 2.0
            rising = weighted_gap_gradient(groups, np.array([first, middle]))[2][1] > 0.0
            low, high = (middle, high) if rising else (low, middle)
        for second in (float(lower[1]), float(upper[1]), (low + high) / 2.0):
            here = np.array([first, second])
            value = weighted_gap(groups, here)
            if value > best:
                best, found = value, here
    return found
