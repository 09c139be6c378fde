"""Scores of lower bounds on event probabilities, from decision-makers that off-fold models choose."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from selective_labels.identification.event_bounds import (
    AnyFloor,
    Chord,
    Floor,
    LaminarScores,
    boxed,
    crossing,
    laminar,
    share_of,
)
from selective_labels.nuisance.score_formulas import Rows, Scores, allowed_arms

# A decision-maker's bound is used for a row only if P(assigned to and accepted by them | x) is this large.
LEAST_ACCEPTED = 0.02
# Smaller leniencies are not inverted.
LEAST_LENIENCY = 0.01
# Arms whose average bound is within this many standard errors of the best are pooled with it.
CLOSE = 1.5
# Standard errors by which one arm must exceed the pool to replace it for a row. The threshold is high because
# the arm is selected as the best of many.
LEAD = 3.0
# Smaller label variances are not credible as weights of arms.
LEAST_VARIANCE = 0.02


@dataclass(frozen=True, eq=False)
class FloorArms:
    """A lower bound from every decision-maker, predicted by models that have not seen the rows.

    Attributes
    ----------
    values, share : (n_arms, n_samples) arrays
        F_z and m_z.
    noise : (n_arms, n_samples) array
        Variance of the score of F_z if all cases had the probabilities of the row:
        { λ m (1-m) [1 + (1-λ) g'(m) / λ]² + λ (1-λ) (m - g(m))² } / e_z
    allowed : (n_arms, n_samples) bool array
        Whether the case reaches the arm, and the arm accepts it, often enough.
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
        """From P(Y in A, D=1 | x, z) and λ_z, (n_arms, n_samples), and propensity, (n_samples, n_arms)."""
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
    """Arms statistically indistinguishable from the one with the highest average bound, (n_arms,) bool.

    S_z = mean of F_z - F̄ over the rows that may go to z,   pool = {z : S_z >= S_b - 1.5 se(S_z - S_b)}

    where b is the best arm. F̄ is the row's average over the arms it can reach, which makes arms of different
    strata comparable.
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
    """Weight of each arm in the bound of each row, (n_arms, n_samples); each row's weights sum to one.

    Arms in the pool are weighted by inverse noise. One arm gets all the weight where it exceeds the pool by
    more than three standard errors. A row that cannot reach any arm of the pool uses all arms allowed for it,
    or all arms with positive propensity if none is allowed.
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


# Two decision-makers form a chord only where their off-fold leniencies differ by at least this much.
LEAST_GAP = 0.1

Pair = tuple[np.ndarray, np.ndarray]  # scores and model predictions, (n_samples,) each
Judged = tuple[np.ndarray, np.ndarray, np.ndarray]  # as Pair, and predictions net of noise for comparisons


def floor_scores(rows: Rows, floor: AnyFloor, overlap: float) -> Judged:
    """Score of a lower bound on η_A, the model's bound, and the model's bound net of noise.

    φ = F_z + 1{Z=z} / e_z · { D (Y_A - m) [1 + (1-λ) g'(m) / λ] + (m - g(m)) (D - λ) },   z off-fold

    If e is correct, E[φ | x] = F_z(x) exactly for constant g, up to γ (m - m̂)(λ/λ̂ - 1) for g = γm, and to
    second order otherwise. Any choice of z, and any average over z, gives a valid bound. To avoid selecting
    on noise, the bounds of decision-makers who are statistically indistinguishable from the best are averaged
    with weights inverse to their noise. A single decision-maker is used only where the model's bound from
    that one exceeds the average clearly (:func:`arm_weights`).

    Parameters
    ----------
    rows : Rows
    floor : Floor or Chord
    overlap : float

    Examples
    --------
    >>> joint = np.array([[[0.6, 0.2, 0.2]], [[0.2, 0.5, 0.3]]])
    >>> rows = Rows(joint, joint, np.array([0]), np.array([1]), np.array([[0.5, 0.5]]), 0.0)
    >>> informed = Floor((1,), lambda m: m, np.ones_like)
    >>> [each.round(3) for each in floor_scores(rows, informed, 0.01)]
    [array([3.]), array([0.5]), array([0.5])]
    """
    chance = rows.joint[:, :, 1:][:, :, list(floor.event)].sum(axis=2)
    leniency = 1.0 - rows.joint[:, :, 0]
    seen = np.isin(rows.y, floor.event).astype(float)
    if isinstance(floor, Chord):
        return _chord(rows, floor, chance, leniency, seen, overlap)
    if floor.averaged:
        return _over_all(rows, floor, chance, leniency, seen)
    if not floor.singled_out:
        together = _together(rows, floor, chance, leniency, seen)
        return *together, together[1]
    arms = FloorArms.of(floor, chance, leniency, rows.propensity, overlap)
    weight = arm_weights(arms, _pool(rows, floor, arms, overlap), _n_fitted(rows))
    model = (weight * arms.values).sum(axis=0)
    cases = np.arange(len(rows.y))
    step = _step(floor, arms.share[rows.arm, cases], leniency[rows.arm, cases], seen, rows.decided)
    chances = np.maximum(rows.propensity[cases, rows.arm], np.finfo(float).tiny)
    return model + weight[rows.arm, cases] / chances * step, model, model


def _pool(rows: Rows, floor: Floor, arms: FloorArms, overlap: float) -> np.ndarray:
    """Arms to pool with the best one, compared on a sample of rows if one is available."""
    if rows.probe is None:
        return floor_pool(arms, _n_fitted(rows))
    probe = rows.probe()
    chance = probe.joint[:, :, 1:][:, :, list(floor.event)].sum(axis=2)
    compared = FloorArms.of(floor, chance, 1.0 - probe.joint[:, :, 0], probe.propensity, overlap)
    pool = floor_pool(compared, _n_fitted(rows))
    return pool if probe.arms is None else pool[probe.arms]


def combined_scores(rows: Rows, base: Scores, floors: Sequence[AnyFloor], overlap: float) -> Scores:
    """Scores of lower bounds on classes, and of the slack that lower bounds on events assign to them.

    Among several bounds on one event, the one that is largest by the model is used. A bound on one class
    replaces its lower bound where it is larger by the model. A bound on several classes assigns to them the
    slack by which it exceeds their lower bounds: δ_A = (L_A - Σ_A l)^+. Bounds from pairs of decision-makers
    are used only where they exceed their noise; otherwise they would widen the bounds.

    Parameters
    ----------
    rows : Rows
    base : Scores
        Lower bounds of each class.
    floors : sequence of Floor and Chord
    overlap : float
    """
    values, plug_in = np.array(base.values), np.array(base.plug_in)
    found: dict[tuple[int, ...], Judged] = {}
    for floor in floors:
        event = tuple(sorted(floor.event))
        here = floor_scores(rows, floor, overlap)
        found[event] = here if event not in found else _larger(found[event], here)
    for (code,), pair in [(event, pair) for event, pair in found.items() if len(event) == 1]:
        own = values[:, code], plug_in[:, code], plug_in[:, code]
        values[:, code], plug_in[:, code], _ = _larger(own, pair)
    wide = {event: pair for event, pair in found.items() if len(event) > 1}
    if crossing(list(found)) and boxed(list(found), values.shape[1]):
        laminar_scores: LaminarScores | None = _ceilings(values, wide)
    else:
        laminar_scores = _laminar_bounds(values, plug_in, wide)
    return Scores(values, plug_in, base.clipped, base.bounded, base.lost, laminar_scores)


def _laminar_bounds(
    values: np.ndarray, plug_in: np.ndarray, wide: dict[tuple[int, ...], Judged]
) -> LaminarScores | None:
    events = laminar(list(wide), values.shape[1])
    if not events:
        return None
    event_slack, pots_plug_in = np.zeros((2, len(values), len(events)))
    for number, event in enumerate(events):
        inside = [place for place, each in enumerate(events[:number]) if set(each) <= set(event)]
        members = list(event)
        held = plug_in[:, members].sum(axis=1) + pots_plug_in[:, inside].sum(axis=1)
        counts = wide[event][2] > held
        score = wide[event][0] - values[:, members].sum(axis=1) - event_slack[:, inside].sum(axis=1)
        event_slack[:, number] = np.where(counts, score, 0.0)
        pots_plug_in[:, number] = np.where(counts, wide[event][1] - held, 0.0)
    return LaminarScores(events, event_slack, pots_plug_in)


def _ceilings(values: np.ndarray, wide: dict[tuple[int, ...], Judged]) -> LaminarScores:
    """Convert lower bounds on all classes but one to upper bounds on that class."""
    ceiling, ceiling_plug_in = np.ones((2, *values.shape))
    for event, (score, model, stands_out) in wide.items():
        (left,) = set(range(values.shape[1])) - set(event)
        counts = stands_out > 0.0
        ceiling[:, left] = np.where(counts, 1.0 - score, 1.0)
        ceiling_plug_in[:, left] = np.where(counts, 1.0 - model, 1.0)
    nothing = np.zeros((len(values), 0))
    return LaminarScores((), nothing, nothing, ceiling, ceiling_plug_in)


def _together(rows: Rows, floor: Floor, chance: np.ndarray, leniency: np.ndarray, seen: np.ndarray) -> Pair:
    """Score the bound with all decision-makers pooled into one."""
    mean_chance, mean_leniency = (
        np.einsum("na,an->n", rows.propensity, each)[None] for each in (chance, leniency)
    )
    share = share_of(mean_chance, mean_leniency)
    model = floor.values(mean_chance, mean_leniency)[0]
    step = _step(floor, share, mean_leniency, seen, rows.decided)[0]
    return model + step, model


def _step(
    floor: Floor, share: np.ndarray, leniency: np.ndarray, seen: np.ndarray, decided: np.ndarray
) -> np.ndarray:
    """Correction that a case adds to the model's bound from its own decision-maker."""
    safe = np.maximum(leniency, LEAST_LENIENCY)
    leverage = 1.0 + (1.0 - leniency) * floor.slope(share) / safe
    own = decided * (seen - share) * leverage
    return np.asarray(own + (share - floor.refused(share)) * (decided - leniency))


def _over_all(rows: Rows, floor: Floor, chance: np.ndarray, leniency: np.ndarray, seen: np.ndarray) -> Judged:
    """Average of the bound over decision-makers by propensity; it needs no weighting and no instrument."""
    model = np.einsum("na,an->n", rows.propensity, floor.values(chance, leniency))
    own = rows.arm, np.arange(len(rows.y))
    step = _step(floor, share_of(chance, leniency)[own], leniency[own], seen, rows.decided)
    return model + step, model, model


def _chord(
    rows: Rows, floor: Chord, chance: np.ndarray, leniency: np.ndarray, seen: np.ndarray, overlap: float
) -> Judged:
    """Bound from the pair with the largest model bound net of noise; zero if no leniencies differ enough."""
    n_fitted, decided = _n_fitted(rows), rows.decided
    least = LEAST_GAP if np.isfinite(n_fitted) else 1e-9
    allowed = allowed_arms(rows.propensity, overlap).T
    best, values, model = (np.zeros(len(rows.y)) for _ in range(3))
    for first, second in permutations(range(len(chance)), 2):
        gap = leniency[first] - leniency[second]
        apart = allowed[first] & allowed[second] & (gap >= least)
        if not apart.any():
            continue
        safe = np.where(apart, gap, 1.0)
        lenient, strict = (chance[first], leniency[first]), (chance[second], leniency[first] - safe)
        value = floor.value(lenient, strict)
        inverse = 1.0 / np.maximum(rows.propensity[:, [first, second]], overlap)
        noise = np.sqrt(inverse.sum(axis=1) / n_fitted) / safe
        lead = noise * (1.0 - leniency[first]) + np.sqrt(inverse[:, 0] / n_fitted) if floor.beyond else noise
        better = apart & (value - lead > best)
        slope = (lenient[0] - strict[0] - 2.0 * floor.radius) / safe
        steps = [
            (rows.arm == arm) * inverse[:, place] * (seen - chance[arm] - slope * (decided - leniency[arm]))
            for place, arm in enumerate((first, second))
        ]
        step = (steps[0] - steps[1]) / safe
        score = value + (steps[0] + (1.0 - leniency[first]) * step if floor.beyond else step)
        best, model = np.where(better, value - lead, best), np.where(better, value, model)
        values = np.where(better, score, values)
    return values, model, best


def _larger(one: Judged, other: Judged) -> Judged:
    """Take the larger of two bounds for each row, compared net of noise."""
    second = other[2] > one[2]
    values, model, stands_out = (np.where(second, b, a) for a, b in zip(one, other, strict=True))
    return values, model, stands_out


def _n_fitted(rows: Rows) -> float:
    """Number of rows behind the models; infinite for given probabilities, which have no noise."""
    return np.inf if np.isinf(rows.n_units) else rows.n_fitted
