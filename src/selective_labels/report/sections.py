"""What each section of the page shows, arranged for its template; all numbers come from the document."""

from collections.abc import Mapping, Sequence
from typing import Any

from selective_labels.report import wording
from selective_labels.report.figures import Entry, Figure, bar_figure, interval_figure
from selective_labels.report.leniency_charts import caterpillar, scatter
from selective_labels.report.numbers import confidence, count, cut, number, percent, span
from selective_labels.report.sensitivity_chart import sensitivity_chart
from selective_labels.report.speech import capital, say, words_of

Document = Mapping[str, Any]
NOT_COMPUTED = "This part was not computed."


def section(document: Document, name: str) -> Any:
    """Section of a document; one that is absent says so.

    Examples
    --------
    >>> section({}, "subgroups")
    {'missing': 'This part was not computed.'}
    """
    return document.get(name) or {"missing": NOT_COMPUTED}


def is_missing(part: Any) -> bool:
    """Whether a section holds only the reason why it is absent.

    Examples
    --------
    >>> is_missing({"missing": "One class was seen."}), is_missing([])
    (True, False)
    """
    return isinstance(part, Mapping) and "missing" in part


def model_names(document: Document) -> dict[str, str]:
    """Names of the models by key.

    Examples
    --------
    >>> model_names({"models": [{"key": "ours", "name": "UCL"}]})
    {'ours': 'UCL'}
    """
    models = section(document, "models")
    return {} if is_missing(models) else {each["key"]: cut(each["name"]) for each in models}


def refuted(document: Document) -> set[str]:
    """Assumptions that the diagnosis forbids in every form.

    Examples
    --------
    >>> verdict = [{"assumption": "nucem", "allowed": False}, {"assumption": "instrument", "allowed": False},
    ...            {"assumption": "instrument", "allowed": True}]
    >>> refuted({"diagnosis": {"verdict": verdict}})
    {'nucem'}
    """
    diagnosis = section(document, "diagnosis")
    verdict = [] if is_missing(diagnosis) else diagnosis["verdict"]
    allowed = {each["assumption"] for each in verdict if each["allowed"]}
    return {each["assumption"] for each in verdict} - allowed


def metric_figures(document: Document) -> list[Figure]:
    """One figure for each metric: every assumption, and below it every model."""
    models = section(document, "models")
    if is_missing(models):
        return []
    names, forbidden = model_names(document), refuted(document)
    entries: dict[str, list[Entry]] = {}
    for model in models:
        for result in model["evaluations"]:
            # The share of a class has nothing to do with a model: it is shown once.
            if wording.is_about_cases(result["metric"]) and model is not models[0]:
                continue
            entry = _model_entry(names[model["key"]], model, result, forbidden)
            entries.setdefault(result["metric"], []).append(entry)
    # What the rules are compared by comes first, what no model enters last.
    comparison = section(document, "comparison")
    main = None if is_missing(comparison) else comparison["results"][0]["metric"]
    order = sorted(entries, key=lambda name: (wording.is_about_cases(name), name != main))
    return [_metric_figure(name, _by_assumption(entries[name])) for name in order]


def comparison_figure(document: Document) -> Figure:
    """Difference of the two models under each assumption, with the verdict in words."""
    forbidden = refuted(document)
    entries = [
        Entry(_verdict(result), result, faint=result["assumption"] in forbidden)
        for result in document["comparison"]["results"]
    ]
    first = entries[0].result
    title = f"{wording.metric(first['metric']).title}: {cut(first['a'])} minus {cut(first['b'])}"
    better, worse = (first["a"], first["b"]) if first["greater_is_better"] else (first["b"], first["a"])
    note = f"To the right of zero “{cut(better)}” is better, to the left “{cut(worse)}”."
    return interval_figure(title, entries, note)


def feature_figures(part: Mapping[str, Any], what: str) -> list[Figure]:
    """One figure of bars for each feature."""
    return [bar_figure(feature, what) for feature in part["by_feature"]]


def leniency_figures(document: Document) -> list[Figure]:
    """Leniency alone, then against the label rate; nothing if nobody has cases enough."""
    part, words = document["leniency"], words_of(document)
    makers = part["decision_makers"]
    if not makers:
        return []
    accepted, event = capital(words["accepted"]), f"“{words['event']}”"
    headings = (capital(words["maker"]), "Cases", accepted, "Standard error", event, "Standard error")
    rows = [_maker_row(each) for each in makers]
    title = f"{accepted}: share of each, with two standard errors to each side"
    against = say("{event} among the cases that each decision-maker accepted, by how many those are", words)
    return [
        Figure(title, caterpillar(makers, title), headings[:4], [row[:4] for row in rows]),
        Figure(against, scatter(makers, against), headings, rows),
    ]


def sensitivity_figure(part: Mapping[str, Any]) -> Figure:
    """The curve with its numbers."""
    headings = (part["x_name"], "Identified", "Interval")
    rows = [
        (
            number(each["x"]),
            span(each["lower"], each["upper"], number),
            span(each["ci_lower"], each["ci_upper"], number),
        )
        for each in part["curve"]
    ]
    return Figure(part["title"], sensitivity_chart(part), headings, rows)


def usable_gaps(part: Document) -> list[str]:
    """Gaps narrow enough to use, in words, the narrowest first."""
    said = []
    for place in part["usable"]:
        gap = part["gaps"][place]
        title = wording.metric(gap["metric"]).title
        said.append(f"{title}, {_subgroup_name(gap)}: {confidence(gap)}")
    return said


def subgroup_figures(part: Mapping[str, Any], document: Document) -> list[list[Figure]]:
    """For each metric: the subgroups, and the gaps between them."""
    subgroups = _entries_by_metric(part["evaluations"], document)
    gaps = _entries_by_metric(part["gaps"], document)
    return [
        [_metric_figure(name, entries), *_gap_figures(name, gaps.get(name))]
        for name, entries in subgroups.items()
    ]


def _model_entry(name: str, model: Document, result: dict[str, Any], forbidden: set[str]) -> Entry:
    label, kind = ("everybody", "plain") if wording.is_about_cases(result["metric"]) else (name, model["key"])
    seen = model.get("labeled", {}).get(result["metric"])
    return Entry(label, result, kind, result["assumption"] in forbidden, seen)


def _metric_figure(name: str, entries: Sequence[Entry]) -> Figure:
    term = wording.metric(name)
    return interval_figure(term.title, entries, note=term.meaning)


def _gap_figures(name: str, entries: Sequence[Entry] | None) -> list[Figure]:
    title = f"Gaps: {wording.metric(name).title}"
    note = "Gaps are against the largest subgroup."
    return [interval_figure(title, entries, note)] if entries else []


def _verdict(result: Mapping[str, Any]) -> str:
    return f"{cut(result[result['verdict']])} is better" if result["verdict"] in ("a", "b") else "undecided"


def _by_assumption(entries: Sequence[Entry]) -> list[Entry]:
    order = list(wording.assumptions())
    return sorted(entries, key=lambda entry: order.index(entry.result["assumption"]))


def _entries_by_metric(results: Sequence[dict[str, Any]], document: Document) -> dict[str, list[Entry]]:
    forbidden = refuted(document)
    entries: dict[str, list[Entry]] = {}
    for result in results:
        entry = Entry(_subgroup_name(result), result, "plain", result["assumption"] in forbidden)
        entries.setdefault(result["metric"], []).append(entry)
    return {name: _by_assumption(each) for name, each in entries.items()}


def _subgroup_name(result: Mapping[str, Any]) -> str:
    if result["reference"] is None:
        return str(result["subgroup"])
    return f"{cut(result['subgroup'], 20)} minus {cut(result['reference'], 20)}"


def _maker_row(maker: Mapping[str, Any]) -> tuple[str, ...]:
    shares = (maker[name] for name in ("leniency", "error", "label_rate", "label_rate_error"))
    return cut(maker["id"]), count(maker["n"]), *(percent(share) for share in shares)
