"""Slopes of observed labels on leniency under NUCEM: moments, shrinkage, and the one-step correction."""

from dataclasses import dataclass

import numpy as np

from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.identification.point import (
    Moments,
    numeric_moments,
    project_to_simplex,
    slope,
    two_fold_moments,
)
from selective_labels.nuisance.cross_fit import CrossFit, FoldModel, arm_chances, arm_propensity
from selective_labels.nuisance.score_formulas import average_over_arms

# In units of the variance of leniency. Infinite shrinkage gives the class probabilities of labeled cases.
SHRINKAGE = 1e-3
SMALL_STEP = 1e-1
# Concentration of the first stage from which on the noise of the slope is small; 200 is a t-value of 14.
VERY_STRONG = 200.0
# One-sided 5 % critical value of the test that the slope improves on the labeled cases' probabilities.
CRITICAL = 1.645
# The one-step correction needs a mean strength of a numeric instrument of this many standard errors.
STRONG = 5.0


@dataclass(frozen=True)
class OwnInstrument:
    """Deviations of the instrument and the outcome of each row from their held-out means.

    Attributes
    ----------
    deviation : (n_samples,) array
        Leniency (or numeric value) of the row's decision-maker minus its mean over decision-makers.
    labeled : (n_samples, n_classes) array
        1{D = 1, Y = k} minus its mean over decision-makers.
    sign : (n_samples,) array
        Sign of the covariance of instrument and leniency by held-out models: leniency has +1 everywhere, and
        a number may lower the leniency of some cases.
    """

    deviation: np.ndarray
    labeled: np.ndarray
    sign: np.ndarray | float = 1.0

    def concentration(self, sample_weight: np.ndarray | None = None) -> float:
        """Squared t-value of the first stage, the mean of sign x f (D - m_D) over its standard error."""
        return _t_value(self.sign * self.deviation, self, sample_weight) ** 2


def slope_moments(
    fit: CrossFit,
    X: np.ndarray,
    n_classes: int,
    codes: np.ndarray | None = None,
    assignment: np.ndarray | None = None,
) -> Moments:
    """Moments of the slope of observed labels on the instrument at new rows, averaged over folds.

    Means over decision-makers are weighted by the propensity score e_z(x), which is known, modelled, or given
    by shares.

    Parameters
    ----------
    fit : CrossFit
        Fitted in halves, unless `codes` are given.
    X : (n_samples, n_features) array
    codes : (n_decision_makers,) array, optional
        Numeric values of the decision-makers (the paper's covariance ratio), averaged within bands. By
        default the instrument is leniency, estimated on two halves.
    assignment : (n_samples, n_decision_makers) array, optional
        Known probabilities of decision-makers.

    Returns
    -------
    Moments
    """
    covariance, selected = np.zeros((len(X), n_classes)), np.zeros((len(X), n_classes))
    for number, fold in enumerate(fit.folds):
        for here in fit.chunks(np.arange(len(X)), n_classes + 1):
            known = None if assignment is None else assignment[here]
            chances = arm_chances(fit, number, X[here], known)
            moments = _moments(fit, fold, [model.joint(X[here]) for model in fold.models], codes, chances)
            covariance[here] += moments.covariance / len(fit.folds)
            selected[here] += moments.selected / len(fit.folds)
    return Moments(covariance, covariance.sum(axis=1), selected)


def held_out_slopes(
    fit: CrossFit, data: SelectiveLabels, codes: np.ndarray | None = None
) -> tuple[Moments, OwnInstrument]:
    """Held-out moments of the slope at the training rows, and the observed deviations there.

    Means over decision-makers are weighted by the propensity score e_z(x); see
    :func:`selective_labels.nuisance.cross_fit.arm_propensity`.
    """
    n_classes = len(data.classes)
    covariance, selected, labeled = (np.empty((len(data), n_classes)) for _ in range(3))
    deviation, sign = np.empty((2, len(data)))
    for number, fold in enumerate(fit.folds):
        propensity = arm_propensity(fit, number, data)
        for here in fit.chunks(np.flatnonzero(fit.held_out == number), n_classes + 1):
            pair = [model.joint(data.features[here]) for model in fold.models]
            chances = propensity(here)
            moments = _moments(fit, fold, pair, codes, chances)
            covariance[here], selected[here] = moments.covariance, moments.selected
            numbers = None if codes is None else _arm_codes(fit, fold, codes)
            own = _own(fold.lookup, data, here, np.mean(pair, axis=0), chances, numbers)
            deviation[here], labeled[here], sign[here] = own.deviation, own.labeled, own.sign
    return Moments(covariance, covariance.sum(axis=1), selected), OwnInstrument(deviation, labeled, sign)


def moment_losses(
    probabilities: np.ndarray, own: OwnInstrument, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Loss of candidate class probabilities, row by row; under NUCEM the truth minimises its mean.

    f (D - m_D) Σ_k η_k² - 2 f Σ_k (D Y_k - m_k) η_k,   f the deviation of leniency,

    Since E[f (D - m_D) | x] = V(x) and E[f (D Y_k - m_k) | x] = V(x) η*_k(x), the mean is
    E[V Σ_k (η_k - η*_k)²] up to a constant. Only observed labels enter.

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


def shrinkage_if_strong(
    moments: Moments,
    own: OwnInstrument,
    concentration: float = 0.0,
    sample_weight: np.ndarray | None = None,
    cases: np.ndarray | None = None,
) -> float:
    """Shrinkage of the slope if the instrument is strong enough, otherwise infinity.

    The instrument is strong enough if it passes a score test: a small step from the class probabilities of
    labeled cases towards the slope (the largest finite shrinkage) must lower the moment loss significantly.
    With a weak instrument the loss is mostly noise. With a very strong instrument the test is skipped,
    because it would test whether the two estimates differ. The shrinkage itself is fixed, because minimising
    the loss over a grid is too noisy.

    Parameters
    ----------
    moments : Moments
        Held-out moments.
    concentration : float
        Concentration of the first stage (:mod:`selective_labels.nuisance.first_stage`).
    sample_weight : (n_samples,) array, optional
    cases : (n_samples,) int array, optional
        Codes of repeated cases; the test is clustered by case.
    """
    if concentration >= VERY_STRONG:
        return SHRINKAGE
    small_step = moment_losses(point_estimate(moments, SMALL_STEP), own, sample_weight)
    step = small_step - moment_losses(point_estimate(moments, np.inf), own, sample_weight)
    centred = step - step.mean()
    parts = centred if cases is None else np.bincount(cases, centred)
    if step.mean() >= -CRITICAL * np.sqrt(np.sum(parts**2)) / len(step):
        return np.inf
    return SHRINKAGE


def point_estimate(moments: Moments, shrinkage: float) -> np.ndarray:
    """Class probabilities of the population under NUCEM: shrunken slopes, projected onto the simplex."""
    if np.isinf(shrinkage):
        return moments.selected
    return project_to_simplex(slope(moments.covariance, moments.strength, moments.selected, shrinkage))


def one_step(
    probabilities: np.ndarray, own: OwnInstrument, sample_weight: np.ndarray | None = None
) -> np.ndarray | None:
    """One-step correction of each class probability for the paper's ratio estimator, (n_classes,).

    c_k = Σ_i f_i (D Y_k - m_k - η_k (D - m_D))_i / Σ_i f_i (D - m_D)_i,   f = z minus its mean given x

    After the correction the moment E[f (D Y_k - m_k - η_k (D - m_D))] = 0 holds in the sample. This moment is
    the paper's ratio times its denominator. Errors of the plug-in η, which the ridge penalty shrinks towards
    the class probabilities of labeled cases, then matter only in products. Returns None if the denominator is
    within five standard errors of zero.

    Parameters
    ----------
    probabilities : (n_samples, n_classes) array
        Held-out plug-in estimates η.
    own : OwnInstrument
        Deviations of a numeric instrument.
    sample_weight : (n_samples,) array, optional

    Examples
    --------
    >>> own = OwnInstrument(np.tile([1.0, -1.0], 50), np.tile([[0.3, 0.1], [-0.3, -0.1]], (50, 1)))
    >>> one_step(np.full((100, 2), 0.5), own)
    array([ 0.25, -0.25])
    """
    if abs(_t_value(own.deviation, own, sample_weight)) < STRONG:
        return None
    weighted = own.deviation if sample_weight is None else sample_weight * own.deviation
    decided = own.labeled.sum(axis=1)
    missing = own.labeled - probabilities * decided[:, None]
    return np.asarray(weighted @ missing / (weighted @ decided))


def stepped(probabilities: np.ndarray, step: np.ndarray | None) -> np.ndarray:
    """Class probabilities after the correction, projected onto the simplex."""
    return probabilities if step is None else project_to_simplex(probabilities + step)


def _t_value(deviation: np.ndarray, own: OwnInstrument, sample_weight: np.ndarray | None) -> float:
    """Mean of s f (D - m_D) over its standard error."""
    strength = deviation * own.labeled.sum(axis=1) * (1.0 if sample_weight is None else sample_weight)
    error = strength.std() / np.sqrt(len(strength))
    return float(strength.mean() / max(error, np.finfo(float).tiny))


def _moments(
    fit: CrossFit, fold: FoldModel, pair: list[np.ndarray], codes: np.ndarray | None, chances: np.ndarray
) -> Moments:
    if codes is None:
        return two_fold_moments(pair[0], pair[-1], chances.T)
    return numeric_moments(_arm_codes(fit, fold, codes), np.mean(pair, axis=0), chances.T)


def _arm_codes(fit: CrossFit, fold: FoldModel, codes: np.ndarray) -> np.ndarray:
    """Numeric value of each arm: the mean over its decision-makers."""
    counts = np.bincount(fold.lookup, minlength=fit.n_arms)
    return np.bincount(fold.lookup, codes, fit.n_arms) / np.maximum(counts, 1)


def _own(
    lookup: np.ndarray,
    data: SelectiveLabels,
    rows: np.ndarray,
    joint: np.ndarray,
    chances: np.ndarray,
    numbers: np.ndarray | None,
) -> OwnInstrument:
    leniency = 1.0 - joint[:, :, 0]
    values = leniency if numbers is None else np.broadcast_to(numbers[:, None], leniency.shape)
    own = lookup[data.decision_maker_codes[rows]]
    centred = values - np.sum(chances.T * values, axis=0)
    strength = np.sum(chances.T * centred * leniency, axis=0)
    seen = data.label_indicators[rows]
    deviation = centred[own, np.arange(len(rows))]
    return OwnInstrument(
        deviation, seen - average_over_arms(joint, chances), np.where(strength < 0, -1.0, 1.0)
    )
