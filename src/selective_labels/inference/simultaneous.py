"""Critical values for many intervals at once, by a multiplier bootstrap of influence functions.

With independent normal multipliers ξ, the errors Σ_i ξ_i ψ_i of several estimates are draws from N(0, Σ),
with Σ the covariance matrix that their standard errors come from. So draws are made from the matrix, which
clusters and partitions add up, and not from the rows.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from selective_labels.identification.bounds import Array
from selective_labels.inference.evidence import Ends, NoiseOf

# More draws for many errors: they decide how wide bands are, and small sets are asked for again and again.
N_DRAWS, N_DRAWS_OF_FEW = 100_000, 20_000
# Draws are made in parts, to bound memory; the numbers do not depend on it.
DRAWS_AT_ONCE = 2_000
FEW = 16
NEGLIGIBLE = 1e-14
ROUNDING = 1e-12
# From draws of errors, (n_draws, n_errors), to the largest of the statistics of each draw.
Largest = Callable[[Array], Array]


def critical_value(covariance: Array, level: float, largest: Largest | None = None) -> float:
    """Quantile of the largest of several standardized normal errors.

    c with P(max_j W_j / s_j <= c) = level,   W ~ N(0, Σ),   s_j² = Σ_jj

    The draws are fixed, so that results are reproducible; c has a simulation error of about .005 (of .01 with
    16 errors or fewer).

    Parameters
    ----------
    covariance : (n_errors, n_errors) array
        Errors without variance do not count.
    largest : callable, optional
        Another statistic of the errors.

    Examples
    --------
    One normal variable, two opposite ones, and forty independent ones:

    >>> opposite = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> [round(critical_value(each, 0.95), 1) for each in (np.eye(1), opposite, np.eye(40))]
    [1.6, 2.0, 3.0]
    """
    if largest is None:
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        (moving,) = np.nonzero(errors > NEGLIGIBLE)
        if not len(moving):
            return 0.0
        covariance = covariance[np.ix_(moving, moving)]

        def largest(draws: Array) -> Array:
            return np.asarray((draws / errors[moving]).max(axis=1))

    return float(np.quantile(np.concatenate([largest(each) for each in _draws(covariance)]), level))


def _draws(covariance: Array) -> Iterator[Array]:
    """Yield parts of fixed draws from N(0, Σ)."""
    scale = np.maximum(np.sqrt(np.maximum(np.diag(covariance), 0.0)), NEGLIGIBLE)
    squares, axes = np.linalg.eigh(covariance / np.outer(scale, scale))
    # Use the symmetric root: others depend on the signs of eigenvectors, which rounding determines. The root
    # of an eigenvalue that is zero up to rounding would be far larger than rounding.
    root = (axes * np.sqrt(np.where(squares > ROUNDING, squares, 0.0))) @ axes.T
    if len(scale) <= FEW:
        yield _kept_draws(len(scale)) @ root * scale
        return
    generator = np.random.default_rng(0)
    for _ in range(N_DRAWS // DRAWS_AT_ONCE):
        yield generator.standard_normal((DRAWS_AT_ONCE, len(scale))) @ root * scale


@cache
def _kept_draws(number: int) -> Array:
    """Return the same draws for few errors."""
    return np.random.default_rng(0).standard_normal((N_DRAWS_OF_FEW, number))


def joint_covariance(ends: Sequence[Ends], noise_of: NoiseOf) -> Array:
    """Covariance matrix of the errors of all lower bounds, and of minus the errors of all upper bounds.

    An interval [lower - c s_L, upper + c s_U] misses its identified set if one of its two errors exceeds c
    standard errors, so c is the critical value of this matrix.
    """
    signed = [(1.0, low) for low, _ in ends] + [(-1.0, high) for _, high in ends]
    matrix = noise_of([sign * each.influence for sign, each in signed])
    size = max(len(each.outside) for _, each in signed)
    moved = np.array([sign * np.array(each.outside or (0.0,) * size) for sign, each in signed])
    return matrix + moved @ moved.T
