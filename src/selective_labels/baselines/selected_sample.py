"""Train on the labeled rows as if they were everybody: the common practice."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from selective_labels.baselines.inner import classifier_of, has_probabilities, takes_missing_features
from selective_labels.baselines.labeled_rows import (
    fit_labeled_rows,
    full_label_accuracy,
    read_baseline_data,
)
from selective_labels.fitting import FIT_METADATA, SCORE_METADATA, read_features


class SelectedSampleClassifier(ClassifierMixin, BaseEstimator):
    """A classifier fitted to the labeled rows only.

    It minimises Σ_{i: D_i=1} s_i loss(f(x_i), y_i), s_i the sample weights, and so aims at

        argmax_k P(Y=k | x, D=1),

    which is the best rule for everybody if decisions depend on nothing but the features that is also related
    to the outcome (no unobserved confounding, D independent of Y* given X), and need not be otherwise.

    Parameters
    ----------
    estimator : scikit-learn classifier, "linear" or None
        "linear": logistic regression on standardised features, holes filled; None: gradient boosting
        (:class:`~sklearn.ensemble.HistGradientBoostingClassifier`).
    use_decision_maker : bool
        Make the decision-maker a feature, one indicator column each. ``predict`` never takes one: it
        averages, Σ_z share_z P(Y=k | x, z, D=1), by the shares of decision-makers among all training rows
        (weighted, if there are weights). Needs ``predict_proba``.
    random_state : int, RandomState or None
        Seeds whatever `estimator` leaves unseeded.

    Attributes
    ----------
    classes_ : (n_classes,) array
        Sorted labels that were seen.
    model_ : LabeledRowsModel
        `model_.classifier` is the fitted classifier, `model_.shares` the shares in the order of sorted ids.
    n_ignored_labels_ : int
        Labels that were given where the decision is 0, and not read.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3], [4], [5]], ["no", "no", None, None, "yes", "yes"]
    >>> SelectedSampleClassifier("linear").fit(X, y).predict([[0.5], [4.5]])
    array(['no', 'yes'], dtype=object)
    """

    __metadata_request__fit = FIT_METADATA
    __metadata_request__score = SCORE_METADATA

    def __init__(
        self,
        estimator: Any = None,
        use_decision_maker: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.use_decision_maker = use_decision_maker
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        decision_maker: Any = None,
        decision: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        strata: Any = None,
        assignment: Any = None,
    ) -> "SelectedSampleClassifier":
        """Fit to the rows that have a label.

        Parameters
        ----------
        X : (n_samples, n_features) array or frame
        y : (n_samples,) labels of any type, with holes (-1, NaN, None, NA)
        decision_maker : (n_samples,) ids, optional
            Needed if `use_decision_maker`, holes or not.
        decision : (n_samples,) of 0 and 1, optional
            Says which labels count; -1 may then be a class.
        sample_weight : (n_samples,) array, optional
        groups, strata, assignment : optional
            Checked and not used: there are no folds here, and no instrument.

        Returns
        -------
        self
        """
        data = read_baseline_data(
            self,
            X,
            y,
            decision_maker=decision_maker,
            decision=decision,
            sample_weight=sample_weight,
            groups=groups,
            strata=strata,
            assignment=assignment,
        )
        random_state = check_random_state(self.random_state)
        classifier = classifier_of(self.estimator, categorical=data.categorical, random_state=random_state)
        weight = None if data.sample_weight is None else data.sample_weight[data.decision == 1]
        self.model_ = fit_labeled_rows(classifier, data, weight, self.use_decision_maker)
        self.classes_ = data.classes
        self.n_ignored_labels_ = data.n_ignored_labels
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Class labels, (n_samples,)."""
        check_is_fitted(self)
        return self.model_.predict(read_features(self, X))

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimates of P(Y=k | x, D=1), (n_samples, n_classes)."""
        check_is_fitted(self)
        return self.model_.predict_proba(read_features(self, X))

    def score(
        self, X: Any, y: Any, *, decision_maker: Any = None, decision: Any = None, sample_weight: Any = None
    ) -> float:
        """Accuracy, if every label is seen; an error otherwise. `decision_maker` is not used."""
        return full_label_accuracy(y, self.predict(X), decision, sample_weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_missing_features(self.estimator)
        return tags
