"""Weight the labeled rows by the inverse of their chance of a label."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone

from selective_labels.data import SelectiveLabels
from selective_labels.estimators.baselines.inner import classifier_and_propensity, draw_seed
from selective_labels.estimators.baselines.labeled_rows import (
    LabeledRowsClassifier,
    design_matrix,
    fit_labeled_rows,
)
from selective_labels.nuisance.folds import Fold, make_folds
from selective_labels.support.errors import InputError
from selective_labels.support.seeding import random_stream
from selective_labels.support.weighting import fit_weighted

DECISION_NAMES = ("the unlabeled case", "the labeled case")


class IPWClassifier(LabeledRowsClassifier):
    """A classifier fitted to the labeled rows, weighted by the inverse of their chance of a label.

    It minimises Σ_{i: D_i=1} w_i loss(f(x_i), y_i), where

        w_i = s_i / max(clip, e(x_i)),   e(x) = P(D=1 | x),

    s_i are the sample weights, and e(x_i) is predicted by a model which has not seen row i.

    What this can do, and what not (correction E19): the weight is a function of x, so it multiplies the
    whole loss at x by a constant. For a rich class of rules the minimiser in the population is therefore
    unchanged: it is argmax_k P(Y=k | x, D=1), that of :class:`SelectedSampleClassifier`. Weights act only
    through misspecification: a rule that cannot fit everywhere is made to fit where people are, not where
    labels are. They correct nothing that decision-makers saw and the features do not hold, and they cost
    variance: `effective_sample_size_` says how much. Strata and assignment are not used.

    Parameters
    ----------
    estimator : scikit-learn classifier, "linear" or None
        Must take ``sample_weight``. "linear": logistic regression on standardised features, holes filled;
        None: gradient boosting (:class:`~sklearn.ensemble.HistGradientBoostingClassifier`).
    propensity : scikit-learn classifier, "linear" or None
        The model of the decision, with ``predict_proba``. None: "linear".
    clip : float
        Chances of a label below it are raised to it, so that no weight exceeds 1 / clip.
    use_decision_maker : bool
        Make the decision-maker a feature of both models, one indicator column each: e(x, z) and
        P(Y=k | x, z, D=1). ``predict`` never takes one: it averages, Σ_z share_z P(Y=k | x, z, D=1), by the
        shares of decision-makers among all training rows (weighted, if there are weights). Needs
        ``predict_proba``.
    cv : int, splitter or iterable of folds
        Folds in which the chance of a label is predicted; they must hold out every row once.
    random_state : int, RandomState or None
        Seeds the folds, and whatever `estimator` and `propensity` leave unseeded.

    Attributes
    ----------
    propensity_clipped_share_ : float
        Share of labeled rows whose chance of a label was below `clip`.
    effective_sample_size_ : float
        (Σ_i w_i)² / Σ_i w_i² over the labeled rows: how many equally weighted rows they are worth.
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
    >>> X, y = [[i] for i in range(8)], ["no", "no", "no", None, "yes", None, None, "yes"]
    >>> classifier = IPWClassifier("linear", cv=2, random_state=0).fit(X, y)
    >>> classifier.predict([[0], [7]])
    array(['no', 'yes'], dtype=object)
    >>> classifier.effective_sample_size_ < 5
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        propensity: Any = None,
        clip: float = 0.05,
        use_decision_maker: bool = False,
        cv: Any = 5,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.propensity = propensity
        self.clip = clip
        self.use_decision_maker = use_decision_maker
        self.cv = cv
        self.random_state = random_state

    def _learn(self, data: SelectiveLabels) -> None:
        if not 0 < self.clip <= 1:
            raise InputError(f"clip={self.clip!r} must be above 0 and at most 1.", "clip")
        random_state = random_stream(self.random_state)
        classifier, decision_model = classifier_and_propensity(self, data.categorical, random_state)
        labeled = data.decision == 1
        if labeled.all():
            chance = np.ones(len(data))
        else:
            folds = make_folds(
                data.decision,
                self.cv,
                groups=data.groups,
                outcome_names=DECISION_NAMES,
                random_state=draw_seed(random_state),
            )
            features = design_matrix(data, self.use_decision_maker)
            chance = held_out_propensity(decision_model, features, data.decision, folds, data.sample_weight)
        base = None if data.sample_weight is None else data.sample_weight[labeled]
        weight = inverse_propensity_weight(chance[labeled], self.clip, base)
        self.model_ = fit_labeled_rows(classifier, data, self.use_decision_maker, weight)
        self.propensity_clipped_share_ = float(np.mean(chance[labeled] < self.clip))
        self.effective_sample_size_ = effective_sample_size(weight)


def held_out_propensity(
    classifier: ClassifierMixin,
    features: np.ndarray,
    decision: np.ndarray,
    folds: list[Fold],
    sample_weight: np.ndarray | None = None,
) -> np.ndarray:
    """P(D=1 | features) of each row, by a model fitted without the row's fold, (n_samples,).

    Where all rows outside a fold were decided alike, the fold gets that decision for certain.
    """
    chance = np.empty(len(decision))
    for train, test in folds:
        if np.ptp(decision[train]) == 0:
            chance[test] = decision[train[0]]
            continue
        weight = None if sample_weight is None else sample_weight[train]
        model = fit_weighted(clone(classifier), features[train], decision[train], weight)
        chance[test] = model.predict_proba(features[test])[:, 1]
    return chance


def inverse_propensity_weight(
    chance: np.ndarray, clip: float, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Weights w = s / max(clip, e), with s of one if there are no sample weights.

    Examples
    --------
    >>> inverse_propensity_weight(np.array([0.5, 0.01]), 0.1)
    array([ 2., 10.])
    """
    weight = 1.0 / np.maximum(chance, clip)
    return weight if sample_weight is None else sample_weight * weight


def effective_sample_size(weight: np.ndarray) -> float:
    """Kish's (Σw)² / Σw²: as many rows if all weigh the same, one if a single row has all the weight.

    Examples
    --------
    >>> effective_sample_size(np.array([2.0, 2.0, 0.0]))
    2.0
    """
    return float(weight.sum() ** 2 / np.sum(weight**2))
