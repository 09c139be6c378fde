"""Outcome probabilities from the coefficients of a pooled model and the terms that they multiply."""

from collections.abc import Callable

import numpy as np

from selective_labels.models.outcomes import spread_columns
from selective_labels.models.pooled_ridge import Coefficients, softmax_with_last


def joint_outcomes(
    coefficients: Coefficients, terms: np.ndarray, outcomes: np.ndarray, n_outcomes: int
) -> np.ndarray:
    """Of every row under every decision-maker, (n_arms, n_samples, n_outcomes).

    P(outcome = c | x, z) ∝ exp(common_c(x) + a_cz + g(x)·s_cz)

    Parameters
    ----------
    coefficients : Coefficients
    terms : (1 + n_columns, n_samples) array
        Lines of ones and of what the coefficients multiply.
    outcomes : int array
        Codes of the outcomes that have coefficients; others get probability zero.
    n_outcomes : int

    Examples
    --------
    >>> lenient = np.log(np.array([[[3.0], [1.0]]]))
    >>> joint_outcomes(Coefficients(np.zeros((1, 1)), None, lenient), np.ones((1, 1)), np.arange(2), 2)[:, 0]
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    common = coefficients.common_logits(terms)
    local = coefficients.local.transpose(1, 0, 2)
    if local.shape[2] == 1:
        # The odds of a sum are products: few exponentials for many arms.
        odds = softmax_with_last(local) * softmax_with_last(common)
        odds /= odds.sum(axis=1, keepdims=True)
        return _outcomes_last(odds, outcomes, n_outcomes)
    logits = local @ terms[: local.shape[2]]
    logits += common
    return _outcomes_last(softmax_with_last(logits), outcomes, n_outcomes)


def own_outcomes(
    coefficients: Coefficients,
    terms_of: Callable[[np.ndarray], np.ndarray],
    arm: np.ndarray,
    outcomes: np.ndarray,
    n_outcomes: int,
) -> np.ndarray:
    """Of every row under its own decision-maker, (n_samples, n_outcomes); parameters as of the joint ones.

    `terms_of` gives the terms of the rows in an order: sorted by decision-maker, each is one product.
    """
    order = np.argsort(arm, kind="stable")
    edges = np.searchsorted(arm[order], np.arange(coefficients.local.shape[1] + 1))
    logits = np.empty((len(coefficients.base), len(order)))
    logits[:, order] = coefficients.sorted_logits(terms_of(order), edges)
    return _outcomes_last(softmax_with_last(logits), outcomes, n_outcomes)


def _outcomes_last(probabilities: np.ndarray, outcomes: np.ndarray, n_outcomes: int) -> np.ndarray:
    """Outcomes last; in memory they stay before the rows, which all that follows reads faster."""
    return spread_columns(np.swapaxes(probabilities, -1, -2), outcomes, n_outcomes)
