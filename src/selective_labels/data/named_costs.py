"""Costs by name, as a matrix over the classes, and the question whether a matrix is transposed."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selective_labels._errors import InputError
from selective_labels._vocabulary import ACCEPT, INSPECT

# A matrix C[true, predicted], or amounts by name.
Costs = ArrayLike | Mapping[str, float]
INSPECTED, MISSED = "inspect", "missed"
DEFAULTED, GOOD_DECLINED = "default", "declined_good"
NAMED_COSTS = {ACCEPT: (DEFAULTED, GOOD_DECLINED), INSPECT: (INSPECTED, MISSED)}


def cost_matrix(cost: Any, classes: np.ndarray, event: int, means: str) -> Any:
    """Costs by name as C[true, predicted] over two sorted classes; anything else is returned unchanged.

    ``{"inspect": i, "missed": m}``: i for every case that is inspected (the event is predicted), m for every
    event that is not. ``{"default": d, "declined_good": g}``: d for every event that is accepted, g for every
    other case that is refused.

    Parameters
    ----------
    cost : mapping, matrix or None
    classes : (2,) array
        Sorted class labels.
    event : int
        Code of the event.
    means : "accept" or "inspect"
        What a yes means.

    Examples
    --------
    >>> classes = np.array(["clean", "fraud"])
    >>> cost_matrix({"inspect": 400, "missed": 3000}, classes, 1, "inspect").tolist()
    [[0.0, 400.0], [3000.0, 400.0]]
    >>> cost_matrix({"default": 5000, "declined_good": 600}, classes, 1, "accept").tolist()
    [[0.0, 600.0], [5000.0, 0.0]]
    >>> cost_matrix({"inspect": 400}, classes, 1, "accept")
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: cost names 'inspect', and a yes means accept, which costs 'default'
    and 'declined_good'; say decision_means='inspect' if somebody looks closer.
    """
    if not isinstance(cost, Mapping):
        return cost
    if len(classes) != 2:
        raise InputError(
            f"cost by name needs two classes, and there are {len(classes)}: give a matrix.", "cost"
        )
    wanted = NAMED_COSTS[means]
    known = [name for names in NAMED_COSTS.values() for name in names]
    for name in cost:
        if name not in known:
            names = ", ".join(map(repr, known))
            raise InputError(f"cost names {name!r}, which is not one of {names}.", "cost")
        if name not in wanted:
            other = next(each for each, names in NAMED_COSTS.items() if name in names)
            does = "somebody looks closer" if other == INSPECT else "the case goes through"
            raise InputError(
                f"cost names {name!r}, and a yes means {means}, which costs {wanted[0]!r} and {wanted[1]!r}; "
                f"say decision_means={other!r} if {does}.",
                "cost",
            )
    missing = [name for name in wanted if name not in cost]
    if missing:
        raise InputError(f"cost gives no {missing[0]!r}; give both {wanted[0]!r} and {wanted[1]!r}.", "cost")
    try:
        first, second = (float(cost[name]) for name in wanted)
    except (TypeError, ValueError):
        raise InputError(f"cost: {wanted[0]!r} and {wanted[1]!r} must be numbers.", "cost") from None
    if not (np.isfinite([first, second]).all() and min(first, second) >= 0.0):
        raise InputError(f"cost: {wanted[0]!r} and {wanted[1]!r} must not be negative.", "cost")
    matrix = np.zeros((2, 2))
    if means == INSPECT:
        matrix[:, event], matrix[event, 1 - event] = first, second
    else:
        matrix[event, 1 - event], matrix[1 - event, event] = first, second
    return matrix


def question_transposed(cost: Any, classes: np.ndarray, event: int, means: str) -> None:
    """Warn of a matrix that looks transposed: inspecting an event costs as much as missing it, or more.

    No inspection then pays, and C[predicted, true] has that form where an inspection costs the same for all.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always")
    ...     question_transposed([[0, 3000], [400, 400]], np.array(["clean", "fraud"]), 1, "inspect")
    ...     question_transposed([[0, 400], [3000, 400]], np.array(["clean", "fraud"]), 1, "inspect")
    >>> len(heard)
    1
    """
    if means != INSPECT or cost is None or isinstance(cost, Mapping) or np.shape(cost) != (2, 2):
        return
    matrix = np.asarray(cost, dtype=float)
    if len(classes) == 2 and matrix[event, event] >= matrix[event, 1 - event] > 0.0:
        name = classes.tolist()[event]
        warnings.warn(
            f"cost: inspecting a case of {name!r} costs {matrix[event, event]:g}, and missing it "
            f"{matrix[event, 1 - event]:g}, so that no inspection pays: is the matrix transposed? cost[i][j] "
            "is what predicting class j costs where class i is true.",
            stacklevel=4,
        )
