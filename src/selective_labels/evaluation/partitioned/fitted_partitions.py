"""A table in partitions behind the protocol of fitted tables."""

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
from selective_labels.evaluation.requests import EvaluationRequest
from selective_labels.evaluation.scored_rows import Assumed, chosen_assumptions
from selective_labels.identification.bounds import Array
from selective_labels.nuisance.settings import FittingSettings


class FittedPartitions:
    """A table in partitions: models are fitted to a sample, and every request is one pass over all rows.

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
        """Whether two or more decision-makers are known."""
        return self.table.decision_makers_given and len(self.table.decision_makers) > 1

    def fit(self, assumption: Assumed) -> None:
        """Fit the models that an assumption needs; later questions use the same models."""
        chosen = chosen_assumptions(assumption, self.has_instrument)
        self._fitted.in_halves = any(each.needs_halves for each in chosen)
        self._fitted.prepare([], chosen, None)

    def judge(self, request: EvaluationRequest, with_outcomes: bool = False) -> JudgedCells:
        """Pass over all partitions; input errors are raised before."""
        return RowsPass(self._fitted, request, with_outcomes).run()

    def cut(
        self, request: EvaluationRequest, thresholds: Array | None
    ) -> tuple[CellSample, Array, int, Array]:
        """Cells between the thresholds of a score, the score, the event's code, and the thresholds."""
        return cut_in_passing(self._fitted, request, thresholds)

    def policy_sample(
        self, request: EvaluationRequest, policies: Mapping[str, Policy], thresholds: Sequence[float] = ()
    ) -> CellPolicySample:
        """Cells on which policies act."""
        return policies_in_passing(self._fitted, request, policies, thresholds)

    def classes_with(self, classifiers: Sequence[Any]) -> np.ndarray:
        """Classes of the table, and those that only a fitted classifier knows."""
        classes = self.table.classes
        known = [np.asarray(getattr(each, "classes_", []), dtype=classes.dtype) for each in classifiers]
        return np.unique(np.concatenate([classes, *known]))

    def periods(self, period: Any, every: str | None) -> Any:
        """The column that says when a case was decided, or how to make periods of it."""
        if not isinstance(period, str):
            raise InputError.about("period", "names a column of a table in partitions.")
        self.table.require_columns("period", [period])
        if every is not None:
            return Periods(period, every)
        values = self.table.survey([period]).values[period]
        read_periods(values, None, len(values))  # refuses too many periods, and dates
        return period

    def rows(self, method: str) -> FittedRows:
        """Refuse: the rows are not in memory."""
        raise InputError(
            "this needs rows in memory, and the table is in partitions; give data.sample(n), some of them.",
            "X",
        )

    def name_of(self, given: Any) -> str:
        """The name of a column, or the class of a classifier."""
        if isinstance(given, str):
            return given
        if isinstance(given, Policy):
            return repr(given)
        return type(given).__name__ if hasattr(given, "predict") else repr(given)
