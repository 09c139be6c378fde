"""Predictions for a table in partitions: part by part, in the order of the rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from selective_labels.data.lazy import PartitionedLabels
from selective_labels.data.survey import RoleColumns
from selective_labels.identification.bounds import Bounds

Predict = TypeVar("Predict", bound=Callable[..., Any])
# Number of the first row, and what is predicted from there on.
Piece = tuple[int, Any]


def takes_partitions(predict: Predict) -> Predict:
    """Let a method of features take a :class:`PartitionedLabels`; what it returns must fit into memory."""

    @wraps(predict)
    def predict_rows(estimator: Any, X: Any) -> Any:
        if not isinstance(X, PartitionedLabels):
            return predict(estimator, X)
        task = _Task(estimator, predict.__name__, X.roles, X.features)
        columns = list(dict.fromkeys([*X.roles.key_columns, *X.features]))
        pieces = X.over_rows(columns, task, _joined, "predicting")
        return _in_order(pieces)

    return predict_rows  # type: ignore[return-value]


@dataclass(frozen=True)
class _Task:
    """Predictions of some rows; sent to other processes."""

    estimator: Any
    method: str
    roles: RoleColumns
    features: tuple[str, ...]

    def __call__(self, frame: pd.DataFrame) -> list[Piece] | None:
        frame, _ = self.roles.rows(frame)
        if not len(frame):
            return None
        return [(int(frame.index[0]), getattr(self.estimator, self.method)(frame[list(self.features)]))]


def _joined(several: Sequence[list[Piece]]) -> list[Piece]:
    return [piece for each in several for piece in each]


def _in_order(pieces: list[Piece]) -> Any:
    found = [each for _, each in sorted(pieces, key=lambda piece: piece[0])]
    if isinstance(found[0], Bounds):
        lower, upper = (np.concatenate([getattr(each, end) for each in found]) for end in ("lower", "upper"))
        return Bounds(lower, upper)
    return np.concatenate(found)
