"""Rules that ignore a class: balanced costs as a remedy, and warnings."""

import warnings
from typing import Any

import numpy as np

from selective_labels._errors import ConstantRuleWarning
from selective_labels.data.roles import HOLE
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.identification.bounds import Bounds

BALANCED = "balanced"
# A rule that predicts one class for this share of the rows is nearly constant ...
NEARLY_ALL = 0.99
# ... and triggers a warning if the other classes make up at least this share of the observed labels.
WORTH_A_WORD = 0.02


def balanced_weights(shares: np.ndarray) -> np.ndarray:
    """Value of a correct prediction of each class if all classes count equally.

    v_k = 1 / (K q_k),   q_k the share of class k among the observed labels

    If q were the class shares of all cases, E[v_Y* 1{t(X) = Y*}] would be the balanced accuracy, and the rule
    with the largest guaranteed value (maximin) predicts the class with the largest l_k(x) / q_k. Shares of
    all cases are not identified, those of the observed labels are known. (Minimax regret with these weights
    does not help: unobserved labels could all be of the rarest class, and the rule would always predict that
    one.)

    Examples
    --------
    >>> balanced_weights(np.array([0.75, 0.25]))
    array([0.66666667, 2.        ])
    """
    return 1.0 / (len(shares) * shares)


def seen_shares(data: SelectiveLabels) -> np.ndarray:
    """Weighted class shares among the observed labels, (n_classes,)."""
    seen = data.y != HOLE
    counts = np.bincount(data.y[seen], data.weights[seen], len(data.classes))
    # A class that the user names but that is never observed gets a tiny share, which keeps costs finite.
    return np.maximum(counts / counts.sum(), 1e-6)


def warn_if_constant(
    data: SelectiveLabels, chosen: np.ndarray, worst_case: bool, costly: bool, stacklevel: int = 2
) -> np.ndarray:
    """Shares of the predicted classes. Warn if nearly all predictions are one class.

    With equal costs, the worst case ignores the other classes, which is a warning. With a cost matrix, a
    constant rule may be correct, which is a :class:`ConstantRuleWarning`.

    Parameters
    ----------
    chosen : (n_samples,) int array
        Codes of the classes predicted for the same rows.
    worst_case : bool
        Whether the rule minimises the worst case over unobserved labels.
    costly : bool
        Whether a cost matrix is given.

    Returns
    -------
    (n_classes,) array
    """
    predicted = np.bincount(chosen, data.weights, len(data.classes)) / data.weights.sum()
    top = int(predicted.argmax())
    if predicted[top] < NEARLY_ALL:
        return predicted
    label, others = data.classes.tolist()[top], 1.0 - seen_shares(data)[top]
    open_labels = worst_case and bool((data.y == HOLE).any())
    if costly:
        note = _constant_by_cost(data.classes.tolist(), top, predicted[top], open_labels)
        warnings.warn(note, ConstantRuleWarning, stacklevel=stacklevel + 1)
    elif others >= WORTH_A_WORD and open_labels:
        warnings.warn(
            f"the rule predicts {label!r} for {predicted[top]:.1%} of the rows, while {others:.1%} of the "
            "labels seen are of other classes: lower bounds of rarely seen classes are small, and the "
            f"worst case gives them up. cost={BALANCED!r} weighs all classes alike; a cost matrix says what "
            "mistakes cost.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
    return predicted


def _constant_by_cost(classes: list[Any], top: int, share: float, open_labels: bool) -> str:
    who = "everybody" if share == 1.0 else f"{share:.1%} of the rows"
    guard = ", guarding against the worst case of the unseen labels" if open_labels else ""
    order = ", ".join(repr(each) for each in classes)
    return (
        f"the rule predicts {classes[top]!r} for {who}: with these costs no other prediction pays there"
        f"{guard}. That can be right; look whether cost[i][j] is what predicting class j costs where class i "
        f"is true, classes in the order {order}."
    )


# Bounds count as wide if the probabilities that they leave open have at least this mean, and a class as given
# up if it is predicted for less than this multiple of the smallest share that it can have ...
WIDE = 0.25
GIVEN_UP = 0.5
# ... and can be missed: its smallest share is at least this large.
COMMON = 0.1


def warn_if_given_up(
    data: SelectiveLabels, predicted: np.ndarray, bounds: Bounds, stacklevel: int = 2
) -> None:
    """Warn if wide bounds make a rule of partial mode predict a class far less often than it occurs.

    Parameters
    ----------
    predicted : (n_classes,) array
        Share of rows predicted as each class.
    bounds : Bounds
        Bounds on the class probabilities of the rows.
    """
    least, most = (np.average(each, axis=0, weights=data.weights) for each in (bounds.lower, bounds.upper))
    if 1.0 - least.sum() < WIDE:
        return
    for code in np.flatnonzero((least >= COMMON) & (predicted < GIVEN_UP * least)):
        warnings.warn(
            f"the rule predicts {data.classes.tolist()[code]!r} for {predicted[code]:.1%} of the rows, while "
            f"between {least[code]:.0%} and {most[code]:.0%} of all cases are of this class: the bounds are "
            "wide, and the worst case gives the class up. assumption= narrows the bounds by what you know of "
            "the refused.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
