"""Intervals under the event tilt: of one event's share, whatever the strength of the instrument.

Within a group of cases (those predicted as one class) the odds of an event of the label (the prediction is
right) among the refused are r = e^{-γ} times those among like accepted cases. The instrument tests every γ;
the interval is the union, over all γ that it does not reject, of an interval for the share given γ.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from selective_labels._errors import UndefinedError
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.identification.bounds import Array
from selective_labels.identification.odds_ratio import event_odds, event_scores, refused
from selective_labels.inference.bound_estimators import Functional, Ratio
from selective_labels.inference.confidence_intervals import NAN, NOTHING, Basis, Reported
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.intervals import Interval
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.first_stage import HeldOutRows, first_stage

# Tilts γ of an event that are tried first; with ±∞ no set of them is cut off.
COARSE = np.array([-np.inf, -8.0, -6.0, *np.linspace(-5.0, 5.0, 41), 6.0, 8.0, np.inf])
# Beyond the last finite one, where a moment changes its sign out there.
FAR = np.array([10.0, 12.0, 16.0, 24.0])
# Points of the finer grid, where the coarse one leaves few values.
FINE = 41
# Above it no confidence level in use asks: χ² with four degrees at one in a million is 33.
HOPELESS = 40.0
# With more groups than this, one γ serves all of them.
MOST_GROUPS = 3
UNAVAILABLE = (
    "the tilt is of one event: it is there for accuracy, error, share, and differences of accuracies"
)


@dataclass(frozen=True, eq=False)
class TiltRows:
    """What the event tilt needs of every row, by models that have not seen it.

    Attributes
    ----------
    instrument : Evidence
        Scores of the bounds by the instrument alone.
    own, mean : (n_samples, n_classes) arrays
        P(Y=k, D=1 | x, z) of the row's own decision-maker, and over decision-makers.
    moves : (n_samples,) array
        f, of mean zero given x: how lenient the decision-maker is.
    y : (n_samples,) int array
    concentration : float
    """

    instrument: Evidence
    own: Array
    mean: Array
    moves: Array
    y: np.ndarray
    concentration: float

    @classmethod
    def read(cls, fit: CrossFit, data: SelectiveLabels, instrument: Evidence) -> "TiltRows":
        """Collect them from fitted models."""
        held_out = HeldOutRows(fit, data)
        stage = first_stage(held_out)
        own = np.empty_like(stage.mean)
        for part in held_out:
            own[part.rows] = part.own
        return cls(instrument, own, stage.mean, stage.instrument, data.y, stage.concentration)


@dataclass(frozen=True, eq=False)
class EventGroup:
    """An event of the label in some rows, and what it adds to the mean there.

    Attributes
    ----------
    rows : (n_group,) int array
    event : (n_group, n_classes) bool array
        Classes that are the event.
    worth : (n_group,) array
    """

    rows: np.ndarray
    event: np.ndarray
    worth: Array


def event_groups(functional: Functional, weights: Array) -> tuple[Array, list[EventGroup]]:
    """Write a mean as a known part and events: E[base + Σ_j worth_j 1{Y* in event_j}].

    A row whose classes are worth two different values has an event; rows of one pattern (one predicted class)
    are a group. More than three groups become one. The difference of two accuracies of three or more classes
    has two events in a row, "a is right" and "b is right": one group each.

    Returns
    -------
    base : (n_samples,) array
    groups : list of EventGroup
    """
    # A rule of given probabilities has denominators that add up to one but for rounding.
    if not (isinstance(functional, Ratio) and np.allclose(functional.denominator, 1.0, rtol=0.0, atol=1e-9)):
        raise UndefinedError(f"{UNAVAILABLE}.", "metric")
    values = functional.numerator
    base, highest = values.min(axis=1), values.max(axis=1)
    used = np.flatnonzero((weights > 0.0) & (highest > base))
    between = (values != base[:, None]) & (values != highest[:, None])
    if between[used].any():
        if not np.isin(values, (-1.0, 0.0, 1.0)).all():
            raise UndefinedError(f"{UNAVAILABLE}.", "metric")
        sides = [(side, used[(values[used] == side).any(axis=1)]) for side in (1.0, -1.0)]
        groups = [EventGroup(rows, values[rows] == side, np.full(len(rows), side)) for side, rows in sides]
        return np.zeros(len(values)), groups
    event = values == highest[:, None]
    patterns, code = np.unique(event[used], axis=0, return_inverse=True)
    code = code.ravel() if len(patterns) <= MOST_GROUPS else np.zeros(len(used), dtype=int)
    groups = []
    for number in np.unique(code):
        rows = used[code == number]
        groups.append(EventGroup(rows, event[rows], (highest - base)[rows]))
    return base, groups


@dataclass(frozen=True, eq=False)
class TriedTilts:
    """All combinations of tilts that were tried.

    Attributes
    ----------
    statistic : (n_tried,) array
        Q: how much the instrument speaks against them, χ² with `n_groups` degrees at the true ones.
    value, variance : (n_tried,) arrays
        Of the mean given the tilts, uncorrelated with the moments that test them.
    n_groups : int
    """

    statistic: Array
    value: Array
    variance: Array
    n_groups: int

    @property
    def best(self) -> float:
        """The mean under the tilts that the instrument speaks least against."""
        return float(self.value[self.statistic.argmin()])

    def interval(self, confidence_level: float) -> Interval | None:
        """Joint Anderson–Rubin interval; None if no tilt is left.

        ∪ over {Q <= c} of value ± √((c - Q) variance),   c = χ²_{G+1}(level)
        """
        critical = float(chi2.ppf(confidence_level, self.n_groups + 1))
        left = self.statistic <= critical
        if not left.any():
            return None
        reach = np.sqrt((critical - self.statistic[left]) * self.variance[left])
        return Interval(float((self.value[left] - reach).min()), float((self.value[left] + reach).max()))


def try_tilts(
    rows: TiltRows, base: Array, groups: Sequence[EventGroup], weights: Array, clusters: np.ndarray | None
) -> TriedTilts:
    """Estimate a mean under all tilts of its events that the instrument does not rule out.

    v = base + Σ_j worth_j ψ_j,   g_j = f (ψ_j - p̄ - (1 - λ̄) q̄),
    Q = ḡ' Var(ḡ)⁻¹ ḡ,   θ̃ = v̄ - Cov(v̄, ḡ) Var(ḡ)⁻¹ ḡ,   V = Var(v̄) - Cov Var⁻¹ Cov'
    """
    points = [_points(rows, group, weights, clusters) for group in groups]
    sizes = np.array([len(each) for each in points])
    columns = np.zeros((1 + 2 * sizes.sum(), len(base)))
    columns[0] = base
    starts = 1 + 2 * (np.cumsum(sizes) - sizes)
    for start, group, tilts in zip(starts, groups, points, strict=True):
        scores, moments = _scores(rows, group, tilts)
        columns[start : start + 2 * len(tilts), group.rows] = np.vstack([group.worth * scores, moments])
    sums, covariance = _sums(columns, weights, clusters)
    values = starts + np.indices(tuple(sizes.tolist())).reshape(len(sizes), -1).T
    return _combined(sums, covariance, values, values + sizes, float(weights.sum()))


def _combined(
    sums: Array, covariance: Array, values: np.ndarray, moments: np.ndarray, total: float
) -> TriedTilts:
    """All combinations of tilts at once; `values` and `moments` are places among the sums, one a group."""
    n_tried, n_groups = values.shape
    with_base = np.concatenate([np.zeros((n_tried, 1), dtype=int), values], axis=1)
    spread = covariance[with_base[:, :, None], with_base[:, None, :]].sum(axis=(1, 2))
    joint = covariance[with_base[:, :, None], moments[:, None, :]].sum(axis=1)
    own = covariance[moments[:, :, None], moments[:, None, :]]
    scale = np.trace(own, axis1=1, axis2=2) / n_groups
    own = own + (1e-10 * scale + np.finfo(float).tiny)[:, None, None] * np.eye(n_groups)
    away = sums[moments]
    solved = np.linalg.solve(own, np.stack([away, joint], axis=2))
    statistic = np.einsum("ti,ti->t", away, solved[:, :, 0])
    value = (sums[with_base].sum(axis=1) - np.einsum("ti,ti->t", joint, solved[:, :, 0])) / total
    variance = np.maximum(spread - np.einsum("ti,ti->t", joint, solved[:, :, 1]), 0.0) / total**2
    return TriedTilts(statistic, value, variance, n_groups)


@dataclass(frozen=True)
class TiltBasis(Basis):
    """What an interval under the event tilt is made from.

    `spread` and `limits` are those of the instrument's bounds; `tried` has one for each repeat.
    """

    tried: tuple[TriedTilts, ...] = ()

    def report(self, interval: str, confidence_level: float) -> Reported:
        """Intersect the tilt's interval with the instrument's, each at half the error.

        Both hold if the tilt does, so that both cover together with the probability asked for.
        """
        half = (1.0 + confidence_level) / 2.0
        bounds = super().report("parameter", half)
        found = [each.interval(half) for each in self.tried]
        kept = [each for each in found if each is not None]
        if bounds.reason or 2 * len(kept) <= len(found):
            reason = (
                bounds.reason or "no tilt of the event fits the instrument: the tilt contradicts the data."
            )
            return Reported(NAN, NAN, NOTHING, (NAN, NAN), bounds.crossed, reason=reason)
        low = max(float(np.median([each.lower for each in kept])), bounds.interval.lower)
        high = min(float(np.median([each.upper for each in kept])), bounds.interval.upper)
        if low > high:
            reason = "the tilt and the instrument's bounds have no value in common: the tilt is refuted."
            return Reported(NAN, NAN, NOTHING, (NAN, NAN), bounds.crossed, reason=reason)
        best = float(np.median([each.best for each in self.tried]))
        value = float(np.clip(np.clip(best, bounds.lower, bounds.upper), low, high))
        return Reported(value, value, Interval(low, high), (NAN, NAN), bounds.crossed)


def tilt_basis(
    repeats: Sequence[TiltRows],
    functional: Functional,
    weights: Array,
    clusters: np.ndarray | None,
    bounds: Basis,
) -> Basis:
    """Find what an interval of a functional under the event tilt is made from.

    Where nothing depends on an unseen label, `bounds` (of the instrument) are all that there is to say.
    """
    base, groups = event_groups(functional, weights)
    if not groups:
        return bounds
    tried = tuple(try_tilts(each, base, groups, weights, clusters) for each in repeats)
    return TiltBasis(bounds.spread, bounds.limits, tried=tried)


def _scores(rows: TiltRows, group: EventGroup, tilts: Array) -> tuple[Array, Array]:
    """ψ and g of a group's rows for every tilt, each (n_tilts, n_group)."""
    here = group.rows
    y, own, mean = rows.y[here], rows.own[here], rows.mean[here]
    chance, leniency = np.einsum("nk,nk->n", own, group.event), own.sum(axis=1)
    on_average, lenient = np.einsum("nk,nk->n", mean, group.event), mean.sum(axis=1)
    pair = np.column_stack([lenient - on_average, on_average])
    event = group.event[np.arange(len(here)), np.maximum(y, 0)]
    scores, moments = np.empty((2, len(tilts), len(here)))
    with np.errstate(over="ignore"):
        ratios = np.exp(-tilts)
    for number, ratio in enumerate(ratios):
        scores[number] = event_scores(chance, leniency, event, y >= 0, float(ratio))
        center = on_average + (1.0 - lenient) * refused(pair, event_odds(float(ratio)))[:, 1]
        moments[number] = rows.moves[here] * (scores[number] - center)
    return scores, moments


def _points(rows: TiltRows, group: EventGroup, weights: Array, clusters: np.ndarray | None) -> Array:
    """Tilts of one group to try: the coarse grid, made finer where its moment is near zero or crosses it.

    Where the moment alone rules a tilt out, so do all moments together.
    """
    tilts = COARSE
    statistic, mean = _alone(rows, group, tilts, weights, clusters)
    crossing = np.sign(mean[1:]) != np.sign(mean[:-1])
    extra = [side * FAR for side, cell in ((-1.0, 0), (1.0, -1)) if crossing[cell]]
    if extra:
        tilts = np.unique(np.concatenate([tilts, *extra]))
        statistic, mean = _alone(rows, group, tilts, weights, clusters)
        crossing = np.sign(mean[1:]) != np.sign(mean[:-1])
    near = statistic <= HOPELESS
    cells = np.flatnonzero(
        (crossing | near[1:] | near[:-1]) & np.isfinite(tilts[1:]) & np.isfinite(tilts[:-1])
    )
    inside = max(int(np.ceil(FINE / max(len(cells), 1))) - 1, 0)
    fine = [np.linspace(tilts[each], tilts[each + 1], inside + 2)[1:-1] for each in cells]
    tilts = np.unique(np.concatenate([tilts, *fine]))
    statistic, _ = _alone(rows, group, tilts, weights, clusters)
    kept = statistic <= HOPELESS
    return tilts[kept] if kept.any() else tilts[[statistic.argmin()]]


def _alone(
    rows: TiltRows, group: EventGroup, tilts: Array, weights: Array, clusters: np.ndarray | None
) -> tuple[Array, Array]:
    """Statistic of each tilt by the moment of one group alone, and the moment."""
    _, moments = _scores(rows, group, tilts)
    parts = weights[group.rows] * moments
    if clusters is not None:
        parts = np.stack([np.bincount(clusters[group.rows], each) for each in parts])
    total = parts.sum(axis=1)
    return total**2 / np.maximum(np.einsum("tn,tn->t", parts, parts), np.finfo(float).tiny), total


def _sums(columns: Array, weights: Array, clusters: np.ndarray | None) -> tuple[Array, Array]:
    """Weighted sums, and the covariance of the sums over rows or clusters."""
    sums = columns @ weights
    parts = (columns - (sums / weights.sum())[:, None]) * weights
    if clusters is not None:
        codes = np.unique(clusters, return_inverse=True)[1]
        parts = np.stack([np.bincount(codes, each) for each in parts])
    return sums, parts @ parts.T


def supported_odds(
    rows: TiltRows, event: np.ndarray, weights: Array, clusters: np.ndarray | None, confidence_level: float
) -> list[tuple[float, float]]:
    """How many times the odds of an event the refused can have, by the instrument: a confidence set.

    {e^{-γ}: Q(γ) <= χ²_1(level)},   γ the tilt of the event in all rows

    Anderson and Rubin's kind of set: it covers the true odds ratio whatever the strength of the instrument,
    if there is one for all cases and decision-makers. It may be empty, unbounded, or in several pieces.

    Parameters
    ----------
    event : (n_classes,) bool array

    Returns
    -------
    list of pairs (low, high)
        Of odds ratios, ascending; infinite where the set is not bounded.
    """
    used = np.flatnonzero(weights > 0.0)
    group = EventGroup(used, np.broadcast_to(event, (len(used), len(event))), np.ones(len(used)))
    tilts = _points(rows, group, weights, clusters)[::-1]  # odds ascend as tilts fall
    statistic, _ = _alone(rows, group, tilts, weights, clusters)
    kept = np.flatnonzero(statistic <= chi2.ppf(confidence_level, 1))
    runs = np.split(kept, np.flatnonzero(np.diff(kept) > 1) + 1) if len(kept) else []
    with np.errstate(over="ignore"):
        odds = np.exp(-tilts)
    return [(float(odds[run[0]]), float(odds[run[-1]])) for run in runs]
