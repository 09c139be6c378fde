"""Figures of a report: charts together with the table of their numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2, sqrt
from typing import Any
from xml.etree.ElementTree import Element

from selective_labels.report import wording
from selective_labels.report.charts import (
    BOTTOM,
    NAME,
    TOP,
    Row,
    Scale,
    add,
    anchor,
    axis_name,
    bands,
    bar_chart,
    interval_chart,
    markup,
    new_chart,
    plot_area,
    round_scale,
    x_label,
)
from selective_labels.report.wording import (
    ENDS,
    LONG,
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
    span,
)

Result = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A chart and the table of its numbers.

    Attributes
    ----------
    chart : str
        SVG.
    rows : sequence of tuple of str
        The table.
    """

    title: str
    chart: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""


@dataclass(frozen=True)
class Entry:
    """One result in a figure of intervals: its label and how it is drawn."""

    label: str
    result: Result
    kind: str = "plain"
    faint: bool = False
    seen: float | None = None


def interval_figure(title: str, entries: Sequence[Entry], note: str = "") -> Figure:
    """Figure of the intervals of one metric, under headings that name the assumption.

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
    """Values among labeled cases, one row for each label."""
    seen = {cut(entry.label): (entry.seen, entry.result) for entry in entries if entry.seen is not None}
    return [
        ("Labeled cases only", label, percent(value) if is_share(result) else number(value), NOTHING)
        for label, (value, result) in seen.items()
    ]


def _reasons(entries: Sequence[Entry]) -> list[str]:
    """Reasons why numbers are missing, without repetition."""
    missing = ((cut(entry.label), entry.result.get("reason")) for entry in entries)
    return list(dict.fromkeys(f"{label}: {reason}" for label, reason in missing if reason))


def bar_figure(feature: Result, what: str) -> Figure:
    """Figure of shares over the bins of one feature.

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
    """Scale of results: 0 to 1 for shares, so that charts are comparable; otherwise their range and zero."""
    if is_share(results[0]) and not is_difference(results[0]):
        return Scale(0.0, 1.0)
    return round_scale([0.0, *(result[end] for result in results for end in ENDS)])


def tick_text(result: Result) -> Callable[[float], str]:
    """Format of tick labels: percentages for shares, percentage points for differences of shares."""
    if not is_share(result):
        return number
    return _points_tick if is_difference(result) else percent_tick


def _points_tick(value: float) -> str:
    return f"{100.0 * value:+.3g}".replace("-", "−").replace("+0", "0")


ACCEPTANCE_HEIGHT = 130


def acceptance_chart(
    points: Sequence[Mapping[str, Any]],
    measure: str,
    start: int,
    title: str,
    human: Mapping[str, Any] | None = None,
    present: float | None = None,
    makers: Sequence[tuple[float, float]] = (),
) -> str:
    """Draw a measure at every acceptance rate of the slider.

    Parameters
    ----------
    points : sequence of mapping
        With `rate`, and an interval under the name of the measure.
    start : int
        Index of the point that is marked initially.
    human : mapping, optional
        Bounds on the measure for the decisions taken.
    present : float, optional
        Present acceptance rate.
    makers : sequence of (acceptance, value)
        One point for each decision-maker.

    Examples
    --------
    >>> ends = {"lower": 0.1, "upper": 0.2, "ci_lower": 0.0, "ci_upper": 0.3}
    >>> points = [{"rate": 0.5, "failures": ends}, {"rate": 1.0, "failures": ends}]
    >>> chart = acceptance_chart(points, "failures", 0, "Failures", ends, 0.5)
    >>> 'data-measure="failures"' in chart, chart.count('class="present"'), chart.count('class="human"')
    (True, 1, 1)
    """
    described = "Shares accepted to the right; the numbers are in the table."
    chart = new_chart(title, described, ACCEPTANCE_HEIGHT + TOP + BOTTOM, "acceptance axes")
    chart.set("data-measure", measure)
    values = [point[measure][end] for point in points for end in ENDS]
    values += [(human or {}).get(end) for end in ENDS] + [value for _, value in makers] + [0.0]
    x, y = Scale(0.0, 1.0), round_scale(values, flipped=True)
    chart.set("data-low", f"{y.low:.10g}")
    chart.set("data-high", f"{y.high:.10g}")
    area = plot_area(
        chart, ACCEPTANCE_HEIGHT, x, y, _few_ticks, number if measure == "cost" else percent_tick
    )
    bands(area, [{"x": point["rate"], **point[measure]} for point in points], x, y)
    for rate, value in makers:
        add(area, "circle", kind="maker", cx=x(rate), cy=y(value), r=2.5)
    if present is not None:
        add(area, "line", kind="present", x1=x(present), x2=x(present), y1=0, y2="100%")
    place = x(points[start]["rate"])
    add(area, "line", kind="cursor", x1=place, x2=place, y1=0, y2="100%")
    for kind, low, high in (("thin", "ci_lower", "ci_upper"), ("thick", "lower", "upper")):
        _mark(area, kind, place, points[start][measure][low], points[start][measure][high], y)
    if human is not None and present is not None and None not in (human["lower"], human["upper"]):
        _human(area, x(present), human["lower"], human["upper"], y)
    return markup(chart)


def _few_ticks(value: float) -> str:
    """Label every second tick only: with four charts side by side, more labels would overlap."""
    return percent_tick(value) if round(value, 9) in (0.0, 0.4, 0.8) else ""


def _human(area: Element, place: str, low: float, high: float, y: Scale) -> None:
    """Mark the decisions taken: a dot, or a bar if their value is only bounded."""
    if low == high:
        add(area, "circle", kind="human", cx=place, cy=y(low), r=5)
    else:
        add(area, "line", kind="human", x1=place, x2=place, y1=y(low), y2=y(high))


def _mark(area: Element, kind: str, place: str, low: float | None, high: float | None, y: Scale) -> None:
    """Add a mark, hidden if there is no value here, because the slider may move to a point that has one."""
    ends = {"y1": y(low or 0.0), "y2": y(high or 0.0)}
    hidden = {"visibility": "hidden"} if None in (low, high) else {}
    add(area, "line", kind=f"mark {kind}", x1=place, x2=place, **ends, **hidden)


DRIFT_HEIGHT = 170
# Number of period labels that fit side by side on a phone.
MOST_LABELS = 4


def drift_figures(part: Mapping[str, Any]) -> list[Figure]:
    """Figures over time: observed shares (acceptance, event among labeled cases), then bounds on all cases.

    Examples
    --------
    >>> ends = {"lower": 0.2, "upper": 0.6, "ci_lower": 0.1, "ci_upper": 0.7}
    >>> ways = ("", "_ci_lower", "_ci_upper")
    >>> seen = {f"{name}{end}": 0.5 for name in ("acceptance", "event") for end in ways}
    >>> rows = [{"period": each, "n": 10, **seen, **ends} for each in ("2023", "2024")]
    >>> part = {"metric": "accuracy", "pos_label": "yes", "limits": [0.0, 1.0], "periods": rows}
    >>> [figure.title for figure in drift_figures(part)]
    ['Accepted', '“yes” among the labeled', 'How often right']
    """
    periods = part["periods"]
    seen = [
        _seen("Accepted", "acceptance", periods),
        _seen(f"“{cut(part['pos_label'])}” among the labeled", "event", periods),
    ]
    title = wording.metric(part["metric"]).title
    about = {"metric": part["metric"], "limits": part["limits"], "reason": None}
    rows = [
        (cut(each["period"]), count(each["n"]), identified(each | about), confidence(each | about))
        for each in periods
    ]
    chart = _chart(title, periods, tick_text(about), part["limits"] == [0.0, 1.0])
    return [*seen, Figure(title, chart, ("Period", "Cases", "Identified", "Interval"), rows)]


def _seen(title: str, name: str, periods: list[dict[str, Any]]) -> Figure:
    points = [
        {
            "period": each["period"],
            "lower": each[name],
            "upper": each[name],
            "ci_lower": each[f"{name}_ci_lower"],
            "ci_upper": each[f"{name}_ci_upper"],
        }
        for each in periods
    ]
    rows = [
        (cut(each["period"]), percent(each["lower"]), span(each["ci_lower"], each["ci_upper"]))
        for each in points
    ]
    return Figure(title, _chart(title, points, percent_tick, True), ("Period", "Share", "Interval"), rows)


def _chart(title: str, periods: list[dict[str, Any]], text: Any, whole: bool) -> str:
    described = f"{len(periods)} periods; the numbers are in the table below."
    chart = new_chart(cut(title), described, DRIFT_HEIGHT + TOP + BOTTOM, "drift axes")
    x = Scale(0.0, max(len(periods) - 1.0, 1.0))
    ends = [each[end] for each in periods for end in ("ci_lower", "ci_upper", "lower", "upper")]
    y = Scale(0.0, 1.0, flipped=True) if whole else round_scale(ends, flipped=True)
    area = plot_area(chart, DRIFT_HEIGHT, x, y, None, text)
    bands(area, [each | {"x": float(place)} for place, each in enumerate(periods)], x, y)
    step = max(-(-(len(periods) - 1) // (MOST_LABELS - 1)), 1)
    for place in range(0, len(periods), step):
        x_label(chart, DRIFT_HEIGHT, x(place), cut(periods[place]["period"], 12), anchor(x.share(place)))
    return markup(chart)


LENIENCY_HEIGHT = 240
# Error bars extend two standard errors to each side.
ERRORS = 2.0
SMALLEST, LARGEST = 2.0, 7.0


def caterpillar(
    points: Sequence[tuple[float, float, float, str]],
    title: str,
    described: str,
    sides: tuple[str, str],
    tick_text: Callable[[float], str] = percent_tick,
) -> str:
    """One number of each decision-maker with its error bar, in the order given.

    Parameters
    ----------
    points : sequence of (value, low, high, text)
    sides : pair of str
        What stands at the left and at the right end.

    Examples
    --------
    >>> points = [(0.2, 0.1, 0.3, "a"), (0.6, 0.5, 0.7, "b")]
    >>> caterpillar(points, "Leniency", "Two.", ("fewest", "most")).count("<circle")
    2
    """
    chart = new_chart(title, described, LENIENCY_HEIGHT + TOP + BOTTOM, "caterpillar axes")
    y = round_scale([end for point in points for end in point[1:3]], flipped=True)
    area = plot_area(chart, LENIENCY_HEIGHT, y, y, None, tick_text)
    for rank, (value, low, high, text) in enumerate(points):
        place = f"{100.0 * (rank + 0.5) / len(points):.4g}%"
        group = add(area, "g", kind="row")
        add(group, "title", text)
        add(group, "line", kind="thin", x1=place, x2=place, y1=y(low), y2=y(high))
        add(group, "circle", kind="point", cx=place, cy=y(value), r=_dot(len(points)))
    x_label(chart, LENIENCY_HEIGHT, "0%", sides[0], "start")
    x_label(chart, LENIENCY_HEIGHT, "100%", sides[1], "end")
    return markup(chart)


def leniency_chart(makers: Sequence[Mapping[str, Any]], title: str, accepted: str = "accepted") -> str:
    """Leniency of each decision-maker with error bars, from the least to the most often accepted.

    Parameters
    ----------
    makers : sequence of mapping
        With id, n, leniency and error, sorted by leniency.
    accepted : str
        The participle of a yes.
    """
    described = (
        f"{len(makers)} decision-makers, from {percent(makers[0]['leniency'])} to "
        f"{percent(makers[-1]['leniency'])} {accepted}."
    )
    points = [
        (each["leniency"], *_reach(each, "leniency", "error"), _described(each, accepted)) for each in makers
    ]
    return caterpillar(points, title, described, ("fewest", "most"))


def scatter(makers: Sequence[Mapping[str, Any]], title: str, accepted: str = "accepted") -> str:
    """Share of a class among each decision-maker's labels against leniency; area shows the number of cases.

    Parameters
    ----------
    makers : sequence of mapping
        With id, n, leniency and label_rate (None where no label was observed).
    accepted : str
        The participle of a yes.

    Examples
    --------
    >>> makers = [{"id": "a", "n": 9, "leniency": 0.2, "label_rate": 0.5, "label_rate_error": 0.1},
    ...           {"id": "b", "n": 9, "leniency": 0.0, "label_rate": None, "label_rate_error": None}]
    >>> scatter(makers, "Labels").count("<circle")
    1
    """
    known = [each for each in makers if each["label_rate"] is not None]
    described = (
        f"{len(known)} decision-makers: share {accepted} to the right, share among labeled cases upwards."
    )
    chart = new_chart(title, described, LENIENCY_HEIGHT + TOP + BOTTOM + NAME, "scatter axes")
    x = round_scale(each["leniency"] for each in known)
    y = round_scale((each["label_rate"] for each in known), flipped=True)
    area = plot_area(chart, LENIENCY_HEIGHT, x, y, percent_tick, percent_tick)
    axis_name(chart, LENIENCY_HEIGHT, f"share {accepted}")
    most = max((each["n"] for each in known), default=1)
    for each in known:
        radius = SMALLEST + (LARGEST - SMALLEST) * sqrt(each["n"] / most)
        dot = add(area, "circle", kind="dot", cx=x(each["leniency"]), cy=y(each["label_rate"]), r=radius)
        add(dot, "title", f"{_described(each, accepted)}, label rate {percent(each['label_rate'])}")
    return markup(chart)


def _reach(maker: Mapping[str, Any], value: str, error: str) -> tuple[float, float]:
    width = ERRORS * (maker[error] or 0.0)
    return max(maker[value] - width, 0.0), min(maker[value] + width, 1.0)


def _described(maker: Mapping[str, Any], accepted: str) -> str:
    words = f"{count(maker['n'])} cases, {percent(maker['leniency'])} {accepted}"
    return f"{cut(maker['id'], LONG - len(words))}: {words}"


def _dot(n: int) -> float:
    """Radius that keeps neighbouring dots apart on a narrow screen."""
    return 4.0 if n <= 40 else 3.0 if n <= 100 else 2.0


SENSITIVITY_HEIGHT = 240


def sensitivity_chart(section: Mapping[str, Any]) -> str:
    """Draw the curve over odds on a log scale, with its limit, threshold and break-even values.

    The range that the instrument supports is a band over the whole height.

    Parameters
    ----------
    section : mapping
        The section of the document, with curve, limit, threshold, break-even values and supported range.

    Examples
    --------
    >>> ends = {"lower": 0.1, "upper": 0.2, "ci_lower": 0.0, "ci_upper": 0.3}
    >>> section = {"title": "Accuracy", "x_name": "odds", "curve": [{"x": 0.5, **ends}, {"x": 2.0, **ends}],
    ...            "limit": [0.0, 0.4], "threshold": 0.05, "break_even": None, "break_even_below": None,
    ...            "supported": [[0.7, None]]}
    >>> drawn = sensitivity_chart(section)
    >>> drawn.count("<polygon"), drawn.count('class="supported"')
    (2, 1)
    """
    curve = [each | {"x": log2(each["x"])} for each in section["curve"]]
    threshold = section["threshold"]
    described = f"{len(curve)} values of {section['x_name']}; the numbers are in the table below."
    chart = new_chart(
        cut(section["title"]), described, SENSITIVITY_HEIGHT + TOP + BOTTOM + NAME, "sensitivity axes"
    )
    first, last = curve[0]["x"], curve[-1]["x"]
    x = Scale(first, last if last > first else first + 1.0)
    ends = [each[end] for each in curve for end in ("ci_lower", "ci_upper")]
    y = round_scale([*ends, *section["limit"], threshold], flipped=True)
    area = plot_area(chart, SENSITIVITY_HEIGHT, x, y, None, number)
    for tick in x.ticks():
        add(area, "line", kind="grid", x1=x(tick), x2=x(tick), y1=0, y2="100%")
        x_label(chart, SENSITIVITY_HEIGHT, x(tick), number(2.0**tick), anchor(x.share(tick)))
    for low, high in section["supported"] or ():
        left = x.share(log2(low)) if low else 0.0
        right = 1.0 if high is None else x.share(log2(high)) if high else 0.0
        width = f"{100.0 * max(right - left, 0.002):.4g}%"
        add(area, "rect", kind="supported", x=f"{100.0 * left:.4g}%", y=0, width=width, height="100%")
    axis_name(chart, SENSITIVITY_HEIGHT, cut(section["x_name"]))
    bands(area, curve, x, y)
    for end in section["limit"]:
        if end is not None:
            add(area, "line", kind="limit", x1=0, x2="100%", y1=y(end), y2=y(end))
    if threshold is not None:
        add(area, "line", kind="threshold", x1=0, x2="100%", y1=y(threshold), y2=y(threshold))
    for value in (section["break_even"], section["break_even_below"]):
        if value is not None and value > 0.0 and first <= log2(value) <= last:
            add(area, "line", kind="break-even", x1=x(log2(value)), x2=x(log2(value)), y1=0, y2="100%")
    return markup(chart)
