"""Classes by their labels."""

from typing import Any

import numpy as np

from selective_labels.support.errors import InputError
from selective_labels.support.words import several


def class_code(label: Any, classes: np.ndarray, argument: str = "pos_label") -> int:
    """Code of a class among the sorted classes; that of None is the last.

    Examples
    --------
    >>> classes = np.array(["no", "yes"])
    >>> class_code("no", classes), class_code(None, classes)
    (0, 1)
    >>> class_code("maybe", classes)
    Traceback (most recent call last):
    ...
    selective_labels.support.errors.InputError: pos_label='maybe' is not among the labels 'no', 'yes'.
    """
    if label is None:
        return len(classes) - 1
    position = np.flatnonzero(classes == label)
    if not len(position):
        words = several([str(each) for each in classes.tolist()])
        raise InputError(f"{argument}={label!r} is not among the labels {words}.", argument)
    return int(position[0])


def require_two_classes(classes: np.ndarray) -> None:
    """Refuse labels of one class: nothing can be right or wrong about them."""
    if len(classes) < 2:
        raise InputError.about(
            "y", f"shows only one class ({classes.tolist()[0]!r}); two or more are needed."
        )
