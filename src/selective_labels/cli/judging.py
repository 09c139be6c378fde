"""Evaluate one model, or two against each other, on a table."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from selective_labels.assumptions import Assumption, named
from selective_labels.assumptions.written import Assumed
from selective_labels.cli.console import working
from selective_labels.cli.inputs import HUMAN, Loaded, Source, models_among
from selective_labels.cli.options import CutOptions, FittingOptions, NumberOptions, SubjectOptions
from selective_labels.cli.output import View
from selective_labels.cli.stakes import (
    Stakes,
    described,
    one_measure,
    require_level,
    require_metrics,
    team_sentence,
)
from selective_labels.cli.subjects import Judging, contender, holds_scores
from selective_labels.cli.views import compare_view, evaluate_view, ladder_view
from selective_labels.curves import ladder
from selective_labels.diagnostics import quick_assignment
from selective_labels.evaluation import Evaluations, compare, evaluate
from selective_labels.policies.policy import TEAMS
from selective_labels.saving import SavedModel, load_model
from selective_labels.support.errors import DiagnosticWarning
from selective_labels.support.words import shown
from selective_labels.tables import PreparedTable, TableError
from selective_labels.tables.predicted import pos_label_of
from selective_labels.tables.roles import require_column

# More subgroups than this are no subgroups.
MAX_SUBGROUPS = 50


def judge(
    source: Source,
    subject: SubjectOptions,
    asked: tuple[NumberOptions, CutOptions],
    fitting: FittingOptions,
    assumed: Assumed,
    by: str | None,
) -> View:
    """Evaluate predictions or a model."""
    numbers, cut = asked
    stakes = Stakes.read(numbers.metric, cut)
    require_level(numbers.confidence_level)
    if by is not None and stakes.by_policy:
        raise TableError("--by goes with metrics of predicted classes; accepted cases are counted among all.")
    saved, loaded = _load(source, subject, lazily=True)
    subgroups: Any = None if by is None else _subgroups(loaded.frame, by)
    if holds_scores(loaded, [subject.predictions]):
        stakes = stakes.for_scores()
        if by is not None and stakes.by_policy:
            raise TableError("--by needs predicted classes: give --threshold.")
    judging = _judging(loaded, stakes, numbers)
    column = str(subject.predictions)
    judged: Any = saved
    if loaded.lazy is not None:
        subgroups = by
        if saved is None:
            require_column(loaded.frame, column, "--predictions")
        judged = judging.of_parts(column if saved is None else saved)
    else:
        judged = judging.of_column(column, "--predictions") if saved is None else judging.of_model(saved)
    assumptions = assumed.listed(loaded.classes)
    with working():
        quick_checks(loaded, assumptions, fitting.seed)
        results = evaluate(
            judged,
            loaded.data,
            metric=list(stakes.metrics),
            assumption=assumptions,
            by=subgroups,
            pos_label=judging.pos_label,
            cost=stakes.cost,
            **numbers.keywords,
            **fitting.keywords,
        )
    assert isinstance(results, Evaluations)  # a list of metrics gives several
    notes = _notes(saved, subject, loaded.prepared)
    return evaluate_view(loaded, subject.described, results, notes, stakes)


def climb(
    source: Source, subject: SubjectOptions, numbers: NumberOptions, fitting: FittingOptions, assumed: Assumed
) -> View:
    """One metric of predictions or a model, from assuming nothing to all that was given."""
    metrics = numbers.metric or ["accuracy"]
    if len(metrics) > 1:
        raise TableError("ladder takes one --metric.")
    require_metrics(metrics, None)
    require_level(numbers.confidence_level)
    saved, loaded = _load(source, subject, lazily=True)
    judging = _judging(loaded, Stakes.read(metrics, CutOptions()), numbers)
    column, prepared = str(subject.predictions), loaded.prepared
    judged: Any = saved
    if saved is None and loaded.lazy is not None:
        require_column(loaded.frame, column, "--predictions")
        judged = column
    elif saved is None:
        judged = judging.of_column(column, "--predictions")
    with working():
        found = ladder(
            judged,
            loaded.data,
            assumptions=[*assumed.one_by_one(judging.classes), *assumed.names],
            metric=metrics[0],
            pos_label=judging.pos_label,
            **numbers.keywords,
            **fitting.keywords,
        )
    return ladder_view(loaded, subject.described, found, _notes(saved, subject, prepared))


def _load(
    source: Source, subject: SubjectOptions, *, lazily: bool = False
) -> tuple[SavedModel | None, Loaded]:
    """The model to be judged, if it is one, and the table."""
    saved = None if subject.model is None else load_model(subject.model)
    loaded = source.load([] if saved is None else [saved], [subject.predictions], lazily=lazily)
    return saved, loaded


def _judging(loaded: Loaded, stakes: Stakes, numbers: NumberOptions, team: str | None = None) -> Judging:
    classes = loaded.classes
    stakes.require_classes(classes)
    if loaded.lazy is not None and stakes.cut.threshold is not None and not stakes.by_policy:
        raise TableError(
            "Scores that are cut into classes need rows in memory; give predicted classes, or ask for "
            "metrics of accepted cases such as --metric failures."
        )
    return Judging(loaded, stakes, pos_label_of(numbers.pos_label, classes), team)


def _notes(saved: SavedModel | None, subject: SubjectOptions, prepared: PreparedTable) -> list[str]:
    return [] if saved is None else training_notes(saved, prepared, str(subject.model))


def _subgroups(frame: pd.DataFrame, by: str) -> pd.Series:
    require_column(frame, by, "--by")
    n_subgroups = frame[by].nunique()
    if n_subgroups > MAX_SUBGROUPS:
        raise TableError(
            f"--by {shown(by)} has {n_subgroups:,} values; give a column with {MAX_SUBGROUPS} at most."
        )
    return frame[by]


@dataclass(frozen=True)
class Contest:
    """What is set against what, and what the human has to say besides."""

    a: str
    b: str
    team: str | None = None


def set_against(
    source: Source,
    contest: Contest,
    asked: tuple[NumberOptions, CutOptions],
    fitting: FittingOptions,
    assumed: Assumed,
) -> View:
    """Compare two."""
    numbers, cut = asked
    stakes = _stakes_of(contest, numbers, cut)
    require_level(numbers.confidence_level)
    names = (contest.a, contest.b)
    models = models_among(names)
    not_features = [*names, None if contest.team in TEAMS else contest.team]
    loaded = source.load(list(models.values()), not_features, lazily=True)
    if holds_scores(loaded, names):
        stakes = one_measure(stakes.for_scores())
    judging = _judging(loaded, stakes, numbers, contest.team)
    first, second = (
        contender(judging, name, option, models, with_team=option == "--a")
        for name, option in zip(names, ("--a", "--b"), strict=True)
    )
    assumption = assumed.listed(loaded.classes)[0]
    with working():
        quick_checks(loaded, [assumption], fitting.seed)
        result = compare(
            first,
            second,
            loaded.data,
            metric=stakes.metrics[0],
            assumption=assumption,
            pos_label=judging.pos_label,
            cost=stakes.cost,
            **numbers.keywords,
            **fitting.keywords,
        )
    called = (
        described(contest.a, cut, stakes.by_policy, contest.team),
        contest.b if contest.b == HUMAN else described(contest.b, cut, stakes.by_policy),
    )
    notes = [note for name, saved in models.items() for note in training_notes(saved, loaded.prepared, name)]
    said = [*team_sentence(contest.team), *(stakes.sentences(loaded.classes) if stakes.by_policy else [])]
    return compare_view(loaded, replace(result, a=called[0], b=called[1]), notes, said)


def _stakes_of(contest: Contest, numbers: NumberOptions, cut: CutOptions) -> Stakes:
    """One metric; against the human, and with the human, cases are accepted or refused."""
    metrics = numbers.metric or []
    if len(metrics) > 1:
        raise TableError("compare takes one --metric.")
    return one_measure(Stakes.read(metrics, cut, human=contest.team is not None or contest.b == HUMAN))


def quick_checks(loaded: Loaded, assumptions: Sequence[str | Assumption], seed: int) -> None:
    """Warn if a quick check refuses what numbers are about to rest on: how cases reach decision-makers."""
    if not any(named(each).needs_decision_makers for each in assumptions):
        return
    data = loaded.prepared.data
    if loaded.lazy is not None or data.n_decision_makers < 2 or data.decision.all():
        return
    found = quick_assignment(data, seed)
    if found.status in ("warning", "violated"):
        text = f"({found.name}, {found.status}): {found.message} {found.advice} See selective-labels check."
        warnings.warn(DiagnosticWarning(found.code, text), stacklevel=2)


def training_notes(saved: SavedModel, prepared: PreparedTable, name: str) -> list[str]:
    """Say how many of the rows that a model was trained on are judged here."""
    share = training_share(saved, prepared)
    if share == 0:
        return []
    return [
        f"About {share:.0%} of the rows that {name} was trained on are in this table, so its numbers here "
        "are too good; judge it on other cases."
    ]


def training_share(saved: SavedModel, prepared: PreparedTable) -> float:
    """Share of a model's training rows that are in a table."""
    features = saved.schema.read(prepared.X)
    return saved.schema.share_of_training_rows(features, prepared.recognised_by)
