"""Fit a classifier with weights, whatever it is wrapped in."""

from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from selective_labels.support.errors import InputError


def fit_weighted(classifier: Any, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> Any:
    """Fit in place, the weights handed down to whatever inside a pipeline or a search takes them."""
    if sample_weight is None:
        return classifier.fit(X, y)
    # Users route metadata to our estimator, not into the classifier inside it: there, weights just go down.
    with config_context(enable_metadata_routing=False):
        return classifier.fit(X, y, **{weight_name(classifier): sample_weight})


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
