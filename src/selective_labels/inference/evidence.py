"""Estimates with influence functions, their covariance, and the evidence on class probabilities in each row.

`Estimate` and its functions implement the delta method, clustered covariance and the bootstrap. `Evidence`
holds the scores of the bounds under one assumption.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from selective_labels._errors import UndefinedError
from selective_labels.identification.bounds import Array, Bounds, Event, allocate_slack, repair
from selective_labels.identification.event_bounds import LaminarBounds, LaminarScores
from selective_labels.identification.point import project_to_simplex
from selective_labels.identification.prevalence import Share
from selective_labels.inference.exact_intervals import Counts
from selective_labels.nuisance.score_formulas import Scores

N_DRAWS = 500


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """Rows that a rate or a separation rests on, as one sample or as two: events and the other rows.

    Attributes
    ----------
    masses : tuple of (n_samples,) arrays
        Mass of each row in each sample: its weight times the chance that it belongs to the sample.
    unseen : float
        Squared effect of a row unlike those in the sample, if it were alone in its sample.
    span : pair of float
        Possible values of the estimate.
    fewest : float
        Smallest effective number of events, and of other rows, with which an interval is reported.
    """

    masses: tuple[Array, ...]
    unseen: float
    span: tuple[float, float]
    fewest: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimate with its influence function.

    Attributes
    ----------
    influence : (n_samples,) array
        Influence of each row, with mean zero: the estimation error is approximately the mean of the
        influences.
    counts : Counts, optional
        Counts for an exact interval, if the estimate is a share of rows or a difference of two shares.
    support : float
        Share of the rows that the estimate uses, such as those that meet a condition.
    outside : tuple of float
        Change of the estimate per standard error of each external number, such as a known share.
    widened : float
        Factor on the standard error, because the estimate was selected as the best of several.
    compared : ComparedRows, optional
        Rows that a rate among some rows, or a separation, rests on.
    """

    value: float
    influence: Array
    counts: Counts | None = None
    support: float = 1.0
    outside: tuple[float, ...] = ()
    widened: float = 1.0
    compared: ComparedRows | None = None


Ends = tuple[Estimate, Estimate]
# From influences to the covariance matrix of the estimates.
NoiseOf = Callable[[Sequence[Array]], Array]


def mean_estimate(scores: ArrayLike, weights: ArrayLike | None = None) -> Estimate:
    """Weighted mean of scores.

    value = Σ_i w_i s_i / Σ_i w_i,   influence_i = w_i (s_i - value) / mean(w)

    Parameters
    ----------
    scores : array-like of shape (n_samples,)
    weights : array-like of shape (n_samples,), optional
        Non-negative weights, not all zero. For cells (:mod:`selective_labels.evaluation.partitioned.cells`)
        both arrays have shape (n_cells, n_parts), and the influence is the linear form of each cell.

    Examples
    --------
    >>> estimate = mean_estimate([0.0, 1.0], weights=[1.0, 3.0])
    >>> estimate.value, estimate.influence
    (0.75, array([-0.375,  0.375]))
    """
    scores = np.asarray(scores, dtype=np.float64)
    weights = np.ones_like(scores) if weights is None else np.asarray(weights, dtype=np.float64)
    total = float(weights.sum())
    value = float(np.vdot(weights, scores)) / total
    if weights.ndim > 1:  # linear forms of cells: the error contribution of a row with weight one
        return Estimate(value, (scores - value) * (weights.any(axis=1, keepdims=True) / total))
    return Estimate(value, weights * (scores - value) / weights.mean())


def of_rows(values: ArrayLike, like: Array) -> Array:
    """Broadcast one number per row to the shape of the scores; for cells, the same number for every part.

    Examples
    --------
    >>> of_rows([1.0, 2.0], np.zeros((2, 3)))
    array([[1., 1., 1.],
           [2., 2., 2.]])
    """
    column = np.asarray(values, dtype=np.float64)
    return np.broadcast_to(column.reshape(-1, *[1] * (like.ndim - 1)), like.shape)


def by_row(weights: Array | None) -> Array | None:
    """Weight of each row; for cells, the weights of the parts are summed."""
    return weights if weights is None or weights.ndim == 1 else weights.sum(axis=1)


def smooth_estimate(
    function: Callable[..., float], gradient: Sequence[float] | ArrayLike, estimates: Sequence[Estimate]
) -> Estimate:
    """Smooth function of several estimates, by the delta method.

    value = g(a, b, ...),   influence = ∂g/∂a · influence_a + ∂g/∂b · influence_b + ...

    Parameters
    ----------
    function : callable of as many numbers as there are estimates
    gradient : its partial derivatives at the estimates
    estimates : list of Estimate
        Estimates from the same rows.

    Examples
    --------
    >>> one, two = mean_estimate([0.0, 1.0]), mean_estimate([3.0, 1.0])
    >>> product = smooth_estimate(lambda a, b: a * b, [2.0, 0.5], [one, two])
    >>> product.value, product.influence
    (1.0, array([-0.5,  0.5]))
    """
    value = function(*(each.value for each in estimates))
    slopes: list[float] = np.asarray(gradient, dtype=np.float64).tolist()
    influence = sum(slope * each.influence for slope, each in zip(slopes, estimates, strict=True))
    return Estimate(
        float(value),
        np.asarray(influence),
        support=min(each.support for each in estimates),
        outside=weighted_outside(gradient, estimates),
    )


def subtract(first: Estimate, second: Estimate) -> Estimate:
    """Difference of two estimates from the same rows.

    Examples
    --------
    >>> subtract(mean_estimate([0.0, 1.0]), mean_estimate([1.0, 1.0])).value
    -0.5
    """
    support = min(first.support, second.support)
    compared = None
    if first.compared is not None and second.compared is not None:
        (low, high), (least, most) = first.compared.span, second.compared.span
        masses = first.compared.masses + second.compared.masses
        compared = replace(first.compared, masses=masses, span=(low - most, high - least))
    return Estimate(
        first.value - second.value,
        first.influence - second.influence,
        support=support,
        outside=weighted_outside([1.0, -1.0], [first, second]),
        compared=compared,
    )


def weighted_outside(
    weights: Sequence[float] | ArrayLike, estimates: Sequence[Estimate]
) -> tuple[float, ...]:
    """Change of a weighted sum of estimates per standard error of each external number.

    Examples
    --------
    >>> one, two = Estimate(0.0, np.zeros(2), outside=(0.1,)), Estimate(0.0, np.zeros(2))
    >>> weighted_outside([2.0, 1.0], [one, two])
    (0.2,)
    """
    size = max((len(each.outside) for each in estimates), default=0)
    moved = np.zeros(size)
    for weight, each in zip(np.asarray(weights).tolist(), estimates, strict=True):
        if each.outside:
            moved += weight * np.asarray(each.outside)
    return tuple(moved.tolist())


def ratio_estimate(numerator: Estimate, denominator: Estimate) -> Estimate:
    """Ratio of two estimates, by the delta method.

    value = a / b,   influence = (influence_a - value · influence_b) / b

    Examples
    --------
    >>> ratio = ratio_estimate(mean_estimate([1.0, 0.0, 1.0]), mean_estimate([1.0, 1.0, 1.0]))
    >>> round(ratio.value, 3), ratio.influence.round(3)
    (0.667, array([ 0.333, -0.667,  0.333]))
    """
    value, below = numerator.value / denominator.value, denominator.value
    return smooth_estimate(lambda a, b: a / b, [1.0 / below, -value / below], [numerator, denominator])


def covariance(influences: ArrayLike, clusters: ArrayLike | None = None) -> Array:
    """Covariance matrix of estimates from their influence functions.

    Σ = G / (G - 1) · Σ_g (Σ_{i in g} ψ_i) (Σ_{i in g} ψ_i)' / n²

    By default every row is its own cluster. The matrix is valid if there are many independent clusters.

    Parameters
    ----------
    influences : array-like of shape (n_estimates, n_samples)
    clusters : array-like of shape (n_samples,), optional
        Cluster ids of any type: repeated cases, or decision-makers if assignment is clustered by them.

    Returns
    -------
    array of shape (n_estimates, n_estimates)

    Examples
    --------
    >>> influences = [mean_estimate([1.0, 1.0, 0.0, 0.0]).influence]
    >>> covariance(influences).round(4), covariance(influences, ["a", "a", "b", "b"])
    (array([[0.0833]]), array([[0.25]]))
    """
    influences = np.atleast_2d(np.asarray(influences, dtype=np.float64))
    n_samples = influences.shape[1]
    sums = influences
    if clusters is not None:
        _, code = np.unique(np.asarray(clusters), return_inverse=True)
        sums = np.stack([np.bincount(code, row) for row in influences])
    n_clusters = sums.shape[1]
    if n_clusters < 2:
        raise UndefinedError("a standard error needs two clusters or more, got one.", "cluster")
    return n_clusters / (n_clusters - 1) * sums @ sums.T / n_samples**2


def bootstrap_covariance(
    statistic: Callable[[Array], ArrayLike],
    n_samples: int,
    *,
    weights: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    n_draws: int = N_DRAWS,
    random_state: int | None = None,
) -> Array:
    """Covariance matrix of statistics of weighted rows, by a multiplier bootstrap.

    Each draw multiplies the weight of every row (or cluster) by an independent exponential variable with mean
    and variance one. No model is refitted: nuisance models are held fixed. Use it for statistics without a
    simple influence function, such as AUC.

    Parameters
    ----------
    statistic : callable
        Function from weights of shape (n_samples,) to an array of shape (n_statistics,).
    weights : array-like of shape (n_samples,), optional
    clusters : array-like of shape (n_samples,), optional

    Returns
    -------
    array of shape (n_statistics, n_statistics)

    Examples
    --------
    >>> values = np.arange(100.0)
    >>> error = bootstrap_covariance(lambda w: [np.average(values, weights=w)], 100, random_state=0) ** 0.5
    >>> error.round(1), round(values.std() / 10, 1)
    (array([[2.8]]), np.float64(2.9))
    """
    generator = np.random.default_rng(random_state)
    base = np.ones(n_samples) if weights is None else np.asarray(weights, dtype=np.float64)
    code = np.arange(n_samples)
    if clusters is not None:
        code = np.unique(np.asarray(clusters), return_inverse=True)[1]
    n_clusters = int(code.max()) + 1
    draws = [statistic(base * generator.standard_exponential(n_clusters)[code]) for _ in range(n_draws)]
    return np.atleast_2d(np.cov(np.asarray(draws, dtype=np.float64), rowvar=False))


def median_of_repeats(values: ArrayLike, errors: ArrayLike) -> tuple[float, float]:
    """Estimate and standard error from repeated cross-fitting.

    value = median_b θ̂_b,   error = √ median_b (s_b² + (θ̂_b - value)²)

    The standard error includes the variation due to the random split into folds.

    Parameters
    ----------
    values, errors : array-like of shape (n_repeats,)

    Examples
    --------
    >>> value, error = median_of_repeats([0.50, 0.52, 0.57], [0.03, 0.03, 0.03])
    >>> value, round(error, 4)
    (0.52, 0.0361)
    """
    values, errors = np.asarray(values, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if len(values) == 1:
        return float(values[0]), float(errors[0])
    value = float(np.median(values))
    return value, float(np.sqrt(np.median(errors**2 + (values - value) ** 2)))


def median_over_repeats(rows: Sequence[Sequence[float]]) -> list[float]:
    """Medians of several numbers over repeated cross-fitting, (n_repeats, n_numbers).

    Examples
    --------
    >>> median_over_repeats([[1.0, 5.0], [2.0, 5.0], [9.0, 6.0]])
    [2.0, 5.0]
    """
    if len(rows) == 1:  # usual, and a curve asks hundreds of times
        return [float(each) for each in rows[0]]
    return [float(each) for each in np.median(rows, axis=0)]


ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Evidence:
    """Scores of the class probabilities η(x) = lower(x) + Σ_S δ_S(x) v_S(x) + slack(x) v(x).

    v is any distribution over all classes, and v_S any distribution over the classes of the event S.

    Attributes
    ----------
    lower : (n_samples, n_classes) array
        Scores of the lower bounds, or of η itself if `slack` is zero.
    slack : (n_samples,) array
        Scores of the slack that any class can take; exactly zero where a point assumption identifies η.
    model : (n_samples, n_classes) array
        Predictions of `lower` by a model that was not fitted on the row. They are used to choose classes and
        cut-offs, not to average.
    laminar_scores : LaminarScores or None
        Scores of event slack δ_S, or of upper bounds on classes.
    shares : tuple of Share
        Known means over disjoint sets of rows.
    population : (n_samples,) array or None
        Weights of the rows that the shares refer to.
    clusters : (n_samples,) array or None
        Independent units, used to test whether a share is impossible or whether two solutions differ; None if
        every row is a unit.
    """

    lower: Array
    slack: Array
    model: Array
    laminar_scores: LaminarScores | None = None
    shares: tuple[Share, ...] = ()
    population: Array | None = None
    clusters: np.ndarray | None = None

    @classmethod
    def from_scores(cls, scores: Scores, point: bool) -> "Evidence":
        """Evidence from scores; with `point`, η is identified except in the rows that use bounds."""
        if not point:
            free = scores.slack
            if scores.laminar_scores is not None:
                free = free - scores.laminar_scores.values.sum(axis=1)
            return cls(scores.values, free, scores.plug_in, scores.laminar_scores)
        bounded = scores.by_bounds
        model = np.where(bounded[:, None], scores.plug_in, project_to_simplex(scores.plug_in))
        return cls(scores.values, np.where(bounded, scores.slack, 0.0), model)

    @classmethod
    def from_labels(cls, y: np.ndarray, n_classes: int) -> "Evidence":
        """Evidence from fully observed labels: the label itself is the score."""
        seen = (y[:, None] == np.arange(n_classes)).astype(float)
        return cls(seen, np.zeros(len(y)), seen)

    def with_shares(
        self, shares: tuple[Share, ...], population: Array, clusters: np.ndarray | None = None
    ) -> "Evidence":
        """Copy with known shares among rows with the given weights."""
        if not shares:
            return self
        return replace(self, shares=shares, population=population, clusters=clusters)

    def covariance(self, influences: Sequence[Array]) -> Array:
        """Covariance matrix of estimates from their influence functions, by rows or clusters."""
        return covariance(influences, self.clusters)

    def count_units(self, weights: Array) -> int:
        """Number of independent units with a positive weight."""
        (rows,) = np.nonzero(weights)
        return len(rows) if self.clusters is None else len(np.unique(self.clusters[rows]))

    @property
    def unit(self) -> Array | None:
        """For cells, the common row weight where scores are labels; None for rows."""
        return None

    @property
    def even(self) -> Array | None:
        """For cells, the common row weight where weights are equal; None for rows."""
        return None

    @property
    def times(self) -> Array | None:
        """For cells, the number of rows in each; None for rows."""
        return None

    @property
    def events(self) -> tuple[Event, ...]:
        """Events with slack of their own."""
        return () if self.laminar_scores is None else self.laminar_scores.events

    @property
    def event_slack(self) -> Array:
        """Scores of event slack, (n_samples, n_events)."""
        return np.zeros((len(self.slack), 0)) if self.laminar_scores is None else self.laminar_scores.values

    @cached_property
    def bounds(self) -> Bounds:
        """The model's identified set, realizable and repaired where it is empty."""
        if self.laminar_scores is not None and self.laminar_scores.ceiling_plug_in is not None:
            return repair(Bounds(self.model, self.laminar_scores.ceiling_plug_in))[0]
        if self.laminar_scores is not None:
            return self._laminar[0]
        room = np.maximum(1.0 - self.model.sum(axis=1, keepdims=True), 0.0)
        return repair(Bounds(self.model, self.model + room))[0]

    @cached_property
    def _box(self) -> Bounds:
        """The model's lower and upper bounds without tightening; repaired only where the set is empty.

        The scores correspond to the bounds before tightening. With tightened bounds, the slack would seem to
        be used up too early.
        """
        assert self.laminar_scores is not None
        assert self.laminar_scores.ceiling_plug_in is not None
        mended, crossed = repair(Bounds(self.model, self.laminar_scores.ceiling_plug_in))
        empty = crossed[:, None]
        return Bounds(
            np.where(empty, mended.lower, self.model),
            np.where(empty, mended.upper, self.laminar_scores.ceiling_plug_in),
        )

    @property
    def empty(self) -> np.ndarray:
        """Rows in which the model's identified set is empty, (n_samples,) bool."""
        if self.laminar_scores is None:
            return np.asarray(self.model.sum(axis=1) > 1.0 + ROUNDING)
        if self.laminar_scores.ceiling_plug_in is not None:
            return np.asarray(Bounds(self.model, self.laminar_scores.ceiling_plug_in).crossed)
        return self._laminar[1]

    @cached_property
    def _laminar(self) -> tuple[LaminarBounds, np.ndarray]:
        """The repaired bounds with slack of events, and the rows where their set is empty."""
        assert self.laminar_scores is not None
        return LaminarBounds.of(self.model, self.events, self.laminar_scores.plug_in).repaired()

    def extreme(self, gain: Array) -> Array:
        """Scores of the class probabilities with the largest Σ_k gain_k η_k, (n_samples, n_classes).

        All slack goes to the class with the largest gain, within its event. With upper bounds, classes are
        filled in the order of their gains, and the model determines which class takes the last of the slack.
        """
        gain = np.broadcast_to(gain, self.lower.shape[:2])
        if self.laminar_scores is None or self.laminar_scores.ceiling is None:
            return allocate_slack(self.lower, self.slack, gain, self.events, self.event_slack)
        order = np.argsort(-gain, axis=1, kind="stable")
        model = np.cumsum(np.take_along_axis(self._box.width, order, axis=1), axis=1)
        full = model < self._box.slack[:, None] - ROUNDING
        full[:, -1] = False
        width = np.take_along_axis(self.laminar_scores.ceiling - self.lower, order, axis=1) * full
        last = full.sum(axis=1)[:, None]
        np.put_along_axis(width, last, (self.slack - width.sum(axis=1))[:, None], axis=1)
        found = np.empty_like(self.lower)
        np.put_along_axis(found, order, np.take_along_axis(self.lower, order, axis=1) + width, axis=1)
        return found

    def evenly(self) -> Array:
        """Scores of the class probabilities with all slack spread evenly."""
        found = self.lower + self.slack[:, None] / self.lower.shape[1]
        for place, event in enumerate(self.events):
            found[:, list(event)] += self.event_slack[:, place, None] / len(event)
        return found

    def inside(self, weights: Array | None) -> Array:
        """Column with 1 for rows with a positive weight and 0 for the others."""
        if weights is None:
            return np.ones((len(self.slack), 1))
        return (np.asarray(by_row(weights)) > 0.0).astype(float)[:, None]


def count_scores(
    above: np.ndarray,
    below: np.ndarray,
    weights: ArrayLike | None,
    signed: bool = False,
    unit: np.ndarray | None = None,
) -> Counts | None:
    """Count rows if the scores are counts: values of -1, 0 and 1 among rows with equal weights.

    Parameters
    ----------
    above, below : (n_samples,) arrays
        Scores of the numerator and denominator of a ratio.
    weights : (n_samples,) array, optional
        Rows with weight zero are outside the population.
    unit : (n_cells,) array, optional
        For cells, whose scores are linear forms: the common row weight where scores are labels, otherwise -1.

    Returns
    -------
    Counts, or None if a score has another value or the weights differ

    Examples
    --------
    >>> count_scores(np.array([1.0, 0.0, 1.0]), np.ones(3), None)
    Counts(plus=2, minus=0, trials=3, signed=False)
    >>> count_scores(np.array([1.0, 0.0, 0.5]), np.ones(3), None) is None
    True
    """
    if above.ndim > 1:
        return _count_cells(above, below, np.asarray(weights, dtype=float), signed, unit)
    size = np.abs(above) if signed else above
    outside: np.ndarray | bool = False
    if weights is not None:
        given = np.asarray(weights, dtype=float)
        outside = ~(given > 0.0)
        if not ((given == given.max()) | outside).all():
            return None
    # Masks instead of copies, one after the other: most scores are no counts, and are read once.
    if not all(((each == 0.0) | (each == 1.0) | outside).all() for each in (size, below)):
        return None
    inside = ~outside if isinstance(outside, np.ndarray) else np.ones(len(below), dtype=bool)
    if ((size > below) & inside).any():
        return None
    found = [int(np.count_nonzero(each & inside)) for each in (above > 0.0, above < 0.0, below > 0.0)]
    return Counts(found[0], found[1], found[2], signed)


def _count_cells(
    above: np.ndarray, below: np.ndarray, weights: np.ndarray, signed: bool, unit: np.ndarray | None
) -> Counts | None:
    """Count the rows of cells: each row belongs to one part, and each part has a score of 0, 1 or -1."""
    inside = weights.any(axis=1)
    if unit is None or not inside.any() or not (unit[inside] == max(unit[inside][0], 0.0)).all():
        return None
    possible = (0.0, 1.0, -1.0) if signed else (0.0, 1.0)
    above, below, rows = above[inside], below[inside], weights[inside] / unit[inside][0]
    if not (np.isin(below, (0.0, 1.0)).all() and np.isin(above, possible).all()):
        return None
    if (np.abs(above) > below).any():
        return None
    found = [round(float(rows[which].sum())) for which in (above > 0.0, above < 0.0, below > 0.0)]
    return Counts(found[0], found[1], found[2], signed)
