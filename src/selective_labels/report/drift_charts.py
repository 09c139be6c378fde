"""Shares and bounds from one period to the next."""

from collections.abc import Mapping
from typing import Any

from selective_labels.report import wording
from selective_labels.report.figures import Figure, tick_text
from selective_labels.report.numbers import confidence, count, cut, identified, percent, percent_tick, span
from selective_labels.report.plot_area import BOTTOM, TOP, bands, plot_area, x_label
from selective_labels.report.svg import Scale, anchor, markup, new_chart, round_scale

HEIGHT = 170
# Labels of periods that fit side by side on a telephone.
MOST_LABELS = 4


def drift_figures(part: Mapping[str, Any]) -> list[Figure]:
    """What is seen (acceptance, the event among the labeled), then the bounds on everybody.

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
    chart = new_chart(cut(title), described, HEIGHT + TOP + BOTTOM, "drift axes")
    x = Scale(0.0, max(len(periods) - 1.0, 1.0))
    ends = [each[end] for each in periods for end in ("ci_lower", "ci_upper", "lower", "upper")]
    y = Scale(0.0, 1.0, flipped=True) if whole else round_scale(ends, flipped=True)
    area = plot_area(chart, HEIGHT, x, y, None, text)
    bands(area, [each | {"x": float(place)} for place, each in enumerate(periods)], x, y)
    step = max(-(-(len(periods) - 1) // (MOST_LABELS - 1)), 1)
    for place in range(0, len(periods), step):
        x_label(chart, HEIGHT, x(place), cut(periods[place]["period"], 12), anchor(x.share(place)))
    return markup(chart)
