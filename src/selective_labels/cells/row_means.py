"""Means over everybody of ends that each row has by itself: summed as the share of one of two classes.

A loss of predicted probabilities, or a regret, has coefficients of its own in every row, so that rows are not
alike in them. But both of its ends are means of one number a row, a <= b in the mean, and

    lower = (a, 1 - b),   slack = b - a

are scores of two classes that sum to one: the metric is the share of the first. Sums of these, by subgroup
and cluster, are all that its interval needs.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from selective_labels.identification.bounds import Array
from selective_labels.inference.estimates import Ends, mean_estimate
from selective_labels.inference.evidence import Evidence


@runtime_checkable
class RowMean(Protocol):
    """A functional whose ends are means of one number a row."""

    def row_ends(self, evidence: Evidence) -> tuple[Array, Array]:
        """Scores of the lower and of the upper end, (n_samples,) each."""


@dataclass(frozen=True)
class ShareOfFirst:
    """The mean that was summed as a share: from the mean of `a` to that of `b`."""

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper end."""
        low = evidence.lower[:, 0]
        return mean_estimate(low, weights), mean_estimate(low + evidence.slack, weights)


def as_share(ends: tuple[Array, Array]) -> Evidence:
    """Scores of two classes, the first of which has these ends.

    Examples
    --------
    >>> known = as_share((np.array([0.5, 2.0]), np.array([0.75, 3.0])))
    >>> known.lower, known.slack
    (array([[ 0.5 ,  0.25],
           [ 2.  , -2.  ]]), array([0.25, 1.  ]))
    """
    low, high = ends
    return Evidence(np.column_stack([low, 1.0 - high]), high - low, np.zeros((len(low), 2)))
