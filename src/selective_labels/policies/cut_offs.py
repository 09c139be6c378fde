"""Which cut-off of a score to take, and which could still be best, where costs are known in bounds only."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from scipy.stats import t as student

from selective_labels.identification.bounds import Array
from selective_labels.inference.estimates import by_row, mean_estimate, of_rows
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.known_shares import NoiseOf
from selective_labels.policies.stakes import Stake


@dataclass(frozen=True, eq=False)
class CutOffs:
    """Cut-offs of one score, judged by what they cost in the worst case.

    Attributes
    ----------
    thresholds : (n_cut_offs,) array
        Ascending; cases with a score below are accepted.
    acceptance : (n_cut_offs,) array
        Share of cases accepted at each.
    worst_cost : (n_cut_offs,) array
        Estimated upper end of the mean cost.
    worst_regret : (n_cut_offs,) array
        Estimated largest possible excess over the cut-off that is best: max_c' max_η cost(c) - cost(c').
    possible : (n_cut_offs,) bool array
        Whether some η that the assumption leaves possible makes it the best, by the estimated ends.
    could_be_best : (n_cut_offs,) bool array
        Whether the data leave that open once sampling error is counted: all those that are best are among
        them with the stated probability.
    confidence_level : float
    """

    thresholds: Array
    acceptance: Array
    worst_cost: Array
    worst_regret: Array
    possible: np.ndarray
    could_be_best: np.ndarray
    confidence_level: float

    @property
    def minimax_cost(self) -> int:
        """Place of the cut-off whose cost is smallest in its worst case."""
        return int(self.worst_cost.argmin())

    @property
    def minimax_regret(self) -> int:
        """Place of the cut-off that can be least far from the best."""
        return int(self.worst_regret.argmin())

    def to_frame(self) -> pd.DataFrame:
        """One row per cut-off."""
        return pd.DataFrame(
            {
                "threshold": self.thresholds,
                "acceptance": self.acceptance,
                "worst_cost": self.worst_cost,
                "worst_regret": self.worst_regret,
                "possible": self.possible,
                "could_be_best": self.could_be_best,
            }
        )

    def sentences(self) -> list[str]:
        """Say which cut-off to take, and how sure that is."""
        cost, regret = self.minimax_cost, self.minimax_regret
        inside = self.acceptance[self.could_be_best]
        return [
            f"Smallest cost in the worst case: accept {self.acceptance[cost]:.0%} (a score below "
            f"{self.thresholds[cost]:.4g}); it costs {self.worst_cost[cost]:.4g} a case at most.",
            f"Smallest regret in the worst case: accept {self.acceptance[regret]:.0%} (a score below "
            f"{self.thresholds[regret]:.4g}); the best cut-off saves {self.worst_regret[regret]:.4g} a case "
            "at most.",
            f"Could still be best ({self.confidence_level:.0%}, sampling error included): cut-offs that "
            f"accept from {inside.min():.0%} to {inside.max():.0%}, {self.could_be_best.sum()} of "
            f"{len(self.thresholds)}.",
        ]


class Repeated(Protocol):
    """Scored rows, or cells of rows, as far as cut-offs need them."""

    @property
    def size(self) -> int:
        """Rows, or cells."""

    def repeated(self, assumption: str) -> Sequence[tuple[Evidence, Array, NoiseOf]]:
        """Evidence, weights, and covariances from influences, once for each repeat."""

    def count_units(self, rows: np.ndarray) -> int:
        """How many independent units some rows are."""


def choose_cut_off(
    sample: Repeated,
    risk: Array,
    stake: Stake,
    assumption: str,
    thresholds: Array,
    confidence_level: float = 0.95,
) -> CutOffs:
    """Judge cut-offs by the ends of their costs and of their differences.

    With Δ_k = accepted_k - refused_k, and M⁺(c) = E[1{s<c} max_η Σ_k Δ_k η_k], M⁻ the same with the minimum,

        max_η cost(c) - cost(c') = M⁺(c) - M⁺(c')   if c >= c',   M⁻(c) - M⁻(c')   if c < c',

    because two cut-offs differ in the cases between them only. c can be best if and only if no c' is better
    for every η; the η that favours c over all others at once has the largest Δ above c and the smallest
    below, so that looking at pairs is enough. All from two sums over the rows, whatever the number of
    cut-offs.

    Sampling error: c is given up if for some c' the lower end of cost(c) - cost(c') exceeds zero by more than
    a constant times its standard error, the constant for as many comparisons as there are (Bonferroni).
    """
    below = (risk[None, :] < thresholds[:, None]).astype(float)
    repeats = sample.repeated(assumption)
    found = [_judge(evidence, below, stake, weights, noise) for evidence, weights, noise in repeats]
    cost, excess, errors = (np.stack(each) for each in zip(*found, strict=True))
    least = np.median(excess, axis=0)
    # As in the median of repeats: the error contains how folds were cut.
    error = np.sqrt(np.median(errors**2 + (excess - least) ** 2, axis=0))
    units = sample.count_units(np.ones(sample.size, dtype=bool))
    rivals = max(len(thresholds) - 1, 1)
    constant = student.isf((1.0 - confidence_level) / rivals, max(units - 1, 1))
    return CutOffs(
        thresholds=thresholds,
        acceptance=np.average(below, axis=1, weights=by_row(repeats[0][1])),
        worst_cost=np.median(cost, axis=0),
        # The largest excess of c over c' is minus the smallest of c' over c.
        worst_regret=np.maximum((-least).max(axis=0), 0.0),
        possible=least.max(axis=1) <= 1e-12,
        could_be_best=(least - constant * error).max(axis=1) <= 1e-12,
        confidence_level=confidence_level,
    )


def _judge(
    evidence: Evidence, below: Array, stake: Stake, weights: Array, noise: NoiseOf
) -> tuple[Array, Array, Array]:
    """Worst costs of each cut-off c; of each pair, the lower end of cost(c) - cost(c') and its error."""
    change = stake.accepted - stake.refused

    def largest(gain: Array, worth: Array) -> Array:
        return np.asarray(np.einsum("nk...,k->n...", evidence.extreme(gain), worth))

    scores = [largest(side * change, change) for side in (-1.0, 1.0)]
    accepted, refused = (largest(each, each) for each in (stake.accepted, stake.refused))
    parts = [of_rows(row, weights) for row in below]
    cost = np.array([np.vdot(weights, row * accepted + (1.0 - row) * refused) for row in parts])
    sums = [[mean_estimate(row * score, weights) for row in parts] for score in scores]
    values = np.array([[each.value for each in side] for side in sums])
    low, high = values[:, :, None] - values[:, None, :]
    # Rows: c; columns: c'. Between c' and a larger c the change is at least its minimum.
    larger = np.tri(len(below), dtype=bool)
    variances = []
    for side in sums:
        matrix = noise([each.influence for each in side])
        variances.append(np.diag(matrix)[:, None] + np.diag(matrix)[None, :] - 2.0 * matrix)
    error = np.sqrt(np.maximum(np.where(larger, *variances), 0.0))
    return cost / weights.sum(), np.where(larger, low, high), error
