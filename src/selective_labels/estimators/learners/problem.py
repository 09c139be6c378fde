"""The cost-sensitive problem that a learner gets: what each prediction costs at each row."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CostSensitiveProblem:
    """Algorithm 1 after its weights are estimated: choose a class per row, at a cost.

    Attributes
    ----------
    X : (n_samples, n_features) array
    costs : (n_samples, n_classes) array
        Cost of predicting each class, held out.
    gains : (n_samples, n_classes) array
        What each class is worth; the largest is where the cost is smallest. Not negative.
    sample_weight : (n_samples,) array
    categorical : tuple of int
        Columns of `X` that hold codes of categories.
    """

    X: np.ndarray
    costs: np.ndarray
    gains: np.ndarray
    sample_weight: np.ndarray
    categorical: tuple[int, ...] = ()

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.costs.shape[1]

    @property
    def signed_weight(self) -> np.ndarray:
        """Two classes: cost of predicting the first minus cost of predicting the second.

        Its sign is the better class and its size what a mistake costs.
        """
        return self.costs[:, 0] - self.costs[:, 1]
