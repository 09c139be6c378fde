"""What the explorer of acceptance rates and the table of teams show; all numbers come from the document."""

from collections.abc import Mapping
from typing import Any

from selective_labels.report import wording
from selective_labels.report.acceptance_chart import acceptance_chart
from selective_labels.report.numbers import Show, number, percent, points, span
from selective_labels.report.sections import is_missing, model_names, section
from selective_labels.report.speech import capital, say, words_of

Document = Mapping[str, Any]
MONEY = "cost"
VERDICTS = {"team": "lower", "human": "higher", "undecided": "undecided"}


def explorer_panels(document: Document) -> list[dict[str, Any]]:
    """What the explorer shows of each model that has scores, our own last."""
    names, part, words = model_names(document), document["acceptance"], words_of(document)
    return [
        {
            "name": names.get(model["key"], model["key"]),
            "model": model,
            "titles": {name: measure_title(name, words) for name in part["human"]},
            "charts": {name: _chart(document, model, name) for name in part["human"]},
            "headings": _headings(part, words),
            "rows": [_row(point, part) for point in model["points"]],
        }
        for model in part["models"]
    ]


def human_reading(document: Document) -> list[tuple[str, str]]:
    """The people's own figures: measure in words, value."""
    part, words = document["acceptance"], words_of(document)
    return [
        (measure_title(name, words), span(ends["lower"], ends["upper"], _show(name)))
        for name, ends in part["human"].items()
    ]


def team_rows(document: Document) -> list[dict[str, str]]:
    """Ways to share the work between people and score, each against the people alone."""
    part, words = document["team"], words_of(document)
    show = _show(part["measure"])
    rows = []
    for way in part["ways"]:
        values, found = way["values"], way["difference"]
        event = values["failure_rate"]
        money = values.get(MONEY)
        rows.append(
            {
                "who": capital(say(wording.WAYS.get(way["way"], way["way"]), words)),
                "accepted": percent(round(values["acceptance"]["lower"], 6)),
                "event": span(event["lower"], event["upper"]),
                "money": "" if money is None else span(money["lower"], money["upper"], number),
                "difference": "" if found is None else _difference(found, part["measure"], show),
                "verdict": "" if found is None else VERDICTS[found["verdict"]],
            }
        )
    return rows


def measure_title(name: str, words: Mapping[str, str]) -> str:
    """A measure of policies in the table's words."""
    return capital(say(wording.MEASURES[name].title, words))


def _difference(found: Mapping[str, Any], measure: str, show: Show) -> str:
    if measure == MONEY:
        return span(found["ci_lower"], found["ci_upper"], show)
    words = span(found["ci_lower"], found["ci_upper"], points)
    return f"{words} points" if found["ci_lower"] is not None else words


def _chart(document: Document, model: Mapping[str, Any], name: str) -> str:
    part, leniency = document["acceptance"], section(document, "leniency")
    makers: list[tuple[float, float]] = []
    if name == "failure_rate" and not is_missing(leniency):
        makers = [
            (each["leniency"], each["label_rate"])
            for each in leniency["decision_makers"]
            if each["label_rate"] is not None
        ]
    title = f"{measure_title(name, words_of(document))}, over all acceptance rates"
    return acceptance_chart(
        model["points"], name, model["start"], title, part["human"][name], part["present"], makers
    )


def _headings(part: Mapping[str, Any], words: Mapping[str, str]) -> tuple[str, ...]:
    titles = [measure_title(name, words) for name in part["human"]]
    return "Accepted", *(text for title in titles for text in (title, f"{title}, interval"))


def _row(point: Mapping[str, Any], part: Mapping[str, Any]) -> tuple[str, ...]:
    texts = [percent(point["rate"])]
    for name in part["human"]:
        ends, show = point[name], _show(name)
        texts += [span(ends["lower"], ends["upper"], show), span(ends["ci_lower"], ends["ci_upper"], show)]
    return tuple(texts)


def _show(measure: str) -> Show:
    return number if measure == MONEY else percent
