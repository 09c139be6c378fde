"""Counts of a table in partitions, from one pass over its role columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._errors import InputError
from selective_labels.data.roles import (
    label_values,
    read_label_column,
    read_weights,
    refuse_rows,
    seen_labels,
    sorted_values,
)
from selective_labels.data.row_hash import HashRange, row_keys

CASE = "case_id"


@dataclass(frozen=True)
class RoleColumns:
    """Role columns of a table that is read in parts.

    Attributes
    ----------
    kept : tuple of HashRange
        Successive subsets of the rows.
    """

    label: str
    decision_maker: str | None = None
    decision: str | None = None
    sample_weight: str | None = None
    groups: str | None = None
    strata: str | None = None
    case_id: str | None = None
    kept: tuple[HashRange, ...] = ()

    @property
    def named(self) -> dict[str, str]:
        """Columns by role, for the roles that were given."""
        roles = ("label", "decision_maker", "decision", "sample_weight", "groups", "strata", CASE)
        return {role: getattr(self, role) for role in roles if getattr(self, role) is not None}

    @property
    def columns(self) -> list[str]:
        """Distinct role columns."""
        return list(dict.fromkeys(self.named.values()))

    @property
    def key_columns(self) -> list[str]:
        """Columns that are hashed. Empty if row numbers are hashed."""
        key = self.groups or self.case_id
        return [] if key is None else [key]

    def keys(self, frame: pd.DataFrame) -> np.ndarray:
        """Hash of the group or case of each row, or of its number without either."""
        if not self.key_columns:
            return row_keys(frame.index.to_numpy())
        return row_keys(frame[self.key_columns[0]], CASE if self.groups is None else "groups")

    def in_order(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Rows in an order that does not depend on the order in which they were read.

        The order is that of row numbers if these are hashed, and else that of cases; rows of one case are
        ordered by their values.
        """
        if not self.key_columns:
            return frame.sort_index()
        order: list[np.ndarray] = [self.keys(frame)]
        if self.case_id is not None:
            order.insert(0, row_keys(frame[self.case_id]))
        if pd.DataFrame(order).T.duplicated().any():
            order = [*(_tie_breaker(frame[column]) for column in sorted(frame.columns)), *order]
        return frame.iloc[np.lexsort(order)]

    def rows(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
        """Rows that are kept, and their hashes."""
        keys = self.keys(frame)
        inside = np.ones(len(frame), dtype=bool)
        for each in self.kept:
            inside &= each.holds(keys)
        return (frame, keys) if inside.all() else (frame[inside], keys[inside])

    def values(self, frame: pd.DataFrame) -> dict[str, Any]:
        """Role columns by keyword, except the label. None for roles that were not given."""
        roles = ("decision_maker", "decision", "sample_weight", "groups", "strata")
        return {role: None if getattr(self, role) is None else frame[getattr(self, role)] for role in roles}


@dataclass(frozen=True, eq=False)
class Survey:
    """Counts of a table in partitions.

    Attributes
    ----------
    weight : float
        Sum of the weights.
    classes : array
        Sorted classes.
    class_rows, class_weight : dict
        Number of rows and total weight by class.
    mass : pandas.DataFrame
        By stratum and decision-maker: number of `rows` and total `weight`, and number (`n_accepted`) and
        weight (`accepted`) of accepted cases.
    values : dict of arrays
        Sorted values of additional columns.
    """

    n_rows: int
    n_labeled: int
    n_ignored: int
    weight: float
    classes: np.ndarray
    mass: pd.DataFrame
    values: Mapping[str, np.ndarray]
    class_rows: Mapping[Any, int]
    class_weight: Mapping[Any, float]

    @property
    def decision_makers(self) -> np.ndarray:
        """Sorted ids of decision-makers."""
        return _sorted(self.mass["maker"])

    @property
    def strata(self) -> np.ndarray:
        """Sorted strata."""
        return _sorted(self.mass["stratum"])

    def caseloads(self) -> tuple[np.ndarray, np.ndarray]:
        """Number of cases, and of accepted cases, of each decision-maker."""
        found = self.mass.groupby("maker", observed=True)[["rows", "n_accepted"]].sum()
        return found["rows"].to_numpy(), found["n_accepted"].to_numpy()

    def table(self) -> np.ndarray:
        """Weight by stratum and decision-maker, (n_strata, n_decision_makers)."""
        found = np.zeros((len(self.strata), len(self.decision_makers)))
        rows = pd.Index(self.strata).get_indexer(self.mass["stratum"])
        found[rows, pd.Index(self.decision_makers).get_indexer(self.mass["maker"])] = self.mass["weight"]
        return found

    def accepted(self) -> np.ndarray:
        """Acceptance rate in each stratum, (n_strata,)."""
        by_stratum = self.mass.groupby("stratum", observed=True)
        sums = by_stratum[["accepted", "weight"]].sum().loc[list(self.strata)].to_numpy()
        return np.divide(sums[:, 0], sums[:, 1], out=np.zeros(len(sums)), where=sums[:, 1] > 0.0)


@dataclass(frozen=True)
class SurveyTask:
    """Task that counts some rows. Sent to worker processes."""

    roles: RoleColumns
    others: tuple[str, ...] = ()

    def __call__(self, frame: pd.DataFrame) -> Survey:
        """Count the rows of a frame."""
        frame, _ = self.roles.rows(frame)
        once = np.ones(len(frame), dtype=int)
        weight = read_weights(self.roles.values(frame)["sample_weight"], len(frame), part=True)
        values = {column: _present(frame[column]) for column in self.others}
        return self.counted(frame, once, once.astype(float) if weight is None else weight, values)

    def counted(
        self, frame: pd.DataFrame, rows: np.ndarray, weight: np.ndarray, values: Mapping[str, np.ndarray]
    ) -> Survey:
        """Counts of a table from a frame with a line for each combination of roles.

        Parameters
        ----------
        frame : pandas.DataFrame
        rows, weight : (n_lines,) arrays
            Number of rows of the table, and their total weight, that have the roles of a line.
        values : mapping of arrays
            Values of additional columns.
        """
        decision = None if self.roles.decision is None else frame[self.roles.decision]
        labels, seen, ignored = seen_labels(frame[self.roles.label], decision, len(frame))
        cells = {"strata": np.zeros(len(frame), dtype=int), "decision_maker": np.zeros(len(frame), dtype=int)}
        for role in cells:
            column = getattr(self.roles, role)
            if column is not None:
                missing = frame[column].isna().to_numpy()
                refuse_rows(missing, role, "is missing", "drop these rows or give them a value")
                cells[role] = frame[column].to_numpy()
        mass = pd.DataFrame(
            {
                "stratum": cells["strata"],
                "maker": cells["decision_maker"],
                "weight": weight,
                "accepted": weight * seen,
                "rows": rows,
                "n_accepted": rows * seen,
            }
        )
        codes, classes = pd.factorize(np.asarray(label_values(labels[seen])))
        return Survey(
            int(rows.sum()),
            int(rows[seen].sum()),
            int(rows[ignored].sum()),
            float(np.sum(weight)),
            np.asarray(classes),
            mass.groupby(["stratum", "maker"], as_index=False, observed=True).sum(),
            values,
            {each: int(rows[seen][codes == code].sum()) for code, each in enumerate(classes.tolist())},
            dict(zip(classes.tolist(), np.bincount(codes, weight[seen], len(classes)).tolist(), strict=True)),
        )


def combined_survey(several: Sequence[Survey]) -> Survey:
    """Add up the counts of several parts."""
    mass = pd.concat([each.mass for each in several], ignore_index=True)
    return Survey(
        sum(each.n_rows for each in several),
        sum(each.n_labeled for each in several),
        sum(each.n_ignored for each in several),
        float(sum(each.weight for each in several)),
        _union([each.classes for each in several]),
        mass.groupby(["stratum", "maker"], as_index=False, observed=True).sum(),
        {name: _union([each.values[name] for each in several]) for name in several[0].values},
        _sums([each.class_rows for each in several]),
        _sums([each.class_weight for each in several]),
    )


def finished(survey: Survey | None) -> Survey:
    """Check the combined counts and sort the classes."""
    if survey is None or not survey.n_rows:
        raise InputError("the table has no row.", "path")
    if not survey.n_labeled:
        raise InputError.about(
            "y", "has no label at all: every label is missing, so there is nothing to learn from."
        )
    if not survey.weight > 0.0:
        raise InputError.about("sample_weight", "is zero everywhere.")
    labels = pd.Series(list(survey.classes), dtype=object)
    read = read_label_column(labels, np.ones(len(labels), dtype=int), len(labels))
    values = {name: _sorted(pd.Series(each)) for name, each in survey.values.items()}
    return replace(survey, classes=read.classes, values=values)


def _present(column: pd.Series) -> np.ndarray:
    if column.isna().any():
        raise InputError.about(
            "by", f"is missing in {column.isna().sum()} rows of a part: give every case a subgroup."
        )
    return np.asarray(column.unique())


def _tie_breaker(column: pd.Series) -> np.ndarray:
    """Numbers that order the values of a column, whatever its type."""
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=float, na_value=np.inf)
    return row_keys(column.astype(str).fillna(""))


def _sums(several: Sequence[Mapping[Any, Any]]) -> dict[Any, Any]:
    total: dict[Any, Any] = {}
    for each in several:
        for label, number in each.items():
            total[label] = total.get(label, 0) + number
    return total


def _union(arrays: Sequence[np.ndarray]) -> np.ndarray:
    kept = [np.asarray(each, dtype=object) for each in arrays if len(each)]
    return np.asarray(pd.unique(np.concatenate(kept))) if kept else np.array([], dtype=object)


def _sorted(column: pd.Series) -> np.ndarray:
    """Sorted values, in the same order as for a table in memory."""
    return sorted_values(pd.Series(list(pd.unique(column)), dtype=object).infer_objects())
