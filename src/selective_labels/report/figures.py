"""Charts with their numbers in a table beside them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from selective_labels.report import wording
from selective_labels.report.bar_chart import bar_chart
from selective_labels.report.interval_chart import Row, interval_chart
from selective_labels.report.numbers import (
    ENDS,
    NOTHING,
    confidence,
    count,
    cut,
    identified,
    is_difference,
    is_share,
    number,
    percent,
    percent_tick,
)
from selective_labels.report.svg import Scale, round_scale

Result = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A chart and all its numbers.

    Attributes
    ----------
    title : str
    chart : str
        SVG.
    headings : tuple of str
    rows : sequence of tuple of str
        The table.
    note : str
    """

    title: str
    chart: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""


@dataclass(frozen=True)
class Entry:
    """One result in a figure of intervals: whose it is, and how it is drawn."""

    label: str
    result: Result
    kind: str = "plain"
    faint: bool = False
    seen: float | None = None


def interval_figure(title: str, entries: Sequence[Entry], note: str = "") -> Figure:
    """Intervals of one metric, under headings that name the assumption.

    Examples
    --------
    >>> result = {"metric": "tpr", "assumption": "none", "lower": 0.2, "upper": 0.6, "ci_lower": 0.1,
    ...           "ci_upper": 0.7, "confidence_level": 0.95, "limits": [0.0, 1.0]}
    >>> interval_figure("Rate", [Entry("model", result)]).rows
    [('Nothing assumed', 'model', '20.0% to 60.0%', '10.0% to 70.0%')]
    """
    results = [entry.result for entry in entries]
    rows = [*_seen_rows(entries), *(_table_row(entry) for entry in entries)]
    chart = interval_chart(
        [_row(entry) for entry in entries],
        title,
        scale_of(results),
        tick_text(results[0]),
        zero=is_difference(results[0]),
    )
    headings = ("Assumption", "Whose", "Identified", f"{100 * results[0]['confidence_level']:g}% interval")
    return Figure(title, chart, headings, rows, " ".join([*([note] if note else []), *_reasons(entries)]))


def _seen_rows(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    """What the labeled cases alone say, once for each of those it is said about."""
    seen = {cut(entry.label): (entry.seen, entry.result) for entry in entries if entry.seen is not None}
    return [
        ("Labeled cases only", label, percent(value) if is_share(result) else number(value), NOTHING)
        for label, (value, result) in seen.items()
    ]


def _reasons(entries: Sequence[Entry]) -> list[str]:
    """Why numbers are missing, said once for each result."""
    missing = ((cut(entry.label), entry.result.get("reason")) for entry in entries)
    return list(dict.fromkeys(f"{label}: {reason}" for label, reason in missing if reason))


def bar_figure(feature: Result, what: str) -> Figure:
    """Shares over the bins of one feature.

    Examples
    --------
    >>> feature = {"feature": "age", "kind": "number", "bins": [{"label": "old", "n": 10, "share": 0.5}]}
    >>> bar_figure(feature, "Decided").rows
    [('old', '10', '50.0%')]
    """
    title = f"{what}, by {cut(feature['feature'])}"
    rows = [(cut(each["label"]), count(each["n"]), percent(each["share"])) for each in feature["bins"]]
    headings = (cut(feature["feature"]), "Cases", what)
    return Figure(cut(feature["feature"]), bar_chart(feature["bins"], title), headings, rows)


def _row(entry: Entry) -> Row:
    result = entry.result
    heading = wording.assumption(result["assumption"]).title
    if entry.faint:
        heading += " (may not be used here)"
    ends = {end: result[end] for end in ENDS}
    return Row(entry.label, identified(result), ends, entry.kind, heading, entry.faint, entry.seen)


def _table_row(entry: Entry) -> tuple[str, ...]:
    title = wording.assumption(entry.result["assumption"]).title
    return title, cut(entry.label), identified(entry.result), confidence(entry.result)


def scale_of(results: Sequence[Result]) -> Scale:
    """Shares run from 0 to 1, so that charts can be compared; others over what there is, and zero."""
    if is_share(results[0]) and not is_difference(results[0]):
        return Scale(0.0, 1.0)
    return round_scale([0.0, *(result[end] for result in results for end in ENDS)])


def tick_text(result: Result) -> Callable[[float], str]:
    """How ticks of a metric are written: percentages of shares, points of their differences."""
    if not is_share(result):
        return number
    return _points_tick if is_difference(result) else percent_tick


def _points_tick(value: float) -> str:
    return f"{100.0 * value:+.3g}".replace("-", "−").replace("+0", "0")
