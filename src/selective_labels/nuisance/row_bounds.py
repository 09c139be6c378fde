"""Bounds on the class probabilities of each row, from cross-fitted joint probabilities."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from selective_labels.identification.bounds import (
    Bounds,
    as_label_range,
    jackknife_noise,
    raw_bounds,
    repair,
    shrink_across_decision_makers,
)
from selective_labels.identification.event_bounds import AnyFloor, LaminarBounds, best_floor, identified_set
from selective_labels.nuisance.cross_fit import CrossFit, new_propensity
from selective_labels.nuisance.score_formulas import OVERLAP

# Decision-makers with less leniency than this, and pairs that differ by less, give no floor.
LEAST_LENIENCY = 0.05
# Rows used to estimate the mean noise of held-out predictions; the models of all folds predict them.
NOISE_ROWS = 512


def identified_bounds(
    fit: CrossFit,
    X: np.ndarray,
    n_classes: int,
    label_range: Any = (0.0, 1.0),
    *,
    held_out: bool = False,
    floors: Sequence[AnyFloor] = (),
) -> tuple[Bounds, np.ndarray]:
    """Bounds on the class probabilities of each row: shrinkage across decision-makers, then the maximum.

    At new rows, predictions are averaged over the models of all folds and shrunk according to the
    disagreement of these models. With ``held_out=True`` (the training rows, in their order), each row is
    predicted by the model fitted without it, and shrunk according to the mean disagreement over a sample of
    rows. Rows whose bounds cross are repaired and returned as a mask.

    Parameters
    ----------
    fit : CrossFit
    X : (n_samples, n_features) array
    n_classes : int
    label_range : pair
        See :func:`selective_labels.identification.bounds.as_label_range`.
    held_out : bool
    floors : sequence of Floor and Chord
        Floors from assumptions other than the instrument.

    Returns
    -------
    Bounds, (n_samples,) bool array
        The cost is n_arms predictions of n rows, times n_folds at new rows.
    """
    lowest, highest = as_label_range(label_range, X, n_classes)
    lower, upper = np.empty((len(X), n_classes)), np.empty((len(X), n_classes))
    limits: dict[tuple[int, ...], np.ndarray] = {}
    chunks = _held_out(fit, X, n_classes + 1) if held_out else _averaged(fit, X, n_classes + 1)
    for rows, joint, noise in chunks:
        shrunk = shrink_across_decision_makers(joint, noise)
        here = raw_bounds(shrunk, _rows_of(lowest, rows), _rows_of(highest, rows))
        lower[rows], upper[rows] = here.lower, here.upper
        for floor in floors:
            kept = limits.setdefault(tuple(sorted(floor.event)), np.zeros(len(X)))
            found = best_floor(floor, shrunk, np.tile(fit.shares, (len(rows), 1)), least=LEAST_LENIENCY)
            kept[rows] = np.maximum(kept[rows], found)
    if not limits:
        return repair(Bounds(lower, upper), lowest, highest)
    known = identified_set(repair(Bounds(lower, upper), lowest, highest)[0].lower, limits)
    return known.repaired() if isinstance(known, LaminarBounds) else repair(known)


Chunk = tuple[np.ndarray, np.ndarray, np.ndarray]  # row numbers, joint (n_arms, n, n_outcomes), noise (n,)


def _averaged(fit: CrossFit, X: np.ndarray, n_outcomes: int) -> Iterator[Chunk]:
    """Predictions averaged over the models of all folds, with their noise from the jackknife."""
    for rows in fit.chunks(np.arange(len(X)), n_outcomes):
        # Keep outcomes before rows in memory, as the models do: the next steps are several times faster.
        by_fold = np.stack([np.swapaxes(fold.joint(X[rows]), 1, 2) for fold in fit.folds]).swapaxes(2, 3)
        noise = jackknife_noise(by_fold)
        yield rows, _within_overlap(fit, range(len(fit.folds)), X[rows], by_fold.mean(axis=0)), noise


def _held_out(fit: CrossFit, X: np.ndarray, n_outcomes: int) -> Iterator[Chunk]:
    """Held-out predictions, with the mean noise over a sample of rows."""
    sample = np.linspace(0, len(X) - 1, min(len(X), NOISE_ROWS)).astype(int)
    noise = np.concatenate([each for _, _, each in _averaged(fit, X[sample], n_outcomes)]).mean()
    for number, fold in enumerate(fit.folds):
        for rows in fit.chunks(np.flatnonzero(fit.held_out == number), n_outcomes):
            joint = _within_overlap(fit, [number], X[rows], fold.joint(X[rows]))
            yield rows, joint, np.full(len(rows), noise)


def _within_overlap(fit: CrossFit, folds: Iterable[int], X: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """Exclude values of a numeric instrument without overlap, where a smooth model would extrapolate.

    The prediction at the most probable value replaces theirs, which leaves the maximum unchanged.
    """
    if not (fit.report.numeric and fit.assignment.models):
        return joint
    chances = np.mean([new_propensity(fit, fold, X) for fold in folds], axis=0)
    usual = joint[chances.argmax(axis=1), np.arange(len(X))]
    return np.where((chances.T >= OVERLAP)[:, :, None], joint, usual)


def _rows_of(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return values[rows] if values.ndim == 2 else values
