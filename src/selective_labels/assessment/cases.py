"""The cases under assessment: features and roles, checked once, and parts of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import _safe_indexing

from selective_labels.assessment.columns import Column, read_columns
from selective_labels.data import SelectiveLabels, as_series
from selective_labels.evaluation.subject import with_classes_of

# Rules are learned and judged on this many cases at most: more would cost minutes and move the third digit.
MOST_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class Cases:
    """Rows with their roles, as the library takes them.

    Attributes
    ----------
    X : frame or array
        Features as given.
    y : pandas Series
    roles : dict
        "decision_maker", and of "decision", "sample_weight", "groups", "strata" those that were given.
    by : list of Column
        Subgroups to look at.
    data : SelectiveLabels
        The same, checked and coded.
    """

    X: Any
    y: pd.Series
    roles: dict[str, Any]
    by: list[Column]
    data: SelectiveLabels

    def __len__(self) -> int:
        return len(self.data)

    @property
    def weights(self) -> np.ndarray:
        """Sample weights, ones if none were given."""
        return np.ones(len(self)) if self.data.sample_weight is None else self.data.sample_weight

    @property
    def cluster(self) -> str | None:
        """Repeated cases are not independent: standard errors take each group as one."""
        return "groups" if "groups" in self.roles else None

    def take(self, rows: np.ndarray) -> "Cases":
        """Keep some rows."""
        X, y = _safe_indexing(self.X, rows), self.y.iloc[rows]
        roles = {name: values.iloc[rows] for name, values in self.roles.items()}
        return Cases(X, y, roles, [each.take(rows) for each in self.by], _checked(X, y, roles))

    def with_classes_of(self, classifiers: list[Any]) -> "Cases":
        """Count the classes that fitted classifiers know as classes, seen here or not."""
        return replace(self, data=with_classes_of(self.data, classifiers, "decision" in self.roles))


def read_cases(X: Any, y: Any, by: Any = None, kinds: Mapping[str, str] | None = None, **roles: Any) -> Cases:
    """Check everything that the user gave; `kinds` of columns are those of the features.

    Examples
    --------
    >>> cases = read_cases(np.eye(3), [0, 1, None], decision_maker=["a", "b", "a"], groups=None)
    >>> len(cases), list(cases.roles), len(cases.take(np.array([0, 1])))
    (3, ['decision_maker'], 2)
    """
    n_samples = len(X)
    given = {name: as_series(each, name, n_samples) for name, each in roles.items() if each is not None}
    labels = as_series(y, "y", n_samples)
    return Cases(X, labels, given, _read_by(by, n_samples, kinds), _checked(X, labels, given))


def rows_to_judge(cases: Cases, seed: int) -> np.ndarray:
    """All rows, or a random part of very many, in which every class occurs.

    Of strata all rows are kept: in a part of them some might be left with a single decision-maker.
    """
    n_samples = len(cases)
    if n_samples <= MOST_ROWS or "strata" in cases.roles:
        return np.arange(n_samples)
    one_of_each = np.unique(cases.data.y, return_index=True)[1]
    others = np.setdiff1d(np.arange(n_samples), one_of_each)
    drawn = np.random.default_rng(seed).choice(others, MOST_ROWS - len(one_of_each), replace=False)
    return np.sort(np.concatenate([one_of_each, drawn]))


def _checked(X: Any, y: pd.Series, roles: dict[str, Any]) -> SelectiveLabels:
    return SelectiveLabels.from_arrays(X, y, **roles)


def _read_by(by: Any, n_samples: int, kinds: Mapping[str, str] | None) -> list[Column]:
    if by is None:
        return []
    if np.ndim(by) == 1:
        name = str(getattr(by, "name", None) or "group")
        return read_columns(pd.DataFrame({name: as_series(by, "by", n_samples)}), kinds)
    if len(by) != n_samples:
        raise ValueError(f"by has {len(by)} rows and X has {n_samples}; they must be of equal length.")
    return read_columns(by, kinds)
