"""Reject inference from credit scoring: imputed labels for declined cases, or weights for accepted ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from selective_labels._errors import InputError
from selective_labels._validation import random_stream
from selective_labels.data.selective_labels import SelectiveLabels, class_code
from selective_labels.estimators.base import LabeledRowsModel
from selective_labels.estimators.ipw import (
    LabeledRowsClassifier,
    classifier_and_propensity,
    classifier_of,
    fit_labeled_rows,
    require_probabilities,
)
from selective_labels.nuisance.models.encoders import fit_weighted


@dataclass(eq=False, repr=False)
class FuzzyAugmentationClassifier(LabeledRowsClassifier):
    """Fuzzy augmentation: declined cases enter with every class, weighted by its predicted probability.

    Σ_{D=1} s_i loss(f(x_i), y_i) + Σ_{D=0} s_i Σ_k q_k(x_i) loss(f(x_i), k),   q = P(Y | x, D=1) fitted first

    It assumes that declined cases fail as often as accepted ones with the same features. It therefore changes
    nothing for a rich class of rules. A simple rule is fitted to the population instead of the accepted
    cases.

    Parameters
    ----------
    estimator : scikit-learn classifier, "linear" or None
        Must have ``predict_proba`` and accept ``sample_weight``. Fitted twice. None: gradient boosting.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_, model_, n_ignored_labels_, n_features_in_, feature_names_in_
        As for :class:`selective_labels.SelectedSampleClassifier`.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3], [4], [5]], ["no", "no", None, None, "yes", "yes"]
    >>> FuzzyAugmentationClassifier("linear").fit(X, y).predict([[0.5], [4.5]])
    array(['no', 'yes'], dtype=object)
    """

    use_decision_maker = False
    estimator: Any = None
    random_state: int | np.random.RandomState | None = None

    def _learn(self, data: SelectiveLabels) -> None:
        self.model_ = _augmented(self, data, lambda shares, _: shares)


@dataclass(eq=False, repr=False)
class ParcellingClassifier(LabeledRowsClassifier):
    """Parcelling: declined cases enter with the failure rate of accepted ones in their score band, scaled.

    q_failure(band) = min(1, factor · failure rate of the accepted in the band)

    Every declined case of the band counts as a failure with this weight. It assumes that declined cases fail
    `factor` times as often as accepted ones of the same score. The data do not identify the factor.

    Parameters
    ----------
    estimator : scikit-learn classifier, "linear" or None
        Must have ``predict_proba`` and accept ``sample_weight``. Fitted twice. None: gradient boosting.
    factor : float
        Ratio of failure rates. One means equal rates.
    n_bands : int
        Number of score bands, of equal size among all cases.
    pos_label : class label, optional
        The failure class. Default: the last class.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_, model_, n_ignored_labels_, n_features_in_, feature_names_in_
        As for :class:`selective_labels.SelectedSampleClassifier`.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3], [4], [5]], ["no", "no", None, None, "yes", "yes"]
    >>> ParcellingClassifier("linear", n_bands=2).fit(X, y).predict([[0.5], [4.5]])
    array(['no', 'yes'], dtype=object)
    """

    use_decision_maker = False
    estimator: Any = None
    factor: float = 1.2
    n_bands: int = 10
    pos_label: Any = None
    random_state: int | np.random.RandomState | None = None

    def _learn(self, data: SelectiveLabels) -> None:
        if not self.factor > 0.0:
            raise InputError(f"factor={self.factor!r} must be positive.", "factor")
        failure = class_code(self.pos_label, data.classes)

        def by_band(shares: np.ndarray, everybody: np.ndarray) -> np.ndarray:
            band = bands_of(everybody[:, failure], self.n_bands)
            taken = data.decision == 1
            return parcelled(shares, band, taken, data.y == failure, data.weights, failure, self.factor)

        self.model_ = _augmented(self, data, by_band)


@dataclass(eq=False, repr=False)
class ReweightingClassifier(LabeledRowsClassifier):
    """Reweighting: accepted cases represent all cases in their band of acceptance probability.

    w_i = s_i · (weight of all cases in the band) / (weight of accepted cases in the band)

    Bands have equal size in the predicted acceptance probability. It assumes that within a band, declined
    cases are like accepted ones. Bands without an accepted case are not represented (`lost_share_`).
    :class:`selective_labels.IPWClassifier` is the same method without bands.

    Parameters
    ----------
    estimator : scikit-learn classifier, "linear" or None
        Must accept ``sample_weight``. None: gradient boosting.
    propensity : scikit-learn classifier, "linear" or None
        Model of acceptance. None: "linear".
    n_bands : int
    random_state : int, RandomState or None

    Attributes
    ----------
    lost_share_ : float
        Share of cases in bands without an accepted case.
    classes_, model_, n_ignored_labels_, n_features_in_, feature_names_in_
        As for :class:`selective_labels.SelectedSampleClassifier`.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3], [4], [5]], ["no", "no", None, None, "yes", "yes"]
    >>> ReweightingClassifier("linear", n_bands=2).fit(X, y).predict([[0.5], [4.5]])
    array(['no', 'yes'], dtype=object)
    """

    use_decision_maker = False
    estimator: Any = None
    propensity: Any = None
    n_bands: int = 10
    random_state: int | np.random.RandomState | None = None

    def _learn(self, data: SelectiveLabels) -> None:
        random_state = random_stream(self.random_state)
        classifier, model = classifier_and_propensity(self, data.categorical, random_state)
        taken = data.decision == 1
        self.lost_share_, weight = 0.0, None
        if not taken.all():
            fit_weighted(model, data.features, data.decision, data.sample_weight)
            band = bands_of(model.predict_proba(data.features)[:, 1], self.n_bands)
            size, accepted = np.bincount(band, data.weights), np.bincount(band, data.weights * taken)
            self.lost_share_ = float(size[accepted == 0.0].sum() / size.sum())
            # Dividing by the accepted weight first avoids an infinite ratio of the two band weights.
            own = data.weights[taken] / np.maximum(accepted, np.finfo(float).tiny)[band[taken]]
            weight = own * size[band[taken]]
        self.model_ = fit_labeled_rows(classifier, data, use_decision_maker=False, sample_weight=weight)


def bands_of(values: np.ndarray, n_bands: int) -> np.ndarray:
    """Bands of equal size, (n_samples,). Equal values share a band.

    Examples
    --------
    >>> bands_of(np.array([0.1, 0.4, 0.2, 0.9]), 2)
    array([0, 1, 0, 1])
    """
    if not n_bands >= 1:
        raise InputError(f"n_bands={n_bands!r} must be 1 or more.", "n_bands")
    edges = np.quantile(values, np.arange(1, n_bands) / n_bands)
    return np.searchsorted(edges, values, side="left")


def parcelled(
    shares: np.ndarray,
    band: np.ndarray,
    taken: np.ndarray,
    failed: np.ndarray,
    weights: np.ndarray,
    failure: int,
    factor: float,
) -> np.ndarray:
    """Class weights of declined cases: failures by band, the other classes in proportion to `shares`.

    Examples
    --------
    >>> parcelled(np.array([[0.9, 0.1]]), np.zeros(3, int), np.array([True, True, False]),
    ...           np.array([True, False, False]), np.ones(3), failure=1, factor=1.2)
    array([[0.4, 0.6]])
    """
    size = np.bincount(band, weights * taken)
    bad = np.bincount(band, weights * (taken & failed))
    refused = band[~taken]
    # A band without accepted cases uses the model.
    rate = np.where(size[refused] > 0.0, bad[refused] / np.maximum(size[refused], 1e-300), shares[:, failure])
    rate = np.minimum(factor * rate, 1.0)
    others = shares.copy()
    others[:, failure] = 0.0
    total = others.sum(axis=1, keepdims=True)
    even = (np.arange(shares.shape[1]) != failure) / (shares.shape[1] - 1.0)
    others = np.where(total > 0.0, others / np.maximum(total, 1e-300), even) * (1.0 - rate[:, None])
    others[:, failure] = rate
    return others


def _augmented(baseline: Any, data: SelectiveLabels, shares_of: Any) -> LabeledRowsModel:
    """Fit to the accepted cases, and to every declined case once for each class."""
    random_state = random_stream(baseline.random_state)
    classifier = classifier_of(baseline.estimator, categorical=data.categorical, random_state=random_state)
    taken = data.decision == 1
    if taken.all():
        return fit_labeled_rows(classifier, data, use_decision_maker=False)
    require_probabilities(classifier, "reject inference")
    first = fit_labeled_rows(clone(classifier), data, use_decision_maker=False)
    everybody = first.predict_proba(data.features)
    shares = shares_of(everybody[~taken], everybody)
    n_classes = len(data.classes)
    X = np.vstack([data.features[taken], np.repeat(data.features[~taken], n_classes, axis=0)])
    y = np.concatenate([data.y[taken], np.tile(np.arange(n_classes), (~taken).sum())])
    weights = np.concatenate([data.weights[taken], (data.weights[~taken, None] * shares).ravel()])
    # Accepted cases are kept even with weight zero, so that every class has a row.
    used = weights > 0.0
    used[: taken.sum()] = True
    fit_weighted(classifier, X[used], data.classes[y[used]], weights[used])
    return LabeledRowsModel(classifier, data.classes, None)
