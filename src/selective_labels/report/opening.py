"""The first screen: bars of what everybody's figure can be, with what the labeled cases say as a ring."""

from collections.abc import Mapping
from typing import Any

from selective_labels.report import wording
from selective_labels.report.figures import Figure
from selective_labels.report.interval_chart import Row, interval_chart
from selective_labels.report.numbers import (
    ENDS,
    confidence,
    cut,
    identified,
    is_share,
    number,
    percent,
    percent_tick,
)
from selective_labels.report.speech import words_of
from selective_labels.report.svg import Scale, round_scale

Document = Mapping[str, Any]


def answer_figures(document: Document) -> list[Figure]:
    """One figure of shares, and one of costs if the rules are judged by them."""
    answers, words = document["answers"], words_of(document)
    event = f"“{words['event']}”"
    others: list[tuple[str, Mapping[str, Any], str, str]] = []
    shares = [("everybody", answers["event"], "plain", f"How often: {event}")]
    for rule in answers["rules"]:
        is_a_share = is_share(rule["result"])
        heading = "How often right" if is_a_share else wording.metric(rule["result"]["metric"]).meaning
        (shares if is_a_share else others).append((cut(rule["name"]), rule, rule["key"], heading))
    figures = [_figure(f"{event} and the rules, on everybody", shares, words)]
    return figures + ([_figure("Mean cost of a case, on everybody", others, words)] if others else [])


def _figure(
    title: str, found: list[tuple[str, Mapping[str, Any], str, str]], words: Mapping[str, str]
) -> Figure:
    results = [each["result"] for _, each, *_ in found]
    shares = is_share(results[0])
    rows = [
        Row(
            name,
            _said(each["result"]),
            {end: each["result"][end] for end in ENDS},
            kind,
            heading,
            seen=each["labeled"],
        )
        for name, each, kind, heading in found
    ]
    values = [
        0.0,
        *(result[end] for result in results for end in ENDS),
        *(each["labeled"] for _, each, *_ in found),
    ]
    chart = interval_chart(
        rows,
        title,
        Scale(0.0, 1.0) if shares else round_scale(values),
        percent_tick if shares else number,
    )
    headings = ("Figure", f"Among the {words['accepted']}", "Everybody", "With the chance of the sample")
    show = percent if shares else number
    table = [
        (name, show(each["labeled"]), identified(each["result"]), confidence(each["result"]))
        for name, each, *_ in found
    ]
    return Figure(title, chart, headings, table)


def _said(result: Mapping[str, Any]) -> str:
    """The interval, as the headline says it; what is identified if there is none."""
    return identified(result) if result["ci_lower"] is None else confidence(result)
