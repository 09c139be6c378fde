"""The ladder: intervals under assumptions from weak to strong, and what each rung adds."""

from collections.abc import Mapping
from typing import Any

from selective_labels.report import wording
from selective_labels.report.figures import Figure, scale_of, tick_text
from selective_labels.report.interval_chart import Row, interval_chart
from selective_labels.report.numbers import ENDS, confidence, cut, identified, number, points

CONTRADICTED = "contradicted by the data"


def ladder_figures(part: Mapping[str, Any]) -> list[Figure]:
    """One figure for each metric, the weakest assumption on top.

    Examples
    --------
    >>> ends = {"lower": 0.2, "upper": 0.6, "ci_lower": 0.1, "ci_upper": 0.7}
    >>> rung = {"title": "none", "adds": "none", "sentence": "nothing.", "contradicted": False, "width": 0.4,
    ...         "saved": None, "reason": None, **ends}
    >>> climbed = {"metric": "accuracy", "confidence_level": 0.95, "limits": [0.0, 1.0], "takeaway": "",
    ...            "rungs": [rung]}
    >>> ladder_figures({"model": "yours", "ladders": [climbed]})[0].rows
    [('1. none', 'nothing.', '20.0% to 60.0%', '10.0% to 70.0%', '–')]
    """
    return [_figure(each, part["model"]) for each in part["ladders"]]


def _figure(climbed: Mapping[str, Any], model: str) -> Figure:
    shared = {"metric": climbed["metric"], "limits": climbed["limits"]}
    rungs = [each | shared for each in climbed["rungs"]]
    about_cases = wording.is_about_cases(climbed["metric"])
    kind = "plain" if about_cases else model
    rows = [_row(place, each, kind) for place, each in enumerate(rungs, start=1)]
    title = wording.metric(climbed["metric"]).title
    chart = interval_chart(rows, title, scale_of(rungs), tick_text(rungs[0]))
    level = f"{100 * climbed['confidence_level']:g}% interval"
    headings = ("Assumption", "What it adds", "Identified", level, "Narrower by")
    return Figure(title, chart, headings, [_table_row(*each) for each in enumerate(rungs, start=1)])


def _row(place: int, rung: Mapping[str, Any], kind: str) -> Row:
    text = CONTRADICTED if rung["contradicted"] else identified(rung)
    ends = {end: rung[end] for end in ENDS}
    return Row(f"{place}. {cut(rung['title'], 80)}", text, ends, kind, faint=rung["contradicted"])


def _table_row(place: int, rung: Mapping[str, Any]) -> tuple[str, ...]:
    share = rung["limits"] == [0.0, 1.0]
    return (
        f"{place}. {cut(rung['title'], 80)}",
        rung["sentence"],
        CONTRADICTED if rung["contradicted"] else identified(rung),
        "no interval" if rung["contradicted"] else confidence(rung),
        (points(rung["saved"]) if share else number(rung["saved"])).replace("+", ""),
    )
