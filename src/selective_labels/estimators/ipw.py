"""Classifiers fitted to the labeled rows: what baselines share, and inverse propensity weights."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from selective_labels._errors import InputError
from selective_labels._validation import effective_sample_size, random_stream
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.estimators.base import (
    FittedRuleClassifier,
    LabeledRowsModel,
)
from selective_labels.nuisance.folds import Fold, make_folds
from selective_labels.nuisance.models.encoders import (
    LearnerNumbers,
    boosting,
    fit_weighted,
    one_hot_before,
    standardised,
)

MAX_ITERATIONS = 1000


def classifier_of(
    choice: Any,
    default: Any = None,
    *,
    role: str = "estimator",
    categorical: tuple[int, ...] = (),
    random_state: np.random.RandomState,
) -> ClassifierMixin:
    """Create an unfitted classifier from the user's choice.

    None means `default`, or gradient boosting if that is None too. "linear" means logistic regression on
    standardised, imputed features. Any other choice is cloned, and category columns (`categorical`) are
    one-hot encoded for it. Unset seeds are drawn from `random_state`.

    Examples
    --------
    >>> classifier_of("linear", random_state=np.random.RandomState(0))[-1]
    LogisticRegression(max_iter=1000, random_state=...)
    """
    choice = default if choice is None else choice
    if choice is None:
        classifier = boosting(HistGradientBoostingClassifier(), categorical)
    elif isinstance(choice, str) and choice == "linear":
        classifier = Pipeline(
            [
                *standardised(categorical, LearnerNumbers()).steps,
                ("classifier", LogisticRegression(max_iter=MAX_ITERATIONS)),
            ]
        )
    elif not hasattr(choice, "fit") or not is_classifier(choice):
        raise InputError(f'{role}={choice!r}: give a scikit-learn classifier, "linear" or None.', role)
    else:
        classifier = one_hot_before(clone(choice), categorical)
    return _seeded(classifier, random_state)


def classifier_and_propensity(
    baseline: Any, categorical: tuple[int, ...], random_state: np.random.RandomState
) -> tuple[ClassifierMixin, ClassifierMixin]:
    """Models of the label and of the decision (default: linear) for a weighting baseline."""
    classifier = classifier_of(baseline.estimator, categorical=categorical, random_state=random_state)
    propensity = classifier_of(
        baseline.propensity, "linear", role="propensity", categorical=categorical, random_state=random_state
    )
    require_probabilities(propensity, "the propensity")
    return classifier, propensity


def require_probabilities(classifier: ClassifierMixin, why: str) -> None:
    """Raise :class:`InputError` before fitting if a classifier has no ``predict_proba``."""
    if not hasattr(classifier, "predict_proba"):
        raise InputError(f"{type(classifier).__name__} has no predict_proba, which {why} needs.", "estimator")


def _seeded(classifier: ClassifierMixin, random_state: np.random.RandomState) -> ClassifierMixin:
    open_seeds = [
        name
        for name, value in sorted(classifier.get_params(deep=True).items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return classifier.set_params(**{name: draw_seed(random_state) for name in open_seeds})


def draw_seed(random_state: np.random.RandomState) -> int:
    """Draw an integer seed."""
    return int(random_state.randint(np.iinfo(np.int32).max))


class LabeledRowsClassifier(FittedRuleClassifier):
    """Baselines that have a `LabeledRowsModel`, whose probabilities are P(Y=k | x, D=1)."""

    use_decision_maker: bool
    model_: Any

    def _why_decision_makers(self, data: SelectiveLabels) -> str | None:
        return "use_decision_maker=True makes it a feature" if self.use_decision_maker else None


def design_matrix(data: SelectiveLabels, use_decision_maker: bool) -> np.ndarray:
    """Features of all rows, optionally with one indicator column per decision-maker."""
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
    """Fit a classifier to the labeled rows, with the labels as given by the user.

    Parameters
    ----------
    classifier : unfitted scikit-learn classifier
    data : SelectiveLabels
        Data with numeric `X`.
    sample_weight : (n_labeled,) array, optional
        Weights of the labeled rows. Default: those of the data.

    Returns
    -------
    LabeledRowsModel
    """
    if use_decision_maker:
        require_probabilities(classifier, "averaging over decision-makers")
    labeled = data.labeled
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


DECISION_NAMES = ("the unlabeled case", "the labeled case")


# dataclass writes the constructor, from which scikit-learn reads the parameters; repr stays scikit-learn's.
@dataclass(eq=False, repr=False)
class IPWClassifier(LabeledRowsClassifier):
    """A classifier fitted to the labeled rows with inverse propensity weights.

    It minimises Σ_{i: D_i=1} w_i loss(f(x_i), y_i), where

        w_i = s_i / max(clip, e(x_i)),   e(x) = P(D=1 | x),

    s_i are the sample weights, and e(x_i) is predicted by a model that was not fitted to row i.

    The weight is a function of x, so it multiplies the whole loss at x by a constant (correction E19). For a
    rich class of rules, the population minimiser is therefore unchanged: it is argmax_k P(Y=k | x, D=1), that
    of :class:`~selective_labels.SelectedSampleClassifier`. Weights matter only under misspecification: a rule
    that cannot fit everywhere is fitted to the population instead of the labeled cases. They do not correct
    for information that decision-makers used and the features lack. They increase the variance, as
    `effective_sample_size_` shows. Strata and assignment are not used.

    Parameters
    ----------
    estimator : scikit-learn classifier, "linear" or None
        Must accept ``sample_weight``. "linear": logistic regression on standardised, imputed features. None:
        gradient boosting (:class:`~sklearn.ensemble.HistGradientBoostingClassifier`).
    propensity : scikit-learn classifier, "linear" or None
        Model of the decision, with ``predict_proba``. None: "linear".
    clip : float
        Lower limit of the propensity, so that no weight exceeds 1 / clip.
    use_decision_maker : bool
        Use the decision-maker as a feature of both models, with one indicator column each: e(x, z) and
        P(Y=k | x, z, D=1). ``predict`` does not take it. It averages, Σ_z share_z P(Y=k | x, z, D=1), with
        the (weighted) shares of decision-makers among all training rows. Requires ``predict_proba``.
    cv : int, splitter or iterable of folds
        Folds for the propensity. Every row must be held out exactly once.
    random_state : int, RandomState or None
        Seed of the folds, and of all parts of `estimator` and `propensity` without one.

    Attributes
    ----------
    propensity_clipped_share_ : float
        Share of labeled rows whose propensity was below `clip`.
    effective_sample_size_ : float
        (Σ_i w_i)² / Σ_i w_i² over the labeled rows: the number of equally weighted rows of the same
        precision.
    classes_, model_, n_ignored_labels_, n_features_in_, feature_names_in_
        As for :class:`selective_labels.SelectedSampleClassifier`.

    Examples
    --------
    >>> X, y = [[i] for i in range(8)], ["no", "no", "no", None, "yes", None, None, "yes"]
    >>> classifier = IPWClassifier("linear", cv=2, random_state=0).fit(X, y)
    >>> classifier.predict([[0], [7]])
    array(['no', 'yes'], dtype=object)
    >>> classifier.effective_sample_size_ < 5
    True
    """

    estimator: Any = None
    propensity: Any = None
    clip: float = 0.05
    use_decision_maker: bool = False
    cv: Any = 5
    random_state: int | np.random.RandomState | None = None

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
    """Held-out P(D=1 | features) of each row, (n_samples,).

    If all training rows of a fold have the same decision, the fold is predicted to have it with certainty.
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
    """Weights w = s / max(clip, e), where s is one without sample weights.

    Examples
    --------
    >>> inverse_propensity_weight(np.array([0.5, 0.01]), 0.1)
    array([ 2., 10.])
    """
    weight = 1.0 / np.maximum(chance, clip)
    return weight if sample_weight is None else sample_weight * weight
