"""How far the slope is drawn to the labeled cases' answer, chosen by a moment that needs no unseen label."""

from dataclasses import dataclass

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.identification.point import Moments, project_to_simplex, slope
from selective_labels.nuisance.cross_fit import CrossFit

# In the units of the variance of leniency. Infinite shrinkage is the labeled cases' answer.
SHRINKAGE_GRID = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
# One-sided critical value, at 5 %, of the test whether the slope improves on the labeled cases' answer.
CRITICAL = 1.645


@dataclass(frozen=True)
class OwnInstrument:
    """Leniency and outcome of each row beside their means, by the model that has not seen it.

    Attributes
    ----------
    deviation : (n_samples,) array
        Leniency of the row's decision-maker minus its mean over decision-makers.
    labeled : (n_samples, n_classes) array
        1{D = 1, Y = k} minus its mean over decision-makers.
    """

    deviation: np.ndarray
    labeled: np.ndarray


def own_instrument(fit: CrossFit, data: SelectiveLabels) -> OwnInstrument:
    """Deviations of leniency and outcome from their means over decision-makers, held out.

    The means use the known assignment where it is given, and the arms' shares else.
    """
    n_classes = len(data.classes)
    deviation, labeled = np.empty(len(data)), np.empty((len(data), n_classes))
    for number, fold in enumerate(fit.folds):
        rows = np.flatnonzero(fit.held_out == number)
        for here in fit.chunks(rows, n_classes + 1):
            joint = fold.joint(data.X[here])
            shares = _shares(fit, data, fold.lookup, here)
            leniency = 1.0 - joint[:, :, 0]
            own = fold.lookup[data.decision_maker_codes[here]]
            deviation[here] = leniency[own, np.arange(len(here))] - np.sum(shares.T * leniency, axis=0)
            expected = np.einsum("na,ank->nk", shares, joint[:, :, 1:])
            labeled[here] = (data.y[here, None] == np.arange(n_classes)) - expected
    return OwnInstrument(deviation, labeled)


def moment_losses(
    probabilities: np.ndarray, own: OwnInstrument, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Loss of candidate class probabilities, row by row; its mean is least at the truth under NUCEM.

    f (D - m_D) Σ_k η_k² - 2 f Σ_k (D Y_k - m_k) η_k,   f the deviation of leniency,

    because E[f (D - m_D) | x] = V(x) and E[f (D Y_k - m_k) | x] = V(x) η*_k(x): up to a constant the mean is
    E[V Σ_k (η_k - η*_k)²]. Only seen labels enter.

    Examples
    --------
    >>> own = OwnInstrument(np.array([0.5, -0.5]), np.array([[0.5, 0.0], [-0.5, 0.0]]))
    >>> moment_losses(np.array([[1.0, 0.0], [1.0, 0.0]]), own).mean() < moment_losses(
    ...     np.array([[0.5, 0.5], [0.5, 0.5]]), own).mean()
    np.True_
    """
    decided = own.labeled.sum(axis=1)
    square = decided * np.sum(probabilities**2, axis=1)
    losses = own.deviation * (square - 2.0 * np.sum(own.labeled * probabilities, axis=1))
    return losses if sample_weight is None else losses * sample_weight / sample_weight.mean()


def choose_shrinkage(
    moments: Moments, own: OwnInstrument, sample_weight: np.ndarray | None = None
) -> tuple[float, dict[float, float]]:
    """Take the shrinkage with the smallest held-out moment loss, if the slope improves on the labeled cases.

    Whether it does is a score test: a small step from the labeled cases' answer towards the slope (the
    largest finite shrinkage) must lower the loss significantly. Where the instrument is weak the loss is
    mostly noise and its minimum would be a gamble; the shrinkage is then infinite.

    Parameters
    ----------
    moments : Moments
        Held out.
    own : OwnInstrument
    sample_weight : (n_samples,) array, optional

    Returns
    -------
    shrinkage : float
    losses : dict
        Mean loss of every value tried.
    """
    losses = {
        shrinkage: moment_losses(point_estimate(moments, shrinkage), own, sample_weight)
        for shrinkage in (*SHRINKAGE_GRID, np.inf)
    }
    means = {shrinkage: float(each.mean()) for shrinkage, each in losses.items()}
    step = losses[SHRINKAGE_GRID[-1]] - losses[np.inf]
    if step.mean() >= -CRITICAL * step.std() / np.sqrt(len(step)):
        return np.inf, means
    return min(means, key=lambda shrinkage: means[shrinkage]), means


def point_estimate(moments: Moments, shrinkage: float) -> np.ndarray:
    """Class probabilities of everybody under NUCEM: shrunken slopes, projected on the simplex."""
    if np.isinf(shrinkage):
        return moments.selected
    return project_to_simplex(slope(moments.covariance, moments.strength, moments.selected, shrinkage))


def _shares(fit: CrossFit, data: SelectiveLabels, lookup: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Probability of each arm at each row, (n, n_arms)."""
    if data.assignment is None:
        return np.broadcast_to(fit.shares, (len(rows), fit.n_arms))
    membership = lookup[:, None] == np.arange(fit.n_arms)
    return data.assignment[rows] @ membership
