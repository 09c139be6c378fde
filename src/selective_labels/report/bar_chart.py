"""Shares of a few bins as bars."""

from collections.abc import Mapping, Sequence
from typing import Any

from selective_labels.report.numbers import LONG, count, cut, percent
from selective_labels.report.svg import Scale, add, markup, new_chart

ROW = 36


def bar_chart(bins: Sequence[Mapping[str, Any]], title: str) -> str:
    """Draw one bar for each bin, its length a share of the whole width.

    Parameters
    ----------
    bins : sequence of mapping
        With label, n and share.
    title : str

    Examples
    --------
    >>> bar_chart([{"label": "young", "n": 1200, "share": 0.25}], "Decided, by age").count("25.0%")
    2
    """
    described = " ".join(f"{cut(each['label'])}: {percent(each['share'])}." for each in bins)
    chart = new_chart(title, described, ROW * len(bins), "bars")
    scale = Scale(0.0, 1.0)
    for place, each in enumerate(bins):
        top = ROW * place
        group = add(chart, "g", kind="row")
        add(group, "title", cut(f"{each['label']}: {count(each['n'])} cases", LONG))
        add(group, "text", cut(each["label"], 30), kind="label", x=0, y=top + 13)
        add(group, "text", percent(each["share"]), kind="value", x="100%", y=top + 13, text_anchor="end")
        add(group, "rect", kind="track", x=0, y=top + 19, width="100%", height=8)
        if each["share"] is not None:
            add(group, "rect", kind="bar", x=0, y=top + 19, width=scale(each["share"]), height=8)
    return markup(chart)
