"""Rows of a table, coded as if they alone had been given."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from selective_labels.data.columns import mean_one
from selective_labels.support.errors import InputError

if TYPE_CHECKING:
    from selective_labels.data.selective_labels import SelectiveLabels


def compacted(data: "SelectiveLabels") -> "SelectiveLabels":
    """Forget decision-makers, classes, strata, groups and categories that have no row."""
    seen = data.decision == 1
    if not seen.any():
        raise InputError.about(
            "y", "has no label at all: every row is a hole, so there is nothing to learn from."
        )
    makers, maker_codes = np.unique(data.decision_maker_codes, return_inverse=True)
    y = data.y.copy()
    classes, y[seen] = np.unique(y[seen], return_inverse=True)
    features, coding = data.features, data.coding
    if coding is not None:
        coding, features = coding.of_rows(features)
    strata, stratum_labels = data.strata, data.stratum_labels
    if strata is not None and stratum_labels is not None:
        present, strata = np.unique(strata, return_inverse=True)
        stratum_labels = stratum_labels[present]
    panels, people = (None, None) if data.panels is None else data.panels.among(makers)
    own = data.own_decision_maker_codes
    return replace(
        data,
        panels=panels,
        own_decision_maker_codes=None if own is None or people is None else np.searchsorted(people, own),
        features=features,
        coding=coding,
        y=y,
        classes=data.classes[classes],
        decision_maker_codes=maker_codes,
        decision_makers=data.decision_makers[makers],
        groups=None if data.groups is None else np.unique(data.groups, return_inverse=True)[1],
        sample_weight=None if data.given_weight is None else mean_one(data.given_weight),
        strata=strata,
        stratum_labels=stratum_labels,
        assignment=_among(data.assignment, makers),
        assignment_function=_function_among(data.assignment_function, makers, data.n_decision_makers),
        complete=True,
    )


def _among(assignment: np.ndarray | None, makers: np.ndarray) -> np.ndarray | None:
    """Probabilities of some decision-makers, given that it was one of them."""
    return assignment if assignment is None else _kept(assignment, makers)


def _kept(assignment: np.ndarray, makers: np.ndarray) -> np.ndarray:
    if len(makers) == assignment.shape[1]:
        return assignment
    left = assignment[:, makers]
    total = left.sum(axis=1, keepdims=True)
    return np.divide(left, total, out=np.full_like(left, 1.0 / len(makers)), where=total > 0.0)


def _function_among(
    function: Callable[[Any], np.ndarray] | None, makers: np.ndarray, n_makers: int
) -> Callable[[Any], np.ndarray] | None:
    if function is None or len(makers) == n_makers:
        return function
    return lambda X: _kept(np.asarray(function(X), dtype=float), makers)
