"""Bounded confounding as linear programs, one row at a time."""

import numpy as np
from scipy.optimize import linprog


def extremes(coefficients, lower, upper):
    """Smallest and largest Σ_k c_k η_k with lower <= η <= upper, Σ_k η_k = 1; None if nothing fits."""
    ends = []
    for sign in (1.0, -1.0):
        solved = linprog(
            sign * np.asarray(coefficients),
            A_eq=np.ones((1, len(lower))),
            b_eq=[1.0],
            bounds=list(zip(lower, upper, strict=True)),
            method="highs",
        )
        if solved.status == 2:
            return None
        ends.append(sign * solved.fun)
    return tuple(ends)


def outcome_extremes(coefficients, labeled, gamma, instrument=None):
    """The same if μ_k / Γ <= P(Y*=k | D=0) <= Γ μ_k; the instrument says η_k >= instrument_k besides."""
    chance = labeled.sum()
    posterior = labeled / chance
    lower, upper = posterior / gamma, np.minimum(posterior * gamma, 1.0)
    if instrument is not None:
        lower = np.maximum(lower, (instrument - labeled) / (1.0 - chance))
        if (lower > upper).any():
            return None
    found = extremes(coefficients, lower, upper)
    if found is None:
        return None
    seen = coefficients @ labeled
    return seen + (1.0 - chance) * found[0], seen + (1.0 - chance) * found[1]
