"""From cross-fitted joint probabilities to bounds, row by row."""

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

# Decision-makers who accept fewer, or pairs who differ by less, put no floor under what is not seen.
LEAST_LENIENCY = 0.05
# The mean noise of held-out predictions is taken over this many rows: all folds' models must predict them.
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
    """Bounds on the class probabilities of each row: shrunk across decision-makers, then the maximum.

    At new rows the folds' models are averaged, and shrunk by their disagreement there. With ``held_out=True``
    (the training rows, in their order) each row is judged by the one model that has not seen it, and shrunk
    by the mean disagreement over a sample of rows. Crossing rows are repaired and returned as a mask.

    Parameters
    ----------
    fit : CrossFit
    X : (n_samples, n_features) array
    n_classes : int
    label_range : pair
        See :func:`selective_labels.identification.bounds.as_label_range`.
    held_out : bool
    floors : sequence of Floor and Chord
        Of assumptions besides the instrument.

    Returns
    -------
    Bounds, (n_samples,) bool array
        Costs n_arms predictions of n rows, times n_folds at new rows.
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
    """Predictions averaged over the folds' models, with the noise that their disagreement shows."""
    for rows in fit.chunks(np.arange(len(X)), n_outcomes):
        # Stacked with outcomes before rows, as models hold them: what follows is then several times faster.
        by_fold = np.stack([np.swapaxes(fold.joint(X[rows]), 1, 2) for fold in fit.folds]).swapaxes(2, 3)
        noise = jackknife_noise(by_fold)
        yield rows, _within_overlap(fit, range(len(fit.folds)), X[rows], by_fold.mean(axis=0)), noise


def _held_out(fit: CrossFit, X: np.ndarray, n_outcomes: int) -> Iterator[Chunk]:
    """Predictions by the model that has not seen the row, with the mean noise over a sample of rows."""
    sample = np.linspace(0, len(X) - 1, min(len(X), NOISE_ROWS)).astype(int)
    noise = np.concatenate([each for _, _, each in _averaged(fit, X[sample], n_outcomes)]).mean()
    for number, fold in enumerate(fit.folds):
        for rows in fit.chunks(np.flatnonzero(fit.held_out == number), n_outcomes):
            joint = _within_overlap(fit, [number], X[rows], fold.joint(X[rows]))
            yield rows, joint, np.full(len(rows), noise)


def _within_overlap(fit: CrossFit, folds: Iterable[int], X: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """Leave out values of a number that cases like these hardly have: a smooth model would say something.

    The most probable value stands for them, which changes no maximum.
    """
    if not (fit.report.numeric and fit.assignment.models):
        return joint
    chances = np.mean([new_propensity(fit, fold, X) for fold in folds], axis=0)
    usual = joint[chances.argmax(axis=1), np.arange(len(X))]
    return np.where((chances.T >= OVERLAP)[:, :, None], joint, usual)


def _rows_of(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return values[rows] if values.ndim == 2 else values
