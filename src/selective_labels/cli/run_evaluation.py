"""Run the evaluation commands: evaluate, ladder, compare, sensitivity, policy, drift and plan."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._errors import DiagnosticWarning, TableError, shown
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.parse import Assumed, named
from selective_labels.cli.app import CurveOptions, DriftOptions, PlanOptions, PolicyOptions
from selective_labels.cli.console import working
from selective_labels.cli.inputs import (
    OF_SCORES,
    Judging,
    Loaded,
    Source,
    Stakes,
    as_now_sentence,
    compared_rule,
    contestant,
    costs_of,
    described,
    holds_scores,
    models_among,
    one_measure,
    read_costs,
    require_level,
    team_sentence,
    training_share,
)
from selective_labels.cli.options import CutOptions, FittingOptions, NumberOptions, SubjectOptions
from selective_labels.cli.output import View, compare_view, curve_view, evaluate_view, ladder_view
from selective_labels.cli.verdicts import drift_verdict, plan_verdict, policy_verdict, sensitivity_verdict
from selective_labels.diagnostics.balance import quick_assignment
from selective_labels.diagnostics.diagnose import diagnose
from selective_labels.evaluation.display import ENDS, money_a_year
from selective_labels.evaluation.functions import (
    compare,
    drift,
    evaluate,
    ladder,
    policy_curve,
    sensitivity_curve,
)
from selective_labels.evaluation.plan import check_wishes, plan
from selective_labels.evaluation.policy import COST, TEAMS
from selective_labels.evaluation.predictions import HUMAN, is_human
from selective_labels.evaluation.results import Comparison, Evaluation, Evaluations, plain
from selective_labels.io.model_file import SavedModel, load_model
from selective_labels.io.prepare import PreparedTable, pos_label_of, predictions_of
from selective_labels.io.table_roles import require_column

# A column with more values than this does not define subgroups.
MAX_SUBGROUPS = 50


def judge(
    source: Source,
    subject: SubjectOptions,
    request: tuple[NumberOptions, CutOptions],
    fitting: FittingOptions,
    assumed: Assumed,
    by: str | None,
) -> View:
    """Evaluate predictions or a model."""
    numbers, cut = request
    policy_measures = Stakes.read(numbers.metric, cut)
    require_level(numbers.confidence_level)
    if by is not None and policy_measures.by_policy:
        raise TableError("--by goes with metrics of predicted classes; accepted cases are counted among all.")
    if _is_human(subject):
        _require_classes(policy_measures)
    saved, loaded = _load(source, subject, lazily=True)
    subgroups: Any = None if by is None else subgroups_of(loaded.frame, by)
    if holds_scores(loaded, [_column(subject)]):
        policy_measures = policy_measures.for_scores()
        if by is not None and policy_measures.by_policy:
            raise TableError("--by needs predicted classes: give --threshold.")
    judging = _judging(loaded, policy_measures, numbers)
    policy_measures = judging.policy_measures
    judged = _judged(judging, subject, saved)
    if loaded.lazy is not None:
        subgroups = by
    assumptions = assumed.listed(loaded.classes)
    with working():
        quick_checks(loaded, assumptions, fitting.seed)
        results = evaluate(
            judged,
            loaded.data,
            metric=list(policy_measures.metrics),
            assumption=assumptions,
            by=subgroups,
            pos_label=judging.pos_label,
            cost=policy_measures.cost,
            **numbers.keywords,
            **fitting.keywords,
        )
    assert isinstance(results, Evaluations)  # a list of metrics returns a list of results
    notes = _notes(saved, subject, loaded.prepared)
    return evaluate_view(loaded, _described(subject), results, notes, policy_measures)


def _is_human(subject: SubjectOptions) -> bool:
    """Whether the decisions taken are evaluated; the word wins over a column of that name."""
    return subject.model is None and is_human(subject.predictions)


def _column(subject: SubjectOptions) -> str | None:
    """Column of predictions, if there is one."""
    return None if _is_human(subject) else subject.predictions


def _described(subject: SubjectOptions) -> dict[str, str]:
    return subject.described | ({"kind": HUMAN} if _is_human(subject) else {})


def _require_classes(policy_measures: Stakes) -> None:
    """Raise for options that the decisions taken do not go with."""
    if policy_measures.by_policy:
        raise TableError(
            f"--metric {policy_measures.metrics[0]} is about cases that a score accepts; for human ask for "
            "accuracy, cost, tpr and the like, or see selective-labels policy."
        )
    if policy_measures.cut.threshold is not None:
        raise TableError("--threshold cuts a score, and the human gives decisions: leave it out.")


def climb(
    source: Source,
    subject: SubjectOptions,
    request: tuple[NumberOptions, CutOptions],
    fitting: FittingOptions,
    assumed: Assumed,
) -> View:
    """Bounds on one metric of predictions or a model, from no assumption to all that were given."""
    numbers, cut = request
    if len(numbers.metric or ()) > 1:
        raise TableError("ladder takes one --metric.")
    policy_measures = one_measure(Stakes.read(numbers.metric, cut))
    if policy_measures.by_policy:
        raise TableError(
            "ladder judges predicted classes: give --threshold instead of --acceptance, and a metric of "
            "classes such as accuracy or cost."
        )
    require_level(numbers.confidence_level)
    if _is_human(subject):
        _require_classes(policy_measures)
    saved, loaded = _load(source, subject, lazily=True)
    judging = replace(_judging(loaded, policy_measures, numbers), as_now=True)
    policy_measures = judging.policy_measures
    judged = _judged(judging, subject, saved)
    loaded = _noting_cut(judging, judged)
    with working():
        found = ladder(
            judged,
            loaded.data,
            assumptions=[*assumed.one_by_one(judging.classes), *assumed.names],
            metric=policy_measures.metrics[0],
            pos_label=judging.pos_label,
            cost=policy_measures.cost,
            **numbers.keywords,
            **fitting.keywords,
        )
    return ladder_view(loaded, _described(subject), found, _notes(saved, subject, loaded.prepared))


def _judged(judging: Judging, subject: SubjectOptions, saved: SavedModel | None) -> Any:
    """The decisions taken, a model or a column of predictions, in the form that the metrics need."""
    loaded, column = judging.loaded, str(subject.predictions)
    if _is_human(subject):
        return HUMAN
    if loaded.lazy is None:
        return judging.of_column(column, "--predictions") if saved is None else judging.of_model(saved)
    if saved is None:
        require_column(loaded.frame, column, "--predictions")
    return judging.of_parts(column if saved is None else saved)


def _load(
    source: Source, subject: SubjectOptions, *, lazily: bool = False
) -> tuple[SavedModel | None, Loaded]:
    """The model to evaluate, if there is one, and the table."""
    saved = None if subject.model is None else load_model(subject.model)
    loaded = source.load([] if saved is None else [saved], [_column(subject)], lazily=lazily)
    return saved, loaded


def _judging(
    loaded: Loaded, policy_measures: Stakes, numbers: NumberOptions, team: str | None = None
) -> Judging:
    classes = loaded.classes
    event = pos_label_of(numbers.pos_label, classes)
    policy_measures = policy_measures.priced(loaded, event)
    policy_measures.require_classes(classes)
    if (
        loaded.lazy is not None
        and policy_measures.cut.threshold is not None
        and not policy_measures.by_policy
    ):
        raise TableError(
            "Scores that are cut into classes need rows in memory; give predicted classes, or ask for "
            "metrics of accepted cases such as --metric failures."
        )
    return Judging(loaded, policy_measures, event, team)


def _notes(saved: SavedModel | None, subject: SubjectOptions, prepared: PreparedTable) -> list[str]:
    return [] if saved is None else training_notes(saved, prepared, str(subject.model))


def subgroups_of(frame: pd.DataFrame, by: str) -> pd.Series:
    """Return a column of subgroups; raise an error if it has too many values."""
    require_column(frame, by, "--by")
    n_subgroups = frame[by].nunique()
    if n_subgroups > MAX_SUBGROUPS:
        raise TableError(
            f"--by {shown(by)} has {n_subgroups:,} values; give a column with {MAX_SUBGROUPS} at most."
        )
    return frame[by]


@dataclass(frozen=True)
class MetricDifference:
    """The two sides of a comparison, and how the human takes part in the first."""

    a: str
    b: str
    team: str | None = None


def set_against(
    source: Source,
    contest: MetricDifference,
    request: tuple[NumberOptions, CutOptions],
    fitting: FittingOptions,
    assumed: Assumed,
) -> View:
    """Compare two sets of predictions, models or decisions."""
    numbers, cut = request
    policy_measures = _stakes_of(contest, numbers, cut)
    require_level(numbers.confidence_level)
    names = (contest.a, contest.b)
    models = models_among(names)
    columns = [contest.a, None if contest.b == HUMAN else contest.b]
    not_features = [*columns, None if contest.team in TEAMS else contest.team]
    loaded = source.load(list(models.values()), not_features, lazily=True)
    if holds_scores(loaded, columns):
        policy_measures = one_measure(policy_measures.for_scores())
    judging = _judging(loaded, policy_measures, numbers, contest.team)
    policy_measures = judging.policy_measures
    first, second = (
        compared_rule(judging, name, option, models, with_team=option == "--a")
        for name, option in zip(names, ("--a", "--b"), strict=True)
    )
    assumption = assumed.listed(loaded.classes)[0]
    with working():
        quick_checks(loaded, [assumption], fitting.seed)
        result = compare(
            first,
            second,
            loaded.data,
            metric=policy_measures.metrics[0],
            assumption=assumption,
            pos_label=judging.pos_label,
            cost=policy_measures.cost,
            **numbers.keywords,
            **fitting.keywords,
        )
    called = (
        described(contest.a, policy_measures, contest.team),
        contest.b if contest.b == HUMAN else described(contest.b, policy_measures),
    )
    notes = [note for name, saved in models.items() for note in training_notes(saved, loaded.prepared, name)]
    said = [
        *_yearly(result, cut.cases_per_year, called),
        *team_sentence(contest.team, policy_measures.means),
        *(policy_measures.sentences(loaded.classes) if policy_measures.by_policy else []),
    ]
    return compare_view(loaded, replace(result, a=called[0], b=called[1]), notes, said)


def _yearly(result: Comparison, cases: float | None, names: tuple[str, str]) -> list[str]:
    """What following a instead of b costs or saves in a year."""
    if cases is None:
        return []
    if result.metric != COST:
        raise TableError("--cases-per-year is about costs: give --metric cost.")
    doing = f"Following {names[0]!r}" + ("" if names[1] == HUMAN else f" instead of {names[1]!r}")
    return [money_a_year(doing, (result.ci_lower, result.ci_upper), cases)]


def _stakes_of(contest: MetricDifference, numbers: NumberOptions, cut: CutOptions) -> Stakes:
    """Choose one metric; comparisons that involve the human use metrics of policies."""
    metrics = numbers.metric or []
    if len(metrics) > 1:
        raise TableError("compare takes one --metric.")
    return one_measure(Stakes.read(metrics, cut, human=contest.team is not None or contest.b == HUMAN))


def quick_checks(loaded: Loaded, assumptions: Sequence[str | Assumption], seed: int) -> None:
    """Warn if a quick check finds signs of non-random assignment and an assumption relies on it."""
    if not any(named(each).needs_decision_makers for each in assumptions):
        return
    data = loaded.prepared.data
    if loaded.lazy is not None or data.n_decision_makers < 2 or data.labeled.all():
        return
    found = quick_assignment(data, seed)
    if found.status in ("warning", "violated"):
        text = f"({found.name}, {found.status}): {found.message} {found.advice} See selective-labels check."
        warnings.warn(DiagnosticWarning(found.code, text), stacklevel=2)


def training_notes(saved: SavedModel, prepared: PreparedTable, name: str) -> list[str]:
    """Note which share of a model's training rows is evaluated here."""
    share = training_share(saved, prepared)
    if share == 0:
        return []
    return [
        f"About {share:.0%} of the rows that {name} was trained on are in this table, so its numbers here "
        "are too good; judge it on other cases."
    ]


def draw_sensitivity(
    source: Source, subject: SubjectOptions, request: CurveOptions, fitting: FittingOptions
) -> View:
    """Compute a sensitivity curve over one parameter."""
    values = None if request.values is None else _numbers(request.values, "--values")
    require_level(request.confidence_level)
    given = read_costs(request)
    metric = request.metric or (COST if given is not None else "accuracy")
    loaded, judged = _load_scores(source, subject, request.compare_to, judged_by=(metric, request.pos_label))
    classes = loaded.prepared.data.classes
    cost = costs_of(given, loaded, pos_label_of(request.pos_label, classes))
    other = None
    if request.compare_to is not None:
        other = contestant(
            request.compare_to, "--compare-to", loaded.frame, classes, models_among([request.compare_to])
        )
    with working():
        curve = sensitivity_curve(
            judged,
            loaded.prepared.data,
            parameter=request.over.value,
            values=values,
            threshold=request.against,
            compare_to=other,
            metric=metric,
            pos_label=pos_label_of(request.pos_label, classes),
            cost=cost,
            confidence_level=request.confidence_level,
            cluster=None if request.cluster is None else request.cluster.value,
            **fitting.keywords,
        )
    points = np.column_stack([curve.x, *(getattr(curve, end) for end in ENDS), curve.crossed])
    rows = [dict(zip(("x", *ENDS, "contradicted_share"), plain(row), strict=True)) for row in points.tolist()]
    content = {
        "subject": None if judged is None else _described(subject),
        "over": curve.x_name,
        "metric": curve.title,
        "assumed": curve.assumption,
        "confidence_level": curve.confidence_level,
        "curve": rows,
        "limit": {
            "assumption": curve.limit,
            "lower": plain(curve.limit_lower),
            "upper": plain(curve.limit_upper),
        },
        "supported": None if curve.supported is None else [plain(list(pair)) for pair in curve.supported],
        "threshold": curve.threshold,
        "conclusion": curve.conclusion,
        "concluded_at": plain(curve.concluded_at),
        **{name: _flip(getattr(curve, name)) for name in FLIPS},
        "sentences": curve.sentences(),
    }
    return curve_view(
        "sensitivity", loaded, content, rows, curve, sensitivity_verdict(curve), curve.sentences()
    )


FLIPS = ("break_even", "break_even_ci", "break_even_below", "break_even_below_ci")


def _flip(value: float | None) -> float | str | None:
    """Replace infinity by "never"; null means that there is no break-even value."""
    return "never" if value is not None and np.isinf(value) else value


def draw_policies(
    source: Source,
    subject: SubjectOptions,
    request: PolicyOptions,
    fitting: FittingOptions,
    assumed: Assumed,
) -> View:
    """Failures and costs at all acceptance rates."""
    rates = None if request.rates is None else _numbers(request.rates, "--rates")
    given = read_costs(request)
    require_level(request.confidence_level)
    loaded, judged = _load_scores(source, subject, lazily=True)
    cost = costs_of(given, loaded, pos_label_of(request.pos_label, loaded.classes))
    with working():
        curve = policy_curve(
            judged,
            loaded.data,
            pos_label=pos_label_of(request.pos_label, loaded.classes),
            rates=rates,
            rule=request.rule.value,
            cost=cost,
            assumption=assumed.listed(loaded.classes)[0],
            simultaneous=request.simultaneous,
            confidence_level=request.confidence_level,
            cluster=None if request.cluster is None else request.cluster.value,
            **fitting.keywords,
        )
    rows = [
        {str(name): plain(value) for name, value in row.items()}
        for row in curve.to_frame().to_dict("records")
    ]
    content = {
        "subject": _described(subject),
        "rule": curve.rule,
        "pos_label": plain(curve.pos_label),
        "assumption": curve.assumption,
        "confidence_level": request.confidence_level,
        "simultaneous": curve.simultaneous,
        "policies": rows,
        "human": {name: _ends(each) for name, each in curve.human.items()},
        "decision_makers": [
            {str(name): plain(value) for name, value in row.items()}
            for row in curve.decision_makers.to_dict("records")
        ],
        "sentences": curve.sentences(),
    }
    verdict, said = policy_verdict(curve), curve.answers()
    if request.cases_per_year is not None:
        name = shown(str(_described(subject)["name"]))
        verdict = f"{curve.money_a_year(request.cases_per_year, name)} {verdict}"
        content["sentences"] = [verdict, *curve.sentences()]
    return curve_view("policy", loaded, content, rows, curve, verdict, said)


def follow(source: Source, subject: SubjectOptions, request: DriftOptions, fitting: FittingOptions) -> View:
    """Acceptance, labels and bounds by period."""
    require_level(request.confidence_level)
    event = request.metric, request.pos_label
    loaded, judged = _load_scores(source, subject, request.period, lazily=True, judged_by=event)
    require_column(loaded.frame, request.period, "--period")
    with working():
        found = drift(
            judged,
            loaded.data,
            period=loaded.frame[request.period] if loaded.lazy is None else request.period,
            every=None if request.every is None else request.every.value,
            metric=request.metric,
            pos_label=pos_label_of(request.pos_label, loaded.classes),
            assumption=request.assumption.value,
            confidence_level=request.confidence_level,
            **fitting.keywords,
        )
    rows = [
        {str(name): plain(value) for name, value in row.items()}
        for row in found.to_frame().to_dict("records")
    ]
    first = found.evaluations[0]
    content = {
        "subject": _described(subject),
        "period": request.period,
        "every": None if request.every is None else request.every.value,
        "metric": first.metric,
        "assumption": first.assumption,
        "pos_label": plain(found.pos_label),
        "confidence_level": first.confidence_level,
        "periods": rows,
        "sentences": found.sentences(),
    }
    return curve_view("drift", loaded, content, rows, found, drift_verdict(found))


def make_plan(
    source: Source, subject: SubjectOptions, request: tuple[PlanOptions, CutOptions], fitting: FittingOptions
) -> View:
    """Plan from a comparison, from an evaluation, or from the checks if there is nothing to evaluate."""
    wanted, cut = request
    check_wishes(wanted.cases, wanted.decision_makers, wanted.leniency, wanted.width, wanted.power)
    metrics = None if wanted.metric is None else [wanted.metric]
    policy_measures = one_measure(Stakes.read(metrics, cut, human=wanted.against == HUMAN))
    require_level(wanted.confidence_level)
    saved = None if subject.model is None else load_model(subject.model)
    others = {} if wanted.against is None else models_among([wanted.against])
    models = [each for each in (saved, *others.values()) if each is not None]
    columns = [_column(subject), None if wanted.against == HUMAN else wanted.against]
    loaded = source.load(models, columns)
    data = loaded.prepared.data
    if holds_scores(loaded, columns):
        policy_measures = one_measure(policy_measures.for_scores())
    refused = int((data.decision == 0).sum())
    if wanted.lottery is not None and wanted.lottery > refused:
        raise TableError(
            f"--lottery {wanted.lottery:,} is more than the {refused:,} cases that were refused."
        )
    event = pos_label_of(wanted.pos_label, data.classes)
    policy_measures = policy_measures.priced(loaded, event)
    policy_measures.require_classes(data.classes)
    # If the table is in partitions, the plan uses the rows in memory.
    judging = Judging(replace(loaded, lazy=None), policy_measures, event)
    judged: Any = None
    if _is_human(subject):
        judged = HUMAN
    elif saved is not None:
        judged = judging.of_model(saved)
    elif subject.predictions is not None:
        judged = judging.of_column(subject.predictions, "--predictions")
    how = {
        "metric": policy_measures.metrics[0],
        "pos_label": judging.pos_label,
        "cost": policy_measures.cost,
        "confidence_level": wanted.confidence_level,
        **fitting.keywords,
    }
    other = None if wanted.against is None else compared_rule(judging, wanted.against, "--against", others)
    with working():
        if judged is None:
            result: Any = diagnose(data, **fitting.keywords)
        elif other is None:
            result = evaluate(judged, data, **how)
        else:
            compared = compare(judged, other, data, **how)
            a, b = str(_described(subject)["name"]), str(wanted.against)
            first = described(a, policy_measures)
            second = b if b == HUMAN else described(b, policy_measures)
            result = replace(compared, a=first, b=second)
        found = plan(
            result,
            cases=wanted.cases,
            decision_makers=wanted.decision_makers,
            leniency=wanted.leniency,
            lottery=wanted.lottery,
            width=wanted.width,
            power=wanted.power,
        )
    rows = [{name: plain(value) for name, value in row.items()} for row in found.rows]
    content = {
        "subject": None if judged is None else _described(subject),
        "against": wanted.against,
        "basis": "diagnosis" if judged is None else "evaluation" if wanted.against is None else "comparison",
        "title": found.title,
        "ways": rows,
        "answers": found.answers,
        "sentences": found.sentences(),
    }
    return curve_view("plan", loaded, content, rows, found, plan_verdict(found), found.answers[1:])


def _load_scores(
    source: Source,
    subject: SubjectOptions,
    other: str | None = None,
    *,
    lazily: bool = False,
    judged_by: tuple[str, str | None] | None = None,
) -> tuple[Loaded, Any]:
    """The table, and the predictions or model to evaluate, if any.

    `judged_by` is a metric and its event: scores become what the metric needs.
    """
    saved = None if subject.model is None else load_model(subject.model)
    others = [_column(subject), None if other == HUMAN else other]
    loaded = source.load([] if saved is None else [saved], others, lazily=lazily)
    if _is_human(subject):
        return loaded, HUMAN
    if saved is not None or subject.predictions is None:
        return loaded, saved
    if lazily and loaded.lazy is not None:
        require_column(loaded.frame, subject.predictions, "--predictions")
        return loaded, subject.predictions
    if judged_by is None or judged_by[0] == "share":
        return loaded, predictions_of(loaded.frame, subject.predictions)
    metric, event = judged_by
    measures = Stakes((metric,), None, CutOptions(), by_policy=False)
    judging = Judging(loaded, measures, pos_label_of(event, loaded.classes), as_now=True)
    judged = judging.of_column(subject.predictions, "--predictions")
    return _noting_cut(judging, judged), judged


def _noting_cut(judging: Judging, judged: Any) -> Loaded:
    """The table, with a note if scores without a threshold were cut at today's rate."""
    loaded = judging.loaded
    if np.ndim(judged) != 2 or set(judging.policy_measures.metrics) <= {*OF_SCORES}:
        return loaded
    said = as_now_sentence(loaded.prepared.data.decision_means)
    return replace(loaded, notes=(*loaded.notes, said))


def _ends(result: Evaluation) -> dict[str, Any]:
    return {end: plain(getattr(result, end)) for end in ENDS}


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(each) for each in text.split(",")]
    except ValueError:
        raise TableError(f"{option} {shown(text)}: write numbers with commas between.") from None
