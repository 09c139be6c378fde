"""One measure over all acceptance rates, the present one and the people's own point marked."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from selective_labels.report.numbers import ENDS, number, percent_tick
from selective_labels.report.plot_area import BOTTOM, TOP, bands, plot_area
from selective_labels.report.svg import Scale, add, markup, new_chart, round_scale

HEIGHT = 130


def acceptance_chart(
    points: Sequence[Mapping[str, Any]],
    measure: str,
    start: int,
    title: str,
    human: Mapping[str, Any] | None = None,
    present: float | None = None,
    makers: Sequence[tuple[float, float]] = (),
) -> str:
    """Draw a measure at every stop of the slider.

    Parameters
    ----------
    points : sequence of mapping
        With rate, and an interval under `measure`.
    measure : str
    start : int
        The stop that is marked at first.
    title : str
    human : mapping, optional
        Ends of the measure for the decisions taken.
    present : float, optional
        The share that people accept now.
    makers : sequence of (acceptance, value)
        Every decision-maker's own point.

    Examples
    --------
    >>> ends = {"lower": 0.1, "upper": 0.2, "ci_lower": 0.0, "ci_upper": 0.3}
    >>> points = [{"rate": 0.5, "failures": ends}, {"rate": 1.0, "failures": ends}]
    >>> chart = acceptance_chart(points, "failures", 0, "Failures", ends, 0.5)
    >>> 'data-measure="failures"' in chart, chart.count('class="present"'), chart.count('class="human"')
    (True, 1, 1)
    """
    described = "Shares accepted to the right; the numbers are in the table."
    chart = new_chart(title, described, HEIGHT + TOP + BOTTOM, "acceptance axes")
    chart.set("data-measure", measure)
    values = [point[measure][end] for point in points for end in ENDS]
    values += [(human or {}).get(end) for end in ENDS] + [value for _, value in makers] + [0.0]
    x, y = Scale(0.0, 1.0), round_scale(values, flipped=True)
    chart.set("data-low", f"{y.low:.10g}")
    chart.set("data-high", f"{y.high:.10g}")
    area = plot_area(chart, HEIGHT, x, y, _few_ticks, number if measure == "cost" else percent_tick)
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
    """Four charts stand side by side: every second label would meet its neighbour."""
    return percent_tick(value) if round(value, 9) in (0.0, 0.4, 0.8) else ""


def _human(area: Element, place: str, low: float, high: float, y: Scale) -> None:
    """A diamond-sized dot, drawn out to a bar where even the people's own figure is not seen."""
    if low == high:
        add(area, "circle", kind="human", cx=place, cy=y(low), r=5)
    else:
        add(area, "line", kind="human", x1=place, x2=place, y1=y(low), y2=y(high))


def _mark(area: Element, kind: str, place: str, low: float | None, high: float | None, y: Scale) -> None:
    """Add the mark even where there is nothing to show: the slider moves on to where there is."""
    ends = {"y1": y(low or 0.0), "y2": y(high or 0.0)}
    hidden = {"visibility": "hidden"} if None in (low, high) else {}
    add(area, "line", kind=f"mark {kind}", x1=place, x2=place, **ends, **hidden)
