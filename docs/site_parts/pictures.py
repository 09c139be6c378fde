"""The pictures of the concepts: small, and made from numbers that can be checked."""

from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Readable on light and on dark pages.
GREY, BLUE, RED, GREEN = "#8a8f98", "#3b82c4", "#d1605e", "#4f9d69"
STYLE = {
    "font.size": 10,
    "text.color": GREY,
    "axes.labelcolor": GREY,
    "axes.edgecolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.transparent": True,
    "svg.fonttype": "path",
    "svg.hashsalt": "selective-labels",
}


def draw(folder: Path) -> None:
    """Write every picture as SVG."""
    folder.mkdir(exist_ok=True)
    with plt.rc_context(STYLE):
        for name, picture in PICTURES.items():
            figure = picture()
            figure.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
            plt.close(figure)


def what_is_seen() -> Figure:
    """Everybody, who is accepted, and what nobody sees."""
    figure, axes = plt.subplots(figsize=(6.4, 1.9))
    parts = [
        ("accepted, repaid", 0.45, GREEN),
        ("accepted, defaulted", 0.10, RED),
        ("refused: ?", 0.45, GREY),
    ]
    start = 0.0
    for text, share, colour in parts:
        axes.barh(0, share, left=start, color=colour, alpha=0.75)
        axes.text(start + share / 2, 0, f"{text}\n{share:.0%}", ha="center", va="center", color="white")
        start += share
    axes.annotate("", (0.55, -0.62), (0.0, -0.62), arrowprops={"arrowstyle": "<->", "color": GREY})
    axes.text(0.275, -0.85, "the labels that you have", ha="center")
    bare(axes).set_ylim(-1, 0.5)
    return figure


def like_cases() -> Figure:
    """The same cases, assigned at random to a strict and to a lenient decision-maker."""
    figure, panels = plt.subplots(1, 2, figsize=(6.4, 2.6), sharey=True)
    risk = np.array([0.1, 0.15, 0.2, 0.3, 0.35, 0.45, 0.55, 0.6, 0.75, 0.9])
    for axes, (name, cut) in zip(panels, [("strict", 0.25), ("lenient", 0.7)], strict=True):
        seen = risk < cut
        axes.scatter(np.flatnonzero(seen), risk[seen], color=BLUE, s=50, label="label seen")
        axes.scatter(
            np.flatnonzero(~seen), risk[~seen], edgecolor=GREY, facecolor="none", s=50, label="refused"
        )
        axes.axhline(cut, color=RED, linestyle=":", linewidth=1)
        axes.set_title(f"a {name} decision-maker", color=GREY, fontsize=10)
        axes.set_xticks([])
    panels[0].set_ylabel("risk that they see")
    panels[1].legend(frameon=False, labelcolor=GREY, loc="upper left", fontsize=8)
    return figure


def bounds_by_leniency() -> Figure:
    """What seen failures say at each leniency, and what is left at full acceptance."""
    figure, axes = plt.subplots(figsize=(6.0, 3.2))
    leniency = np.array([0.3, 0.45, 0.55, 0.65, 0.8])
    seen = np.array([0.03, 0.055, 0.075, 0.10, 0.15])
    axes.scatter(leniency, seen, color=BLUE, zorder=3, label="one decision-maker")
    axes.fill_between([0.8, 1.0], [0.15, 0.15], [0.15, 0.35], color=GREY, alpha=0.3)
    axes.plot(
        [1.0, 1.0], [0.15, 0.35], color=RED, linewidth=4, solid_capstyle="butt", label="what is possible"
    )
    axes.annotate("seen failures of\nthe most lenient", (0.8, 0.15), (0.44, 0.21), arrowprops=arrow())
    axes.annotate("plus everybody\nwhom they refused", (1.0, 0.35), (0.62, 0.32), arrowprops=arrow())
    axes.set_xlabel("share accepted by the decision-maker")
    axes.set_ylabel("share of all cases:\naccepted and failed")
    axes.set_xlim(0.2, 1.04)
    axes.legend(frameon=False, labelcolor=GREY, loc="upper left", fontsize=8)
    return figure


def narrower() -> Figure:
    """One number under assumptions from weak to strong."""
    rows = [
        ("none", 0.36, 0.86),
        ("instrument", 0.55, 0.74),
        ("+ prevalence", 0.61, 0.69),
        ("+ informed", 0.62, 0.70),
        ("nucem", 0.66, 0.66),
        ("unconfounded", 0.70, 0.70),
    ]
    figure, axes = plt.subplots(figsize=(6.0, 2.6))
    for place, (_, low, high) in enumerate(rows):
        axes.plot(
            [low, high], [place, place], color=BLUE if high > low else RED, linewidth=5, solid_capstyle="butt"
        )
        if low == high:
            axes.scatter([low], [place], color=RED, s=40)
    axes.set_yticks(range(len(rows)), [name for name, *_ in rows])
    axes.invert_yaxis()
    axes.set_xlabel("accuracy on everybody (a sketch, not data)")
    axes.set_xlim(0.3, 0.9)
    return figure


def undecided() -> Figure:
    """Three differences: a winner, a loser, and one that cannot be told."""
    rows = [
        ("a is better", 0.02, 0.09, GREEN),
        ("undecided", -0.05, 0.08, GREY),
        ("b is better", -0.10, -0.01, RED),
    ]
    figure, axes = plt.subplots(figsize=(6.0, 1.9))
    for place, (_, low, high, colour) in enumerate(rows):
        axes.plot([low, high], [place, place], color=colour, linewidth=6, solid_capstyle="butt")
    axes.axvline(0.0, color=GREY, linewidth=1)
    axes.set_yticks(range(3), [name for name, *_ in rows])
    axes.set_xlabel("accuracy of a minus accuracy of b, everything that is possible")
    axes.invert_yaxis()
    return figure


def one_slope() -> Figure:
    """NUCEM: seen labels on a line in leniency, which is read at full acceptance."""
    figure, axes = plt.subplots(figsize=(6.0, 2.8))
    leniency = np.array([0.3, 0.45, 0.55, 0.65, 0.8])
    seen = 0.25 * leniency - 0.03
    axes.plot([0.2, 1.0], [0.02, 0.22], color=RED, linestyle="--", linewidth=1)
    axes.scatter(leniency, seen, color=BLUE, zorder=3)
    axes.annotate(
        "the slope is the share of failures\namong everybody: .25",
        (0.62, 0.125),
        (0.24, 0.17),
        arrowprops=arrow(),
    )
    axes.set_xlabel("share accepted by the decision-maker")
    axes.set_ylabel("accepted and failed")
    return figure


def bare(axes: Axes) -> Axes:
    """Axes without a frame."""
    axes.set_axis_off()
    return axes


def arrow() -> dict[str, object]:
    """How an arrow looks."""
    return {"arrowstyle": "->", "color": GREY}


PICTURES: dict[str, Callable[[], Figure]] = {
    "what-is-seen": what_is_seen,
    "like-cases": like_cases,
    "bounds": bounds_by_leniency,
    "assumptions": narrower,
    "undecided": undecided,
    "one-slope": one_slope,
}
