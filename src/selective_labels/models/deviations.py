"""How decision-makers deviate from a common leniency: logistic terms of each beside a known offset."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

# Newton's steps are quadratic: from zero, six leave nothing that matters with any ridge in use.
N_STEPS = 6


@dataclass(frozen=True)
class Deviations:
    """Deviations of arms in the log-odds of a decision in favour.

    logit λ_z(x) = o(x) + b(x)·β_z,   Σ_z share_z β_z = 0

    Attributes
    ----------
    coefficients : (n_arms, n_terms) array
    """

    coefficients: np.ndarray

    def leniency(self, terms: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """λ_z of every row under every arm, (n_arms, n_samples)."""
        return expit(self.coefficients @ terms.T + offset)

    def own(self, terms: np.ndarray, offset: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """λ_z of every row under its own arm, (n_samples,)."""
        return expit(np.einsum("nd,nd->n", terms, self.coefficients[arm]) + offset)


def fit_deviations(
    terms: np.ndarray,
    offset: np.ndarray,
    arm: np.ndarray,
    decision: np.ndarray,
    variance: float,
    n_arms: int,
    sample_weight: np.ndarray | None = None,
) -> Deviations:
    """Fit the terms of every arm to its own rows, with ridge, and centre them over arms.

    max_β Σ_i s_i log P(D_i | o_i + b_i·β_z) - |β_z|² / (2 variance), arm by arm

    Given the offset, arms have nothing in common: few small problems in place of one large. What all of them
    share belongs to the offset, so the mean over arms, by their weight, is taken out.

    Parameters
    ----------
    terms : (n_samples, n_terms) array
        b(x), columns of unit scale.
    offset : (n_samples,) array
        o(x), log-odds of the common leniency by a model that has not seen the rows.
    arm, decision : (n_samples,) int arrays
    variance : float
        Prior variance of the coefficients.
    n_arms : int
    sample_weight : (n_samples,) array, optional

    Examples
    --------
    >>> arm, decision = np.repeat([0, 1], 4), np.array([0, 0, 0, 1, 0, 1, 1, 1])
    >>> found = fit_deviations(np.ones((8, 1)), np.zeros(8), arm, decision, 1e6, 2)
    >>> found.leniency(np.ones((1, 1)), np.zeros(1)).round(2)
    array([[0.25],
           [0.75]])
    """
    weight = np.ones(len(arm)) if sample_weight is None else sample_weight
    order = np.argsort(arm, kind="stable")
    edges = np.searchsorted(arm[order], np.arange(n_arms + 1))
    coefficients = np.zeros((n_arms, terms.shape[1]))
    for each in range(n_arms):
        rows = order[edges[each] : edges[each + 1]]
        if len(rows):
            coefficients[each] = _newton(terms[rows], offset[rows], decision[rows], weight[rows], variance)
    shares = np.bincount(arm, weight, n_arms)
    return Deviations(coefficients - shares @ coefficients / max(shares.sum(), np.finfo(float).tiny))


def _newton(
    terms: np.ndarray, offset: np.ndarray, decision: np.ndarray, weight: np.ndarray, variance: float
) -> np.ndarray:
    solution = np.zeros(terms.shape[1])
    ridge = np.eye(terms.shape[1]) / variance
    for _ in range(N_STEPS):
        chance = expit(offset + terms @ solution)
        slope = terms.T @ (weight * (decision - chance)) - solution / variance
        curvature = (terms * (weight * chance * (1.0 - chance))[:, None]).T @ terms + ridge
        step = np.linalg.solve(curvature, slope)
        solution = solution + step
        if np.abs(step).max() < 1e-6:
            break
    return solution
