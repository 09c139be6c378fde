"""The probability that a case goes to an arm: known, shares, shares within strata, or a model of features."""

from collections.abc import Callable

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from selective_labels.data import SelectiveLabels
from selective_labels.models.features import standardised
from selective_labels.models.outcomes import spread_columns
from selective_labels.support.errors import require_choice

PROPENSITIES = ("shares", "model")
MAX_ITERATIONS = 500

# Takes row numbers, returns (len(rows), n_arms) probabilities; nothing of size (n_samples, n_arms) is kept.
Propensity = Callable[[np.ndarray], np.ndarray]


def arm_propensity(
    data: SelectiveLabels, lookup: np.ndarray, n_arms: int, propensity: str = "shares"
) -> Propensity:
    """Probability e_z(x) = P(arm = z | x) of every row and arm.

    The first case that applies decides::

        data.assignment given    known: the sum over the decision-makers of each arm
        propensity="model"       a multinomial logistic model of the features (strata are not in it)
        data.strata given        shares within the row's stratum; an arm absent from it has 0
        else                     shares of all rows: assignment as if by lot

    Shares and model are fitted to the rows that they serve. They use who decided, never the decision or
    the label, so nothing leaks from an outcome into its own score; and shares of the same rows balance the
    sample at hand exactly, where shares of other rows would add noise that no standard error sees.

    Parameters
    ----------
    data : SelectiveLabels
    lookup : (n_decision_makers,) int array
        The arm of each decision-maker.
    n_arms : int
    propensity : "shares" or "model"

    Returns
    -------
    callable
        From an array of row numbers to an array of shape (rows, n_arms).

    Examples
    --------
    >>> X, y = np.zeros((4, 1)), [1, 0, -1, 1]
    >>> data = SelectiveLabels.from_arrays(X, y, decision_maker=["a", "b", "c", "c"], strata=[0, 0, 1, 1])
    >>> arm_propensity(data, np.array([0, 1, 1]), 2)(np.array([0, 3]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    require_choice("propensity", propensity, PROPENSITIES)
    if len(lookup) != data.n_decision_makers:  # a mistake of the caller: both come from the same rows
        raise ValueError(
            f"data has {data.n_decision_makers} decision-makers and the nuisance model {len(lookup)}; "
            "both must list the same ones."
        )
    if data.assignment is not None:
        membership = lookup[:, None] == np.arange(n_arms)
        assignment = data.assignment
        return lambda rows: assignment[rows] @ membership
    arm = lookup[data.decision_maker_codes]
    if propensity == "model":
        return _model(data, arm, n_arms)
    cells = np.zeros(len(data), dtype=int) if data.strata is None else data.strata
    counts = np.bincount(cells * n_arms + arm, minlength=(cells.max() + 1) * n_arms).reshape(-1, n_arms)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return lambda rows: shares[cells[rows]]


def _model(data: SelectiveLabels, arm: np.ndarray, n_arms: int) -> Propensity:
    X = data.features
    if len(np.unique(arm)) == 1:
        return lambda rows: np.broadcast_to(np.arange(n_arms) == arm[0], (len(rows), n_arms)).astype(float)
    scale, regression = standardised(data.categorical), LogisticRegression(max_iter=MAX_ITERATIONS)
    model = make_pipeline(scale, regression).fit(X, arm)
    return lambda rows: spread_columns(model.predict_proba(X[rows]), model.classes_, n_arms)
