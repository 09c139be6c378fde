"""Sections of a report that vary one thing: acceptance rate, team, period, assumption, sensitivity, subgroup.

It also has the outlook on more data and the comparison with common methods for refused cases.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from selective_labels._errors import InputError
from selective_labels._parallel import with_progress
from selective_labels._vocabulary import INSPECT
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.combination import Combination
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.estimators.heckman import BivariateProbitClassifier, HeckmanClassifier
from selective_labels.estimators.reject_inference import (
    FuzzyAugmentationClassifier,
    ParcellingClassifier,
    ReweightingClassifier,
)
from selective_labels.estimators.selected_sample import SelectedSampleClassifier
from selective_labels.evaluation.compare import compare_sample, paired_difference, policy_difference
from selective_labels.evaluation.display import ENDS
from selective_labels.evaluation.drift import drift_of_judged
from selective_labels.evaluation.evaluate import evaluate_sample
from selective_labels.evaluation.evaluator import Evaluator
from selective_labels.evaluation.fitted_table import JudgedRows
from selective_labels.evaluation.ladder import Ladder, LadderStep, build, without_value
from selective_labels.evaluation.metrics import AnyMetric, named_metrics
from selective_labels.evaluation.plan import plan
from selective_labels.evaluation.policy import (
    ACCEPTANCE,
    BOTH,
    COST,
    EITHER,
    MEASURES_OF,
    Policy,
    PolicyActions,
    PolicyMeasure,
    PolicySample,
    otherwise,
    people_act_otherwise,
    read_policy_actions,
    read_policy_measures,
)
from selective_labels.evaluation.policy_curve import PolicyCurve, policy_curve_of
from selective_labels.evaluation.policy_value import PolicyValue
from selective_labels.evaluation.predictions import ArrayPredictions
from selective_labels.evaluation.results import Estimated, Evaluation, judged, plain
from selective_labels.evaluation.scored_rows import ScoredSample
from selective_labels.evaluation.sensitivity import SensitivityCurve
from selective_labels.report.cases import Cases, Column, binned
from selective_labels.report.document import Part, amount, percent_range
from selective_labels.report.rules import ReportedRule, predicted_halves, subject_of, undefined

# Acceptance rates from 5 % to 100 %; the present rate is added.
N_RATES = 20
NEAR = 0.01
STEP = 0.1


def acceptance_part(
    sample: ScoredSample,
    rules: Sequence[ReportedRule],
    event: int,
    assumption: str,
    cost: Any = None,
) -> Part:
    """Evaluate rules that accept the lowest scores at all acceptance rates, and mark the present decisions.

    With two classes and a cost matrix, the mean cost per case is among the measures.
    """
    data = sample.data
    scored = {each.key: each.scores for each in rules if each.scores is not None}
    if not scored:
        raise InputError(
            "Only predicted classes are known; an acceptance rate needs a score or a probability.",
            "predictions",
        )
    money = None if len(data.classes) != 2 else cost
    present = float(np.average(data.row_decision, weights=sample.weights))
    rates = stops(present)
    names = MEASURES_OF[data.decision_means]
    plain_ones = (names.rate, names.main, names.lost)
    measures = plain_ones if money is None else (*plain_ones, COST)
    curves = {
        key: policy_curve_of(
            PolicySample(sample, event), as_risk(scores, data.classes), assumption, rates, cost=money
        )
        for key, scores in scored.items()
    }
    first = next(iter(curves.values()))
    return Part(
        {
            "assumption": assumption,
            "present": present,
            "human": {name: ends(first.human[name]) for name in measures},
            "models": [_of_model(key, curve, present, measures) for key, curve in curves.items()],
        }
    )


def stops(present: float) -> np.ndarray:
    """Acceptance rates to evaluate, including the present one.

    Examples
    --------
    >>> stops(0.5).round(2)[:3], 0.503 in stops(0.503), 0.5 in stops(0.503)
    (array([0.05, 0.1 , 0.15]), True, False)
    """
    others = np.linspace(0.0, 1.0, N_RATES + 1)[1:]
    return np.union1d(others[np.abs(others - present) > NEAR], present)


def as_risk(scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Shift scores that could be mistaken for predicted classes; their order is unchanged.

    Examples
    --------
    >>> as_risk(np.array([0.0, 1.0]), np.array([0, 1]))
    array([0.5, 1.5])
    """
    return scores + 0.5 if np.isin(scores, classes).all() else scores


def ends(result: Estimated) -> dict[str, Any]:
    """Bounds and confidence interval as JSON-serializable values."""
    return {end: plain(getattr(result, end)) for end in ENDS}


def _of_model(key: str, curve: PolicyCurve, present: float, measures: Sequence[str]) -> dict[str, Any]:
    points = [
        {"rate": float(rate)} | {name: ends(curve.evaluations[name][place]) for name in measures}
        for place, rate in enumerate(curve.rates)
    ]
    return {
        "key": key,
        "start": int(np.argmin(np.abs(curve.rates - present))),
        "points": points,
        # The difference in the main measure from the present decisions, at the present acceptance rate.
        "against_human": ends(curve.against_human()) if 0.0 < present < 1.0 else None,
        "step": _step(curve, present),
        "cut_off": _cut_off(curve),
    }


def _step(curve: PolicyCurve, present: float) -> dict[str, Any] | None:
    if not 0.0 < present <= 1.0 - STEP:
        return None
    return {"more": STEP} | ends(curve.difference(present, present + STEP, curve.names.seen))


def _cut_off(curve: PolicyCurve) -> dict[str, Any] | None:
    """With costs, the acceptance rate with the smallest worst-case regret and those that could be optimal.

    The regret is quoted as an upper limit that holds although the rate was chosen.
    """
    found = curve.cut_offs
    if found is None:
        return None
    safest, open_ones = found.minimax_regret, found.acceptance[found.could_be_best]
    share = float(found.acceptance[safest])
    return {
        "accept": share,
        "threshold": float(found.thresholds[safest]),
        "does": found.constant(safest),
        "against_human": ends(curve.difference("human", share, COST)),
        "worst_regret": float(found.worst_regret_upper[safest]),
        "could_be_best": [float(open_ones.min()), float(open_ones.max())],
    }


ALONE, DEFERRED = "score", "undecided"


def team_part(
    sample: ScoredSample,
    rule: ReportedRule,
    decided: np.ndarray | None,
    event: int,
    assumption: str,
    cost: Any,
) -> Part:
    """Evaluate combinations of decision-makers and a score, each against the decision-makers alone.

    The score's cut-off is set so that it accepts as many cases as the decision-makers did.

    Parameters
    ----------
    rule : ReportedRule
        With scores.
    decided : (n_samples,) bool array or None
        Cases for which one prediction is optimal whatever the missing labels are. The others may be left to
        the decision-makers.
    cost : matrix or None
    """
    data = sample.data
    if rule.scores is None:
        raise InputError("Only predicted classes are known; a team needs a score.", "predictions")
    if data.labeled.all():
        raise InputError("Every case was accepted: there is nothing that a score could change.", "decision")
    money = None if len(data.classes) != 2 else cost
    names = MEASURES_OF[data.decision_means]
    found = read_policy_measures(None, data.classes, event, money, data.decision_means)
    policy_measures = {each.name: each for each in found}
    usual = names.main if data.decision_means == INSPECT else names.rate
    main = policy_measures[usual if money is None else COST]
    risk = as_risk(rule.scores, data.classes)
    human = PolicyActions.human(len(data))
    ways = {"human": human}
    policies: dict[str, Any] = {ALONE: None, BOTH: BOTH, EITHER: EITHER}
    if decided is not None and 0 < decided.sum() < len(decided):
        policies[DEFERRED] = 1.0 - decided.astype(float)
    for name, team in policies.items():
        ways[name] = read_policy_actions(Policy(risk, with_human=team), data, event)
    shown = [
        policy_measures[name]
        for name in (ACCEPTANCE, names.rate, names.main, COST)
        if name in policy_measures
    ]
    return Part(
        {
            "model": rule.key,
            "assumption": assumption,
            "measure": main.name,
            "deferred_share": None
            if decided is None
            else float(np.average(~decided, weights=sample.weights)),
            "ways": [
                _way(sample, name, actions, shown, assumption)
                | (
                    {"difference": None}
                    if actions is human
                    else _against(sample, actions, human, main, assumption)
                )
                for name, actions in ways.items()
            ],
        }
    )


def reversed_part(sample: ScoredSample, rules: Sequence[ReportedRule], event: int) -> Part | None:
    """Explain why there is no table about teams if decision-makers act on the other end of a score."""
    data = sample.data
    for rule in rules:
        risk = (rule.codes == event).astype(float) if rule.scores is None else rule.scores
        if people_act_otherwise(risk, data):
            sentence = (
                f"What people and score are worth together is not shown. {otherwise(data)}: else costs of "
                f"people are the wrong way round (“{rule.name}”)."
            )
            return Part({"missing": sentence, "reversed": True})
    return None


def _way(
    sample: ScoredSample,
    name: str,
    actions: PolicyActions,
    policy_measures: list[PolicyMeasure],
    assumption: str,
) -> dict[str, Any]:
    values = {}
    for policy_measure in policy_measures:
        functional = PolicyValue.of(policy_measure, sample.data, (1.0, actions))
        values[policy_measure.name] = ends(
            judged(sample, functional, policy_measure.name, assumption, functional.limits)
        )
    return {"way": name, "values": values}


def _against(
    sample: ScoredSample,
    actions: PolicyActions,
    human: PolicyActions,
    policy_measure: PolicyMeasure,
    assumption: str,
) -> dict[str, Any]:
    """Difference from the decision-makers alone, and which is better if the interval excludes zero."""
    found = compare_sample(
        sample, policy_difference(PolicySample(sample, 0), actions, human, policy_measure), assumption
    )
    return {
        "difference": ends(found) | {"verdict": {"a": "team", "b": "human"}.get(found.verdict, "undecided")}
    }


def drift_part(
    sample: ScoredSample,
    rule: ReportedRule,
    metrics: Sequence[AnyMetric],
    event: int,
    assumption: str,
    periods: np.ndarray,
) -> Part:
    """Evaluate one rule in every period."""
    classes = sample.data.classes
    subject = subject_of(rule, metrics[0], classes)
    cells = {label: periods == label for label in np.unique(periods).tolist()}
    judged_rows = JudgedRows(sample, (subject,), metrics[:1], cells)
    found = drift_of_judged(judged_rows, assumption, classes.tolist()[event])
    first = found.evaluations[0]
    return Part(
        {
            "model": rule.key,
            "metric": first.metric,
            "assumption": assumption,
            "pos_label": plain(found.pos_label),
            "limits": plain(list(first.limits)),
            "confidence_level": first.confidence_level,
            "periods": [
                {str(name): plain(value) for name, value in row.items()}
                for row in found.to_frame().to_dict("records")
            ],
            "sentences": found.moves(),
        }
    )


NOTHING_ASSUMED = (
    "No assumption was stated besides the instrument. Do you know that refused cases have the event more "
    "often than comparable accepted ones, or less often? Or how common the event is among all cases? State "
    "it with --assume (assumptions= in Python): the bounds get narrower."
)


def check_assumptions(assumptions: Sequence[Assumption], data: SelectiveLabels) -> None:
    """Raise if an assumption does not fit the classes or columns, before anything is fitted."""
    for each in assumptions:
        if isinstance(each, Combination):
            each.check(data.classes)
            each.shares(data)


def ladder_part(
    sample: ScoredSample,
    rule: ReportedRule,
    metrics: Sequence[AnyMetric],
    event: int,
    assumption_steps: Sequence[Assumption],
    contest: tuple[ReportedRule, AnyMetric] | None = None,
) -> Part:
    """Bounds on the first metric of one rule and on the share of the event, under each step of the ladder.

    Parameters
    ----------
    sample : ScoredSample
        Scored under all steps of the ladder.
    metrics : sequence of metric objects
        The metrics of the report.
    event : int
        Code of the class.
    assumption_steps : sequence of Assumption
        Assumptions from weak to strong.
    contest : (rule, metric), optional
        The other rule, with which the first is compared under the strongest step that the data allow.
    """
    if [each for each in assumption_steps if each.name not in sample.assumptions]:
        raise InputError("Assumptions about decision-makers cannot be used with this table.", "assumptions")
    classes = sample.data.classes
    share = named_metrics("share", classes, classes[event])[0]
    shown = {each.name: each for each in (metrics[0], share)}
    names = [each.name for each in assumption_steps]
    climbed = [
        list(evaluate_sample(sample, subject_of(rule, each, classes), [each], assumptions=names))
        for each in shown.values()
    ]
    # If the data contradict an assumption for one metric, no metric has a value under it.
    refuted = {each.assumption for found in climbed for each in found if each.empty}
    ladders = []
    for found in climbed:
        left = [
            without_value(each, each.assumption) if each.assumption in refuted and not each.empty else each
            for each in found
        ]
        ladders.append(_content(build(list(assumption_steps), left)))
    usable = [name for name in names if name not in refuted]
    comparison = None
    if contest is not None:
        other, metric = contest
        paired = paired_difference(rule.subject(classes), other.subject(classes), metric)
        comparison = compare_sample(sample, paired, usable[-1], names=(rule.name, other.name)).to_dict()
    return Part({"model": rule.key, "ladders": ladders, "comparison": comparison})


def _content(found: Ladder) -> dict[str, Any]:
    first = found[0].evaluation
    return {
        "metric": first.metric,
        "confidence_level": first.confidence_level,
        "limits": plain(list(first.limits)),
        "takeaway": _takeaway(found),
        "rungs": [
            {name: plain(value) for name, value in {"title": each.title, **each.to_dict()}.items()}
            for each in found
        ],
    }


def _takeaway(found: Ladder) -> str:
    """Summarize the weakest and the strongest step, the largest gain, and the contradicted assumptions."""
    valued = [each for each in found if each.evaluation.defined]
    sentences = []
    if valued:
        first, last = valued[0], valued[-1]
        sentences.append(f"Under “{first.assumption.name}”: {_range(first)}.")
        if last is not first:
            sentences.append(f"With all that fits the data (“{last.assumption.name}”): {_range(last)}.")
            steps = [each for each in valued if each.saved > 0.0]
            if steps:
                largest = max(steps, key=lambda each: each.saved)
                sentences.append(f"The largest step is “{largest.adds}”.")
    refuted = [each.adds for each in found if each.contradicted]
    if refuted:
        names = " and ".join(f"“{name}”" for name in refuted)
        sentences.append(f"The data contradict {names}: there is no number under it.")
    return " ".join(sentences)


def _range(step: LadderStep) -> str:
    found = step.evaluation
    if tuple(found.limits) == (0.0, 1.0):
        return percent_range(found.lower, found.upper)
    return f"{amount(found.lower)} to {amount(found.upper)}"


def sensitivity_part(
    evaluator: Evaluator,
    cases: Cases,
    rule: ReportedRule,
    limit: str,
    event: int,
    cost: Any = None,
) -> Part:
    """Sensitivity curve over the odds ratio of the event, refused against accepted cases with equal features.

    The curve shows accuracy(rule) - accuracy(always predicting the most frequent observed class), with
    threshold 0: is the rule better than a constant? If the rule itself always predicts that class, the curve
    shows its accuracy. If costs are given, cost replaces accuracy.
    """
    data = cases.data
    if data.labeled.all():
        raise InputError("Every label is seen, so there is nothing to be sensitive to.", "y")
    commonest = int(np.bincount(data.y[data.labeled], minlength=len(data.classes)).argmax())
    constant = bool((rule.codes == commonest).all())
    label = data.classes.tolist()[commonest]
    curve = evaluator.sensitivity_curve(
        data.classes[rule.codes],
        compare_to=None if constant else label,
        limit=limit,
        parameter="odds",
        pos_label=data.classes.tolist()[event],
        metric="accuracy" if cost is None else "cost",
        cost=cost,
    )
    what = f"{'Accuracy' if cost is None else 'Cost'} of “{rule.name}”"
    title = what if constant else f"{what} minus that of always predicting {label!r}"
    return Part(
        {
            "model": rule.key,
            "title": title,
            "x_name": curve.x_name,
            "sentences": [_meaning(title, str(data.classes.tolist()[event])), *curve.sentences()],
            "curve": [
                {"x": x, "lower": lower, "upper": upper, "ci_lower": ci_lower, "ci_upper": ci_upper}
                for x, lower, upper, ci_lower, ci_upper in _points(curve)
            ],
            "limit": plain([curve.limit_lower, curve.limit_upper]),
            "threshold": curve.threshold,
            "break_even": plain(curve.break_even),
            "break_even_below": plain(curve.break_even_below),
            "supported": None if limit == "none" or curve.supported is None else plain_pairs(curve.supported),
        }
    )


def _points(curve: SensitivityCurve) -> list[list[float | None]]:
    columns = (curve.x, curve.lower, curve.upper, curve.ci_lower, curve.ci_upper)
    return [plain(point) for point in np.column_stack(columns).tolist()]


def plain_pairs(pairs: list[tuple[float, float]]) -> list[list[float | None]]:
    """Pairs as lists; an unbounded end is None."""
    return [plain(list(pair)) for pair in pairs]


def _meaning(title: str, event: str) -> str:
    return (
        f"{title}. At 1, refused cases are taken to be like accepted cases with the same features; further "
        f"right, they have so many times the odds of {event!r}, further left so many times less."
    )


def outlook_part(
    sample: ScoredSample, first: ReportedRule, second: ReportedRule, metric: AnyMetric, assumption: str
) -> Part:
    """Predict the interval width of the difference with more cases, other decision-makers, or a lottery."""
    classes = sample.data.classes
    if sample.data.labeled.all():
        raise InputError("Every outcome was seen: only sampling error is left.", "y")
    contest = paired_difference(first.subject(classes), second.subject(classes), metric)
    result = compare_sample(sample, contest, assumption, names=(first.name, second.name))
    found = plan(result)
    return Part(
        {
            "question": f"“{first.name}” or “{second.name}”?",
            "metric": metric.name,
            "assumption": assumption,
            "verdict": result.verdict,
            **ends(result),
            "ways": [
                {"way": row["way"], "bounds": row["bounds"], "interval": row["interval"]}
                for row in found.rows
                if np.isfinite(row["interval"])
            ],
            "answers": found.answers,
        }
    )


# An interval of at most ten percentage points shows that a gap is small.
NARROW = 0.1


def subgroups_part(
    sample: ScoredSample,
    rules: Sequence[ReportedRule],
    metrics: Sequence[AnyMetric],
    by: Sequence[Column],
    assumptions: Sequence[str],
    event: int,
) -> Part:
    """Evaluate every rule in the subgroups of every column; gaps are relative to the largest subgroup.

    The share of the event among the accepted cases of a subgroup is observed and needs no assumption.
    """
    sections, notes = [], []
    for column in by:
        cells = _largest_last(column)
        if len(cells) < 2:
            notes.append(f"{column.name} has one value only, so there are no subgroups to compare.")
            continue
        for rule in rules:
            found = _Found()
            for metric, assumption in product(metrics, assumptions):
                found.add(sample, rule, metric, assumption, cells)
            sections.append(
                {
                    "column": column.name,
                    "model": rule.key,
                    "evaluations": [item.to_dict() for item in found.evaluations],
                    "gaps": [gap.to_dict() for gap in found.gaps],
                    "usable": _usable(found.gaps, assumptions[-1]),
                    "seen": _seen(sample, event, cells),
                }
            )
            notes += [f"{column.name}, {note}" for note in found.notes]
    return Part(sections, tuple(dict.fromkeys(notes)))


@dataclass
class _Found:
    """Results for the subgroups of one column; a metric without a value does not affect the others."""

    evaluations: list[Evaluation] = field(default_factory=list)
    gaps: list[Evaluation] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(
        self,
        sample: ScoredSample,
        rule: ReportedRule,
        metric: AnyMetric,
        assumption: str,
        cells: dict[str, np.ndarray],
    ) -> None:
        """Evaluate a metric in each subgroup, together with the largest subgroup (the last of `cells`)."""
        subject = subject_of(rule, metric, sample.data.classes)
        *others, largest = cells
        for label in (largest, *others):
            pair = {label: cells[label], largest: cells[largest]}
            try:
                results = evaluate_sample(sample, subject, [metric], pair, assumptions=[assumption])
            except InputError as error:
                self.notes.append(f"{label}. {undefined(metric, error)}")
                continue
            self.evaluations.append(results[0])
            self.gaps += results.gaps or ()


def _usable(gaps: Sequence[Evaluation], assumption: str) -> list[int]:
    """Positions of informative gaps, the narrowest interval first: it excludes zero, or is narrow."""
    places = [
        place
        for place, gap in enumerate(gaps)
        if gap.assumption == assumption
        and (gap.ci_lower > 0.0 or gap.ci_upper < 0.0 or gap.ci_upper - gap.ci_lower <= NARROW)
    ]
    return sorted(places, key=lambda place: gaps[place].ci_upper - gaps[place].ci_lower)


def _seen(sample: ScoredSample, event: int, cells: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Share of the event among the accepted cases of every subgroup."""
    classes, seen = sample.data.classes, sample.data.labeled
    share = named_metrics("share", classes, classes[event])
    anybody = ArrayPredictions(np.full(len(sample.data), classes[event]), classes, "everybody")
    rows = []
    for label, cell in cells.items():
        accepted = float(np.average(seen[cell], weights=sample.weights[cell]))
        failed: dict[str, Any] = dict.fromkeys(ENDS)
        if (cell & seen).any():
            with contextlib.suppress(InputError):
                found = evaluate_sample(sample, anybody, share, {label: cell & seen}, assumptions=["none"])
                failed = ends(found[0])
        rows.append({"subgroup": label, "n": int(cell.sum()), "accepted": accepted, "event": failed})
    return rows


def _largest_last(column: Column) -> dict[str, np.ndarray]:
    """Rows of every subgroup, the largest last, because gaps subtract the last one."""
    bins = binned(column)
    order = np.argsort(np.bincount(bins.codes) == np.bincount(bins.codes).max(), kind="stable")
    return {bins.labels[code]: bins.codes == code for code in order}


# Parcelling assumes a factor by which refused cases have the event more often; this value is common.
FACTOR = 1.5
# Lenders use linear models, and all of them together take one second with 10,000 cases.
LINEAR = "linear"


@dataclass(frozen=True)
class Method:
    """A common method for refused cases.

    Attributes
    ----------
    name, assumes : str
        Name and assumption (one sentence), for readers.
    make : callable
        Returns an unfitted classifier from a `random_state`.
    """

    name: str
    assumes: str
    make: Any
    two_classes: bool = False


METHODS = (
    Method(
        "Labeled cases only",
        "Refused cases have the same outcomes as accepted cases with the same features.",
        lambda random_state: SelectedSampleClassifier(LINEAR, random_state=random_state),
    ),
    Method(
        "Reweighting",
        "The same; accepted cases count more where few were accepted.",
        lambda random_state: ReweightingClassifier(LINEAR, random_state=random_state),
    ),
    Method(
        "Fuzzy augmentation",
        "The same; refused cases enter with the chances that accepted ones have.",
        lambda random_state: FuzzyAugmentationClassifier(LINEAR, random_state=random_state),
    ),
    Method(
        "Parcelling",
        f"Refused cases have the event {FACTOR:g} times as often as accepted ones of the same score, by a "
        "guess.",
        lambda random_state: ParcellingClassifier(LINEAR, factor=FACTOR, random_state=random_state),
    ),
    Method(
        "Heckman's two steps",
        "What nobody recorded moves decision and outcome by a normal law and along a line.",
        lambda random_state: HeckmanClassifier(),
        two_classes=True,
    ),
    Method(
        "Bivariate probit",
        "What nobody recorded moves decision and outcome by a bivariate normal law, exactly.",
        lambda random_state: BivariateProbitClassifier(),
        two_classes=True,
    ),
)


def comparators_part(
    sample: ScoredSample,
    cases: Cases,
    rules: Sequence[ReportedRule],
    metric: AnyMetric,
    event: int,
    assumption: str,
    seeds: np.ndarray,
    cost: Any = None,
) -> Part:
    """Cross-fit common methods and evaluate them next to the reported rules under one assumption.

    Each is compared with the last of `rules`. If costs are given, each method predicts the class with
    the lowest expected cost by its own probabilities. `claims` is the share of the event among all cases that
    these probabilities imply.
    """
    ours = rules[-1]
    rows, notes = [], []
    classes = sample.data.classes
    for method in METHODS:
        if method.two_classes and len(classes) != 2:
            continue
        try:
            codes, chances = _predicted(method, cases, event, seeds, cost)
        except InputError as error:
            notes.append(f"{method.name} could not be fitted: {error}")
            continue
        rule = ReportedRule("other", method.name, method.assumes, codes)
        claims = float(np.average(chances, weights=sample.weights))
        rows.append(_row(sample, rule, ours, metric, assumption) | {"claims": claims})
    rows += [_row(sample, each, ours, metric, assumption) | {"claims": None} for each in rules]
    return Part({"metric": metric.name, "assumption": assumption, "rows": rows}, tuple(notes))


def _predicted(
    method: Method, cases: Cases, event: int, seeds: np.ndarray, cost: Any
) -> tuple[np.ndarray, np.ndarray]:
    codes, chances = np.empty(len(cases), dtype=int), np.empty(len(cases))
    for half in with_progress(predicted_halves(cases, seeds, method.make), method.name, 2):
        codes[half.rows], chances[half.rows] = half.cheapest(cost), half.subject.probabilities[:, event]
    return codes, chances


def _row(
    sample: ScoredSample, rule: ReportedRule, ours: ReportedRule, metric: AnyMetric, assumption: str
) -> dict[str, Any]:
    classes = sample.data.classes
    subject = rule.subject(classes)
    value = evaluate_sample(sample, subject, [metric], assumptions=[assumption])[0]
    difference = None
    if rule is not ours:
        contest = paired_difference(subject, ours.subject(classes), metric)
        found = compare_sample(sample, contest, assumption)
        difference = ends(found) | {"verdict": {"a": "this", "b": "ours"}.get(found.verdict, "undecided")}
    return {
        "key": rule.key,
        "name": rule.name,
        "assumes": rule.description if rule.key == "other" else None,
        "value": ends(value),
        "against_ours": difference,
    }
