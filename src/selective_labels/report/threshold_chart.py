"""One metric over all thresholds, with a mark that the page's slider moves."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from selective_labels.report.numbers import percent_tick
from selective_labels.report.plot_area import BOTTOM, TOP, bands, plot_area, x_label
from selective_labels.report.svg import Scale, add, markup, new_chart

HEIGHT = 110


def threshold_chart(points: Sequence[Mapping[str, Any]], metric: str, start: int, title: str) -> str:
    """Draw a metric at every stop of the slider; stops stand at equal distances, as on the slider.

    Parameters
    ----------
    points : sequence of mapping
        With threshold, and an interval under `metric`.
    metric : str
    start : int
        The stop that is marked at first.
    title : str

    Examples
    --------
    >>> ends = {"lower": 0.1, "upper": 0.2, "ci_lower": 0.0, "ci_upper": 0.3}
    >>> points = [{"threshold": 0.1, "accuracy": ends}, {"threshold": 0.2, "accuracy": ends}]
    >>> 'data-metric="accuracy"' in threshold_chart(points, "accuracy", 0, "Accuracy")
    True
    """
    described = "Thresholds to the right, from flagging most to flagging least; the numbers are in the table."
    chart = new_chart(title, described, HEIGHT + TOP + BOTTOM, "thresholds axes")
    chart.set("data-metric", metric)
    x, y = Scale(0, max(len(points) - 1, 1)), Scale(0.0, 1.0, flipped=True)
    area = plot_area(chart, HEIGHT, x, y, None, percent_tick)
    bands(area, [{"x": place, **point[metric]} for place, point in enumerate(points)], x, y)
    add(area, "line", kind="cursor", x1=x(start), x2=x(start), y1=0, y2="100%")
    for kind, low, high in (("thin", "ci_lower", "ci_upper"), ("thick", "lower", "upper")):
        _mark(area, kind, x(start), points[start][metric][low], points[start][metric][high], y)
    x_label(chart, HEIGHT, "0%", f"{points[0]['threshold']:.2f}", "start")
    x_label(chart, HEIGHT, "100%", f"{points[-1]['threshold']:.2f}", "end")
    return markup(chart)


def _mark(area: Element, kind: str, place: str, low: float | None, high: float | None, y: Scale) -> None:
    """Add the mark even where there is nothing to show: the slider moves on to where there is."""
    ends = {"y1": y(low or 0.0), "y2": y(high or 0.0)}
    hidden = {"visibility": "hidden"} if None in (low, high) else {}
    add(area, "line", kind=f"mark {kind}", x1=place, x2=place, **ends, **hidden)
