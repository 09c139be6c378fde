"""Whole numbers of whatever the user gives as random state: read here and nowhere else."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def as_seed(random_state: Any) -> int | None:
    """Draw a number from a random state; None and whole numbers stay what they are.

    Examples
    --------
    >>> as_seed(3), as_seed(None), as_seed(np.random.RandomState(0)) == as_seed(np.random.RandomState(0))
    (3, None, True)
    """
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return None if random_state is None else int(random_state)
    return int(random_stream(random_state).randint(np.iinfo(np.int32).max))


def draw_seeds(random_state: Any, n_seeds: int) -> list[int]:
    """Draw several numbers from a random state, as scikit-learn's estimators do.

    Examples
    --------
    >>> draw_seeds(0, 2) == draw_seeds(np.random.RandomState(0), 2)
    True
    """
    return random_stream(random_state).randint(np.iinfo(np.int32).max, size=n_seeds).tolist()


def random_stream(random_state: Any) -> np.random.RandomState:
    """Random numbers of a random state, one after the other.

    Examples
    --------
    >>> random_stream(0).randint(9) == random_stream(np.random.RandomState(0)).randint(9)
    True
    """
    return check_random_state(random_state)
