"""Scores of the instrument's bounds: with pooled arms, combined with slopes, or with label ranges."""

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
    rows : Rows
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
