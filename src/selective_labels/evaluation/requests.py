"""A question about a table, and the outcomes that were observed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selective_labels.assumptions.base import Assumption
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.evaluation.predictions import UNNAMED
from selective_labels.evaluation.scored_rows import NO_RANGE
from selective_labels.identification.bounds import Array

HUMAN = "human"


@dataclass(frozen=True, eq=False)
class EvaluationRequest:
    """A question about a table, as it was given.

    Attributes
    ----------
    given : tuple
        What is judged: one classifier, or two that are compared.
    metric : metric or sequence of metrics
    assumption : name, Assumption, or a sequence of these
    cluster : "groups", "decision_maker", "none" or None
        What standard errors take as independent units.
    label_range : pair
        See :func:`selective_labels.identification.bounds.as_label_range`.
    pos_label, cost, by
        `by` names a column of a table in partitions, and has a value for each row in memory.
    """

    given: tuple[Any, ...]
    metric: Any
    assumption: str | Assumption | Sequence[str | Assumption]
    cluster: str | None = None
    label_range: Any = NO_RANGE
    pos_label: Any = None
    cost: ArrayLike | None = None
    by: Any = None

    @property
    def names(self) -> list[str]:
        """What messages call those that are judged."""
        return [UNNAMED] if len(self.given) == 1 else ["a", "b"]


@dataclass(frozen=True, eq=False)
class ObservedOutcomes:
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
    def of_rows(cls, data: SelectiveLabels, masks: Mapping[Any, np.ndarray]) -> "ObservedOutcomes":
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
