"""Elements of a chart. Text and attributes are escaped by the serializer, never by hand.

Horizontal positions are percentages of the chart's width and vertical ones are pixels, so that a chart fills
whatever width there is while its text keeps its size.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from selective_labels.report.numbers import LONG, cut

STEPS = (1.0, 2.0, 5.0, 10.0)
MOST_STEPS = 6


@dataclass(frozen=True)
class Scale:
    """Values as percentages of a length.

    Attributes
    ----------
    low, high : float
        Values at 0 % and 100 %.
    flipped : bool
        Whether 0 % is at `high`: pixels run down, values up.

    Examples
    --------
    >>> Scale(0, 4)(1), Scale(0, 4, flipped=True)(1), Scale(0, 1)(7)
    ('25%', '75%', '100%')
    """

    low: float
    high: float
    flipped: bool = False

    def share(self, value: float) -> float:
        """Position between 0 and 1; values beyond the ends stay at the ends."""
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
    """Scale from and to round numbers that holds all values.

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
    """Empty chart with its name and description for those who do not see it."""
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
    """How a label at a share of the width is aligned, so that it does not leave the chart.

    Examples
    --------
    >>> anchor(0.0), anchor(0.5), anchor(1.0)
    ('start', 'middle', 'end')
    """
    return "start" if share < 0.02 else "end" if share > 0.98 else "middle"


def markup(chart: Element) -> str:
    """Return the chart as text for an HTML page."""
    return tostring(chart, encoding="unicode", short_empty_elements=False)


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _step(length: float) -> float:
    power = 10.0 ** floor(log10(length / MOST_STEPS))
    return next(step * power for step in STEPS if length / (step * power) <= MOST_STEPS + 1e-9)
