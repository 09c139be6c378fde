"""Bounded departures from a point assumption: boxes of class probabilities, and scores for their ends."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from selective_labels.data import SelectiveLabels
from selective_labels.identification.bounds import ROUNDING, Bounds
from selective_labels.identification.point import two_fold_moments
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.label_range import with_range
from selective_labels.nuisance.propensity import arm_propensity
from selective_labels.nuisance.score_formulas import LabelRange, Scores, average_over_arms
from selective_labels.support.errors import InputError

# |Cov(P(Y=k | u), P(D=1 | u))| of two numbers in [0, 1] is never larger: a bound of this size is none.
LARGEST_KAPPA = 0.25


@dataclass(frozen=True, eq=False)
class ScoredBox:
    """A box lower_k <= η_k <= upper_k in every row, with scores whose means estimate its ends.

    Attributes
    ----------
    lower, upper : (n_samples, n_classes) arrays
        Scores: the mean of c(X) lower_k estimates E[c(X) lower_k(X)] for any function c.
    plug_in : Bounds
        What models say that have not seen the row: to choose with, not to average.
    """

    lower: np.ndarray
    upper: np.ndarray
    plug_in: Bounds


def outcome_box(none: Scores, unconfounded: Scores, gamma: float) -> ScoredBox:
    """Bounds on the class probabilities if unlabeled cases differ from labeled ones by a bounded factor.

    μ_k(x) / Γ <= P(Y*=k | x, D=0) <= Γ μ_k(x),   μ_k(x) = P(Y=k | x, D=1),   so that
    lower_k = p_k + (1 - π) μ_k / Γ,   upper_k = p_k + Γ (1 - π) μ_k,   p_k = P(D=1, Y=k | x), π = Σ_k p_k

    The outcome bounds of Rambachan, Coston and Kennedy (2022), for every class. Γ = 1 is no confounding,
    Γ → ∞ Manski's worst case. Their debiased score of E[(1 - D) μ_k], (1-D) μ_k + (1-π)/π D (Y_k - μ_k), is
    the AIPW score of E[Y*_k] minus D Y_k; so the ends are D Y_k + Γ^{±1} (AIPW_k - D Y_k). Doubly robust: it
    is enough that π or μ is right.

    Parameters
    ----------
    none, unconfounded : Scores
        See :func:`selective_labels.nuisance.score_formulas.manski_scores` and
        :func:`selective_labels.nuisance.score_formulas.aipw_scores`.
    gamma : float
        1 or larger.

    Examples
    --------
    >>> from selective_labels.nuisance.score_formulas import aipw_scores, manski_scores
    >>> labeled, y = np.array([[0.1, 0.4], [0.1, 0.4]]), np.array([1, -1])
    >>> outcome_box(manski_scores(y, labeled), aipw_scores(labeled, y), gamma=2.0).upper.round(2)
    array([[-0.4,  1.4],
           [ 0.4,  1.6]])
    """
    if not gamma >= 1.0:
        raise InputError(f"gamma={gamma} must be 1 (no confounding) or larger.", "gamma")
    unseen = unconfounded.values - none.values
    chance = unconfounded.plug_in - none.plug_in
    return ScoredBox(
        none.values + unseen / gamma,
        none.values + unseen * gamma,
        Bounds(none.plug_in + chance / gamma, none.plug_in + chance * gamma),
    )


def slope_box(nucem: Scores, leverage: np.ndarray, kappa: float) -> ScoredBox:
    """Bounds on the class probabilities if unmeasured effect modification differs by little.

    p_kz = κ_kz + η_k λ_z,   |κ_kz - κ_k| <= ρ for some κ_k and all z   =>   |η_k - slope_k| <= ρ h(x),
    slope_k = Σ_z w_z p_kz,   w_z = e_z (λ_z - λ̄) / V,   h = Σ_z |w_z|

    since Σ_z w_z = 0 and Σ_z w_z λ_z = 1 (methods 3.4). ρ = 0 is NUCEM; |κ_kz| <= 1/4 always, so at ρ = 1/4
    nothing is assumed beyond the instrument. The weights are functions of x that no row at hand has entered,
    and the inequality holds for whatever weights they are: h needs no correction. Other weights would give
    other intervals and the sharp one is their intersection; this is the one around the estimate. Rows whose
    decision-makers differ too little for a slope keep the bounds of the instrument for every ρ.

    Parameters
    ----------
    nucem : Scores
        See :func:`selective_labels.nuisance.bound_scores.slope_or_bound_scores`.
    leverage : (n_samples,) array
        h, of :func:`slope_leverage`.
    kappa : float
        ρ, from 0 to 1/4.
    """
    if not 0.0 <= kappa <= LARGEST_KAPPA:
        raise InputError(
            f"kappa={kappa} must lie between 0 (NUCEM) and {LARGEST_KAPPA} (no assumption).", "kappa"
        )
    bounded = nucem.by_bounds
    reach = np.where(bounded, 0.0, kappa * leverage)[:, None]
    free = np.broadcast_to(bounded[:, None], nucem.values.shape)
    # Lower bounds of a model that leave no room are scaled to leave none: a box must not be empty.
    total = np.where(bounded, np.maximum(nucem.plug_in.sum(axis=1), 1.0), 1.0)[:, None]
    plug_in = Bounds(nucem.plug_in / total - reach, np.where(free, 1.0, nucem.plug_in + reach))
    return ScoredBox(nucem.values - reach, np.where(free, 1.0, nucem.values + reach), plug_in)


def with_lower_bounds(box: ScoredBox, lower: Scores) -> tuple[ScoredBox, np.ndarray]:
    """Intersect a box with lower bounds, those of the instrument for instance.

    Which of two lower ends is the larger is read off the models; a wrong choice is a wider box, never a
    wrong one. Where the models say that nothing is left, the box stays: if both hold, that is noise.

    Returns
    -------
    box : ScoredBox
    crossed : (n_samples,) bool array
        Rows where nothing was left: more than a few say that the two assumptions contradict each other.

    Examples
    --------
    >>> point = np.array([[0.4, 0.6], [0.4, 0.6]])
    >>> bound = np.array([[0.5, 0.1], [0.3, 0.1]])
    >>> tighter = Scores(bound, bound, np.zeros(2, dtype=bool))
    >>> ends = point - 0.05, point + 0.05
    >>> with_lower_bounds(ScoredBox(*ends, Bounds(*ends)), tighter)[1]
    array([ True, False])
    """
    larger = lower.plug_in > box.plug_in.lower
    crossed = Bounds(np.where(larger, lower.plug_in, box.plug_in.lower), box.plug_in.upper).crossed
    larger &= ~crossed[:, None]
    plug_in = Bounds(np.where(larger, lower.plug_in, box.plug_in.lower), box.plug_in.upper)
    return ScoredBox(np.where(larger, lower.values, box.lower), box.upper, plug_in), crossed


def with_label_range(box: ScoredBox, label_range: LabelRange) -> tuple[ScoredBox, np.ndarray]:
    """Intersect a box with a label range, where the models say that something is left.

    Returns
    -------
    box : ScoredBox
    crossed : (n_samples,) bool array
        Rows where nothing was left: there the box stays.

    Examples
    --------
    >>> ends = np.array([[0.05, 0.4]]), np.array([[0.6, 0.95]])
    >>> known = LabelRange(np.full((1, 2), 0.1), np.full((1, 2), 0.9))
    >>> box, crossed = with_label_range(ScoredBox(*ends, Bounds(*ends)), known)
    >>> box.lower, box.upper, crossed
    (array([[0.1, 0.4]]), array([[0.6, 0.9]]), array([False]))
    """
    lower = with_range(box.lower, box.plug_in.lower, label_range.lowest)
    upper = [-each for each in with_range(-box.upper, -box.plug_in.upper, -label_range.highest)]
    crossed = Bounds(lower[1], upper[1]).crossed
    kept = crossed[:, None]
    plug_in = Bounds(np.where(kept, box.plug_in.lower, lower[1]), np.where(kept, box.plug_in.upper, upper[1]))
    return ScoredBox(
        np.where(kept, box.lower, lower[0]), np.where(kept, box.upper, upper[0]), plug_in
    ), crossed


def linear_scores(box: ScoredBox, coefficients: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the smallest and the largest E[Σ_k c_k(X) η_k(X)] over box and simplex.

    min_η Σ_k c_k η_k = max_θ θ + Σ_k (c_k - θ)^+ lower_k - (θ - c_k)^+ upper_k

    by linear programming duality. The best θ is the coefficient of the class in which pouring the slack, in
    the order of the c_k, comes to an end; it is read off the models. Any other θ gives a smaller value: the
    end is valid whatever the models say, as with envelope scores.

    Parameters
    ----------
    box : ScoredBox
        Not crossed.
    coefficients : (n_samples, n_classes) or (n_classes,) array

    Returns
    -------
    minimum, maximum : (n_samples,) arrays

    Examples
    --------
    >>> values = np.array([[0.2, 0.3]]), np.array([[0.9, 0.6]])
    >>> linear_scores(ScoredBox(*values, Bounds(*values)), [1.0, 0.0])
    (array([0.4]), array([0.7]))
    """
    coefficients = np.broadcast_to(np.asarray(coefficients, dtype=float), box.lower.shape)
    return _minimum(box, coefficients), -_minimum(box, -coefficients)


def slope_leverage(fit: CrossFit, data: SelectiveLabels) -> np.ndarray:
    """h(x) = Σ_z e_z |λ_z - λ̄| / V of every row, by the models that have not seen it, (n_samples,).

    Zero where V is not positive: such rows have bounds in place of a slope
    (:func:`selective_labels.nuisance.score_formulas.required_strength`).
    """
    leverage = np.empty(len(data))
    for number, fold in enumerate(fit.folds):
        rows = np.flatnonzero(fit.held_out == number)
        probability = arm_propensity(fit, number, data)
        for here in fit.chunks(rows, len(data.classes) + 1):
            pair = [model.joint(data.features[here]) for model in fold.models]
            chance = probability(here)
            strength = two_fold_moments(pair[0], pair[-1], chance.T).strength
            joint = (pair[0] + pair[-1]) / 2.0
            mean = average_over_arms(joint, chance).sum(axis=1, keepdims=True)
            spread = (chance * np.abs(1.0 - joint[:, :, 0].T - mean)).sum(axis=1)
            leverage[here] = np.divide(spread, strength, out=np.zeros(len(here)), where=strength > 0.0)
    return leverage


def _minimum(box: ScoredBox, coefficients: np.ndarray) -> np.ndarray:
    order = np.argsort(coefficients, axis=1, kind="stable")
    poured = np.cumsum(np.take_along_axis(box.plug_in.width, order, axis=1), axis=1)
    full = (poured < box.plug_in.slack[:, None] - ROUNDING).sum(axis=1, keepdims=True)
    last = np.take_along_axis(order, np.minimum(full, coefficients.shape[1] - 1), axis=1)
    level = np.take_along_axis(coefficients, last, axis=1)
    excess = coefficients - level
    return level[:, 0] + (excess * np.where(excess < 0.0, box.upper, box.lower)).sum(axis=1)
