"""Sensitivity, policies and plans on a table: the library called, the result arranged."""

from dataclasses import replace
from typing import Any

import numpy as np

from selective_labels.assumptions.written import Assumed
from selective_labels.cli.console import working
from selective_labels.cli.curve_commands import CurveOptions, DriftOptions, PlanOptions, PolicyOptions
from selective_labels.cli.inputs import (
    HUMAN,
    Loaded,
    Source,
    contestant,
    models_among,
)
from selective_labels.cli.options import CutOptions, FittingOptions, SubjectOptions
from selective_labels.cli.output import View
from selective_labels.cli.stakes import (
    Stakes,
    described,
    one_measure,
    read_cost,
    require_cost_of,
    require_level,
)
from selective_labels.cli.subjects import Judging, contender, holds_scores
from selective_labels.cli.views import curve_view
from selective_labels.curves import drift, policy_curve
from selective_labels.diagnostics import diagnose
from selective_labels.evaluation import Evaluation, compare, evaluate
from selective_labels.evaluation.curves import ENDS
from selective_labels.evaluation.results import plain
from selective_labels.literature import sensitivity_curve
from selective_labels.planning import plan
from selective_labels.planning.plan import check_wishes
from selective_labels.saving import load_model
from selective_labels.support.words import shown
from selective_labels.tables import TableError
from selective_labels.tables.predicted import pos_label_of, predictions_of
from selective_labels.tables.roles import require_column


def draw_sensitivity(
    source: Source, subject: SubjectOptions, asked: CurveOptions, fitting: FittingOptions
) -> View:
    """A curve over one knob."""
    values = None if asked.values is None else _numbers(asked.values, "--values")
    require_level(asked.confidence_level)
    loaded, judged = _load(source, subject, asked.compare_to)
    classes = loaded.prepared.data.classes
    other = None
    if asked.compare_to is not None:
        other = contestant(
            asked.compare_to, "--compare-to", loaded.frame, classes, models_among([asked.compare_to])
        )
    with working():
        curve = sensitivity_curve(
            judged,
            loaded.prepared.data,
            parameter=asked.over.value,
            values=values,
            threshold=asked.against,
            compare_to=other,
            metric=asked.metric,
            pos_label=pos_label_of(asked.pos_label, classes),
            confidence_level=asked.confidence_level,
            cluster=None if asked.cluster is None else asked.cluster.value,
            **fitting.keywords,
        )
    points = np.column_stack([curve.x, *(getattr(curve, end) for end in ENDS), curve.crossed])
    rows = [dict(zip(("x", *ENDS, "contradicted_share"), plain(row), strict=True)) for row in points.tolist()]
    content = {
        "subject": None if judged is None else subject.described,
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
    return curve_view("sensitivity", loaded, content, rows, curve)


FLIPS = ("break_even", "break_even_ci", "break_even_below", "break_even_below_ci")


def _flip(value: float | None) -> float | str | None:
    """A conclusion that never flips is a word: null says that there is none."""
    return "never" if value is not None and np.isinf(value) else value


def draw_policies(
    source: Source,
    subject: SubjectOptions,
    asked: PolicyOptions,
    fitting: FittingOptions,
    assumed: Assumed,
) -> View:
    """Failures and costs at every acceptance rate."""
    rates = None if asked.rates is None else _numbers(asked.rates, "--rates")
    cost = read_cost(asked.cost)
    require_level(asked.confidence_level)
    loaded, judged = _load(source, subject, lazily=True)
    require_cost_of(cost, loaded.classes)
    with working():
        curve = policy_curve(
            judged,
            loaded.data,
            pos_label=pos_label_of(asked.pos_label, loaded.classes),
            rates=rates,
            rule=asked.rule.value,
            cost=cost,
            assumption=assumed.listed(loaded.classes)[0],
            confidence_level=asked.confidence_level,
            cluster=None if asked.cluster is None else asked.cluster.value,
            **fitting.keywords,
        )
    rows = [
        {str(name): plain(value) for name, value in row.items()}
        for row in curve.to_frame().to_dict("records")
    ]
    content = {
        "subject": subject.described,
        "rule": curve.rule,
        "pos_label": plain(curve.pos_label),
        "assumption": curve.assumption,
        "confidence_level": asked.confidence_level,
        "policies": rows,
        "human": {name: _ends(each) for name, each in curve.human.items()},
        "decision_makers": [
            {str(name): plain(value) for name, value in row.items()}
            for row in curve.decision_makers.to_dict("records")
        ],
        "sentences": curve.sentences(),
    }
    return curve_view("policy", loaded, content, rows, curve)


def follow(source: Source, subject: SubjectOptions, asked: DriftOptions, fitting: FittingOptions) -> View:
    """Acceptance, labels and bounds, period by period."""
    require_level(asked.confidence_level)
    loaded, judged = _load(source, subject, asked.period, lazily=True)
    require_column(loaded.frame, asked.period, "--period")
    with working():
        found = drift(
            judged,
            loaded.data,
            period=loaded.frame[asked.period] if loaded.lazy is None else asked.period,
            every=None if asked.every is None else asked.every.value,
            metric=asked.metric,
            pos_label=pos_label_of(asked.pos_label, loaded.classes),
            assumption=asked.assumption.value,
            confidence_level=asked.confidence_level,
            **fitting.keywords,
        )
    rows = [
        {str(name): plain(value) for name, value in row.items()}
        for row in found.to_frame().to_dict("records")
    ]
    first = found.evaluations[0]
    content = {
        "subject": subject.described,
        "period": asked.period,
        "every": None if asked.every is None else asked.every.value,
        "metric": first.metric,
        "assumption": first.assumption,
        "pos_label": plain(found.pos_label),
        "confidence_level": first.confidence_level,
        "periods": rows,
        "sentences": found.sentences(),
    }
    return curve_view("drift", loaded, content, rows, found)


def make_plan(
    source: Source, subject: SubjectOptions, asked: tuple[PlanOptions, CutOptions], fitting: FittingOptions
) -> View:
    """From a comparison, an evaluation, or (with nobody to judge) the checks."""
    wanted, cut = asked
    check_wishes(wanted.cases, wanted.decision_makers, wanted.leniency, wanted.width, wanted.power)
    metrics = None if wanted.metric is None else [wanted.metric]
    stakes = one_measure(Stakes.read(metrics, cut, human=wanted.against == HUMAN))
    require_level(wanted.confidence_level)
    saved = None if subject.model is None else load_model(subject.model)
    others = {} if wanted.against is None else models_among([wanted.against])
    models = [each for each in (saved, *others.values()) if each is not None]
    loaded = source.load(models, [subject.predictions, wanted.against])
    data = loaded.prepared.data
    if holds_scores(loaded, [subject.predictions, wanted.against]):
        stakes = one_measure(stakes.for_scores())
    stakes.require_classes(data.classes)
    refused = int((data.decision == 0).sum())
    if wanted.lottery is not None and wanted.lottery > refused:
        raise TableError(
            f"--lottery {wanted.lottery:,} is more than the {refused:,} cases that were refused."
        )
    # Of a table in partitions, a plan is made from the rows in memory.
    judging = Judging(replace(loaded, lazy=None), stakes, pos_label_of(wanted.pos_label, data.classes))
    judged: Any = None
    if saved is not None:
        judged = judging.of_model(saved)
    elif subject.predictions is not None:
        judged = judging.of_column(subject.predictions, "--predictions")
    how = {
        "metric": stakes.metrics[0],
        "pos_label": judging.pos_label,
        "cost": stakes.cost,
        "confidence_level": wanted.confidence_level,
        **fitting.keywords,
    }
    other = None if wanted.against is None else contender(judging, wanted.against, "--against", others)
    with working():
        if judged is None:
            result: Any = diagnose(data, **fitting.keywords)
        elif other is None:
            result = evaluate(judged, data, **how)
        else:
            compared = compare(judged, other, data, **how)
            a, b = str(subject.described["name"]), str(wanted.against)
            first = described(a, cut, stakes.by_policy)
            second = b if b == HUMAN else described(b, cut, stakes.by_policy)
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
        "subject": None if judged is None else subject.described,
        "against": wanted.against,
        "basis": "diagnosis" if judged is None else "evaluation" if wanted.against is None else "comparison",
        "title": found.title,
        "ways": rows,
        "answers": found.answers,
        "sentences": found.sentences(),
    }
    return curve_view("plan", loaded, content, rows, found)


def _load(
    source: Source, subject: SubjectOptions, other: str | None = None, *, lazily: bool = False
) -> tuple[Loaded, Any]:
    """The table, and what is judged on it, if anything."""
    saved = None if subject.model is None else load_model(subject.model)
    loaded = source.load([] if saved is None else [saved], [subject.predictions, other], lazily=lazily)
    if saved is not None or subject.predictions is None:
        return loaded, saved
    if lazily and loaded.lazy is not None:
        require_column(loaded.frame, subject.predictions, "--predictions")
        return loaded, subject.predictions
    return loaded, predictions_of(loaded.frame, subject.predictions)


def _ends(result: Evaluation) -> dict[str, Any]:
    return {end: plain(getattr(result, end)) for end in ENDS}


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(each) for each in text.split(",")]
    except ValueError:
        raise TableError(f"{option} {shown(text)}: write numbers with commas between.") from None
