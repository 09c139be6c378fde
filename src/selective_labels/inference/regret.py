"""Ends of the regret: how much more often the Bayes rule would be right."""

from dataclasses import dataclass

import numpy as np

from selective_labels.identification.bounds import Array, Bounds
from selective_labels.identification.costs import linear_extremes
from selective_labels.identification.earmarked import Earmarked
from selective_labels.identification.functionals import smallest_cap
from selective_labels.inference.estimates import Ends, mean_estimate
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.known_shares import notice_ties, shared_ratio_end

ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Regret:
    """E[max_j η_j(X) - Σ_a π_a(X) η_a(X)]: what the Bayes rule would be right more often.

    With rival classes frozen by a model that has not seen the row, each end is linear:
    lower: E[min_η Σ_k (q_k - π_k) η_k] with the best lottery q of rivals (weak duality: any q gives a valid
    lower end, the best one the sharp end);
    upper: E[max_η (η_j - Σ_a π_a η_a)] with the strongest rival j.

    The lower end is valid for any model. The upper end is not: a wrong rival lowers it. It is right to
    first order where the strongest rival is separated from the next (margin condition). A known share of an
    event narrows the lower end only.

    Attributes
    ----------
    prediction : (n_samples, n_classes) array
        Probability of predicting each class.
    """

    prediction: Array

    def ends(self, evidence: Evidence, weights: Array | None) -> Ends:
        """Lower and upper end."""
        low, high = (mean_estimate(each, weights) for each in self.row_ends(evidence))
        if evidence.shares:
            rival = self._rivals(evidence)[0]
            low = shared_ratio_end(rival, np.ones_like(rival), evidence, weights, -1.0)
            return notice_ties(low, high, evidence.covariance)
        return low, high

    def row_ends(self, evidence: Evidence) -> tuple[Array, Array]:
        """Scores of the lower and of the upper end."""
        low, high = self._rivals(evidence)
        return (
            np.einsum("nk,nk->n", low, evidence.extreme(-low)),
            np.einsum("nk,nk->n", high, evidence.extreme(high)),
        )

    def _rivals(self, evidence: Evidence) -> tuple[Array, Array]:
        """Rivals less the prediction, for the lower and the upper end."""
        low, high = (find(self.prediction, evidence.bounds) for find in (best_lottery, strongest_rival))
        return low - self.prediction, high - self.prediction


def best_lottery(prediction: Array, bounds: Bounds) -> Array:
    """argmax_q min_η Σ_k (q_k - π_k) η_k over lotteries q: the dual of the smallest regret.

    The smallest regret is τ - V(τ), τ the smallest cap that all η_k can stay below and V(τ) the largest
    accuracy under it (:func:`selective_labels.identification.functionals.regret_rows`). With μ the π of the
    class that the slack ends in, and with the class k' or the classes C that force the cap:

        τ = l_k' :       q_k = (π_k - μ)^+ where the cap binds, and the rest on k'
        Σ_C τ + Σ_{k not in C} u_k = 1 :   q_k = π_k in C, and the rest evenly on C

    Sharp for any box and any prediction. Earmarked slack: sharp for hard predictions, else valid.

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.1, 0.6], [0.3, 0.3]]), np.array([[0.4, 0.9], [0.7, 0.7]]))
    >>> best_lottery(np.array([[1.0, 0.0], [1.0, 0.0]]), bounds)
    array([[0., 1.],
           [1., 0.]])
    """
    if isinstance(bounds, Earmarked):
        return _earmarked_lottery(prediction, bounds)
    cap = smallest_cap(bounds)[:, None]
    capped = Bounds(bounds.lower, np.minimum(bounds.upper, cap))
    accuracy = linear_extremes(prediction, capped)[1]
    reaching = bounds.upper >= cap - ROUNDING
    top, rows = bounds.lower.argmax(axis=1), np.arange(len(cap))
    forced = bounds.lower[rows, top] >= cap[:, 0] - ROUNDING
    lottery = np.where(reaching, prediction, 0.0)
    left = 1.0 - lottery.sum(axis=1, keepdims=True)
    spread = lottery + reaching * left / reaching.sum(axis=1, keepdims=True)
    lottery = np.where(reaching, np.maximum(prediction - _last_filled(prediction, capped), 0.0), 0.0)
    lottery[rows, top] = 0.0
    lottery[rows, top] = 1.0 - lottery.sum(axis=1)
    found = np.where(forced[:, None], lottery, spread)
    # What beats "no regret at all" by rounding only does not beat it.
    return np.where((cap[:, 0] - accuracy > ROUNDING)[:, None], found, prediction)


def _last_filled(prediction: Array, capped: Bounds) -> Array:
    """π of the class in which the slack comes to an end, the most likely predictions first; a column."""
    order = np.argsort(-prediction, axis=1, kind="stable")
    filled = np.cumsum(np.take_along_axis(capped.width, order, axis=1), axis=1)
    last = (filled < capped.slack[:, None] - ROUNDING).sum(axis=1).clip(max=prediction.shape[1] - 1)
    return np.take_along_axis(prediction, np.take_along_axis(order, last[:, None], axis=1), axis=1)


def strongest_rival(prediction: Array, bounds: Bounds) -> Array:
    """One-hot class j with the largest max_η (η_j - Σ_a π_a η_a).

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.1, 0.6]]), np.array([[0.4, 0.9]]))
    >>> strongest_rival(np.array([[1.0, 0.0]]), bounds)
    array([[0., 1.]])
    """
    classes = np.eye(prediction.shape[1])
    values = [linear_extremes(rival - prediction, bounds)[1] for rival in classes]
    return classes[np.argmax(values, axis=0)]


def _earmarked_lottery(prediction: Array, bounds: Earmarked) -> Array:
    """Σ_t π_t q_t: for each class t that may be predicted, equal chances for the classes that stand highest.

    In the best case for t it gets all that it may, and the rest is kept level. A pot that fed one of the
    highest classes has no class below them, so the lottery over them pays its mass whatever is done.
    """
    lottery = np.zeros_like(prediction)
    for candidate in np.flatnonzero(prediction.any(axis=0)).tolist():
        level = bounds.best_case(candidate)
        rivals = np.delete(np.arange(level.shape[1]), candidate)
        height = level[:, rivals].max(axis=1, keepdims=True)
        highest = np.zeros_like(level)
        highest[:, rivals] = level[:, rivals] >= height - ROUNDING
        # What beats "no regret at all" by rounding only does not beat it.
        none = level[:, [candidate]] >= height - ROUNDING
        chosen = np.where(none, np.eye(level.shape[1])[candidate], highest)
        lottery += prediction[:, [candidate]] * chosen / chosen.sum(axis=1, keepdims=True)
    return lottery
