"""Decision-makers: how often each decides in favour, and what follows."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from selective_labels.report.numbers import LONG, count, cut, percent, percent_tick
from selective_labels.report.plot_area import BOTTOM, NAME, TOP, axis_name, plot_area, x_label
from selective_labels.report.svg import add, markup, new_chart, round_scale

HEIGHT = 240
# Bars of the charts reach two standard errors to each side.
ERRORS = 2.0
SMALLEST, LARGEST = 2.0, 7.0


def caterpillar(makers: Sequence[Mapping[str, Any]], title: str) -> str:
    """Leniency of each decision-maker with its error, from the strictest to the most lenient.

    Parameters
    ----------
    makers : sequence of mapping
        With id, n, leniency and error, sorted by leniency.
    title : str

    Examples
    --------
    >>> makers = [{"id": "a", "n": 9, "leniency": 0.2, "error": 0.1},
    ...           {"id": "b", "n": 9, "leniency": 0.6, "error": 0.1}]
    >>> caterpillar(makers, "Leniency").count("<circle")
    2
    """
    described = (
        f"{len(makers)} decision-makers, from {percent(makers[0]['leniency'])} to "
        f"{percent(makers[-1]['leniency'])} decided in favour."
    )
    chart = new_chart(title, described, HEIGHT + TOP + BOTTOM, "caterpillar axes")
    reach = [_reach(each, "leniency", "error") for each in makers]
    y = round_scale([end for ends in reach for end in ends], flipped=True)
    area = plot_area(chart, HEIGHT, y, y, None, percent_tick)
    for rank, (each, (low, high)) in enumerate(zip(makers, reach, strict=True)):
        place = f"{100.0 * (rank + 0.5) / len(makers):.4g}%"
        group = add(area, "g", kind="row")
        add(group, "title", _described(each))
        add(group, "line", kind="thin", x1=place, x2=place, y1=y(low), y2=y(high))
        add(group, "circle", kind="point", cx=place, cy=y(each["leniency"]), r=_dot(len(makers)))
    x_label(chart, HEIGHT, "0%", "strictest", "start")
    x_label(chart, HEIGHT, "100%", "most lenient", "end")
    return markup(chart)


def scatter(makers: Sequence[Mapping[str, Any]], title: str) -> str:
    """Share of a class among the labels of each decision-maker, against leniency; area shows cases.

    Parameters
    ----------
    makers : sequence of mapping
        With id, n, leniency and label_rate (None where no label was seen).
    title : str

    Examples
    --------
    >>> makers = [{"id": "a", "n": 9, "leniency": 0.2, "label_rate": 0.5, "label_rate_error": 0.1},
    ...           {"id": "b", "n": 9, "leniency": 0.0, "label_rate": None, "label_rate_error": None}]
    >>> scatter(makers, "Labels").count("<circle")
    1
    """
    known = [each for each in makers if each["label_rate"] is not None]
    described = f"{len(known)} decision-makers: leniency to the right, share among labeled cases upwards."
    chart = new_chart(title, described, HEIGHT + TOP + BOTTOM + NAME, "scatter axes")
    x = round_scale(each["leniency"] for each in known)
    y = round_scale((each["label_rate"] for each in known), flipped=True)
    area = plot_area(chart, HEIGHT, x, y, percent_tick, percent_tick)
    axis_name(chart, HEIGHT, "share decided in favour")
    most = max((each["n"] for each in known), default=1)
    for each in known:
        radius = SMALLEST + (LARGEST - SMALLEST) * sqrt(each["n"] / most)
        dot = add(area, "circle", kind="dot", cx=x(each["leniency"]), cy=y(each["label_rate"]), r=radius)
        add(dot, "title", f"{_described(each)}, label rate {percent(each['label_rate'])}")
    return markup(chart)


def _reach(maker: Mapping[str, Any], value: str, error: str) -> tuple[float, float]:
    width = ERRORS * (maker[error] or 0.0)
    return max(maker[value] - width, 0.0), min(maker[value] + width, 1.0)


def _described(maker: Mapping[str, Any]) -> str:
    words = f"{count(maker['n'])} cases, {percent(maker['leniency'])} decided in favour"
    return f"{cut(maker['id'], LONG - len(words))}: {words}"


def _dot(n: int) -> float:
    """Radius that keeps neighbours apart on a narrow screen."""
    return 4.0 if n <= 40 else 3.0 if n <= 100 else 2.0
