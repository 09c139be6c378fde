"""Decisions with and without advice, and the advice alone: what each costs, from what two arms show.

The advice A is known for every case, and a lottery S decides whether people see it. With D(s) the decision in
arm s, and values of a yes and of a no to a case of class k,

    V = E[yes_Y 1{yes} + no_Y 1{no}] = E[Σ_k c_k(X) η_k(X)] + Σ_s E[Σ_k g_sk(X) 1{D(s)=1, Y=k}],

where the second part is observed in the arms and the first needs η_k(x) = P(Y=k | x), which is bounded. The
lottery does not change the label, so c is the same for both arms: their difference is a point.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from selective_labels.identification.bounds import Array

ALONE, WITH = 0, 1


@dataclass(frozen=True, eq=False)
class Contrast:
    """A value of a way to decide, or a difference of two: the coefficients c of η and g of the arms.

    Attributes
    ----------
    open : (n_samples, n_classes) array
        c.
    arms : (2, n_samples, n_classes) array
        g, first for people alone, then for people with advice.
    constant : (n_samples,) array
        What is known of each row.

    Examples
    --------
    >>> failures = np.array([0.0, 1.0]), np.array([0.0, 0.0])
    >>> alone, shown = (Contrast.people(arm, *failures, 1) for arm in (ALONE, WITH))
    >>> (shown - alone).arms[:, 0].tolist(), bool((shown - alone).open.any())
    ([[0.0, -1.0], [0.0, 1.0]], False)
    """

    open: Array
    arms: Array
    constant: Array

    @classmethod
    def people(cls, arm: int, yes: Array, no: Array, n_samples: int) -> Self:
        """Value of the decisions in one arm: c = no, g_s = yes - no."""
        shape = n_samples, len(yes)
        arms = np.zeros((2, *shape))
        arms[arm] = yes - no
        return cls(np.broadcast_to(no, shape), arms, np.zeros(n_samples))

    @classmethod
    def of_advice(cls, advice: Array, yes: Array, no: Array) -> Self:
        """Value of following the advice in every case: c = no + A (yes - no)."""
        advice = np.asarray(advice, dtype=float)
        found = no + advice[:, None] * (yes - no)
        return cls(found, np.zeros((2, *found.shape)), np.zeros(len(advice)))

    @classmethod
    def agreement(cls, arm: int, advice: Array, n_classes: int) -> Self:
        """Share of cases in which people in one arm decide as advised: E[1 - A + (2A - 1) D(s)]."""
        return cls._share(arm, 2.0 * np.asarray(advice) - 1.0, 1.0 - np.asarray(advice), n_classes)

    @classmethod
    def override(cls, arm: int, advice: Array, to_yes: bool, n_classes: int) -> Self:
        """Share of cases in which people in one arm say yes against a no, or no against a yes.

        E[(1 - A) D(s)]   or   E[A (1 - D(s))]
        """
        advice = np.asarray(advice, dtype=float)
        if to_yes:
            return cls._share(arm, 1.0 - advice, np.zeros(len(advice)), n_classes)
        return cls._share(arm, -advice, advice, n_classes)

    @classmethod
    def price(cls, arm: int, advice: Array, to_yes: bool, yes: Array, no: Array) -> Self:
        """Value that overrides of one direction add, compared with following the advice.

        E[(1 - A) D(s) (yes_Y - no_Y)]   or   E[A (1 - D(s)) (no_Y - yes_Y)]

        Both directions add up to the value of the arm minus that of the advice alone. The first is observed.
        """
        advice = np.asarray(advice, dtype=float)
        at = advice[:, None] * (yes - no)
        arms = np.zeros((2, *at.shape))
        if to_yes:
            arms[arm] = (1.0 - advice)[:, None] * (yes - no)
            return cls(np.zeros_like(at), arms, np.zeros(len(advice)))
        arms[arm] = at
        return cls(-at, arms, np.zeros(len(advice)))

    @classmethod
    def _share(cls, arm: int, per_yes: Array, constant: Array, n_classes: int) -> Self:
        arms = np.zeros((2, len(per_yes), n_classes))
        arms[arm] = per_yes[:, None]
        return cls(np.zeros((len(per_yes), n_classes)), arms, constant)

    def __sub__(self, other: "Contrast") -> Self:
        return replace(
            self,
            open=self.open - other.open,
            arms=self.arms - other.arms,
            constant=self.constant - other.constant,
        )

    def seen(self, arms: Array) -> Array:
        """Observed part of every row, from P(D(s)=1, Y=k | x) or scores of it, (2, n_samples, n_classes)."""
        return np.asarray(self.constant + np.einsum("snk,snk->n", self.arms, arms))

    def bounds(self, arms: Array, weights: Array) -> tuple[float, float]:
        """Sharp bounds from what both arms show of each kind of case.

        E[Σ_k c_k l_k + seen] + E[δ min_k c_k], and likewise with the maximum,
        l_k = max_s P(D(s)=1, Y=k | x),   δ = 1 - Σ_k l_k

        Parameters
        ----------
        arms : (2, n_kinds, n_classes) array
            P(D(s)=1, Y=k | x).
        weights : (n_kinds,) array
            Shares of the kinds.

        Examples
        --------
        >>> arms = np.array([[[0.5, 0.1]], [[0.4, 0.2]]])
        >>> harm = Contrast.of_advice(np.ones(1), np.array([0.0, 1.0]), np.zeros(2))
        >>> [round(each, 3) for each in harm.bounds(arms, np.ones(1))]
        [0.2, 0.5]
        """
        lower = arms.max(axis=0)
        slack = 1.0 - lower.sum(axis=1)
        known = np.sum(self.open * lower, axis=1) + self.seen(arms)
        ends = [float(weights @ (known + slack * end(self.open, axis=1))) for end in (np.min, np.max)]
        return ends[0], ends[1]


def arm_scores(seen: Array, arm: np.ndarray, chance: Array, predicted: Array) -> Array:
    """Augmented scores of both arms, (2, n_samples, n_classes).

    ψ_sk = m_sk(x) + 1{S=s} / P(S=s | x) · (D Y_k - m_sk(x)),   E[ψ_sk | x] = P(D(s)=1, Y=k | x)

    The chance of an arm is known or modelled, so any m gives the right mean; a good one gives it less noise.

    Parameters
    ----------
    seen : (n_samples, n_classes) array
        Indicators D Y_k.
    arm : (n_samples,) int array
    chance : (n_samples,) array
        P(S=1 | x).
    predicted : (2, n_samples, n_classes) array
        m, by models that were not fitted to the row.

    Examples
    --------
    >>> predicted = np.full((2, 1, 1), 0.3)
    >>> arm_scores(np.array([[1.0]]), np.array([1]), np.array([0.5]), predicted).round(2).tolist()
    [[[0.3]], [[1.7]]]
    """
    shares = np.stack([1.0 - chance, chance])
    inside = np.stack([arm == ALONE, arm == WITH]) / shares
    return predicted + inside[:, :, None] * (seen - predicted)
