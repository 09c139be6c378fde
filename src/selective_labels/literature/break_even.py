"""The value of a sensitivity parameter at which a conclusion flips."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from selective_labels.nuisance.confounding import LARGEST_KAPPA

# Beyond it nothing moves.
LARGEST_GAMMA = 1e9
# The search looks for the first change between these many points, then closes in.
N_SCANNED = 33


def conclude(
    ends: Callable[[float], tuple[float, ...]],
    parameter: str,
    threshold: float | None,
    name: str,
) -> dict[str, Any]:
    """Say what the first value tells about the threshold, and how long that lasts."""
    if threshold is None:
        return {}
    ends = lru_cache(maxsize=None)(ends)
    first = ends(parameter_value(parameter, 0.0))
    if np.isnan(first[0]):  # no value is left to conclude from
        return {"threshold": threshold}
    above = (first[0] + first[1]) / 2.0 >= threshold
    word = "at least" if above else "below"

    def margin(share: float, end: int) -> float:
        reached = ends(parameter_value(parameter, share))
        found = reached[end] - threshold if above else threshold - reached[end + 1]
        return -1.0 if np.isnan(found) else found  # without a number, no support

    return {
        "threshold": threshold,
        "conclusion": f"{name} is {word} {threshold:g}",
        "break_even": first_failure(lambda share: margin(share, 0), parameter),
        "break_even_ci": first_failure(lambda share: margin(share, 2), parameter),
    }


def first_failure(margin: Callable[[float], float], parameter: str) -> float | None:
    """Smallest value of the parameter at which a margin turns negative.

    Parameters
    ----------
    margin : callable
        Of the share of the way to the worst case; not negative while the conclusion stands.
    parameter : "gamma" or "kappa"

    Returns
    -------
    float or None
        Infinite if the margin never turns, None if it is negative from the start.

    Examples
    --------
    >>> first_failure(lambda share: 0.5 - share, "gamma"), first_failure(lambda share: 0.1, "kappa")
    (2.0, inf)
    """
    shares = np.linspace(0.0, 1.0, N_SCANNED)
    previous = shares[0]
    if margin(previous) < 0.0:
        return None
    for share in shares[1:]:
        if margin(share) < 0.0:
            return parameter_value(parameter, brentq(margin, previous, share, xtol=1e-7))
        previous = share
    return float("inf")


def parameter_value(parameter: str, share: float) -> float:
    """Value of the parameter at a share of the way from the point assumption to the worst case.

    gamma = 1 / (1 - share),   kappa = share / 4

    Examples
    --------
    >>> parameter_value("gamma", 0.75), parameter_value("kappa", 0.5)
    (4.0, 0.125)
    """
    if parameter == "kappa":
        return LARGEST_KAPPA * share
    return min(1.0 / max(1.0 - share, 1.0 / LARGEST_GAMMA), LARGEST_GAMMA)
