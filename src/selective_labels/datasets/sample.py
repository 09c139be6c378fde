"""What a generator returns: a selectively labeled sample, and the truth behind it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from selective_labels.support.errors import InputError

UNSEEN = -1
_ROWS_PER_CHUNK = 4096


class Limits(NamedTuple):
    """True accuracies in the population of three rules that know the law of the data."""

    bayes: float
    minimax: float
    selected: float


class Oracle(ABC):
    """The law behind a synthetic sample.

    With p_kz(x) = P(Y=k, D=1 | x, z), l_k(x) = max_z p_kz(x) and eta_k(x) = P(Y*=k | x):

    * `bayes_accuracy`    = E[max_k eta_k(X)],
    * `minimax_accuracy`  = E[eta_t(X)], t(x) = argmax_k l_k(x), the minimax-regret rule,
    * `selected_accuracy` = E[eta_t(X)], t(x) = argmax_k P(Y=k | x, D=1), what training on the labeled
      cases converges to.

    All three are computed by deterministic quadrature at first use and then kept.

    Examples
    --------
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(50, n_classes=2, n_decision_makers=3, random_state=0)
    >>> probabilities, lower = sample.oracle.probabilities(sample.X), sample.oracle.lower(sample.X)
    >>> probabilities.shape, bool((lower <= probabilities).all())
    ((50, 2), True)
    >>> sample.oracle.selected_accuracy <= sample.oracle.bayes_accuracy
    True
    """

    n_features: int
    n_decision_makers: int
    n_classes: int

    def probabilities(self, X: Any) -> np.ndarray:
        """P(Y*=k | x), shape (n_samples, n_classes)."""
        return self._in_chunks(self._probabilities, X)

    def joint(self, X: Any) -> np.ndarray:
        """P(D=0 | x, z), then P(Y=k, D=1 | x, z), shape (n_samples, n_decision_makers, n_classes + 1).

        Decision-makers stand in the order of their sorted ids.
        """
        return self._in_chunks(self._joint, X)

    def lower(self, X: Any) -> np.ndarray:
        """Sharp lower bounds max_z P(Y=k, D=1 | x, z), shape (n_samples, n_classes)."""
        return self._in_chunks(self._lower, X)

    @property
    def bayes_accuracy(self) -> float:
        """Accuracy of the Bayes rule."""
        return self._limits.bayes

    @property
    def minimax_accuracy(self) -> float:
        """Accuracy of argmax_k of the true lower bounds."""
        return self._limits.minimax

    @property
    def selected_accuracy(self) -> float:
        """Accuracy of the Bayes rule of the labeled cases."""
        return self._limits.selected

    @cached_property
    def _limits(self) -> Limits:
        return self._compute_limits()

    @abstractmethod
    def _probabilities(self, X: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _joint(self, X: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _compute_limits(self) -> Limits: ...

    def _lower(self, X: np.ndarray) -> np.ndarray:
        return self._joint(X)[:, :, 1:].max(axis=1)

    def _in_chunks(self, function: Callable[[np.ndarray], np.ndarray], X: Any) -> np.ndarray:
        """Apply `function` to blocks of rows, so that quadrature nodes never meet all rows at once."""
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise InputError.about("X", f"must have shape (n_samples, {self.n_features}), got {X.shape}.")
        # One empty block gives the right shape when there is no row at all.
        starts = range(0, max(len(X), 1), _ROWS_PER_CHUNK)
        return np.concatenate([function(X[start : start + _ROWS_PER_CHUNK]) for start in starts])


def limits_of_rules(oracle: Oracle, X: np.ndarray) -> Limits:
    """Accuracies of the three rules over the rows of a population."""
    labeled, eta = oracle.joint(X)[:, :, 1:], oracle.probabilities(X)

    def accuracy(gains: np.ndarray) -> float:
        return float(np.take_along_axis(eta, gains.argmax(axis=1)[:, None], axis=1).mean())

    return Limits(accuracy(eta), accuracy(labeled.max(axis=1)), accuracy(labeled.mean(axis=1)))


@dataclass(frozen=True, eq=False)
class SelectiveSample:
    """A sample with selective labels, and what is behind it.

    Attributes
    ----------
    X : array or frame of shape (n_samples, n_features)
    y : int array of shape (n_samples,)
        Class codes 0..K-1 where the decision is 1, and -1 where no label was seen.
    decision : int array of shape (n_samples,)
        1: the label is seen; 0: it is not.
    decision_maker : int array of shape (n_samples,)
    y_true : int array of shape (n_samples,)
        Class codes of everybody. For measuring, never for training.
    oracle : Oracle or SemiSyntheticOracle
        The law that the sample was drawn from, as far as it is known.

    Examples
    --------
    >>> from selective_labels.datasets import make_decision_makers
    >>> sample = make_decision_makers(100, random_state=0)
    >>> seen = sample.decision == 1
    >>> bool((sample.y[seen] == sample.y_true[seen]).all()), set(sample.y[~seen].tolist())
    (True, {-1})
    """

    X: Any
    y: np.ndarray
    decision: np.ndarray
    decision_maker: np.ndarray
    y_true: np.ndarray
    oracle: Any


def hide_labels(y_true: np.ndarray, decision: np.ndarray) -> np.ndarray:
    """Labels as they are seen: y_true where the decision is 1, else -1."""
    return np.where(decision == 1, y_true, UNSEEN)
