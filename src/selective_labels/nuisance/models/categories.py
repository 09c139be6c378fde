"""Categories as numbers: indicators of frequent ones, shrunken shares of the outcomes for rare ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import OneHotEncoder

# Shares of this many outcomes, or directions of them, describe a category.
MOST_POOLED = 8
POOLING_FOLDS = 5


@dataclass(frozen=True, eq=False)
class PooledShares:
    """Shrunken shares of the outcomes in every category: partial pooling with one prior for all categories.

    log(s_lc / p_c),   s_lc = (n_lc + a p_c) / (n_l + a)

    with n_lc rows of category l and outcome c, and p_c the share of the outcome in all rows. The number a of
    prior rows is 1 / ρ - 1, with ρ the variance of categories as a share of all variance (ANOVA estimate). A
    category with few rows is thus described by the average of all, more so if categories differ little. More
    than eight outcomes are reduced to the eight directions in which categories differ most.

    Attributes
    ----------
    values : (n_values,) array
        Sorted category codes; NaN, the missing value, is last.
    columns : (n_values + 1, n_columns) array
        One row for each category; the last, zeros, is for new ones.
    """

    values: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, column: np.ndarray, happened: np.ndarray) -> tuple["PooledShares", np.ndarray]:
        """Pool the shares, and describe each row by the rows of the other folds, (n, n_columns).

        Parameters
        ----------
        column : (n_samples,) array
            Category codes.
        happened : (n_samples, n_outcomes) array
            Indicators of the outcomes.
        """
        values, codes = np.unique(column, return_inverse=True)
        counts = np.stack([np.bincount(codes, each, len(values)) for each in happened.T], axis=1)
        prior = _prior_rows(counts)
        whole = _log_ratios(counts, prior)
        directions = _leading(whole, counts.sum(axis=1))
        # Rows of a fold are described by the others: their own outcome would describe them too well.
        folds = np.random.default_rng(0).permutation(len(column)) % POOLING_FOLDS
        rows = np.empty((len(column), directions.shape[1]))
        for fold in range(POOLING_FOLDS):
            here = folds == fold
            own = np.stack([np.bincount(codes[here], each[here], len(values)) for each in happened.T], axis=1)
            rows[here] = _log_ratios(counts - own, prior)[codes[here]] @ directions
        columns = np.vstack([whole @ directions, np.zeros(directions.shape[1])])
        return cls(values, columns), rows

    def __call__(self, column: np.ndarray) -> np.ndarray:
        """Describe rows, which may be new, (n, n_columns)."""
        place = np.minimum(np.searchsorted(self.values, column), len(self.values) - 1)
        found = self.values[place]
        known = (found == column) | (np.isnan(found) & np.isnan(column))
        return self.columns[np.where(known, place, len(self.values))]


def _prior_rows(counts: np.ndarray) -> float:
    """Number of prior rows 1 / ρ - 1, from the between and within mean squares of indicators."""
    rows = counts.sum(axis=1)
    total, n_values = rows.sum(), len(rows)
    if n_values < 2 or total <= n_values:
        return float(total)
    shares = counts / rows[:, None]
    between = np.sum(rows[:, None] * (shares - counts.sum(axis=0) / total) ** 2) / (n_values - 1)
    within = np.sum(rows[:, None] * shares * (1.0 - shares)) / (total - n_values)
    size = (total - np.sum(rows**2) / total) / (n_values - 1)
    variance = max((between - within) / size, 0.0)
    return float(np.clip(within / max(variance, np.finfo(float).tiny), 1.0, total))


def _log_ratios(counts: np.ndarray, prior: float) -> np.ndarray:
    """Logarithms of the shrunken shares over the overall ones; one suffices for two outcomes."""
    overall = np.maximum(counts.sum(axis=0), 0.5)
    overall = overall / overall.sum()
    ratios = np.log((counts / overall + prior) / (counts.sum(axis=1, keepdims=True) + prior))
    return ratios[:, :1] if ratios.shape[1] == 2 else ratios


def _leading(ratios: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Directions in which categories differ most, (n_outcomes, at most 8); all of them if there are few."""
    if ratios.shape[1] <= MOST_POOLED:
        return np.eye(ratios.shape[1])
    _, _, axes = np.linalg.svd(np.sqrt(rows)[:, None] * ratios, full_matrices=False)
    return axes[:MOST_POOLED].T


# A linear model gets at most MOST_INDICATORS columns per categorical feature: one for each frequent category
# with at least FEWEST_ROWS rows, and one for all others.
MOST_INDICATORS = 20
FEWEST_ROWS = 10

# Indicators of categories with up to this many values enter products; more would be mostly zeros.
MOST_VALUES_IN_PRODUCTS = 6


class Categories(TransformerMixin, BaseEstimator):
    """Indicators of categories, those of few-valued columns first, then pooled shares of the outcomes.

    A column whose rare or surplus categories share one indicator also gets :class:`PooledShares`, if
    ``fit_transform`` is given an outcome. Without an outcome, these categories are merged.

    Attributes
    ----------
    n_short_ : int
        Number of indicators of columns with up to six values, which may enter products.
    pooled_ : tuple of (int, PooledShares)
        Position of each pooled column.

    Examples
    --------
    >>> codes = np.repeat(np.arange(40.0), 5)[:, None]
    >>> Categories().fit(codes).transform(codes).shape
    (200, 1)
    >>> Categories().fit_transform(codes, np.arange(200) % 3).shape
    (200, 4)
    """

    def fit(self, X: np.ndarray, y: Any = None) -> "Categories":
        """Learn the categories."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: np.ndarray, y: Any = None, **ignored: Any) -> np.ndarray:
        """Learn and encode; the pooled shares of a row come from other rows."""
        values = [np.unique(column, return_counts=True)[1] for column in X.T]
        short = [number for number, rows in enumerate(values) if len(rows) <= MOST_VALUES_IN_PRODUCTS]
        long = [number for number in range(len(values)) if number not in short]
        self.parts_ = tuple((tuple(part), _encoder().fit(X[:, part])) for part in (short, long) if part)
        indicators = [encoder.transform(X[:, list(part)]) for part, encoder in self.parts_]
        self.n_short_ = indicators[0].shape[1] if short else 0
        merged = [
            number
            for number, rows in enumerate(values)
            if len(rows) > MOST_INDICATORS or np.sum(rows < FEWEST_ROWS) > 1
        ]
        self.pooled_: tuple[tuple[int, PooledShares], ...] = ()
        if y is None or _has_holes(y):
            return np.hstack(indicators)
        happened = outcome_indicators(np.asarray(y))
        pooled = [PooledShares.of(X[:, number], happened) for number in merged]
        self.pooled_ = tuple((number, shares) for number, (shares, _) in zip(merged, pooled, strict=True))
        return np.hstack([*indicators, *(columns for _, columns in pooled)])

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Encode rows, which may be new."""
        X = np.asarray(X, dtype=float)
        indicators = [encoder.transform(X[:, list(part)]) for part, encoder in self.parts_]
        return np.hstack([*indicators, *(shares(X[:, number]) for number, shares in self.pooled_)])

    def set_output(self, *, transform: Any = None) -> "Categories":
        """Do nothing: the output is always an array, even if the user configured data frames."""
        return self


def _has_holes(y: Any) -> bool:
    values = np.asarray(y)
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _encoder() -> OneHotEncoder:
    return OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        max_categories=MOST_INDICATORS,
        min_frequency=FEWEST_ROWS,
        sparse_output=False,
    )


def outcome_indicators(y: np.ndarray) -> np.ndarray:
    """Indicators of the classes, or of the quarters of numbers with many values, (n, n_classes).

    Examples
    --------
    >>> outcome_indicators(np.array(["b", "a"]))
    array([[0., 1.],
           [1., 0.]])
    """
    values, codes = np.unique(y, return_inverse=True)
    if y.dtype.kind == "f" and len(values) > MOST_CLASSES:
        codes = np.searchsorted(np.quantile(y, [0.25, 0.5, 0.75]), y)
    return (codes[:, None] == np.arange(codes.max() + 1)).astype(float)


# A numeric outcome with more values than this is cut at its quartiles.
MOST_CLASSES = 20
