"""Scores of bounds by pools of arms, and of values where there is one and bounds where there is none."""

from collections.abc import Callable

import numpy as np

from selective_labels.nuisance.score_formulas import (
    OVERLAP,
    LabelRange,
    Pools,
    Rows,
    Scores,
    allowed_arms,
    average_over_arms,
    envelope,
    envelope_scores,
    required_strength,
    seen_labels,
    slope_scores,
)

# A single arm replaces a pool where it leads by so many times the noise of two shares near one half: it is
# the best of many arms in a place of its own, so ordinary noise is exceeded often.
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
    """Score of the lower bound with an instrument, for each class by the arms that show it most.

    φ_k = p̂_kA(x) + 1{Z in A} / e_A(x) · (D Y_k - p̂_kA(x)),   A = A_k,
    e_A = Σ_{z in A} e_z,   p̂_kA = Σ_{z in A} e_z p̂_kz / e_A

    The envelope score with a set of arms as selector: E[φ_k | x] = Σ_{z in A} e_z p_kz / e_A, which is at
    most max_z p_kz, if e is right whatever p̂ is or if p̂ is right whatever e is. Arms that tie are in the
    pool together, so that folds do not choose differently among them by noise, and more rows carry the score.
    One arm stands in for the pool at x if p̂_kz(x) leads by more than 2 √((1/e_z + 1/e_A) / n).

    Where the case hardly ever goes to the pool (e_A < `overlap`: of another stratum, say), those near the
    best of the arms that it does go to take its place
    (:meth:`selective_labels.nuisance.score_formulas.Pools.of_rows`); where it goes to each of them too
    seldom, all arms do.

    Parameters
    ----------
    joint : (n_arms, n_samples, n_classes + 1) array
        The unlabeled class first, by a model that has not seen the rows.
    arm, y : (n_samples,) int arrays
        Labels as codes, -1 where none was seen.
    propensity : (n_samples, n_arms) array
    pools : Pools
        Made without these rows.
    n_samples : float
        Rows that the probabilities were estimated from.
    overlap : float
        In (0, 1).

    Examples
    --------
    >>> joint = np.array([[[0.6, 0.1, 0.3]], [[0.2, 0.3, 0.5]]])
    >>> shares, both = np.array([[0.5, 0.5]]), Pools(np.array([[False, True], [True, True]]), 0.0)
    >>> pooled_envelope_scores(joint, np.array([1]), np.array([1]), shares, both, n_samples=50).values
    array([[-0.3,  1. ]])
    """
    members, lost = pools.of_rows(propensity, overlap)
    mass = np.einsum("na,nak->nk", propensity, members)
    reached = mass >= overlap
    mass = np.where(reached, mass, 1.0)
    labeled = joint[:, :, 1:]
    pooled = np.einsum("na,nak,ank->nk", propensity, members, labeled) / mass
    pooled = np.where(reached, pooled, average_over_arms(joint, propensity))
    inside = np.where(reached, np.take_along_axis(members, arm[:, None, None], axis=1)[:, 0], True)
    allowed = allowed_arms(propensity, overlap)
    inverse = np.where(allowed, 1.0 / np.where(allowed, propensity, 1.0), np.inf)
    lead = LEAD * np.sqrt((inverse.T[:, :, None] + 1.0 / mass) / n_samples)
    best = (labeled - lead).argmax(axis=0)[None]
    alone = np.take_along_axis(labeled - lead, best, axis=0)[0] > pooled
    plug_in = np.where(alone, np.take_along_axis(labeled, best, axis=0)[0], pooled)
    chance = np.where(alone, np.take_along_axis(propensity, best[0], axis=1), mass)
    hit = np.where(alone, arm[:, None] == best[0], inside)
    values = plug_in + hit / chance * (seen_labels(y, plug_in.shape[1]) - plug_in)
    # An arm that a case never goes to is none of its arms; one that it goes to too seldom was left out.
    return Scores(values, plug_in, np.any(~allowed & (propensity > 0.0), axis=1), lost=lost)


def bound_scores(rows: Rows, overlap: float = OVERLAP) -> Scores:
    """Scores of the instrument's bounds: by pools if there are any, else by the best arm of each row."""
    if rows.pools is None:
        return envelope_scores(rows.joint, rows.arm, rows.y, rows.propensity, rows.lead, overlap)
    return pooled_envelope_scores(
        rows.joint, rows.arm, rows.y, rows.propensity, rows.pools, rows.n_fitted, overlap
    )


def slope_or_bound_scores(rows: Rows, overlap: float = OVERLAP) -> Scores:
    """Scores under NUCEM: the slope where decision-makers differ enough for such cases, else the bounds.

    NUCEM assumes all that the instrument does, so its bounds hold in every row; which rows take them is read
    off models that have not seen the row, so the choice biases nothing
    (:func:`selective_labels.nuisance.score_formulas.required_strength`). The value of a population then lies
    between two ends as far apart as the slack of the rows that are bounded.

    Parameters
    ----------
    rows : Rows
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


# Scores of the lower bounds of events, from their chance of each arm and what is seen of them.
Bound = Callable[[np.ndarray, np.ndarray], Scores]


def ranged_envelope_scores(rows: Rows, label_range: LabelRange, overlap: float) -> Scores:
    """Scores of the lower bounds with an instrument and a label range.

    l_k = max(a_k, max_z [p_kz + a_k (1-λ_z)], 1 - Σ_{j≠k} u_j),   u_j = min(b_j, min_z [p_jz + b_j (1-λ_z)])

    A maximum of three numbers that are below η_k. Which is the largest is read off models that have not seen
    the row, and it is averaged by its own score: a_k and b_j as they are, the others by the envelope scores
    of D Y_k + a_k (1 - D) and of 1 - D Y_j - b_j (1 - D). A wrong choice makes a bound wider, never wrong. Of
    two classes, l and the slack 1 - Σ_k l_k are the whole identified set. Of more, upper bounds enter through
    the lower bounds of the others only: the set is an outer one.

    Parameters
    ----------
    rows : Rows
    label_range : LabelRange
        Of these rows.
    overlap : float
        As in :func:`selective_labels.nuisance.score_formulas.envelope_scores`.

    Examples
    --------
    One decision-maker who labels half of the cases, classes known to have a chance of .2 at least:

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
    """The same without an instrument: all decision-makers are one arm, and nothing is weighted.

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


def with_range(ends: np.ndarray, plug_in: np.ndarray, limit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores and models of the larger of a lower end and a known number, as the models see it."""
    known = limit > plug_in
    return np.where(known, limit, ends), np.where(known, limit, plug_in)


def _ranged(joint: np.ndarray, y: np.ndarray, label_range: LabelRange, bound: Bound) -> Scores:
    unlabeled, labeled = joint[:, :, :1], joint[:, :, 1:]
    lowest, highest = label_range.lowest, label_range.highest
    seen = (y[:, None] == np.arange(labeled.shape[2])).astype(float)
    unseen = (y < 0)[:, None]
    lower = bound(labeled + lowest * unlabeled, seen + lowest * unseen)
    # An upper bound of one class is a lower bound of all the others together.
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
