"""Compare what was drawn with what the oracle says, in bins of the features."""

import numpy as np

from selective_labels.datasets import SelectiveSample

N_DRAWS = 200_000
STANDARD_ERRORS = 5.0
# Two-sided 5 standard errors: 5.7e-7 a cell; at most 9 bins x 8 decision-makers x 5 classes: 2e-4 a test.


def feature_bins(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Nine cells of two features, by their thirds."""
    thirds = [np.searchsorted(np.quantile(values, [1 / 3, 2 / 3]), values) for values in (first, second)]
    return 3 * thirds[0] + thirds[1]


def standard_errors_apart(drawn: np.ndarray, probability: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """(observed - expected) / sd of the count of `drawn` (n, K) in each cell, given the features.

    The counts are sums of independent Bernoulli draws with known probabilities, so their mean and variance
    are known, not estimated.
    """
    n_cells = cell.max() + 1

    def sums(values: np.ndarray) -> np.ndarray:
        return np.stack([np.bincount(cell, column, n_cells) for column in values.T], axis=1)

    variance = sums(probability * (1 - probability))
    # Below 100 expected cases the normal limit of five standard errors is no longer meant.
    enough = variance > 100
    assert enough.mean() > 0.5
    return (sums(drawn - probability) / np.sqrt(np.where(enough, variance, np.inf))).ravel()


def joint_deviations(sample: SelectiveSample, bins: np.ndarray) -> np.ndarray:
    """Standard errors between the seen (decision, label) and `oracle.joint`, by bin and decision-maker."""
    ids, position = np.unique(sample.decision_maker, return_inverse=True)
    joint = sample.oracle.joint(sample.X)
    own = joint[np.arange(len(joint)), position]
    drawn = np.eye(own.shape[1])[sample.y + 1]
    return standard_errors_apart(drawn, own, bins * len(ids) + position)


def truth_deviations(sample: SelectiveSample, bins: np.ndarray) -> np.ndarray:
    """Standard errors between the true labels and `oracle.probabilities`, by bin."""
    probability = sample.oracle.probabilities(sample.X)
    return standard_errors_apart(np.eye(probability.shape[1])[sample.y_true], probability, bins)
