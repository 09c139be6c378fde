"""Score formulas: per-row quantities whose means are bounds or values of the population, and their inputs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from selective_labels.identification.event_bounds import LaminarScores
from selective_labels.identification.point import slope, two_fold_moments

# An arm within this many standard errors of the best one is pooled with it.
CLOSE = 1.5
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class ArmShares:
    """Rate of each observed class in each arm, minus its expectation given the cases.

    Attributes
    ----------
    values, variances : (n_arms, n_classes) arrays
        Shrunken rates and their posterior variances.
    rows : (n_arms,) array
        Number of rows of each arm.
    """

    values: np.ndarray
    variances: np.ndarray
    rows: np.ndarray

    def near_best(self, within: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Arms that are statistically indistinguishable from the best of their set, for each class.

        Parameters
        ----------
        within : (n_sets, n_arms) bool array
            Sets of arms.

        Returns
        -------
        (n_sets, n_arms, n_classes) bool array
        (n_sets,) array
            Loss relative to using only the best arm of each class, summed over classes.

        Examples
        --------
        >>> arms = ArmShares(np.array([[0.3], [0.1], [0.0]]), np.full((3, 1), 1e-4), np.ones(3))
        >>> members, lost = arms.near_best(np.array([[True, True, True], [False, True, True]]))
        >>> members[:, :, 0].tolist()
        [[True, False, False], [False, True, False]]
        """
        seen = (within & (self.rows > 0.0))[:, :, None]
        best = np.where(seen, self.values, -np.inf).argmax(axis=1)[:, None]
        value, variance = (
            np.take_along_axis(np.broadcast_to(each, (len(within), *each.shape)), best, axis=1)
            for each in (self.values, self.variances)
        )
        members = seen & (self.values >= value - CLOSE * np.sqrt(self.variances + variance) - ROUNDING)
        rows = members * self.rows[:, None]
        pooled = (rows * self.values).sum(axis=1) / np.maximum(rows.sum(axis=1), 1.0)
        # The mean of a pool is at most its best value; clip rounding errors.
        lost = np.maximum(value[:, 0] - pooled, 0.0).sum(axis=1)
        return members, np.where(seen.any(axis=(1, 2)), lost, 0.0)


@dataclass(frozen=True, eq=False)
class Pools:
    """Pool of arms that bounds each class.

    Attributes
    ----------
    members : (n_arms, n_classes) bool array
    lost : float
        Extra width of the bounds relative to using only the best arm of each class, estimated from the
        shrunken rates. This is the price of a selector that does not follow noise.
    arms : ArmShares or None
        Rates by which the members were chosen.
    """

    members: np.ndarray
    lost: float
    arms: ArmShares | None = None

    def among(self, arms: np.ndarray) -> "Pools":
        """Pools of rows that can reach these arms only."""
        known = self.arms
        if known is not None:
            known = ArmShares(known.values[arms], known.variances[arms], known.rows[arms])
        return Pools(self.members[arms], self.lost, known)

    def of_rows(self, propensity: np.ndarray, overlap: float) -> tuple[np.ndarray, np.ndarray]:
        """Members for each row, (n_samples, n_arms, n_classes), and the extra width, (n_samples,).

        These are the members of the pool. Where the case hardly ever goes to any of them (for example in
        another stratum), they are the arms near the best of those that the case does go to.

        Parameters
        ----------
        propensity : (n_samples, n_arms) array
        overlap : float

        Examples
        --------
        >>> arms = ArmShares(np.array([[0.3], [0.1], [0.0]]), np.full((3, 1), 1e-4), np.ones(3))
        >>> pools = Pools(np.array([[True], [False], [False]]), 0.0, arms)
        >>> pools.of_rows(np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]), 0.01)[0][:, :, 0].tolist()
        [[True, False, False], [False, True, False]]
        """
        n_samples = len(propensity)
        members = np.broadcast_to(self.members, (n_samples, *self.members.shape))
        lost = np.full(n_samples, self.lost)
        reached = propensity @ self.members >= overlap
        if self.arms is None or reached.all():
            return members, lost
        sets, place = np.unique(propensity >= overlap, axis=0, return_inverse=True)
        others, others_lost = self.arms.near_best(sets)
        lost = np.where(reached.all(axis=1), lost, others_lost[place])
        return np.where(reached[:, None, :], members, others[place]), lost


@dataclass(frozen=True, eq=False)
class HeldOutPredictions:
    """Held-out predictions of a sample of rows, used to compare arms on average.

    Attributes
    ----------
    joint : (n_arms, n_samples, n_classes + 1) array
    propensity : (n_samples, n_arms) array
    arms : (n_kept,) int array or None
        The arms of the rows to be scored, if these are not all arms.
    """

    joint: np.ndarray
    propensity: np.ndarray
    arms: np.ndarray | None = None


# No inverse probability weight exceeds 1 / OVERLAP.
OVERLAP = 0.01
# Smallest variance of leniency (a standard deviation of three points) for a slope from known probabilities.
# It is also the shrinkage of a slope towards the class probabilities of labeled cases, before its score.
WEAKEST_STRENGTH = 1e-3
# Smallest squared t-value of the first stage for a slope, computed as if all rows were like this one.
LEAST_CONCENTRATION = 25.0


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of the classes, row by row.

    Attributes
    ----------
    values : (n_samples, n_classes) array
        Noisy but (nearly) unbiased: the mean of c(X) values_k estimates E[c(X) lower_k(X)] for any function
        c, or E[c(X) η_k(X)] under a point assumption. Single values may lie outside [0, 1].
    plug_in : (n_samples, n_classes) array
        Held-out predicted probabilities. Use them to choose a class or a threshold, because the choice is
        then independent of the noise in the scores. Do not average them.
    clipped : (n_samples,) bool array
        Rows with too small a denominator: an arm was left out of the maximum, or the denominator was clipped.
    bounded : (n_samples,) bool array or None
        Rows scored by bounds although the assumption identifies a value; None if there are none.
    lost : (n_samples,) array or None
        Extra width of the row's bounds because arms were pooled; None if zero in every row.
    laminar_scores : LaminarScores or None
        Scores of event slack or of upper bounds.
    """

    values: np.ndarray
    plug_in: np.ndarray
    clipped: np.ndarray
    bounded: np.ndarray | None = None
    lost: np.ndarray | None = None
    laminar_scores: LaminarScores | None = None

    @property
    def slack(self) -> np.ndarray:
        """Slack 1 - Σ_k values_k, (n_samples,): zero (up to rounding) where a value is identified."""
        return 1.0 - self.values.sum(axis=1)

    @property
    def by_bounds(self) -> np.ndarray:
        """`bounded` as an array, (n_samples,); None becomes False."""
        return np.zeros(len(self.values), dtype=bool) if self.bounded is None else self.bounded

    @property
    def sharpness_lost(self) -> np.ndarray:
        """`lost` as an array, (n_samples,); None becomes zero."""
        return np.zeros(len(self.values)) if self.lost is None else self.lost


@dataclass(frozen=True, eq=False)
class LabelRange:
    """lowest_k <= P(Y*=k | x, u) <= highest_k for every unobserved u; (n_samples, n_classes) arrays."""

    lowest: np.ndarray
    highest: np.ndarray

    def take(self, rows: np.ndarray) -> "LabelRange":
        """Return the range of the given rows."""
        return LabelRange(self.lowest[rows], self.highest[rows])


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with the held-out predictions and data that scores need.

    Attributes
    ----------
    first, second : (n_arms, n_samples, n_classes + 1) arrays
        Joint probabilities, the unlabeled class first, by models of two disjoint halves; the same array twice
        if there is one model.
    arm : (n_samples,) int array
    y : (n_samples,) int array
        Label codes, -1 if unobserved.
    propensity : (n_samples, n_arms) array
    lead : (n_samples, n_arms) array or 0
        See :func:`required_lead`.
    label_range : LabelRange or None
        Known range of the class probabilities.
    n_units : float
        Number of independent units (rows, or groups of rows) behind the models and scores; infinite if the
        probabilities are known.
    n_fitted : float
        Number of rows that the models were fitted to.
    pools : Pools or None
        Pool of arms that bounds each class; None to use the best arm of each row, subject to `lead`.
    probe : callable or None
        Returns a sample of rows to compare arms on; None to use these rows.
    classes : array or None
        Labels of the classes; None if the codes are the labels.
    accepted : (n_samples,) bool array or None
        D, where the label of an accepted case may be unobserved; None if D = 1 wherever a label is observed.
    """

    first: np.ndarray
    second: np.ndarray
    arm: np.ndarray
    y: np.ndarray
    propensity: np.ndarray
    lead: np.ndarray | float
    label_range: LabelRange | None = None
    n_units: float = np.inf
    n_fitted: float = np.inf
    pools: Pools | None = None
    probe: Callable[[], HeldOutPredictions] | None = None
    classes: np.ndarray | None = None
    accepted: np.ndarray | None = None

    @property
    def decided(self) -> np.ndarray:
        """D, (n_samples,) bool."""
        return self.y >= 0 if self.accepted is None else self.accepted

    @cached_property
    def joint(self) -> np.ndarray:
        """Mean of the two models."""
        return self.first if self.first is self.second else (self.first + self.second) / 2.0

    @cached_property
    def labeled(self) -> np.ndarray:
        """P(D=1, Y=k | x), (n_samples, n_classes)."""
        return average_over_arms(self.joint, self.propensity)


def manski_scores(y: np.ndarray, labeled: np.ndarray) -> Scores:
    """Score of the lower bound without an instrument.

    φ_k = D Y_k,   E[φ_k | x] = P(D=1, Y=k | x) <= η_k(x)

    This is Manski's worst case: it needs no assumption and no model. Only `plug_in` comes from a model.

    Parameters
    ----------
    y : (n_samples,) int array
        Label codes, -1 if unobserved.
    labeled : (n_samples, n_classes) array
        Estimates of P(D=1, Y=k | x).

    Examples
    --------
    >>> manski_scores(np.array([1, -1]), np.array([[0.2, 0.4], [0.3, 0.3]])).values
    array([[0., 1.],
           [0., 0.]])
    """
    return Scores(seen_labels(y, labeled.shape[1]), labeled, np.zeros(len(y), dtype=bool))


def envelope_scores(
    joint: np.ndarray,
    arm: np.ndarray,
    y: np.ndarray,
    propensity: np.ndarray,
    lead: np.ndarray | float = 0.0,
    overlap: float = OVERLAP,
) -> Scores:
    """Score of the lower bound with an instrument.

    φ_k = p̂_kẑ(x) + 1{Z=ẑ} / e_ẑ(x) · (D Y_k - p̂_kẑ(x)),   ẑ = ẑ_k(x) = argmax_z [p̂_kz(x) - lead_z(x)]

    This is the envelope score. It is doubly robust: given the selector ẑ, if e or p̂ is correct,
    E[φ_k | x] = p_kẑ(x) <= max_z p_kz(x). A wrong selector makes the averaged bound wider but not invalid.
    The score is exact to first order where the best arm is separated from the next. Where arms tie, the
    selector does not converge and standard errors are too small. Few arms (leniency bands) and a lead make
    this harmless.

    An arm is selected only where e_z(x) >= `overlap`, or where e_z(x) is the largest. Leaving an arm out of
    the maximum keeps the bound valid, while a tiny propensity score would make it very imprecise.

    Parameters
    ----------
    joint : (n_arms, n_samples, n_classes + 1) array
        Held-out joint probabilities, the unlabeled class first.
    arm : (n_samples,) int array
    y : (n_samples,) int array
        Label codes, -1 if unobserved.
    propensity : (n_samples, n_arms) array
    lead : (n_samples, n_arms) array or 0
        See :func:`required_lead`.
    overlap : float
        In (0, 1).

    Examples
    --------
    >>> joint = np.array([[[0.6, 0.1, 0.3]], [[0.2, 0.3, 0.5]]])
    >>> propensity = np.array([[0.5, 0.5]])
    >>> envelope_scores(joint, np.array([1]), np.array([1]), propensity).values
    array([[-0.3,  1.5]])
    >>> envelope_scores(joint, np.array([0]), np.array([1]), propensity).values
    array([[0.3, 0.5]])
    """
    return envelope(joint[:, :, 1:], seen_labels(y, joint.shape[2] - 1), arm, propensity, lead, overlap)


def envelope(
    chance: np.ndarray,
    seen: np.ndarray,
    arm: np.ndarray,
    propensity: np.ndarray,
    lead: np.ndarray | float = 0.0,
    overlap: float = OVERLAP,
) -> Scores:
    """Envelope scores of any events; `chance` is (n_arms, n_samples, n_events), `seen` their indicators.

    See :func:`envelope_scores`, where the events are the labels.
    """
    allowed = allowed_arms(propensity, overlap)
    handicap = np.where(allowed, lead, np.inf).T[:, :, None]
    best = (chance - handicap).argmax(axis=0)
    plug_in = np.take_along_axis(chance, best[None], axis=0)[0]
    weight = (arm[:, None] == best) / np.take_along_axis(propensity, best, axis=1)
    values = plug_in + weight * (seen - plug_in)
    return Scores(values, plug_in, np.any(~allowed, axis=1))


def required_lead(
    propensity: np.ndarray, leniency: np.ndarray, n_samples: float, overlap: float = OVERLAP
) -> np.ndarray:
    """Lead that an arm needs over the most lenient arm to be selected instead of it.

    lead_z(x) = √((1 / e_z(x) + 1 / e_d(x)) / n),   lead_d = 0,

    where d = d(x) is the most lenient arm available to the case.

    The lead is two standard errors of the difference of two shares near one half. Under monotonicity (a
    stricter decision-maker accepts a case only if a more lenient one does), d is the best arm for every
    class, and other arms appear better only by sampling error. Without monotonicity the bound is too wide by
    at most the lead, which vanishes as n grows.

    Parameters
    ----------
    propensity : (n_samples, n_arms) array
    leniency : (n_arms,) array
        Mean probability of a favourable decision, or any non-negative numbers in the same order.
    n_samples : int
        Number of rows that the probabilities were estimated from.
    overlap : float

    Returns
    -------
    (n_samples, n_arms) array

    Examples
    --------
    >>> required_lead(np.array([[0.5, 0.5]]), np.array([0.3, 0.7]), 400)
    array([[0.1, 0. ]])
    """
    allowed = allowed_arms(propensity, overlap)
    most_lenient = np.where(allowed, leniency, -1.0).argmax(axis=1)[:, None]
    inverse = 1.0 / np.where(allowed, propensity, 1.0)
    lead = np.sqrt((inverse + np.take_along_axis(inverse, most_lenient, axis=1)) / n_samples)
    np.put_along_axis(lead, most_lenient, 0.0, axis=1)
    return lead


def aipw_scores(labeled: np.ndarray, y: np.ndarray, overlap: float = OVERLAP) -> Scores:
    """Score of the class probabilities under unconfoundedness given the features.

    φ_k = μ_k(x) + D / π(x) · (1{Y=k} - μ_k(x)),   π = Σ_k P(D=1, Y=k | x),   μ_k = P(D=1, Y=k | x) / π

    Augmented inverse probability weighting: under D ⟂ Y* | X, E[φ_k | x] = η_k(x) if π or μ is correct.
    Scores sum to one over the classes. In the weight, π is clipped below at `overlap`.

    Parameters
    ----------
    labeled : (n_samples, n_classes) array
        Held-out estimates of P(D=1, Y=k | x).
    y : (n_samples,) int array
        Label codes, -1 if unobserved.
    overlap : float
        In (0, 1).

    Examples
    --------
    >>> aipw_scores(np.array([[0.1, 0.4], [0.1, 0.4]]), np.array([1, -1])).values
    array([[-0.2,  1.2],
           [ 0.2,  0.8]])
    """
    decided = labeled.sum(axis=1, keepdims=True)
    uniform = np.full_like(labeled, 1.0 / labeled.shape[1])
    posterior = np.divide(labeled, decided, out=uniform, where=decided > 0.0)
    weight = (y >= 0)[:, None] / np.maximum(decided, overlap)
    values = posterior + weight * (seen_labels(y, labeled.shape[1]) - posterior)
    return Scores(values, posterior, decided[:, 0] < overlap)


def slope_scores(
    first: np.ndarray,
    second: np.ndarray,
    arm: np.ndarray,
    y: np.ndarray,
    propensity: np.ndarray,
    weakest: np.ndarray | float = WEAKEST_STRENGTH,
) -> Scores:
    """Score of the class probabilities under no unmeasured common effect modifier (NUCEM).

    ψ_k = η̃_k + f / V · (D Y_k - m_k - η̃_k (D - m_D)),
    f = λ_Z - Σ_z e_z λ_z,   V = Σ_z e_z f_z λ_z,   m_k = Σ_z e_z p_kz,   m_D = Σ_k m_k

    The score is multiply robust: under p_kz = κ_k + η_k λ_z (Proposition A.1, E4b), E[ψ_k | x] = η_k(x) if
    e and V are correct (for any η̃ and m), or if η̃_k and m_k - η̃_k m_D are correct (for any f and V).
    Scores sum to one over the classes. V and η̃ are two-fold moments of models of disjoint halves, so that
    noise does not count as instrument strength.

    Where V < `weakest` there is no score. The row is marked as bounded, its values are η̃, and bounds replace
    them (:func:`selective_labels.nuisance.envelope.slope_or_bound_scores`). Clipping V instead would shrink
    the score to η̃, and so to the class probabilities of labeled cases. Standard errors would not reflect it.

    Parameters
    ----------
    first, second : (n_arms, n_samples, n_classes + 1) arrays
        Held-out joint probabilities by two models that were fitted to disjoint rows.
    arm : (n_samples,) int array
    y : (n_samples,) int array
        Label codes, -1 if unobserved.
    propensity : (n_samples, n_arms) array
    weakest : (n_samples,) array or float
        Positive; see :func:`required_strength`.

    Examples
    --------
    >>> joint = np.array([[[0.6, 0.1, 0.3]], [[0.2, 0.3, 0.5]]])
    >>> slope_scores(joint, joint, np.array([1]), np.array([1]), np.array([[0.5, 0.5]])).values.round(1)
    array([[-1.5,  2.5]])
    """
    moments = two_fold_moments(first, second, propensity.T)
    posterior = slope(moments.covariance, moments.strength, moments.selected, shrinkage=WEAKEST_STRENGTH)
    joint = (first + second) / 2.0
    mean = average_over_arms(joint, propensity)
    decision, mean_decision = (y >= 0)[:, None], mean.sum(axis=1, keepdims=True)
    contrast = 1.0 - joint[arm, np.arange(len(y)), :1] - mean_decision
    weak = moments.strength < weakest
    leverage = np.where(weak, 0.0, contrast[:, 0] / np.where(weak, 1.0, moments.strength))[:, None]
    residual = seen_labels(y, mean.shape[1]) - mean - posterior * (decision - mean_decision)
    return Scores(posterior + leverage * residual, posterior, np.zeros(len(y), dtype=bool), weak)


def required_strength(decided: np.ndarray, n_units: float) -> np.ndarray:
    """Smallest variance of leniency at which the slope of a row is used.

    V(x) >= 25 m_D(x) (1 - m_D(x)) / n

    n V / (m_D (1 - m_D)) is the concentration (squared t-value of the first stage) of n rows like this one.
    The error of an estimated V is also of order m_D (1 - m_D) / n. If decision-makers do not differ, at most
    about one row in a hundred therefore passes by noise. From a concentration of 25 on, a t-interval for a
    ratio has about its nominal coverage. Known probabilities (infinite n) need `WEAKEST_STRENGTH`.

    Parameters
    ----------
    decided : (n_samples,) array
        m_D = P(D=1 | x).
    n_units : float

    Examples
    --------
    >>> required_strength(np.array([0.5, 0.1]), 2500)
    array([0.0025, 0.0009])
    """
    if np.isinf(n_units):
        return np.full(len(decided), WEAKEST_STRENGTH)
    return np.maximum(LEAST_CONCENTRATION * decided * (1.0 - decided) / n_units, np.finfo(float).tiny)


def average_over_arms(joint: np.ndarray, propensity: np.ndarray) -> np.ndarray:
    """P(D=1, Y=k | x) = Σ_z e_z(x) p_kz(x), (n_samples, n_classes).

    Examples
    --------
    >>> joint = np.array([[[0.6, 0.1, 0.3]], [[0.2, 0.3, 0.5]]])
    >>> average_over_arms(joint, np.array([[0.5, 0.5]]))
    array([[0.2, 0.4]])
    """
    return np.einsum("na,ank->nk", propensity, joint[:, :, 1:])


def allowed_arms(propensity: np.ndarray, overlap: float) -> np.ndarray:
    """Arms with enough overlap at each row, (n_samples, n_arms); at least one per row."""
    largest: np.ndarray = propensity.max(axis=1, keepdims=True)
    return np.greater_equal(propensity, np.minimum(overlap, largest))


def seen_labels(y: np.ndarray, n_classes: int) -> np.ndarray:
    """Indicators D Y_k of the observed labels, (n_samples, n_classes)."""
    return (y[:, None] == np.arange(n_classes)).astype(float)
