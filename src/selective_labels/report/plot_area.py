"""The area between two axes, in which both directions are percentages; labels stand outside of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any
from xml.etree.ElementTree import Element

from selective_labels.report.svg import Scale, add, anchor

TOP, BOTTOM, NAME = 10, 26, 18
TickText = Callable[[float], str]


def plot_area(
    chart: Element, height: int, x: Scale, y: Scale, x_text: TickText | None, y_text: TickText
) -> Element:
    """Add grid and ticks to a chart, and return the area to draw in.

    Parameters
    ----------
    chart : Element
    height : int
        Of the area, in pixels; the chart needs `TOP` and `BOTTOM` besides.
    x, y : Scale
        The vertical one flipped.
    x_text, y_text : callable
        From the value of a tick to its label; None for an axis without ticks.
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
    """Name what the ticks below the area are; the chart needs `NAME` more pixels."""
    add(chart, "text", text, kind="tick name", x="50%", y=TOP + height + 36, text_anchor="middle")


def bands(area: Element, points: Iterable[Mapping[str, Any]], x: Scale, y: Scale) -> None:
    """Draw what is identified as a band within the band of the confidence intervals.

    Parameters
    ----------
    area : Element
    points : iterable of mapping
        With x, lower, upper, ci_lower and ci_upper; a band has a gap where one of its ends is None.
    x, y : Scale
    """
    known = list(points)
    # Percentages are not allowed in paths: these are drawn on a square that is stretched over the area.
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
