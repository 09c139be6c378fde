"""Write the report section by section, so that an interrupted run can resume."""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from selective_labels.assumptions.parse import Assumed
from selective_labels.cli.console import say, working
from selective_labels.cli.inputs import Loaded, Source, costs_of, read_costs, require_metrics, training_share
from selective_labels.cli.options import FittingOptions, PageOptions, SubjectOptions
from selective_labels.cli.output import View, report_view
from selective_labels.io.files import SectionStore, fingerprint, require_writable, write_whole
from selective_labels.io.model_file import load_model
from selective_labels.io.prepare import (
    PreparedTable,
    classes_of,
    numbers_of,
    pos_label_of,
    predictions_of,
    subgroups_of,
)
from selective_labels.io.table_roles import require_column
from selective_labels.report.assess import assess
from selective_labels.report.document import TableDescription
from selective_labels.report.markdown import render_markdown
from selective_labels.report.render import render, render_pdf, require_browser


@dataclass(frozen=True)
class Page:
    """Content of a report and the file to write."""

    out: Path
    typed: str
    shown: PageOptions
    assumed: Assumed


def write_report(source: Source, subject: SubjectOptions, fitting: FittingOptions, page: Page) -> View:
    """Assess the table, render the page, and write it completely or not at all."""
    require_writable(page.out)
    given = read_costs(page.shown)
    require_metrics(page.shown.metric or (), given)
    if page.out.suffix.lower() == ".pdf":
        require_browser()
    saved = None if subject.model is None else load_model(subject.model)
    shown = page.shown
    taken = [subject.predictions, shown.period, shown.advice, shown.shown]
    loaded = source.load([] if saved is None else [saved], taken)
    prepared = loaded.prepared
    event = pos_label_of(page.shown.pos_label, prepared.data.classes)
    cost = costs_of(given, loaded, event)
    columns: dict[str, Any] = {"by": subgroups_of(loaded.frame, page.shown.by or [])}
    if subject.predictions is not None:
        values = predictions_of(loaded.frame, subject.predictions)
        classes = classes_of(values, prepared.data.classes)
        columns["predictions"] = (
            numbers_of(values, subject.predictions, "--predictions") if classes is None else classes
        )
    if page.shown.period is not None:
        require_column(loaded.frame, page.shown.period, "--period")
        columns["period"] = loaded.frame[page.shown.period]
    for name in ("advice", "shown", "disparity"):
        if (column := getattr(shown, name)) is not None:
            require_column(loaded.frame, column, f"--{name}")
            columns[name] = loaded.frame[column]
    settings: dict[str, Any] = {
        "high": None if shown.high is None else shown.high.value,
        "deciders": None if shown.deciders is None else shown.deciders.value,
        "every": None if page.shown.every is None else page.shown.every.value,
        **fitting.keywords,
        "metric": page.shown.metric,
        "pos_label": event,
        "trained_elsewhere": saved is not None and training_share(saved, prepared) == 0,
        "cost": cost,
        "threshold": page.shown.threshold,
        "cases_per_year": page.shown.cases_per_year,
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
            description=_description(_named(source.name, loaded), loaded, page, subject),
            sections=store,
        )
        content = _rendered(document, page.out.suffix.lower())
    write_whole(page.out, content)
    store.remove()
    return report_view(document, page.out, len(content))


def _rendered(document: dict[str, Any], suffix: str) -> bytes:
    """The document as HTML, or as Markdown or PDF if the file name says so."""
    if suffix in (".md", ".markdown"):
        return render_markdown(document).encode("utf-8", "replace")
    page = render(document)
    return render_pdf(page) if suffix == ".pdf" else page.encode()


def _fingerprint(
    prepared: PreparedTable, columns: dict[str, Any], settings: dict[str, Any], model: Path | None
) -> str:
    """Fingerprint of everything that the sections depend on, which excludes the number of processes."""
    tables = [prepared.X, *(pd.DataFrame(column) for column in prepared.columns.values())]
    tables += [pd.DataFrame(values) for values in columns.values() if values is not None]
    kept = {name: value for name, value in settings.items() if name != "n_jobs"}
    kept["vocabulary"] = asdict(prepared.data.vocabulary)
    kept["share_labels"] = prepared.data.panels is not None
    content = None if model is None else hashlib.sha256(model.read_bytes()).hexdigest()
    return fingerprint(tables, kept | {"model": content})


def _named(source: str, loaded: Loaded) -> str:
    """Name of the table; for a table in partitions also how many of its rows the page uses."""
    name = "standard input" if source == "-" else Path(source).name
    if loaded.lazy is None:
        return name
    return f"{name} ({len(loaded.frame):,} of its {len(loaded.lazy):,} cases, drawn by hash)"


def _description(source: str, loaded: Loaded, page: Page, subject: SubjectOptions) -> TableDescription:
    prepared = loaded.prepared
    return TableDescription(
        source=source,
        title=page.shown.title,
        command=page.typed,
        roles=prepared.roles.to_dict(),
        rule=subject.predictions or (None if subject.model is None else subject.model.name),
        features=tuple(prepared.kinds.items()),
        left_out=tuple((each.name, each.reason) for each in prepared.left_out),
        notes=loaded.notes,
    )
