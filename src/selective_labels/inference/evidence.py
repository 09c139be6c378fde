"""What the data say about class probabilities, row by row, under one assumption."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from selective_labels.identification.bounds import Array, Bounds, repair
from selective_labels.identification.earmarked import Earmarked, Event, poured
from selective_labels.identification.earmarks import Earmarks
from selective_labels.identification.multipliers import Share
from selective_labels.identification.point import project_to_simplex
from selective_labels.inference.estimates import by_row, covariance
from selective_labels.nuisance.scores import Scores

ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the data say about the class probabilities η(x) = lower(x) + Σ_S pot_S(x) v_S(x) + slack(x) v(x).

    v is any distribution over the classes, v_S any over those of the event S.

    Attributes
    ----------
    lower : (n_samples, n_classes) array
        Scores of the lower bounds; of η itself if `slack` is zero.
    slack : (n_samples,) array
        Scores of the slack that may go anywhere: exactly zero where a point assumption identifies η.
    model : (n_samples, n_classes) array
        What a model that has not seen the row says of `lower`. To choose with, not to average.
    earmarks : Earmarks or None
        Scores of slack that is within an event, or ceilings on classes.
    shares : tuple of Share
        What is known of means over the rows; of disjoint rows each.
    population : (n_samples,) array or None
        Weights of the rows that shares are about.
    clusters : (n_samples,) array or None
        Independent units, by which a share is found to be impossible, or two ways to use it alike; None:
        every row is one.
    """

    lower: Array
    slack: Array
    model: Array
    earmarks: Earmarks | None = None
    shares: tuple[Share, ...] = ()
    population: Array | None = None
    clusters: np.ndarray | None = None

    @classmethod
    def from_scores(cls, scores: Scores, point: bool) -> "Evidence":
        """Scores under an assumption that bounds η, or (`point`) identifies it but in bounded rows."""
        if not point:
            free = scores.slack
            if scores.earmarks is not None:
                free = free - scores.earmarks.values.sum(axis=1)
            return cls(scores.values, free, scores.plug_in, scores.earmarks)
        bounded = scores.by_bounds
        model = np.where(bounded[:, None], scores.plug_in, project_to_simplex(scores.plug_in))
        return cls(scores.values, np.where(bounded, scores.slack, 0.0), model)

    @classmethod
    def from_labels(cls, y: np.ndarray, n_classes: int) -> "Evidence":
        """Nothing is missing: the label itself is the score."""
        seen = (y[:, None] == np.arange(n_classes)).astype(float)
        return cls(seen, np.zeros(len(y)), seen)

    def with_shares(
        self, shares: tuple[Share, ...], population: Array, clusters: np.ndarray | None = None
    ) -> "Evidence":
        """The same, with known shares among rows of these weights."""
        if not shares:
            return self
        return replace(self, shares=shares, population=population, clusters=clusters)

    def covariance(self, influences: Sequence[Array]) -> Array:
        """Covariance matrix of estimates from their influences, by rows or clusters."""
        return covariance(influences, self.clusters)

    def count_units(self, weights: Array) -> int:
        """How many independent units have a positive weight."""
        (rows,) = np.nonzero(weights)
        return len(rows) if self.clusters is None else len(np.unique(self.clusters[rows]))

    @property
    def unit(self) -> Array | None:
        """Of cells, the weight of every row where scores are labels; of rows, None."""
        return None

    @property
    def even(self) -> Array | None:
        """Of cells, the weight of every row where weights are equal; of rows, None."""
        return None

    @property
    def times(self) -> Array | None:
        """Of cells, how many rows each has; of rows, None."""
        return None

    @property
    def events(self) -> tuple[Event, ...]:
        """The events that slack is earmarked for."""
        return () if self.earmarks is None else self.earmarks.events

    @property
    def pots(self) -> Array:
        """Scores of earmarked slack, (n_samples, n_events)."""
        return np.zeros((len(self.slack), 0)) if self.earmarks is None else self.earmarks.values

    @cached_property
    def bounds(self) -> Bounds:
        """The model's identified set, realizable and mended where it is empty."""
        if self.earmarks is not None and self.earmarks.ceiling_plug_in is not None:
            return repair(Bounds(self.model, self.earmarks.ceiling_plug_in))[0]
        if self.earmarks is not None:
            return Earmarked.of(self.model, self.events, self.earmarks.plug_in).repaired()[0]
        room = np.maximum(1.0 - self.model.sum(axis=1, keepdims=True), 0.0)
        return repair(Bounds(self.model, self.model + room))[0]

    @cached_property
    def _box(self) -> Bounds:
        """The model's floors and ceilings as they are, but where they are empty.

        Tightened ones, of which the scores know nothing, would say that slack comes to an end too early.
        """
        assert self.earmarks is not None
        assert self.earmarks.ceiling_plug_in is not None
        mended, crossed = repair(Bounds(self.model, self.earmarks.ceiling_plug_in))
        empty = crossed[:, None]
        return Bounds(
            np.where(empty, mended.lower, self.model),
            np.where(empty, mended.upper, self.earmarks.ceiling_plug_in),
        )

    @property
    def empty(self) -> np.ndarray:
        """Rows in which the model finds nothing possible, (n_samples,) bool."""
        if self.earmarks is None:
            return np.asarray(self.model.sum(axis=1) > 1.0 + ROUNDING)
        if self.earmarks.ceiling_plug_in is not None:
            return np.asarray(Bounds(self.model, self.earmarks.ceiling_plug_in).crossed)
        return Earmarked.of(self.model, self.events, self.earmarks.plug_in).repaired()[1]

    def extreme(self, gain: Array) -> Array:
        """Scores of the class probabilities with the largest Σ_k gain_k η_k, (n_samples, n_classes).

        All slack goes where the gain is largest, within its event. With ceilings, classes are filled in the
        order of their gains; in which of them the slack comes to an end is read off the model.
        """
        gain = np.broadcast_to(gain, self.lower.shape[:2])
        if self.earmarks is None or self.earmarks.ceiling is None:
            return poured(self.lower, self.slack, gain, self.events, self.pots)
        order = np.argsort(-gain, axis=1, kind="stable")
        model = np.cumsum(np.take_along_axis(self._box.width, order, axis=1), axis=1)
        full = model < self._box.slack[:, None] - ROUNDING
        full[:, -1] = False
        width = np.take_along_axis(self.earmarks.ceiling - self.lower, order, axis=1) * full
        last = full.sum(axis=1)[:, None]
        np.put_along_axis(width, last, (self.slack - width.sum(axis=1))[:, None], axis=1)
        found = np.empty_like(self.lower)
        np.put_along_axis(found, order, np.take_along_axis(self.lower, order, axis=1) + width, axis=1)
        return found

    def evenly(self) -> Array:
        """Scores of class probabilities in the middle: all slack spread evenly."""
        found = self.lower + self.slack[:, None] / self.lower.shape[1]
        for place, event in enumerate(self.events):
            found[:, list(event)] += self.pots[:, place, None] / len(event)
        return found

    def inside(self, weights: Array | None) -> Array:
        """1 where a row counts, 0 elsewhere, as a column."""
        if weights is None:
            return np.ones((len(self.slack), 1))
        return (np.asarray(by_row(weights)) > 0.0).astype(float)[:, None]
