"""Evaluate one model, or two against each other, on a table."""

from dataclasses import replace
from typing import Any

import pandas as pd

from selective_labels.cli.assume import Assumed
from selective_labels.cli.console import working
from selective_labels.cli.inputs import (
    Loaded,
    Source,
    contestant,
    models_among,
    pos_label_of,
    predictions_of,
)
from selective_labels.cli.options import FittingOptions, NumberOptions, SubjectOptions
from selective_labels.cli.output import View
from selective_labels.cli.views import compare_view, evaluate_view, ladder_view
from selective_labels.curves import ladder
from selective_labels.evaluation import Evaluations, compare, evaluate
from selective_labels.saving import SavedModel, load_model
from selective_labels.support.words import shown
from selective_labels.tables import PreparedTable, TableError
from selective_labels.tables.roles import require_column

# More subgroups than this are no subgroups.
MAX_SUBGROUPS = 50


def judge(
    source: Source,
    subject: SubjectOptions,
    numbers: NumberOptions,
    fitting: FittingOptions,
    assumed: Assumed,
    by: str | None,
) -> View:
    """Evaluate predictions or a model."""
    loaded, judged = _load(source, subject, lazily=True)
    prepared = loaded.prepared
    subgroups: Any = None if by is None else _subgroups(loaded.frame, by)
    if loaded.lazy is not None:
        subgroups = by
    with working():
        results = evaluate(
            judged,
            loaded.data,
            metric=list(numbers.metric or ["accuracy"]),
            assumption=assumed.listed(loaded.classes),
            by=subgroups,
            pos_label=pos_label_of(numbers.pos_label, loaded.classes),
            **numbers.keywords,
            **fitting.keywords,
        )
    assert isinstance(results, Evaluations)  # a list of metrics gives several
    return evaluate_view(loaded, subject.described, results, _notes(judged, subject, prepared))


def climb(
    source: Source, subject: SubjectOptions, numbers: NumberOptions, fitting: FittingOptions, assumed: Assumed
) -> View:
    """One metric of predictions or a model, from assuming nothing to all that was given."""
    metrics = numbers.metric or ["accuracy"]
    if len(metrics) > 1:
        raise TableError("ladder takes one --metric.")
    loaded, judged = _load(source, subject)
    prepared = loaded.prepared
    classes = prepared.data.classes
    with working():
        found = ladder(
            judged,
            prepared.data,
            assumptions=[*assumed.one_by_one(classes), *assumed.names],
            metric=metrics[0],
            pos_label=pos_label_of(numbers.pos_label, classes),
            **numbers.keywords,
            **fitting.keywords,
        )
    return ladder_view(loaded, subject.described, found, _notes(judged, subject, prepared))


def _load(source: Source, subject: SubjectOptions, *, lazily: bool = False) -> tuple[Loaded, Any]:
    """The table, and the model or the predictions to be judged on it."""
    saved = None if subject.model is None else load_model(subject.model)
    loaded = source.load([] if saved is None else [saved], [subject.predictions], lazily=lazily)
    if saved is None and lazily and loaded.lazy is not None:
        require_column(loaded.frame, str(subject.predictions), "--predictions")
        return loaded, subject.predictions
    return loaded, (saved if saved is not None else predictions_of(loaded.frame, str(subject.predictions)))


def _notes(judged: Any, subject: SubjectOptions, prepared: PreparedTable) -> list[str]:
    return training_notes(judged, prepared, str(subject.model)) if isinstance(judged, SavedModel) else []


def _subgroups(frame: pd.DataFrame, by: str) -> pd.Series:
    require_column(frame, by, "--by")
    n_subgroups = frame[by].nunique()
    if n_subgroups > MAX_SUBGROUPS:
        raise TableError(
            f"--by {shown(by)} has {n_subgroups:,} values; give a column with {MAX_SUBGROUPS} at most."
        )
    return frame[by]


def set_against(
    source: Source,
    names: tuple[str, str],
    numbers: NumberOptions,
    fitting: FittingOptions,
    assumed: Assumed,
) -> View:
    """Compare two."""
    models = models_among(names)
    loaded = source.load(list(models.values()), names, lazily=True)
    prepared, classes = loaded.prepared, loaded.classes
    first, second = (
        name
        if loaded.lazy is not None and name in loaded.frame.columns
        else contestant(name, option, loaded.frame, classes, models)
        for name, option in zip(names, ("--a", "--b"), strict=True)
    )
    metrics = numbers.metric or []
    if len(metrics) > 1:
        raise TableError("compare takes one --metric.")
    with working():
        result = compare(
            first,
            second,
            loaded.data,
            metric=metrics[0] if metrics else None,
            assumption=assumed.listed(classes)[0],
            pos_label=pos_label_of(numbers.pos_label, classes),
            **numbers.keywords,
            **fitting.keywords,
        )
    notes = [note for name, saved in models.items() for note in training_notes(saved, prepared, name)]
    return compare_view(loaded, replace(result, a=names[0], b=names[1]), notes)


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
