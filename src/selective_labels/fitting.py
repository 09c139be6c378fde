"""What every estimator of the package does with its input, and asks of scikit-learn's routing."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import column_or_1d, validate_data

from selective_labels.data import HOLE, SelectiveLabels
from selective_labels.feature_table import TableCoding, as_table, not_numbers, refuse_repeated_names

# Requested at class level, so that users of meta-estimators need no set_fit_request.
FIT_METADATA = {
    "decision_maker": True,
    "decision": True,
    "sample_weight": True,
    "groups": True,
    "strata": True,
    "assignment": True,
}
SCORE_METADATA = {"decision_maker": True, "decision": True, "sample_weight": True}


def read_training_data(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    decision_maker: Any = None,
    decision: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    strata: Any = None,
    assignment: Any = None,
    needs_decision_maker: bool = True,
) -> SelectiveLabels:
    """Check the input of ``fit``, set what scikit-learn wants on the estimator, and return the data.

    Features become a float array in which NaN is allowed and categories are codes; the estimator remembers
    which, and :func:`read_features` codes other tables alike. Without a decision-maker, every label must be
    seen unless `needs_decision_maker` is false; all rows then belong to one.

    Returns
    -------
    SelectiveLabels
        With two or more classes.
    """
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    original = X
    refuse_repeated_names(X)
    coding = TableCoding.of(X)
    X = X if coding is None else coding.code(X)
    X = validate_data(estimator, X, dtype="numeric", ensure_all_finite="allow-nan", ensure_min_samples=2)
    estimator._coding = coding
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    makers = np.zeros(len(X), dtype=int) if decision_maker is None else decision_maker
    data = SelectiveLabels.from_arrays(
        X.astype(float, copy=False),
        y,
        decision_maker=makers,
        decision=decision,
        sample_weight=sample_weight,
        groups=groups,
        strata=strata,
        assignment=assignment(original) if callable(assignment) else assignment,
        categorical=() if coding is None else coding.categorical,
    )
    if needs_decision_maker and decision_maker is None and (data.y == HOLE).any():
        raise ValueError(
            "decision_maker is missing: y has holes, and who decided each case is what identifies the rest."
        )
    if len(data.classes) < 2:
        raise ValueError(
            f"y shows only one class ({data.classes.tolist()[0]!r}); two or more are needed to learn from."
        )
    return data


def read_features(estimator: BaseEstimator, X: Any) -> np.ndarray:
    """Check features at prediction time against those of ``fit``, and code categories as there."""
    refuse_repeated_names(X)
    coding = estimator._coding
    if coding is not None:
        if as_table(X) is not None:  # first of all the names, which codes go by
            validate_data(estimator, X, skip_check_array=True, reset=False)
        X = coding.code(X)
    elif named := not_numbers(X):
        raise ValueError(
            f"X has columns that are not numbers ({', '.join(map(repr, named))}), unlike in fit."
        )
    checked = validate_data(estimator, X, dtype="numeric", ensure_all_finite="allow-nan", reset=False)
    return checked.astype(float, copy=False)
