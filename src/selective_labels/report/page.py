"""Prepare the sections of the page for their templates; all numbers come from the document."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from selective_labels.assumptions.base import DOUBTFUL, NOT_REFUTED, REFUTED, UNCHECKED
from selective_labels.report import wording
from selective_labels.report.charts import Row, Scale, interval_chart, round_scale
from selective_labels.report.figures import (
    Entry,
    Figure,
    acceptance_chart,
    bar_figure,
    caterpillar,
    interval_figure,
    leniency_chart,
    scale_of,
    scatter,
    sensitivity_chart,
    tick_text,
)
from selective_labels.report.wording import (
    ENDS,
    NOTHING,
    Show,
    capital,
    confidence,
    count,
    cut,
    identified,
    is_share,
    number,
    percent,
    percent_tick,
    points,
    say,
    span,
    words_of,
)

Document = Mapping[str, Any]
NOT_COMPUTED = "This part was not computed."


def section(document: Document, name: str) -> Any:
    """Section of a document, or a note that it was not computed.

    Examples
    --------
    >>> section({}, "subgroups")
    {'missing': 'This part was not computed.'}
    """
    return document.get(name) or {"missing": NOT_COMPUTED}


def is_missing(part: Any) -> bool:
    """Whether a section contains only the reason why it is missing.

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
    """Assumptions that the diagnosis rules out in every form.

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
    """One figure for each metric, with all models under each assumption."""
    models = section(document, "models")
    if is_missing(models):
        return []
    names, forbidden = model_names(document), refuted(document)
    entries: dict[str, list[Entry]] = {}
    for model in models:
        for result in model["evaluations"]:
            # The share of a class does not depend on a model, so it is shown once.
            if wording.is_about_cases(result["metric"]) and model is not models[0]:
                continue
            entry = _model_entry(names[model["key"]], model, result, forbidden)
            entries.setdefault(result["metric"], []).append(entry)
    # The metric of the comparison comes first, metrics that do not depend on a model last.
    comparison = section(document, "comparison")
    main = None if is_missing(comparison) else comparison["results"][0]["metric"]
    order = sorted(entries, key=lambda name: (wording.is_about_cases(name), name != main))
    return [_metric_figure(name, _by_assumption(entries[name])) for name in order]


def comparison_figure(document: Document) -> Figure:
    """Difference between the two models under each assumption, with the verdict in words."""
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
    """One bar figure for each feature."""
    return [bar_figure(feature, what) for feature in part["by_feature"]]


def leniency_figures(document: Document) -> list[Figure]:
    """Leniency, then leniency against the label rate; empty if no decision-maker has enough cases."""
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
        Figure(
            title, leniency_chart(makers, title, words["accepted"]), headings[:4], [row[:4] for row in rows]
        ),
        Figure(against, scatter(makers, against, words["accepted"]), headings, rows),
    ]


def sensitivity_figure(part: Mapping[str, Any]) -> Figure:
    """The sensitivity curve and its numbers."""
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
    """Gaps that are narrow enough to use, as sentences, the narrowest first."""
    said = []
    for place in part["usable"]:
        gap = part["gaps"][place]
        title = wording.metric(gap["metric"]).title
        said.append(f"{title}, {_subgroup_name(gap)}: {confidence(gap)}")
    return said


def subgroup_figures(part: Mapping[str, Any], document: Document) -> list[list[Figure]]:
    """For each metric, a figure of the subgroups and one of the gaps between them."""
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


# Detectable violations rephrased for readers without statistics; other texts stay unchanged.
PLAINLY = (
    (
        r"cases whose predicted decision differs between decision-makers by ([\d.]+) standard deviations",
        r"decision-makers whose cases look different, by \1 of the usual spread",
    ),
    (r"lower bounds that sum to ([\d.]+) or more on average", r"chances that add up to \1 instead of 1"),
    (
        r"a curve that leaves the line by ([\d.]+) points at ten points of leniency",
        r"decision-makers ten points more lenient whose outcomes lie \1 points off the common line",
    ),
    (
        r"shares of labels of comparable cases that change by ([\d.]+) points with ten points of leniency",
        r"outcomes of comparable cases that change by \1 points where decision-makers accept ten points more",
    ),
)
# No check can prove an assumption, so no status is shown as passed.
LOOKS = {
    REFUTED: "violated",
    DOUBTFUL: "warning",
    NOT_REFUTED: "not applicable",
    UNCHECKED: "not applicable",
}
AMONG_LIKE = "As good as random among comparable cases"
UNNOTICED = "Smaller violations may go unnoticed."
SHARED_REASONS = (
    "Reasons that nobody recorded and all decision-makers share show in no check, so this is never taken on "
    "trust."
)


@dataclass(frozen=True)
class Card:
    """One assumption, its status and its meaning.

    Attributes
    ----------
    look : str
        The status whose symbol precedes the text.
    used : bool
        Whether the figures at the top use the assumption.
    """

    title: str
    status: str
    look: str
    meaning: str
    note: str
    used: bool = False


def assumption_cards(diagnosis: Mapping[str, Any]) -> list[Card]:
    """Cards from the weakest assumption to the strongest.

    Examples
    --------
    >>> refused = {"assumption": "instrument", "given": "strata", "allowed": False, "verdict": "refuted",
    ...            "plain": "lower bounds contradict each other.", "could_see": []}
    >>> [(card.title, card.status, card.used) for card in assumption_cards({"verdict": [refused]})]
    [('Nothing assumed', 'Needs no check', True), ('As if by lot', 'The data contradict it', False)]
    """
    verdict = diagnosis["verdict"]
    lot = [each for each in verdict if each["assumption"] == "instrument"]
    chosen = next((each for each in lot if each["allowed"]), lot[0] if lot else None)
    nothing = wording.assumption("none")
    cards = [
        Card(
            nothing.title,
            "Needs no check",
            "not applicable",
            nothing.meaning,
            "Safe, and often too wide to be of use.",
            used=chosen is None or not chosen["allowed"],
        )
    ]
    if chosen is not None:
        cards.append(_card(chosen, used=chosen["allowed"]))
    return cards + [_card(each) for each in verdict if each["assumption"] != "instrument"]


def _card(found: Mapping[str, Any], used: bool = False) -> Card:
    term = wording.assumption(found["assumption"])
    by_features = found["assumption"] == "instrument" and found.get("given") == "features"
    return Card(
        AMONG_LIKE if by_features else term.title,
        _status(found),
        LOOKS.get(found["verdict"], "not applicable"),
        term.meaning,
        _note(found),
        used,
    )


def _plainly(text: str) -> str:
    for pattern, words in PLAINLY:
        text = re.sub(pattern, words, text)
    return text


def _status(found: Mapping[str, Any]) -> str:
    if found["verdict"] == REFUTED:
        return "The data contradict it"
    if found["verdict"] == DOUBTFUL:
        return "Doubtful"
    if found["verdict"] == UNCHECKED:
        return "Cannot be checked here"
    return "Not contradicted" if found["allowed"] else "Not contradicted, not proved"


def _note(found: Mapping[str, Any]) -> str:
    if found["verdict"] != NOT_REFUTED:
        return capital(found.get("plain") or "")
    seen = "; ".join(_plainly(each) for each in found.get("could_see") or [])
    power = f"The checks have 80% power to detect: {seen}. {UNNOTICED}" if seen else ""
    if found["assumption"] == "unconfounded":
        return f"{power} {SHARED_REASONS}".strip()
    if found.get("given") == "features":
        return f"{capital(found.get('plain') or '')} {power}".strip()
    return power or "How much the checks could have seen is not known."


OURS = "It keeps the worst that the missing labels could do small, if cases are assigned as if at random."
COMPARATOR_VERDICTS = {"this": "better", "ours": "worse", "undecided": "undecided"}


def comparator_rows(document: Document) -> list[dict[str, str]]:
    """Rows of the comparison with common practice: name, assumption, claim, value, difference from ours."""
    part = document["comparators"]
    money = part["metric"] == "cost"
    show, gap = (number, number) if money else (percent, points)
    rows = []
    for each in part["rows"]:
        value, found = each["value"], each["against_ours"]
        rows.append(
            {
                "key": each["key"],
                "name": cut(each["name"]),
                "assumes": each["assumes"] or (OURS if each["key"] == "ours" else "–"),
                "claims": percent(each["claims"]),
                "outside": _outside(each["claims"], document),
                "value": span(value["lower"], value["upper"], show),
                "difference": "–" if found is None else span(found["ci_lower"], found["ci_upper"], gap),
                "verdict": "" if found is None else COMPARATOR_VERDICTS[found["verdict"]],
            }
        )
    return rows


def _outside(claims: float | None, document: Document) -> str:
    """Whether a claimed share is below or above the confidence interval for all cases."""
    answers = section(document, "answers")
    if claims is None or is_missing(answers):
        return ""
    low, high = (answers["event"]["result"][end] for end in ("ci_lower", "ci_upper"))
    if low is None or low <= claims <= high:
        return ""
    return "too low" if claims < low else "too high"


MONEY = "cost"
TEAM_VERDICTS = {"team": "lower", "human": "higher", "undecided": "undecided"}


def explorer_panels(document: Document) -> list[dict[str, Any]]:
    """Content of the explorer for each model with scores, ours last."""
    names, part, words = model_names(document), document["acceptance"], words_of(document)
    return [
        {
            "name": names.get(model["key"], model["key"]),
            "model": model,
            "titles": {name: measure_title(name, words) for name in part["human"]},
            "charts": {name: _chart(document, model, name) for name in part["human"]},
            "headings": _headings(part, words),
            "rows": [_explorer_row(point, part) for point in model["points"]],
        }
        for model in part["models"]
    ]


def human_reading(document: Document) -> list[tuple[str, str]]:
    """Measures of the decisions taken: name and value."""
    part, words = document["acceptance"], words_of(document)
    return [
        (measure_title(name, words), span(ends["lower"], ends["upper"], _show(name)))
        for name, ends in part["human"].items()
    ]


# Shares of the event among the accepted: where a yes accepts, and where it inspects.
RATES = ("failure_rate", "hit_rate")


def team_rows(document: Document) -> list[dict[str, str]]:
    """Combinations of decision-makers and score, each against the decision-makers alone."""
    part, words = document["team"], words_of(document)
    show = _show(part["measure"])
    rows = []
    for way in part["ways"]:
        values, found = way["values"], way["difference"]
        event = next(values[name] for name in RATES if name in values)
        money = values.get(MONEY)
        rows.append(
            {
                "who": capital(say(wording.WAYS.get(way["way"], way["way"]), words)),
                "accepted": percent(round(values["acceptance"]["lower"], 6)),
                "event": span(event["lower"], event["upper"]),
                "money": "" if money is None else span(money["lower"], money["upper"], number),
                "difference": "" if found is None else _difference(found, part["measure"], show),
                "verdict": "" if found is None else TEAM_VERDICTS[found["verdict"]],
            }
        )
    return rows


def measure_title(name: str, words: Mapping[str, str]) -> str:
    """Title of a policy measure in the table's vocabulary."""
    return capital(say(wording.MEASURES[name].title, words))


def _difference(found: Mapping[str, Any], measure: str, show: Show) -> str:
    if measure == MONEY:
        return span(found["ci_lower"], found["ci_upper"], show)
    words = span(found["ci_lower"], found["ci_upper"], points)
    return f"{words} points" if found["ci_lower"] is not None else words


def _chart(document: Document, model: Mapping[str, Any], name: str) -> str:
    part, leniency = document["acceptance"], section(document, "leniency")
    makers: list[tuple[float, float]] = []
    if name in RATES and not is_missing(leniency):
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


def _explorer_row(point: Mapping[str, Any], part: Mapping[str, Any]) -> tuple[str, ...]:
    texts = [percent(point["rate"])]
    for name in part["human"]:
        ends, show = point[name], _show(name)
        texts += [span(ends["lower"], ends["upper"], show), span(ends["ci_lower"], ends["ci_upper"], show)]
    return tuple(texts)


def _show(measure: str) -> Show:
    return number if measure == MONEY else percent


def answer_figures(document: Document) -> list[Figure]:
    """One figure of shares, and one of costs if the rules are evaluated by cost."""
    answers, words = document["answers"], words_of(document)
    event = f"“{words['event']}”"
    others: list[tuple[str, Mapping[str, Any], str, str]] = []
    shares = [("everybody", answers["event"], "plain", f"How often: {event}")]
    for rule in answers["rules"]:
        is_a_share = is_share(rule["result"])
        heading = "How often right" if is_a_share else wording.metric(rule["result"]["metric"]).meaning
        (shares if is_a_share else others).append((cut(rule["name"]), rule, rule["key"], heading))
    figures = [_opening_figure(f"{event} and the rules, on everybody", shares, words)]
    return figures + ([_opening_figure("Mean cost of a case, on everybody", others, words)] if others else [])


def _opening_figure(
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
    headings = ("Figure", f"Among the {words['accepted']}", "Everybody", "With sampling error")
    show = percent if shares else number
    table = [
        (name, show(each["labeled"]), identified(each["result"]), confidence(each["result"]))
        for name, each, *_ in found
    ]
    return Figure(title, chart, headings, table)


def _said(result: Mapping[str, Any]) -> str:
    """The confidence interval, as in the headline, or the identified interval if there is none."""
    return identified(result) if result["ci_lower"] is None else confidence(result)


CONTRADICTED = "contradicted by the data"


def ladder_figures(part: Mapping[str, Any]) -> list[Figure]:
    """One figure for each metric, the weakest assumption first.

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
    return [_ladder_figure(each, part["model"]) for each in part["ladders"]]


def _ladder_figure(climbed: Mapping[str, Any], model: str) -> Figure:
    shared = {"metric": climbed["metric"], "limits": climbed["limits"]}
    assumption_steps = [each | shared for each in climbed["rungs"]]
    about_cases = wording.is_about_cases(climbed["metric"])
    kind = "plain" if about_cases else model
    rows = [_ladder_row(place, each, kind) for place, each in enumerate(assumption_steps, start=1)]
    title = wording.metric(climbed["metric"]).title
    chart = interval_chart(rows, title, scale_of(assumption_steps), tick_text(assumption_steps[0]))
    level = f"{100 * climbed['confidence_level']:g}% interval"
    headings = ("Assumption", "What it adds", "Identified", level, "Narrower by")
    return Figure(
        title, chart, headings, [_table_row(*each) for each in enumerate(assumption_steps, start=1)]
    )


def _ladder_row(place: int, rung: Mapping[str, Any], kind: str) -> Row:
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


CAPTIONS = {
    "advice": "Differences between two ways to decide",
    "deciders": "Excess of each decision-maker, shrunk, the best first",
    "disparity": "Gaps between groups",
}


def people_figure(name: str, part: Mapping[str, Any]) -> Figure:
    """Chart of the differences, or of all decision-makers.

    Examples
    --------
    >>> ends = {"lower": 0.1, "upper": 0.1, "ci_lower": 0.0, "ci_upper": 0.2}
    >>> people_figure("advice", {"drawn": [{"heading": "loss", "label": "with minus alone"} | ends]}).rows
    [('loss: with minus alone', '0.100', '0.000 to 0.200')]
    """
    title, drawn = CAPTIONS[name], part["drawn"]
    bars = [Row(each["label"], _span(each), each, heading=each["heading"]) for each in drawn]
    rows = [
        (": ".join(filter(None, [bar.heading, bar.label])), bar.text, _span(bar.ends, "ci_")) for bar in bars
    ]
    if name == "deciders":
        chart = _caterpillar(title, drawn)
    else:
        scale = round_scale([0.0, *(each[end] for each in drawn for end in ENDS)])
        chart = interval_chart(bars, title, scale, number, zero=True)
    headings = ("", "Excess", "Interval") if name == "deciders" else ("What", "Bounds", "Interval")
    return Figure(title, chart, headings, rows)


def _span(result: Mapping[str, Any], of: str = "") -> str:
    return span(result[f"{of}lower"], result[f"{of}upper"], _three_digits)


def _three_digits(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}".replace("-", "\N{MINUS SIGN}")


def _caterpillar(title: str, drawn: Sequence[Mapping[str, Any]]) -> str:
    points = [
        (each["lower"], each["ci_lower"], each["ci_upper"], f"{each['label']}: {count(each['n'])} cases")
        for each in drawn
    ]
    described = f"{len(drawn)} decision-makers; the numbers are in the table below."
    return caterpillar(points, title, described, ("best", "worst"), number)
