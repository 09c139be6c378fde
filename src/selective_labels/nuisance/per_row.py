"""From cross-fitted joint probabilities to per-row arrays: bounds and slope moments."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from selective_labels.identification.bounds import Bounds, as_label_range, raw_bounds, repair
from selective_labels.identification.point import Moments, numeric_moments, two_fold_moments
from selective_labels.identification.shrinkage import jackknife_noise, shrink_across_decision_makers
from selective_labels.nuisance.cross_fit import CrossFit


def identified_bounds(
    fit: CrossFit, X: np.ndarray, n_classes: int, label_range: Any = (0.0, 1.0), *, held_out: bool = False
) -> tuple[Bounds, np.ndarray]:
    """Bounds on the class probabilities of each row: shrunk across decision-makers, then the maximum.

    At new rows the folds' models are averaged; with ``held_out=True`` (the training rows, in their order)
    each row is judged by the model that has not seen it. Crossing rows are repaired and returned as a mask.

    Parameters
    ----------
    fit : CrossFit
    X : (n_samples, n_features) array
    n_classes : int
    label_range : pair
        See :func:`selective_labels.identification.bounds.as_label_range`.
    held_out : bool

    Returns
    -------
    Bounds, (n_samples,) bool array
        Costs n_folds × n_arms predictions of n rows.
    """
    lowest, highest = as_label_range(label_range, X, n_classes)
    lower, upper = np.empty((len(X), n_classes)), np.empty((len(X), n_classes))
    for rows, by_fold in _by_fold(fit, X, n_classes + 1):
        joint = _held_out(fit, by_fold, rows) if held_out else by_fold.mean(axis=0)
        joint = shrink_across_decision_makers(joint, jackknife_noise(by_fold))
        here = raw_bounds(joint, _rows_of(lowest, rows), _rows_of(highest, rows))
        lower[rows], upper[rows] = here.lower, here.upper
    return repair(Bounds(lower, upper))


def slope_moments(
    fit: CrossFit, X: np.ndarray, n_classes: int, codes: np.ndarray | None = None, *, held_out: bool = False
) -> Moments:
    """Moments of the slope of seen labels on the instrument, row by row.

    Parameters
    ----------
    fit : CrossFit
        Fitted in halves, unless `codes` are given.
    X : (n_samples, n_features) array
    n_classes : int
    codes : (n_arms,) array, optional
        Numbers of the decision-makers (the paper's covariance ratio); default: leniency, on two halves.
    held_out : bool
        See :func:`identified_bounds`.

    Returns
    -------
    Moments
        At new rows the average over folds.
    """
    covariance, selected = np.zeros((len(X), n_classes)), np.zeros((len(X), n_classes))
    for number, fold in enumerate(fit.folds):
        rows = np.flatnonzero(fit.held_out == number) if held_out else np.arange(len(X))
        for part in fit.chunks(len(rows), n_classes + 1):
            here = rows[part]
            pair = [model.joint(X[here]) for model in fold.models]
            if codes is None:
                moments = two_fold_moments(pair[0], pair[-1], fit.shares)
            else:
                moments = numeric_moments(codes, np.mean(pair, axis=0), fit.shares)
            covariance[here] += moments.covariance
            selected[here] += moments.selected
    if not held_out:
        covariance, selected = covariance / len(fit.folds), selected / len(fit.folds)
    return Moments(covariance, covariance.sum(axis=1), selected)


def _by_fold(fit: CrossFit, X: np.ndarray, n_outcomes: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Predictions of all folds' models under all arms, in chunks of rows."""
    for rows in fit.chunks(len(X), n_outcomes):
        yield rows, np.stack([fold.joint(X[rows]) for fold in fit.folds])


def _held_out(fit: CrossFit, by_fold: np.ndarray, rows: slice) -> np.ndarray:
    """Of each row, the predictions by the model that has not seen it, (n_arms, n, n_outcomes)."""
    own = fit.held_out[rows]
    return np.moveaxis(by_fold[own, :, np.arange(len(own))], 1, 0)


def _rows_of(values: np.ndarray, rows: slice) -> np.ndarray:
    return values[rows] if values.ndim == 2 else values
