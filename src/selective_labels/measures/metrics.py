"""Metrics as objects: what occurs, given what. One definition serves the value, its bounds and its scores."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from selective_labels.data import class_code
from selective_labels.identification.bounds import Array
from selective_labels.identification.functionals import class_coefficients
from selective_labels.inference.ends import (
    Functional,
    KnownRatioDifference,
    RankSeparation,
    Ratio,
    Separation,
)
from selective_labels.inference.regret import Regret
from selective_labels.measures.subject import Subject
from selective_labels.support.errors import InputError
from selective_labels.support.options import require_count

Range = tuple[float, float]


class AnyMetric(ABC):
    """What `evaluate` and `compare` need of a metric.

    Attributes
    ----------
    name : str
    greater_is_better : bool
    """

    name: str
    greater_is_better: bool = True

    @abstractmethod
    def functional(self, subject: Subject) -> Functional:
        """Write the metric of one classifier as a functional of the class probabilities."""

    @abstractmethod
    def range(self, classes: np.ndarray) -> Range:
        """Smallest and largest possible value."""

    def difference(self, first: Subject, second: Subject) -> Functional | None:
        """Subtract the metric of another classifier; None if no sharp form is known."""
        return None


@dataclass(frozen=True)
class Metric(AnyMetric):
    """A rate, a share or a mean: what occurs, given what.

    E[given(Y*, t) · occurs(Y*, t)] / E[given(Y*, t)]

    with Y* the true class and t the predicted one. Sharp bounds of a classifier, of stochastic ones too, and
    of the difference of two if the condition depends on the truth only or on the prediction only.

    Parameters
    ----------
    name : str
    occurs : callable of (truth, predicted)
        Called with arrays of class labels that broadcast against each other; returns truth values or numbers.
    given : callable of (truth, predicted), optional
        The condition, truth values or numbers that are not negative. Default: everybody.
    greater_is_better : bool

    Examples
    --------
    The rate at which class "a" is taken for "b":

    >>> confusion = Metric(
    ...     "a taken for b",
    ...     occurs=lambda truth, predicted: predicted == "b",
    ...     given=lambda truth, predicted: truth == "a",
    ...     greater_is_better=False,
    ... )
    >>> confusion.range(np.array(["a", "b"]))
    (0.0, 1.0)
    """

    name: str
    occurs: Callable[[Any, Any], Any]
    given: Callable[[Any, Any], Any] | None = None
    greater_is_better: bool = True

    def functional(self, subject: Subject) -> Ratio:
        """Coefficients of each row: what its possible classes would add above and below."""
        above, below = self.tables(subject.classes)
        return Ratio(subject.chosen @ above.T, subject.chosen @ below.T)

    def range(self, classes: np.ndarray) -> Range:
        """Between the smallest and the largest of what can occur where the condition can hold."""
        above, below = self.tables(classes)
        occurs = above[below > 0.0] / below[below > 0.0]
        return float(occurs.min()), float(occurs.max())

    def difference(self, first: Subject, second: Subject) -> Functional | None:
        """Sharp if the two conditions are the same, or known."""
        one, other = self.functional(first), self.functional(second)
        if np.array_equal(one.denominator, other.denominator):
            return Ratio(one.numerator - other.numerator, one.denominator, signed=True)
        if one.known_denominator and other.known_denominator:
            return KnownRatioDifference(one, other)
        return None

    def tables(self, classes: np.ndarray) -> tuple[Array, Array]:
        """Return what every cell [truth, predicted] adds above and below, each (n_classes, n_classes)."""
        truth, predicted = classes[:, None], classes[None, :]
        below = np.ones((len(classes), len(classes)))
        if self.given is not None:
            below = below * np.asarray(self.given(truth, predicted), dtype=float)
        above = below * np.asarray(self.occurs(truth, predicted), dtype=float)
        if not (np.isfinite(above).all() and np.isfinite(below).all()):
            raise InputError(f"metric {self.name!r} gives a value that is not finite.", "metric")
        if (below < 0.0).any() or not below.any():
            raise InputError(
                f"metric {self.name!r}: its condition must be non-negative and somewhere positive.", "metric"
            )
        return above, below


@dataclass(frozen=True)
class ProbabilityMetric(AnyMetric):
    """A mean loss of predicted probabilities q: E[Σ_k loss_k(q(X)) η_k(X)]; log-loss and Brier score."""

    name: str
    losses: Callable[[Array], Array]
    largest: float
    greater_is_better: bool = False

    def functional(self, subject: Subject) -> Ratio:
        """Losses of each possible class."""
        losses = self.losses(subject.probabilities)
        return Ratio(losses, np.ones_like(losses))

    def range(self, classes: np.ndarray) -> Range:
        """From zero up."""
        return 0.0, self.largest

    def difference(self, first: Subject, second: Subject) -> Ratio:
        """Linear, so sharp."""
        losses = self.losses(first.probabilities) - self.losses(second.probabilities)
        return Ratio(losses, np.ones_like(losses))


@dataclass(frozen=True)
class RegretMetric(AnyMetric):
    """How much more often the Bayes rule is right: :class:`selective_labels.inference.regret.Regret`.

    The upper end needs the margin condition stated there. The difference of two regrets is that of two
    errors.
    """

    name: str = "regret"
    greater_is_better: bool = False

    def functional(self, subject: Subject) -> Regret:
        """Regret of the predictions."""
        return Regret(subject.chosen)

    def range(self, classes: np.ndarray) -> Range:
        """Between no regret and being always wrong where one could be always right."""
        return 0.0, 1.0

    def difference(self, first: Subject, second: Subject) -> Ratio:
        """Compare the errors: the Bayes rule cancels."""
        return Ratio(second.chosen - first.chosen, np.ones_like(first.chosen), signed=True)


@dataclass(frozen=True)
class BalancedAccuracy(AnyMetric):
    """Mean of the two rates of being right, of two classes: ½ (P(t=1 | Y=1) + P(t=0 | Y=0)).

    More classes couple the rates through Σ_k η_k = 1; evaluate the rate of each class instead.
    """

    name: str = "balanced_accuracy"
    greater_is_better: bool = True

    def functional(self, subject: Subject) -> Separation:
        """Separation by the probability of predicting the last class."""
        need_two_classes(self.name, subject.classes)
        return Separation(subject.chosen[:, 1], event=1, scale=0.5)

    def range(self, classes: np.ndarray) -> Range:
        """Between 0 and 1."""
        return 0.0, 1.0

    def difference(self, first: Subject, second: Subject) -> Separation:
        """Separation by the difference of the predictions."""
        need_two_classes(self.name, first.classes)
        return Separation(first.chosen[:, 1] - second.chosen[:, 1], event=1, scale=0.5, centre=0.0)


@dataclass(frozen=True)
class Auc(AnyMetric):
    """P(S > S' | event, no event') + ½ P(S = S' | event, no event') of the score S of one class.

    Parameters
    ----------
    pos_label : class label
        The event: the class whose score it is, against all others.
    """

    pos_label: Any
    name: str = "auc"
    greater_is_better: bool = True

    def functional(self, subject: Subject) -> RankSeparation:
        """Separation by mid-ranks."""
        return self._of([subject], (1.0,), centre=0.5)

    def range(self, classes: np.ndarray) -> Range:
        """Between 0 and 1."""
        return 0.0, 1.0

    def difference(self, first: Subject, second: Subject) -> RankSeparation:
        """Separation by the difference of mid-ranks."""
        return self._of([first, second], (1.0, -1.0), centre=0.0)

    def _of(self, subjects: list[Subject], signs: tuple[float, ...], centre: float) -> RankSeparation:
        code = class_code(self.pos_label, subjects[0].classes)
        levels = [np.unique(each.score(code), return_inverse=True)[1] for each in subjects]
        return RankSeparation(np.stack(levels), event=code, scale=1.0, centre=centre, signs=signs)


@dataclass(frozen=True)
class CalibrationBin(AnyMetric):
    """P(Y* = event | predicted probability of the event in [low, high)); the last bin is closed.

    Parameters
    ----------
    pos_label : class label
        The event.
    low, high : float
        Ends of the bin, in [0, 1].
    """

    pos_label: Any
    low: float
    high: float
    greater_is_better: bool = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """Says the bin."""
        return f"calibration [{self.low:g}, {self.high:g}{']' if self.high >= 1.0 else ')'}"

    def functional(self, subject: Subject) -> Ratio:
        """Count the event among the rows of the bin."""
        n_classes = len(subject.classes)
        code = class_code(self.pos_label, subject.classes)
        inside = self.rows(subject).astype(float)[:, None]
        return Ratio(inside * class_coefficients(code, n_classes), np.repeat(inside, n_classes, axis=1))

    def range(self, classes: np.ndarray) -> Range:
        """Between 0 and 1."""
        return 0.0, 1.0

    def rows(self, subject: Subject) -> np.ndarray:
        """Rows whose predicted probability lies in the bin."""
        predicted = subject.probabilities[:, class_code(self.pos_label, subject.classes)]
        return (predicted >= self.low) & ((predicted < self.high) | (self.high >= 1.0))


def conditional_rate(predicted: Any, truth: Any) -> Metric:
    """P(t = predicted | Y* = truth), for any two class labels.

    Examples
    --------
    >>> conditional_rate("b", "a").name
    "P(predicted 'b' | true 'a')"
    """
    return Metric(
        f"P(predicted {predicted!r} | true {truth!r})",
        occurs=lambda y, t: t == predicted,
        given=lambda y, t: y == truth,
        greater_is_better=predicted == truth,
    )


def policy_value(utility: Mapping[Any, float], act: Any, default: float = 0.0) -> Metric:
    """Mean utility of a policy that acts where the classifier predicts `act`.

    E[1{t = act} utility[Y*] + 1{t ≠ act} default]

    Parameters
    ----------
    utility : dict
        Utility of acting on a case of each class.
    act : class label
    default : float
        Utility of not acting.

    Examples
    --------
    >>> lending = policy_value({"repaid": 1.0, "lost": -5.0}, act="repaid")
    >>> lending.range(np.array(["lost", "repaid"]))
    (-5.0, 1.0)
    """

    def occurs(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        missing = [label for label in truth[:, 0].tolist() if label not in utility]
        if missing:
            raise InputError.about("utility", f"has no entry for the class {missing[0]!r}.")
        gain = np.array([float(utility[label]) for label in truth[:, 0].tolist()])[:, None]
        return np.where(predicted == act, gain, default)

    return Metric("policy value", occurs)


def calibration_bins(pos_label: Any, n_bins: int = 10) -> list[CalibrationBin]:
    """Calibration of the probability of one class, in bins of equal width over [0, 1].

    Parameters
    ----------
    pos_label : class label
        The event.
    n_bins : int

    Examples
    --------
    >>> [each.name for each in calibration_bins("failed", n_bins=2)]
    ['calibration [0, 0.5)', 'calibration [0.5, 1]']
    """
    require_count("n_bins", n_bins)
    edges = np.linspace(0.0, 1.0, n_bins + 1).round(12).tolist()
    return [CalibrationBin(pos_label, low, high) for low, high in pairwise(edges)]


def need_two_classes(name: str, classes: np.ndarray) -> None:
    """Refuse another number of classes."""
    if len(classes) != 2:
        remedy = "give pos_label to set one against the rest" if name == "auc" else "use 'tpr' of each class"
        raise InputError(
            f"metric {name!r} needs two classes and there are {len(classes)}; {remedy}.", "metric"
        )
