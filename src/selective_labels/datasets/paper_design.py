"""The laws of the paper's synthetic experiment, with three sets of constants."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

SCALE = 2.0  # standard deviation of every feature and every hidden variable
FEATURE_FACTOR = 2.0  # in the decision, before the features


@dataclass(frozen=True)
class Constants:
    """Where the paper and the released code differ (E18)."""

    n_features: int
    n_hidden: int
    first_index: int
    outcome_factor: float
    decision_factor: dict[str, float]


CONSTANTS = {
    "paper": Constants(5, 5, 1, 4.0, {"nucem": 3.0, "uc": 3.0}),
    "released_notebook": Constants(5, 5, 0, 2.0, {"nucem": 1.0, "uc": 3.0}),
    "released_scripts": Constants(6, 4, 0, 2.0, {"nucem": 1.0, "uc": 3.0}),
}


@dataclass(frozen=True)
class PaperDesign:
    """Laws of outcome and decision, written in the four sums that they depend on.

    Class logits are linear in k, so the outcome depends on features and hidden variables through their
    plain sums s and b only; the decision depends on the weighted sums r and c:

        P(Y*=k | x, u) = softmax_k(k ((1 - alpha_y) s + alpha_y factor_y b)),      s = sum x_i, b = sum u_i,
        P(D=1 | x, u, z) = (1 - alpha_d) expit(2 z r) + alpha_d expit(factor_d c)     (nucem),
                         = expit((1 - alpha_d) 2 z r + alpha_d factor_d c)            (uc),
        r = sum (2 - i) x_i,  c = sum (1 + i) u_i.

    `mirrored` turns the sign of c.
    """

    selection: str
    alpha_y: float
    alpha_d: float
    n_features: int
    n_hidden: int
    n_decision_makers: int
    n_classes: int
    first_index: int
    outcome_factor: float
    decision_factor: float
    mirrored: bool

    @property
    def feature_coefficients(self) -> np.ndarray:
        """2 - i, the coefficients of features in the decision."""
        return 2.0 - self.first_index - np.arange(self.n_features)

    @property
    def hidden_coefficients(self) -> np.ndarray:
        """1 + i, the coefficients of hidden variables in the decision."""
        return 1.0 + self.first_index + np.arange(self.n_hidden)

    @property
    def decision_makers(self) -> np.ndarray:
        """Ids 1..J; these numbers enter the decision."""
        return np.arange(1, self.n_decision_makers + 1)

    @property
    def hidden_gain(self) -> float:
        """Signed coefficient of c within the expit that contains it."""
        share = self.alpha_d if self.selection == "uc" else 1.0
        return (-1.0 if self.mirrored else 1.0) * share * self.decision_factor

    def outcome(self, index: np.ndarray) -> np.ndarray:
        """P(Y*=k | x, u) at the index (1 - alpha_y) s + alpha_y factor_y b, shape index.shape + (K,)."""
        return softmax(index[..., None] * np.arange(self.n_classes), axis=-1)

    def outcome_index(self, feature_sum: np.ndarray, hidden_sum: np.ndarray) -> np.ndarray:
        """(1 - alpha_y) s + alpha_y factor_y b."""
        return (1 - self.alpha_y) * feature_sum + self.alpha_y * self.outcome_factor * hidden_sum

    def decision(self, r: np.ndarray, c: np.ndarray, decision_maker: np.ndarray) -> np.ndarray:
        """P(D=1 | x, u, z)."""
        by_features = FEATURE_FACTOR * decision_maker * r
        by_hidden = self.hidden_gain * c
        if self.selection == "uc":
            return expit((1 - self.alpha_d) * by_features + by_hidden)
        return (1 - self.alpha_d) * expit(by_features) + self.alpha_d * expit(by_hidden)
