"""The textbook interval of a mean whose rows come in clusters."""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm, t


class ClusteredMean(NamedTuple):
    mean: float
    error: float
    lower: float
    upper: float


def clustered_mean(values, clusters, level=0.95) -> ClusteredMean:
    """Mean ± t_{m-1} s, s² = G / (G - 1) Σ_g (Σ_{i in g} (v_i - mean))² / n².

    `error` is what a normal interval of the same length would call its standard error. m is G if the
    kurtosis κ of the sums is three or less, and G / κ (1 + 2 (3 / κ)²) if it is larger; of clusters of
    different size G is Kish's number there.
    """
    values, names = np.asarray(values, dtype=float), np.asarray(clusters).tolist()
    mean = sum(values) / len(values)
    sums: dict = {}
    for value, name in zip(values, names, strict=True):
        sums[name] = sums.get(name, 0.0) + value - mean
    error = (len(sums) / (len(sums) - 1) * sum(each**2 for each in sums.values())) ** 0.5 / len(values)
    reach = t.ppf((1 + level) / 2, carrying(sums, names) - 1) * error
    return ClusteredMean(mean, reach / norm.ppf((1 + level) / 2), mean - reach, mean + reach)


def carrying(sums, names) -> float:
    """How many clusters carry the variance of the mean."""
    sizes = [names.count(name) for name in sums]
    kish = sum(sizes) ** 2 / sum(size**2 for size in sizes)
    kurtosis = kish * sum(each**4 for each in sums.values()) / sum(each**2 for each in sums.values()) ** 2
    return max(min(kish, kish / kurtosis * (1 + 2 * min(1, 3 / kurtosis) ** 2)), 2)
