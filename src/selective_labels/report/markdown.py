"""The report as Markdown: the texts and tables of the page, without its charts."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from selective_labels._display import markdown_table
from selective_labels.report.figures import drift_figures
from selective_labels.report.page import (
    answer_figures,
    assumption_cards,
    comparator_rows,
    comparison_figure,
    explorer_panels,
    is_missing,
    ladder_figures,
    metric_figures,
    model_names,
    section,
    sensitivity_figure,
    subgroup_figures,
    team_rows,
    usable_gaps,
)
from selective_labels.report.wording import (
    NOTHING,
    PEOPLE,
    capital,
    count,
    number,
    p_value,
    percent,
    say,
    sentence,
    span,
    vocabulary_of,
    words_of,
)

Document = Mapping[str, Any]
SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>|#"})


def render_markdown(document: Document) -> str:
    r"""Render an assessment as Markdown.

    Parameters
    ----------
    document : mapping
        The document that :func:`selective_labels.assess` returns.

    Examples
    --------
    >>> print(render_markdown({"schema_version": 2, "title": "A | title"}).splitlines()[0])
    # A \| title
    """
    words = words_of(document)
    parts = [
        f"# {escaped(document['title'])}",
        *_answer(document),
        *_part(document, "acceptance", "What if you accepted more, or others?", _acceptance),
        *_part(document, "team", f"{capital(words['makers'])}, score, or both?", _team),
        *_part(document, "diagnosis", "What may be assumed", _assumed),
        *_part(document, "ladder", "What each assumption buys", _ladder),
        *_part(document, "models", "How good, on everybody", _quality),
        *_part(document, "comparison", "The two rules against each other", _comparison),
        *_part(document, "comparators", "Comparison with common practice", _comparators),
        *_part(document, "outlook", "What would settle it", _outlook),
        *(_part(document, "drift", "Over time", _drift) if "drift" in document else []),
        *_part(document, "subgroups", "Subgroups", _subgroups),
        *(
            line
            for name, heading in PEOPLE.items()
            if name in document
            for line in _part(document, name, heading, partial(_people, name))
        ),
        *_part(document, "sensitivity", "If the assumption is not quite true", _sensitivity),
        *_part(document, "diagnosis", "Appendix: all checks", _checks),
        *_made(document),
    ]
    return vocabulary_of(document).say("\n\n".join(parts)) + "\n"


def escaped(text: Any) -> str:
    r"""Escape the characters that have a meaning in Markdown.

    Examples
    --------
    >>> print(escaped("a|b *c* <d>"))
    a\|b \*c\* \<d\>
    """
    return sentence(text).translate(SPECIAL)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of text.

    Examples
    --------
    >>> print(table(["a", "b"], [("1", "2")]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    return markdown_table([*map(escaped, headings)], [[*map(escaped, row)] for row in rows])


def _answer(document: Document) -> list[str]:
    summary, answers = section(document, "summary"), section(document, "answers")
    parts = []
    if not is_missing(summary):
        parts.append(f"**{escaped(summary['headline'])}**")
    if not is_missing(answers):
        parts += [table(figure.headings, figure.rows) for figure in answer_figures(document)]
    if is_missing(summary):
        return [*parts, escaped(summary["missing"])]
    return [
        *parts,
        "## What this assumes",
        _list(summary["assumed"]),
        "## What to do next",
        _list(summary["next"] or ["Nothing is left open by missing outcomes."]),
        "## In more words",
        _list(summary["sentences"]),
        "## What this report does not say",
        _list(say(each, words_of(document)) for each in summary["does_not_say"]),
    ]


def _part(document: Document, name: str, heading: str, show: Any) -> list[str]:
    part = section(document, name)
    shown = [escaped(part["missing"])] if is_missing(part) else show(document)
    return [f"## {escaped(heading)}", *shown]


def _acceptance(document: Document) -> list[str]:
    parts = [f"Now {percent(document['acceptance']['present'])} of the cases are accepted."]
    for panel in explorer_panels(document):
        parts += [f"### {escaped(panel['name'])}", table(panel["headings"], panel["rows"])]
    return parts


def _team(document: Document) -> list[str]:
    columns = {
        "who": "Who decides",
        "accepted": "Accepted",
        "event": say("{event} among them", words_of(document)),
        "money": "Cost a case",
        "difference": "Difference",
        "verdict": "Than now",
    }
    if document["team"]["measure"] != "cost":
        del columns["money"]
    return [table([*columns.values()], ([row[name] for name in columns] for row in team_rows(document)))]


def _assumed(document: Document) -> list[str]:
    words = words_of(document)
    return [
        _list(
            f"{card.title}. {card.status}{' (used at the top)' if card.used else ''}: "
            f"{say(card.meaning, words)} {say(card.note, words)}".strip()
            for card in assumption_cards(document["diagnosis"])
        )
    ]


def _quality(document: Document) -> list[str]:
    parts = []
    for figure in metric_figures(document):
        parts += [f"### {escaped(figure.title)}", table(figure.headings, figure.rows)]
    return parts


def _ladder(document: Document) -> list[str]:
    part, parts = document["ladder"], []
    for climbed, figure in zip(part["ladders"], ladder_figures(part), strict=True):
        parts += [f"### {escaped(figure.title)}", escaped(climbed["takeaway"])]
        parts.append(table(figure.headings, figure.rows))
    return [each for each in parts if each]


def _comparison(document: Document) -> list[str]:
    figure = comparison_figure(document)
    return [f"### {escaped(figure.title)}", escaped(figure.note), table(figure.headings, figure.rows)]


def _drift(document: Document) -> list[str]:
    part, parts = document["drift"], []
    for figure in drift_figures(part):
        parts += [f"### {escaped(figure.title)}", table(figure.headings, figure.rows)]
    return [escaped(" ".join(part["sentences"])), *parts]


def _people(name: str, document: Document) -> list[str]:
    part = document[name]
    tables = [table(each["headings"], each["rows"]) for each in part["tables"]]
    return [_list(say(line, words_of(document)) for line in part["sentences"]), *tables]


def _subgroups(document: Document) -> list[str]:
    names, words, parts, column = model_names(document), words_of(document), [], None
    for part in document["subgroups"]:
        if part["column"] != column:
            column = part["column"]
            headings = (
                column,
                "Cases",
                capital(words["accepted"]),
                say("{event} among them", words),
                "Interval",
            )
            parts += [f"### By {escaped(column)}", table(headings, map(_seen_row, part["seen"]))]
        parts.append(f"#### {escaped(names.get(part['model'], part['model']))}, on everybody")
        parts.append(_list(usable_gaps(part) or ["No gap is known well enough to use."]))
        for figures in subgroup_figures(part, document):
            for figure in figures:
                parts += [f"##### {escaped(figure.title)}", table(figure.headings, figure.rows)]
    return parts


def _seen_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    event = row["event"]
    interval = span(event["ci_lower"], event["ci_upper"])
    return row["subgroup"], count(row["n"]), percent(row["accepted"]), percent(event["lower"]), interval


def _sensitivity(document: Document) -> list[str]:
    part = document["sensitivity"]
    first, *others = part["sentences"]
    figure = sensitivity_figure(part)
    return [escaped(first), table(figure.headings, figure.rows), *([_list(others)] if others else [])]


def _comparators(document: Document) -> list[str]:
    headings = ("Way", "It assumes", "Claimed", "On everybody", "Minus ours", "Than ours")
    names = ("name", "assumes", "claims", "value", "difference", "verdict")
    return [table(headings, ([row[name] for name in names] for row in comparator_rows(document)))]


def _outlook(document: Document) -> list[str]:
    part, words = document["outlook"], words_of(document)
    rows = [(say(row["way"], words), number(row["bounds"]), number(row["interval"])) for row in part["ways"]]
    return [
        escaped(part["question"]),
        table(("Way", "Left open by the assumption", "Interval"), rows),
        *(escaped(say(answer, words)) for answer in part["answers"]),
    ]


def _checks(document: Document) -> list[str]:
    rows = [
        (each["code"], each["name"], each["status"], each["message"], p_value(each["p_value"]))
        for each in document["diagnosis"]["checks"]
    ]
    return [table(("Code", "Check", "Status", "Finding", "p-value"), rows)]


def _made(document: Document) -> list[str]:
    data = section(document, "data")
    facts = [
        f"Made by selective-labels {document.get('package_version', NOTHING)}, {document.get('created', '')}."
    ]
    if not is_missing(data):
        facts.append(
            f"{data['source']}: {count(data['n_cases'])} cases, {count(data['n_labeled'])} with a label."
        )
        facts += data["notes"]
    command = document.get("command")
    return ["## How it was made", _list(facts), *([f"    {sentence(command)}"] if command else [])]


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(line)}" for line in lines)
