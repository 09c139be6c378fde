"""Ends of the regret: how much more often the Bayes rule would be right."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from selective_labels.identification.bounds import Array, Bounds
from selective_labels.identification.costs import linear_extremes
from selective_labels.identification.earmarked import Earmarked
from selective_labels.inference.estimates import Ends, mean_estimate
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.known_shares import shared_ratio_end

ROUNDING = 1e-12
# Up to so many classes, every set of rivals is tried.
FEW_CLASSES = 6


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

    With m = min_k (q_k - π_k) given, the best q is max(π_k + m, 0) plus the rest on the class with the
    largest lower bound; the value is concave and piecewise linear in m, so m is 0 or one of -π_k.

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.1, 0.6], [0.3, 0.3]]), np.array([[0.4, 0.9], [0.7, 0.7]]))
    >>> best_lottery(np.array([[1.0, 0.0], [1.0, 0.0]]), bounds)
    array([[0., 1.],
           [1., 0.]])
    """
    if isinstance(bounds, Earmarked):
        return _best_of_lotteries(prediction, bounds)
    lower, slack = bounds.lower, bounds.slack
    top = lower.max(axis=1, keepdims=True)
    best, best_value = np.zeros(len(lower)), np.full(len(lower), -np.inf)
    for level in (np.zeros(len(lower)), *(-prediction.T)):
        kept = np.maximum(prediction + level[:, None], 0.0)
        value = np.einsum("nk,nk->n", lower - top, kept) + slack * level
        # What beats "no regret at all" by rounding only does not beat it.
        better = value > best_value + 1e-12
        best, best_value = np.where(better, level, best), np.where(better, value, best_value)
    lottery = np.maximum(prediction + best[:, None], 0.0)
    rows = np.arange(len(lower))
    lottery[rows, lower.argmax(axis=1)] += 1.0 - lottery.sum(axis=1)
    return lottery


def strongest_rival(prediction: Array, bounds: Bounds) -> Array:
    """One-hot class j with the largest max_η (η_j - Σ_a π_a η_a).

    Examples
    --------
    >>> bounds = Bounds(np.array([[0.1, 0.6]]), np.array([[0.4, 0.9]]))
    >>> strongest_rival(np.array([[1.0, 0.0]]), bounds)
    array([[0., 1.]])
    """
    classes = np.eye(prediction.shape[1])
    if isinstance(bounds, Earmarked):
        values = [linear_extremes(rival - prediction, bounds)[1] for rival in classes]
        return classes[np.argmax(values, axis=0)]
    predicted = np.einsum("nk,nk->n", prediction, bounds.lower)
    values = [
        bounds.lower[:, code] - predicted + bounds.slack * (rival - prediction).max(axis=1)
        for code, rival in enumerate(classes)
    ]
    return classes[np.argmax(values, axis=0)]


def _best_of_lotteries(prediction: Array, bounds: Earmarked) -> Array:
    """Of "no regret" and lotteries with equal chances the best: any is valid."""
    n_classes = prediction.shape[1]
    most = n_classes if n_classes <= FEW_CLASSES else 1
    chosen = [each for size in range(1, most + 1) for each in combinations(range(n_classes), size)]
    best, best_value = prediction, np.zeros(len(prediction))
    for members in dict.fromkeys([*chosen, *bounds.events]):
        lottery = np.isin(np.arange(n_classes), members) / len(members)
        value = linear_extremes(lottery - prediction, bounds)[0]
        better = value > best_value + ROUNDING
        best = np.where(better[:, None], lottery, best)
        best_value = np.where(better, value, best_value)
    return best
