"""SL1001 to SL1006: whether the data contradict a combination of assumptions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from selective_labels.assumptions.base import (
    ALGEBRA,
    OK,
    VIOLATED,
    WARNING,
    Assumption,
    event_codes,
    event_words,
)
from selective_labels.assumptions.combination import Combination
from selective_labels.assumptions.parse import named
from selective_labels.assumptions.refused import Informed, Refused, RisingRisk, SameRanking
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.hypothesis_tests import mean_above_zero
from selective_labels.diagnostics.results import Check, CheckResult, Finding, status_of_test
from selective_labels.identification.bounds import allocate_slack
from selective_labels.identification.event_bounds import share_of
from selective_labels.identification.prevalence import Share
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.score_formulas import Rows, Scores, allowed_arms, seen_labels
from selective_labels.nuisance.scores import cross_fit_scores

# Off-fold leniencies that differ by less than this have no reliable order.
LEAST_GAP = 0.1
# Smaller shortfalls are rounding errors, for example where a lower and an upper bound coincide.
ROUNDING = 1e-9
# Warn if more than this share of rows needs a larger ratio than the one stated, by the models.
SOME = 0.05


def algebra_results(
    context: Context, data: SelectiveLabels, assumptions: Sequence[str | Assumption]
) -> list[CheckResult]:
    """Check combinations of assumptions; single assumptions have their own checks.

    Parameters
    ----------
    data : SelectiveLabels
        With the features as the user gave them, because a prevalence may name a column.
    assumptions : sequence of names and objects
    """
    found = []
    for each in map(named, assumptions):
        if isinstance(each, Combination):
            each.check(data.classes)
            found += [check(context) for check in _checks(each, each.shares(data))]
    return found


def stated_parts(assumption: Combination) -> list[Any]:
    """The parts, and what assumptions of a user's own hold in their fields.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> own = SimpleNamespace(inner=Refused("failed", at_most=2.0))
    >>> [type(each).__name__ for each in stated_parts(Combination((SameRanking(), own)))]
    ['SameRanking', 'SimpleNamespace', 'Refused']
    """
    return [
        each
        for part in assumption.parts
        for each in (part, *(held for held in vars(part).values() if isinstance(held, Assumption)))
    ]


def _checks(assumption: Combination, shares: Sequence[Share]) -> list[Check]:
    def check(code: str, name: str, find: Callable[[Context], Finding]) -> Check:
        return Check(code, f"{name} ({assumption.name})", ALGEBRA, find)

    checks = [check("SL1001", "room", lambda context: _room(context, assumption))]
    for share in shares:
        checks.append(check("SL1002", "prevalence", partial(_share, assumption=assumption, share=share)))
    parts = stated_parts(assumption)
    if any(isinstance(each, SameRanking | RisingRisk) for each in parts):
        checks.append(check("SL1003", "one order", partial(_order, adverse=None)))
    for part in parts:
        if isinstance(part, RisingRisk):
            checks.append(check("SL1004", "rising risk", partial(_order, adverse=part.adverse)))
        if isinstance(part, Refused) and part.at_most is not None and part.scale == "ratio":
            checks.append(check("SL1005", "least ratio", partial(_least, assumption=assumption, part=part)))
        if isinstance(part, Informed | Refused) and says_worse(part):
            checks.append(check("SL1006", "direction", partial(_direction, adverse=part.adverse)))
    return checks


def _scores(context: Context, assumption: Combination) -> Scores:
    return cross_fit_scores(context.fit, context.model_data, [assumption])[assumption.name]


def _above_zero(
    context: Context, values: np.ndarray, rows: np.ndarray | None = None, error: float = 0.0
) -> tuple[float, float]:
    """Statistic and p-value of the null "the weighted mean is at most zero", clustered by group."""
    data = context.model_data
    kept = np.ones(len(data), dtype=bool) if rows is None else rows
    units = None if data.groups is None else data.groups[kept]
    return mean_above_zero(values, data.weights[kept], units, error)


def _event_slack(scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    if scores.laminar_scores is None:
        nothing = np.zeros((len(scores.values), 0))
        return nothing, nothing
    return scores.laminar_scores.values, scores.laminar_scores.plug_in


def _shortfalls(scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    """Violations of each restriction, as scores and by the model, (n_samples, n_restrictions).

    Lower bounds that sum to more than one, upper bounds that sum to less than one, and lower bounds above
    their upper bounds.
    """
    values, plug_in = _event_slack(scores)
    columns = [
        [lower.sum(axis=1) + event_slack.sum(axis=1) - 1.0]
        for lower, event_slack in ((scores.values, values), (scores.plug_in, plug_in))
    ]
    laminar_scores = scores.laminar_scores
    if (
        laminar_scores is not None
        and laminar_scores.ceiling is not None
        and laminar_scores.ceiling_plug_in is not None
    ):
        ceilings = laminar_scores.ceiling, laminar_scores.ceiling_plug_in
        for column, lower, ceiling in zip(columns, (scores.values, scores.plug_in), ceilings, strict=True):
            column += [1.0 - ceiling.sum(axis=1), *(lower - ceiling).T]
    found, model = (np.stack(column, axis=1) for column in columns)
    return found, model


def _room(context: Context, assumption: Combination) -> Finding:
    """Test the shortfall of the rows whose identified set is empty by the model."""
    found, model = _shortfalls(_scores(context, assumption))
    worst = model.argmax(axis=1)[:, None]
    empty = np.take_along_axis(model, worst, axis=1)[:, 0] > ROUNDING
    missing = empty * np.take_along_axis(found, worst, axis=1)[:, 0]
    statistic, p_value = _above_zero(context, missing)
    status, share = (
        status_of_test(p_value, context.level),
        float(np.average(empty, weights=context.model_data.weights)),
    )
    if status == VIOLATED:
        return Finding(
            status,
            f"For {share:.0%} of cases no class probabilities satisfy these assumptions, by more than "
            "sampling error: they contradict the data.",
            statistic,
            p_value,
            "Do not use them together.",
        )
    return Finding(
        status,
        f"By the models, no class probabilities satisfy them for {share:.0%} of cases; noise explains it. "
        "Only large contradictions would be found.",
        statistic,
        p_value,
    )


def _share(context: Context, assumption: Combination, share: Share) -> Finding:
    """Test E[L_A] <= high and E[U_A] >= low, each one-sided at half the level."""
    scores = _scores(context, assumption)
    events = () if scores.laminar_scores is None else scores.laminar_scores.events
    values, _ = _event_slack(scores)
    free = 1.0 - scores.values.sum(axis=1) - values.sum(axis=1)
    rows = share.rows[context.model_rows]
    weights = context.model_data.weights[rows]
    found = []
    for sign, limit in ((-1.0, share.high), (1.0, share.low)):
        gain = np.broadcast_to(sign * share.members, scores.values.shape)
        reach = allocate_slack(scores.values, free, gain, events, values)[rows] @ share.members
        tested = _above_zero(context, -sign * (reach - limit), rows, share.error)
        found.append((*tested, float(np.average(reach, weights=weights))))
    statistic = max(each for each, _, _ in found)
    p_value = min(2.0 * min(each for _, each, _ in found), 1.0)
    status = status_of_test(p_value, context.level)
    stated = f"{share.low:.3g}" if share.low == share.high else f"{share.low:.3g} to {share.high:.3g}"
    between = f"what else is assumed leaves {found[0][2]:.3f} to {found[1][2]:.3f}"
    if status == VIOLATED:
        return Finding(
            status,
            f"The share is stated as {stated}, and {between}, by more than sampling error.",
            statistic,
            p_value,
            "One of them is wrong: the share, what is said to be adverse, or the instrument.",
        )
    return Finding(status, f"The share is stated as {stated}; {between}.", statistic, p_value)


@dataclass(frozen=True)
class _Against:
    """Scores of violations of monotonicity, by row and class.

    Without `event`: p_kz - p_kz' for z stricter than z'. With `event`: m_Az - m_Az', the difference in the
    share of the event among accepted cases, which is not positive under rising risk. z and z' are the pair
    with the largest difference by an off-fold model. Rows without such a pair count as zero.
    """

    event: tuple[int, ...] | None = None
    name = "against"
    needs_halves = False
    needs_decision_makers = True

    def score(self, rows: Rows, overlap: float) -> Scores:
        """Largest difference that contradicts the order."""
        n_classes = rows.joint.shape[2] - 1
        leniency, decided = 1.0 - rows.joint[:, :, 0], (rows.y >= 0)[:, None]
        chance, seen = rows.joint[:, :, 1:], seen_labels(rows.y, n_classes)
        if self.event is not None:
            members = list(self.event)
            total = share_of(chance[:, :, members].sum(axis=2), leniency)[:, :, None]
            residual = decided * (seen[:, members].sum(axis=1, keepdims=True) - total)
            chance, residual = total, residual / np.maximum(leniency, LEAST_GAP)[:, :, None]
        else:
            residual = seen - chance
        values, plug_in = np.zeros((2, len(rows.y), n_classes))
        allowed = allowed_arms(rows.propensity, overlap).T
        for strict, lenient in permutations(range(len(chance)), 2):
            apart = allowed[strict] & allowed[lenient] & (leniency[lenient] - leniency[strict] >= LEAST_GAP)
            model = chance[strict] - chance[lenient]
            width = model.shape[1]
            better = apart[:, None] & (model > plug_in[:, :width])
            score = model.copy()
            for sign, arm in ((1.0, strict), (-1.0, lenient)):
                weight = (rows.arm == arm) / np.maximum(rows.propensity[:, arm], overlap)
                score += sign * weight[:, None] * residual[arm]
            values[:, :width] = np.where(better, score, values[:, :width])
            plug_in[:, :width] = np.where(better, model, plug_in[:, :width])
        return Scores(values, plug_in, np.zeros(len(rows.y), dtype=bool))


def _order(context: Context, adverse: object) -> Finding:
    context.need_outcomes()
    data = context.model_data
    event = None if adverse is None else event_codes(adverse, data.classes)
    scores = cross_fit_scores(context.fit, data, [_Against(event)])["against"]
    columns = scores.values.T if event is None else scores.values.T[:1]
    tests = [_above_zero(context, column) for column in columns]
    statistic, p_value = min(tests, key=lambda each: each[1])
    p_value = min(p_value * len(tests), 1.0)  # Bonferroni over classes
    status = status_of_test(p_value, context.level)
    what = (
        "a stricter decision-maker shows a class more often than a more lenient one"
        if event is None
        else "those whom a stricter decision-maker accepts are adverse more often"
    )
    if status == VIOLATED:
        return Finding(
            status,
            f"For some cases {what}, by more than sampling error.",
            statistic,
            p_value,
            "Do not assume it.",
        )
    return Finding(status, f"It is not found that {what}.", statistic, p_value)


@dataclass(frozen=True)
class _LeastRatio:
    """γ_min(x) = max_z (M_A / m_Az - λ_z) / (1 - λ_z), with M_A the model's lower bound on the event."""

    event: tuple[int, ...]
    assumption: Combination
    name = "least"
    needs_halves = False
    needs_decision_makers = True

    def score(self, rows: Rows, overlap: float) -> Scores:
        """The ratio by the model, repeated in every column."""
        known = self.assumption.score(rows, overlap)
        floor = known.plug_in[:, list(self.event)].sum(axis=1)
        if known.laminar_scores is not None:
            for event, amount in zip(
                known.laminar_scores.events, known.laminar_scores.plug_in.T, strict=True
            ):
                floor = floor + amount * (set(event) <= set(self.event))
        leniency = 1.0 - rows.joint[:, :, 0]
        share = share_of(rows.joint[:, :, 1:][:, :, list(self.event)].sum(axis=2), leniency)
        refused = np.maximum(1.0 - leniency, LEAST_GAP)
        ratio = (floor / np.maximum(share, 1e-3) - leniency) / refused
        ratio = np.where((leniency >= LEAST_GAP) & (leniency <= 1.0 - LEAST_GAP), ratio, 0.0).max(axis=0)
        wide = np.repeat(ratio[:, None], rows.joint.shape[2] - 1, axis=1)
        return Scores(wide, wide, np.zeros(len(rows.y), dtype=bool))


def _least(context: Context, assumption: Combination, part: Refused) -> Finding:
    data = context.model_data
    event = event_codes(part.adverse, data.classes)
    ratio = cross_fit_scores(context.fit, data, [_LeastRatio(event, assumption)])["least"].values[:, 0]
    assert part.at_most is not None
    above = float(np.average(ratio > part.at_most + 1e-9, weights=data.weights))
    middle, high = np.quantile(ratio, [0.5, 0.95])
    words = (
        f"By the models, the data need a ratio of {middle:.2f} at least for half of the cases and {high:.2f} "
        f"for one in twenty; {part.at_most:g} is stated, which is too little for {above:.0%}."
    )
    advice = "State a larger ratio." if above > SOME else ""
    return Finding(WARNING if above > SOME else OK, words, float(high), None, advice)


@dataclass(frozen=True)
class _AlongLeniency:
    """Score of the covariance of leniency and the event A among comparable accepted cases.

    s = D (λ_Z - λ̄_D) (1{Y in A} - m_A),   λ̄_D = Σ_z e_z λ_z² / Σ_z e_z λ_z,   m_A = Σ_z e_z p_Az / Σ e_z λ_z

    Since Σ_z e_z λ_z (λ_z - λ̄_D) = 0, errors of m_A do not matter to first order. The mean is zero where the
    share of A among comparable accepted cases does not depend on who decided.
    """

    event: tuple[int, ...]
    name = "along leniency"
    needs_halves = False
    needs_decision_makers = True

    def score(self, rows: Rows, overlap: float) -> Scores:
        """The score in the first column, zero in the others."""
        leniency, chance = 1.0 - rows.joint[:, :, 0].T, rows.propensity * (1.0 - rows.joint[:, :, 0].T)
        accepted = np.maximum(chance.sum(axis=1), overlap)
        own = leniency[np.arange(len(rows.y)), rows.arm] - np.sum(chance * leniency, axis=1) / accepted
        members = rows.joint[:, :, 1:][:, :, list(self.event)].sum(axis=2).T
        residual = np.isin(rows.y, self.event) - np.sum(rows.propensity * members, axis=1) / accepted
        values = np.zeros((len(rows.y), rows.joint.shape[2] - 1))
        values[:, 0] = (rows.y >= 0) * own * residual
        return Scores(values, values, np.zeros(len(rows.y), dtype=bool))


def says_worse(part: Informed | Refused) -> bool:
    """Whether an assumption says that refused cases have the event at least as often as accepted ones."""
    if isinstance(part, Refused):
        return part.scale != "share" and part.at_least is not None and part.at_least >= 1.0
    return True


def _falls_with_leniency(fit: CrossFit, data: SelectiveLabels, event: tuple[int, ...]) -> tuple[float, float]:
    """Statistic and p-value of the null "accepted cases do not have the event less often with leniency"."""
    scores = cross_fit_scores(fit, data, [_AlongLeniency(event)])["along leniency"]
    return mean_above_zero(-scores.values[:, 0], data.weights, data.groups)


def _direction(context: Context, adverse: object) -> Finding:
    context.need_outcomes()
    event = event_codes(adverse, context.model_data.classes)
    statistic, p_value = _falls_with_leniency(context.fit, context.model_data, event)
    what = event_words(adverse)
    if p_value > context.level:
        return Finding(
            OK,
            f"More lenient decision-makers are not found to have {what} less often among cases they accept.",
            statistic,
            p_value,
        )
    return Finding(
        WARNING,
        f"More lenient decision-makers have {what} less often among the comparable cases that they accept, "
        f"as if the cases that stricter ones refuse had {what} less often, not more.",
        statistic,
        p_value,
        "Ask whether the direction is right. It can be, if stricter decision-makers judge cases less well.",
    )


def direction_p_value(adverse: object, data: SelectiveLabels, fit: CrossFit) -> float:
    """P-value of SL1006 from fitted models; 1 where pending outcomes are taken at their worst."""
    if data.worst_case:
        return 1.0
    return _falls_with_leniency(fit, data, event_codes(adverse, data.classes))[1]


def direction_doubt(part: Informed | Refused) -> str:
    """Sentence on a direction that SL1006 speaks against."""
    what = event_words(part.adverse)
    return (
        f"The direction of {part.name!r} is doubtful (SL1006): more lenient decision-makers have {what} less "
        f"often among comparable cases that they accept, as if the refused had {what} less often than the "
        "accepted, not more."
    )
