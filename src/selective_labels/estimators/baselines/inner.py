"""The classifier inside a baseline: chosen by name, seeded, made ready to be fitted."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from selective_labels.models.features import boosting, one_hot_before, standardised
from selective_labels.support.errors import InputError

MAX_ITERATIONS = 1000


def classifier_of(
    choice: Any,
    default: Any = None,
    *,
    role: str = "estimator",
    categorical: tuple[int, ...] = (),
    random_state: np.random.RandomState,
) -> ClassifierMixin:
    """Make a new, unfitted classifier of what the user chose.

    None stands for `default`, and if that is None too for gradient boosting; "linear" for logistic
    regression on standardised features, holes filled. Any other choice is cloned, gets the columns that hold
    codes of categories (`categorical`) as indicators, and seeds which it leaves open are drawn from
    `random_state`.

    Examples
    --------
    >>> classifier_of("linear", random_state=np.random.RandomState(0))[-1]
    LogisticRegression(max_iter=1000, random_state=...)
    """
    choice = default if choice is None else choice
    if choice is None:
        classifier = boosting(HistGradientBoostingClassifier(), categorical)
    elif isinstance(choice, str) and choice == "linear":
        classifier = Pipeline(
            [*standardised(categorical).steps, ("classifier", LogisticRegression(max_iter=MAX_ITERATIONS))]
        )
    elif not hasattr(choice, "fit") or not is_classifier(choice):
        raise InputError(f'{role}={choice!r}: give a scikit-learn classifier, "linear" or None.', role)
    else:
        classifier = one_hot_before(clone(choice), categorical)
    return _seeded(classifier, random_state)


def classifier_and_propensity(
    baseline: Any, categorical: tuple[int, ...], random_state: np.random.RandomState
) -> tuple[ClassifierMixin, ClassifierMixin]:
    """Make the two models of a baseline that weights: of the label, and of the decision (default: linear)."""
    classifier = classifier_of(baseline.estimator, categorical=categorical, random_state=random_state)
    propensity = classifier_of(
        baseline.propensity, "linear", role="propensity", categorical=categorical, random_state=random_state
    )
    require_probabilities(propensity, "the propensity")
    return classifier, propensity


def has_probabilities(baseline: Any) -> bool:
    """Whether the classifier which a baseline is set to use can give probabilities."""
    chosen = baseline.estimator
    return chosen is None or isinstance(chosen, str) or hasattr(chosen, "predict_proba")


def require_probabilities(classifier: ClassifierMixin, why: str) -> None:
    """Refuse a classifier that has no ``predict_proba``, before time is spent on fitting it."""
    if not hasattr(classifier, "predict_proba"):
        raise InputError(f"{type(classifier).__name__} has no predict_proba, which {why} needs.", "estimator")


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
