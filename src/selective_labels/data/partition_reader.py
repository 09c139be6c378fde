"""Rows of a table in partitions, coded by what the whole table holds."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.data import columns
from selective_labels.data.roles import HOLE
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.data.survey import RoleColumns
from selective_labels.features.coding import TableCoding, as_numbers
from selective_labels.support.errors import InputError


@dataclass(frozen=True, eq=False)
class PartitionReader:
    """Reads rows of any partition into the same codes; sent to other processes.

    Attributes
    ----------
    roles : RoleColumns
    features : tuple of str
    assignment : tuple of str
        Columns of known probabilities; empty if there are none.
    classes, decision_makers, strata : arrays
        Sorted; of the whole table.
    mean_weight : float
        Of the whole table.
    coding : TableCoding or None
        Of the features; None until rows were seen.
    """

    roles: RoleColumns
    features: tuple[str, ...]
    assignment: tuple[str, ...]
    classes: np.ndarray
    decision_makers: np.ndarray
    strata: np.ndarray
    mean_weight: float
    coding: TableCoding | None = None

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return list(dict.fromkeys([*self.roles.columns, *self.features, *self.assignment]))

    def coded(self, data: SelectiveLabels) -> SelectiveLabels:
        """Code rows that were read as a table of their own by what the whole table holds."""
        coded = data.coded_like(self.classes, self.decision_makers)
        strata = data.strata
        if strata is not None and data.stratum_labels is not None:
            strata = _codes(data.stratum_labels, self.strata, "strata")[strata]
        weight = None if data.given_weight is None else data.given_weight / self.mean_weight
        labels = None if strata is None else self.strata
        return replace(coded, strata=strata, stratum_labels=labels, sample_weight=weight, complete=False)

    def read(self, frame: pd.DataFrame) -> SelectiveLabels:
        """Some rows of the table, all of which are kept."""
        n_rows = len(frame)
        given = self.roles.values(frame)
        labels, seen, ignored = columns.seen_labels(frame[self.roles.label], given["decision"], n_rows)
        y = np.full(n_rows, HOLE)
        y[seen] = _codes(columns.label_values(labels[seen]), self.classes, "y")
        makers = np.zeros(n_rows, dtype=int) if self.roles.decision_maker is None else given["decision_maker"]
        strata, groups = given["strata"], given["groups"]
        weight = columns.read_weights(given["sample_weight"], n_rows, part=True)
        X = frame[list(self.features)]
        known = frame[list(self.assignment)].to_numpy() if self.assignment else None
        return SelectiveLabels(
            X=X,
            features=self._numbers(X),
            y=y,
            decision=seen.astype(int),
            decision_maker=np.asarray(makers),
            decision_maker_codes=_codes(np.asarray(makers), self.decision_makers, "decision_maker"),
            classes=self.classes,
            decision_makers=self.decision_makers,
            ignored=ignored,
            sample_weight=None if weight is None else weight / self.mean_weight,
            given_weight=weight,
            groups=None if groups is None else pd.factorize(groups)[0],
            strata=None if strata is None else _codes(strata.to_numpy(), self.strata, "strata"),
            assignment=columns.read_assignment(known, X, n_rows, len(self.decision_makers)),
            stratum_labels=None if strata is None else self.strata,
            categorical=() if self.coding is None else self.coding.categorical,
            coding=self.coding,
            names=self.roles.named,
            decision_given=self.roles.decision is not None,
            decision_makers_given=self.roles.decision_maker is not None,
            complete=False,
        )

    def _numbers(self, X: pd.DataFrame) -> np.ndarray:
        if self.coding is None:
            return np.zeros((len(X), 0))
        return as_numbers(self.coding.code(X)).astype(float, copy=False)


def _codes(values: np.ndarray, known: np.ndarray, role: str) -> np.ndarray:
    codes = pd.Index(known).get_indexer(pd.Index(values))
    if (codes < 0).any():  # the table has changed since it was counted
        stranger: Any = np.asarray(values)[codes < 0].tolist()[0]
        raise InputError.about(role, f"holds {stranger!r}, which was not there when the table was counted.")
    return codes
