"""The classifier inside a baseline: chosen by name, seeded, fitted with weights whatever its wrapping."""

from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from selective_labels.nuisance.features import standardised

MAX_ITERATIONS = 1000


def classifier_of(
    choice: Any, default: Any = None, *, role: str = "estimator", random_state: np.random.RandomState
) -> ClassifierMixin:
    """Make a new, unfitted classifier of what the user chose.

    None stands for `default`, and if that is None too for gradient boosting; "linear" for logistic
    regression on standardised features, holes filled. Any other choice is cloned, and seeds which it
    leaves open are drawn from `random_state`.

    Examples
    --------
    >>> classifier_of("linear", random_state=np.random.RandomState(0))[-1]
    LogisticRegression(max_iter=1000, random_state=...)
    """
    choice = default if choice is None else choice
    if choice is None:
        classifier = HistGradientBoostingClassifier()
    elif isinstance(choice, str) and choice == "linear":
        classifier = Pipeline(
            [*standardised().steps, ("classifier", LogisticRegression(max_iter=MAX_ITERATIONS))]
        )
    elif not hasattr(choice, "fit") or not is_classifier(choice):
        raise ValueError(f'{role}={choice!r}: give a scikit-learn classifier, "linear" or None.')
    else:
        classifier = clone(choice)
    return _seeded(classifier, random_state)


def fit_weighted(
    classifier: ClassifierMixin, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None
) -> ClassifierMixin:
    """Fit in place, the weights handed down to whatever inside a pipeline or a search takes them."""
    if sample_weight is None:
        return classifier.fit(X, y)
    # Users route metadata to the baseline, not into the classifier inside it: there, weights just go down.
    with config_context(enable_metadata_routing=False):
        return classifier.fit(X, y, **{weight_name(classifier): sample_weight})


def weight_name(classifier: ClassifierMixin) -> str:
    """Name the keyword by which ``fit`` of a classifier takes sample weights.

    Examples
    --------
    >>> weight_name(Pipeline([("scale", standardised()), ("model", LogisticRegression())]))
    'model__sample_weight'
    """
    if has_fit_parameter(classifier, "sample_weight"):
        return "sample_weight"
    if isinstance(classifier, Pipeline):
        name, last = classifier.steps[-1]
        return f"{name}__{weight_name(last)}"
    if hasattr(classifier, "estimator"):  # a search over hyper-parameters hands its keywords on
        return weight_name(classifier.estimator)
    raise ValueError(f"{type(classifier).__name__} takes no sample_weight; use a classifier that does.")


def has_probabilities(baseline: Any) -> bool:
    """Whether the classifier which a baseline is set to use can give probabilities."""
    return _is_ours(baseline.estimator) or hasattr(baseline.estimator, "predict_proba")


def takes_missing_features(choice: Any) -> bool:
    """Whether a choice of classifier accepts NaN among the features."""
    return _is_ours(choice) or get_tags(choice).input_tags.allow_nan


def require_probabilities(classifier: ClassifierMixin, why: str) -> None:
    """Refuse a classifier that has no ``predict_proba``, before time is spent on fitting it."""
    if not hasattr(classifier, "predict_proba"):
        raise ValueError(f"{type(classifier).__name__} has no predict_proba, which {why} needs.")


def _is_ours(choice: Any) -> bool:
    return choice is None or isinstance(choice, str)


def _seeded(classifier: ClassifierMixin, random_state: np.random.RandomState) -> ClassifierMixin:
    open_seeds = [
        name
        for name, value in sorted(classifier.get_params(deep=True).items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return classifier.set_params(**{name: draw_seed(random_state) for name in open_seeds})


def draw_seed(random_state: np.random.RandomState) -> int:
    """Draw one whole number that seeds a part of the work."""
    return int(random_state.randint(np.iinfo(np.int32).max))
