"""Combine several assumptions into one whose identified set is the intersection of theirs, and score it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from selective_labels._errors import InputError
from selective_labels.assumptions.base import (
    ALGEBRA,
    DOUBTFUL,
    REFUTED,
    UNCHECKED,
    VIOLATED,
    Assumption,
    CheckVerdict,
    Findings,
    decided,
    event_codes,
    said,
)
from selective_labels.assumptions.instrument import Instrument, NoAssumption
from selective_labels.assumptions.refused import Informed, LabelRange, Population, Prevalence
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
from selective_labels.identification.prevalence import Share
from selective_labels.nuisance.score_formulas import Rows, Scores, allowed_arms


@dataclass(frozen=True)
class Combination(Assumption):
    """Assumptions that hold together.

    The identified set is the intersection of the parts' identified sets, and as sharp as they are. ``&``
    builds a combination; the order does not matter, and duplicates count once.

    Examples
    --------
    >>> both = Informed("failed") & Instrument()
    >>> both.name, both == Instrument() & Informed("failed") & Instrument()
    ('instrument & informed(failed)', True)
    >>> Instrument() & NoAssumption()
    Instrument()
    """

    parts: tuple[Assumption, ...]

    identifies_value = False

    @property
    def takes_worst_case(self) -> bool:  # type: ignore[override]
        """Whether all parts do."""
        return all(each.takes_worst_case for each in self.parts)

    @property
    def name(self) -> str:
        """Names of the parts, joined by "&"."""
        return " & ".join(each.name for each in self.parts) or NoAssumption.name

    @property
    def sentence(self) -> str:
        """Sentences of the parts."""
        return " Besides: ".join(each.sentence for each in self.parts)

    @property
    def title(self) -> str:
        """Heading on the report page."""
        return " & ".join(each.title for each in self.parts)

    @property
    def meaning(self) -> str:
        """Meanings of the parts."""
        return " ".join(each.meaning for each in self.parts)

    @property
    def formula(self) -> str:  # type: ignore[override]
        """Formulas of the parts."""
        return "; ".join(each.formula for each in self.parts)

    @property
    def refuted_by(self) -> str:  # type: ignore[override]
        """Evidence that would refute any of the parts."""
        return " Or: ".join(each.refuted_by for each in self.parts if each.refuted_by)

    @property
    def needs_decision_makers(self) -> bool:
        """Whether any part uses who decided."""
        return any(each.needs_decision_makers for each in self.parts)

    @property
    def extrapolates(self) -> bool:  # type: ignore[override]
        """Whether any part does."""
        return any(each.extrapolates for each in self.parts)

    @property
    def label_range(self) -> LabelRange | None:
        """The label range among the parts, or None."""
        return next((each for each in self.parts if isinstance(each, LabelRange)), None)

    def floors(self, classes: np.ndarray) -> tuple[AnyFloor, ...]:
        """Lower bounds of all parts.

        Without the instrument, a bound that holds for each decision-maker applies only to their average, or
        to all of them pooled where the bound allows that.
        """
        found = [floor for each in self.parts for floor in each.floors(classes)]
        if Instrument() in self.parts:
            return tuple(found)
        return tuple(
            replace(each, singled_out=False, averaged=each.singled_out and not each.pooled)
            if isinstance(each, Floor)
            else each
            for each in found
        )

    def shares(self, data: Population) -> tuple[Share, ...]:
        """Known population shares among the parts."""
        return tuple(
            share for each in self.parts if isinstance(each, Prevalence) for share in each.shares(data)
        )

    def check(self, classes: np.ndarray) -> None:
        """Raise if the bounds have no closed form with these classes, or a label is not a class."""
        if not self.has_ceilings(classes):
            laminar([each for each in self._events(classes) if len(each) > 1], len(classes))
        for part in self.parts:
            if isinstance(part, Prevalence):
                event_codes(part.label, classes, "label")

    def has_ceilings(self, classes: np.ndarray) -> bool:
        """Whether events cross and all bounds are lower or upper bounds on single classes."""
        events = self._events(classes)
        return crossing(events) and boxed(events, len(classes))

    def _events(self, classes: np.ndarray) -> list[tuple[int, ...]]:
        return [tuple(sorted(each.event)) for each in self.floors(classes)]

    def score(self, rows: Rows, overlap: float) -> Scores:
        """Scores of the instrument's or worst-case lower bounds, tightened by the other parts."""
        base = Instrument() if Instrument() in self.parts else NoAssumption()
        if rows.classes is None:
            rows = replace(rows, classes=np.arange(rows.joint.shape[2] - 1))
        assert rows.classes is not None
        scores = base.score(rows, overlap)
        floors = self.floors(rows.classes)
        return combined_scores(rows, scores, floors, overlap) if floors else scores

    def permission(self, findings: Findings, given: str) -> CheckVerdict:
        """Never allowed: refuted or doubtful by a check of it or of the instrument, else taken on trust."""
        codes = findings.codes(VIOLATED, ALGEBRA)
        if codes:
            return decided(REFUTED, False, said("the data contradict it{}.", codes))
        parts = [each.permission(findings, given) for each in self.parts if isinstance(each, Instrument)]
        if parts and not parts[0]:
            return parts[0]
        if codes := findings.rejecting(DIRECTION_LEVEL, "SL1006"):
            doubt = "more lenient decision-makers show the opposite of the stated direction{}."
            return decided(DOUBTFUL, False, said(doubt, codes))
        return decided(UNCHECKED, False, f"it would be refuted by {self.refuted_by}")


# Level of SL1006 for a doubt about a stated direction.
DIRECTION_LEVEL = 0.01
# Order of the parts in a name; users' own parts follow, then Prevalence.
ORDER = ("Instrument", "LabelRange", "Informed", "Refused", "RisingRisk", "SimilarBias", "SameRanking")


def combined(*assumptions: Assumption) -> Assumption:
    """Assume all of them.

    NoAssumption adds nothing, duplicates count once, and the order does not matter. An assumption that
    identifies a point cannot be combined with others. Neither can two label ranges or two prevalences.

    Examples
    --------
    >>> from selective_labels.assumptions.instrument import Nucem
    >>> combined().name
    'none'
    >>> combined(Nucem(), Informed("failed"))
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: 'nucem' leaves one value, so nothing can be combined with it;
    leave it or the others out.
    """
    parts = [
        part
        for each in assumptions
        for part in (each.parts if isinstance(each, Combination) else (each,))
        if part != NoAssumption()
    ]
    kept = tuple(sorted(dict.fromkeys(parts), key=_place))
    point = [each for each in kept if each.identifies_value]
    if point and len(kept) > 1:
        raise InputError(
            f"{point[0].name!r} leaves one value, so nothing can be combined with it; leave it or the others "
            "out.",
            "assumption",
        )
    for kind, words in ((LabelRange, "ranges of labels"), (Prevalence, "prevalences")):
        if sum(isinstance(each, kind) for each in kept) > 1:
            raise InputError(f"two {words} cannot be combined; state one of them.", "assumption")
    if not kept:
        return NoAssumption()
    return kept[0] if len(kept) == 1 else Combination(kept)


def whole(assumption: Assumption) -> Assumption:
    """Wrap a part so that it can be evaluated; raise if it needs the instrument and lacks it."""
    from selective_labels.assumptions.base import Part

    if not isinstance(assumption, Part | Combination):
        return assumption
    found = assumption if isinstance(assumption, Combination) else Combination((assumption,))
    if Instrument() in found.parts:
        return found
    alone = [each for each in found.parts if each.needs_decision_makers or _one_by_one(each)]
    if alone:
        more = " (or given='features')" if isinstance(alone[0], Informed) else ""
        raise InputError(
            f"{alone[0].name!r} compares decision-makers, so it needs the instrument: write "
            f"Instrument() & {type(alone[0]).__name__}(...){more}.",
            "assumption",
        )
    return found


def _one_by_one(part: Assumption) -> bool:
    return isinstance(part, Informed) and part.given == "decision_maker"


def _place(part: Assumption) -> tuple[int, str]:
    kind = type(part).__name__
    last = len(ORDER) + (kind == "Prevalence")
    return (ORDER.index(kind) if kind in ORDER else last), part.name


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
        often = np.maximum(propensity.T, 1e-100)  # an arm that is out of reach is not allowed below
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
    floor : Floor or Chord

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
    base : Scores
        Lower bounds of each class.
    floors : sequence of Floor and Chord
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
