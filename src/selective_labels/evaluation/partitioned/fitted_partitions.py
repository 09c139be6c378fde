"""A partitioned table with fitted models, as an implementation of the `FittedTable` protocol."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from selective_labels._errors import InputError
from selective_labels.data.partitioned import PartitionedLabels
from selective_labels.data.reading import LENIENCY
from selective_labels.evaluation.fitted_table import FittedRows
from selective_labels.evaluation.partitioned.cell_sample import CellSample
from selective_labels.evaluation.partitioned.question import (
    CellPolicySample,
    JudgedCells,
    RowsPass,
    cut_in_passing,
    policies_in_passing,
)
from selective_labels.evaluation.partitioned.scored_partitions import ScoredPartitions
from selective_labels.evaluation.periods import Periods, read_periods
from selective_labels.evaluation.policy import Policy
from selective_labels.evaluation.predictions import EvaluationRequest
from selective_labels.evaluation.scored_rows import Assumed, chosen_assumptions
from selective_labels.identification.bounds import Array
from selective_labels.nuisance.cross_fit import FittingSettings


class FittedPartitions:
    """A partitioned table: models are fitted to a sample, and every request is one pass over all rows.

    The methods are those of :class:`selective_labels.evaluation.fitted_table.FittedTable`.
    """

    def __init__(
        self, table: PartitionedLabels, fitting: FittingSettings, instrument: str = LENIENCY
    ) -> None:
        if instrument != LENIENCY:
            raise InputError(
                "instrument= is not available on data in partitions; take rows into memory with "
                "data.sample(n).",
                "instrument",
            )
        self._fitted = ScoredPartitions(table, fitting)

    @property
    def table(self) -> PartitionedLabels:
        """The table."""
        return self._fitted.table

    @property
    def has_instrument(self) -> bool:
        """Whether there are two or more decision-makers."""
        return self.table.decision_makers_given and len(self.table.decision_makers) > 1

    def fit(self, assumption: Assumed) -> None:
        """Fit the models that an assumption needs; later requests reuse them."""
        chosen = chosen_assumptions(assumption, self.has_instrument)
        self._fitted.in_halves = any(each.needs_halves for each in chosen)
        self._fitted.prepare([], chosen, None)

    def judge(self, request: EvaluationRequest, with_outcomes: bool = False) -> JudgedCells:
        """Pass over all partitions; input errors are raised before the pass."""
        return RowsPass(self._fitted, request, with_outcomes).run()

    def cut(
        self, request: EvaluationRequest, thresholds: Array | None
    ) -> tuple[CellSample, Array, int, Array]:
        """Return cells between thresholds, their score, the event's code, and the thresholds."""
        return cut_in_passing(self._fitted, request, thresholds)

    def policy_sample(
        self, request: EvaluationRequest, policies: Mapping[str, Policy], thresholds: Sequence[float] = ()
    ) -> CellPolicySample:
        """Return the cells on which policies act."""
        return policies_in_passing(self._fitted, request, policies, thresholds)

    def classes_with(self, classifiers: Sequence[Any]) -> np.ndarray:
        """Return the classes of the table and those that only a fitted classifier knows."""
        classes = self.table.classes
        known = [np.asarray(getattr(each, "classes_", []), dtype=classes.dtype) for each in classifiers]
        return np.unique(np.concatenate([classes, *known]))

    def periods(self, period: Any, every: str | None) -> Any:
        """Return the column of periods, or the rule that makes periods from its dates."""
        if not isinstance(period, str):
            raise InputError.about("period", "names a column of a table in partitions.")
        self.table.require_columns("period", [period])
        if every is not None:
            return Periods(period, every)
        values = self.table.survey([period]).values[period]
        read_periods(values, None, len(values))  # raises an error for too many periods, and for dates
        return period

    def rows(self, method: str) -> FittedRows:
        """Raise an error: the rows are not in memory."""
        raise InputError(
            f"{method} needs rows in memory, and the table is in partitions; give data.sample(n).",
            "X",
        )

    def name_of(self, given: Any) -> str:
        """Return the name of a column, or the class of a classifier."""
        if isinstance(given, str):
            return given
        if isinstance(given, Policy):
            return repr(given)
        return type(given).__name__ if hasattr(given, "predict") else repr(given)
