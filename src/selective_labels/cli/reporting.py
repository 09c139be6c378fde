"""Make the report page, section by section, so that an interrupted one goes on where it stopped."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from selective_labels.assessment import TableDescription, assess
from selective_labels.cli.assume import Assumed
from selective_labels.cli.console import say, working
from selective_labels.cli.inputs import Source, pos_label_of, predictions_of, subgroups_of
from selective_labels.cli.judging import training_share
from selective_labels.cli.options import FittingOptions, PageOptions, SubjectOptions
from selective_labels.cli.output import View
from selective_labels.cli.stakes import read_cost, require_cost_of, require_metrics
from selective_labels.cli.subjects import classes_of, numbers_of
from selective_labels.cli.views import report_view
from selective_labels.report import render
from selective_labels.saving import load_model
from selective_labels.saving.atomic import require_writable, write_whole
from selective_labels.saving.sections import SectionStore, fingerprint
from selective_labels.tables import PreparedTable


@dataclass(frozen=True)
class Page:
    """What a report is to show, and where."""

    out: Path
    typed: str
    shown: PageOptions
    assumed: Assumed


def write_report(source: Source, subject: SubjectOptions, fitting: FittingOptions, page: Page) -> View:
    """Assess the table, render the page, write it whole."""
    require_writable(page.out)
    cost = read_cost(page.shown.cost)
    require_metrics(page.shown.metric or (), cost)
    saved = None if subject.model is None else load_model(subject.model)
    loaded = source.load([] if saved is None else [saved], [subject.predictions])
    prepared = loaded.prepared
    require_cost_of(cost, prepared.data.classes)
    columns: dict[str, Any] = {"by": subgroups_of(loaded.frame, page.shown.by or [])}
    if subject.predictions is not None:
        values = predictions_of(loaded.frame, subject.predictions)
        classes = classes_of(values, prepared.data.classes)
        columns["predictions"] = (
            numbers_of(values, subject.predictions, "--predictions") if classes is None else classes
        )
    settings: dict[str, Any] = {
        **fitting.keywords,
        "metric": page.shown.metric,
        "pos_label": pos_label_of(page.shown.pos_label, prepared.data.classes),
        "trained_elsewhere": saved is not None and training_share(saved, prepared) == 0,
        "cost": cost,
        "assumptions": page.assumed.one_by_one(prepared.data.classes),
    }
    store = SectionStore(page.out, _fingerprint(prepared, columns, settings, subject.model))
    if store.names:
        say("Resuming", f"{len(store.names)} finished sections of an interrupted run are used again.")
    with working():
        document = assess(
            prepared.data,
            **columns,
            **settings,
            model=saved,
            description=_description(source.name, prepared, page),
            sections=store,
        )
        html = render(document)
    write_whole(page.out, html)
    store.remove()
    return report_view(document, page.out, len(html.encode()))


def _fingerprint(
    prepared: PreparedTable, columns: dict[str, Any], settings: dict[str, Any], model: Path | None
) -> str:
    """Of everything that the sections depend on; how many processes work on them is not among it."""
    tables = [prepared.X, *(pd.DataFrame(column) for column in prepared.columns.values())]
    tables += [pd.DataFrame(values) for values in columns.values() if values is not None]
    kept = {name: value for name, value in settings.items() if name != "n_jobs"}
    kept["share_labels"] = prepared.data.panels is not None
    content = None if model is None else hashlib.sha256(model.read_bytes()).hexdigest()
    return fingerprint(tables, kept | {"model": content})


def _description(source: str, prepared: PreparedTable, page: Page) -> TableDescription:
    return TableDescription(
        source="standard input" if source == "-" else Path(source).name,
        title=page.shown.title,
        command=page.typed,
        roles=prepared.roles.to_dict(),
        features=tuple(prepared.kinds.items()),
        left_out=tuple((each.name, each.reason) for each in prepared.left_out),
    )
