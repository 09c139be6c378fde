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
How much of the accuracy lost to selection do these learners recover, and where do they lose to plain
training? Every learner gets the same cases, with labels where a decision revealed them, and is scored on
the labels of all cases. *selected* is plain training on the labeled cases. *full* is the same learner
trained on all labels, the oracle; only the difference between the two is due to selection. *no
instrument* is the control: partial learning that believes there is one decision-maker. Learners that use
bounds are trained on estimated class probabilities instead of labels, which by itself helps trees; their
plain learner, oracle and control are therefore *smoothed* in the same way. Where the instrument is too
weak, auto (tilt mode) and point are trained on the labeled cases, and are compared with that.
"""
LOST = """
Learners that are half a point or more below plain training of the same kind, which is common practice. A
loss is clear if its 95 % interval (Student, over draws) contains no gain. There are many comparisons, so
one or two clear losses can be due to chance.
"""
CLOSED = """
(accuracy - selected) / (full - selected) of the same learner, in the direction of selection in which it
is smaller, with its standard error in brackets. A dash means that the gap is below half a point or not
clear. Values above 1 are noise, or an effect of smoothing that *selected* and *full* do not share.
"""
EACH = """
Points of accuracy: means over draws, with standard errors in brackets. *gain* is the learner minus plain
training of the same kind, *gap* the oracle minus plain training. Tables whose selection can be reversed
have both directions.
"""
JUDGED = """
In how many draws the 95 % interval for the accuracy of plain linear training contains the truth, in the
worse direction of selection, and its mean width. For real tables the truth is that of the rows scored,
and draws are halves of one table, so they are not independent. Where nobody knows the truth, there is no
count. Intervals need not cover under an assumption that is false in the design, and the column shows what
happens then.
"""
TIMES = """
Median processor seconds over all tables, on one thread. A learner that raised an error has no number.
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
    yield Heading("Where learners lose to plain training")
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
        f"at most {most:,} rows for learning and as many for scoring; {hours:.1f} processor hours in all. "
        f"{FEW if draws.max() < ENOUGH else ''}Reproduce it with:"
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
