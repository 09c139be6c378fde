"""The classifier under evaluation, on the rows at hand: what it predicts, how surely, in what order."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._errors import InputError
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.identification.bounds import Array

SUM_TOLERANCE = 1e-6
UNNAMED = "the classifier"


class Predictions(ABC):
    """A classifier, or a column of its predictions, seen through the sorted classes of the data."""

    classes: np.ndarray

    @cached_property
    @abstractmethod
    def chosen(self) -> Array:
        """Probability of predicting each class, (n_samples, n_classes): one-hot if the classifier is hard."""

    @cached_property
    @abstractmethod
    def probabilities(self) -> Array:
        """Predicted class probabilities, (n_samples, n_classes)."""

    @property
    @abstractmethod
    def has_scores(self) -> bool:
        """Whether there is more than predicted labels to order the rows by."""

    @abstractmethod
    def score(self, event: int) -> Array:
        """Score of one class, (n_samples,): higher means more likely."""


@dataclass(frozen=True, eq=False)
class ArrayPredictions(Predictions):
    """Predictions given as an array: labels or scores (one dimension), or probabilities (two)."""

    values: np.ndarray
    classes: np.ndarray
    name: str

    @cached_property
    def chosen(self) -> Array:
        """One-hot labels; probabilities are a lottery over predictions."""
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
        """Values that are not all class labels are scores."""
        return self.values.ndim == 2 or not np.isin(self.values, self.classes).all()

    def score(self, event: int) -> Array:
        """Scores as given, or the column of the event."""
        if self.values.ndim == 2:
            return self.probabilities[:, event]
        if self.values.dtype.kind not in "biuf":
            raise _wrong(self.name, f"scores are needed, that is numbers, not {self.values.dtype}.")
        if not np.isfinite(self.values).all():
            raise _wrong(self.name, "scores must be finite.")
        return self.values.astype(float)


@dataclass(frozen=True, eq=False)
class ClassifierPredictions(Predictions):
    """A fitted classifier; each method is called once at most."""

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
        """Whether the classifier can do more than predict."""
        return any(hasattr(self.classifier, method) for method in ("decision_function", "predict_proba"))

    def score(self, event: int) -> Array:
        """``decision_function`` if there is one, else the probability of the event."""
        if not hasattr(self.classifier, "decision_function"):
            return self.probabilities[:, event]
        given = np.asarray(self.classifier.decision_function(self.X), dtype=float)
        own = np.asarray(getattr(self.classifier, "classes_", self.classes))
        if self.classes[event] not in own:
            unknown = self.classes.tolist()[event]
            raise InputError(f"{self.name} does not know the class {unknown!r}.", _argument(self.name))
        position = int(np.flatnonzero(own == self.classes[event])[0])
        if given.ndim == 1:
            return given if position == 1 else -given
        return given[:, position]


def read_predictions(given: Any, data: SelectiveLabels, name: str = UNNAMED) -> Predictions:
    """Make a subject of a fitted classifier, an array of predictions, or one class for everybody.

    Parameters
    ----------
    given : classifier with ``predict``, array-like, or a class label
    data : SelectiveLabels
        Whose features, as the user gave them, a classifier predicts from.
    name : str
        For messages.
    """
    if hasattr(given, "predict"):
        return ClassifierPredictions(given, data.X, data.classes, name)
    if np.ndim(given) == 0:
        return ArrayPredictions(np.full(len(data), given), data.classes, name)
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


def codes_of(labels: np.ndarray, classes: np.ndarray, name: str) -> np.ndarray:
    """Codes of labels; an unknown one is refused."""
    if classes.dtype.kind == "b" and labels.dtype.kind in "iuf":  # True predicted as 1
        classes = classes.astype(int)
    if labels.dtype.kind == "b" and classes.dtype.kind in "iuf":  # and 1 as True
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
    """Labels as (n_samples, n_classes) indicators."""
    return np.eye(len(classes))[codes_of(labels, classes, name)]


def checked_probabilities(values: np.ndarray, classes: np.ndarray, name: str) -> Array:
    """Refuse what is not a distribution over the classes in every row."""
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
    return InputError(f"{name}: {what}", _argument(name))


def _argument(name: str) -> str:
    """The keyword by which a subject was given: its name, where it has one of its own."""
    return "classifier" if name == UNNAMED else name
