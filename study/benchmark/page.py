"""The page of the benchmark: what lost to the naive learner first, then gaps, coverage, widths and times."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.io.files import write_whole
from study.benchmark import numbers
from study.benchmark.contestants import FULL, NAIVE, PLAIN
from study.benchmark.experiment import COLUMNS
from study.engine import RUN_FILE
from study.page.document import Block, Code, Heading, Paragraph, Points, Table, to_markdown
from study.page.estimates import margin
from study.page.prose import flowing
from study.table import TaskTable

# A loss is half a point or more; it is clear if a 95 % interval of the paired difference has no gain in it.
LOSS = 0.005
# Draws below which standard errors say next to nothing.
ENOUGH = 3
FEW = "**These are too few draws to tell a gain or a loss from chance; read the page as a trial run.** "
COMMAND = "python -m study benchmark --out runs/field --data FOLDER --jobs 2 --page study/benchmark/results"

INTRODUCTION = """
Every learner gets the same cases, with labels where they were seen, and is judged by the labels of
everybody. *selected* is the naive learner: trained on the labeled cases. *full* is the oracle of the *same*
learner: it sees all labels, and only what lies between the two is due to selection. *no instrument* is the
control: partial learning that is told of one decision-maker. Learners that take bounds are fed with
estimated class probabilities in place of labels, which helps trees by itself; so their naive learner,
oracle and control are *smoothed*, too. Where the instrument is too weak, auto (tilt mode) and point are a
classifier of the labeled cases, and are measured against that.
"""
LOST = """
Learners that are half a point or more below the plain naive learner of the same kind, which is what people do
today. Clear are those whose 95 % interval (Student, over draws) has no gain in it; many comparisons are made,
so one or two of them can be chance.
"""
CLOSED = """
(accuracy - selected) / (full - selected) of the same learner, in the direction of selection in which it is
smaller; in brackets its standard error. A dash: the gap is below half a point or not clear, and nothing can
be said. Above 1 it is noise, or smoothing that the pair of the same learner does not take out.
"""
EACH = """
Points of accuracy, means over draws, standard errors in brackets. *gain* is over the naive learner of the
same kind, *gap* what its oracle is above it. Both directions where selection can be turned round.
"""
JUDGED = """
Of the accuracy of the plain naive linear rule: in how many draws the 95 % interval has the truth in it, in
the worse direction, and its mean width. For real tables the truth is that of the rows judged, and draws are
halves of one table, so they are not independent. No count: nobody knows the truth. An assumption that does
not hold in a design need not cover there; that is what the column is for.
"""
TIMES = """
Median processor seconds over all tables, on one thread. A contestant that raised an error has no number.
"""
LAST = """
`benchmark.csv` has a row for each draw and contestant, `benchmark-summary.csv` those of this page; [how to
take part](../README.md) says what the tables are and how to add a learner.
"""


def write_page(out: Path, folder: Path) -> list[Path]:
    """Write `benchmark.md`, `benchmark.csv` and `benchmark-summary.csv` from the results of a run."""
    rows = TaskTable(out / "results.csv", COLUMNS).read()
    setting = json.loads((out / RUN_FILE).read_text())
    folder.mkdir(parents=True, exist_ok=True)
    table = numbers.by_direction(rows)
    contents = {
        "benchmark.md": to_markdown(list(_page(rows, table, setting))),
        "benchmark.csv": str(rows.to_csv(index=False, float_format="%.5g")),
        "benchmark-summary.csv": str(table.to_csv(index=False, float_format="%.4f")),
    }
    for name, content in contents.items():
        write_whole(folder / name, content)
    return [folder / name for name in contents]


def _page(rows: pd.DataFrame, table: pd.DataFrame, setting: dict[str, Any]) -> Iterator[Block]:
    yield Heading("The benchmark of the field", 1)
    yield Paragraph(flowing(INTRODUCTION))
    yield Paragraph(_how_much(rows))
    size = f" --samples {setting['samples']}" if setting["samples"] else ""
    yield Code(f"{COMMAND} --reps {rows['repetition'].max() + 1}{size}")
    yield Heading("Where a learner is beaten by the naive one")
    yield Paragraph(flowing(LOST))
    for clear, words in ((True, "Clear:"), (False, "Not clear at this number of draws:")):
        yield Paragraph(words)
        yield Points(tuple(losses(table, clear)) or ("None.",))
    yield Heading("Share of the gap closed")
    yield Paragraph(flowing(CLOSED))
    for base in PLAIN:
        yield Table(closed(table[table["contestant"].str.endswith(base)]), f"Learners that are {base}:")
    yield Heading("Intervals")
    yield Table(intervals(rows), flowing(JUDGED))
    yield Heading("Table by table")
    yield Paragraph(flowing(EACH))
    for cell, here in table.groupby("cell"):
        yield Heading(str(cell), 3)
        yield Table(_detail(here), f"{here['draws'].max()} draws in each direction.")
    yield Heading("Time and failures")
    yield Table(numbers.times(rows), flowing(TIMES))
    yield Paragraph(flowing(LAST))


def _how_much(rows: pd.DataFrame) -> str:
    draws = rows.groupby(["cell", "mirrored"])["repetition"].nunique()
    most, hours = rows["n_train"].max(), rows["seconds"].sum() / 3600
    count = f"{draws.min()} to {draws.max()} draws" if draws.min() < draws.max() else f"Draws: {draws.min()},"
    return (
        f"{count} in each direction of {rows['cell'].nunique()} tables, of "
        f"at most {most:,} rows for learning and as many for judging; {hours:.1f} processor hours of "
        f"contestants in all. {FEW if draws.max() < ENOUGH else ''}Made by:"
    )


def losses(table: pd.DataFrame, clear: bool) -> Iterator[str]:
    """Sentences about contestants that are below what people do, clearly or not."""
    errors, freedom = table["over_naive_error"].to_numpy(), table["draws"].to_numpy() - 1
    is_clear = table["over_naive"].to_numpy() < -margin(errors, np.maximum(freedom, 1))
    lost = table[(table["over_naive"] <= -LOSS) & (is_clear == clear) & ~_references(table)]
    for row in lost.sort_values("over_naive").to_dict("records"):
        turned = " (mirrored)" if row["mirrored"] else ""
        yield (
            f"{row['contestant']} on {row['cell']}{turned}: {_points(row, 'over_naive')} points, "
            f"draws: {row['draws']}"
        )


def closed(table: pd.DataFrame) -> pd.DataFrame:
    """Share of the gap closed in the worse direction: contestants by tables."""
    worst = numbers.worse(table[~_references(table)])
    text = pd.Series(
        [_share(row) for row in worst.to_dict("records")],
        index=pd.MultiIndex.from_frame(worst[["cell", "contestant"]]),
    )
    wide = text.unstack("contestant").fillna("–").rename_axis(columns=None).reset_index()
    return wide.rename(columns=lambda name: name.partition(", ")[0])


def intervals(rows: pd.DataFrame) -> pd.DataFrame:
    """Coverage and width of every evaluator: tables by evaluators."""
    found = numbers.judged(rows)
    text = pd.Series(
        [_interval(row) for row in found.to_dict("records")],
        index=pd.MultiIndex.from_frame(found[["cell", "contestant"]]),
    )
    order = list(dict.fromkeys(found["contestant"]))
    return text.unstack("contestant")[order].rename_axis(columns=None).reset_index()


def _detail(table: pd.DataFrame) -> pd.DataFrame:
    """All contestants on one table."""
    directions = {
        "": table[~table["mirrored"].astype(bool)],
        ", mirrored": table[table["mirrored"].astype(bool)],
    }
    columns = {}
    for word, here in directions.items():
        named = here.set_index("contestant")
        if here.empty:
            continue
        columns[f"accuracy{word}"] = named["accuracy"].map("{:.3f}".format)
        for name in ("gain", "gap"):
            columns[f"{name}{word}"] = pd.Series({who: _points(row, name) for who, row in named.iterrows()})
    return pd.DataFrame(columns).fillna("–").rename_axis("contestant").reset_index()


def _references(table: pd.DataFrame) -> pd.Series:
    return table["contestant"].str.startswith((f"{NAIVE}, ", f"{FULL}, "))


def _share(row: dict[Any, Any]) -> str:
    return "–" if np.isnan(row["closed"]) else f"{row['closed']:.2f} ({row['closed_error']:.2f})"


def _points(row: Any, name: str) -> str:
    error = row[f"{name}_error"]
    return f"{100 * row[name]:+.1f}" + ("" if np.isnan(error) else f" ({100 * error:.1f})")


def _interval(row: dict[Any, Any]) -> str:
    if not row["intervals"]:
        return "no interval"
    covered = f"{row['covered']:.0f} of {row['of']}, " if row["of"] else ""
    missing = row["runs"] - row["intervals"]
    return f"{covered}width {row['width']:.2f}" + (f", none in {missing}" if missing else "")
