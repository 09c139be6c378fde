"""A classifier of the labeled rows alone, the decision-maker perhaps among its features."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from selective_labels.data import SelectiveLabels
from selective_labels.estimators.base import SelectiveClassifier, read_features
from selective_labels.estimators.baselines.inner import has_probabilities, require_probabilities
from selective_labels.support.errors import InputError
from selective_labels.support.weighting import fit_weighted


@dataclass(frozen=True)
class LabeledRowsModel:
    """A fitted classifier that predicts without being told the decision-maker.

    If the decision-maker is among its features (`shares` given),

        P(Y=k | x, D=1) is replaced by  Σ_z share_z P(Y=k | x, z, D=1),

    where share_z is z's share of the training rows, labeled or not.

    Attributes
    ----------
    classifier : fitted scikit-learn classifier
    classes : (n_classes,) array
    shares : (n_decision_makers,) array or None
    """

    classifier: ClassifierMixin
    classes: np.ndarray
    shares: np.ndarray | None

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class labels, (n_samples,)."""
        if self.shares is None:
            return self.classifier.predict(X)
        return self.classes[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of the classes, (n_samples, n_classes)."""
        if self.shares is None:
            return self.classifier.predict_proba(X)
        # One decision-maker at a time: all their predictions together need not fit in memory.
        features = np.hstack([X, np.zeros((len(X), len(self.shares)))])
        indicators = features[:, X.shape[1] :]
        average = np.zeros((len(X), len(self.classes)))
        for code, share in enumerate(self.shares):
            indicators[:, code] = 1.0
            average += share * self.classifier.predict_proba(features)
            indicators[:, code] = 0.0
        return average


class LabeledRowsClassifier(SelectiveClassifier):
    """What baselines with a `LabeledRowsModel` share: how they predict, and when they need ids."""

    use_decision_maker: bool
    model_: LabeledRowsModel

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, (n_samples,)."""
        check_is_fitted(self)
        return self.model_.predict(read_features(self, X))

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimates of P(Y=k | x, D=1), (n_samples, n_classes)."""
        check_is_fitted(self)
        return self.model_.predict_proba(read_features(self, X))

    def _why_decision_makers(self, data: SelectiveLabels) -> str | None:
        return "use_decision_maker=True makes it a feature" if self.use_decision_maker else None


def design_matrix(data: SelectiveLabels, use_decision_maker: bool) -> np.ndarray:
    """Features of all rows, with one indicator column per decision-maker if wanted."""
    if not use_decision_maker:
        return data.features
    if data.panels is not None:
        raise InputError(
            "use_decision_maker=True has a column for each decision-maker, and with share_labels=True panels "
            "decide; leave one of the two out.",
            "use_decision_maker",
        )
    return np.hstack([data.features, data.decision_maker_codes[:, None] == np.arange(data.n_decision_makers)])


def fit_labeled_rows(
    classifier: ClassifierMixin,
    data: SelectiveLabels,
    use_decision_maker: bool,
    sample_weight: np.ndarray | None = None,
) -> LabeledRowsModel:
    """Fit a classifier to the labeled rows, on the labels as the user wrote them.

    Parameters
    ----------
    classifier : unfitted scikit-learn classifier
    data : SelectiveLabels
        With numeric `X`.
    use_decision_maker : bool
    sample_weight : (n_labeled,) array, optional
        Weights of the labeled rows; default: those of the data.

    Returns
    -------
    LabeledRowsModel
    """
    if use_decision_maker:
        require_probabilities(classifier, "averaging over decision-makers")
    labeled = data.decision == 1
    if sample_weight is None and data.sample_weight is not None:
        sample_weight = data.sample_weight[labeled]
    if sample_weight is not None and not sample_weight.any():
        raise InputError.about("sample_weight", "is zero on every labeled row.")
    features = design_matrix(data, use_decision_maker)[labeled]
    fit_weighted(classifier, features, data.classes[data.y[labeled]], sample_weight)
    return LabeledRowsModel(classifier, data.classes, _shares(data) if use_decision_maker else None)


def _shares(data: SelectiveLabels) -> np.ndarray:
    counts = np.bincount(data.decision_maker_codes, data.sample_weight, minlength=data.n_decision_makers)
    return counts / counts.sum()
