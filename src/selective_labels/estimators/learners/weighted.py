"""Any scikit-learn classifier as a cost-sensitive learner: costs become labels and weights."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline

from selective_labels.estimators.learners.problem import CostSensitiveProblem
from selective_labels.support.weighting import fit_weighted

# Weights below this part of the largest say nothing, and some classifiers refuse them.
NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class ClassifierScore:
    """Scores of a fitted scikit-learn classifier; classes that it never saw score lowest.

    Attributes
    ----------
    classifier : fitted classifier of class codes
    n_classes : int
    """

    classifier: Any
    n_classes: int

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Score of every class, (n_samples, n_classes)."""
        seen = self.classifier.classes_
        if len(seen) == 1:
            values = np.ones((len(X), 1))
        elif hasattr(self.classifier, "predict_proba") and not _calibrated_apart(self.classifier):
            values = self.classifier.predict_proba(X)
        elif hasattr(self.classifier, "decision_function"):
            values = self.classifier.decision_function(X)
            values = np.column_stack([-values / 2, values / 2]) if values.ndim == 1 else values
        else:
            values = (self.classifier.predict(X)[:, None] == seen).astype(float)
        full = np.full((len(X), self.n_classes), values.min(axis=1, keepdims=True) - 1.0)
        full[:, seen] = values
        return full

    def best(self, X: np.ndarray) -> np.ndarray:
        """Class with the highest score, (n_samples,): many classifiers need no probabilities to tell."""
        return self.classifier.predict(X)


def _calibrated_apart(classifier: Any) -> bool:
    """Whether probabilities are made afterwards, so that the likeliest class may not be the predicted one."""
    last = classifier[-1] if isinstance(classifier, Pipeline) else classifier
    return bool(getattr(last, "probability", False))


def fit_classifier(problem: CostSensitiveProblem, estimator: Any) -> ClassifierScore:
    """Fit a classifier with its own loss to the cost-sensitive problem.

    Two classes: the label is the cheaper class, the weight what a mistake costs, |w|.
    More: each row is repeated once per class, with the gain of the class as weight (the pointwise minimiser
    of a proper loss is then proportional to the gains, so the best class has the highest probability). An
    estimator that stops early "auto"matically does not then: rows it would set aside have copies elsewhere.

    Parameters
    ----------
    problem : CostSensitiveProblem
    estimator : scikit-learn classifier whose ``fit`` takes sample weights, or a Pipeline that ends in one

    Returns
    -------
    ClassifierScore
    """
    rows, labels, weights = _weighted_rows(problem)
    keep = weights > NEGLIGIBLE * weights.max(initial=0.0)
    if not keep.any():  # nothing distinguishes the classes anywhere
        keep, weights = np.ones_like(keep), np.ones_like(weights)
    rows, labels, weights = rows[keep], labels[keep], weights[keep]
    if len(np.unique(labels)) == 1:
        constant = DummyClassifier(strategy="most_frequent").fit(problem.X[rows], labels)
        return ClassifierScore(constant, problem.n_classes)
    # Weights with mean one leave the estimator's own regularisation with its usual meaning.
    learner = _stopped_by_no_copies(_one_score_per_class(estimator), repeated=problem.n_classes > 2)
    fitted = fit_weighted(learner, problem.X[rows], labels, weights / weights.mean())
    return ClassifierScore(fitted, problem.n_classes)


def _stopped_by_no_copies(estimator: Any, repeated: bool) -> Any:
    """A clone that sets no rows aside by itself where rows stand there several times.

    Copies of the rows it trains on would be among those, and the loss on them would never stop falling.
    """
    copy = clone(estimator)
    asked = [
        name
        for name, value in copy.get_params().items()
        if name.endswith("early_stopping") and value == "auto"
    ]
    return copy.set_params(**dict.fromkeys(asked, False)) if repeated else copy


def _one_score_per_class(estimator: Any) -> Any:
    """A clone whose scores, if it is a support vector machine in there, are of classes and not of pairs."""
    copy = clone(estimator)
    pairs = [
        name
        for name, value in copy.get_params().items()
        if name.endswith("decision_function_shape") and value == "ovo"
    ]
    return copy.set_params(**dict.fromkeys(pairs, "ovr"))


def _weighted_rows(problem: CostSensitiveProblem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n_samples, n_classes = problem.costs.shape
    if n_classes == 2:
        signed = problem.signed_weight
        return np.arange(n_samples), (signed > 0).astype(int), problem.sample_weight * np.abs(signed)
    rows = np.repeat(np.arange(n_samples), n_classes)
    labels = np.tile(np.arange(n_classes), n_samples)
    return rows, labels, problem.sample_weight[rows] * problem.gains.ravel()
