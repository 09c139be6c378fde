"""Ends of a metric as an assumption is relaxed, with the value at which a conclusion flips."""

from collections.abc import Mapping
from math import log2
from typing import Any

from selective_labels.report.numbers import cut, number
from selective_labels.report.plot_area import BOTTOM, NAME, TOP, axis_name, bands, plot_area, x_label
from selective_labels.report.svg import Scale, add, anchor, markup, new_chart, round_scale

HEIGHT = 240


def sensitivity_chart(section: Mapping[str, Any]) -> str:
    """Draw the curve over odds, each doubling alike, with its limit, threshold and break-even values.

    What the instrument supports is a band from top to bottom.

    Parameters
    ----------
    section : mapping
        The document's section, with curve, limit, threshold, break-even values and what is supported.

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
    chart = new_chart(cut(section["title"]), described, HEIGHT + TOP + BOTTOM + NAME, "sensitivity axes")
    first, last = curve[0]["x"], curve[-1]["x"]
    x = Scale(first, last if last > first else first + 1.0)
    ends = [each[end] for each in curve for end in ("ci_lower", "ci_upper")]
    y = round_scale([*ends, *section["limit"], threshold], flipped=True)
    area = plot_area(chart, HEIGHT, x, y, None, number)
    for tick in x.ticks():
        add(area, "line", kind="grid", x1=x(tick), x2=x(tick), y1=0, y2="100%")
        x_label(chart, HEIGHT, x(tick), number(2.0**tick), anchor(x.share(tick)))
    for low, high in section["supported"] or ():
        left = x.share(log2(low)) if low else 0.0
        right = 1.0 if high is None else x.share(log2(high)) if high else 0.0
        width = f"{100.0 * max(right - left, 0.002):.4g}%"
        add(area, "rect", kind="supported", x=f"{100.0 * left:.4g}%", y=0, width=width, height="100%")
    axis_name(chart, HEIGHT, cut(section["x_name"]))
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
