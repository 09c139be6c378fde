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
    them (:func:`slope_or_bound_scores`). Clipping V instead would shrink
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


# A single arm replaces a pool only where it leads by this many times √((1/e_z + 1/e_A) / n). As the best of
# many arms at x, it often exceeds ordinary noise.
LEAD = 2.0


def pooled_envelope_scores(
    joint: np.ndarray,
    arm: np.ndarray,
    y: np.ndarray,
    propensity: np.ndarray,
    pools: Pools,
    n_samples: float,
    overlap: float = OVERLAP,
) -> Scores:
    """Score of the lower bound with an instrument, by the pool of arms with the highest rate of each class.

    φ_k = p̂_kA(x) + 1{Z in A} / e_A(x) · (D Y_k - p̂_kA(x)),   A = A_k,
    e_A = Σ_{z in A} e_z,   p̂_kA = Σ_{z in A} e_z p̂_kz / e_A

    This is the envelope score with a set of arms as selector. It is doubly robust: if e or p̂ is correct,
    E[φ_k | x] = Σ_{z in A} e_z p_kz / e_A <= max_z p_kz. Tied arms share a pool, so that noise does not make
    folds choose different arms, and more rows contribute to the score. A single arm replaces the pool at x if
    p̂_kz(x) leads by more than 2 √((1/e_z + 1/e_A) / n).

    Where the pool is out of reach (e_A < `overlap`, for example in another stratum), the arms near the best
    available one replace it (:meth:`selective_labels.nuisance.score_formulas.Pools.of_rows`). If these are
    out of reach as well, all arms are used.

    Parameters
    ----------
    joint : (n_arms, n_samples, n_classes + 1) array
        Held-out joint probabilities, the unlabeled class first.
    arm, y : (n_samples,) int arrays
        Labels are codes, -1 if unobserved.
    propensity : (n_samples, n_arms) array
    pools : Pools
        Formed without these rows.
    n_samples : float
        Number of rows that the probabilities were estimated from.
    overlap : float
        In (0, 1).

    Examples
    --------
    >>> joint = np.array([[[0.6, 0.1, 0.3]], [[0.2, 0.3, 0.5]]])
    >>> shares, both = np.array([[0.5, 0.5]]), Pools(np.array([[False, True], [True, True]]), 0.0)
    >>> pooled_envelope_scores(joint, np.array([1]), np.array([1]), shares, both, n_samples=50).values
    array([[-0.3,  1. ]])
    """
    n_rows = len(propensity)
    if propensity.strides[0] == 0:  # one row of shares, broadcast: what follows is the same for all rows
        propensity = propensity[:1]
    members, lost = pools.of_rows(propensity, overlap)
    mass = np.einsum("na,nak->nk", propensity, members)
    reached = mass >= overlap
    mass = np.where(reached, mass, 1.0)
    labeled = joint[:, :, 1:]
    if len(propensity) == 1:
        weights = np.where(reached[0], propensity[0][:, None] * members[0] / mass[0], propensity[0][:, None])
        pooled = np.einsum("ak,ank->nk", weights, labeled)
    else:
        pooled = np.einsum("na,nak,ank->nk", propensity, members, labeled) / mass
        pooled = np.where(reached, pooled, average_over_arms(joint, propensity))
    rows = np.arange(n_rows) if len(propensity) == n_rows else np.zeros(n_rows, dtype=int)
    inside = np.where(reached, members[rows, arm], True)
    allowed = allowed_arms(propensity, overlap)
    inverse = np.where(allowed, 1.0 / np.where(allowed, propensity, 1.0), np.inf)
    ahead = labeled - LEAD * np.sqrt((inverse.T[:, :, None] + 1.0 / mass) / n_samples)
    alone = ahead.max(axis=0) > pooled
    here, code = np.nonzero(alone)
    best = ahead[:, here, code].argmax(axis=0)
    plug_in, chance, hit = pooled, np.array(np.broadcast_to(mass, pooled.shape)), np.array(inside)
    plug_in[here, code] = labeled[best, here, code]
    chance[here, code] = propensity[rows[here], best]
    hit[here, code] = arm[here] == best
    values = plug_in + hit / chance * (seen_labels(y, plug_in.shape[1]) - plug_in)
    # An arm with probability zero is not available. An arm with a small positive probability was left out.
    clipped = np.any(~allowed & (propensity > 0.0), axis=1)
    return Scores(values, plug_in, np.broadcast_to(clipped, n_rows), lost=np.broadcast_to(lost, n_rows))


def bound_scores(rows: Rows, overlap: float = OVERLAP) -> Scores:
    """Scores of the instrument's bounds: by pools if given, otherwise by the best arm of each row."""
    if rows.pools is None:
        return envelope_scores(rows.joint, rows.arm, rows.y, rows.propensity, rows.lead, overlap)
    return pooled_envelope_scores(
        rows.joint, rows.arm, rows.y, rows.propensity, rows.pools, rows.n_fitted, overlap
    )


def slope_or_bound_scores(rows: Rows, overlap: float = OVERLAP) -> Scores:
    """Scores under NUCEM: the slope where leniency varies enough at x, otherwise the bounds.

    NUCEM implies the instrument's assumptions, so the bounds hold in every row. Held-out models decide which
    rows use the bounds, so the choice causes no bias
    (:func:`selective_labels.nuisance.score_formulas.required_strength`). The population value then has a
    lower and an upper bound, which differ by the total slack of the bounded rows.

    Parameters
    ----------
    overlap : float
        See :func:`pooled_envelope_scores`.

    Examples
    --------
    >>> strong, weak = [[0.6, 0.1, 0.3], [0.2, 0.3, 0.5]], [[0.6, 0.1, 0.3], [0.6, 0.1, 0.3]]
    >>> joint = np.array([strong, weak]).transpose(1, 0, 2)
    >>> rows = Rows(joint, joint, np.array([1, 1]), np.array([1, 1]), np.full((2, 2), 0.5), 0.0)
    >>> scores = slope_or_bound_scores(rows)
    >>> scores.bounded, scores.values.sum(axis=1).round(1)
    (array([False,  True]), array([1. , 0.4]))
    """
    weakest = required_strength(rows.labeled.sum(axis=1), rows.n_units)
    slopes = slope_scores(rows.first, rows.second, rows.arm, rows.y, rows.propensity, weakest)
    bounds = bound_scores(rows, overlap)
    weak = slopes.by_bounds
    return Scores(
        np.where(weak[:, None], bounds.values, slopes.values),
        np.where(weak[:, None], bounds.plug_in, slopes.plug_in),
        weak & bounds.clipped,
        weak,
        np.where(weak, bounds.sharpness_lost, 0.0),
    )


# Scores the lower bounds of events from their probabilities under each arm and their observed indicators.
Bound = Callable[[np.ndarray, np.ndarray], Scores]


def ranged_envelope_scores(rows: Rows, label_range: LabelRange, overlap: float) -> Scores:
    """Scores of the lower bounds with an instrument and a label range.

    l_k = max(a_k, max_z [p_kz + a_k (1-λ_z)], 1 - Σ_{j≠k} u_j),   u_j = min(b_j, min_z [p_jz + b_j (1-λ_z)])

    All three terms are lower bounds on η_k. Held-out models choose the largest, which is then averaged by its
    own score: the constants a_k and b_j enter unchanged, the other terms by the envelope scores of
    D Y_k + a_k (1 - D) and of 1 - D Y_j - b_j (1 - D). A wrong choice makes the bound wider but not invalid.
    With two classes, l and the slack 1 - Σ_k l_k describe the identified set exactly. With more classes they
    describe an outer set, because upper bounds enter only through the lower bounds of other classes.

    Parameters
    ----------
    label_range : LabelRange
        Label range of these rows.
    overlap : float
        As in :func:`selective_labels.nuisance.score_formulas.envelope_scores`.

    Examples
    --------
    One decision-maker labels half of the cases, and each class has a probability of at least 0.2:

    >>> joint = np.array([[[0.5, 0.1, 0.4]]])
    >>> rows = Rows(joint, joint, np.array([0]), np.array([-1]), np.ones((1, 1)), 0.0)
    >>> known = LabelRange(np.full((1, 2), 0.2), np.full((1, 2), 0.8))
    >>> scores = ranged_envelope_scores(rows, known, overlap=0.01)
    >>> scores.plug_in, scores.values
    (array([[0.2, 0.5]]), array([[0.2, 0.2]]))
    """

    def bound(chance: np.ndarray, seen: np.ndarray) -> Scores:
        return envelope(chance, seen, rows.arm, rows.propensity, rows.lead, overlap)

    return _ranged(rows.joint, rows.y, label_range, bound)


def ranged_manski_scores(rows: Rows, label_range: LabelRange) -> Scores:
    """Scores of the lower bounds with a label range and no instrument: all decision-makers form one arm.

    l_k = max(a_k, p_k + a_k (1-π), 1 - Σ_{j≠k} u_j),   u_j = min(b_j, p_j + b_j (1-π)),   π = Σ_k p_k

    Examples
    --------
    >>> joint = np.array([[[0.5, 0.1, 0.4]]])
    >>> rows = Rows(joint, joint, np.array([0]), np.array([1]), np.ones((1, 1)), 0.0)
    >>> ranged_manski_scores(rows, LabelRange(np.full((1, 2), 0.3), np.full((1, 2), 0.7))).values
    array([[0.3, 1. ]])
    """
    unlabeled = 1.0 - rows.labeled.sum(axis=1, keepdims=True)
    joint = np.concatenate([unlabeled, rows.labeled], axis=1)[None]

    def bound(chance: np.ndarray, seen: np.ndarray) -> Scores:
        return Scores(seen, chance[0], np.zeros(len(seen), dtype=bool))

    return _ranged(joint, rows.y, label_range, bound)


def ranged_ceiling(rows: Rows, label_range: LabelRange, overlap: float) -> Scores:
    """Scores of 1 - u_k, u_k = min(b_k, min_z [p_kz + b_k (1-λ_z)]): the bound on all other classes.

    Examples
    --------
    >>> joint = np.array([[[0.5, 0.1, 0.4]]])
    >>> rows = Rows(joint, joint, np.array([0]), np.array([-1]), np.ones((1, 1)), 0.0)
    >>> known = LabelRange(np.full((1, 2), 0.2), np.full((1, 2), 0.8))
    >>> ranged_ceiling(rows, known, overlap=0.01).plug_in
    array([[0.5, 0.2]])
    """
    unlabeled, labeled = rows.joint[:, :, :1], rows.joint[:, :, 1:]
    highest = label_range.highest
    others = envelope(
        1.0 - labeled - highest * unlabeled,
        1.0 - seen_labels(rows.y, labeled.shape[2]) - highest * (rows.y < 0)[:, None],
        rows.arm,
        rows.propensity,
        rows.lead,
        overlap,
    )
    return Scores(*with_range(others.values, others.plug_in, 1.0 - highest), others.clipped)


def with_range(ends: np.ndarray, plug_in: np.ndarray, limit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores and predictions of max(lower bound, known limit); the predictions decide which is larger."""
    known = limit > plug_in
    return np.where(known, limit, ends), np.where(known, limit, plug_in)


def _ranged(joint: np.ndarray, y: np.ndarray, label_range: LabelRange, bound: Bound) -> Scores:
    unlabeled, labeled = joint[:, :, :1], joint[:, :, 1:]
    lowest, highest = label_range.lowest, label_range.highest
    seen = (y[:, None] == np.arange(labeled.shape[2])).astype(float)
    unseen = (y < 0)[:, None]
    lower = bound(labeled + lowest * unlabeled, seen + lowest * unseen)
    # An upper bound on one class is a lower bound on the sum of all others.
    others = bound(1.0 - labeled - highest * unlabeled, 1.0 - seen - highest * unseen)
    values, plug_in = with_range(lower.values, lower.plug_in, lowest)
    rest = with_range(others.values, others.plug_in, 1.0 - highest)
    rest_values, rest_plug_in = (_one_minus_others(1.0 - each) for each in rest)
    larger = rest_plug_in > plug_in
    return Scores(
        np.where(larger, rest_values, values),
        np.where(larger, rest_plug_in, plug_in),
        lower.clipped | others.clipped,
    )


def _one_minus_others(upper: np.ndarray) -> np.ndarray:
    """1 - Σ_{j≠k} upper_j."""
    return 1.0 - upper.sum(axis=1, keepdims=True) + upper
