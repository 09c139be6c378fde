"""Outcome codes, and folds for cross-fitting, which are validated before any model is fitted."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from selective_labels._errors import InputError
from selective_labels.data.selective_labels import SelectiveLabels


def outcome_codes(y: np.ndarray) -> np.ndarray:
    """Code decision and label of each row as one outcome.

    All possible outcomes of a row::

        decision  label           y (code)   outcome
        0         unobserved      -1         0
        1         first class      0         1
        1         second class     1         2
        ...
        1         last class       K - 1     K

    One classifier of the outcome is therefore a joint model of decision and label:
    P(outcome = 0) = P(D = 0) and P(outcome = k + 1) = P(D = 1, Y = k), which sum to one.

    Parameters
    ----------
    y : (n_samples,) int array
        Label codes, -1 if unobserved.

    Returns
    -------
    (n_samples,) int array

    Examples
    --------
    >>> outcome_codes(np.array([-1, 0, 2]))
    array([0, 1, 3])
    """
    return np.asarray(y) + 1


Fold = tuple[np.ndarray, np.ndarray]


def make_folds(
    outcome: np.ndarray,
    cv: int | Iterable[Fold] | Any = 5,
    *,
    groups: np.ndarray | None = None,
    outcome_names: Iterable[str] | None = None,
    random_state: int | None = None,
) -> list[Fold]:
    """Split rows into folds, stratified by outcome, without splitting groups.

    Parameters
    ----------
    outcome : (n_samples,) int array
        Codes of :func:`selective_labels.nuisance.folds.outcome_codes`.
    cv : int, iterable of (train, test) index arrays, or a scikit-learn splitter
    groups : (n_samples,) int array, optional
        Repeated cases; all rows of a group are in one fold.
    outcome_names : iterable of str, optional
        Names of the outcomes for messages.

    Returns
    -------
    list of (train, test) index arrays
        The test parts are a partition of the rows.

    Examples
    --------
    >>> [test.tolist() for _, test in make_folds(np.array([0, 1, 0, 1]), 2, random_state=0)]
    [[1, 2], [0, 3]]
    """
    if isinstance(cv, (int, np.integer)):
        folds = _stratified(outcome, int(cv), groups, random_state)
    elif hasattr(cv, "split"):
        folds = list(cv.split(np.zeros(len(outcome)), outcome, groups))
    else:
        folds = [(np.asarray(train), np.asarray(test)) for train, test in cv]
    _check_partition(folds, len(outcome))
    if groups is not None:
        _check_groups(folds, groups)
    _warn_of_rare_outcomes(outcome, folds, outcome_names)
    return folds


def halves(
    outcome: np.ndarray, groups: np.ndarray | None, random_state: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Split rows into two disjoint halves, stratified by outcome, without splitting groups."""
    if groups is not None and len(np.unique(groups)) < 2:
        raise InputError.about(
            "groups",
            "has one value only in the training part of a fold, which point mode cuts in two; "
            "use finer groups.",
        )
    first, second = _stratified(outcome, 2, groups, random_state)[0]
    return first, second


def _stratified(
    outcome: np.ndarray, n_folds: int, groups: np.ndarray | None, random_state: int | None
) -> list[Fold]:
    if n_folds < 2:
        raise InputError(f"cv={n_folds}: cross-fitting needs at least two folds.", "cv")
    if groups is not None and len(np.unique(groups)) < n_folds:
        raise InputError.about(
            "groups",
            f"has only {len(np.unique(groups))} different values, fewer than the {n_folds} folds "
            "of cv; lower cv or use finer groups.",
        )
    # scikit-learn raises an error if every outcome has fewer rows than there are folds.
    n_folds = min(n_folds, np.bincount(outcome).max())
    if n_folds < 2:
        raise InputError.about("y", f"has no outcome twice in a part of {len(outcome)} rows: too few to fit.")
    splitter = StratifiedKFold if groups is None else StratifiedGroupKFold
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")  # make_folds names the class
        folds = splitter(n_folds, shuffle=True, random_state=random_state)
        return list(folds.split(outcome, outcome, groups))


def _check_partition(folds: list[Fold], n_samples: int) -> None:
    tested = np.concatenate([test for _, test in folds]) if folds else np.empty(0, dtype=int)
    if len(folds) < 2 or not np.array_equal(np.sort(tested), np.arange(n_samples)):
        raise InputError.about(
            "cv",
            "must hold out every row exactly once in two or more folds (a partition, such as KFold gives).",
        )
    for train, test in folds:
        held_out = np.zeros(n_samples, dtype=bool)
        held_out[test] = True
        if held_out[train].any():
            raise InputError.about("cv", "has a fold whose training and test rows overlap.")


def _check_groups(folds: list[Fold], groups: np.ndarray) -> None:
    for train, test in folds:
        if np.intersect1d(groups[train], groups[test]).size:
            raise InputError.about(
                "cv",
                "divides groups between training and test rows; use a splitter that keeps them together, "
                "such as GroupKFold, or a number of folds.",
            )


def _warn_of_rare_outcomes(outcome: np.ndarray, folds: list[Fold], names: Iterable[str] | None) -> None:
    labels = list(names) if names is not None else [str(code) for code in range(outcome.max() + 1)]
    present = np.unique(outcome)
    absent = {code for train, _ in folds for code in np.setdiff1d(present, outcome[train])}
    for code in sorted(absent):
        warnings.warn(
            f"{labels[code]} occurs in one fold only ({np.sum(outcome == code)} rows): the model that holds "
            "it out gives it probability zero. Merge rare classes or lower cv.",
            UserWarning,
            stacklevel=2,
        )


def outcomes_of(data: SelectiveLabels) -> np.ndarray:
    """Outcome of each row: :func:`outcome_codes`, and K + 1 where it is pending.

    Examples
    --------
    >>> data = SelectiveLabels.from_arrays(
    ...     None, [0, 1, None, None], decision=[1, 1, 1, 0], pending="worst-case")
    >>> outcomes_of(data)
    array([1, 2, 3, 0])
    """
    codes = outcome_codes(data.y)
    return np.where(data.is_pending, len(data.classes) + 1, codes) if data.has_pending else codes


def n_outcomes(data: SelectiveLabels) -> int:
    """Number of outcomes that a joint model of these rows has."""
    return len(data.classes) + 1 + data.has_pending
