"""What users choose, checked before the work begins."""

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from selective_labels.support.errors import InputError

Item = TypeVar("Item")


def require_share(argument: str, value: Any, low: float = 0.0, high: float = 1.0) -> None:
    """Refuse what is not a number strictly between two others.

    Examples
    --------
    >>> require_share("confidence_level", 1, low=0.5)
    Traceback (most recent call last):
    ...
    selective_labels.support.errors.InputError: confidence_level=1 must lie between 0.5 and 1, both excluded.
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
    selective_labels.support.errors.InputError: n_draws=0 must be a whole number, 1 or more.
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
    selective_labels.support.errors.InputError: compare takes one metric.
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
    selective_labels.support.errors.InputError: values is empty; give at least one number.
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
