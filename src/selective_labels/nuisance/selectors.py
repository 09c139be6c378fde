"""What arms are chosen by, without the labels of the rows to be scored."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Pools:
    """Arms that bound each class.

    Attributes
    ----------
    members : (n_arms, n_classes) bool array
    lost : float
        By how much bounds are wider than with the best arm of each class alone, as estimated from the arms'
        shrunken shares: what is given up for a selector that does not follow noise.
    """

    members: np.ndarray
    lost: float


@dataclass(frozen=True, eq=False)
class Probe:
    """Some rows as a model that has not seen them predicts them: to compare arms on the whole.

    Attributes
    ----------
    joint : (n_arms, n_samples, n_classes + 1) array
    propensity : (n_samples, n_arms) array
    """

    joint: np.ndarray
    propensity: np.ndarray
