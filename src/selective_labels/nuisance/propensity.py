"""The probability that a case goes to an arm: known, modelled, or shares (within strata)."""

from collections.abc import Callable

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.nuisance.arm_models import cell_shares
from selective_labels.nuisance.cross_fit import CrossFit

# Takes row numbers, returns (len(rows), n_arms) probabilities; nothing of size (n_samples, n_arms) is kept.
Propensity = Callable[[np.ndarray], np.ndarray]


def arm_propensity(fit: CrossFit, number: int, data: SelectiveLabels, *, held_out: bool = True) -> Propensity:
    """Probability e_z(x) = P(arm = z | x) of every row and arm.

    The first case that applies decides::

        data.assignment given    known: the sum over the decision-makers of each arm
        fit.assignment.models    a model of features and stratum, a tilt of shares, that has not seen the row
        data.strata given        shares within the row's stratum; an arm absent from it has 0
        else                     shares of all rows: assignment as if by lot

    Shares are weighted, and those of the rows that they serve. They use who decided, never the decision or
    the label, so nothing leaks from an outcome into its own score; and shares of the same rows balance the
    sample at hand exactly, where shares of other rows would add noise that no standard error sees. Known
    probabilities are those of the weighted population, if there are weights.

    Parameters
    ----------
    fit : CrossFit
    number : int
        Of the fold whose arms are meant.
    data : SelectiveLabels
    held_out : bool
        Whether `data` are the rows that `fit` was made from. Else they are new ones.

    Returns
    -------
    callable
        From an array of row numbers to an array of shape (rows, n_arms).

    Examples
    --------
    >>> from selective_labels.nuisance.cross_fit import cross_fit
    >>> X, y = np.zeros((4, 1)), [1, 0, -1, 1]
    >>> data = SelectiveLabels.from_arrays(X, y, decision_maker=["a", "b", "b", "b"], strata=[0, 0, 1, 1])
    >>> fit = cross_fit(data, lambda X: np.full((len(X), 2, 3), 1 / 3))
    >>> arm_propensity(fit, 0, data)(np.array([0, 3]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    lookup = fit.folds[number].lookup
    if len(lookup) != data.n_decision_makers:  # a mistake of the caller: both come from the same rows
        raise ValueError(
            f"data has {data.n_decision_makers} decision-makers and the nuisance model {len(lookup)}; "
            "both must list the same ones."
        )
    if data.assignment is not None:
        membership = lookup[:, None] == np.arange(fit.n_arms)
        assignment = data.assignment
        return lambda rows: assignment[rows] @ membership
    arm, cells = lookup[data.decision_maker_codes], data.cells
    shares = cell_shares(cells, arm, data.weights, cells.max() + 1, fit.n_arms)
    models = fit.assignment.models
    if not models:
        return lambda rows: shares[cells[rows]]
    if not held_out:  # strata of another table are not those of the models
        overall = cell_shares(np.zeros_like(arm), arm, data.weights, 1, fit.n_arms)[0]
        return lambda rows: _anywhere(fit, number, data.features[rows], overall)
    return lambda rows: _held_out(fit, data, shares, rows)


def new_propensity(fit: CrossFit, number: int, X: np.ndarray) -> np.ndarray:
    """Probabilities at new rows of which features alone are known, (n_samples, n_arms)."""
    if not fit.assignment.models:
        return np.broadcast_to(fit.shares, (len(X), fit.n_arms))
    return _anywhere(fit, number, X, fit.shares)


def arm_chances(fit: CrossFit, number: int, X: np.ndarray, known: np.ndarray | None = None) -> np.ndarray:
    """Probabilities of a fold's arms at new rows; `known` are those of decision-makers, if they are."""
    if known is None:
        return new_propensity(fit, number, X)
    return known @ (fit.folds[number].lookup[:, None] == np.arange(fit.n_arms))


def _anywhere(fit: CrossFit, number: int, X: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """By the model of a fold; injected probabilities have no folds, and all models are averaged."""
    models = fit.assignment.models
    chosen = (models[number],) if len(models) == len(fit.folds) else models
    return np.mean([model.anywhere(X, shares) for model in chosen], axis=0)


def _held_out(fit: CrossFit, data: SelectiveLabels, shares: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """By the model that has not seen each row."""
    chances = np.empty((len(rows), fit.n_arms))
    own = fit.assignment.held_out[rows]
    for number in np.unique(own):
        here = np.flatnonzero(own == number)
        model = fit.assignment.models[number]
        chances[here] = model.at(data.features[rows[here]], data.cells[rows[here]], shares)
    return chances
