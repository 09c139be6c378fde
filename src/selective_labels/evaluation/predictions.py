"""Inputs of an analysis: predictions of a classifier, the request of the user, and observed outcomes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from selective_labels._errors import InputError, UndefinedError
from selective_labels._validation import effective_sample_size
from selective_labels._vocabulary import ACCEPT, INSPECT
from selective_labels.assumptions.base import Assumption
from selective_labels.data.roles import HOLE, refuse_another_order
from selective_labels.data.selective_labels import SelectiveLabels, class_code
from selective_labels.evaluation.scored_rows import NO_RANGE
from selective_labels.identification.bounds import Array
from selective_labels.inference.bound_estimators import PendingRatio, Ratio, SeenRatio
from selective_labels.nuisance.folds import outcomes_of
from selective_labels.nuisance.score_formulas import seen_labels

SUM_TOLERANCE = 1e-6
UNNAMED = "the classifier"


class Predictions(ABC):
    """Predictions of a classifier, or given as an array, coded by the sorted classes of the data."""

    classes: np.ndarray

    @cached_property
    @abstractmethod
    def chosen(self) -> Array:
        """Probability of predicting each class, (n_samples, n_classes); one-hot for hard predictions."""

    @cached_property
    @abstractmethod
    def probabilities(self) -> Array:
        """Predicted class probabilities, (n_samples, n_classes)."""

    @property
    @abstractmethod
    def has_scores(self) -> bool:
        """Whether there are scores, not only predicted labels, to rank the rows."""

    @abstractmethod
    def score(self, event: int) -> Array:
        """Return the score of one class, (n_samples,): higher means more likely."""

    def ratio(self, above: Array, below: Array) -> Ratio:
        """Return E[above[Y*, t]] / E[below[Y*, t]] for tables over true and predicted classes."""
        return Ratio(self.chosen @ above.T, self.chosen @ below.T)

    def on(self, data: SelectiveLabels) -> "Predictions":
        """Return the predictions with what models say of the labels of these rows."""
        return self


@dataclass(frozen=True, eq=False)
class ArrayPredictions(Predictions):
    """Predictions given as an array: labels or scores (one dimension), or probabilities (two)."""

    values: np.ndarray
    classes: np.ndarray
    name: str

    @cached_property
    def chosen(self) -> Array:
        """One-hot labels; given probabilities are those of a random prediction."""
        return self.probabilities if self.values.ndim == 2 else one_hot(self.values, self.classes, self.name)

    @cached_property
    def probabilities(self) -> Array:
        """The array itself, checked."""
        if self.values.ndim != 2:
            raise _wrong(
                self.name,
                "class probabilities are needed, an array of shape (rows, classes); "
                "one dimension holds predicted labels.",
            )
        return checked_probabilities(self.values, self.classes, self.name)

    @property
    def has_scores(self) -> bool:
        """Whether values are scores, that is, not all of them are class labels."""
        return self.values.ndim == 2 or not np.isin(self.values, self.classes).all()

    def score(self, event: int) -> Array:
        """Return the given scores, or the event's column of probabilities."""
        if self.values.ndim == 2:
            return self.probabilities[:, event]
        if self.values.dtype.kind not in "biuf":
            raise _wrong(self.name, f"scores are needed, that is numbers, not {self.values.dtype}.")
        if not np.isfinite(self.values).all():
            raise _wrong(self.name, "scores must be finite.")
        return self.values.astype(float)


@dataclass(frozen=True, eq=False)
class ClassifierPredictions(Predictions):
    """Predictions of a fitted classifier; each of its methods is called at most once."""

    classifier: Any
    X: Any
    classes: np.ndarray
    name: str

    @cached_property
    def chosen(self) -> Array:
        """One-hot predictions."""
        return one_hot(np.asarray(self.classifier.predict(self.X)), self.classes, self.name)

    @cached_property
    def probabilities(self) -> Array:
        """Columns of ``predict_proba`` in the order of the sorted classes."""
        if not hasattr(self.classifier, "predict_proba"):
            raise _wrong(self.name, "class probabilities are needed, and it has no predict_proba.")
        given = np.asarray(self.classifier.predict_proba(self.X), dtype=float)
        own = np.asarray(getattr(self.classifier, "classes_", self.classes))
        if given.ndim != 2 or given.shape[1] != len(own):
            raise _wrong(self.name, f"predict_proba gave shape {given.shape} for {len(own)} classes.")
        place = codes_of(own, self.classes, self.name)
        spread = np.zeros((len(given), len(self.classes)))
        spread[:, place] = given
        return checked_probabilities(spread, self.classes, self.name)

    @property
    def has_scores(self) -> bool:
        """Whether the classifier has scores or probabilities."""
        return any(hasattr(self.classifier, method) for method in ("decision_function", "predict_proba"))

    def score(self, event: int) -> Array:
        """Return ``decision_function`` if it exists, else the probability of the event."""
        if not hasattr(self.classifier, "decision_function"):
            return self.probabilities[:, event]
        given = np.asarray(self.classifier.decision_function(self.X), dtype=float)
        own = np.asarray(getattr(self.classifier, "classes_", self.classes))
        if self.classes[event] not in own:
            unknown = self.classes.tolist()[event]
            raise InputError(f"{self.name} does not know the class {unknown!r}.", argument_of(self.name))
        position = int(np.flatnonzero(own == self.classes[event])[0])
        if given.ndim == 1:
            return given if position == 1 else -given
        return given[:, position]


HUMAN = "human"


def is_human(given: Any) -> bool:
    """Whether the word for the decisions taken is given; it wins over a column or a class of that name."""
    return isinstance(given, str) and given == HUMAN


def codes_of_decisions(event: int, n_classes: int, means: str = ACCEPT) -> tuple[int, int]:
    """Return the codes of the classes that a yes and a no predict.

    If a yes accepts, it predicts that the event does not happen, and a no that it does; if a yes inspects, it
    predicts that the event happens. With more than two classes, the first of the others stands for all of
    them.

    Examples
    --------
    >>> codes_of_decisions(1, 2), codes_of_decisions(0, 3), codes_of_decisions(1, 2, "inspect")
    ((0, 1), (1, 0), (1, 0))
    """
    other = int(event == 0)
    return (event, other) if means == INSPECT else (other, event)


class Decisions(Protocol):
    """Decisions and labels of cases, or of cells of cases."""

    @property
    def row_decision(self) -> np.ndarray:
        """1 where the case was accepted, (n_samples,)."""

    @property
    def y(self) -> np.ndarray:
        """Codes of labels, -1 where not observed, (n_samples,)."""

    @property
    def decision_means(self) -> str:
        """What a yes means, "accept" or "inspect"."""

    @property
    def label_weights(self) -> np.ndarray | None:
        """Weights of the labels of accepted cases with outcomes pending at random, (n_samples, n_classes)."""


def seen_worth(cases: Decisions, worth: Array) -> Array:
    """D v_Y: what an accepted case contributes by its label, (n_samples,); zero for a pending outcome.

    With outcomes pending at random, D v_Y is replaced by Σ_k W_k v_k.
    """
    if cases.label_weights is not None:
        return np.asarray(cases.label_weights @ worth)
    labeled = (cases.row_decision == 1) & (cases.y != HOLE)
    return np.where(labeled, worth[np.where(labeled, cases.y, 0)], 0.0)


def any_pending(cases: Decisions) -> bool:
    """Whether nothing is known of the label of some accepted case."""
    return cases.label_weights is None and bool(((cases.row_decision == 1) & (cases.y == HOLE)).any())


@dataclass(frozen=True, eq=False)
class HumanPredictions(Predictions):
    """What the decisions taken predict: see :func:`codes_of_decisions`.

    With t a yes or a no, all but the distribution of the label is seen:

        E[c(Y*, t)] = Σ_k c(k, no) P(Y* = k) + E[D (c(Y, yes) - c(Y, no))]

    so metrics have their ends where the shares of the classes have theirs, and these are sharp.

    Attributes
    ----------
    event : int
        Code of the event; with more than two classes it is predicted, or one of the others.
    """

    cases: Decisions
    classes: np.ndarray
    event: int

    def on(self, data: SelectiveLabels) -> "HumanPredictions":
        """Return the decisions with what models say of the labels of these rows."""
        return replace(self, cases=data)

    @cached_property
    def chosen(self) -> Array:
        """One-hot predictions, with two classes."""
        if len(self.classes) != 2:
            raise InputError(
                f"the human predicts {self.classes.tolist()[self.event]!r} or another class, not which.",
                "metric",
            )
        yes, no = codes_of_decisions(self.event, 2, self.cases.decision_means)
        return np.eye(2)[np.where(self.cases.row_decision == 1, yes, no)]

    @cached_property
    def probabilities(self) -> Array:
        """Raise an error: there are none."""
        raise InputError(f"{NO_SCORES}.", "metric")

    @property
    def has_scores(self) -> bool:
        """Return False: a decision is no score."""
        return False

    def score(self, event: int) -> Array:
        """Raise an error: there is none."""
        raise InputError(f"{NO_SCORES}.", "classifier")

    @property
    def seen(self) -> tuple[Array, Array]:
        """Whether a case was accepted and is the event, and whether it was accepted and is not."""
        if any_pending(self.cases):
            raise UndefinedError(
                "the balanced accuracy of people has no formula for the worst case of pending outcomes; ask "
                "for 'tpr'.",
                "metric",
            )
        missed = seen_worth(self.cases, np.eye(len(self.classes))[self.event])
        return missed, (self.cases.row_decision == 1) - missed

    def ratio(self, above: Array, below: Array) -> Ratio:
        """Return the metric with its observed part."""
        (gain, added), (base, more) = self._parts(above), self._parts(below)
        seen = [seen_worth(self.cases, each) for each in (added, more)]
        if not any_pending(self.cases):
            return SeenRatio.of(gain, seen[0], base, seen[1])
        accepted, label = self.cases.row_decision == 1, seen_labels(self.cases.y, len(self.classes))
        return PendingRatio(gain, base, worth=np.stack([added, more]), accepted=accepted, label=label)

    def _parts(self, table: Array) -> tuple[Array, Array]:
        """Return the contribution of each class if every decision is a no, and what a yes adds."""
        yes, no = codes_of_decisions(self.event, len(self.classes), self.cases.decision_means)
        others = np.delete(table, self.event, axis=1)
        if (others != others[:, :1]).any():
            raise InputError(
                f"the metric depends on which class is predicted, and the human predicts "
                f"{self.classes.tolist()[self.event]!r} or another one; give a metric of one class, such as "
                "'tpr'.",
                "metric",
            )
        n_cases = len(self.cases.y)
        return np.broadcast_to(table[:, no], (n_cases, len(table))), table[:, yes] - table[:, no]


NO_SCORES = "the human gives decisions, not scores: ask for a metric of predicted classes, such as 'accuracy'"


def read_predictions(
    given: Any, data: SelectiveLabels, name: str = UNNAMED, pos_label: Any = None
) -> Predictions:
    """Read a fitted classifier, an array of predictions, one class for all cases, or "human".

    Parameters
    ----------
    given : classifier with ``predict``, array-like, a class label, or "human"
    data : SelectiveLabels
        A classifier predicts from its features as the user gave them.
    name : str
        Name of the classifier in messages.
    pos_label : class label, optional
        The event, of which the human's decisions are predictions. Default: the last class.
    """
    if is_human(given):
        return HumanPredictions(data, data.classes, class_code(pos_label, data.classes))
    if hasattr(given, "predict") and not isinstance(given, type):
        return ClassifierPredictions(given, rows_to_predict(given, data), data.classes, name)
    if np.ndim(given) == 0:
        _refuse_what_predicts_nothing(given, data, name)
        return ArrayPredictions(np.full(len(data), given), data.classes, name)
    refuse_another_order(given, argument_of(name), data.X)
    values = np.asarray(given)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim not in (1, 2):
        raise _wrong(name, f"predictions have {values.ndim} dimensions; one or two are possible.")
    if len(values) != len(data):
        raise _wrong(
            name, f"predictions have {len(values)} rows and X has {len(data)}; they must be of equal length."
        )
    return ArrayPredictions(values, data.classes, name)


def _refuse_what_predicts_nothing(given: Any, data: SelectiveLabels, name: str) -> None:
    """Raise an error for a function, a type, and the name of a column, unless a class has that name."""
    if isinstance(given, type):
        raise _wrong(
            name, f"the type {given.__name__} is given; give a fitted model, {given.__name__}().fit(...)."
        )
    if callable(given):
        raise _wrong(name, "a function is given; give its predictions, one for each case.")
    if isinstance(given, str) and given not in data.classes.tolist():
        raise _wrong(
            name, f"{given!r} is neither a class nor 'human'; give one prediction for each case, not a name."
        )


def rows_to_predict(classifier: Any, data: SelectiveLabels) -> Any:
    """Features as given by users, or the whole data if the classifier's predictions depend on strata."""
    return data if getattr(classifier, "uses_strata", False) and data.strata is not None else data.X


def codes_of(labels: np.ndarray, classes: np.ndarray, name: str) -> np.ndarray:
    """Return the codes of labels; raise an error for an unknown label."""
    if classes.dtype.kind == "b" and labels.dtype.kind in "iuf":  # classes True/False, predicted as 1/0
        classes = classes.astype(int)
    if labels.dtype.kind == "b" and classes.dtype.kind in "iuf":  # classes 1/0, predicted as True/False
        labels = labels.astype(classes.dtype)
    codes = pd.Index(classes).get_indexer(pd.Index(labels))
    if (codes < 0).any():
        unknown = np.asarray(labels)[codes < 0]
        known = ", ".join(map(repr, classes.tolist()))
        raise _wrong(
            name,
            f"{unknown.tolist()[0]!r} is predicted in {len(unknown)} rows and is not one of the "
            f"classes {known}.",
        )
    return codes


def one_hot(labels: np.ndarray, classes: np.ndarray, name: str) -> Array:
    """Return labels as (n_samples, n_classes) indicators."""
    return np.eye(len(classes))[codes_of(labels, classes, name)]


def checked_probabilities(values: np.ndarray, classes: np.ndarray, name: str) -> Array:
    """Raise an error unless every row is a probability distribution over the classes."""
    if values.shape[1] != len(classes):
        raise _wrong(
            name,
            f"{values.shape[1]} columns of probabilities for {len(classes)} classes; give one for "
            f"each of {', '.join(map(repr, classes.tolist()))}.",
        )
    try:
        values = values.astype(float)
    except (TypeError, ValueError):
        raise _wrong(name, f"class probabilities are needed, that is numbers, not {values.dtype}.") from None
    wrong = ~((values >= -SUM_TOLERANCE).all(axis=1) & (np.abs(values.sum(axis=1) - 1.0) <= SUM_TOLERANCE))
    if wrong.any():
        raise _wrong(
            name,
            f"probabilities must be non-negative and sum to one, and do not in {wrong.sum()} rows "
            f"(the first is row {np.flatnonzero(wrong)[0]}).",
        )
    return values


def _wrong(name: str, what: str) -> InputError:
    return InputError(f"{name}: {what}", argument_of(name))


def argument_of(name: str) -> str:
    """Return the keyword that passed the classifier: its name, or "classifier" if it has none."""
    return "classifier" if name == UNNAMED else name


@dataclass(frozen=True, eq=False)
class EvaluationRequest:
    """The arguments of an analysis, as the user gave them.

    Attributes
    ----------
    given : tuple
        The classifier to evaluate, the two to compare, or the candidates to choose from.
    cluster : "groups", "decision_maker", "none" or None
        Independent units for the standard errors.
    label_range : pair
        See :func:`selective_labels.identification.bounds.as_label_range`.
    pos_label, cost, by
        `by` names a column of a partitioned table, or holds one value per row in memory.
    labels : tuple of str
        Names of the candidates to choose from; empty for an evaluation or a comparison.
    """

    given: tuple[Any, ...]
    metric: Any
    assumption: str | Assumption | Sequence[str | Assumption]
    cluster: str | None = None
    label_range: Any = NO_RANGE
    pos_label: Any = None
    cost: ArrayLike | None = None
    by: Any = None
    labels: tuple[str, ...] = ()

    @property
    def with_human(self) -> bool:
        """Whether the decisions taken are among the subjects."""
        return any(is_human(each) for each in self.given)

    @property
    def names(self) -> list[str]:
        """Names of the classifiers in messages."""
        if self.labels:
            return list(self.labels)
        return [UNNAMED] if len(self.given) == 1 else ["a", "b"]


@dataclass(frozen=True, eq=False)
class ObservedOutcomes:
    """Cases, or cells of cases, by subgroup and outcome.

    Attributes
    ----------
    masks : dict of (n,) bool arrays
        Cases of each subgroup.
    outcome : (n,) int array
        0 if refused, k + 1 if accepted with label k, and one more if the outcome is pending.
    rows, weights : (n,) arrays
        Number of cases, and their total weight.
    units : callable of a mask
        Effective number of independent units among some cases (Kish): rows, or clusters.
    """

    masks: Mapping[Any, np.ndarray]
    outcome: np.ndarray
    rows: Array
    weights: Array
    units: Callable[[np.ndarray], float]

    @classmethod
    def of_rows(
        cls, data: SelectiveLabels, masks: Mapping[Any, np.ndarray], clusters: np.ndarray | None
    ) -> "ObservedOutcomes":
        """Count rows in memory; without clusters, every row is a unit."""
        outcome, weights = outcomes_of(data), data.weights

        def units(rows: np.ndarray) -> float:
            return effective_sample_size(weights[rows], None if clusters is None else clusters[rows])

        return cls(masks, outcome, np.ones(len(data)), weights, units)

    def share(self, happened: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
        """Return the share of cases with an outcome, and the effective number of units."""
        weights = self.weights[rows]
        if not weights.sum() > 0.0:
            return float("nan"), 0.0
        return float(np.average(happened[rows], weights=weights)), self.units(rows)
