"""The study's figures: box plots of every cell, gaps closed, rates."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from study.page.numbers import by_size, measured, share_closed

METHODS = ("selected", "ipw", "no-instrument", "partial", "point", "tilt", "full")
PLAIN, MIRRORED, PUBLISHED = "#2b6ca3", "#d98a29", "#777777"
# Inches.
WIDEST, INCHES_PER_MARK = 13.0, 1.6
LIMITS: dict[str, tuple[str, Any]] = {
    "bayes_accuracy": ("Bayes", "-"),
    "minimax_accuracy": ("minimax limit", "--"),
    "selected_accuracy": ("selected-sample limit", ":"),
}


def draw_cells(
    rows: pd.DataFrame,
    published: pd.DataFrame,
    classifier: str,
    columns: int,
    path: Path,
    *,
    apart: bool = False,
) -> Path:
    """One panel for each cell: our boxes in both directions, the published mean and spread, the limits.

    Parameters
    ----------
    rows : DataFrame
        Of one experiment and protocol.
    published : DataFrame
        Of `published_with`: of the same experiment and classifier.
    classifier : str
    columns : int
        Cells beside each other.
    path : Path
        PNG to write.
    apart : bool
        Give the published means a panel of their own beside ours: where the designs differ, only the order of
        methods can be compared.
    """
    rows = rows[rows["classifier"] == classifier]
    cells = list(dict.fromkeys(rows["cell"]))
    present = {*rows["method"], *published.loc[published["cell"].isin(cells), "method"]}
    methods = [method for method in METHODS if method in present]
    names = ("published", "ours") if apart and len(published) else ("",)
    figure, panels = _panels(len(cells) * len(names), columns * len(names))
    for number, cell in enumerate(cells):
        pair = panels[number * len(names) : (number + 1) * len(names)]
        for axes, name in zip(pair, names, strict=True):
            axes.set_title(f"{cell} {name}", fontsize=9)
            axes.set_xticks(range(len(methods)), methods, rotation=45, ha="right", fontsize=7)
            axes.tick_params(axis="y", labelsize=7)
            axes.set_xlim(-0.7, len(methods) - 0.3)
        here = rows[rows["cell"] == cell]
        _boxes(pair[-1], here, methods)
        _limits(pair[-1], here)
        _published(pair[0], published[published["cell"] == cell], methods)
    figure.supylabel("accuracy", fontsize=8)
    _legend(figure, rows, published)
    return save(figure, path)


def draw_gaps(gaps: pd.DataFrame, path: Path) -> Path:
    """Gain and share of the gap closed in the worse of two mirrored designs, with two standard errors."""
    methods = [method for method in METHODS if method in set(gaps["method"])]
    gaps = gaps.assign(name=gaps["classifier"] + " " + gaps["cell"]).dropna(subset="worse_gain")
    names = list(dict.fromkeys(gaps["name"]))
    figure = new_figure(10.0, 1.2 + 0.2 * len(names))
    titles = {"worse_gain": "gain in accuracy, worse direction", "worse_closed": "share of the gap closed"}
    if np.isnan(share_closed(gaps)):
        del titles["worse_closed"]
    panels = np.atleast_1d(figure.subplots(1, len(titles), sharey=True))
    for axes, (measure, title) in zip(panels, titles.items(), strict=True):
        for shift, method in enumerate(methods):
            here = gaps[gaps["method"] == method]
            axes.errorbar(
                here[measure],
                [names.index(name) + 0.15 * shift for name in here["name"]],
                xerr=2 * here[f"{measure}_error"],
                fmt="o",
                markersize=3,
                linewidth=0.8,
                label=method,
            )
        axes.axvline(0.0, color="black", linewidth=0.8)
        axes.set_xlabel(title)
        axes.locator_params(axis="x", nbins=6)
    panels[0].set_yticks(range(len(names)), names, fontsize=7)
    marks, labels = panels[0].get_legend_handles_labels()
    figure.legend(marks, labels, loc="outside lower center", ncols=len(labels), fontsize=7)
    return save(figure, path)


def draw_rates(rows: pd.DataFrame, path: Path) -> Path:
    """Excess risks against the number of cases, both axes logarithmic, with standard errors."""
    figure = new_figure(9.0, 3.6)
    titles = {"excess_risk": "excess risk", "excess_worst_case_risk": "excess worst-case risk"}
    for number, (column, title) in enumerate(titles.items(), start=1):
        axes = figure.add_subplot(1, 2, number)
        for method in dict.fromkeys(rows["method"]):
            risks = by_size(rows, method, column)
            axes.errorbar(
                risks.index, risks["mean"], yerr=risks["sem"], marker="o", markersize=3, label=method
            )
        axes.set(xscale="log", yscale="log", xlabel="cases", title=title)
        axes.legend(fontsize=7)
    return save(figure, path)


def _boxes(axes: Any, rows: pd.DataFrame, methods: list[str]) -> None:
    for mirrored, colour, shift in ((False, PLAIN, -0.1), (True, MIRRORED, 0.2)):
        for place, values in _values(rows[rows["mirrored"] == mirrored], methods):
            axes.boxplot(
                values,
                positions=[place + shift],
                widths=0.22,
                patch_artist=True,
                manage_ticks=False,
                boxprops={"facecolor": colour, "linewidth": 0.5},
                medianprops={"color": "black", "linewidth": 0.8},
                flierprops={"markersize": 2},
            )


def _values(rows: pd.DataFrame, methods: list[str]) -> Iterator[tuple[int, np.ndarray]]:
    for place, method in enumerate(methods):
        values = measured(rows[rows["method"] == method]).to_numpy()
        if len(values):
            yield place, values


def _limits(axes: Any, rows: pd.DataFrame) -> None:
    for column, (_, style) in LIMITS.items():
        for mirrored, colour in ((False, PLAIN), (True, MIRRORED)):
            values = rows.loc[rows["mirrored"] == mirrored, column].dropna()
            if len(values):
                # The Bayes rule knows no direction.
                shade = "black" if column == "bayes_accuracy" else colour
                axes.axhline(values.iloc[0], color=shade, linestyle=style, linewidth=0.8)


def _published(axes: Any, rows: pd.DataFrame, methods: list[str]) -> None:
    if rows.empty and not axes.has_data():
        axes.text(0.5, 0.5, "published as a picture only", ha="center", transform=axes.transAxes, fontsize=7)
        axes.set_yticks([])
    for row in rows.to_dict("records"):
        if row["method"] in methods:
            place = methods.index(row["method"]) - 0.35
            spread = None if np.isnan(row["published_std"]) else row["published_std"]
            axes.errorbar([place], [row["published"]], yerr=spread, fmt="x", color=PUBLISHED, markersize=4)


def _legend(figure: Any, rows: pd.DataFrame, published: pd.DataFrame) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    cross: dict[str, Any] = {"color": PUBLISHED, "marker": "x", "linestyle": ""}
    marks = [
        Patch(color=PLAIN, label="ours"),
        *([Patch(color=MIRRORED, label="ours, mirrored")] if rows["mirrored"].any() else []),
        *([Line2D([], [], **cross, label="published mean and s.d.")] if len(published) else []),
        *(
            Line2D([], [], color="black", linestyle=style, label=name)
            for column, (name, style) in LIMITS.items()
            if rows[column].notna().any()
        ),
    ]
    columns = int(figure.get_figwidth() // INCHES_PER_MARK)
    figure.legend(handles=marks, loc="outside lower center", ncols=columns, fontsize=7)


def _panels(n_panels: int, columns: int) -> tuple[Any, list[Any]]:
    n_rows = -(-n_panels // columns)
    figure = new_figure(min(3.2 * columns, WIDEST), 2.4 * n_rows + 0.6)
    return figure, [figure.add_subplot(n_rows, columns, place + 1) for place in range(n_panels)]


def new_figure(width: float, height: float) -> Any:
    """An empty figure of this size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, path: Path) -> Path:
    """Write a figure as PNG."""
    # No date or version inside: the same results give the same file.
    figure.savefig(path, dpi=110, metadata={"Software": None})
    return path
