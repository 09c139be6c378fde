"""Metrics by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selective_labels.data import class_code
from selective_labels.identification.functionals import brier_coefficients, log_loss_coefficients
from selective_labels.measures.metrics import (
    AnyMetric,
    Auc,
    BalancedAccuracy,
    CalibrationBin,
    Metric,
    ProbabilityMetric,
    RegretMetric,
    calibration_bins,
)
from selective_labels.measures.subject import Subject
from selective_labels.support.errors import InputError

# What other fields call the metrics.
ALSO_CALLED = {
    "sensitivity": "tpr",
    "recall": "tpr",
    "specificity": "fpr, one minus specificity",
    "precision": "ppv",
    "prevalence": "share",
}


def called_here(name: str) -> str:
    """The name that a metric of other fields has here, as a sentence; nothing if there is none.

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
    """Metric objects of a name; several for "calibration", else one.

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


def expected_cost(cost: ArrayLike | None, classes: np.ndarray) -> Metric:
    """E[C[Y*, t]] for a matrix over the sorted classes."""
    if cost is None:
        raise InputError(
            "metric 'cost' needs cost=, a matrix C[true, predicted] over the sorted classes.", "cost"
        )
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


def read_metrics(metric: Any, subject: Subject, pos_label: Any, cost: ArrayLike | None) -> list[AnyMetric]:
    """Metric objects of what the user asked for; bins of calibration that hold no row are left out."""
    wanted = list(metric) if isinstance(metric, list | tuple) else [metric]
    metrics: list[AnyMetric] = []
    for each in wanted:
        if isinstance(each, AnyMetric):
            metrics.append(each)
        elif isinstance(each, str):
            metrics += named_metrics(each, subject.classes, pos_label, cost)
        else:
            raise InputError(f"metric={each!r} is neither a name nor a metric object.", "metric")
    return [each for each in metrics if not isinstance(each, CalibrationBin) or each.rows(subject).any()]
