"""Metrics as objects, their names, and default thresholds; one definition gives the value and its bounds."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selective_labels._errors import InputError
from selective_labels._validation import require_count
from selective_labels._vocabulary import ACCEPT, INSPECT
from selective_labels.data.selective_labels import class_code
from selective_labels.evaluation.policy import read_cost
from selective_labels.evaluation.predictions import NO_SCORES, HumanPredictions, Predictions
from selective_labels.identification.bounds import Array
from selective_labels.identification.functionals import (
    brier_coefficients,
    class_coefficients,
    log_loss_coefficients,
)
from selective_labels.inference.bound_estimators import (
    Functional,
    KnownRatioDifference,
    RankSeparation,
    Ratio,
    Regret,
    SeenSeparation,
    Separation,
    ratio_difference,
)

Range = tuple[float, float]


class AnyMetric(ABC):
    """Interface of a metric for `evaluate` and `compare`."""

    name: str
    greater_is_better: bool = True

    @abstractmethod
    def functional(self, subject: Predictions) -> Functional:
        """Write the metric of a classifier as a functional of the class probabilities."""

    @abstractmethod
    def range(self, classes: np.ndarray) -> Range:
        """Return the smallest and the largest possible value."""

    def difference(self, first: Predictions, second: Predictions) -> Functional | None:
        """Return the difference of two classifiers as a functional; None if no sharp form is known."""
        return None


@dataclass(frozen=True)
class Metric(AnyMetric):
    """A rate, a share or a mean of an event under a condition.

    E[given(Y*, t) · occurs(Y*, t)] / E[given(Y*, t)]

    with Y* the true class and t the predicted one. The bounds are sharp for one classifier, including
    stochastic ones, and for the difference of two if the condition depends on the truth only or on the
    prediction only.

    Parameters
    ----------
    name : str
    occurs : callable of (truth, predicted)
        Called with arrays of class labels that broadcast against each other; returns booleans or numbers.
    given : callable of (truth, predicted), optional
        The condition; returns booleans or non-negative numbers. Default: all cases.
    greater_is_better : bool

    Examples
    --------
    The rate at which class "a" is classified as "b":

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

    def functional(self, subject: Predictions) -> Ratio:
        """Return coefficients of numerator and denominator for each row and possible class."""
        return subject.ratio(*self.tables(subject.classes))

    def range(self, classes: np.ndarray) -> Range:
        """Return the smallest and the largest value of `occurs` where the condition can hold."""
        above, below = self.tables(classes)
        occurs = above[below > 0.0] / below[below > 0.0]
        return float(occurs.min()), float(occurs.max())

    def difference(self, first: Predictions, second: Predictions) -> Functional | None:
        """Return a sharp form if the two denominators are equal or known."""
        one, other = self.functional(first), self.functional(second)
        same = ratio_difference(one, other)
        if same is not None:
            return same
        if one.known_denominator and other.known_denominator:
            return KnownRatioDifference(one, other)
        return None

    def tables(self, classes: np.ndarray) -> tuple[Array, Array]:
        """Return numerator and denominator of every cell [truth, predicted], each (n_classes, n_classes)."""
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
    """Mean loss of predicted probabilities q, E[Σ_k loss_k(q(X)) η_k(X)], for log-loss and Brier score."""

    name: str
    losses: Callable[[Array], Array]
    largest: float
    greater_is_better: bool = False

    def functional(self, subject: Predictions) -> Ratio:
        """Return the loss for each possible class."""
        losses = self.losses(subject.probabilities)
        return Ratio(losses, np.ones_like(losses))

    def range(self, classes: np.ndarray) -> Range:
        """Between zero and the largest loss."""
        return 0.0, self.largest

    def difference(self, first: Predictions, second: Predictions) -> Ratio:
        """Return the difference, which is linear and therefore sharp."""
        losses = self.losses(first.probabilities) - self.losses(second.probabilities)
        return Ratio(losses, np.ones_like(losses))


@dataclass(frozen=True)
class RegretMetric(AnyMetric):
    """Excess error over the Bayes rule.

    See :class:`selective_labels.inference.bound_estimators.Regret`.

    The upper bound needs the margin condition stated there. The difference of two regrets equals the
    difference of the two errors.
    """

    name: str = "regret"
    greater_is_better: bool = False

    def functional(self, subject: Predictions) -> Regret:
        """Return the regret of the predictions."""
        return Regret(subject.chosen)

    def range(self, classes: np.ndarray) -> Range:
        """Between 0 and 1."""
        return 0.0, 1.0

    def difference(self, first: Predictions, second: Predictions) -> Ratio:
        """Return the difference of the errors: the Bayes rule cancels."""
        return Ratio(second.chosen - first.chosen, np.ones_like(first.chosen), signed=True)


@dataclass(frozen=True)
class BalancedAccuracy(AnyMetric):
    """Mean of the true positive and true negative rates: ½ (P(t=1 | Y=1) + P(t=0 | Y=0)), for two classes.

    With more classes, the constraint Σ_k η_k = 1 couples the rates; evaluate the rate of each class instead.
    The human predicts an event or not, whatever the number of classes.
    """

    name: str = "balanced_accuracy"
    greater_is_better: bool = True

    def functional(self, subject: Predictions) -> Separation | SeenSeparation:
        """Return the separation by the probability of predicting the last class."""
        if isinstance(subject, HumanPredictions):
            inspects = subject.cases.decision_means == INSPECT
            return SeenSeparation(*subject.seen, subject.event, len(subject.classes), inspects)
        need_two_classes(self.name, subject.classes)
        return Separation(subject.chosen[:, 1], event=1, scale=0.5)

    def range(self, classes: np.ndarray) -> Range:
        """Between 0 and 1."""
        return 0.0, 1.0

    def difference(self, first: Predictions, second: Predictions) -> Separation | None:
        """Return the separation by the difference of the predictions; None for the human."""
        if isinstance(first, HumanPredictions) or isinstance(second, HumanPredictions):
            return None
        need_two_classes(self.name, first.classes)
        return Separation(first.chosen[:, 1] - second.chosen[:, 1], event=1, scale=0.5, centre=0.0)


@dataclass(frozen=True)
class Auc(AnyMetric):
    """P(S > S' | event, no event') + ½ P(S = S' | event, no event') for the score S of one class.

    Parameters
    ----------
    pos_label : class label
        The event: the class to which the score belongs, against all others.
    """

    pos_label: Any
    name: str = "auc"
    greater_is_better: bool = True

    def functional(self, subject: Predictions) -> RankSeparation:
        """Return the separation by mid-ranks."""
        return self._of([subject], (1.0,), centre=0.5)

    def range(self, classes: np.ndarray) -> Range:
        """Between 0 and 1."""
        return 0.0, 1.0

    def difference(self, first: Predictions, second: Predictions) -> RankSeparation:
        """Return the separation by the difference of mid-ranks."""
        return self._of([first, second], (1.0, -1.0), centre=0.0)

    def _of(self, subjects: list[Predictions], signs: tuple[float, ...], centre: float) -> RankSeparation:
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
        Edges of the bin, in [0, 1].
    """

    pos_label: Any
    low: float
    high: float
    greater_is_better: bool = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """Name with the edges of the bin."""
        return f"calibration [{self.low:g}, {self.high:g}{']' if self.high >= 1.0 else ')'}"

    def functional(self, subject: Predictions) -> Ratio:
        """Return the share of the event among the rows of the bin."""
        n_classes = len(subject.classes)
        code = class_code(self.pos_label, subject.classes)
        inside = self.rows(subject).astype(float)[:, None]
        return Ratio(inside * class_coefficients(code, n_classes), np.repeat(inside, n_classes, axis=1))

    def range(self, classes: np.ndarray) -> Range:
        """Between 0 and 1."""
        return 0.0, 1.0

    def rows(self, subject: Predictions) -> np.ndarray:
        """Return a mask of the rows whose predicted probability lies in the bin."""
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
    """Raise an error unless there are two classes."""
    if len(classes) != 2:
        remedy = "give pos_label to set one against the rest" if name == "auc" else "use 'tpr' of each class"
        raise InputError(
            f"metric {name!r} needs two classes and there are {len(classes)}; {remedy}.", "metric"
        )


# Names of the metrics in other fields.
ALSO_CALLED = {
    "sensitivity": "tpr",
    "recall": "tpr",
    "specificity": "fpr, one minus specificity",
    "precision": "ppv",
    "prevalence": "share",
}


def called_here(name: str) -> str:
    """Return a sentence with the name that a metric of another field has here; empty if there is none.

    Examples
    --------
    >>> called_here("Sensitivity"), called_here("luck")
    (' It is called tpr here.', '')
    """
    here = ALSO_CALLED.get(name.lower())
    return "" if here is None else f" It is called {here} here."


def named_metrics(
    name: str, classes: np.ndarray, pos_label: Any = None, cost: ArrayLike | None = None
) -> list[AnyMetric]:
    """Return the metric objects for a name: several for "calibration", one otherwise.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    classes : sorted class labels
    pos_label : class label, optional
        Default: the last class.
    cost : (n_classes, n_classes) array, optional
        C[true, predicted], for "cost".
    """
    event = classes[class_code(pos_label, classes)]
    if name not in NAMES:
        raise InputError(f"metric {name!r} is not one of {', '.join(map(repr, NAMES))}.", "metric")
    if name in _OF_EVENT:
        return [_OF_EVENT[name](event)]
    if name in _PLAIN:
        return [_PLAIN[name]]
    if name == "cost":
        return [expected_cost(cost, classes)]
    if name == "auc":
        return [Auc(event)]
    return list(calibration_bins(event))


NO_COST = "metric 'cost' needs cost=, a matrix C[true, predicted] over the sorted classes."


def expected_cost(cost: ArrayLike | None, classes: np.ndarray) -> Metric:
    """E[C[Y*, t]] for a matrix over the sorted classes."""
    if cost is None:
        raise InputError(NO_COST, "cost")
    try:
        matrix = np.asarray(cost, dtype=float)
    except (TypeError, ValueError):
        raise InputError.about("cost", "must hold numbers, in rows of equal length.") from None
    if matrix.shape != (len(classes),) * 2 or not np.isfinite(matrix).all():
        raise InputError.about(
            "cost",
            f"has shape {matrix.shape}; it must be a finite matrix C[true, predicted] of shape "
            f"{(len(classes),) * 2}.",
        )
    return Metric("cost", occurs=lambda truth, predicted: matrix, greater_is_better=False)


_PLAIN: dict[str, AnyMetric] = {
    "accuracy": Metric("accuracy", lambda truth, predicted: truth == predicted),
    "error": Metric("error", lambda truth, predicted: truth != predicted, greater_is_better=False),
    "log_loss": ProbabilityMetric("log_loss", log_loss_coefficients, largest=np.inf),
    "brier": ProbabilityMetric("brier", brier_coefficients, largest=2.0),
    "regret": RegretMetric(),
    "balanced_accuracy": BalancedAccuracy(),
}

_OF_EVENT: dict[str, Callable[[Any], AnyMetric]] = {
    "share": lambda event: Metric("share", lambda truth, predicted: truth == event),
    "tpr": lambda event: Metric(
        "tpr",
        occurs=lambda truth, predicted: predicted == event,
        given=lambda truth, predicted: truth == event,
    ),
    "fpr": lambda event: Metric(
        "fpr",
        occurs=lambda truth, predicted: predicted == event,
        given=lambda truth, predicted: truth != event,
        greater_is_better=False,
    ),
    "ppv": lambda event: Metric(
        "ppv",
        occurs=lambda truth, predicted: truth == event,
        given=lambda truth, predicted: predicted == event,
    ),
    "f1": lambda event: Metric(
        "f1",
        occurs=lambda truth, predicted: (predicted == event) & (truth == event),
        given=lambda truth, predicted: 1.0 * (predicted == event) + (truth == event),
    ),
}

NAMES = (*_PLAIN, "cost", *_OF_EVENT, "auc", "calibration")


def read_metrics(
    metric: Any,
    subject: Predictions,
    pos_label: Any,
    cost: ArrayLike | None,
    with_human: bool = False,
    means: str = ACCEPT,
) -> list[AnyMetric]:
    """Return the requested metric objects; calibration bins without rows are dropped."""
    metrics = metric_objects(metric, subject.classes, pos_label, cost, with_human, means)
    return [each for each in metrics if not isinstance(each, CalibrationBin) or each.rows(subject).any()]


def metric_objects(
    metric: Any,
    classes: np.ndarray,
    pos_label: Any,
    cost: ArrayLike | None,
    with_human: bool = False,
    means: str = ACCEPT,
) -> list[AnyMetric]:
    """Return the requested metric objects; `with_human` asks for those that decisions have, too."""
    wanted = list(metric) if isinstance(metric, list | tuple) else [metric]
    named = partial(named_metrics_of_decisions, means=means) if with_human else named_metrics
    metrics: list[AnyMetric] = []
    for each in wanted:
        if isinstance(each, AnyMetric):
            metrics.append(each)
        elif isinstance(each, str):
            metrics += named(each, classes, pos_label, cost)
        else:
            raise InputError(f"metric={each!r} is neither a name nor a metric object.", "metric")
        if with_human and not isinstance(metrics[-1], Metric | BalancedAccuracy):
            raise InputError(f"metric {getattr(each, 'name', each)!r}: {NO_SCORES}.", "metric")
    return metrics


def named_metrics_of_decisions(
    name: str,
    classes: np.ndarray,
    pos_label: Any = None,
    cost: ArrayLike | None = None,
    *,
    means: str = ACCEPT,
) -> list[AnyMetric]:
    """Return the metric objects that decisions have: with more than two classes, the event against the rest.

    `cost` is then a matrix with the costs of a yes and of a no to each class, as for policies.
    """
    event = class_code(pos_label, classes)
    if len(classes) > 2 and name in ("accuracy", "error"):
        return [against_rest(name, classes, event)]
    if len(classes) > 2 and name == "cost":
        if cost is None:
            raise InputError(NO_COST, "cost")
        costs = read_cost(cost, classes, event, means)
        flagged, passed = costs if means == INSPECT else costs[::-1]
        whole = np.where(np.arange(len(classes)) == event, flagged[:, None], passed[:, None])
        return [expected_cost(whole, classes)]
    return named_metrics(name, classes, pos_label, cost)


def against_rest(name: str, classes: np.ndarray, event: int) -> AnyMetric:
    """Return accuracy or error of predicting the event or not; other metrics are those of the event."""
    label = classes[event]
    if name == "accuracy":
        return Metric(name, lambda truth, predicted: (truth == label) == (predicted == label))
    if name == "error":
        return Metric(
            name, lambda truth, predicted: (truth == label) != (predicted == label), greater_is_better=False
        )
    return named_metrics(name, classes, label)[0]


N_THRESHOLDS = 41
SHARE_ROUNDING = 1e-9


def default_thresholds(
    scores: ArrayLike, n_thresholds: int = N_THRESHOLDS, weights: ArrayLike | None = None
) -> Array:
    """Quantiles of a score, each a value that occurs, and one value above the maximum, which flags no case.

    A quantile is the smallest value whose cumulative share of the weight reaches the quantile's level.

    Examples
    --------
    >>> default_thresholds([0.0, 0.0, 1.0, 3.0], n_thresholds=3).round(2)
    array([0., 3., 3.])
    >>> default_thresholds([0.0, 1.0, 3.0], n_thresholds=3, weights=[1, 2, 1]).round(2)
    array([0., 1., 3., 3.])
    """
    values = np.asarray(scores, dtype=float)
    mass = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(mass[order]) / mass.sum()
    # Cumulative shares are subject to rounding: a share that reaches a quantile up to rounding counts.
    places = np.searchsorted(shares, np.linspace(0.0, 1.0, n_thresholds) - SHARE_ROUNDING)
    quantiles = values[order][np.minimum(places, len(values) - 1)]
    return np.unique([*quantiles, np.nextafter(values.max(), np.inf)])
