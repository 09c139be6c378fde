"""Clustering, and the standard errors and correlation of two estimated bounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from selective_labels._errors import InputError
from selective_labels._validation import effective_sample_size, require_choice
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.identification.bounds import Array
from selective_labels.inference.evidence import (
    Ends,
    Estimate,
    covariance,
    median_of_repeats,
    median_over_repeats,
)
from selective_labels.inference.exact_intervals import Counts

GROUPS, DECISION_MAKER, ROWS = "groups", "decision_maker", "none"


def choose_clusters(cluster: str | None, data: SelectiveLabels) -> str | None:
    """Resolve the argument `cluster`; the default None clusters by groups of repeated cases, if any.

    Returns
    -------
    "groups", "decision_maker", or None if every row is its own unit

    Examples
    --------
    >>> data = SelectiveLabels.from_arrays([[1], [2]], [0, 1], decision_maker=["a", "b"], groups=[7, 7])
    >>> choose_clusters(None, data), choose_clusters("none", data)
    ('groups', None)
    """
    if cluster is None:
        return None if data.groups is None else GROUPS
    require_choice("cluster", cluster, (GROUPS, DECISION_MAKER, ROWS))
    if cluster == GROUPS and data.groups is None:
        raise InputError("cluster='groups' needs groups.", "cluster")
    if cluster == ROWS and data.panels is not None:
        raise InputError(
            "cluster='none' takes rows as independent, and with share_labels=True the rows of a case have "
            "one label; leave cluster out.",
            "cluster",
        )
    return None if cluster == ROWS else cluster


def cluster_codes(cluster: str | None, data: SelectiveLabels) -> np.ndarray | None:
    """Cluster of each row; None if every row is its own cluster."""
    if cluster == GROUPS:
        return data.groups
    return data.decision_maker_codes if cluster == DECISION_MAKER else None


# Smallest effective number of units: a variance needs at least two.
FEWEST = 2.0
# Kurtosis of normal influences, for which Student's factor with all units is exact.
NORMAL_KURTOSIS = 3.0
# Tolerance for rounding in sums of doubles.
ROUNDING = 1e-12


@dataclass(frozen=True)
class ComparedNumbers:
    """Effective numbers (Kish) of the units that two bounds rest on: events and other rows, for a separation.

    Attributes
    ----------
    lower, upper : tuple of float
        Numbers behind either bound.
    span : pair of float
        Possible values.
    fewest : float
        Smallest number with which an interval is reported.

    Examples
    --------
    >>> few = ComparedNumbers((4.0, 96.0), (4.0, 96.0), (0.0, 1.0), 10.0)
    >>> few.too_few
    'an interval of an AUC needs ten events and ten other cases or more, and there are effectively 4
    and 96.'
    """

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    span: tuple[float, float]
    fewest: float

    @property
    def too_few(self) -> str | None:
        """Reason why there is no interval; None if a bound rests on enough events and other rows."""
        better = max(self.lower, self.upper, key=min)
        if min(better) >= self.fewest * (1.0 - ROUNDING):
            return None
        events, others = (int(min(better[kind::2]) * (1.0 + ROUNDING)) for kind in (0, 1))
        return (
            "an interval of an AUC needs ten events and ten other cases or more, and there are effectively "
            f"{events:,} and {others:,}."
        )


def kish_numbers(pair: Ends, number: Callable[[Array], float], clustered: bool) -> list[tuple[float, ...]]:
    """Effective numbers of the units in the samples behind each bound.

    number = (Σ_g m_g)² / Σ_g m_g²,   m_g the mass of unit g

    Empty for means over all rows, and where counts of rows give exact limits. Rows of clusters are not
    independent, so there counts say nothing.
    """
    exact = not clustered and all(end.counts is not None for end in pair)
    return [
        () if exact or end.compared is None else tuple(number(each) for each in end.compared.masses)
        for end in pair
    ]


def unseen_error(end: Estimate, variance: float, numbers: Sequence[float]) -> float:
    """Standard error due to units unlike any in the sample.

    error² = unseen Σ_j 1 / (N_j (N_j + 1)),   at most (θ - low) (high - θ) / N - variance

    with N_j units in sample j, N the smallest of these, and θ half a unit inside the span if it is closer.
    The first expression is the additional variance if each sample had one unit more, unlike the others. The
    second makes the sum the largest possible variance of a mean of N values between low and high. Without
    this error, intervals of AUC cover .49 instead of .95 with ten events, because ten ranks that happen to
    be alike seem to have no variance.
    """
    if not numbers or end.compared is None:
        return 0.0
    least, (low, high) = max(min(numbers), FEWEST), end.compared.span
    unseen = end.compared.unseen * sum(1.0 / (each * (each + 1.0)) for each in numbers)
    half = 0.5 * (high - low) / least
    inside = float(np.clip(end.value, low + half, high - half))
    room = (inside - low) * (high - inside) / least - variance
    return float(np.sqrt(max(min(unseen, room), 0.0)))


@dataclass(frozen=True)
class BoundStandardErrors:
    """Two estimated bounds, with the inputs of a confidence interval.

    Attributes
    ----------
    lower, upper : float
        Estimated bounds.
    errors : pair of float
        Standard errors; NaN with fewer than two units.
    correlation : float
        Correlation of the two estimated bounds.
    n_clusters : int
        Number of independent units: rows or clusters.
    n_units : float
        Effective number of units given their weights (Kish).
    effective : pair of float
        Number of units that carry the variance of each bound, see :func:`effective_number`.
    supports : pair of float
        Share of the units that each bound uses.
    counts : pair of Counts or None
        Counts for exact intervals, if scores are labels.
    coarse : float
        Amount by which the bounds were moved outwards because scores were binned.
    compared : ComparedNumbers or None
        Numbers of units behind rates among some rows, and behind separations such as AUC.
    """

    lower: float
    upper: float
    errors: tuple[float, float]
    correlation: float
    n_clusters: int
    clustered: bool = False
    n_units: float = float("nan")
    effective: tuple[float, float] = (float("inf"), float("inf"))
    supports: tuple[float, float] = (1.0, 1.0)
    counts: tuple[Counts | None, Counts | None] = (None, None)
    coarse: float = 0.0
    compared: ComparedNumbers | None = None

    def widened(self, confidence_level: float = 0.95) -> tuple[float, float]:
        """Standard errors that give a normal interval the length of Student's t interval."""
        low, high = (few_clusters_factor(each, confidence_level) for each in self.effective)
        return low * self.errors[0], high * self.errors[1]


def bound_standard_errors(
    ends: Sequence[Ends], rows: np.ndarray, clusters: np.ndarray | None, weights: Array | None = None
) -> BoundStandardErrors:
    """Compute the standard errors of two bounds, with medians over repeats of cross-fitting.

    Parameters
    ----------
    ends : sequence of pairs of estimates
        One pair for each repeat of cross-fitting.
    rows : (n_samples,) bool array
        Rows that the bounds concern. The number of units among them widens standard errors.
    clusters : (n_samples,) int array or None
        Independent units; None if every row is a unit.
    weights : (n_samples,) array, optional

    Examples
    --------
    >>> from selective_labels.inference.evidence import mean_estimate
    >>> scores = np.array([0.0, 1.0, 1.0, 0.0])
    >>> low, high = mean_estimate(scores), mean_estimate(scores + 0.1)
    >>> spread = bound_standard_errors([(low, high)], np.ones(4, dtype=bool), None)
    >>> spread.lower, round(spread.correlation, 3), spread.n_clusters, spread.effective
    (0.5, 1.0, 4, (4.0, 4.0))
    """
    codes = None if clusters is None else np.unique(clusters, return_inverse=True)[1]
    n_all = len(rows) if codes is None else int(codes.max()) + 1
    n_clusters = int(np.count_nonzero(rows if codes is None else np.bincount(codes[rows])))
    values = np.array([[end.value for end in pair] for pair in ends])
    n_units = effective_sample_size(rows * (np.ones(len(rows)) if weights is None else weights), codes)
    if n_clusters < FEWEST:
        low, high = np.median(values, axis=0).tolist()
        nothing = float("nan"), float("nan")
        return BoundStandardErrors(low, high, nothing, 1.0, n_clusters, clusters is not None, n_units)
    # Rows outside `rows` have zero influence, so the degrees-of-freedom correction counts only these units.
    lost = n_clusters / (n_clusters - 1) * (n_all - 1) / n_all
    matrices = [lost * covariance([end.influence for end in pair], clusters) for pair in ends]
    numbers = [[effective_number(end.influence, codes, n_units) for end in pair] for pair in ends]

    def number(mass: Array) -> float:
        return effective_sample_size(mass if codes is None else np.bincount(codes, mass))

    compared = [kish_numbers(pair, number, clusters is not None) for pair in ends]
    return summed_up(ends, matrices, numbers, n_clusters, clusters is not None, n_units, compared)


def summed_up(
    ends: Sequence[Ends],
    matrices: Sequence[Array],
    numbers: Sequence[Sequence[float]],
    n_clusters: int,
    clustered: bool,
    n_units: float,
    compared: Sequence[Sequence[tuple[float, ...]]],
) -> BoundStandardErrors:
    """Combine bounds, covariance matrices and effective numbers, with medians over repeats.

    The effective number of a rate is at most that of the rows in its condition. That of a separation is that
    of events or of other rows, whichever is smaller: their unseen rows have an error of their own.
    """
    values = np.array([[end.value for end in pair] for pair in ends])
    matrices = [
        matrix + _outside(pair) + _unseen(pair, matrix, kinds)
        for matrix, pair, kinds in zip(matrices, ends, compared, strict=True)
    ]
    numbers = [
        [
            min(kind) if len(kind) > 1 else min(number, *kind, np.inf)
            for kind, number in zip(*both, strict=True)
        ]
        for both in zip(compared, numbers, strict=True)
    ]
    errors = np.sqrt([np.diag(matrix) for matrix in matrices])
    lower, upper = (median_of_repeats(values[:, end], errors[:, end]) for end in (0, 1))
    effective = [max(each, FEWEST) for each in median_over_repeats(numbers)]
    supports = median_over_repeats([[end.support for end in pair] for pair in ends])
    return BoundStandardErrors(
        lower=lower[0],
        upper=upper[0],
        errors=(lower[1], upper[1]),
        correlation=median_over_repeats([[each] for each in map(_correlation, matrices, values)])[0],
        n_clusters=n_clusters,
        clustered=clustered,
        n_units=n_units,
        effective=(effective[0], effective[1]),
        supports=(supports[0], supports[1]),
        counts=(None, None) if clustered else (_common(ends, 0), _common(ends, 1)),
        compared=_compared_numbers(ends[0], compared),
    )


def _compared_numbers(pair: Ends, compared: Sequence[Sequence[tuple[float, ...]]]) -> ComparedNumbers | None:
    """Median over repeats of the numbers of events and of other rows."""
    about = pair[0].compared
    if about is None or not all(kinds for repeat in compared for kinds in repeat):
        return None
    lower, upper = (tuple(np.median(each, axis=0).tolist()) for each in zip(*compared, strict=True))
    return ComparedNumbers(lower, upper, about.span, about.fewest)


def _unseen(pair: Ends, matrix: Array, numbers: Sequence[tuple[float, ...]]) -> Array:
    """Covariance of the two bounds that is due to units unlike any in the sample."""
    moved = [unseen_error(*each) for each in zip(pair, np.diag(matrix).tolist(), numbers, strict=True)]
    return np.outer(moved, moved)


def effective_number(influence: Array, codes: np.ndarray | None, n_units: float) -> float:
    """Effective number of units that carry the variance of an estimate.

    m = (Σ_g s_g²)² / Σ_g s_g⁴,   s_g the influence of unit g;   number = m (1 + 2 min(1, 3m/n)²)

    The number is at least two and at most n. m is n divided by the kurtosis of the influences. For normal
    influences (kurtosis 3), Student's t with n - 1 degrees of freedom is exact, and the number is n. If a few
    of many units carry all the variance, for instance when two classifiers differ in four rows, the number is
    m.

    Examples
    --------
    >>> few = np.r_[np.ones(4), np.zeros(996)]
    >>> round(effective_number(few, None, 1000), 2)
    4.0
    >>> effective_number(np.array([1.0, -1.0, 1.0, -1.0]), np.arange(4), 4)
    4.0
    """
    largest = np.abs(influence).max()
    if not largest > ROUNDING:  # no variance
        return max(n_units, FEWEST)
    sums = influence / largest if codes is None else np.bincount(codes, influence / largest)
    squares = sums**2
    return number_of_carriers(squares.sum() ** 2 / float(squares @ squares), n_units)


def number_of_carriers(carrying: float, n_units: float) -> float:
    """Effective number of units from m = (Σ_g s_g²)² / Σ_g s_g⁴; see :func:`effective_number`."""
    like_normal = min(1.0, NORMAL_KURTOSIS * carrying / n_units) ** 2
    number = carrying * (1.0 + (NORMAL_KURTOSIS - 1.0) * like_normal)
    return float(max(min(number, n_units), FEWEST))


def _outside(pair: Ends) -> Array:
    """Covariance of the two bounds that is due to the errors of external numbers."""
    size = max(len(end.outside) for end in pair)
    moved = np.array([end.outside or (0.0,) * size for end in pair])
    return moved @ moved.T


def _common(ends: Sequence[Ends], end: int) -> Counts | None:
    """Counts, if they are the same in all repeats."""
    found = {pair[end].counts for pair in ends}
    return found.pop() if len(found) == 1 else None


def _correlation(matrix: Array, values: Array) -> float:
    """Correlation of the two bounds; one if a bound varies by no more than rounding."""
    if (np.diag(matrix) <= (ROUNDING * np.maximum(np.abs(values), 1.0)) ** 2).any():
        return 1.0
    return float(matrix[0, 1] / np.sqrt(matrix[0, 0] * matrix[1, 1]))


def few_clusters_factor(n_clusters: float, confidence_level: float = 0.95) -> float:
    """Factor on standard errors when few rows or clusters carry the variance.

    t_{G-1, 1-α/2} / z_{1-α/2}

    The factor matters below about forty units. Below ten, treat the interval as a rough guide. G need not be
    an integer: see :func:`selective_labels.inference.standard_errors.effective_number`.

    Examples
    --------
    >>> round(few_clusters_factor(8), 3), round(few_clusters_factor(10_000), 3)
    (1.206, 1.0)
    """
    tail = (1.0 + confidence_level) / 2.0
    return float(stdtrit(n_clusters - 1, tail) / ndtri(tail))
