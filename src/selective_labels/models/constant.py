"""Where there is nothing to fit: rows that all ended alike, or probabilities given from outside."""

from collections.abc import Callable

import numpy as np

from selective_labels.support.errors import InputError

# What given probabilities may miss by: quadrature and single precision, not a mistake.
ROUNDING = 1e-6


class ConstantJoint:
    """Every row has the one outcome that was seen."""

    def __init__(self, n_arms: int, n_outcomes: int, outcome: int):
        self.n_arms = n_arms
        self.probabilities = np.eye(n_outcomes)[outcome]

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under every decision-maker, (n_arms, n, n_outcomes)."""
        return np.broadcast_to(self.probabilities, (self.n_arms, len(X), len(self.probabilities)))

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under its own decision-maker, (n, n_outcomes)."""
        return np.broadcast_to(self.probabilities, (len(X), len(self.probabilities)))


class InjectedJoint:
    """Probabilities that the user knows: a callable X -> (n, n_decision_makers, n_classes + 1)."""

    def __init__(self, n_arms: int, n_outcomes: int, function: Callable[[np.ndarray], np.ndarray]):
        self.n_arms = n_arms
        self.n_outcomes = n_outcomes
        self.function = function

    def joint(self, X: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under every decision-maker, (n_arms, n, n_outcomes)."""
        joint = np.asarray(self.function(X), dtype=float)
        expected = (len(X), self.n_arms, self.n_outcomes)
        if joint.shape != expected:
            raise InputError.about(
                "nuisance",
                f"returned an array of shape {joint.shape}; it must be (rows, decision-makers, "
                f"classes + 1) = {expected}, the unlabeled class first.",
            )
        total = joint.sum(axis=2)
        if not ((joint >= -ROUNDING).all() and (np.abs(total - 1.0) <= ROUNDING).all()):  # NaN fails too
            raise InputError.about(
                "nuisance",
                "returned an array that is not a probability distribution over the unlabeled "
                "case and the classes: every entry must be non-negative, and the last axis must sum to one.",
            )
        return np.moveaxis(joint, 1, 0)

    def own(self, X: np.ndarray, arm: np.ndarray) -> np.ndarray:
        """Outcome probabilities of every row under its own decision-maker, (n, n_outcomes)."""
        return self.joint(X)[arm, np.arange(len(X))]
