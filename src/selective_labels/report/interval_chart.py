"""Intervals one below the other: thick what is identified, thin the confidence interval."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

from selective_labels.report.numbers import ENDS, LONG, cut, is_empty
from selective_labels.report.svg import Scale, add, anchor, markup, new_chart

# Pixels. Labels stand above their interval, so that a narrow screen has room for both.
ROW, HEADING, AXIS, GAP = 40, 30, 26, 6
# Characters of label and text that fit side by side on a telephone; a label keeps this many in any case.
LINE, SHORTEST = 50, 12


@dataclass(frozen=True)
class Row:
    """One interval.

    Attributes
    ----------
    label : str
        Whose interval it is.
    text : str
        The interval in words.
    ends : mapping
        With lower, upper, ci_lower and ci_upper; None where unknown.
    kind : "yours", "ours" or "plain"
    heading : str
        Stands above the row where it differs from that of the row before.
    faint : bool
        Whether the assumption behind it may not be used here.
    seen : float or None
        What the labeled cases alone say: a ring beside the interval.
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
    """Draw rows over one axis.

    Parameters
    ----------
    rows : sequence of Row
    title : str
    scale : Scale
    tick_text : callable
        From the value of a tick to its label.
    zero : bool
        Whether to mark zero, for differences.

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
    """Rows with their top and whether their heading is new; and the bottom of the last one."""
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
