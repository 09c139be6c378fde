"""One chart for each published figure: published, published protocol, honest and the limit, side by side."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from study.honest.sensitivity import ANSWERS
from study.page.figures import MIRRORED, PLAIN, PUBLISHED, new_figure, save
from study.page.numbers import CONTROL, measured, of
from study.page.published import THEIR_NAMES
from study.published.splits import BEST


@dataclass(frozen=True)
class PublishedFigure:
    """A figure or table of the paper.

    Attributes
    ----------
    name : str
        Its number.
    shows : str
    experiment : str
    selection : str
        "nucem" or "uc"; empty: both.
    columns : int
        Panels beside each other.
    """

    name: str
    shows: str
    experiment: str
    selection: str
    columns: int

    @property
    def key(self) -> str:
        """Short name, of its picture too."""
        return "-".join(each for each in (self.experiment, self.selection) if each)

    def cells(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows of this figure, ours or published ones."""
        rows = of(rows, experiment=self.experiment)
        return rows[rows["cell"].str.startswith(f"{self.selection}-" if self.selection else "")]


FIGURES = (
    PublishedFigure("Figures 2 and 6", "FICO, NUCEM", "fico", "nucem", 5),
    PublishedFigure("Figures 3 and 7", "FICO, UC", "fico", "uc", 5),
    PublishedFigure("Figure 4", "synthetic, NUCEM", "synthetic", "nucem", 3),
    PublishedFigure("Figure 5", "synthetic, UC", "synthetic", "uc", 3),
    PublishedFigure("Table 1", "noise in the weights", "sensitivity", "", 2),
)

COLOURS = {
    "published": PUBLISHED,
    "published protocol": "black",
    "honest": PLAIN,
    "honest, mirrored": MIRRORED,
}
MARKERS = {"published": "x", "published protocol": "o", "honest": "s", "honest, mirrored": "D"}
PLACES = ("selected", "ipw", CONTROL, "partial", "point", "full")
# What the rule of each method gives with perfect knowledge; point learning's is known under NUCEM.
LIMIT_OF = {
    "selected": "selected_accuracy",
    "ipw": "selected_accuracy",
    "partial": "minimax_accuracy",
    "point": "bayes_accuracy",
    "full": "bayes_accuracy",
}
WIDTH = 0.18


def side_by_side(figure: PublishedFigure, rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Means of every source, one row for each mark of the chart.

    Returns
    -------
    DataFrame
        cell, classifier, method, level (of noise; empty elsewhere), source, value, spread, limit, count.
    """
    theirs = of(figure.cells(published), setting=BEST) if figure.selection else figure.cells(published)
    ours = figure.cells(rows)
    released = of(ours, protocol="published", mirrored=False)
    released = released[released["setting"].str.endswith(BEST)]
    honest = of(ours, protocol="honest")
    names = [THEIR_NAMES.get((figure.experiment, name), "") for name in honest["classifier"]]
    honest = honest.assign(classifier=names)
    honest = honest[honest["classifier"] != ""]
    if not figure.selection:
        # Two cells more were run honestly, because text and code disagree on which it is.
        honest = of(honest[honest["cell"].isin({*theirs["cell"], *released["cell"]})], part=ANSWERS)
    parts = [
        theirs.assign(source="published", value=theirs["published"], spread=theirs["published_std"]),
        _means(released, "published protocol"),
        _means(of(honest, mirrored=False), "honest"),
        _means(of(honest, mirrored=True), "honest, mirrored"),
    ]
    marks = pd.concat([part for part in parts if len(part)], ignore_index=True)
    levels = marks["setting"].str.extract(r"^sigma=([\d.]+)", expand=False).astype(float)
    # Run as 3, 5 and 7, printed as .3, .5 and .7 (correction E16).
    released_scale = marks["source"].isin(("published", "published protocol"))
    levels = levels.where(~released_scale, levels / 10.0)
    # Neither line needs weights, so noise does not reach it.
    plain = levels.isna() | marks["method"].isin(("full", "constant"))
    texts = ["" if without else f"{level:g}" for level, without in zip(levels, plain, strict=True)]
    return marks.assign(level=texts)[
        ["cell", "classifier", "method", "level", "source", "value", "spread", "limit", "count"]
    ]


def _means(rows: pd.DataFrame, source: str) -> pd.DataFrame:
    columns = ["cell", "classifier", "method", "setting"]
    limits = [
        row.get(LIMIT_OF.get(row["method"], ""), np.nan)
        if row["method"] != "point" or row["cell"].startswith("nucem-")
        else np.nan
        for row in rows.to_dict("records")
    ]
    rows = rows.assign(value=measured(rows), limit=np.array(limits, dtype=float))
    each = rows.groupby(columns, sort=False)
    means = each["value"].agg(value="mean", spread="std", count="count").join(each["limit"].first())
    return means.reset_index().assign(source=source)


def draw_side_by_side(figure: PublishedFigure, marks: pd.DataFrame, path: Path) -> Path:
    """Draw the marks of :func:`side_by_side`, one panel for each cell and classifier.

    A bar is the limit of a method; where no law is known, a dotted line is training on all labels.
    """
    panels = marks[["cell", "classifier"]].drop_duplicates().sort_values(["cell", "classifier"])
    n_rows = -(-len(panels) // figure.columns)
    chart = new_figure(11.0, 1.7 * n_rows + 1.2)
    first: Any = None
    for number, (cell, classifier) in enumerate(panels.itertuples(index=False), start=1):
        axes = chart.add_subplot(n_rows, figure.columns, number, sharey=first)
        first = axes if first is None else first
        here = of(marks, cell=cell, classifier=classifier)
        places = list(dict.fromkeys(_places(here)))
        for source in COLOURS:
            _draw(axes, of(here, source=source), source, places)
        axes.set_title(cell if classifier == "network" else f"{cell}, {classifier}", fontsize=8)
        if here["limit"].isna().all():
            for row in of(here, method="full").to_dict("records"):
                axes.axhline(row["value"], color=COLOURS[row["source"]], linestyle=":", linewidth=0.8)
        axes.set_xticks(range(len(places)), places, rotation=45, ha="right", fontsize=7)
        axes.tick_params(axis="x", labelbottom=number > len(panels) - figure.columns)
        axes.set_xlim(-0.6, len(places) - 0.4)
        axes.tick_params(axis="y", labelsize=7)
    chart.supylabel("accuracy", fontsize=8)
    _legend(chart, marks)
    return save(chart, path)


def _places(marks: pd.DataFrame) -> Iterator[str]:
    present = set(marks["method"])
    others = sorted(present - set(PLACES))
    for method in (*(name for name in PLACES if name in present), *others):
        for level in sorted(set(of(marks, method=method)["level"])):
            yield f"{method} {level}".strip()


def _draw(axes: Any, marks: pd.DataFrame, source: str, places: list[str]) -> None:
    shift = 0.22 * (list(COLOURS).index(source) - 1.5)
    for row in marks.to_dict("records"):
        place = places.index(f"{row['method']} {row['level']}".strip()) + shift
        spread = None if np.isnan(row["spread"]) else row["spread"]
        style: dict[str, Any] = {"fmt": MARKERS[source], "color": COLOURS[source], "linewidth": 0.8}
        axes.errorbar([place], [row["value"]], yerr=spread, markersize=3.5, **style)
        if not np.isnan(row["limit"]):
            axes.hlines(row["limit"], place - WIDTH, place + WIDTH, color=COLOURS[source], linewidth=1.2)


def _legend(chart: Any, marks: pd.DataFrame) -> None:
    from matplotlib.lines import Line2D

    there = set(marks["source"])
    handles = [
        Line2D([], [], color=colour, marker=MARKERS[source], linestyle="", label=source)
        for source, colour in COLOURS.items()
        if source in there
    ]
    if marks["limit"].notna().any():
        handles.append(Line2D([], [], color="black", label="limit of the method"))
    else:
        handles.append(Line2D([], [], color="black", linestyle=":", label="all labels"))
    chart.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=7)
