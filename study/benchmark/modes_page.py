"""The page of the modes: gains over the labeled rows alone, shares of the gap, costs, contradictions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.io.files import write_whole
from study.benchmark.modes import COLUMNS, COSTS
from study.page.document import Block, Code, Heading, Paragraph, Table, to_markdown
from study.page.numbers import mean_and_error, ratio
from study.page.prose import flowing

COMMAND = "python -m study modes --out runs/modes --data FOLDER --jobs 2 --page study/benchmark/results"
# Below the labeled rows by more than this and two standard errors is harm.
HARM, ERRORS = 0.003, 2.0
# A gap below this cannot be told from noise.
SMALLEST_GAP = 0.005
CLOSING = ("auto", "auto, equal skill", "right")
SHOWN = {
    "auto": "`auto`",
    "auto, equal skill": "`auto`, `skill_range=0`",
    "right": "right direction",
    "control": "its control, no instrument",
    "wrong": "wrong direction",
    "all labels": "all labels",
}
INTRODUCTION = """
What does `mode="auto"` gain over training on the labeled rows alone? Figures are points of accuracy on
all cases, with the standard error over draws in brackets. The learner is linear, with logistic models, on
every table. *Right direction* and *wrong direction*: `auto` with a direction that is true or false.
*Control*: the odds of refused cases times e^.25 in the right direction, without an instrument; the gain
of the right direction beyond the control is the instrument's part. *Mirrored*: selection is reversed. The
rule was frozen on other seeds. The command makes twenty draws in each direction; the tables say how many
are stored. Draws of raters are halves of one table and share rows, so their standard errors are less
reliable than those of designs.
"""
COSTLY = """
Cost per case under `auto` minus the cost of the labeled rows alone with the same costs (standard error).
With *costly misses*, missing the last class costs three and other mistakes cost one; with *costly
alarms*, predicting it wrongly costs three. Negative is better.
"""
GAPS = """
Share of the gap between the labeled rows and all labels that is closed, in the direction of selection in
which it is smaller (standard error). A dash: the gap is below half a point.
"""
Pair = tuple[float, float]


def write_modes_page(rows: pd.DataFrame, folder: Path) -> list[Path]:
    """Write `modes.md` and `modes.csv`, which has a line for each draw."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = rows.sort_values(["cell", "mirrored", "repetition"])
    draws = rows[["cell", "mirrored", "repetition", *COLUMNS]]
    contents = {
        "modes.md": to_markdown(list(_page(rows))),
        "modes.csv": str(draws.to_csv(index=False, float_format="%.5g")),
    }
    for name, content in contents.items():
        write_whole(folder / name, content)
    return [folder / name for name in contents]


def _page(rows: pd.DataFrame) -> Iterator[Block]:
    table = gains(rows)
    yield Heading("The modes, with and without a direction", 1)
    yield Paragraph(" ".join(verdicts(rows)))
    yield Paragraph(flowing(INTRODUCTION))
    yield Code(COMMAND)
    yield Heading("Gains")
    yield Table(_shown(table), "Points of accuracy over the labeled rows alone.")
    yield Heading("Share of the gap closed")
    yield Table(closed(rows), flowing(GAPS))
    yield Heading("Costs")
    yield Table(costs(rows), flowing(COSTLY))


def gains(rows: pd.DataFrame) -> pd.DataFrame:
    """Gains over the labeled rows alone, (mean, standard error), for each table and direction.

    Examples
    --------
    >>> draws = [{"labeled only": 0.7, **dict.fromkeys(SHOWN, 0.71)}] * 2
    >>> rows = pd.DataFrame(draws).assign(cell="one", mirrored=False, contradicted=[True, False])
    >>> gains(rows)[["cell", "draws", "contradicted"]].to_dict("records")
    [{'cell': 'one', 'draws': 2, 'contradicted': 1}]
    """
    out = []
    for (cell, mirrored), here in rows.groupby(["cell", "mirrored"]):
        found = {name: mean_and_error((here[name] - here["labeled only"]).to_numpy()) for name in SHOWN}
        part = mean_and_error((here["right"] - here["control"]).to_numpy())
        told = int(here["contradicted"].sum())
        out.append(
            {
                "cell": cell,
                "mirrored": mirrored,
                "draws": len(here),
                **found,
                "part": part,
                "contradicted": told,
            }
        )
    return pd.DataFrame(out)


def verdicts(rows: pd.DataFrame) -> Iterator[str]:
    """What was promised, and where it does not hold."""
    table = gains(rows)
    lower, harmed = _below(table, 0.0), _below(table, HARM)
    yield (
        f"Without a direction `auto` is {100 * HARM:.1f} points plus two standard errors below the labeled "
        f"rows alone in {len(harmed)} of {len(table)} tables and directions{_named(harmed)}. It is below "
        f"them by more than two standard errors in {len(lower)}{_named(lower)}."
    )
    dearer = [
        f"{_where({'cell': cell, 'mirrored': mirrored})} ({dear}) {mean:+.4f} ({error:.4f})"
        for (cell, mirrored), here in rows.groupby(["cell", "mirrored"])
        for dear in COSTS
        for mean, error in [_extra_cost(here, dear)]
        if mean > ERRORS * error
    ]
    yield (
        f"With costs it costs more than the labeled rows with the same costs, by over two standard errors, "
        f"in {len(dearer)} of {len(COSTS) * len(table)}{_named(dearer)}."
    )


def _below(table: pd.DataFrame, margin: float) -> list[str]:
    """Where auto is below the labeled rows alone by more than a margin and two standard errors."""
    return [
        f"{_where(row)} {_points(row['auto'])}"
        for row in table.to_dict("records")
        if row["auto"][0] < -margin - ERRORS * row["auto"][1]
    ]


def _named(found: list[str]) -> str:
    return f": {'; '.join(found)}" if found else ""


def closed(rows: pd.DataFrame) -> pd.DataFrame:
    """Share of the gap closed in the worse direction."""
    out = []
    for cell, both in rows.groupby("cell"):
        line = {"table": str(cell)}
        for name in CLOSING:
            shares = []
            for _, here in both.groupby("mirrored"):
                gap = (here["all labels"] - here["labeled only"]).to_numpy()
                gain = (here[name] - here["labeled only"]).to_numpy()
                shares.append(ratio(gain, gap) if gap.mean() >= SMALLEST_GAP else (np.nan, np.nan))
            known = [each for each in shares if not np.isnan(each[0])]
            line[SHOWN[name]] = "{:.2f} ({:.2f})".format(*min(known)) if known else "–"
        out.append(line)
    return pd.DataFrame(out)


def costs(rows: pd.DataFrame) -> pd.DataFrame:
    """Cost of auto minus that of the labeled rows alone, and in how many draws auto left them."""
    out = []
    for (cell, mirrored), here in rows.groupby(["cell", "mirrored"]):
        line: dict[str, Any] = {"table": _where({"cell": cell, "mirrored": mirrored}), "draws": len(here)}
        for dear in COSTS:
            line[f"costly {dear}"] = "{:+.4f} ({:.4f})".format(*_extra_cost(here, dear))
            line[f"left the labeled rows, {dear}"] = int((here[f"mode with costly {dear}"] == "tilt").sum())
        out.append(line)
    return pd.DataFrame(out)


def _extra_cost(here: pd.DataFrame, dear: str) -> Pair:
    extra = here[f"cost of auto, {dear}"] - here[f"cost of labeled only, {dear}"]
    return mean_and_error(extra.to_numpy())


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    out = []
    for row in table.to_dict("records"):
        line = {"table": _where(row), "draws": row["draws"]}
        line |= {words: _points(row[name]) for name, words in SHOWN.items()}
        line |= {
            "the instrument's part": _points(row["part"]),
            "wrong direction contradicted": f"{row['contradicted']} of {row['draws']}",
        }
        out.append(line)
    return pd.DataFrame(out)


def _where(row: dict[Any, Any]) -> str:
    return str(row["cell"]) + (", mirrored" if row["mirrored"] else "")


def _points(pair: Pair) -> str:
    return f"{100 * pair[0]:+.1f} ({100 * pair[1]:.1f})"
