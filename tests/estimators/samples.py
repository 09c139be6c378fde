"""Small samples and quick classifiers for the tests of learners."""

from typing import Any

import numpy as np

from selective_labels import UCLClassifier
from selective_labels.datasets import SelectiveSample, make_decision_makers


def make_sample(
    n_samples: int = 500, n_classes: int = 3, n_makers: int = 4, seed: int = 0
) -> SelectiveSample:
    return make_decision_makers(n_samples, n_classes, n_makers, random_state=seed)


def quick(mode: str = "partial", estimator: Any = "plug-in", **settings: Any) -> UCLClassifier:
    """A classifier with a cheap nuisance model."""
    return UCLClassifier(mode, estimator, **{"nuisance": "logistic", "cv": 2, "random_state": 0, **settings})


def fit(classifier: UCLClassifier, sample: SelectiveSample, **roles: Any) -> UCLClassifier:
    return classifier.fit(sample.X, sample.y, **{"decision_maker": sample.decision_maker, **roles})


def uninformative(n_makers: int, n_classes: int) -> Any:
    """Injected probabilities under which nothing tells the classes apart."""
    joint = np.append(0.4, np.full(n_classes, 0.6 / n_classes))
    return lambda X: np.broadcast_to(joint, (len(X), n_makers, n_classes + 1))
