"""Checks of arguments, reading of files, random states, effective sample size, groups of keywords."""

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import numpy as np

from selective_labels._errors import InputError

Item = TypeVar("Item")


def require_share(argument: str, value: Any, low: float = 0.0, high: float = 1.0) -> None:
    """Raise unless a value is a number strictly between two bounds.

    Examples
    --------
    >>> require_share("confidence_level", 1, low=0.5)
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: confidence_level=1 must lie between 0.5 and 1, both excluded.
    """
    if not is_number(value) or not low < value < high:
        raise InputError(
            f"{argument}={value!r} must lie between {low:g} and {high:g}, both excluded.", argument
        )


def require_count(argument: str, value: Any, least: int = 1) -> None:
    """Raise unless a value is an integer that is at least `least`.

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
    """Return the only item of a sequence; raise `InputError` for any other length.

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
    """Read a non-empty sequence of finite numbers.

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


def read_file(argument: str, path: Path, kind: str = "file") -> bytes:
    """Content of a file; raise `InputError` where it cannot be read.

    Examples
    --------
    >>> read_file("path", Path("none.skops"), "model file")
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: There is no model file none.skops.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"There is no {kind} {path}.", argument) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{path} cannot be read: {reason}.", argument) from None


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)


def as_seed(random_state: Any) -> int | None:
    """Draw a seed from a random state; None and integers are returned unchanged.

    Examples
    --------
    >>> as_seed(3), as_seed(None), as_seed(np.random.RandomState(0)) == as_seed(np.random.RandomState(0))
    (3, None, True)
    """
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return None if random_state is None else int(random_state)
    return int(random_stream(random_state).randint(np.iinfo(np.int32).max))


def draw_seeds(random_state: Any, n_seeds: int) -> list[int]:
    """Draw several seeds from a random state, as scikit-learn's estimators do.

    Examples
    --------
    >>> draw_seeds(0, 2) == draw_seeds(np.random.RandomState(0), 2)
    True
    """
    return random_stream(random_state).randint(np.iinfo(np.int32).max, size=n_seeds).tolist()


def random_stream(random_state: Any) -> np.random.RandomState:
    """The generator of a random state.

    Examples
    --------
    >>> random_stream(0).randint(9) == random_stream(np.random.RandomState(0)).randint(9)
    True
    """
    from sklearn.utils import check_random_state

    return check_random_state(random_state)


def require_weight(sample_weight: np.ndarray | None) -> None:
    """Raise if all weights are zero, because then there is nothing to learn from.

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


def effective_sample_size(weight: np.ndarray, units: np.ndarray | None = None) -> float:
    """Effective number of rows, or of the units that rows belong to: (Σ w)² / Σ w² (Kish).

    Examples
    --------
    >>> effective_sample_size(np.array([1.0, 1.0, 1.0])), effective_sample_size(np.array([1.0, 0.0]))
    (3.0, 1.0)
    >>> effective_sample_size(np.array([1.0, 1.0, 2.0, 0.0]), np.array([0, 0, 1, 2]))
    2.0
    """
    scaled = weight / max(float(weight.max(initial=0.0)), np.finfo(float).tiny)
    if units is not None:
        scaled = np.bincount(units, scaled).astype(float)
    return float(scaled.sum() ** 2 / max(float(np.sum(scaled**2)), np.finfo(float).tiny))


def require_choice(argument: str, value: object, allowed: tuple[object, ...]) -> None:
    """Raise :class:`InputError` if the value is not allowed.

    Examples
    --------
    >>> require_choice("mode", "both", ("partial", "point"))
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: mode='both' is not one of 'partial', 'point'.
    """
    if value not in allowed:
        words = ", ".join(map(repr, allowed))
        raise InputError(f"{argument}={value!r} is not one of {words}.", argument)


class Roles(TypedDict, total=False):
    """Roles of the rows, one value for each row; a SelectiveLabels has them already.

    decision_maker
        Id of the decision-maker. Not needed for "none" and "unconfounded", nor if every label is observed.
    decision
        0 or 1: whether the label is observed. Without it, all labels that are not missing are; with it, -1
        may be a class.
    sample_weight
    groups
        Ids of cases with repeated rows, which stay together in folds.
    strata
        Cells within which assignment is random.
    assignment
        Known probabilities of decision-makers, of shape (n_samples, n_decision_makers), or a callable of X.
    """

    decision_maker: Any
    decision: Any
    sample_weight: Any
    groups: Any
    strata: Any
    assignment: Any


class ColumnRoles(TypedDict, total=False):
    """Names of the columns of a table, by role."""

    decision: str | None
    sample_weight: str | None
    groups: str | None
    strata: str | None
    assignment: Sequence[str] | None


class Models(TypedDict, total=False):
    """Settings of the nuisance models.

    nuisance
        As for :class:`selective_labels.UCLClassifier`.
    cv : int, splitter or iterable of folds
    n_jobs : int or None
    random_state : int, RandomState or None
    """

    nuisance: Any
    cv: Any
    n_jobs: int | None
    random_state: Any


class Fitting(Models, total=False):
    """Settings of cross-fitting, in addition to :class:`Models`.

    propensity : "auto", "shares" or "model"
        Assignment probabilities, unless `assignment` is known: shares of decision-makers (within strata), a
        model of the features, or ("auto") that model if it predicts the decision-maker significantly better
        than shares on held-out rows. The result says so if it does.
    n_repeats : int
        Repetitions of cross-fitting. The median is reported, with a standard error that includes the
        variation between repetitions.
    """

    propensity: str
    n_repeats: int


def split_keywords(function: str, given: Mapping[str, Any], *groups: type) -> tuple[dict[str, Any], ...]:
    """Split keywords into groups; raise for an unknown keyword and suggest the nearest name.

    Examples
    --------
    >>> split_keywords("evaluate", {"strata": [0], "cv": 3}, Roles, Fitting)
    ({'strata': [0]}, {'cv': 3})
    >>> split_keywords("evaluate", {"decison_maker": [0]}, Roles, Fitting)
    Traceback (most recent call last):
    ...
    TypeError: evaluate() has no keyword 'decison_maker'; did you mean 'decision_maker'?
    """
    names = [list(group.__annotations__) for group in groups]
    known = [name for group in names for name in group]
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, known))}."
            raise TypeError(f"{function}() has no keyword {name!r}; {hint}")
    return tuple({name: given[name] for name in group if name in given} for group in names)


# Largest change of the log odds ratio per unit of leniency that is allowed for by default. Raters with known
# truth had slopes up to 1.2; at 1.5 the range covered the true odds ratio in nine of ten splits or more.
SKILL_RANGE = 1.5


def require_skill_range(value: float) -> None:
    """Raise :class:`InputError` unless the range is a finite number, zero or larger."""
    if not (isinstance(value, Real) and 0.0 <= value < np.inf):
        raise InputError.about("skill_range", f"must be a finite number, zero or larger, got {value!r}.")
