"""Train on the labeled rows as if they were everybody: the common practice."""

from typing import Any

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.estimators.baselines.inner import classifier_of
from selective_labels.estimators.baselines.labeled_rows import LabeledRowsClassifier, fit_labeled_rows
from selective_labels.support.seeding import random_stream


class SelectedSampleClassifier(LabeledRowsClassifier):
    """A classifier fitted to the labeled rows only.

    It minimises Σ_{i: D_i=1} s_i loss(f(x_i), y_i), s_i the sample weights, and so aims at

        argmax_k P(Y=k | x, D=1),

    which is the best rule for everybody if decisions depend on nothing but the features that is also related
    to the outcome (no unobserved confounding, D independent of Y* given X), and need not be otherwise.
    There are no folds here and no instrument: groups, strata and assignment are not used.

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

    def __init__(
        self,
        estimator: Any = None,
        use_decision_maker: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.use_decision_maker = use_decision_maker
        self.random_state = random_state

    def _learn(self, data: SelectiveLabels) -> None:
        random_state = random_stream(self.random_state)
        classifier = classifier_of(self.estimator, categorical=data.categorical, random_state=random_state)
        self.model_ = fit_labeled_rows(classifier, data, self.use_decision_maker)
