"""Partial pooling of categories with many values: shrunken shares of the outcomes, from other rows."""

from dataclasses import dataclass

import numpy as np

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
