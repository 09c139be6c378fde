"""Expert consistency: where all decision-makers agree, their decision serves as the label."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from selective_labels._errors import InputError
from selective_labels._validation import random_stream
from selective_labels.data.roles import HOLE
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.estimators.base import FittedRuleClassifier
from selective_labels.estimators.ipw import classifier_of, draw_seed
from selective_labels.nuisance.cross_fit import CrossFit, cross_fit
from selective_labels.nuisance.models.encoders import fit_weighted


@dataclass(eq=False, repr=False)
class ExpertConsistencyClassifier(FittedRuleClassifier):
    """A classifier fitted to decisions where decision-makers agree, and to observed labels elsewhere.

    With held-out estimates of the leniency λ_z(x) = P(D=1 | x, z), the amalgamated label is

        adverse label      where max_z λ_z(x) <= epsilon       (everybody refuses),
        favourable label   where min_z λ_z(x) >= 1 - epsilon   (everybody accepts),
        observed label     elsewhere; rows without one are dropped.

    After De-Arteaga, Jeanselme, Dubrawski and Chouldechova (2021, 2025), who measure agreement by the
    influence of each expert's cases on one model of decisions. Here a model per decision-maker measures it
    directly. With one decision-maker, or none, this is the version of 2018, which imputes labels where
    refusal is likely.

    The method *assumes* that cases that all decision-makers refuse are bad and cases that all accept are
    good. The data do not identify this: consistent refusal is compatible with any outcome, and the bounds of
    :class:`~selective_labels.UCLClassifier` are widest exactly there.

    If every label is observed, this is a plain classifier. Strata and assignment are not used.

    Parameters
    ----------
    estimator : scikit-learn classifier, "linear" or None
        "linear": logistic regression on standardised, imputed features. None: gradient boosting
        (:class:`~sklearn.ensemble.HistGradientBoostingClassifier`).
    adverse_label : label or None
        Label imputed for consistent refusal. None: the last class.
    favourable_label : label or None
        Label imputed for consistent acceptance. None: the other class if there are two. With more classes,
        observed labels are kept.
    epsilon : float
        At least 0 and below one half.
    nuisance, cv, n_jobs, random_state
        Model of decision and label, and how it is fitted, as in :class:`~selective_labels.UCLClassifier`.

    Attributes
    ----------
    classes_ : (n_classes,) array
        Sorted observed labels.
    classifier_ : fitted classifier
        Its probabilities are those of the amalgamated label.
    refused_share_, accepted_share_ : float
        Shares of training rows that everybody refuses or accepts.
    n_imputed_ : int
        Number of unlabeled rows with an imputed label.
    n_ignored_labels_, n_features_in_, feature_names_in_
        As for :class:`selective_labels.SelectedSampleClassifier`.

    Examples
    --------
    >>> import selective_labels as sl
    >>> sample = sl.datasets.make_decision_makers(600, n_classes=2, additive=False, random_state=0)
    >>> classifier = ExpertConsistencyClassifier("linear", epsilon=0.2, nuisance="logistic", random_state=0)
    >>> classifier = classifier.fit(sample.X, sample.y, decision_maker=sample.decision_maker)
    >>> classifier.predict(sample.X[:3]).shape
    (3,)
    """

    _fitted_rule: ClassVar[str] = "classifier_"
    estimator: Any = None
    adverse_label: Any = None
    favourable_label: Any = None
    epsilon: float = 0.1
    nuisance: Any = None
    cv: Any = 5
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    def _learn(self, data: SelectiveLabels) -> None:
        if not 0.0 <= self.epsilon < 0.5:
            raise InputError(f"epsilon={self.epsilon!r} must be at least 0 and below one half.", "epsilon")
        random_state = random_stream(self.random_state)
        classifier = classifier_of(self.estimator, categorical=data.categorical, random_state=random_state)
        labels, refused, accepted = self._amalgamate(data, draw_seed(random_state))
        rows = labels != HOLE
        if len(np.unique(labels[rows])) < 2:
            raise InputError(
                "the amalgamated labels are all of one class; lower epsilon, so that fewer are imputed.",
                "epsilon",
            )
        weight = None if data.sample_weight is None else data.sample_weight[rows]
        self.classifier_ = fit_weighted(classifier, data.features[rows], data.classes[labels[rows]], weight)
        self.classes_ = self.classifier_.classes_
        self.refused_share_ = float(refused.mean())
        self.accepted_share_ = float(accepted.mean())
        self.n_imputed_ = int(np.sum(rows & (data.y == HOLE)))

    def _amalgamate(self, data: SelectiveLabels, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Codes of the amalgamated labels, and the rows that everybody refuses and accepts."""
        adverse, favourable = self._label_codes(data.classes.tolist())
        if (data.y != HOLE).all():
            nobody = np.zeros(len(data), dtype=bool)
            return data.y, nobody, nobody
        fit = cross_fit(data, self.nuisance, cv=self.cv, n_jobs=self.n_jobs, random_state=seed)
        least, most = leniency_range(fit, data)
        refused, accepted = most <= self.epsilon, least >= 1.0 - self.epsilon
        labels = np.where(refused, adverse, data.y)
        if favourable is not None:
            labels[accepted] = favourable
        return labels, refused, accepted

    def _label_codes(self, classes: list[Any]) -> tuple[int, int | None]:
        for name, label in (("adverse", self.adverse_label), ("favourable", self.favourable_label)):
            if label is not None and label not in classes:
                raise InputError(f"{name}_label={label!r} is not among the labels seen.", f"{name}_label")
        adverse = len(classes) - 1 if self.adverse_label is None else classes.index(self.adverse_label)
        if self.favourable_label is not None:
            favourable = classes.index(self.favourable_label)
            if favourable == adverse:
                raise InputError(
                    f"adverse_label and favourable_label are both {classes[adverse]!r}.", "favourable_label"
                )
            return adverse, favourable
        return adverse, 1 - adverse if len(classes) == 2 else None


def leniency_range(fit: CrossFit, data: SelectiveLabels) -> tuple[np.ndarray, np.ndarray]:
    """min_z and max_z of P(D=1 | x, z) from held-out models, (n_samples,) each."""
    least, most = np.empty(len(data)), np.empty(len(data))
    for number, fold in enumerate(fit.folds):
        rows = np.flatnonzero(fit.held_out == number)
        for here in fit.chunks(rows, len(data.classes) + 1):
            leniency = 1.0 - fold.joint(data.features[here])[:, :, 0]
            least[here], most[here] = leniency.min(axis=0), leniency.max(axis=0)
    return least, most
