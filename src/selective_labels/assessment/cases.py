"""The cases under assessment, with the subgroups to look at, and parts of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.assessment.columns import Column, read_columns
from selective_labels.data import SelectiveLabels, as_series
from selective_labels.inference.sample import with_classes_of
from selective_labels.support.errors import InputError

# Rules are learned and judged on this many cases at most: more would cost minutes and move the third digit.
MOST_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class Cases:
    """Rows with their roles, and subgroups of them.

    Attributes
    ----------
    data : SelectiveLabels
    by : list of Column
        Subgroups to look at.
    """

    data: SelectiveLabels
    by: list[Column]

    def __len__(self) -> int:
        return len(self.data)

    @property
    def weights(self) -> np.ndarray:
        """Sample weights, ones if none were given."""
        return self.data.weights

    def take(self, rows: np.ndarray) -> "Cases":
        """Keep some rows."""
        return Cases(self.data.take(rows).compact(), [each.take(rows) for each in self.by])

    def with_classes_of(self, classifiers: list[Any]) -> "Cases":
        """Count the classes that fitted classifiers know as classes, seen here or not."""
        return replace(self, data=with_classes_of(self.data, classifiers))


def read_subgroups(by: Any, data: SelectiveLabels, kinds: Mapping[str, str] | None = None) -> list[Column]:
    """Read the columns of subgroups; `kinds` are those of columns that are known already.

    Examples
    --------
    >>> data = SelectiveLabels.from_arrays(np.eye(3), [0, 1, None], decision_maker=["a", "b", "a"])
    >>> [each.name for each in read_subgroups(pd.DataFrame({"region": ["n", "s", "n"]}), data)]
    ['region']
    """
    if by is None:
        return []
    n_samples = len(data)
    if np.ndim(by) == 1:
        name = str(getattr(by, "name", None) or "subgroup")
        return read_columns(pd.DataFrame({name: as_series(by, "by", n_samples)}), kinds)
    if len(by) != n_samples:
        raise InputError.about(
            "by", f"has {len(by)} rows and X has {n_samples}; they must be of equal length."
        )
    return read_columns(by, kinds)


def rows_to_judge(cases: Cases, seed: int) -> np.ndarray:
    """All rows, or a random part of very many, in which every class occurs.

    Of strata all rows are kept: in a part of them some might be left with a single decision-maker.
    """
    n_samples = len(cases)
    if n_samples <= MOST_ROWS or cases.data.strata is not None:
        return np.arange(n_samples)
    one_of_each = np.unique(cases.data.y, return_index=True)[1]
    others = np.setdiff1d(np.arange(n_samples), one_of_each)
    drawn = np.random.default_rng(seed).choice(others, MOST_ROWS - len(one_of_each), replace=False)
    return np.sort(np.concatenate([one_of_each, drawn]))
