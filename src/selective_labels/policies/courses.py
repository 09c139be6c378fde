"""What becomes of each case under a policy: accepted by rule, left to the human, or refused."""

from dataclasses import dataclass

import numpy as np

from selective_labels.identification.bounds import Array
from selective_labels.inference.estimates import by_row

# Share of cases on either side of the cut-off that tell how risky the marginal case is.
NEAR_CUT_OFF = 0.05


@dataclass(frozen=True, eq=False)
class Course:
    """What becomes of each row: accepted by rule, left to the human, or (the rest) refused.

    Attributes
    ----------
    below, above : pairs of (n_samples,) arrays
        Probability that the rule accepts, and that the human decides, where the score is below the cut-off
        and where it is not.
    risk : (n_samples,) array
        The score.
    acceptance : float or None
        Share below the cut-off; None: as many as the human accepts.
    threshold : float or None
        The cut-off, if it is given: then the share is what it is.
    between : (n_samples,) bool array or None
        Of cells of rows, those in which risks differ: in which order is not known.
    """

    below: tuple[Array, Array]
    above: tuple[Array, Array]
    risk: Array
    acceptance: float | None = None
    threshold: float | None = None
    between: np.ndarray | None = None

    @classmethod
    def human(cls, n_samples: int) -> "Course":
        """The decisions taken."""
        alone = np.zeros(n_samples), np.ones(n_samples)
        return cls(alone, alone, np.zeros(n_samples), threshold=0.0)

    @property
    def by_share(self) -> bool:
        """Whether the cut-off is where a share of the cases says, and so estimated."""
        return self.threshold is None

    @property
    def known_acceptance(self) -> float | None:
        """Share accepted, where it does not depend on what the human does, nor on who is met."""
        alone = not self.below[1].any() and not self.above[1].any()
        return self.acceptance if alone and self.by_share else None

    def share_below(self, decision: Array, weights: Array) -> tuple[Array, Array]:
        """Probability of being below the cut-off, and weights of the rows near it, (n_samples,) each."""
        weights = np.asarray(by_row(weights))
        if self.threshold is not None:
            return (self.risk < self.threshold).astype(float), weights
        share = self.acceptance
        if share is None:
            share = float(np.average(decision, weights=weights))
        return accept_lowest(self.risk, share, weights)

    def unordered(self, decision: Array, weights: Array) -> float:
        """Σ_b m_b p_b (1 - p_b) of cells b that the cut-off divides although their risks differ.

        m_b is the share of the cases in b, p_b that of b below the cut-off. Whichever they are, a mean of
        what is between v and w moves by this times w - v at most.
        """
        if self.between is None or not self.by_share:
            return 0.0
        mass = np.asarray(by_row(weights))
        below, _ = self.share_below(decision, weights)
        part = self.between & (below > 0.0) & (below < 1.0)
        return float(np.sum((mass * below * (1.0 - below))[part]) / mass.sum())

    def accepted(self, decision: Array, weights: Array) -> Array:
        """Probability that each case is accepted, given what the human did with it."""
        below, _ = self.share_below(decision, weights)
        accept, human = mixed(below, self.below, self.above)
        return accept + human * decision


def mixed(share: Array, below: tuple[Array, Array], above: tuple[Array, Array]) -> tuple[Array, Array]:
    """Rows that are below with some probability."""
    first, second = (share * low + (1.0 - share) * high for low, high in zip(below, above, strict=True))
    return first, second


def accept_lowest(risk: Array, share: float, weights: Array) -> tuple[Array, Array]:
    """Accept the cases of lowest risk, up to a share of the weight.

    Returns
    -------
    policy : (n_samples,) array
        Probability of accepting: 1 below the cut-off, 0 above, in between for cases exactly at it.
    near : (n_samples,) array
        Weights of the cases near the cut-off.

    Examples
    --------
    >>> accept_lowest(np.array([0.3, 0.1, 0.3, 0.9]), 0.5, np.ones(4))[0]
    array([0.5, 1. , 0.5, 0. ])
    """
    _, level = np.unique(risk, return_inverse=True)
    mass = np.bincount(level, weights=weights) / weights.sum()
    reached = np.cumsum(mass)
    accepted = np.clip((share - (reached - mass)) / np.maximum(mass, np.finfo(float).tiny), 0.0, 1.0)
    near = (reached >= share - NEAR_CUT_OFF) & (reached - mass <= share + NEAR_CUT_OFF)
    return accepted[level], weights * near[level]
