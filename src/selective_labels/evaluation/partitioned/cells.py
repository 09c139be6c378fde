"""Cells of similar rows and the sums over them that bounds, standard errors and intervals need.

A functional treats rows with the same prediction (or bin of a score) and subgroup alike: at a bound, their
slack goes to the same class. Scores of a row sum to one,

    λ = (score of lower_1, ..., score of lower_K, score of each event slack, score of the slack), Σ_j λ_j = 1,

so a row's contribution to a bound is a linear form f_c · λ whose coefficients belong to its cell c. The sums
of w λ then give the value of the bound, those of w² λ λ' its variance, and those of fourth powers the
effective number of rows. Event slack is slack that belongs to an event; within a cell it goes to the same
class, too. Sums of parts of a table are added, in any order up to rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from itertools import combinations_with_replacement
from math import factorial
from typing import Protocol, Self, runtime_checkable

import numpy as np

from selective_labels._errors import InputError
from selective_labels.identification.bounds import Array, Bounds, Event
from selective_labels.identification.event_bounds import LaminarBounds, LaminarScores
from selective_labels.inference.evidence import Ends, Evidence, mean_estimate

# Up to this many parts (classes, event slacks, the slack) all sums of fourth powers are kept. With more they
# are bounded by the largest scores, which makes intervals slightly wider, never narrower.
MOST_PARTS = 8
# Fields that are not summed over the parts of a table.
OTHERWISE = ("key", "even", "unit", "events")
# Integers are counted instead of sorted if their range is at most this multiple of the number of rows.
NEAR = 8
MOST_CODES = 2**40


@dataclass(frozen=True, eq=False)
class CellMoments:
    """Sums over the rows of each cell, under one assumption.

    Attributes
    ----------
    key : (n_cells, n_keys) int array
        Common keys of the rows of a cell; sorted.
    rows, labeled : (n_cells,) arrays
        Number of rows, and of rows with a label.
    first : (n_cells, n_parts) array
        Σ w λ.
    second : (n_cells, n_parts, n_parts) array
        Σ w² λ λ'.
    fourth : (n_cells, n_products) array
        Σ w⁴ λ_a λ_b λ_c λ_d, a <= b <= c <= d; with many classes the largest |w λ_j| instead.
    lower, upper : (n_cells, n_classes) arrays
        Σ w times the model's bounds.
    amounts : (n_cells, n_events) array
        Σ w times the model's slack of each event.
    sample_summary : (n_cells, 4) array
        Σ w times: clipped, by bounds, sharpness lost, the model's set is empty.
    even : (n_cells,) array
        The weight of every row if weights are equal; -1 otherwise.
    unit : (n_cells,) array
        The same if scores are also labels (0 or 1).
    events : tuple of Event
        Events to which the event slacks belong.
    """

    key: np.ndarray
    rows: Array
    labeled: Array
    first: Array
    second: Array
    fourth: Array
    lower: Array
    upper: Array
    amounts: Array
    sample_summary: Array
    even: Array
    unit: Array
    events: tuple[Event, ...] = ()

    def __len__(self) -> int:
        return len(self.key)

    @classmethod
    def of_rows(
        cls, key: np.ndarray, evidence: Evidence, labeled: np.ndarray, weights: Array, sample_summary: Array
    ) -> Self:
        """Sum scored rows by their keys, (n_samples, n_keys).

        Examples
        --------
        >>> known = Evidence.from_labels(np.array([0, 1, 1]), 2)
        >>> keys = np.array([[0], [1], [1]])
        >>> cells = CellMoments.of_rows(keys, known, np.ones(3), np.ones(3), np.zeros((3, 4)))
        >>> cells.rows, cells.first
        (array([1., 2.]), array([[1., 0., 0.],
               [0., 2., 0.]]))
        """
        if evidence.laminar_scores is not None and evidence.laminar_scores.ceiling is not None:
            raise InputError(
                "on data in partitions, assumptions that put ceilings on single classes are not available; "
                "take rows into memory with data.sample(n).",
                "assumption",
            )
        unique, code = distinct(key)
        size = len(unique)
        parts = _parts(evidence)
        scaled = parts * weights[:, None]
        bounds = evidence.bounds
        amounts = bounds.event_slack if isinstance(bounds, LaminarBounds) else np.zeros((len(key), 0))

        def total(columns: Array) -> Array:
            return _summed(columns, code, size)

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
            amounts=total(amounts * weights[:, None]),
            sample_summary=total(sample_summary * weights[:, None]),
            even=_common(weights, code, size),
            unit=_common(np.where(np.isin(parts, (0.0, 1.0)).all(axis=1), weights, -1.0), code, size),
            events=evidence.events,
        )

    @classmethod
    def added(cls, several: Sequence["CellMoments"]) -> "CellMoments":
        """Add the sums of several parts of a table."""
        if len(several) == 1:
            return several[0]
        key, code = distinct(np.concatenate([each.key for each in several]))
        whole = several[0].n_parts <= MOST_PARTS
        sums = {}
        for each in fields(cls):
            if each.name in OTHERWISE:
                continue
            values = np.concatenate([getattr(part, each.name) for part in several])
            found = np.zeros((len(key), *values.shape[1:]))
            if each.name == "fourth" and not whole:
                np.maximum.at(found, code, values)
            else:
                np.add.at(found, code, values)
            sums[each.name] = found
        even, unit = (
            _common(np.concatenate([getattr(part, name) for part in several]), code, len(key))
            for name in ("even", "unit")
        )
        return cls(key=key, even=even, unit=unit, events=several[0].events, **sums)

    def take(self, chosen: np.ndarray) -> "CellMoments":
        """Return some of the cells."""
        kept = [each.name for each in fields(self) if each.name != "events"]
        return replace(self, **{name: getattr(self, name)[chosen] for name in kept})

    @property
    def n_parts(self) -> int:
        """Number of classes, event slacks and the slack."""
        return self.first.shape[1]

    @property
    def weights(self) -> Array:
        """Weight of each cell."""
        return self.first.sum(axis=1)

    @property
    def square_weights(self) -> Array:
        """Σ w² of each cell, since the scores of a row sum to one."""
        return self.second.sum(axis=(1, 2))

    def covariance(self, forms: Sequence[Array]) -> Array:
        """Σ_i (w_i f·λ_i) (w_i g·λ_i) for all pairs of forms, each form (n_cells, n_parts)."""
        stacked = np.stack(forms)
        moved = np.matmul(self.second, stacked.transpose(1, 2, 0))
        return stacked.reshape(len(forms), -1) @ moved.reshape(-1, len(forms))

    def fourth_powers(self, form: Array) -> float:
        """Σ_i (w_i f·λ_i)⁴, or an upper bound on it with many classes."""
        if self.n_parts > MOST_PARTS:
            largest = (np.abs(form) * self.fourth).sum(axis=1)
            squares = np.einsum("cp,cpq,cq->c", form, self.second, form)
            return float(largest**2 @ squares)
        places, times = _products(self.n_parts)
        products = form[:, places[0]] * form[:, places[1]] * form[:, places[2]] * form[:, places[3]]
        return max(float(np.vdot(products * times, self.fourth)), 0.0)


@cache
def _products(n_parts: int) -> tuple[np.ndarray, Array]:
    """Return the factors of every product of four parts, (4, n_products), and how often it occurs."""
    found = list(combinations_with_replacement(range(n_parts), 4))
    times = [24.0 / np.prod([factorial(each.count(part)) for part in set(each)]) for each in found]
    return np.array(found).T, np.array(times)


def _parts(evidence: Evidence) -> Array:
    """λ of every row."""
    return np.column_stack([evidence.lower, evidence.event_slack, evidence.slack])


def _summed(columns: Array, code: np.ndarray, size: int) -> Array:
    """Sums by code, (size, n_columns)."""
    found = np.empty((size, columns.shape[1]))
    for place, column in enumerate(columns.T):
        found[:, place] = np.bincount(code, column, size)
    return found


def distinct(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of keys in order, and the index of each row among them.

    Equivalent to ``numpy.unique`` by rows, which sorts; integers in a small range are counted instead.

    Examples
    --------
    >>> distinct(np.array([[1, 0], [0, 7], [1, 0]]))
    (array([[0, 7],
           [1, 0]]), array([1, 0, 1]))
    """
    code, span = np.zeros(len(key), dtype=np.int64), 1
    for column in key.T:
        place, size = _places(column)
        if span * size > MOST_CODES:
            code, span = _places(np.unique(code, return_inverse=True)[1])
        code, span = code * size + place, span * size
    first, code = _first_rows(code, span)
    return key[first], code


def _places(column: np.ndarray) -> tuple[np.ndarray, int]:
    """Return codes in the order of the values, and an upper bound on their number."""
    low, span = column.min(), int(column.max()) - int(column.min()) + 1
    if span <= NEAR * len(column) + NEAR:
        return column - low, span
    values, place = np.unique(column, return_inverse=True)
    return place, len(values)


def _first_rows(code: np.ndarray, span: int) -> tuple[np.ndarray, np.ndarray]:
    """Return one row for each occurring code, in order, and the index of each row's code among them."""
    if span > NEAR * len(code) + NEAR:
        _, first, place = np.unique(code, return_index=True, return_inverse=True)
        return first, place
    row = np.full(span, -1)
    row[code] = np.arange(len(code))
    occurs = row >= 0
    return row[occurs], (np.cumsum(occurs) - 1)[code]


def _common(values: Array, code: np.ndarray, size: int) -> Array:
    """Return the common value of all rows of a cell; -1 if there is none."""
    least, most = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(least, code, values)
    np.maximum.at(most, code, values)
    return np.where(least == most, least, -1.0)


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
    """Σ w λ of every cluster, by cell.

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
        unique, code = distinct(np.column_stack([clusters, key]))
        return cls(unique, _summed(_parts(evidence) * weights[:, None], code, len(unique)))

    @classmethod
    def added(cls, several: Sequence["ClusterSums"]) -> "ClusterSums":
        """Add the sums of several parts of a table."""
        key, code = distinct(np.concatenate([each.key for each in several]))
        values = np.concatenate([each.first for each in several])
        return cls(key, _summed(values, code, len(key)))

    def among(self, cells: CellMoments) -> "ClusterSums":
        """Return the same sums with the index of the cell as key."""
        both = np.concatenate([cells.key, self.key[:, 1:]])
        _, code = distinct(both)
        place = np.empty(code.max() + 1, dtype=int)
        place[code[: len(cells)]] = np.arange(len(cells))
        cell = place[code[len(cells) :]]
        return ClusterSums(np.column_stack([self.key[:, 0], cell]), self.first)

    def within(self, rows: np.ndarray) -> "ClusterSums":
        """Return the sums in some cells; call `among` first."""
        if rows.all():
            return self
        inside = rows[self.key[:, 1]]
        return ClusterSums(self.key[inside], self.first[inside])

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self._unit.max(initial=-1)) + 1

    def sums(self, forms: Sequence[Array]) -> Array:
        """Return the influence of every cluster, (n_forms, n_clusters); call `among` first."""
        cell, size = self.key[:, 1], self.n_clusters
        return np.stack(
            [np.bincount(self._unit, np.einsum("rp,rp->r", self.first, form[cell]), size) for form in forms]
        )

    @cached_property
    def _unit(self) -> np.ndarray:
        """Number of the cluster of every pair."""
        return np.unique(self.key[:, 0], return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class CellEvidence(Evidence):
    """Evidence from cells: scores are linear forms of λ, as (n_cells, n_parts) arrays.

    Attributes
    ----------
    sums : ClusterSums or None
        Sums of the same cells by cluster; None: every row is an independent unit.
    """

    cells: CellMoments = field(kw_only=True)
    sums: ClusterSums | None = None

    @classmethod
    def of(cls, cells: CellMoments, sums: ClusterSums | None = None) -> Self:
        """Return the forms of lower bounds and slack, and the mean of the model's bounds in each cell."""
        n_cells, n_parts = cells.first.shape
        n_classes = cells.lower.shape[1]
        forms = np.broadcast_to(np.eye(n_parts), (n_cells, n_parts, n_parts))
        model = cells.lower / _mass(cells)
        laminar_scores = None
        if cells.events:
            event_slack = forms[:, n_classes:-1]
            laminar_scores = LaminarScores(cells.events, event_slack, cells.amounts / _mass(cells))
        return cls(forms[:, :n_classes], forms[:, -1], model, laminar_scores, cells=cells, sums=sums)

    @cached_property
    def bounds(self) -> Bounds:
        """The mean of the model's bounds in each cell."""
        cells = self.cells
        mass = _mass(cells)
        if cells.events:
            return LaminarBounds(cells.lower / mass, cells.upper / mass, cells.events, cells.amounts / mass)
        return Bounds(cells.lower / mass, cells.upper / mass)

    @property
    def unit(self) -> Array | None:
        """The weight of every row if scores are labels."""
        return self.cells.unit

    @property
    def even(self) -> Array | None:
        """The weight of every row if weights are equal."""
        return self.cells.even

    @property
    def times(self) -> Array | None:
        """Number of rows of each cell."""
        return self.cells.rows

    def covariance(self, influences: Sequence[Array]) -> Array:
        """Covariance matrix of estimates from their influences, by rows or clusters."""
        if self.sums is None:
            number = float(self.cells.rows.sum())
            return number / (number - 1.0) * self.cells.covariance(influences)
        totals = self.sums.sums(influences)
        return totals.shape[1] / (totals.shape[1] - 1.0) * totals @ totals.T

    def count_units(self, weights: Array) -> int:
        """Return the number of independent units with a positive weight."""
        inside = np.asarray(weights.any(axis=1))
        if self.sums is None:
            return int(self.cells.rows[inside].sum())
        return len(np.unique(self.sums.key[inside[self.sums.key[:, 1]], 0]))


def _mass(cells: CellMoments) -> Array:
    return np.maximum(cells.weights, np.finfo(float).tiny)[:, None]


@runtime_checkable
class RowMean(Protocol):
    """A functional whose bounds are means of one number per row."""

    def row_ends(self, evidence: Evidence) -> tuple[Array, Array]:
        """Return the scores of the lower and of the upper bound, (n_samples,) each."""


@dataclass(frozen=True)
class ShareOfFirst:
    """A mean that was summed as the share of the first of two classes (see :func:`as_share`)."""

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Return the lower and the upper bound."""
        low = evidence.lower[:, 0]
        return mean_estimate(low, weights), mean_estimate(low + evidence.slack, weights)


def as_share(ends: tuple[Array, Array]) -> Evidence:
    """Return scores of two classes such that the first one has these bounds.

    Examples
    --------
    >>> known = as_share((np.array([0.5, 2.0]), np.array([0.75, 3.0])))
    >>> known.lower, known.slack
    (array([[ 0.5 ,  0.25],
           [ 2.  , -2.  ]]), array([0.25, 1.  ]))
    """
    low, high = ends
    return Evidence(np.column_stack([low, 1.0 - high]), high - low, np.zeros((len(low), 2)))
