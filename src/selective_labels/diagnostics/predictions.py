"""From the shared cross-fit to what checks read: predictions of cases, and under every decision-maker."""

from dataclasses import dataclass

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.identification.point import slope, two_fold_moments
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.propensity import arm_propensity
from selective_labels.nuisance.score_formulas import WEAKEST_STRENGTH, average_over_arms


@dataclass(frozen=True, eq=False)
class CaseModel:
    """Predictions from the features alone, by models that have not seen the row.

    Attributes
    ----------
    decision : (n_rows,) array
        P(D=1 | x) under the average decision-maker.
    label : (n_rows, n_classes) array
        P(Y=k | x, D=1).
    """

    decision: np.ndarray
    label: np.ndarray


def case_model(fit: CrossFit, X: np.ndarray, model_rows: np.ndarray, rows: np.ndarray) -> CaseModel:
    """Predict decision and label of some rows, decision-makers averaged with equal weights for every row.

    Rows among `model_rows` are predicted by the fold that held them out, others by the first fold's model.
    """
    fold_of_row = np.zeros(len(X), dtype=int)
    fold_of_row[model_rows] = fit.held_out
    labeled: np.ndarray | None = None
    position = np.empty(len(X), dtype=int)
    position[rows] = np.arange(len(rows))
    for number, fold in enumerate(fit.folds):
        own = rows[fold_of_row[rows] == number]
        for here in fit.chunks(own, 8):
            part = np.einsum("a,ank->nk", fit.shares, fold.joint(X[here])[:, :, 1:])
            if labeled is None:
                labeled = np.empty((len(rows), part.shape[1]))
            labeled[position[here]] = part
    if labeled is None:  # a mistake of the caller, who knows how many rows there are
        raise ValueError("there is no row to predict.")
    decision = labeled.sum(axis=1)
    return CaseModel(decision, labeled / np.maximum(decision, np.finfo(float).tiny)[:, None])


@dataclass(frozen=True, eq=False)
class RowModel:
    """What models say of rows under every arm (decision-maker, or group of them), held out.

    Attributes
    ----------
    arm : (n_samples,) int array
    propensity : (n_samples, n_arms) array
    strength : (n_samples,) array
        Variance of leniency over arms, V(x) = Σ_z e_z d_z^A d_z^B with models of two halves: free of noise
        on average, and negative at times.
    leniency_range : (n_samples,) array
        Leniency of the most minus the least lenient arm: found by one half, measured by the other.
    labeled : (n_samples, n_classes) array
        Σ_z e_z P(D=1, Y=k | x, z).
    posterior : (n_samples, n_classes) array
        Slope of seen labels on leniency: the class probabilities under NUCEM.
    deviation : (n_samples,) array
        Leniency of the row's own arm minus the average.
    parabola : (n_samples,) array
        The square of that deviation minus its average over arms.
    """

    arm: np.ndarray
    propensity: np.ndarray
    strength: np.ndarray
    leniency_range: np.ndarray
    labeled: np.ndarray
    posterior: np.ndarray
    deviation: np.ndarray
    parabola: np.ndarray


def row_model(fit: CrossFit, data: SelectiveLabels) -> RowModel:
    """Predict all rows under all arms, chunk by chunk, and keep what checks need."""
    n_samples, n_classes = len(data), len(data.classes)
    result = RowModel(
        np.empty(n_samples, dtype=int),
        np.empty((n_samples, fit.n_arms)),
        np.empty(n_samples),
        np.empty(n_samples),
        np.empty((n_samples, n_classes)),
        np.empty((n_samples, n_classes)),
        np.empty(n_samples),
        np.empty(n_samples),
    )
    for number, fold in enumerate(fit.folds):
        propensity = arm_propensity(fit, number, data)
        for here in fit.chunks(np.flatnonzero(fit.held_out == number), n_classes + 1):
            pair = [model.joint(data.features[here]) for model in fold.models]
            first, second = pair[0], pair[-1]
            share = propensity(here)
            moments = two_fold_moments(first, second, share.T)
            joint = (first + second) / 2.0
            arm = fold.lookup[data.decision_maker_codes[here]]
            labeled = average_over_arms(joint, share)
            result.arm[here] = arm
            result.propensity[here] = share
            result.strength[here] = moments.strength
            result.leniency_range[here] = _honest_range(1.0 - first[:, :, 0], 1.0 - second[:, :, 0], share)
            result.labeled[here] = labeled
            result.posterior[here] = slope(
                moments.covariance, moments.strength, moments.selected, WEAKEST_STRENGTH
            )
            deviation = 1.0 - joint[:, :, 0] - labeled.sum(axis=1)
            own = deviation[arm, np.arange(len(here))]
            result.deviation[here] = own
            result.parabola[here] = own**2 - np.sum(share.T * deviation**2, axis=0)
    return result


def _honest_range(first: np.ndarray, second: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Range over arms that a row can go to, extremes found in one half and measured in the other."""
    absent = share.T == 0.0

    def measured(finder: np.ndarray, measure: np.ndarray) -> np.ndarray:
        high = np.where(absent, -np.inf, finder).argmax(axis=0)
        low = np.where(absent, np.inf, finder).argmin(axis=0)
        rows = np.arange(finder.shape[1])
        return measure[high, rows] - measure[low, rows]

    return (measured(first, second) + measured(second, first)) / 2.0
