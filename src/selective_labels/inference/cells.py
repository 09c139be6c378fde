"""Rows that are alike, summed: all that intervals need of a part of a table, and of several parts together.

Rows with the same prediction (or in the same bin of a score) and subgroup are treated alike by a functional:
where its extreme lies, their slack goes to the same class. Scores of a row sum to one,

    λ = (score of lower_1, ..., score of lower_K, score of the slack),   Σ_j λ_j = 1,

so what a row adds to an end is a linear form f_c · λ whose coefficients belong to its cell c. The sums of w λ
then give the value of the end, those of w² λ λ' its variance, and those of fourth powers how many rows carry
it. Sums of two parts of a table are added; in any order, up to rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import combinations_with_replacement
from math import factorial
from typing import Self

import numpy as np

from selective_labels.identification.bounds import Array, Bounds
from selective_labels.inference.evidence import Evidence
from selective_labels.support.errors import InputError

# Up to this many parts (classes, and the slack) sums of fourth powers are kept whole; with more they are
# bounded by the largest scores, which makes intervals a little wider, never narrower.
MOST_PARTS = 8


@dataclass(frozen=True, eq=False)
class Cells:
    """Sums over the rows of each cell, under one assumption.

    Attributes
    ----------
    key : (n_cells, n_keys) int array
        What the rows of a cell have in common; sorted.
    rows, labeled : (n_cells,) arrays
        Rows, and those with a label.
    first : (n_cells, n_parts) array
        Σ w λ.
    second : (n_cells, n_parts, n_parts) array
        Σ w² λ λ'.
    fourth : (n_cells, n_products) array
        Σ w⁴ λ_a λ_b λ_c λ_d, a <= b <= c <= d; with many classes the largest |w λ_j| instead.
    lower, upper : (n_cells, n_classes) arrays
        Σ w times the model's bounds.
    told : (n_cells, 3) array
        Σ w times: clipped, by bounds, sharpness lost.
    unit : (n_cells,) array
        The weight of every row, where scores are labels (0 or 1) and weights equal; -1 elsewhere.
    """

    key: np.ndarray
    rows: Array
    labeled: Array
    first: Array
    second: Array
    fourth: Array
    lower: Array
    upper: Array
    told: Array
    unit: Array

    def __len__(self) -> int:
        return len(self.key)

    @classmethod
    def of_rows(
        cls, key: np.ndarray, evidence: Evidence, labeled: np.ndarray, weights: Array, told: Array
    ) -> Self:
        """Sum scored rows by their keys, (n_samples, n_keys).

        Examples
        --------
        >>> known = Evidence.from_labels(np.array([0, 1, 1]), 2)
        >>> cells = Cells.of_rows(np.array([[0], [1], [1]]), known, np.ones(3), np.ones(3), np.zeros((3, 3)))
        >>> cells.rows, cells.first
        (array([1., 2.]), array([[1., 0., 0.],
               [0., 2., 0.]]))
        """
        if evidence.earmarks is not None or evidence.shares:
            raise InputError(
                "on data in partitions, assumptions that combine are not available; take rows into memory "
                "(data.sample(n)), or assume one of 'none', 'instrument', 'nucem', 'unconfounded'.",
                "assumption",
            )
        unique, code = _distinct(key)
        size = len(unique)
        parts = np.column_stack([evidence.lower, evidence.slack])
        scaled = parts * weights[:, None]
        bounds = evidence.bounds

        def total(columns: Array) -> Array:
            return np.stack([np.bincount(code, column, size) for column in columns.T], axis=1)

        n_parts = parts.shape[1]
        pairs = list(combinations_with_replacement(range(n_parts), 2))
        products = {pair: scaled[:, pair[0]] * scaled[:, pair[1]] for pair in pairs}
        second = np.empty((size, n_parts, n_parts))
        for (one, other), product in products.items():
            second[:, one, other] = second[:, other, one] = np.bincount(code, product, size)
        return cls(
            key=unique,
            rows=np.bincount(code, minlength=size).astype(float),
            labeled=np.bincount(code, labeled, size).astype(float),
            first=total(scaled),
            second=second,
            fourth=_fourth(products, scaled, code, size),
            lower=total(bounds.lower * weights[:, None]),
            upper=total(bounds.upper * weights[:, None]),
            told=total(told * weights[:, None]),
            unit=_common(np.where(np.isin(parts, (0.0, 1.0)).all(axis=1), weights, -1.0), code, size),
        )

    @classmethod
    def added(cls, several: Sequence["Cells"]) -> "Cells":
        """Add the sums of several parts of a table."""
        if len(several) == 1:
            return several[0]
        key, code = _distinct(np.concatenate([each.key for each in several]))
        whole = several[0].n_parts <= MOST_PARTS
        sums = {}
        for each in fields(cls):
            if each.name in ("key", "unit"):
                continue
            values = np.concatenate([getattr(part, each.name) for part in several])
            found = np.zeros((len(key), *values.shape[1:]))
            if each.name == "fourth" and not whole:
                np.maximum.at(found, code, values)
            else:
                np.add.at(found, code, values)
            sums[each.name] = found
        unit = _common(np.concatenate([part.unit for part in several]), code, len(key))
        return cls(key=key, unit=unit, **sums)

    def take(self, chosen: np.ndarray) -> "Cells":
        """Keep some cells."""
        return replace(self, **{each.name: getattr(self, each.name)[chosen] for each in fields(self)})

    @property
    def n_parts(self) -> int:
        """Classes, and the slack."""
        return self.first.shape[1]

    @property
    def weights(self) -> Array:
        """Weight of each cell."""
        return self.first.sum(axis=1)

    @property
    def square_weights(self) -> Array:
        """Σ w² of each cell: the scores of a row sum to one."""
        return self.second.sum(axis=(1, 2))

    def covariance(self, forms: Sequence[Array]) -> Array:
        """Σ_i (w_i f·λ_i) (w_i g·λ_i) for all pairs of forms, each (n_cells, n_parts)."""
        stacked = np.stack(forms)
        return np.einsum("acp,cpq,bcq->ab", stacked, self.second, stacked, optimize=True)

    def fourth_powers(self, form: Array) -> float:
        """Σ_i (w_i f·λ_i)⁴, or with many classes a number that is not smaller."""
        if self.n_parts > MOST_PARTS:
            largest = (np.abs(form) * self.fourth).sum(axis=1)
            squares = np.einsum("cp,cpq,cq->c", form, self.second, form)
            return float(largest**2 @ squares)
        total = 0.0
        for column, places in enumerate(combinations_with_replacement(range(self.n_parts), 4)):
            times = 24.0 / np.prod([factorial(places.count(each)) for each in set(places)])
            total += times * float(np.prod(form[:, places], axis=1) @ self.fourth[:, column])
        return max(total, 0.0)


@dataclass(frozen=True, eq=False)
class CellEvidence(Evidence):
    """What cells say about class probabilities: scores are linear forms of λ, (n_cells, n_parts) arrays."""

    known: Bounds | None = None
    unit: Array | None = None

    @classmethod
    def of(cls, cells: Cells) -> Self:
        """Forms of the lower bounds and of the slack; the model's bounds in the mean of each cell."""
        n_cells, n_parts = cells.first.shape
        forms = np.broadcast_to(np.eye(n_parts), (n_cells, n_parts, n_parts))
        weights = np.maximum(cells.weights, np.finfo(float).tiny)[:, None]
        bounds = Bounds(cells.lower / weights, cells.upper / weights)
        return cls(forms[:, :-1], forms[:, -1], bounds.lower, known=bounds, unit=cells.unit)

    @cached_property
    def bounds(self) -> Bounds:
        """The model's identified set in the mean of each cell."""
        assert self.known is not None
        return self.known

    def extreme(self, gain: Array) -> Array:
        """Forms of the class probabilities with the largest Σ_k gain_k η_k, (n_cells, n_classes, n_parts)."""
        n_cells, n_classes = self.lower.shape[:2]
        found = np.array(self.lower)
        best = np.broadcast_to(gain, (n_cells, n_classes)).argmax(axis=1)
        found[np.arange(n_cells), best] += self.slack
        return found

    def evenly(self) -> Array:
        """Forms of class probabilities in the middle: all slack spread evenly."""
        return self.lower + self.slack[:, None] / self.lower.shape[1]


def _distinct(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    unique, code = np.unique(key, axis=0, return_inverse=True) if key.shape[1] > 1 else _column(key)
    return unique, code.ravel()


def _common(values: Array, code: np.ndarray, size: int) -> Array:
    """The value that all rows of a cell have; -1 if there is none."""
    least, most = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(least, code, values)
    np.maximum.at(most, code, values)
    return np.where(least == most, least, -1.0)


def _column(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    unique, code = np.unique(key[:, 0], return_inverse=True)
    return unique[:, None], code


def _fourth(products: dict[tuple[int, int], Array], scaled: Array, code: np.ndarray, size: int) -> Array:
    n_parts = scaled.shape[1]
    if n_parts > MOST_PARTS:
        largest = np.zeros((size, n_parts))
        np.maximum.at(largest, code, np.abs(scaled))
        return largest
    found = [
        np.bincount(code, products[places[:2]] * products[places[2:]], size)
        for places in combinations_with_replacement(range(n_parts), 4)
    ]
    return np.stack(found, axis=1)


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """Σ w λ of every cluster in every cell that it has rows in.

    Attributes
    ----------
    key : (n_pairs, 1 + n_keys) int array
        The cluster, and the key of the cell.
    first : (n_pairs, n_parts) array
    """

    key: np.ndarray
    first: Array

    @classmethod
    def of_rows(cls, clusters: np.ndarray, key: np.ndarray, evidence: Evidence, weights: Array) -> Self:
        """Sum scored rows."""
        unique, code = _distinct(np.column_stack([clusters, key]))
        parts = np.column_stack([evidence.lower, evidence.slack]) * weights[:, None]
        return cls(unique, np.stack([np.bincount(code, each, len(unique)) for each in parts.T], axis=1))

    @classmethod
    def added(cls, several: Sequence["ClusterSums"]) -> "ClusterSums":
        """Add the sums of several parts of a table."""
        key, code = _distinct(np.concatenate([each.key for each in several]))
        values = np.concatenate([each.first for each in several])
        return cls(key, np.stack([np.bincount(code, each, len(key)) for each in values.T], axis=1))

    def among(self, cells: Cells, rows: np.ndarray) -> "ClusterSums":
        """Those of some cells, the key replaced by the number of the cell."""
        both = np.concatenate([cells.key, self.key[:, 1:]])
        _, code = _distinct(both)
        place = np.empty(code.max() + 1, dtype=int)
        place[code[: len(cells)]] = np.arange(len(cells))
        cell = place[code[len(cells) :]]
        inside = rows[cell]
        return ClusterSums(np.column_stack([self.key[:, 0], cell])[inside], self.first[inside])

    def sums(self, forms: Sequence[Array]) -> Array:
        """Influence of every cluster, (n_forms, n_clusters); after `among`."""
        _, code = np.unique(self.key[:, 0], return_inverse=True)
        cell = self.key[:, 1]
        return np.stack([np.bincount(code, np.einsum("rp,rp->r", self.first, form[cell])) for form in forms])
