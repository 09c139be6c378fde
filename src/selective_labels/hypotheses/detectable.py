"""What a test of a given size would have found: the smallest departure that it sees with power .8."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import chi2, ncx2

POWER = 0.8
LARGEST = 1e6
# Degrees of freedom above which the series of a noncentral χ² are slow, and not needed.
MANY = 1e4
# A variance below this part of the squared mean is rounding.
ROUNDING = 1e-12


def detectable_noncentrality(level: float, freedom: float) -> float:
    """The noncentrality at which a χ² test has power .8: P(χ²_ν(δ) > q) = .8, q the critical value.

    Parameters
    ----------
    level : float
    freedom : float
        Degrees of freedom, not necessarily a whole number.

    Examples
    --------
    For one degree of freedom it is about (1.96 + 0.84)².

    >>> round(detectable_noncentrality(0.05, 1), 2)
    7.85
    """
    if freedom > MANY:  # nearly normal
        return float((ndtri(1.0 - level) + ndtri(POWER)) * np.sqrt(2.0 * freedom))
    critical = chi2.isf(level, freedom)
    return float(brentq(lambda ncp: ncx2.sf(critical, freedom, ncp) - POWER, 1e-9, LARGEST))


def detectable_between(drawn: np.ndarray, level: float) -> float:
    """How far a sum of squares must rise above its chance level to be seen with power .8.

    Chance is taken as a χ²_ν with mean and variance of the draws, so that repeated cases and unequal
    decision-makers count for what they are: a = var / (2 mean), ν = 2 mean² / var. The rise is a δ.

    Parameters
    ----------
    drawn : (n_permutations,) array
        The statistic when decision-makers are dealt out anew.
    level : float

    Examples
    --------
    >>> drawn = np.random.default_rng(0).chisquare(7, 4000)
    >>> abs(detectable_between(drawn, 0.05) - detectable_noncentrality(0.05, 7)) < 0.5
    True
    """
    mean, variance = float(drawn.mean()), float(drawn.var())
    if mean <= 0.0 or variance <= ROUNDING * mean**2:
        return float("nan")
    return variance / (2.0 * mean) * detectable_noncentrality(level, 2.0 * mean**2 / variance)
