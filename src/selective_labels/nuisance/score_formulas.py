"""Scores: per-row quantities whose means are bounds or values of the whole population."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from selective_labels.identification.event_bounds import LaminarScores
from selective_labels.identification.point import slope, two_fold_moments

# Standard errors of a difference within which an arm cannot be told from the best.
CLOSE = 1.5
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class ArmShares:
    """How often each arm shows each class, beyond what its cases lead one to expect.

    Attributes
    ----------
    values, variances : (n_arms, n_classes) arrays
        Shrunken, and how uncertain that leaves them.
    rows : (n_arms,) array
        How many rows they come from.
    """

    values: np.ndarray
    variances: np.ndarray
    rows: np.ndarray

    def near_best(self, within: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of each of several sets of arms, those that cannot be told from its best, class by class.

        Parameters
        ----------
        within : (n_sets, n_arms) bool array

        Returns
        -------
        (n_sets, n_arms, n_classes) bool array
        (n_sets,) array
            What is lost against the best arm of each class alone, summed over classes.

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
        # No average is above the best of it, but for rounding.
        lost = np.maximum(value[:, 0] - pooled, 0.0).sum(axis=1)
        return members, np.where(seen.any(axis=(1, 2)), lost, 0.0)


@dataclass(frozen=True, eq=False)
class Pools:
    """Arms that bound each class.

    Attributes
    ----------
    members : (n_arms, n_classes) bool array
    lost : float
        By how much bounds are wider than with the best arm of each class alone, as estimated from the arms'
        shrunken shares: what is given up for a selector that does not follow noise.
    arms : ArmShares or None
        What the members were chosen by.
    """

    members: np.ndarray
    lost: float
    arms: ArmShares | None = None

    def of_rows(self, propensity: np.ndarray, overlap: float) -> tuple[np.ndarray, np.ndarray]:
        """Members for each row, (n_samples, n_arms, n_classes), and what is lost by them, (n_samples,).

        Those of the pool; where a case hardly ever goes to any of them (of another stratum, say), those near
        the best of the arms that it does go to.

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
    """Some rows as a model that has not seen them predicts them: to compare arms on the whole.

    Attributes
    ----------
    joint : (n_arms, n_samples, n_classes + 1) array
    propensity : (n_samples, n_arms) array
    """

    joint: np.ndarray
    propensity: np.ndarray


# Weights are inverse probabilities; none exceeds 1 / OVERLAP.
OVERLAP = 0.01
# Variance of leniency (a standard deviation of three points) below which known probabilities give no slope;
# also how much a slope is drawn to the labeled cases' answer before a score corrects it.
WEAKEST_STRENGTH = 1e-3
# Squared t-value that the first stage of a slope must have if all rows were like the one at hand.
LEAST_CONCENTRATION = 25.0


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of the classes, row by row.

    Attributes
    ----------
    values : (n_samples, n_classes) array
        Noisy but (nearly) unbiased: the mean of c(X) values_k estimates E[c(X) lower_k(X)] for any function
        c, or E[c(X) η_k(X)] under a point assumption. Single values leave [0, 1].
    plug_in : (n_samples, n_classes) array
        What the model says that has not seen the row: a probability, to choose with (which class, which
        cut-off) but not to average, since the choice then does not depend on the score's noise.
    clipped : (n_samples,) bool array
        Rows in which a denominator was too small: an arm was left out of the maximum, or the denominator was
        held at its floor.
    bounded : (n_samples,) bool array or None
        Rows that enter by bounds although the assumption identifies a value; None: no row.
    lost : (n_samples,) array or None
        By how much the bounds of the row are wider than sharp because arms were pooled; None: not at all.
    earmarks : LaminarScores or None
    """

    values: np.ndarray
    plug_in: np.ndarray
    clipped: np.ndarray
    bounded: np.ndarray | None = None
    lost: np.ndarray | None = None
    laminar_scores: LaminarScores | None = None

    @property
    def slack(self) -> np.ndarray:
        """1 - Σ_k values_k, shape (n_samples,): zero (up to rounding) where a value is identified."""
        return 1.0 - self.values.sum(axis=1)

    @property
    def by_bounds(self) -> np.ndarray:
        """`bounded` as an array, (n_samples,)."""
        return np.zeros(len(self.values), dtype=bool) if self.bounded is None else self.bounded

    @property
    def sharpness_lost(self) -> np.ndarray:
        """`lost` as an array, (n_samples,)."""
        return np.zeros(len(self.values)) if self.lost is None else self.lost


@dataclass(frozen=True, eq=False)
class LabelRange:
    """lowest_k <= P(Y*=k | x, u) <= highest_k for every hidden feature u, (n_samples, n_classes) arrays."""

    lowest: np.ndarray
    highest: np.ndarray

    def take(self, rows: np.ndarray) -> "LabelRange":
        """The range of some rows."""
        return LabelRange(self.lowest[rows], self.highest[rows])


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows with all that scores need, from models that have not seen them.

    Attributes
    ----------
    first, second : (n_arms, n_samples, n_classes + 1) arrays
        Joint probabilities, the unlabeled class first, by models on two disjoint halves; one and the same
        array if there is one model.
    arm : (n_samples,) int array
    y : (n_samples,) int array
        Label codes, -1 where none was seen.
    propensity : (n_samples, n_arms) array
    lead : (n_samples, n_arms) array or 0
        See :func:`required_lead`.
    label_range : LabelRange or None
        What is known of the class probabilities of everybody.
    n_units : float
        Independent units (rows, or groups of rows) that the models and scores come from; infinite if the
        probabilities are known.
    n_fitted : float
        Rows that the models come from.
    pools : Pools or None
        Arms that bound each class; None: the best arm of each row, by `lead`.
    probe : callable or None
        Gives a sample of rows to compare arms on; None: these rows.
    classes : array of the classes' labels; None: the codes are the labels
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

    @cached_property
    def joint(self) -> np.ndarray:
        """Mean of the two models."""
        return self.first if self.first is self.second else (self.first + self.second) / 2.0

    @cached_property
    def labeled(self) -> np.ndarray:
        """P(D=1, Y=k | x), shape (n_samples, n_classes)."""
        return average_over_arms(self.joint, self.propensity)


def manski_scores(y: np.ndarray, labeled: np.ndarray) -> Scores:
    """Score of the lower bound without an instrument.

    φ_k = D Y_k,   E[φ_k | x] = P(D=1, Y=k | x) <= η_k(x)

    Manski's worst case: assumes nothing, uses no model. Only the choice (`plug_in`) comes from one.

    Parameters
    ----------
    y : (n_samples,) int array
        Label codes, -1 where none was seen.
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

    The envelope score. Given the selector ẑ, E[φ_k | x] = p_kẑ(x) <= max_z p_kz(x) if e is right, whatever
    p̂ is, or if p̂ is right, whatever e is: a wrong selector makes the averaged bound wider, never wrong. It
    is exact to first order where the best arm is separated from the next. Where arms tie, the selector never
    settles and standard errors are too small; few arms (leniency bands) and a lead keep this harmless.

    Arms are selected only where e_z(x) >= `overlap` (or where e_z(x) is the largest there is): leaving an
    arm out of the maximum keeps the bound valid, a tiny propensity would ruin its precision.

    Parameters
    ----------
    joint : (n_arms, n_samples, n_classes + 1) array
        The unlabeled class first, by a model that has not seen the rows.
    arm : (n_samples,) int array
    y : (n_samples,) int array
        Label codes, -1 where none was seen.
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
    """Envelope score of the largest chance of any events, (n_arms, n_samples, n_events), as they are seen.

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
    propensity: np.ndarray, leniency: np.ndarray, n_samples: int, overlap: float = OVERLAP
) -> np.ndarray:
    """By how much an arm must beat the most lenient one to be selected instead of it.

    lead_z(x) = √((1 / e_z(x) + 1 / e_d(x)) / n),   lead_d = 0,

    where d = d(x) is the most lenient arm that the case can go to.

    Two standard errors of the difference of two shares near one half. If a stricter decision-maker decides
    for a case only when a more lenient one does, d is the best arm for every class, and other arms look
    better by noise alone. Elsewhere the price is a bound that is too wide by at most the lead, which
    vanishes as n grows.

    Parameters
    ----------
    propensity : (n_samples, n_arms) array
    leniency : (n_arms,) array
        Average probability of a decision in favour, or any non-negative numbers in the same order.
    n_samples : int
        Rows that the probabilities were estimated from.
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
    """Score of the class probabilities if decisions are unconfounded given the features.

    φ_k = μ_k(x) + D / π(x) · (1{Y=k} - μ_k(x)),   π = Σ_k P(D=1, Y=k | x),   μ_k = P(D=1, Y=k | x) / π

    Augmented inverse probability weighting: E[φ_k | x] = η_k(x) under D ⟂ Y* | X if π is right, whatever
    μ is, or if μ is right, whatever π is. Scores sum to one over the classes. π is held at `overlap` or more.

    Parameters
    ----------
    labeled : (n_samples, n_classes) array
        Estimates of P(D=1, Y=k | x), by a model that has not seen the rows.
    y : (n_samples,) int array
        Label codes, -1 where none was seen.
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
    """Score of the class probabilities if there is no unmeasured common effect modifier (NUCEM).

    ψ_k = η̃_k + f / V · (D Y_k - m_k - η̃_k (D - m_D)),
    f = λ_Z - Σ_z e_z λ_z,   V = Σ_z e_z f_z λ_z,   m_k = Σ_z e_z p_kz,   m_D = Σ_k m_k

    Multiply robust: under p_kz = κ_k + η_k λ_z (Proposition A.1, E4b), E[ψ_k | x] = η_k(x) if e and V are
    right, whatever η̃ and m are, or if η̃_k and m_k - η̃_k m_D are right, whatever f and V are. Scores
    sum to one over the classes. V and η̃ are two-fold moments of models on disjoint halves, so that noise
    does not pass for strength. Where V < `weakest` there is no score: the row is marked as bounded, its
    values are η̃, and bounds take their place
    (:func:`selective_labels.nuisance.envelope.slope_or_bound_scores`). A floor of V would draw the score
    to η̃, that is to the labeled cases' answer, and no standard error would tell.

    Parameters
    ----------
    first, second : (n_arms, n_samples, n_classes + 1) arrays
        Joint probabilities by two models fitted to disjoint rows, neither of which has seen these rows.
    arm : (n_samples,) int array
    y : (n_samples,) int array
        Label codes, -1 where none was seen.
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
    """Variance of leniency that a row must have for its slope to be used.

    V(x) >= 25 m_D(x) (1 - m_D(x)) / n

    n V / (m_D (1 - m_D)) is the concentration (the squared t-value of the first stage) that n rows like this
    one would have. The error of an estimated V is of the order m_D (1 - m_D) / n as well, so that where
    decision-makers do not differ, noise passes for strength in one row of a hundred or fewer; and from 25 on
    a t-interval of a ratio is known to cover about as it says. Known probabilities (n infinite) need
    `WEAKEST_STRENGTH`.

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
    """P(D=1, Y=k | x) = Σ_z e_z(x) p_kz(x), shape (n_samples, n_classes).

    Examples
    --------
    >>> joint = np.array([[[0.6, 0.1, 0.3]], [[0.2, 0.3, 0.5]]])
    >>> average_over_arms(joint, np.array([[0.5, 0.5]]))
    array([[0.2, 0.4]])
    """
    return np.einsum("na,ank->nk", propensity, joint[:, :, 1:])


def allowed_arms(propensity: np.ndarray, overlap: float) -> np.ndarray:
    """Arms that a row goes to often enough, (n_samples, n_arms); at least one in each row."""
    largest: np.ndarray = propensity.max(axis=1, keepdims=True)
    return np.greater_equal(propensity, np.minimum(overlap, largest))


def seen_labels(y: np.ndarray, n_classes: int) -> np.ndarray:
    """D Y_k: indicators of the labels that were seen, (n_samples, n_classes)."""
    return (y[:, None] == np.arange(n_classes)).astype(float)
