"""How much decision-makers differ in how often they accept."""

import numpy as np
from numpy.typing import ArrayLike


def leniency_spread(cases: ArrayLike, accepted: ArrayLike) -> tuple[float, float]:
    """Mean acceptance rate of decision-makers, and its standard deviation without sampling noise.

    spread² = Var_z(rate_z) - mean_z rate_z (1 - rate_z) / (n_z - 1)

    Parameters
    ----------
    cases, accepted : (n_decision_makers,) arrays
        How many cases each decided, and how many of them in favour.

    Examples
    --------
    >>> [round(each, 3) for each in leniency_spread([101, 101, 101], [20, 50, 80])]
    [0.495, 0.294]
    """
    number, taken = np.asarray(cases, dtype=float), np.asarray(accepted, dtype=float)
    several = number > 1
    if several.sum() < 2:
        return float(taken.sum() / number.sum()), 0.0
    rate = taken[several] / number[several]
    noise = np.mean(rate * (1.0 - rate) / (number[several] - 1.0))
    return float(rate.mean()), float(np.sqrt(max(rate.var(ddof=1) - noise, 0.0)))
