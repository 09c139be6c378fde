"""Results on standard output: tables for people, JSON or CSV for programs."""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from rich.text import Text

from selective_labels._display import Described, decimals
from selective_labels._errors import several, shown
from selective_labels.assumptions.base import VIOLATED, WARNING
from selective_labels.cli.console import spoken, warnings_told
from selective_labels.cli.inputs import Loaded, Stakes, described
from selective_labels.cli.options import Format
from selective_labels.cli.verdicts import (
    check_verdict,
    comparison_verdict,
    evaluation_verdict,
    ladder_verdict,
)
from selective_labels.diagnostics.results import CheckResult, Diagnosis, p_value_text, questions
from selective_labels.diagnostics.strength import HEADINGS as STRENGTH_HEADINGS
from selective_labels.estimators.ucl import UCLClassifier
from selective_labels.evaluation.display import ENDS, assumption_text, shared_notes, units_text
from selective_labels.evaluation.ladder import HEADINGS, Ladder
from selective_labels.evaluation.policy import COST
from selective_labels.evaluation.results import Comparison, Evaluation, Evaluations, plain
from selective_labels.io.files import csv_text

if TYPE_CHECKING:
    from selective_labels.cli.run_predict import Predicted

# Width of a line of results if standard output is not a terminal.
PLAIN_WIDTH = 120
LONGEST_CELL = 60
UNLIMITED = sys.maxsize
# Rows of a curve that are printed without --verbose.
PRINTED_ROWS = 10


@dataclass(frozen=True, eq=False)
class View:
    """The result of a command in all formats.

    Attributes
    ----------
    document : dict
        For JSON; ``docs/schemas`` describes it.
    rows : list of dict
        For CSV.
    verdict : str
        The line that answers, for people.
    parts : list
        Sentences and rich tables that follow it.
    details : list
        Further ones, shown on request.
    """

    document: dict[str, Any]
    rows: list[dict[str, Any]]
    verdict: str
    parts: list[Any] = field(default_factory=list)
    details: list[Any] = field(default_factory=list)


def show(view: View, format: Format, verbose: bool = False) -> None:
    """Print a result to standard output, the verdict first and in full."""
    if format == Format.JSON:
        document = view.document | {"warnings": warnings_told()}
        print(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2))
    elif format == Format.CSV:
        print(csv_text(view.rows), end="")
    else:
        console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH, highlight=False, emoji=False)
        for part in (view.verdict, *view.parts, *(view.details if verbose else [])):
            console.print(clean(part, UNLIMITED) if isinstance(part, str) else part)
        if view.details and not verbose:
            console.print("(--verbose: all details)", style="dim")


def clean(value: object, limit: int = LONGEST_CELL) -> Text:
    r"""Text for a cell: no control characters, no markup, shortened if long.

    Examples
    --------
    >>> clean("[red]\x1b[31mtext[/]").plain, clean("x" * 9, limit=3).plain
    ('[red][31mtext[/]', 'xxx…')
    """
    text = "".join(each for each in spoken(str(value)) if each.isprintable())
    return Text(text if len(text) <= limit else text[:limit] + "…")


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    title: str = "",
    right: str = "",
    limit: int = LONGEST_CELL,
) -> Table:
    """Make a rich table of cleaned cells.

    Parameters
    ----------
    rows : iterable of sequences
    right : str
        Headings of right-aligned columns, separated by spaces.
    limit : int
        Maximum length of a cell.
    """
    made = Table(title=spoken(title) or None, title_justify="left")
    for heading in headings:
        made.add_column(heading, justify="right" if heading in right.split() else "left", overflow="fold")
    for row in rows:
        made.add_row(*(clean(cell, limit) for cell in row))
    return made


def number(value: float | None) -> str:
    """Format a number for people; empty if there is none."""
    return "" if value is None else decimals(value)


SCHEMA_VERSION = 1


def _document(command: str, **contents: Any) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "package_version": version("selective-labels"),
        "command": command,
        **contents,
    }


def _data(loaded: Loaded) -> dict[str, Any]:
    prepared, labels = loaded.prepared, loaded.prepared.data
    return {
        "source": loaded.name,
        **_counts(loaded),
        "n_panels": None if labels.panels is None else labels.panels.n_panels,
        "classes": plain(loaded.classes.tolist()),
        "roles": prepared.roles.to_dict(),
        "features": [{"name": name, "kind": kind} for name, kind in prepared.kinds.items()],
        "left_out": [{"name": each.name, "reason": each.reason} for each in prepared.left_out],
        "decision_means": labels.decision_means,
        "readings": list(prepared.readings),
    }


def _counts(loaded: Loaded) -> dict[str, int]:
    """Counts of the whole table."""
    labels = loaded.prepared.data
    if loaded.lazy is not None:
        survey = loaded.lazy.survey()
        return {
            "n_cases": survey.n_rows,
            "n_labeled": survey.n_labeled,
            "n_ignored_labels": survey.n_ignored,
            "n_decision_makers": len(survey.decision_makers),
        }
    return {
        "n_cases": len(labels),
        "n_labeled": int(labels.decision.sum()),
        "n_ignored_labels": labels.n_ignored_labels,
        "n_decision_makers": labels.n_decision_makers if labels.panels is None else len(labels.panels.people),
    }


def _data_parts(loaded: Loaded) -> list[Any]:
    """Sentences about the table that precede every result."""
    prepared = loaded.prepared
    labels = prepared.data
    found = _counts(loaded)
    share = labels.decision.mean()
    kinds = list(prepared.kinds.values())
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    parts = [
        f"{found['n_cases']:,} cases, {found['n_labeled'] / found['n_cases']:.0%} with a label, "
        f"{found['n_decision_makers']:,} decision-makers, {len(kinds)} features ({counts})."
    ]
    if loaded.lazy is not None:
        what = (
            f"this is computed from {len(loaded.frame):,} of its cases, drawn by hash"
            if loaded.sampled
            else "models are fitted to some of its cases, drawn by hash, and all are scored"
        )
        parts.append(f"The table is in partitions; {what}.")
    if labels.panels is not None:
        parts = [
            f"{len(labels):,} rows, {share:.0%} with a label (shared within {shown(prepared.roles.groups)}), "
            f"{len(labels.panels.people):,} decision-makers in {labels.n_decision_makers:,} panels, "
            f"{len(kinds)} features ({counts})."
        ]
    elif prepared.sharing_suggested:
        parts.append(
            f"Several decision-makers saw the same {shown(prepared.roles.groups)}, and its labels agree; if "
            "the label belongs to it, --share-labels lets every row count it."
        )
    parts += loaded.notes
    parts += [f"Read: {each}" for each in prepared.readings]
    parts += [f"Left out: {each.name!r} {each.reason}." for each in prepared.left_out]
    if found["n_ignored_labels"]:
        parts.append(f"{found['n_ignored_labels']:,} labels where the decision is 0 are not read.")
    return parts


def check_view(loaded: Loaded, diagnosis: Diagnosis) -> View:
    """Checks and verdicts."""
    # Imported here, because the imports of reports would slow down other commands.
    from selective_labels.report.diagnosis import diagnosis_content

    content = diagnosis_content(diagnosis)
    remarkable = [each for each in diagnosis if each.status in (WARNING, VIOLATED)]
    verdicts = table(
        ("assumption", "may be used", "why"),
        (
            (words, "yes" if each["allowed"] else "no", each["reason"])
            for (_, _, words), each in zip(questions(), content["verdict"], strict=True)
        ),
        title="Verdict",
        limit=UNLIMITED,
    )
    found = Counter(each.status for each in diagnosis)
    counted = ", ".join(f"{n} {status}" for status, n in found.items())
    advice = [f"{each.code}: {each.advice}" for each in diagnosis if each.advice]
    document = _document("check", data=_data(loaded), **content)
    return View(
        document,
        content["checks"],
        check_verdict(content),
        [
            verdicts,
            f"{len(diagnosis)} checks: {counted}.",
            *([_findings(remarkable)] if remarkable else []),
            *advice,
            *_strength_parts(diagnosis),
            *_data_parts(loaded),
        ],
        [_findings(diagnosis)],
    )


def _findings(results: Iterable[CheckResult]) -> Table:
    return table(
        ("code", "check", "status", "p-value", "finding"),
        (
            (each.code, f"{each.family}: {each.name}", each.status, p_value_text(each.p_value), each.message)
            for each in results
        ),
        right="p-value",
        limit=UNLIMITED,
    )


def _strength_parts(diagnosis: Diagnosis) -> list[Any]:
    strength = diagnosis.strength
    if strength is None:
        return []
    shown = table(STRENGTH_HEADINGS, strength.rows, title=strength.heading, limit=600)
    return [shown, *strength.notes]


def fit_view(loaded: Loaded, model: UCLClassifier, path: Path) -> View:
    """Summary of the fitted model and where it is saved."""
    report = model.nuisance_report_
    facts = {
        "path": str(path),
        "mode": model.mode,
        "cost": None if model.cost is None else np.asarray(model.cost).tolist(),
        "estimator": model.estimator or "boosting",
        "assumption": None if model.assumption is None else model.assumption.name,
        "disagreement": plain(getattr(model, "disagreement_", None)),
        "learned": model.mode_,
        "reason": getattr(model, "mode_reason_", None),
        "instrument_part": plain(model.instrument_part_.gain) if model.mode == "auto" else None,
        "worst_case_regret": plain(model.worst_case_regret_),
        "worst_case_regret_upper": plain(model.worst_case_regret_upper_),
        "crossed_share": plain(model.crossed_share_),
        "shrinkage": plain(getattr(model, "shrinkage_", None)),
        "nuisance": {
            "chosen": report.chosen,
            "settings": report.settings,
            "losses": {name: plain(loss) for name, loss in report.losses.items()},
            "skipped": report.skipped,
            "calibration_error": plain(report.calibration_error),
            "n_arms": report.n_arms,
            "banded": report.banded,
        },
    }
    document = _document("fit", data=_data(loaded), model=facts)
    row = {name: value for name, value in facts.items() if name not in ("nuisance", "cost")}
    row |= {"nuisance": report.chosen}
    regret, limit = number(model.worst_case_regret_), number(model.worst_case_regret_upper_)
    condition = "decision-makers get comparable cases as if at random and do not change the outcome"
    if model.assumption is not None and model.mode != "auto":
        condition += " and what is assumed besides is true"
    verdict = (
        f"Saved: {path}. Worst-case regret: at most {limit} (95 % upper limit; estimate {regret}). If "
        f"{condition}, the rule costs no more than that above the best rule, whatever the unseen labels are."
    )
    parts = [
        *(f"Caution: {each}" for each in model.cautions_),
        *_assumed_of(model),
        f"Model of decision and label: {report.chosen} ({report.settings}).",
        *_data_parts(loaded),
    ]
    return View(document, [row], verdict, parts)


def _assumed_of(model: UCLClassifier) -> list[str]:
    """State the assumption of a rule, and how often it changes the prediction."""
    if model.mode == "auto":
        return [model.mode_reason_, str(model.instrument_part_)]
    if model.assumption is None:
        return []
    return [
        assumption_text(model.assumption.name, model.assumption.caption),
        f"The rule under the instrument alone predicts otherwise in {model.disagreement_:.0%} of the cases: "
        "there, what is assumed decides.",
    ]


def predict_view(source: str, model: Path, out: str, found: "Predicted", ignored: list[str]) -> View:
    """Number of predictions of each class, and problems found in the table."""
    ordered = sorted(found.classes.items(), key=lambda each: str(each))
    classes = [{"class": plain(name), "n": n} for name, n in ordered]
    document = _document(
        "predict",
        source=source,
        model=str(model),
        out=out,
        n_rows=found.n_rows,
        n_decided=found.n_decided,
        predictions=classes,
        columns=list(found.columns),
        ignored_columns=ignored,
        unseen_categories=[{"name": name, "n_rows": count} for name, count in found.unseen.items()],
    )
    parts: list[Any] = [
        table(
            ("prediction", "cases"), ((each["class"], f"{each['n']:,}") for each in classes), right="cases"
        ),
        *[
            f"Column {name!r}: {count:,} rows hold a category that training had not."
            for name, count in found.unseen.items()
        ],
    ]
    if ignored:
        parts.append(f"Columns that the model does not use: {several(ignored, 10)}.")
    verdict = (
        f"Saved: {out}. {found.n_rows:,} cases predicted; decided (only one class can be best): "
        f"{found.n_decided / max(found.n_rows, 1):.0%}."
    )
    return View(document, classes, verdict, parts)


def evaluate_view(
    loaded: Loaded, subject: dict[str, str], results: Evaluations, notes: list[str], policy_measures: Stakes
) -> View:
    """Bounds and confidence intervals, each with its assumption."""
    gaps = [] if results.gaps is None else list(results.gaps)
    document = _document(
        "evaluate",
        data=_data(loaded),
        subject=subject,
        evaluations=[each.to_dict() for each in results],
        gaps=[each.to_dict() for each in gaps],
        cut={"threshold": policy_measures.cut.threshold, "acceptance": policy_measures.cut.acceptance},
        cost=None if policy_measures.cost is None else policy_measures.cost.tolist(),
        directions=policy_measures.directions(loaded.classes),
        notes=notes,
    )
    rows = [*results.to_frame().to_dict("records"), *Evaluations(tuple(gaps)).to_frame().to_dict("records")]
    sentences = {each.assumption: each.sample.sentence for each in results}
    assumed = [assumption_text(name, sentence) for name, sentence in sentences.items()]
    shown = [*results, *gaps]
    parts = [_intervals(shown), *_said(shown), *assumed, *notes, *_data_parts(loaded)]
    main = COST if policy_measures.by_default and policy_measures.cost is not None else None
    verdict = evaluation_verdict(results, described(subject["name"], policy_measures), main)
    return View(document, _plain_rows(rows), verdict, parts, policy_measures.sentences(loaded.classes))


def ladder_view(loaded: Loaded, subject: dict[str, str], found: Ladder, notes: list[str]) -> View:
    """Steps of the ladder, the assumption that each adds, and which of them the data contradict."""
    first = found[0].evaluation
    rows = [{name: plain(value) for name, value in rung.to_dict().items()} for rung in found]
    document = _document(
        "ladder",
        data=_data(loaded),
        subject=subject,
        metric=first.metric,
        interval=first.interval,
        confidence_level=first.confidence_level,
        rungs=rows,
        notes=notes,
    )
    shown = table(HEADINGS, found.rows(), title=first.metric, right="lower upper width saved", limit=200)
    parts = [shown, *found.sentences(), *notes, *_data_parts(loaded)]
    return View(document, rows, ladder_verdict(found), parts)


def curve_view(
    command: str,
    loaded: Loaded,
    content: dict[str, Any],
    rows: list[dict[str, Any]],
    found: Described,
    verdict: str,
    said: Sequence[str] = (),
) -> View:
    """A curve or a plan as text, and its numbers; `said` are the sentences that are not mere details."""
    document = _document(command, data=_data(loaded), **content)
    sentences = [each for each in found.sentences() if each != verdict]
    kept: list[Any] = [
        each for each in sentences if each in said or each.startswith(("Caution", "Assumption"))
    ]
    details: list[Any] = [each for each in sentences if each not in kept]
    shown, every = found.shown_parts(PRINTED_ROWS), found.printed_parts()
    if sum(map(len, shown)) < sum(map(len, every)):
        details = [*_tables(found.title, every), *details]
    parts: list[Any] = [*_tables(found.title, shown), *kept, *_data_parts(loaded)]
    return View(document, rows, verdict, parts, details)


def _tables(title: str, frames: Sequence[pd.DataFrame]) -> list[Table]:
    """Frames as tables, the first with a title."""
    made = []
    for place, frame in enumerate(frames):
        cells = [
            [number(each) if isinstance(each, float) else each for each in row]
            for row in frame.to_numpy().tolist()
        ]
        columns = [str(name) for name in frame.columns]
        made.append(table(columns, cells, title="" if place else title, limit=200))
    return made


def compare_view(loaded: Loaded, result: Comparison, notes: list[str], said: Sequence[str] = ()) -> View:
    """The difference, and the verdict."""
    values = result.to_dict()
    document = _document("compare", data=_data(loaded), comparison=values, notes=notes)
    parts = [
        _intervals([result]),
        _direction_of(result),
        *_said([result]),
        assumption_text(result.assumption, result.sample.sentence),
        *notes,
        *_data_parts(loaded),
    ]
    row = {name: value for name, value in values.items() if not isinstance(value, list)}
    return View(document, [row], comparison_verdict(result), parts, [*said, *result.remarks[1:]])


def _direction_of(result: Comparison) -> str:
    """State which sign of a difference is better."""
    way, side = ("higher", "above") if result.greater_is_better else ("lower", "below")
    return f"Numbers are a minus b; {way} is better, so an interval {side} zero speaks for a."


def report_view(document: dict[str, Any], out: Path, n_bytes: int) -> View:
    """Summary of the page and where it is saved."""
    summary = document["summary"]
    saved = f"Saved: {out} ({n_bytes / 1e6:.1f} MB); open it in a browser."
    models = document["models"] if isinstance(document["models"], list) else []
    rows = [
        {"model": model["key"], **{name: each[name] for name in ("metric", "assumption", *ENDS)}}
        for model in models
        for each in model["evaluations"]
    ]
    if "missing" in summary:
        return View(document, rows, summary["missing"], [saved])
    parts = [*summary["assumed"], *summary["next"], saved]
    return View(document, rows, summary["headline"], parts, summary["sentences"])


def _intervals(results: list[Evaluation] | list[Comparison]) -> Any:
    level = f"{100 * results[0].confidence_level:.4g} % interval" if results else "interval"
    return table(
        ("metric", "assumption", "lower", "upper", level),
        (
            (
                each.title,
                each.assumption,
                number(each.lower) if each.defined else "none",
                number(each.upper) if each.defined else "none",
                f"[{number(each.ci_lower)}, {number(each.ci_upper)}]"
                if np.isfinite(each.ci_lower)
                else "none",
            )
            for each in results
        ),
        right="lower upper",
        limit=200,
    )


def _said(results: list[Evaluation] | list[Comparison]) -> list[str]:
    """Notes on results: why a number is missing, and the independent units of standard errors."""
    units = dict.fromkeys(units_text(each.sample.cluster, each.sample.n_clusters) for each in results)
    return [*shared_notes(results), *(f"Units: {each}." for each in units if each)]


def _plain_rows(rows: list[dict[Any, Any]]) -> list[dict[str, Any]]:
    return [
        {
            str(name): None if isinstance(value, float) and np.isnan(value) else value
            for name, value in row.items()
        }
        for row in rows
    ]
