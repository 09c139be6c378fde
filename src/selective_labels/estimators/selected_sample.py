"""The classifier fitted to the labeled rows only, with costs, and with stated odds of the refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from selective_labels._display import Tabular
from selective_labels._errors import InputError
from selective_labels._validation import random_stream, require_choice
from selective_labels.data.roles import HOLE
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.estimators.base import LabeledRowsModel, check_cost, has_probabilities, read_features
from selective_labels.estimators.identified import DirectFit, fit_labeled
from selective_labels.estimators.ipw import (
    LabeledRowsClassifier,
    classifier_of,
    draw_seed,
    fit_labeled_rows,
    require_probabilities,
)
from selective_labels.estimators.learners import (
    PLUG_IN,
    ClassifierScore,
    ScoreLearner,
    check_learner,
    fit_classifier,
    score_learner,
)
from selective_labels.estimators.rare_classes import BALANCED, balanced_weights, seen_shares, warn_if_constant
from selective_labels.identification.costs import CostSensitiveProblem, gains, point_costs
from selective_labels.nuisance.models.encoders import fit_weighted

LINEAR = "linear"
# Folds of the models of "plug-in".
N_FOLDS = 5


def positive_numbers(name: str, value: Any) -> np.ndarray:
    """Odds as an array of one axis, or raise :class:`InputError`."""
    try:
        numbers = np.atleast_1d(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        numbers = np.empty(0)
    finite = numbers.ndim == 1 and np.isfinite(numbers).all() and (numbers > 0.0).all()
    if not (len(numbers) and finite) or np.asarray(value).dtype == bool:
        raise InputError.about(name, f"must be positive, finite numbers; got {value!r}.")
    return numbers


@dataclass(frozen=True, eq=False)
class RefusedOdds:
    """Odds of an event among refused cases, as a multiple of those among comparable accepted cases.

    Attributes
    ----------
    event : (n_classes,) bool array
    low, high : float
        Range of the multiple; equal if a number is stated.
    """

    event: np.ndarray
    low: float
    high: float

    @classmethod
    def read(cls, given: Any, classes: np.ndarray) -> "RefusedOdds":
        """Read a number, a pair (low, high), or {class: number or pair}; without a class it is the last.

        Examples
        --------
        >>> RefusedOdds.read({"failed": (1.0, 2.0)}, np.array(["failed", "paid"])).event
        array([ True, False])
        """
        if isinstance(given, Mapping):
            if len(given) != 1:
                raise InputError.about("refused_odds", "must name one class, {class: odds}.")
            ((label, value),) = given.items()
        elif len(classes) > 2:
            raise InputError.about("refused_odds", "must name the class that it is about, {class: odds}.")
        else:
            label, value = classes.tolist()[-1], given
        labels = label if isinstance(label, tuple) else (label,)
        event = np.array([each in labels for each in classes.tolist()])
        if event.sum() != len(set(labels)) or not event.any() or event.all():
            raise InputError.about("refused_odds", f"names {label!r}; classes are {classes.tolist()}.")
        ends = positive_numbers("refused_odds", value)
        if len(ends) > 2 or ends[0] > ends[-1]:
            raise InputError.about("refused_odds", f"is a number or a pair (low, high); got {value!r}.")
        return cls(event, float(ends[0]), float(ends[-1]))

    @property
    def middle(self) -> float:
        """Geometric mean of the range."""
        return float(np.sqrt(self.low * self.high))

    def everybody(self, labeled: np.ndarray, accepted: np.ndarray, odds: float) -> np.ndarray:
        """Class probabilities of all cases, (n, n_classes).

        η = λ m + (1 - λ) q,   q_k ∝ m_k odds^{1{k in event}}

        Parameters
        ----------
        labeled : (n, n_classes) array
            m_k = P(Y=k | x, D=1).
        accepted : (n,) array
            λ = P(D=1 | x).
        """
        tilted = labeled * np.where(self.event, odds, 1.0)
        share = accepted[:, None]
        return share * labeled + (1.0 - share) * tilted / tilted.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class RefusedOddsCurve(Tabular):
    """What a rule gains over the labeled rows alone, for each odds of the refused that may be true.

    Attributes
    ----------
    odds : (n_odds,) array
        Odds of the event among the refused, as a multiple of those among comparable accepted cases.
    gain : (n_odds,) array
        Expected accuracy (or minus the expected cost) of the rule, minus that of the same learner fitted to
        the labeled rows alone, if these are the true odds.
    stated : pair of float
    event : tuple
        Class labels.
    changed : float
        Share of cases that the two rules predict differently.
    """

    odds: np.ndarray
    gain: np.ndarray
    stated: tuple[float, float]
    event: tuple[Any, ...]
    changed: float

    def to_frame(self) -> pd.DataFrame:
        """One row for each of the odds."""
        return pd.DataFrame({"odds": self.odds, "gain": self.gain})

    def notes(self) -> list[str]:
        """What the curve says, below a pasted table."""
        return [str(self)]

    def plot(self, ax: Any = None) -> Any:
        """Draw the gain over the odds, and the stated odds."""
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.gca()
        ax.plot(self.odds, self.gain)
        ax.axvspan(*self.stated, color="C2", alpha=0.15)
        ax.axhline(0.0, color="black", linewidth=0.8)
        ax.set(xscale="log", xlabel=f"odds of {self._words} among the refused", ylabel="gain")
        return ax

    def __str__(self) -> str:
        return (
            f"{self.changed:.1%} of the cases are predicted differently than by the labeled rows alone. If "
            f"the odds of {self._words} among the refused are {self.odds[0]:.3g} (or {self.odds[-1]:.3g}) "
            f"times those of comparable accepted cases, the gain is "
            f"{self.gain[0]:+.4f} ({self.gain[-1]:+.4f})."
        )

    @property
    def _words(self) -> str:
        return " or ".join(map(repr, self.event))


@dataclass(frozen=True, eq=False)
class ScoreModel:
    """Class probabilities from the scores of a network or of linear scores, fitted by cross-entropy."""

    learned: ScoreLearner

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Softmax of the scores, (n, n_classes)."""
        return softmax(self.learned.scores(X), axis=1)


@dataclass(frozen=True, eq=False)
class DirectModel:
    """Class probabilities without a learner, from cross-fitted models."""

    direct: DirectFit
    n_classes: int

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Mean over folds, (n, n_classes)."""
        return self.direct.probabilities(X, self.n_classes)


@dataclass(frozen=True, eq=False)
class LabeledRule:
    """The cheapest class at each point, from models of the labeled rows.

    Attributes
    ----------
    classes : (n_classes,) array
    model : object with `predict_proba`, or `predict`
        P(Y=k | x, D=1).
    cost : (n_classes, n_classes) array or None
    acceptance : classifier or None
        P(D=1 | x), if odds of the refused are stated and some cases are refused.
    weighted : ClassifierScore or None
        With costs, for a learner without probabilities: fitted to labels weighted by costs.
    """

    classes: np.ndarray
    model: LabeledRowsModel | ScoreModel | DirectModel
    cost: np.ndarray | None = None
    odds: RefusedOdds | None = None
    acceptance: ClassifierMixin | None = None
    weighted: ClassifierScore | None = None

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Class labels, (n,)."""
        if self.weighted is not None:
            return self.classes[self.weighted.best(X)]
        if self.cost is None and self.odds is None and isinstance(self.model, LabeledRowsModel):
            return self.model.predict(X)
        return self.classes[self.costs(X).argmin(axis=1)]

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Class probabilities of all cases, (n, n_classes), at the middle of a range of odds."""
        return self.at(X, None if self.odds is None else self.odds.middle)

    def at(self, X: np.ndarray, odds: float | None) -> np.ndarray:
        """Class probabilities of all cases if the odds of the refused are these, (n, n_classes)."""
        labeled = self.model.predict_proba(X)
        if odds is None or self.odds is None or self.acceptance is None:
            return labeled
        return self.odds.everybody(labeled, self.acceptance.predict_proba(X)[:, 1], odds)

    def costs(self, X: np.ndarray) -> np.ndarray:
        """Regret of each class, (n, n_classes); for a range of odds the largest.

        Probabilities are linear in those of the refused, so that the largest regret is at an end.
        """
        ends = [None] if self.odds is None else sorted({self.odds.low, self.odds.high})
        return np.max([point_costs(self.at(X, odds), self.cost) for odds in ends], axis=0)

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Score of each class, (n, n_classes); the largest belongs to the predicted class."""
        if self.weighted is not None:
            return self.weighted.scores(X)
        if isinstance(self.model, LabeledRowsModel) and not hasattr(self.model.classifier, "predict_proba"):
            return (self.model.predict(X)[:, None] == self.classes).astype(float)
        return -self.costs(X)


def learns_probabilities(baseline: Any) -> bool:
    """Whether the `estimator` of a classifier of the labeled rows can predict probabilities."""
    return score_learner_of(baseline.estimator) is not None or has_probabilities(baseline)


def score_learner_of(estimator: Any) -> ScoreLearner | None:
    """The score learner to fit: "linear" is logistic regression here."""
    named = isinstance(estimator, str) and estimator != "neural"
    return None if named or estimator is None else score_learner(estimator)


# dataclass writes the constructor, from which scikit-learn reads the parameters; repr stays scikit-learn's.
@dataclass(eq=False, repr=False)
class SelectedSampleClassifier(LabeledRowsClassifier):
    """A classifier fitted to the labeled rows only.

    It minimises Σ_{i: D_i=1} s_i loss(f(x_i), y_i), with sample weights s_i, and thus estimates

        argmin_a Σ_k P(Y=k | x, D=1) C[k, a].

    This is the best rule for all cases if there is no unobserved confounding (D independent of Y* given X).
    It need not be otherwise. With `refused_odds` r of an event A it is the best rule for all cases if

        odds of P(A | x, D=0) = r · odds of P(A | x, D=1),

    which no data can show: P(Y=k | x) = λ m_k + (1 - λ) q_k with λ = P(D=1 | x), m_k = P(Y=k | x, D=1) and
    q_k ∝ m_k r^{1{k in A}}. There is no instrument: groups, strata and assignment are not used.

    Parameters
    ----------
    estimator : scikit-learn classifier, "linear", "plug-in", "neural", LinearScore, NeuralScore or None
        "linear": logistic regression on standardised, imputed features. None: gradient boosting
        (:class:`~sklearn.ensemble.HistGradientBoostingClassifier`). "plug-in": cross-fitted models of the
        families of `nuisance`.
    use_decision_maker : bool
        Use the decision-maker as a feature, with one indicator column each. ``predict`` does not take it. It
        averages, Σ_z share_z P(Y=k | x, z, D=1), with the (weighted) shares of decision-makers among all
        training rows. Requires ``predict_proba``.
    random_state : int, RandomState or None
        Seed for all parts of `estimator` without one.
    cost : (n_classes, n_classes) array, "balanced" or None
        C[true, predicted] over the sorted classes. None means 0-1 costs. "balanced": a correct prediction of
        class k is worth 1 / (K q_k), with q_k its share among the labeled rows.
    refused_odds : float, pair (low, high), {class: float or pair}, or None
        r. Without a class it is about the last of two. For a range, the rule minimises the largest regret
        over it. :meth:`sensitivity` shows what the rule gains and loses if other odds are true.
    nuisance : as for :class:`selective_labels.UCLClassifier`
        Families of models that "plug-in" compares on held-out labels.

    Attributes
    ----------
    classes_ : (n_classes,) array
        Sorted observed labels.
    model_ : object with `predict_proba`
        Models of the labels. Those of scikit-learn classifiers have the fitted classifier in
        `model_.classifier`, and in `model_.shares` the shares, ordered by sorted ids.
    rule_ : LabeledRule
    n_ignored_labels_ : int
        Number of labels given where the decision is 0. They are not used.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> X, y = [[0], [1], [2], [3], [4], [5]], ["no", "no", None, None, "yes", "yes"]
    >>> SelectedSampleClassifier("linear").fit(X, y).predict([[0.5], [4.5]])
    array(['no', 'yes'], dtype=object)
    >>> SelectedSampleClassifier("linear", refused_odds={"yes": 20.0}).fit(X, y).predict([[2.4]])
    array(['yes'], dtype=object)
    """

    _fitted_rule: ClassVar[str] = "rule_"
    estimator: Any = None
    use_decision_maker: bool = False
    random_state: int | np.random.RandomState | None = None
    cost: Any = None
    refused_odds: Any = None
    nuisance: Any = None

    @property
    def _has_probabilities(self) -> bool:
        return learns_probabilities(self)

    def sensitivity(self, X: Any, odds: Any = None) -> RefusedOddsCurve:
        """What the rule gains over the labeled rows alone, for each odds of the refused that may be true.

        Parameters
        ----------
        X : (n_samples, n_features) array, frame or SelectiveLabels
            Cases, refused ones included.
        odds : (n_odds,) array, optional
            Default: 25 values from 1/4 to 4.
        """
        check_is_fitted(self)
        rule = self.rule_
        if rule.odds is None:
            raise InputError.about("refused_odds", "is not stated, so there is no gain to show.")
        values = np.geomspace(0.25, 4.0, 25) if odds is None else positive_numbers("odds", odds)
        features = read_features(self, X)
        rows = np.arange(len(features))
        own = rule.costs(features).argmin(axis=1)
        plain = point_costs(rule.at(features, None), rule.cost).argmin(axis=1)
        costs = [point_costs(rule.at(features, float(each)), rule.cost) for each in values]
        gain = np.array([np.mean(each[rows, plain] - each[rows, own]) for each in costs])
        event = tuple(self.classes_[rule.odds.event].tolist())
        return RefusedOddsCurve(values, gain, (rule.odds.low, rule.odds.high), event, np.mean(own != plain))

    @property
    def _refused_pending(self) -> tuple[str, ...]:
        return ()

    def _learn(self, data: SelectiveLabels) -> None:
        self.rule_ = self.learned(data)
        self.model_ = self.rule_.model
        if self.rule_.cost is not None and self.cost is not BALANCED:
            chosen = np.searchsorted(data.classes, self.rule_.predict(data.features))
            warn_if_constant(data, chosen, worst_case=False, costly=True, stacklevel=3)

    def learned(self, data: SelectiveLabels) -> LabeledRule:
        """Return the rule that is learned from checked data."""
        check_learner(self.estimator)
        cost = self._matrix(data)
        odds = None if self.refused_odds is None else RefusedOdds.read(self.refused_odds, data.classes)
        random_state = random_stream(self.random_state)
        model = self._model(data, random_state)
        acceptance, weighted = None, None
        if isinstance(model, LabeledRowsModel) and not hasattr(model.classifier, "predict_proba"):
            if odds is not None:
                require_probabilities(model.classifier, "refused_odds")
            if cost is not None:
                weighted = fit_classifier(_problem_of_labels(data, cost), model.classifier)
        if odds is not None and not data.decision.all():
            acceptance = classifier_of(LINEAR, categorical=data.categorical, random_state=random_state)
            acceptance = fit_weighted(acceptance, data.features, data.decision, data.sample_weight)
        return LabeledRule(data.classes, model, cost, odds, acceptance, weighted)

    def _model(
        self, data: SelectiveLabels, random_state: np.random.RandomState
    ) -> LabeledRowsModel | ScoreModel | DirectModel:
        learner = score_learner_of(self.estimator)
        by_name = isinstance(self.estimator, str) and self.estimator == PLUG_IN
        if self.use_decision_maker and (learner is not None or by_name):
            raise InputError.about(
                "use_decision_maker", 'goes with "linear", None and scikit-learn classifiers.'
            )
        if by_name:
            direct = fit_labeled(data, self.nuisance, N_FOLDS, draw_seed(random_state))
            return DirectModel(direct, len(data.classes))
        if learner is not None:
            problem = _problem_of_labels(data, None)
            return ScoreModel(learner.learn(problem, "cross-entropy", draw_seed(random_state)))
        classifier = classifier_of(self.estimator, categorical=data.categorical, random_state=random_state)
        return fit_labeled_rows(classifier, data, self.use_decision_maker)

    def _matrix(self, data: SelectiveLabels) -> np.ndarray | None:
        """Costs as a matrix, or None; refused before anything is fitted."""
        if not isinstance(self.cost, str):
            cost = check_cost(self.cost, data)
            return None if cost is None else np.asarray(cost, dtype=float)
        require_choice("cost", self.cost, (None, BALANCED))
        worth = balanced_weights(seen_shares(data))
        return worth[:, None] * (1.0 - np.eye(len(worth)))


def _problem_of_labels(data: SelectiveLabels, cost: np.ndarray | None) -> CostSensitiveProblem:
    """The labeled rows with the costs of their labels."""
    kept = data.y != HOLE
    costs = point_costs(np.eye(len(data.classes))[data.y[kept]], cost)
    rows = data.features[kept], costs, gains(costs), data.weights[kept]
    return CostSensitiveProblem(*rows, data.categorical, data.y[kept])
