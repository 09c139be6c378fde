"""Weak-instrument robust intervals under the event tilt, for the share of one event.

Within a group of cases (those predicted as one class), the odds of an event of the label (the prediction is
right) among unlabeled cases are r = e^{-γ + θ (λ_z - λ̄)} times the odds among comparable labeled cases, with
|θ| at most the skill range. The instrument tests every (γ, θ). The interval is the union, over all that the
test does not reject, of the intervals for the share given them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import chi2

from selective_labels._errors import UndefinedError
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.identification.bounds import Array
from selective_labels.identification.odds_ratio import event_odds, event_scores, refused
from selective_labels.inference.bound_estimators import Functional, Ratio
from selective_labels.inference.confidence_intervals import NAN, NOTHING, Basis, Reported
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.exact_intervals import Interval
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.first_stage import HeldOutRows, first_stage
from selective_labels.nuisance.maturity import over_labels

# Coarse grid of tilts γ of an event. It includes ±∞, so that it does not truncate a confidence set.
COARSE = np.array([-np.inf, -8.0, -6.0, *np.linspace(-5.0, 5.0, 41), 6.0, 8.0, np.inf])
# Additional tilts, used if a moment changes sign beyond the last finite point of the coarse grid.
FAR = np.array([10.0, 12.0, 16.0, 24.0])
# Number of points of the fine grid.
FINE = 41
# Tilts with a larger statistic are dropped: χ² with four degrees of freedom exceeds 33 once in a million.
HOPELESS = 40.0
# With more groups than this, all groups share one γ.
MOST_GROUPS = 3
# With a skill range: its share at which slopes are tried, by number of groups; points of the fine grid; and
# the statistic above which tilts are dropped. The ends of an interval are at the ends of the range.
SLOPES = {1: np.linspace(-1.0, 1.0, 9), 2: np.linspace(-1.0, 1.0, 5), 3: np.linspace(-1.0, 1.0, 3)}
FINE_BY_SLOPE = 21
HOPELESS_BY_SLOPE = 25.0
UNAVAILABLE = (
    "the tilt is of one event: it is there for accuracy, error, share, and differences of accuracies"
)


@dataclass(frozen=True, eq=False)
class TiltRows:
    """Inputs of the event tilt for each row, from models that were not fitted on the row.

    Attributes
    ----------
    instrument : Evidence
        Scores of the bounds from the instrument alone.
    own, mean : (n_samples, n_classes) arrays
        P(Y=k, D=1 | x, z) of the row's own decision-maker, and the mean over decision-makers.
    moves : (n_samples,) array
        Instrument f with mean zero given x: the leniency of the decision-maker.
    y : (n_samples,) int array
        Label codes, -1 for unlabeled rows.
    concentration : float
        Instrument strength.
    label_weights : (n_samples, n_classes) array or None
        With outcomes pending at random, the weights of the labels.
    """

    instrument: Evidence
    own: Array
    mean: Array
    moves: Array
    y: np.ndarray
    concentration: float
    label_weights: np.ndarray | None = None

    @classmethod
    def read(cls, fit: CrossFit, data: SelectiveLabels, instrument: Evidence) -> "TiltRows":
        """Collect the inputs from fitted models."""
        held_out = HeldOutRows(fit, data)
        stage = first_stage(held_out)
        own = np.empty_like(stage.mean)
        for part in held_out:
            own[part.rows] = part.own
        return cls(
            instrument, own, stage.mean, stage.instrument, data.y, stage.concentration, fit.label_weights
        )


@dataclass(frozen=True, eq=False)
class EventGroup:
    """An event of the label in a group of rows, and its contribution to the mean.

    Attributes
    ----------
    rows : (n_group,) int array
        Rows of the group.
    event : (n_group, n_classes) bool array
        Classes in the event.
    worth : (n_group,) array
        Contribution of the event to the mean.
    """

    rows: np.ndarray
    event: np.ndarray
    worth: Array


def event_groups(functional: Functional, weights: Array) -> tuple[Array, list[EventGroup]]:
    """Decompose a mean into a known part and events: E[base + Σ_j worth_j 1{Y* in event_j}].

    A row has an event if its classes take exactly two values. Rows with the same pattern (the same predicted
    class) form a group. More than three groups are merged into one. The difference of two accuracies with
    three or more classes has two events per row, "a is right" and "b is right", and one group for each.

    Returns
    -------
    base : (n_samples,) array
    groups : list of EventGroup
    """
    # Denominators of a stochastic rule sum to one only up to rounding.
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
    """Results for all combinations of tilts that were tried.

    Attributes
    ----------
    statistic : (n_tried,) array
        Test statistic Q, χ² with `n_groups` degrees of freedom at the true tilts.
    value, variance : (n_tried,) arrays
        Estimate of the mean given the tilts and its variance, uncorrelated with the moments of the test.
    slopes : (n_tried,) int array or None
        Number of the combination of slopes, with a skill range.
    """

    statistic: Array
    value: Array
    variance: Array
    n_groups: int
    slopes: np.ndarray | None = None

    @property
    def best(self) -> tuple[float, float]:
        """Smallest and largest mean, over slopes, under the tilts with the smallest test statistic.

        Slopes that are rejected at the level .95 whatever the tilts are left out.
        """
        if self.slopes is None:
            best = float(self.value[self.statistic.argmin()])
            return best, best
        order = np.lexsort((self.statistic, self.slopes))
        first = order[np.unique(self.slopes[order], return_index=True)[1]]
        kept = first[self.statistic[first] <= chi2.ppf(0.95, self.n_groups)]
        values = self.value[kept] if len(kept) else self.value[[self.statistic.argmin()]]
        return float(values.min()), float(values.max())

    def interval(self, confidence_level: float) -> Interval | None:
        """Joint Anderson–Rubin interval; None if all tilts are rejected.

        ∪ over {Q <= c} of value ± √((c - Q) variance),   c = χ²_{G+1}(level)
        """
        critical = float(chi2.ppf(confidence_level, self.n_groups + 1))
        left = self.statistic <= critical
        if not left.any():
            return None
        reach = np.sqrt((critical - self.statistic[left]) * self.variance[left])
        return Interval(float((self.value[left] - reach).min()), float((self.value[left] + reach).max()))


def try_tilts(
    rows: TiltRows,
    base: Array,
    groups: Sequence[EventGroup],
    weights: Array,
    clusters: np.ndarray | None,
    skill_range: float = 0.0,
) -> TriedTilts:
    """Estimate a mean under all tilts of its events that the instrument does not rule out.

    v = base + Σ_j worth_j ψ_j,   g_j = f (ψ_j - p̄ - (1 - λ̄) q̄),
    Q = ḡ' Var(ḡ)⁻¹ ḡ,   θ̃ = v̄ - Cov(v̄, ḡ) Var(ḡ)⁻¹ ḡ,   V = Var(v̄) - Cov Var⁻¹ Cov'
    """
    slopes = skill_range * SLOPES[len(groups)] if skill_range > 0.0 else np.zeros(1)
    points = [_points(rows, group, weights, clusters, slopes) for group in groups]
    sizes = np.array([len(each) for each in points])
    columns = np.zeros((1 + 2 * sizes.sum(), len(base)))
    columns[0] = base
    starts = 1 + 2 * (np.cumsum(sizes) - sizes)
    for start, group, tried in zip(starts, groups, points, strict=True):
        scores, moments = _scores(rows, group, tried)
        columns[start : start + 2 * len(tried), group.rows] = np.vstack([group.worth * scores, moments])
    sums, covariance = _sums(columns, weights, clusters)
    number = np.indices(tuple(sizes.tolist())).reshape(len(sizes), -1).T
    values = starts + number
    found = _combined(sums, covariance, values, values + sizes, float(weights.sum()))
    if len(slopes) == 1:
        return found
    codes = [np.searchsorted(slopes, tried[:, 1]) for tried in points]
    combined = np.zeros(len(number), dtype=int)
    for code, which in zip(codes, number.T, strict=True):
        combined = combined * len(slopes) + code[which]
    return replace(found, slopes=combined)


def _combined(
    sums: Array, covariance: Array, values: np.ndarray, moments: np.ndarray, total: float
) -> TriedTilts:
    """Evaluate all combinations of tilts; `values` and `moments` index the sums, one column per group."""
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
    """Inputs of an interval under the event tilt.

    `spread` and `limits` belong to the instrument's bounds; `tried` has one entry per repeat.
    """

    tried: tuple[TriedTilts, ...] = ()

    def report(self, interval: str, confidence_level: float, constant: float | None = None) -> Reported:
        """Intersect the intervals of the tilt and of the instrument, each at half the error probability.

        Both intervals are valid if the tilt is correct, so the intersection has the requested coverage. There
        is no critical value of several such intervals, so `constant` is not used.
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
        best = np.median([each.best for each in self.tried], axis=0)
        lower, upper = np.clip(np.clip(best, bounds.lower, bounds.upper), low, high).tolist()
        return Reported(lower, upper, Interval(low, high), (NAN, NAN), bounds.crossed)


def tilt_basis(
    repeats: Sequence[TiltRows],
    functional: Functional,
    weights: Array,
    clusters: np.ndarray | None,
    bounds: Basis,
    skill_range: float = 0.0,
) -> Basis:
    """Compute the inputs of an interval for a functional under the event tilt.

    If the functional does not depend on unobserved labels, the instrument's `bounds` are returned.
    """
    base, groups = event_groups(functional, weights)
    if not groups:
        return bounds
    tried = tuple(try_tilts(each, base, groups, weights, clusters, skill_range) for each in repeats)
    return TiltBasis(bounds.spread, bounds.limits, tried=tried)


def _scores(rows: TiltRows, group: EventGroup, tried: Array) -> tuple[Array, Array]:
    """ψ and g of the rows of a group for every pair (γ, θ), each of shape (n_tried, n_group)."""
    here = group.rows
    y, own, mean = rows.y[here], rows.own[here], rows.mean[here]
    chance, leniency = np.einsum("nk,nk->n", own, group.event), own.sum(axis=1)
    on_average, lenient = np.einsum("nk,nk->n", mean, group.event), mean.sum(axis=1)
    pair = np.column_stack([lenient - on_average, on_average])
    weights = None if rows.label_weights is None else rows.label_weights[here]
    away = leniency - lenient
    scores, moments = np.empty((2, len(tried), len(here)))
    with np.errstate(over="ignore"):
        ratios = np.exp(-tried[:, 0])
    for number, (ratio, slope) in enumerate(zip(ratios, tried[:, 1], strict=True)):
        own_ratio = ratio * np.exp(slope * away) if slope else float(ratio)
        scored = partial(_event_score, group.event, chance, leniency, own_ratio)
        scores[number] = over_labels(scored, y, weights)
        center = on_average + (1.0 - lenient) * refused(pair, event_odds(float(ratio)))[:, 1]
        moments[number] = rows.moves[here] * (scores[number] - center)
    return scores, moments


def _event_score(
    event: np.ndarray, chance: Array, leniency: Array, ratio: float | Array, y: np.ndarray
) -> Array:
    """Score of the rows of a group under one tilt, if these are their labels."""
    happened: Any = event[np.arange(len(y)), np.maximum(y, 0)]
    decided: Any = y >= 0
    return event_scores(chance, leniency, happened, decided, ratio)


def _points(
    rows: TiltRows, group: EventGroup, weights: Array, clusters: np.ndarray | None, slopes: Array
) -> Array:
    """Pairs (γ, θ) of one group to try: at each slope θ, the tilts that its moment does not rule out.

    What the moment of one group rules out is also ruled out by all moments together.
    """
    if len(slopes) == 1:
        fine, hopeless = FINE, HOPELESS
    else:
        fine, hopeless = FINE_BY_SLOPE, HOPELESS_BY_SLOPE
    pairs = []
    for slope in slopes:
        alone = partial(_alone, rows, group, slope=slope, weights=weights, clusters=clusters)
        tilts, statistic = _tilts(alone, fine)
        kept = statistic <= hopeless
        tilts = tilts[kept] if kept.any() else tilts[[statistic.argmin()]]
        pairs.append(np.column_stack([tilts, np.full(len(tilts), slope)]))
    return np.vstack(pairs)


def _tilts(alone: Callable[[Array], tuple[Array, Array]], fine: int) -> tuple[Array, Array]:
    """A coarse grid of tilts, refined where the moment is near zero or changes sign, and its statistics."""
    tilts = COARSE
    statistic, mean = alone(tilts)
    crossing = np.sign(mean[1:]) != np.sign(mean[:-1])
    extra = [side * FAR for side, cell in ((-1.0, 0), (1.0, -1)) if crossing[cell]]
    if extra:
        tilts = np.unique(np.concatenate([tilts, *extra]))
        statistic, mean = alone(tilts)
        crossing = np.sign(mean[1:]) != np.sign(mean[:-1])
    near = statistic <= HOPELESS
    cells = np.flatnonzero(
        (crossing | near[1:] | near[:-1]) & np.isfinite(tilts[1:]) & np.isfinite(tilts[:-1])
    )
    inside = max(int(np.ceil(fine / max(len(cells), 1))) - 1, 0)
    between = [np.linspace(tilts[each], tilts[each + 1], inside + 2)[1:-1] for each in cells]
    tilts = np.unique(np.concatenate([tilts, *between]))
    return tilts, alone(tilts)[0]


def _alone(
    rows: TiltRows,
    group: EventGroup,
    tilts: Array,
    *,
    slope: float,
    weights: Array,
    clusters: np.ndarray | None,
) -> tuple[Array, Array]:
    """Test statistic of each tilt from the moment of one group, and the moment."""
    _, moments = _scores(rows, group, np.column_stack([tilts, np.full(len(tilts), slope)]))
    parts = weights[group.rows] * moments
    if clusters is not None:
        parts = np.stack([np.bincount(clusters[group.rows], each) for each in parts])
    total = parts.sum(axis=1)
    return total**2 / np.maximum(np.einsum("tn,tn->t", parts, parts), np.finfo(float).tiny), total


def _sums(columns: Array, weights: Array, clusters: np.ndarray | None) -> tuple[Array, Array]:
    """Weighted sums, and their covariance over rows or clusters."""
    sums = columns @ weights
    parts = (columns - (sums / weights.sum())[:, None]) * weights
    if clusters is not None:
        codes = np.unique(clusters, return_inverse=True)[1]
        parts = np.stack([np.bincount(codes, each) for each in parts])
    return sums, parts @ parts.T


def supported_odds(
    rows: TiltRows,
    event: np.ndarray,
    weights: Array,
    clusters: np.ndarray | None,
    confidence_level: float,
    skill_range: float = 0.0,
) -> list[tuple[float, float]]:
    """Confidence set for the odds ratio of an event between unlabeled and labeled cases.

    {e^{-γ}: min Q(γ, θ) <= χ²_1(level) over |θ| <= skill range},   γ the tilt of the event in all rows

    This is an Anderson–Rubin set. It covers the true odds ratio whatever the strength of the instrument, if
    it is the same for all cases, and its log changes with leniency by no more than the skill range. The set
    can be empty, unbounded, or a union of several intervals.

    Parameters
    ----------
    event : (n_classes,) bool array
        Classes in the event.

    Returns
    -------
    list of pairs (low, high)
        Intervals of odds ratios in ascending order; infinite where the set is unbounded.
    """
    used = np.flatnonzero(weights > 0.0)
    group = EventGroup(used, np.broadcast_to(event, (len(used), len(event))), np.ones(len(used)))
    alone = partial(_alone, rows, group, weights=weights, clusters=clusters)
    slopes = skill_range * SLOPES[1] if skill_range > 0.0 else np.zeros(1)
    grids = [_tilts(partial(alone, slope=slope), FINE)[0] for slope in slopes]
    tilts = np.unique(np.concatenate(grids))[::-1]  # odds increase as tilts decrease
    statistic = np.min([alone(tilts, slope=slope)[0] for slope in slopes], axis=0)
    kept = np.flatnonzero(statistic <= chi2.ppf(confidence_level, 1))
    runs = np.split(kept, np.flatnonzero(np.diff(kept) > 1) + 1) if len(kept) else []
    with np.errstate(over="ignore"):
        odds = np.exp(-tilts)
    return [(float(odds[run[0]]), float(odds[run[-1]])) for run in runs]
