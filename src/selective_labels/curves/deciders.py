"""What every decision-maker decided, and what came of it: sums by outcome, from rows or from cells."""

from dataclasses import dataclass

import numpy as np

from selective_labels.evaluation.judged import Ground
from selective_labels.identification.bounds import Array
from selective_labels.policies.ground import RowGround


@dataclass(frozen=True, eq=False)
class Deciders:
    """Cases, or cells of cases, by decision-maker and outcome.

    Attributes
    ----------
    makers : array
        Ids of decision-makers.
    codes : (n,) int array
        Whose case it is.
    outcome : (n,) int array
        0 is refused, k + 1 accepted with label k.
    rows, weights, squares : (n,) arrays
        How many cases, their weight, and the sum of squared weights.
    """

    makers: np.ndarray
    codes: np.ndarray
    outcome: np.ndarray
    rows: Array
    weights: Array
    squares: Array

    @classmethod
    def of(cls, ground: Ground) -> "Deciders":
        """Those of the cases that policies are laid out on."""
        if not isinstance(ground, RowGround):
            cells = ground.deciders.cells
            sums = cells.rows, cells.weights, cells.square_weights
            return cls(ground.decision_makers, cells.key[:, 0], cells.key[:, 1], *sums)
        data = ground.sample.data
        codes, makers = data.decision_maker_codes, data.decision_makers
        if data.panels is not None and data.own_decision_maker_codes is not None:
            codes, makers = data.own_decision_maker_codes, data.panels.people
        outcome = np.where(data.row_decision == 1, data.y + 1, 0)
        return cls(makers, codes, outcome, np.ones(len(data)), data.weights, data.weights**2)
