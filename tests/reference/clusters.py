"""The textbook interval of a mean whose rows come in clusters."""

from typing import NamedTuple

import numpy as np
from scipy.stats import norm, t


class ClusteredMean(NamedTuple):
    mean: float
    error: float
    lower: float
    upper: float


def clustered_mean(values, clusters, level=0.95, n_clusters=None) -> ClusteredMean:
    """Mean ± t_{G-1} s, s² = G / (G - 1) Σ_g (Σ_{i in g} (v_i - mean))² / n².

    `error` is what a normal interval of the same length would call its standard error. `n_clusters` is the
    G of the factor G / (G - 1), where rows of other clusters are known but do not count.
    """
    values, names = np.asarray(values, dtype=float), np.asarray(clusters).tolist()
    mean = sum(values) / len(values)
    sums: dict = {}
    for value, name in zip(values, names, strict=True):
        sums[name] = sums.get(name, 0.0) + value - mean
    n_all = len(sums) if n_clusters is None else n_clusters
    error = (n_all / (n_all - 1) * sum(each**2 for each in sums.values())) ** 0.5 / len(values)
    reach = t.ppf((1 + level) / 2, len(sums) - 1) * error
    return ClusteredMean(mean, reach / norm.ppf((1 + level) / 2), mean - reach, mean + reach)
