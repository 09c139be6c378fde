"""Columns of outcomes: those that were seen in their places among all."""

import numpy as np


def spread_columns(probabilities: np.ndarray, outcomes: np.ndarray, n_outcomes: int) -> np.ndarray:
    """Put the columns of a classifier that saw only some outcomes in their places.

    An outcome that the classifier never saw gets probability zero.

    Examples
    --------
    >>> spread_columns(np.array([[0.2, 0.8]]), np.array([0, 2]), 3)
    array([[0.2, 0. , 0.8]])
    """
    if len(outcomes) == n_outcomes:
        return probabilities
    full = np.zeros((*probabilities.shape[:-1], n_outcomes))
    full[..., outcomes] = probabilities
    return full
