"""Scores of lower bounds if class probabilities are known to lie in a range, whoever the case is."""

from collections.abc import Callable

import numpy as np

from selective_labels.nuisance.score_formulas import LabelRange, Rows, Scores, envelope

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
