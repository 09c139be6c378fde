"""What arms are chosen by, without the labels of the rows to be scored."""

from dataclasses import dataclass

import numpy as np

# Standard errors of a difference within which an arm cannot be told from the best.
CLOSE = 1.5
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class ArmShares:
    """How often each arm shows each class, beyond what its cases lead one to expect.

    Attributes
    ----------
    values, variances : (n_arms, n_classes) arrays
        Shrunken, and how uncertain that leaves them.
    rows : (n_arms,) array
        How many rows they come from.
    """

    values: np.ndarray
    variances: np.ndarray
    rows: np.ndarray

    def near_best(self, within: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of each of several sets of arms, those that cannot be told from its best, class by class.

        Parameters
        ----------
        within : (n_sets, n_arms) bool array

        Returns
        -------
        (n_sets, n_arms, n_classes) bool array
        (n_sets,) array
            What is lost against the best arm of each class alone, summed over classes.

        Examples
        --------
        >>> arms = ArmShares(np.array([[0.3], [0.1], [0.0]]), np.full((3, 1), 1e-4), np.ones(3))
        >>> members, lost = arms.near_best(np.array([[True, True, True], [False, True, True]]))
        >>> members[:, :, 0].tolist()
        [[True, False, False], [False, True, False]]
        """
        seen = (within & (self.rows > 0.0))[:, :, None]
        best = np.where(seen, self.values, -np.inf).argmax(axis=1)[:, None]
        value, variance = (
            np.take_along_axis(np.broadcast_to(each, (len(within), *each.shape)), best, axis=1)
            for each in (self.values, self.variances)
        )
        members = seen & (self.values >= value - CLOSE * np.sqrt(self.variances + variance) - ROUNDING)
        rows = members * self.rows[:, None]
        pooled = (rows * self.values).sum(axis=1) / np.maximum(rows.sum(axis=1), 1.0)
        # No average is above the best of it, but for rounding.
        lost = np.maximum(value[:, 0] - pooled, 0.0).sum(axis=1)
        return members, np.where(seen.any(axis=(1, 2)), lost, 0.0)


@dataclass(frozen=True, eq=False)
class Pools:
    """Arms that bound each class.

    Attributes
    ----------
    members : (n_arms, n_classes) bool array
    lost : float
        By how much bounds are wider than with the best arm of each class alone, as estimated from the arms'
        shrunken shares: what is given up for a selector that does not follow noise.
    arms : ArmShares or None
        What the members were chosen by.
    """

    members: np.ndarray
    lost: float
    arms: ArmShares | None = None

    def of_rows(self, propensity: np.ndarray, overlap: float) -> tuple[np.ndarray, np.ndarray]:
        """Members for each row, (n_samples, n_arms, n_classes), and what is lost by them, (n_samples,).

        Those of the pool; where a case hardly ever goes to any of them (of another stratum, say), those near
        the best of the arms that it does go to.

        Parameters
        ----------
        propensity : (n_samples, n_arms) array
        overlap : float

        Examples
        --------
        >>> arms = ArmShares(np.array([[0.3], [0.1], [0.0]]), np.full((3, 1), 1e-4), np.ones(3))
        >>> pools = Pools(np.array([[True], [False], [False]]), 0.0, arms)
        >>> pools.of_rows(np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]), 0.01)[0][:, :, 0].tolist()
        [[True, False, False], [False, True, False]]
        """
        n_samples = len(propensity)
        members = np.broadcast_to(self.members, (n_samples, *self.members.shape))
        lost = np.full(n_samples, self.lost)
        reached = propensity @ self.members >= overlap
        if self.arms is None or reached.all():
            return members, lost
        sets, place = np.unique(propensity >= overlap, axis=0, return_inverse=True)
        others, others_lost = self.arms.near_best(sets)
        lost = np.where(reached.all(axis=1), lost, others_lost[place])
        return np.where(reached[:, None, :], members, others[place]), lost


@dataclass(frozen=True, eq=False)
class Probe:
    """Some rows as a model that has not seen them predicts them: to compare arms on the whole.

    Attributes
    ----------
    joint : (n_arms, n_samples, n_classes + 1) array
    propensity : (n_samples, n_arms) array
    """

    joint: np.ndarray
    propensity: np.ndarray
