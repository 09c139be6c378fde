"""By which decision-makers a floor is put under an event: those that show it best, beyond noise."""

from dataclasses import dataclass

import numpy as np

from selective_labels.identification.atoms import Floor, share_of
from selective_labels.nuisance.score_formulas import allowed_arms

# One decision-maker stands for others only where so large a share of cases is accepted by that one.
LEAST_ACCEPTED = 0.02
# No leniency below it is inverted.
LEAST_LENIENCY = 0.01
# Standard errors of a difference within which an arm cannot be told from the best, on the whole.
CLOSE = 1.5
# Standard errors by which an arm must lead the pool in one place: it is the best of many arms there.
LEAD = 3.0
# Variance of a label below which it is not believed to be, to weight arms by.
LEAST_VARIANCE = 0.02


@dataclass(frozen=True, eq=False)
class FloorArms:
    """One floor by every decision-maker, as a model that has not seen the rows has it.

    Attributes
    ----------
    values, share : (n_arms, n_samples) arrays
        F_z and m_z.
    noise : (n_arms, n_samples) array
        Variance of the score of F_z if all cases went by the chances of the row:
        { λ m (1-m) [1 + (1-λ) g'(m) / λ]² + λ (1-λ) (m - g(m))² } / e_z
    allowed : (n_arms, n_samples) bool array
        Where the case goes to the arm, and is accepted by it, often enough.
    propensity : (n_arms, n_samples) array
    """

    values: np.ndarray
    share: np.ndarray
    noise: np.ndarray
    allowed: np.ndarray
    propensity: np.ndarray

    @classmethod
    def of(
        cls, floor: Floor, chance: np.ndarray, leniency: np.ndarray, propensity: np.ndarray, overlap: float
    ) -> "FloorArms":
        """From P(Y in A, D=1 | x, z) and λ_z by arm and row, and chances of arms by row and arm."""
        share, safe = share_of(chance, leniency), np.maximum(leniency, LEAST_LENIENCY)
        leverage = 1.0 + (1.0 - leniency) * floor.slope(share) / safe
        label = np.maximum(share * (1.0 - share), LEAST_VARIANCE)
        decided = leniency * (1.0 - leniency) * (share - floor.refused(share)) ** 2
        often = np.maximum(propensity.T, np.finfo(float).tiny)
        noise = (safe * label * leverage**2 + decided) / often
        allowed = allowed_arms(propensity, overlap).T & (leniency >= LEAST_LENIENCY)
        allowed &= propensity.T * leniency >= LEAST_ACCEPTED
        return cls(floor.values(chance, leniency), share, noise, allowed, propensity.T)


def floor_pool(arms: FloorArms, n_fitted: float) -> np.ndarray:
    """Arms that cannot be told from the one with the highest floor on average, (n_arms,) of bool.

    S_z = mean of F_z - F̄ over the rows that may go to z,   pool = {z : S_z >= S_b - 1.5 se(S_z - S_b)}

    with b the best. F̄ is the average of a row over the arms that it may go to: arms of different strata
    compare.
    """
    weight = arms.propensity * arms.allowed
    mean = (weight * arms.values).sum(axis=0) / np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
    number = arms.allowed.sum(axis=1)
    seen = number > 0
    if not seen.any():
        return np.ones(len(number), dtype=bool)
    rows = np.maximum(number, 1)
    surplus = np.where(seen, ((arms.values - mean) * arms.allowed).sum(axis=1) / rows, -np.inf)
    reached = rows / arms.allowed.shape[1]
    noise = np.where(arms.allowed, arms.noise, 0.0).sum(axis=1) / rows / (reached * n_fitted)
    best = int(surplus.argmax())
    return np.asarray(surplus >= surplus[best] - CLOSE * np.sqrt(noise + noise[best]))


def arm_weights(arms: FloorArms, pool: np.ndarray, n_fitted: float) -> np.ndarray:
    """Weight of each arm in the floor of each row, (n_arms, n_samples), summing to one.

    The pool with weights inverse to the noise; one arm alone where it leads by more than three standard
    errors. A row that may go to no arm of the pool is judged by all that it may go to, or by all there are.
    """
    inside = arms.allowed & pool[:, None]
    inside = np.where(inside.any(axis=0), inside, arms.allowed)
    inside = np.where(inside.any(axis=0), inside, arms.propensity > 0.0)
    precision = inside / arms.noise
    total = precision.sum(axis=0)
    weight = precision / total
    pooled = (weight * arms.values).sum(axis=0)
    lead = LEAD * np.sqrt((arms.noise + 1.0 / total) / n_fitted)
    ahead = np.where(arms.allowed, arms.values - lead, -np.inf)
    alone = ahead.max(axis=0) > pooled
    single = np.arange(len(pool))[:, None] == ahead.argmax(axis=0)
    return np.where(alone, single, weight)
