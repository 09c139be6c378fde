"""What was decided and seen in every subgroup, from rows or from cells of rows that are alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.identification.bounds import Array


@dataclass(frozen=True, eq=False)
class Seen:
    """Cases, or cells of cases, by subgroup and outcome.

    Attributes
    ----------
    masks : dict of (n,) bool arrays
        Those of each subgroup.
    outcome : (n,) int array
        0 is refused, k + 1 accepted with label k.
    rows, weights, squares : (n,) arrays
        How many cases, their weight, and the sum of squared weights.
    """

    masks: Mapping[Any, np.ndarray]
    outcome: np.ndarray
    rows: Array
    weights: Array
    squares: Array

    @classmethod
    def of_rows(cls, data: SelectiveLabels, masks: Mapping[Any, np.ndarray]) -> "Seen":
        """Rows in memory."""
        outcome = np.where(data.decision == 1, data.y + 1, 0)
        return cls(masks, outcome, np.ones(len(data)), data.weights, data.weights**2)

    def share(self, happened: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
        """Share of some cases in which something happened, and Kish's number of these cases."""
        weights = self.weights[rows]
        if not weights.sum() > 0.0:
            return float("nan"), 0.0
        number = float(weights.sum() ** 2 / self.squares[rows].sum())
        return float(np.average(happened[rows], weights=weights)), number
