"""SVG charts: scales, axes, bands, bars and intervals (thick: identified set, thin: confidence interval)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, floor, log10
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from selective_labels.report.wording import ENDS, LONG, count, cut, is_empty, percent

STEPS = (1.0, 2.0, 5.0, 10.0)
MOST_STEPS = 6


@dataclass(frozen=True)
class Scale:
    """Map values to percentages of a length.

    Attributes
    ----------
    low, high : float
        Values at 0 % and 100 %.
    flipped : bool
        Whether 0 % is at `high`, as needed on a vertical axis: pixels count downwards.

    Examples
    --------
    >>> Scale(0, 4)(1), Scale(0, 4, flipped=True)(1), Scale(0, 1)(7)
    ('25%', '75%', '100%')
    """

    low: float
    high: float
    flipped: bool = False

    def share(self, value: float) -> float:
        """Position between 0 and 1; values outside the range are clipped."""
        share = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        return 1.0 - share if self.flipped else share

    def __call__(self, value: float) -> str:
        """Position as a percentage."""
        return f"{100.0 * self.share(value):.4g}%"

    def ticks(self) -> list[float]:
        """A few round values within the range.

        Examples
        --------
        >>> Scale(0, 1).ticks()
        [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
        """
        step = _step(self.high - self.low)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [round(place * step, 10) for place in range(first, last + 1)]


def round_scale(values: Iterable[float | None], flipped: bool = False) -> Scale:
    """Scale between round numbers that contains all values.

    Examples
    --------
    >>> scale = round_scale([0.13, None, 0.58])
    >>> scale.low, scale.high
    (0.1, 0.6)
    """
    known = [value for value in values if value is not None] or [0.0, 1.0]
    low, high = min(known), max(known)
    step = _step(high - low or abs(high) or 1.0)
    low, high = floor(low / step) * step, ceil(high / step) * step
    return Scale(round(low, 10), round(high if high > low else low + step, 10), flipped)


def new_chart(title: str, description: str, height: float, kind: str) -> Element:
    """Empty chart with a title and a description for screen readers."""
    chart = Element(
        "svg", {"role": "img", "class": f"chart {kind}", "width": "100%", "height": f"{height:g}"}
    )
    add(chart, "title", cut(title, LONG))
    add(chart, "desc", cut(description, LONG))
    return chart


def add(parent: Element, tag: str, text: str | None = None, **attributes: Any) -> Element:
    """Append an element; `kind` is its class, and `text_anchor` becomes text-anchor.

    Examples
    --------
    >>> markup(add(Element("g"), "text", "<b>", kind="label", x="5%"))
    '<text class="label" x="5%">&lt;b&gt;</text>'
    """
    names = {name: "class" if name == "kind" else name.replace("_", "-") for name in attributes}
    plain = {names[name]: _plain(value) for name, value in attributes.items()}
    child = SubElement(parent, tag, plain)
    child.text = text
    return child


def anchor(share: float) -> str:
    """Alignment of a label at a share of the width that keeps it inside the chart.

    Examples
    --------
    >>> anchor(0.0), anchor(0.5), anchor(1.0)
    ('start', 'middle', 'end')
    """
    return "start" if share < 0.02 else "end" if share > 0.98 else "middle"


def markup(chart: Element) -> str:
    """The chart as text for an HTML page."""
    return tostring(chart, encoding="unicode", short_empty_elements=False)


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _step(length: float) -> float:
    power = 10.0 ** floor(log10(length / MOST_STEPS))
    return next(step * power for step in STEPS if length / (step * power) <= MOST_STEPS + 1e-9)


TOP, BOTTOM, NAME = 10, 26, 18
TickText = Callable[[float], str]


def plot_area(
    chart: Element, height: int, x: Scale, y: Scale, x_text: TickText | None, y_text: TickText
) -> Element:
    """Add grid and ticks to a chart, and return the area to draw in.

    Parameters
    ----------
    height : int
        Height of the area in pixels; the chart needs `TOP` and `BOTTOM` in addition.
    x, y : Scale
        The vertical scale must be flipped.
    x_text, y_text : callable
        Returns the label of a tick from its value; None for an axis without ticks.
    """
    area = add(chart, "svg", kind="area", x=0, y=TOP, width="100%", height=height)
    for value in y.ticks():
        add(area, "line", kind="grid", x1=0, x2="100%", y1=y(value), y2=y(value))
        baseline = TOP + height * y.share(value) + 4
        add(chart, "text", y_text(value), kind="tick", x=-8, y=float(baseline), text_anchor="end")
    if x_text is not None:
        for value in x.ticks():
            add(area, "line", kind="grid", x1=x(value), x2=x(value), y1=0, y2="100%")
            x_label(chart, height, x(value), x_text(value), anchor(x.share(value)))
    return area


def x_label(chart: Element, height: int, place: str, text: str, align: str) -> None:
    """Add a label below the area."""
    add(chart, "text", text, kind="tick", x=place, y=TOP + height + 18, text_anchor=align)


def axis_name(chart: Element, height: int, text: str) -> None:
    """Name the horizontal axis; the chart needs `NAME` more pixels."""
    add(chart, "text", text, kind="tick name", x="50%", y=TOP + height + 36, text_anchor="middle")


def bands(area: Element, points: Iterable[Mapping[str, Any]], x: Scale, y: Scale) -> None:
    """Draw the identified interval as a band inside the band of the confidence intervals.

    Parameters
    ----------
    points : iterable of mapping
        With x, lower, upper, ci_lower and ci_upper. A band has a gap where one of its ends is None.
    """
    known = list(points)
    # SVG paths do not allow percentages, so the paths are drawn on a square that is stretched over the area.
    square = add(area, "svg", viewBox="0 0 100 100", preserveAspectRatio="none", width="100%", height="100%")
    for kind, low, high in (("outer", "ci_lower", "ci_upper"), ("inner", "lower", "upper")):
        for run in _runs(known, low, high):
            ends = [(x.share(each["x"]), y.share(each[low]), y.share(each[high])) for each in run]
            there = [(place, high_end) for place, _, high_end in ends]
            back = [(place, low_end) for place, low_end, _ in reversed(ends)]
            add(square, "polygon", kind=kind, points=_path(there + back))


def _runs(points: Sequence[Mapping[str, Any]], low: str, high: str) -> Iterable[list[Mapping[str, Any]]]:
    for complete, run in groupby(points, lambda each: None not in (each[low], each[high])):
        if complete:
            yield list(run)


def _path(places: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{100.0 * x:.4g},{100.0 * y:.4g}" for x, y in places)


BAR_ROW = 36


def bar_chart(bins: Sequence[Mapping[str, Any]], title: str) -> str:
    """Draw one bar for each bin; its length is a share of the whole width.

    Parameters
    ----------
    bins : sequence of mapping
        With label, n and share.

    Examples
    --------
    >>> bar_chart([{"label": "young", "n": 1200, "share": 0.25}], "Decided, by age").count("25.0%")
    2
    """
    described = " ".join(f"{cut(each['label'])}: {percent(each['share'])}." for each in bins)
    chart = new_chart(title, described, BAR_ROW * len(bins), "bars")
    scale = Scale(0.0, 1.0)
    for place, each in enumerate(bins):
        top = BAR_ROW * place
        group = add(chart, "g", kind="row")
        add(group, "title", cut(f"{each['label']}: {count(each['n'])} cases", LONG))
        add(group, "text", cut(each["label"], 30), kind="label", x=0, y=top + 13)
        add(group, "text", percent(each["share"]), kind="value", x="100%", y=top + 13, text_anchor="end")
        add(group, "rect", kind="track", x=0, y=top + 19, width="100%", height=8)
        if each["share"] is not None:
            add(group, "rect", kind="bar", x=0, y=top + 19, width=scale(each["share"]), height=8)
    return markup(chart)


# Pixels. Labels are placed above their interval, so that both fit on a narrow screen.
ROW, HEADING, AXIS, GAP = 40, 30, 26, 6
# Number of characters of label and text that fit side by side on a phone, and the minimum for a label.
LINE, SHORTEST = 50, 12


@dataclass(frozen=True)
class Row:
    """One interval of an interval chart.

    Attributes
    ----------
    label : str
        The model or subgroup that the interval belongs to.
    text : str
        The interval as text.
    ends : mapping
        With lower, upper, ci_lower and ci_upper; None where unknown.
    kind : "yours", "ours" or "plain"
    heading : str
        Shown above the row if it differs from the heading of the previous row.
    faint : bool
        Whether the checks forbid the assumption behind the interval.
    seen : float or None
        The value among labeled cases, drawn as a ring.
    """

    label: str
    text: str
    ends: Mapping[str, Any]
    kind: str = "plain"
    heading: str = ""
    faint: bool = False
    seen: float | None = None


def interval_chart(
    rows: Sequence[Row], title: str, scale: Scale, tick_text: Callable[[float], str], zero: bool = False
) -> str:
    """Draw intervals one below the other over a common axis.

    Parameters
    ----------
    tick_text : callable
        Returns the label of a tick from its value.
    zero : bool
        Whether to mark zero, as for differences.

    Examples
    --------
    >>> ends = {"lower": 0.2, "upper": 0.6, "ci_lower": 0.1, "ci_upper": 0.7}
    >>> chart = interval_chart([Row("model", "20% to 60%", ends)], "Accuracy", Scale(0, 1), str)
    >>> chart.count("<rect"), "model: 20% to 60%." in chart
    (1, True)
    """
    described = " ".join(f"{row.heading} {row.label}: {row.text}.".strip() for row in rows)
    placed, bottom = _placed(rows)
    chart = new_chart(title, described, bottom + AXIS, "intervals")
    _axis(chart, scale, tick_text, bottom)
    if zero:
        place = scale(0.0)
        add(chart, "line", kind="zero", x1=place, x2=place, y1=0, y2=bottom)
    for row, top, headed in placed:
        if headed:
            add(chart, "text", cut(row.heading), kind="heading", x=0, y=top - 10)
        _draw(chart, row, scale, top)
    return markup(chart)


def _placed(rows: Sequence[Row]) -> tuple[list[tuple[Row, int, bool]], int]:
    """Rows with their top position and whether they start a heading, and the bottom of the last row."""
    placed: list[tuple[Row, int, bool]] = []
    top, heading = 0, ""
    for row in rows:
        headed = bool(row.heading) and row.heading != heading
        top += HEADING + (GAP if placed else 0) if headed else 0
        placed.append((row, top, headed))
        heading = row.heading
        top += ROW
    return placed, top


def _axis(chart: Element, scale: Scale, tick_text: Callable[[float], str], bottom: int) -> None:
    for value in scale.ticks():
        place, share = scale(value), scale.share(value)
        add(chart, "line", kind="grid", x1=place, x2=place, y1=0, y2=bottom)
        add(chart, "text", tick_text(value), kind="tick", x=place, y=bottom + 16, text_anchor=anchor(share))


def _draw(chart: Element, row: Row, scale: Scale, top: int) -> None:
    group = add(chart, "g", kind=f"row {row.kind}{' faint' if row.faint else ''}")
    add(group, "title", cut(f"{row.heading} {row.label}: {row.text}".strip(), LONG))
    add(group, "text", cut(row.label, max(LINE - len(row.text), SHORTEST)), kind="label", x=0, y=top + 13)
    add(group, "text", row.text, kind="value", x="100%", y=top + 13, text_anchor="end")
    middle = top + 26
    low, high, ci_low, ci_high = (row.ends[end] for end in ENDS)
    if None not in (ci_low, ci_high) and not is_empty(ci_low, ci_high):
        _thin(group, scale(ci_low), scale(ci_high), middle)
    if None not in (low, high):
        _thick(group, scale, low, high, middle)
    if row.seen is not None:
        add(group, "circle", kind="seen", cx=scale(row.seen), cy=middle, r=5)


def _thin(group: Element, low: str, high: str, middle: int) -> None:
    add(group, "line", kind="thin", x1=low, x2=high, y1=middle, y2=middle)
    for end in (low, high):
        add(group, "line", kind="thin", x1=end, x2=end, y1=middle - 4, y2=middle + 4)


def _thick(group: Element, scale: Scale, low: float, high: float, middle: int) -> None:
    if low == high:
        add(group, "circle", kind="point", cx=scale(low), cy=middle, r=5)
        return
    first, last = sorted((low, high))
    width = f"{100.0 * (scale.share(last) - scale.share(first)):.4g}%"
    kind = "crossed" if low > high else "thick"
    add(group, "rect", kind=kind, x=scale(first), y=middle - 4, width=width, height=8)
