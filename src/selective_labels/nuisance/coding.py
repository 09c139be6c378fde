"""The (decision, label) outcome: what one row of a selectively labeled table can be."""

import numpy as np


def outcome_codes(y: np.ndarray) -> np.ndarray:
    """Code what was seen of each row as one number.

    The outcome of a row is, exhaustively::

        decision  label           y (code)   outcome
        0         not seen        -1         0
        1         first class      0         1
        1         second class     1         2
        ...
        1         last class       K - 1     K

    so that one classifier of the outcome is a coherent model of both the decision and the label:
    P(outcome = 0) = P(D = 0), P(outcome = k + 1) = P(D = 1, Y = k), and they sum to one.

    Parameters
    ----------
    y : (n_samples,) int array
        Label codes, -1 where no label was seen.

    Returns
    -------
    (n_samples,) int array

    Examples
    --------
    >>> outcome_codes(np.array([-1, 0, 2]))
    array([0, 1, 3])
    """
    return np.asarray(y) + 1
