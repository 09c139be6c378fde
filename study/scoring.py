"""How good predictions are, by the labels of everybody and by the law behind them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from selective_labels.datasets import SelectiveSample

TEST_SHARE = 0.3
# A rule that says one class to so many of the test cases counts as constant.
NEARLY_ALL = 0.99


@dataclass(frozen=True)
class Split:
    """Training and test rows of one sample.

    Attributes
    ----------
    sample : SelectiveSample
    train, test : int arrays
    """

    sample: SelectiveSample
    train: np.ndarray
    test: np.ndarray

    @property
    def features(self) -> np.ndarray:
        """Features of the training rows."""
        return np.asarray(self.sample.X, dtype=float)[self.train]

    @property
    def test_features(self) -> np.ndarray:
        """Features of the test rows."""
        return np.asarray(self.sample.X, dtype=float)[self.test]

    @property
    def y(self) -> np.ndarray:
        """Labels of the training rows as they were seen."""
        return self.sample.y[self.train]

    @property
    def y_true(self) -> np.ndarray:
        """Labels of all training rows: for the benchmark that sees everything."""
        return self.sample.y_true[self.train]

    @property
    def decision_maker(self) -> np.ndarray:
        """Ids of the training rows."""
        return self.sample.decision_maker[self.train]


def split_rows(sample: SelectiveSample, random_state: int) -> Split:
    """Put seven of ten rows into training, as the paper does."""
    order = np.random.default_rng(random_state).permutation(len(sample.y))
    n_test = round(TEST_SHARE * len(order))
    return Split(sample, np.sort(order[n_test:]), np.sort(order[:n_test]))


class Scorer:
    """Scores predictions of the test rows of one split.

    With t the predictions, eta the class probabilities and l the sharp lower bounds at the test rows:

        accuracy                mean of 1{t = y},
        expected_accuracy       mean of eta_t, which has no noise of the test labels,
        excess_risk             mean of max_k eta_k - eta_t,
        excess_worst_case_risk  mean of max_k l_k - l_t, what partial learning drives to zero.

    The last three need the law behind the sample; they stay empty where it is not known. `constant` is 1 for
    a rule that gives nearly every test row the same class.

    Parameters
    ----------
    split : Split
    limits : mapping, optional
        What no learner can know, the same in every row; see `population_limits`.

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(200, random_state=0)
    >>> scorer = Scorer(split_rows(sample, 0))
    >>> row = scorer.row(sample.oracle.probabilities(scorer.split.test_features).argmax(axis=1), "bayes")
    >>> row["excess_risk"]
    0.0
    """

    def __init__(self, split: Split, limits: Mapping[str, float] | None = None) -> None:
        self.split = split
        self._common: dict[str, Any] = {
            **(limits or {}),
            "labeled_share": float(np.mean(split.sample.decision)),
        }
        oracle = split.sample.oracle
        self._known = hasattr(oracle, "probabilities")
        if self._known:
            self._probabilities = oracle.probabilities(split.test_features)
            self._lower = oracle.lower(split.test_features)

    def row(
        self, predicted: np.ndarray, method: str, classifier: str = "", setting: str = "", mode: str = ""
    ) -> Mapping[str, Any]:
        """One row of results; predictions are class codes, `mode` is what a learner ended in."""
        truth = self.split.sample.y_true[self.split.test]
        names = {"method": method, "classifier": classifier, "setting": setting, "mode": mode}
        row = {**names, **self._common, "constant": float(is_constant(predicted))}
        row["accuracy"] = float(np.mean(predicted == truth))
        if self._known:
            expected, lower = _at(self._probabilities, predicted), _at(self._lower, predicted)
            row["expected_accuracy"] = float(expected.mean())
            row["excess_risk"] = float(np.mean(self._probabilities.max(axis=1) - expected))
            row["excess_worst_case_risk"] = float(np.mean(self._lower.max(axis=1) - lower))
        return row


def is_constant(predicted: np.ndarray) -> bool:
    """Whether nearly all rows get the same class.

    Examples
    --------
    >>> is_constant(np.array([2] * 199 + [0])), is_constant(np.array([2] * 9 + [0]))
    (True, False)
    """
    return bool(np.bincount(predicted).max() >= NEARLY_ALL * len(predicted))


def population_limits(oracle: Any) -> dict[str, float]:
    """Accuracy of the Bayes rule, of the minimax rule with the true bounds, of the labeled cases' rule."""
    names = ("bayes_accuracy", "minimax_accuracy", "selected_accuracy")
    return {name: getattr(oracle, name) for name in names}


def _at(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return values[np.arange(len(codes)), codes]
