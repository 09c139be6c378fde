"""A question about a table, whichever form the table has: who is judged, by what, under which assumption."""

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
from selective_labels.nuisance.settings import FittingSettings

LENIENCY, HUMAN = "leniency", "human"


@dataclass(frozen=True, eq=False)
class EvaluationRequest:
    """What a user asks for, as it was given; see :func:`selective_labels.evaluate`.

    Attributes
    ----------
    given : tuple
        What is judged: one, or two that are compared.
    metric : metric or sequence of metrics
    assumption, cluster, fitting, label_range, instrument
        How rows are scored: see :func:`selective_labels.evaluation.scored_rows.score_sample`, and
        :func:`selective_labels.data.reading.with_instrument` for the last.
    pos_label, cost, by
        `by` names a column of a table in partitions, and has a value for each row in memory.
    """

    given: tuple[Any, ...]
    metric: Any
    assumption: str | Assumption | Sequence[str | Assumption]
    cluster: str | None
    fitting: FittingSettings
    label_range: Any = NO_RANGE
    instrument: str = LENIENCY
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
