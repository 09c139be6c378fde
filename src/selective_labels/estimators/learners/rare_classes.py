"""Rare or rarely seen classes: weights that balance them, and a word when a learner gives them up."""

import warnings
from typing import Any

import numpy as np

from selective_labels.data import HOLE, SelectiveLabels
from selective_labels.support.errors import RuleNote

BALANCED = "balanced"
# A rule that predicts one class for so many rows has given the others up ...
NEARLY_ALL = 0.99
# ... and says so if they make up at least this part of the labels seen.
WORTH_A_WORD = 0.02


def balanced_weights(shares: np.ndarray) -> np.ndarray:
    """What a right prediction of each class is worth if all classes weigh alike.

    v_k = 1 / (K q_k),   q_k the share of class k among the labels seen

    With q the class shares of everybody, E[v_Y* 1{t(X) = Y*}] is the balanced accuracy, and the rule that is
    sure of most of it (maximin) predicts the class with the largest l_k(x) / q_k. Shares of everybody are not
    identified; those of the labels seen are known. (Minimax regret with such weights is no remedy: unseen
    labels might all be of the rarest class, and the rule would predict that one for everybody.)

    Examples
    --------
    >>> balanced_weights(np.array([0.75, 0.25]))
    array([0.66666667, 2.        ])
    """
    return 1.0 / (len(shares) * shares)


def seen_shares(data: SelectiveLabels) -> np.ndarray:
    """Weighted shares of the classes among the labels seen, (n_classes,)."""
    seen = data.y != HOLE
    counts = np.bincount(data.y[seen], data.weights[seen], len(data.classes))
    # A class that a user names and nobody shows has no share to balance by; a tiny one keeps costs finite.
    return np.maximum(counts / counts.sum(), 1e-6)


def tell_if_constant(
    data: SelectiveLabels, chosen: np.ndarray, worst_case: bool, costly: bool, stacklevel: int = 2
) -> np.ndarray:
    """Shares of the predicted classes, with a word if nearly all predictions are one class.

    With all mistakes alike, the worst case has given the other classes up: a warning. With costs of one's own
    one class may well be the right answer: a note.

    Parameters
    ----------
    data : SelectiveLabels
    chosen : (n_samples,) int array
        Codes of the predicted classes of the same rows.
    worst_case : bool
        Whether the rule guards against the worst case of the unseen labels.
    costly : bool
        Whether a cost matrix says what mistakes cost.
    stacklevel : int

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
        warnings.warn(note, RuleNote, stacklevel=stacklevel + 1)
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
