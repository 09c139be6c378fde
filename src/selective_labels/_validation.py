"""Fit a classifier with weights, whatever it is wrapped in."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from sklearn import config_context
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import has_fit_parameter

from selective_labels._errors import InputError

Item = TypeVar("Item")


def require_share(argument: str, value: Any, low: float = 0.0, high: float = 1.0) -> None:
    """Refuse what is not a number strictly between two others.

    Examples
    --------
    >>> require_share("confidence_level", 1, low=0.5)
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: confidence_level=1 must lie between 0.5 and 1, both excluded.
    """
    if not _is_number(value) or not low < value < high:
        raise InputError(
            f"{argument}={value!r} must lie between {low:g} and {high:g}, both excluded.", argument
        )


def require_count(argument: str, value: Any, least: int = 1) -> None:
    """Refuse what is not a whole number of at least so many.

    Examples
    --------
    >>> require_count("n_draws", 0)
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: n_draws=0 must be a whole number, 1 or more.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise InputError(f"{argument}={value!r} must be a whole number, {least} or more.", argument)


def the_only(items: Sequence[Item], argument: str, otherwise: str) -> Item:
    """The item of a sequence of one; any other length is refused with a sentence about the argument.

    Examples
    --------
    >>> the_only(["accuracy"], "metric", "compare takes one metric.")
    'accuracy'
    >>> the_only(["tpr", "fpr"], "metric", "compare takes one metric.")
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: compare takes one metric.
    """
    if len(items) != 1:
        raise InputError(otherwise, argument)
    return items[0]


def read_values(argument: str, values: Any) -> np.ndarray:
    """Some numbers, at least one, all of them finite.

    Examples
    --------
    >>> read_values("values", [])
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: values is empty; give at least one number.
    """
    try:
        numbers = np.atleast_1d(np.asarray(values, dtype=float))
    except (TypeError, ValueError, OverflowError):
        raise InputError.about(argument, "must hold numbers.") from None
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        shape = f"; got an array of shape {numbers.shape}" if numbers.ndim != 1 else ""
        raise InputError.about(argument, f"must be one column of finite numbers{shape}.")
    if not len(numbers):
        raise InputError.about(argument, "is empty; give at least one number.")
    return numbers


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)


def as_seed(random_state: Any) -> int | None:
    """Draw a number from a random state; None and whole numbers stay what they are.

    Examples
    --------
    >>> as_seed(3), as_seed(None), as_seed(np.random.RandomState(0)) == as_seed(np.random.RandomState(0))
    (3, None, True)
    """
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return None if random_state is None else int(random_state)
    return int(random_stream(random_state).randint(np.iinfo(np.int32).max))


def draw_seeds(random_state: Any, n_seeds: int) -> list[int]:
    """Draw several numbers from a random state, as scikit-learn's estimators do.

    Examples
    --------
    >>> draw_seeds(0, 2) == draw_seeds(np.random.RandomState(0), 2)
    True
    """
    return random_stream(random_state).randint(np.iinfo(np.int32).max, size=n_seeds).tolist()


def random_stream(random_state: Any) -> np.random.RandomState:
    """Random numbers of a random state, one after the other.

    Examples
    --------
    >>> random_stream(0).randint(9) == random_stream(np.random.RandomState(0)).randint(9)
    True
    """
    return check_random_state(random_state)


def fit_weighted(classifier: Any, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> Any:
    """Fit in place, the weights handed down to whatever inside a pipeline or a search takes them."""
    last = classifier.steps[-1][1] if isinstance(classifier, Pipeline) else classifier
    if isinstance(last, HistGradientBoostingClassifier):
        X = without_empty_columns(X, sample_weight)
    if sample_weight is None:
        return classifier.fit(X, y)
    require_weight(sample_weight)
    # Users route metadata to our estimator, not into the classifier inside it: there, weights just go down.
    with config_context(enable_metadata_routing=False):
        return classifier.fit(X, y, **{weight_name(classifier): sample_weight})


def require_weight(sample_weight: np.ndarray | None) -> None:
    """Refuse rows that nothing can be learned from, because each counts zero times.

    Examples
    --------
    >>> require_weight(np.zeros(2))
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: sample_weight is zero in every row that a ...
    """
    if sample_weight is not None and not sample_weight.any():
        raise InputError.about(
            "sample_weight", "is zero in every row that a fold learns from; drop rows of weight zero."
        )


def without_empty_columns(X: np.ndarray, sample_weight: np.ndarray | None = None) -> np.ndarray:
    """Zeros for columns that are missing in every row that counts, where boosting would look for a cut.

    A constant is never cut, so predictions do not depend on it.

    Examples
    --------
    >>> without_empty_columns(np.array([[1.0, np.nan], [np.nan, np.nan]]))
    array([[ 1.,  0.],
           [nan,  0.]])
    """
    empty = np.isnan(X if sample_weight is None else X[sample_weight > 0.0]).all(axis=0)
    return np.where(empty, 0.0, X) if empty.any() else X


def effective_sample_size(weight: np.ndarray, units: np.ndarray | None = None) -> float:
    """Effective number of rows, or of units that rows belong to: (Σ w)² / Σ w² (Kish).

    Examples
    --------
    >>> effective_sample_size(np.array([1.0, 1.0, 1.0])), effective_sample_size(np.array([1.0, 0.0]))
    (3.0, 1.0)
    >>> effective_sample_size(np.array([1.0, 1.0, 2.0, 0.0]), np.array([0, 0, 1, 2]))
    2.0
    """
    scaled = weight / max(float(weight.max(initial=0.0)), np.finfo(float).tiny)
    if units is not None:
        scaled = np.bincount(units, scaled)
    return float(scaled.sum() ** 2 / max(float(np.sum(scaled**2)), np.finfo(float).tiny))


def weight_name(classifier: Any) -> str:
    """Name the keyword by which ``fit`` of a classifier takes sample weights.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> weight_name(Pipeline([("model", LogisticRegression())]))
    'model__sample_weight'
    """
    if has_fit_parameter(classifier, "sample_weight"):
        return "sample_weight"
    if isinstance(classifier, Pipeline):
        name, last = classifier.steps[-1]
        return f"{name}__{weight_name(last)}"
    if hasattr(classifier, "estimator"):  # a search over hyper-parameters hands its keywords on
        return weight_name(classifier.estimator)
    raise InputError(
        f"{type(classifier).__name__} takes no sample_weight; use a classifier that does.", "estimator"
    )
