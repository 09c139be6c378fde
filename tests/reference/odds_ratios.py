"""Scores of odds ratios and their slopes, written out."""

import numpy as np

from selective_labels.identification.bounds import Array
from selective_labels.identification.odds_ratio import AnswerRows, OddsRows, _one_hot, _step, refused


def odds_score_slopes(labeled: Array, y: Array, odds: Array) -> Array:
    """Derivative ∂ψ_k / ∂γ_m of :func:`odds_scores`, (n_samples, n_classes, n_classes).

    ∂q_k / ∂γ_m = -q_k (1{k=m} - q_m),   ∂(c w_Y) / ∂γ_m = c w_Y (q_m - 1{Y=m})

    The weights are not capped here.

    Examples
    --------
    >>> odds_score_slopes(np.array([[0.2, 0.4]]), np.array([-1]), np.ones(2)).round(3)
    array([[[-0.222,  0.222],
            [ 0.222, -0.222]]])
    """
    among_refused = refused(labeled, odds)
    seen, step = _one_hot(y, labeled), _step(labeled, y, odds, largest=np.inf)
    move = among_refused[:, :, None] * (among_refused[:, None, :] - np.eye(labeled.shape[1]))
    weight = np.where(y >= 0, step - 1.0, 0.0)
    moved = (among_refused - seen)[:, None, :] * (seen - among_refused)[:, :, None]
    return (1.0 - step)[:, None, None] * move + weight[:, None, None] * moved


def odds_residuals(labeled: Array, propensity: Array, arm: Array, y: Array, odds: Array) -> Array:
    """Residual of model O: ψ_k - Σ_z e_z(x) [p_kz + (1 - λ_z) q_kz], with mean zero given x at the truth.

    Multiplied by any f with E[f | x] = 0, the residual is a moment for γ. The moment is orthogonal: errors in
    p, e and f enter only as products.

    Parameters
    ----------
    labeled : (n_arms, n_samples, n_classes) array
    propensity : (n_samples, n_arms) array
    arm : (n_samples,) int array
    y : (n_samples,) int array
    odds : (n_classes,) array

    Returns
    -------
    (n_samples, n_classes) array
        Rows sum to zero.
    """
    return OddsRows(labeled, propensity, arm, y).residuals(odds).T


def answer_moments(labeled: Array, y: Array, odds: Array, instrument: Array, strength: Array) -> Array:
    """Orthogonal moment of model N.

    g_k = f (D Y_k - p̄_k - η_k (D - λ̄)) - V (D / λ̄) (w_Y / Σ_j η0_j w_j) (Y_k - η_k)

    with the instrument f (E[f | x] = 0) and its strength V = E[f D | x]. The first term is the moment; its
    derivative in η0 does not vanish. The second term has mean zero and cancels that derivative. The weights
    are capped at 100.

    Parameters
    ----------
    labeled : (n_samples, n_classes) array
        p̄_k(x) = P(Y=k, D=1 | x), averaged over decision-makers.
    y : (n_samples,) int array
        Label codes, -1 for unlabeled rows.
    odds : (n_classes,) array
        w_k.
    instrument, strength : (n_samples,) arrays
        f and V.

    Returns
    -------
    (n_samples, n_classes) array
        Rows sum to zero.
    """
    return AnswerRows(labeled, y, instrument, strength).moments(odds).T
