"""Six random splits of one data set, of which the best test accuracy is reported."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from selective_labels.datasets import SelectiveSample
from study.published.weights import Rows
from study.scoring import is_constant

SYNTHETIC_SPLITS = (100, 200, 300, 400, 500, 600)
FICO_SPLITS = (100, 200, 300, 500, 600, 800)
TEST_SHARE = 0.3
BEST, MEAN = "best of six splits", "mean of six splits"
# Class codes predicted for the test rows, by method and classifier.
Predictions = Mapping[tuple[str, str], np.ndarray]


@dataclass(frozen=True)
class ReleasedSplit:
    """Training rows, test rows and the number that seeds everything else, as in the released code.

    Attributes
    ----------
    train : Rows
        With the labels of everybody: whoever trains on seen labels must say so.
    X_test, y_test : arrays
    random_state : int
    """

    train: Rows
    X_test: np.ndarray
    y_test: np.ndarray
    random_state: int

    @property
    def labeled(self) -> np.ndarray:
        """Training rows with a label."""
        return self.train.decision == 1

    def accuracy(self, predicted: np.ndarray) -> float:
        """Test accuracy, rounded as it was."""
        return round(float(np.mean(predicted == self.y_test)), 3)


def released_split(sample: SelectiveSample, X: np.ndarray, random_state: int) -> ReleasedSplit:
    """Split 7:3 by scikit-learn's own splitter, with the released seed."""
    train, test = train_test_split(np.arange(len(X)), test_size=TEST_SHARE, random_state=random_state)
    rows = Rows(X, sample.y_true, sample.decision, sample.decision_maker)
    return ReleasedSplit(rows.take(train), X[test], sample.y_true[test], random_state)


def over_splits(
    splits: list[ReleasedSplit],
    predictions: Callable[[ReleasedSplit], Predictions],
    common: Mapping[str, Any],
) -> list[Mapping[str, Any]]:
    """Rows of the best and of the mean accuracy over splits, for every (method, classifier).

    `constant` is the share of splits whose rule is constant; beside the best accuracy, whether that rule is.
    """
    each = [predictions(split) for split in splits]
    rows: list[Mapping[str, Any]] = []
    for method, classifier in each[0]:
        codes = [one[method, classifier] for one in each]
        accuracies = [split.accuracy(predicted) for split, predicted in zip(splits, codes, strict=True)]
        constant = [float(is_constant(predicted)) for predicted in codes]
        row = {"method": method, "classifier": classifier, **common}
        best = int(np.argmax(accuracies))
        rows.append({**row, "setting": BEST, "accuracy": accuracies[best], "constant": constant[best]})
        means = {"accuracy": float(np.mean(accuracies)), "constant": float(np.mean(constant))}
        rows.append({**row, "setting": MEAN, **means})
    return rows
