"""Standard errors and correlation of two estimated ends: the one place where they are made."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from selective_labels.identification.bounds import Array
from selective_labels.inference.ends import Ends
from selective_labels.inference.estimates import covariance, median_of_repeats
from selective_labels.inference.intervals import (
    Interval,
    few_clusters_factor,
    parameter_interval,
    set_interval,
)
from selective_labels.support.errors import UndefinedError


@dataclass(frozen=True)
class Spread:
    """Two estimated ends, with their standard errors and correlation."""

    lower: float
    upper: float
    errors: tuple[float, float]
    correlation: float
    n_clusters: int

    def parameter_interval(self, confidence_level: float = 0.95) -> Interval:
        """Interval that covers the value, wherever it lies between the ends."""
        return parameter_interval(
            self.lower, self.upper, self.errors, self.correlation, self.n_clusters, confidence_level
        )

    def set_interval(self, confidence_level: float = 0.95) -> Interval:
        """Interval that covers the whole identified interval."""
        return set_interval(self.lower, self.upper, self.errors, confidence_level)


def spread_of(
    ends: Sequence[Ends], rows: np.ndarray, clusters: np.ndarray | None, confidence_level: float = 0.95
) -> Spread:
    """Add standard errors to ends, and take the median over repeats.

    Parameters
    ----------
    ends : sequence of pairs of estimates
        One pair for each repeat of cross-fitting.
    rows : (n_samples,) bool array
        The rows that they concern: how many clusters these fall into widens standard errors.
    clusters : (n_samples,) int array or None
        Independent units; None: every row is one.
    confidence_level : float

    Examples
    --------
    >>> from selective_labels.inference.estimates import mean_estimate
    >>> scores = np.array([0.0, 1.0, 1.0, 0.0])
    >>> low, high = mean_estimate(scores), mean_estimate(scores + 0.1)
    >>> spread = spread_of([(low, high)], np.ones(4, dtype=bool), None)
    >>> spread.lower, round(spread.correlation, 3), spread.n_clusters
    (0.5, 1.0, 4)
    """
    n_clusters = int(rows.sum()) if clusters is None else len(np.unique(clusters[rows]))
    if n_clusters < 2:
        raise UndefinedError("a standard error needs two cases (or clusters) or more.")
    factor = few_clusters_factor(n_clusters, confidence_level)
    matrices = [covariance([low.influence, high.influence], clusters) for low, high in ends]
    errors = np.sqrt([np.diag(matrix) for matrix in matrices])
    lower, upper = (median_of_repeats([pair[end].value for pair in ends], errors[:, end]) for end in (0, 1))
    correlation = float(np.median([_correlation(matrix) for matrix in matrices]))
    return Spread(lower[0], upper[0], (factor * lower[1], factor * upper[1]), correlation, n_clusters)


def _correlation(matrix: Array) -> float:
    scale = np.sqrt(matrix[0, 0] * matrix[1, 1])
    return float(matrix[0, 1] / scale) if scale > 0.0 else 1.0
