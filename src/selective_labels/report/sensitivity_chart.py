"""Ends of a metric as an assumption is relaxed, with the value at which a conclusion flips."""

from collections.abc import Mapping
from typing import Any

from selective_labels.report.numbers import cut, number
from selective_labels.report.plot_area import BOTTOM, NAME, TOP, axis_name, bands, plot_area
from selective_labels.report.svg import Scale, add, markup, new_chart, round_scale

HEIGHT = 240


def sensitivity_chart(section: Mapping[str, Any]) -> str:
    """Draw the curve, its limit, the threshold and the break-even value.

    Parameters
    ----------
    section : mapping
        The document's section, with curve, limit, threshold and break_even.

    Examples
    --------
    >>> ends = {"lower": 0.1, "upper": 0.2, "ci_lower": 0.0, "ci_upper": 0.3}
    >>> section = {"title": "Accuracy", "x_name": "gamma", "curve": [{"x": 1.0, **ends}, {"x": 2.0, **ends}],
    ...            "limit": [0.0, 0.4], "threshold": 0.05, "break_even": None}
    >>> sensitivity_chart(section).count("<polygon")
    2
    """
    curve, threshold, break_even = section["curve"], section["threshold"], section["break_even"]
    described = f"{len(curve)} values of {section['x_name']}; the numbers are in the table below."
    chart = new_chart(cut(section["title"]), described, HEIGHT + TOP + BOTTOM + NAME, "sensitivity axes")
    first, last = curve[0]["x"], curve[-1]["x"]
    x = Scale(first, last if last > first else first + 1.0)
    ends = [each[end] for each in curve for end in ("ci_lower", "ci_upper")]
    y = round_scale([*ends, *section["limit"], threshold], flipped=True)
    area = plot_area(chart, HEIGHT, x, y, number, number)
    axis_name(chart, HEIGHT, cut(section["x_name"]))
    bands(area, curve, x, y)
    for end in section["limit"]:
        if end is not None:
            add(area, "line", kind="limit", x1=0, x2="100%", y1=y(end), y2=y(end))
    if threshold is not None:
        add(area, "line", kind="threshold", x1=0, x2="100%", y1=y(threshold), y2=y(threshold))
    if break_even is not None and first <= break_even <= last:
        add(area, "line", kind="break-even", x1=x(break_even), x2=x(break_even), y1=0, y2="100%")
    return markup(chart)
