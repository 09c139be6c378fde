"""What is at stake when a case is accepted or refused: failures, good cases, money."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from selective_labels.identification.bounds import Array
from selective_labels.support.errors import InputError

ACCEPTANCE, FAILURES, FAILURE_RATE = "acceptance", "failures", "failure_rate"
AVOIDED, GOOD_LOST, COST, PROFIT = "avoided", "good_lost", "cost", "profit"
PLAIN = (ACCEPTANCE, FAILURES, FAILURE_RATE, AVOIDED, GOOD_LOST)
OF_COST = (COST, PROFIT)
WORDS = {
    ACCEPTANCE: "share of all cases that are accepted",
    FAILURES: "share of all cases that are accepted and fail",
    FAILURE_RATE: "share of the accepted cases that fail",
    AVOIDED: "share of all cases that are refused and would have failed",
    GOOD_LOST: "share of all cases that are refused and would not have failed",
    COST: "mean cost of a case",
    PROFIT: "mean cost saved on a case, compared with refusing everybody",
}


@dataclass(frozen=True, eq=False)
class Stake:
    """What a case of each class counts if it is accepted, and if it is refused.

    E[accepted[Y*] 1{accepted} + refused[Y*] 1{refused}],   divided by P(accepted) if `per_accepted`

    Attributes
    ----------
    name : str
    accepted, refused : (n_classes,) arrays
    per_accepted : bool
        A rate among the accepted; then refused cases count nothing.
    greater_is_better : bool
    """

    name: str
    accepted: Array
    refused: Array
    per_accepted: bool = False
    greater_is_better: bool = False

    def limits(self, acceptance: float | None = None) -> tuple[float, float]:
        """Possible values, of a policy that accepts a known share if it is given."""
        if self.per_accepted:
            return float(self.accepted.min()), float(self.accepted.max())
        if acceptance is None:
            both = np.concatenate([self.accepted, self.refused])
            return float(both.min()), float(both.max())
        ends = [
            acceptance * end(self.accepted) + (1.0 - acceptance) * end(self.refused)
            for end in (np.min, np.max)
        ]
        return float(ends[0]), float(ends[1])


def read_stakes(
    names: Sequence[str] | None, classes: np.ndarray, failure: int, cost: ArrayLike | None
) -> list[Stake]:
    """Stakes by name; without names all, those of money only if there is a cost.

    Parameters
    ----------
    names : list of names, or None
    classes : sorted class labels
    failure : int
        Code of the class that is a failure.
    cost : matrix, optional
        See :func:`read_cost`.

    Examples
    --------
    >>> [each.name for each in read_stakes(None, np.array(["good", "lost"]), 1, [[0, 1], [5, 0]])]
    ['acceptance', 'failures', 'failure_rate', 'avoided', 'good_lost', 'cost', 'profit']
    """
    possible = (*PLAIN, *OF_COST)
    wanted = (PLAIN if cost is None else possible) if names is None else tuple(names)
    unknown = [name for name in wanted if name not in possible]
    if unknown or not wanted:
        given = repr(unknown[0]) if unknown else "an empty list"
        raise InputError(f"metric {given} is not one of {', '.join(map(repr, possible))}.", "metric")
    if cost is None and set(wanted) & set(OF_COST):
        raise InputError(
            f"metric {next(name for name in wanted if name in OF_COST)!r} needs cost=, a matrix "
            "C[true, predicted] over the sorted classes.",
            "cost",
        )
    failed = (np.arange(len(classes)) == failure).astype(float)
    nothing, one = np.zeros(len(classes)), np.ones(len(classes))
    stakes = {
        ACCEPTANCE: Stake(ACCEPTANCE, one, nothing, greater_is_better=True),
        FAILURES: Stake(FAILURES, failed, nothing),
        FAILURE_RATE: Stake(FAILURE_RATE, failed, nothing, per_accepted=True),
        AVOIDED: Stake(AVOIDED, nothing, failed, greater_is_better=True),
        GOOD_LOST: Stake(GOOD_LOST, nothing, 1.0 - failed),
    }
    if cost is not None:
        accepted, refused = read_cost(cost, classes, failure)
        stakes[COST] = Stake(COST, accepted, refused)
        stakes[PROFIT] = Stake(PROFIT, refused - accepted, nothing, greater_is_better=True)
    return [stakes[name] for name in wanted]


def read_cost(cost: Any, classes: np.ndarray, failure: int) -> tuple[Array, Array]:
    """Costs of accepting and of refusing a case of each class.

    With two classes, accepting is predicting the class that is not the failure, and `cost` is
    C[true, predicted]. With more it has two columns, the cost of accepting and that of refusing.

    Examples
    --------
    >>> read_cost([[0, 1], [5, 0]], np.array(["good", "lost"]), failure=1)
    (array([0., 5.]), array([1., 0.]))
    """
    try:
        matrix = np.asarray(cost, dtype=float)
    except (TypeError, ValueError):
        raise InputError.about("cost", "must hold numbers, in rows of equal length.") from None
    n_classes = len(classes)
    if matrix.shape != (n_classes, 2) or not np.isfinite(matrix).all():
        what = (
            "C[true, predicted]"
            if n_classes == 2
            else "with the cost of accepting and of refusing each class"
        )
        raise InputError.about(
            "cost",
            f"has shape {matrix.shape}; a policy needs a finite matrix {what} of shape {(n_classes, 2)}.",
        )
    accept = 0 if n_classes > 2 else 1 - failure
    return matrix[:, accept], matrix[:, 1 - accept]
