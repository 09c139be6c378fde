"""Empirical Bayes for many noisy estimates: shrinkage, intervals without a prior, ranks, lists of names."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from selective_labels._errors import UndefinedError
from selective_labels.identification.bounds import Array

N_DRAWS = 2000
# Values of the spread between decision-makers that ranks are averaged over.
N_SPREADS = 100
# Samples are taken in parts, so that arrays of samples and estimates stay small.
NUMBERS_AT_ONCE = 100_000
# Values of the squared bias at which critical values are computed; between them they are interpolated.
GRID = np.linspace(0.0, 10.0, 201)


@dataclass(frozen=True, eq=False)
class Shrunken:
    """Estimates θ̂_j ~ N(θ_j, σ_j²) shrunk towards a centre μ.

    w_j = A / (A + σ_j²),   θ*_j = μ + w_j (θ̂_j - μ),
    A = max(Σ_j ω_j [(θ̂_j - μ)² - σ_j²] / Σ_j ω_j,   2 Σ_j ω_j² σ_j⁴ / (Σ_j ω_j Σ_j ω_j σ_j²))

    The second term is the floor of Armstrong, Kolesár and Plagborg-Møller (2022): with few estimates A is
    hardly known, and zero would claim that all θ_j are alike. The weights are ω_j = 1 / (A + σ_j²)², from a
    first A with 1 / σ_j²: an estimate that is all noise does not set the spread of the others. Where an
    estimate or its error is missing, so is the result.

    Attributes
    ----------
    value : (n,) array
        θ*.
    error : (n,) array
        √(w_j) σ_j, the standard deviation of θ_j given θ̂_j if the θ_j are normal.
    lower, upper : (n,) arrays
        θ*_j ± c(m_j) w_j σ_j with m_j = (1 / w_j - 1)² A / σ_j², the mean squared bias of θ*_j in its
        standard errors. These cover the stated share of the θ_j whatever their distribution (Armstrong,
        Kolesár and Plagborg-Møller 2022).
    spread : float
        √A, the standard deviation of the θ_j.
    """

    value: Array
    error: Array
    lower: Array
    upper: Array
    spread: float

    @classmethod
    def of(cls, estimates: Array, errors: Array, level: float = 0.95, centre: float = 0.0) -> "Shrunken":
        """Shrink estimates with these standard errors.

        Examples
        --------
        >>> found = Shrunken.of(np.array([-2.0, -1.0, 1.0, 2.0]), np.ones(4))
        >>> found.value.round(2), round(found.spread, 2)
        (array([-1.2, -0.6,  0.6,  1.2]), 1.22)
        """
        variance, weight = _shrinkage(estimates - centre, errors)
        value = centre + weight * (estimates - centre)
        bias = errors**2 / variance  # (1 / w - 1)² A / σ², with 1 / w - 1 = σ² / A
        reach = critical_values(bias, level) * weight * errors
        return cls(
            value, np.sqrt(weight) * errors, value - reach, value + reach, float(np.sqrt(variance.item()))
        )


def share_below(estimates: Array, errors: Array, times: Array) -> Array:
    """Mean of P(θ_j < 0 | θ̂_j) if the θ_j are normal, for several samples of the estimates, (n_samples,).

    Each sample is shrunk towards its mean with weights 1 / σ_j².

    Parameters
    ----------
    estimates, errors : (n,) arrays
    times : (n_samples, n) array
        How often each estimate is in each sample; ones for the estimates themselves.

    Examples
    --------
    >>> share_below(np.array([-1.0, -1.0, 1.0]), np.full(3, 0.01), np.array([[1, 1, 1], [0, 1, 3]]))
    array([0.66666667, 0.25      ])
    """
    found = []
    for some in np.array_split(times, max(times.size // NUMBERS_AT_ONCE, 1)):
        precision = some / errors**2
        centre = (precision @ estimates / precision.sum(axis=1))[:, None]
        away = estimates - centre
        _, weight = _shrinkage(away, errors, some)
        error = np.maximum(np.sqrt(weight) * errors, np.finfo(float).tiny)
        below = ndtr(-(centre + weight * away) / error)
        found.append(np.sum(some * below, axis=1) / some.sum(axis=1))
    return np.concatenate(found)


def _shrinkage(away: Array, errors: Array, times: Array | float = 1.0) -> tuple[Array, Array]:
    """A with one entry for each sample, and the weights w; the last axis is that of the estimates."""
    noise = np.maximum(errors**2, np.finfo(float).tiny)
    known = np.isfinite(np.sum(away, axis=tuple(range(away.ndim - 1)))) & np.isfinite(noise)
    variance = np.zeros(1)
    for _ in range(2):
        variance = _spread(
            away[..., known], noise[known], np.broadcast_to(times, away.shape)[..., known], variance
        )
    return variance, variance / (variance + noise)


def _spread(away: Array, noise: Array, times: Array, variance: Array) -> Array:
    """A with weights by an earlier A, or 1 / σ² if that is zero; the scale of the weights has no effect."""
    weight = (variance + noise.min(initial=np.inf)) / (variance + noise)
    weight = np.where(variance > 0.0, weight**2, weight)
    part = weight * noise / noise.max(initial=0.0)  # noise may be as small as the smallest number

    def total(values: Array) -> Array:
        return np.sum(times * values, axis=-1, keepdims=True)

    floor = 2.0 * noise.max(initial=0.0) * total(part**2) / (total(weight) * total(part))
    return np.maximum(total(weight * (away**2 - noise)) / total(weight), floor)


def critical_values(bias: Array, level: float = 0.95) -> Array:
    """Smallest c such that P(|N(b, 1)| > c) ≤ 1 - level for every distribution of b with E[b²] = bias.

    The largest non-coverage is the concave majorant of r(t) = P(|N(√t, 1)| > c) at t = bias: a chord from
    zero up to the point where it touches, and r beyond it. The c tried lie 0.03 apart (at level .95), so a
    value is too large by that at most, and never too small.

    Parameters
    ----------
    bias : (n,) array
        E[b²].

    Examples
    --------
    >>> critical_values(np.array([0.0, 0.5, 2.0])).round(2)
    array([1.96, 2.54, 4.83])
    """
    found = _on_grid(level)
    # Beyond the grid Chebyshev's inequality, P(|b| > c) ≤ E[b²] / c², which has room for the noise.
    beyond = np.sqrt(np.maximum(bias, 0.0) / (1.0 - level))
    return np.where(bias > GRID[-1], beyond, np.interp(bias, GRID, found))


@cache
def _on_grid(level: float) -> Array:
    """Critical values at the squared biases of the grid."""
    # r for each candidate c; the first that suffices is taken.
    limit = np.sqrt(GRID[-1] / (1.0 - level))
    candidates = np.linspace(norm.ppf(0.5 + level / 2.0), limit, 400)[:, None]
    squares = np.linspace(0.0, (limit + 4.0) ** 2, 1500)

    def missed(squared: Array) -> Array:
        return np.asarray(norm.cdf(np.sqrt(squared) - candidates) + norm.cdf(-np.sqrt(squared) - candidates))

    alone = missed(squares[:1])
    slopes = (missed(squares[1:]) - alone) / squares[1:]
    touch = slopes.argmax(axis=1)
    chord = alone + slopes[np.arange(len(touch)), touch][:, None] * GRID
    worst = np.where(squares[1:][touch][:, None] >= GRID, chord, missed(GRID))
    return np.asarray(candidates[(worst <= 1.0 - level + 1e-12).argmax(axis=0), 0])


@dataclass(frozen=True, eq=False)
class Ranks:
    """Ranks of θ_j given all estimates, 1 for the smallest.

    Attributes
    ----------
    best_tenth : (n,) array
        Probability to be among the smallest tenth.
    lower, upper : (n,) int arrays
        Sets of ranks that hold the rank with the stated probability.
    """

    best_tenth: Array
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, estimates: Array, errors: Array, seed: int, level: float = 0.95) -> "Ranks":
        """Draw A given all estimates, then θ_j from N(w_j θ̂_j, w_j σ_j²), and rank each draw.

        P(A | θ̂) ∝ Π_j N(θ̂_j; 0, A + σ_j²) with a flat prior of √A. One value of A would claim to know how
        much the θ_j differ, and the probabilities to be among the best would be too extreme.

        Examples
        --------
        >>> found = Ranks.of(np.arange(20.0) - 9.5, np.full(20, 0.01), seed=0)
        >>> found.best_tenth[:3].tolist(), int(found.lower[4]), int(found.upper[4])
        ([1.0, 1.0, 0.0], 5, 5)
        """
        number, generator, noise = len(estimates), np.random.default_rng(seed), errors**2
        widest = 3.0 * max(Shrunken.of(estimates, errors).spread, float(np.sqrt(np.mean(estimates**2))))
        spreads = (np.arange(N_SPREADS) + 0.5) / N_SPREADS * widest
        total = spreads[:, None] ** 2 + noise
        likelihood = -0.5 * np.sum(np.log(total) + estimates**2 / total, axis=1)
        chance = np.exp(likelihood - likelihood.max())
        variance = generator.choice(spreads, N_DRAWS, p=chance / chance.sum())[:, None] ** 2
        weight = variance / (variance + noise)
        draws = weight * estimates + np.sqrt(weight) * errors * generator.normal(size=(N_DRAWS, number))
        order, rank = draws.argsort(axis=1), np.empty(draws.shape, dtype=np.int32)
        np.put_along_axis(rank, order, np.arange(1, number + 1, dtype=np.int32)[None], axis=1)
        tail = (1.0 - level) / 2.0
        low, high = np.quantile(rank, [tail, 1.0 - tail], axis=0, method="inverted_cdf")
        top = max(1, round(number / 10))
        return cls(np.mean(rank <= top, axis=0), low.astype(int), high.astype(int))


def false_discoveries(p_values: Array, rate: float = 0.05) -> np.ndarray:
    """Names that the procedure of Benjamini and Hochberg (1995) lists, (n,) bool.

    With p-values in order, all up to the last with p_(i) ≤ rate · i / n. Of a list made this way, at most
    this share is wrong on average.

    Examples
    --------
    >>> false_discoveries(np.array([0.001, 0.2, 0.03, 0.9]))
    array([ True, False, False, False])
    """
    order, number = np.argsort(p_values), len(p_values)
    passed = p_values[order] <= rate * np.arange(1, number + 1) / number
    listed = np.zeros(number, dtype=bool)
    if passed.any():
        listed[order[: int(np.flatnonzero(passed)[-1]) + 1]] = True
    return listed


def common_slope(first: Array, second: Array, covariance: Array) -> float | None:
    """Slope of the true second effects on the true first ones, net of sampling error.

    β = Σ_j ω_j (a_j b_j - v_ab,j) / Σ_j ω_j (a_j² - v_aa,j),   ω_j = 1 / (A + v_aa,j)²

    with A as in `Shrunken`; None where the denominator is not clearly positive.

    Parameters
    ----------
    first, second : (n,) arrays
        Estimates a and b.
    covariance : (n, 2, 2) array
        Their sampling covariances v.

    Examples
    --------
    >>> noise = np.zeros((3, 2, 2))
    >>> common_slope(np.array([-1.0, 0.0, 1.0]), np.array([-0.5, 0.0, 0.5]), noise)
    0.5
    """
    if len(first) < 2:
        raise UndefinedError("a slope needs two decision-makers or more.", "decision_maker")
    noise = covariance[:, 0, 0]
    weight = 1.0 / (Shrunken.of(first, np.sqrt(noise)).spread ** 2 + noise) ** 2
    seen, chance = float(weight @ first**2), float(weight @ noise)
    if not seen > 2.0 * chance:
        return None
    return float(weight @ (first * second - covariance[:, 0, 1])) / (seen - chance)
