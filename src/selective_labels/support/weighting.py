"""Fit a classifier with weights, whatever it is wrapped in."""

from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from selective_labels.support.errors import InputError


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
    selective_labels.support.errors.InputError: sample_weight is zero in every row that a ...
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


def effective_number(weight: np.ndarray) -> float:
    """Kish's number of rows: so many rows of equal weight tell as much, (Σ w)² / Σ w².

    Examples
    --------
    >>> effective_number(np.array([1.0, 1.0, 1.0])), effective_number(np.array([1.0, 0.0]))
    (3.0, 1.0)
    """
    scaled = weight / max(float(weight.max(initial=0.0)), np.finfo(float).tiny)
    return float(scaled.sum() ** 2 / max(float(scaled @ scaled), np.finfo(float).tiny))


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
