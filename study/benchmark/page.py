"""The page of the benchmark: what lost to the naive learner first, then gaps, coverage, widths and times."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.saving.atomic import write_whole
from study.benchmark.cases import MOST_ROWS
from study.benchmark.experiment import COLUMNS, EVALUATE, FULL, LEARN
from study.engine import RUN_FILE
from study.table import TaskTable

NAIVE = "selected"
# A loss is half a point or more, and more than two standard errors of the paired difference.
LOSS, ERRORS = 0.005, 2.0
# A gap between the naive learner and the one that sees all labels below this cannot be told from noise.
SMALLEST_GAP = 0.005

INTRODUCTION = """# The benchmark of the field

Every learner gets the same cases, with labels where they were seen, and is judged by the labels of
everybody. The naive learner (*selected*) trains on the labeled cases. The oracle of the *same* learner
(*full*) trains on all labels: only what lies between the two is due to selection. *No instrument* is the
control: partial learning that is told of one decision-maker. Where selection can be turned round (mirrored),
the worse of the two directions counts.
"""
CLOSED = """
## Share of the gap closed, in the worse direction

(accuracy - selected) / (full - selected), means over draws. In brackets the gain over *selected* in points,
with its standard error, in that direction. A dash: the gap is below half a point, and nothing can be told.
"""
JUDGED = """
## Evaluators

Of the naive linear rule: how often the 95 % interval has the truth in it, and how wide it is (mean over
draws). For real tables the truth is that of the rows judged. No coverage: nobody knows the truth.
"""
LAST = """
Made by `python -m study benchmark`; every row is in `benchmark.csv`, and [how to take part](../README.md)
says what the tables are and how to add a learner.
"""


def write_page(out: Path, folder: Path) -> list[Path]:
    """Write `benchmark.md` and `benchmark.csv` from the results of a run."""
    rows = TaskTable(out / "results.csv", COLUMNS).read()
    setting = json.loads((out / RUN_FILE).read_text())
    folder.mkdir(parents=True, exist_ok=True)
    page, table = folder / "benchmark.md", folder / "benchmark.csv"
    write_whole(page, "\n".join(_page(rows, setting)) + "\n")
    write_whole(table, str(rows.to_csv(index=False)))
    return [page, table]


def _page(rows: pd.DataFrame, setting: dict[str, object]) -> Iterator[str]:
    gains = gains_of(rows)
    draws = rows.groupby("cell")["repetition"].nunique()
    size = setting["samples"] or MOST_ROWS
    yield INTRODUCTION
    yield f"{draws.min()} to {draws.max()} draws of each of {len(draws)} tables, of {size} rows at most."
    yield "\n## Where a learner is beaten by the naive one\n"
    yield from losses(gains) or ["Nowhere by more than half a point and two standard errors."]
    yield CLOSED
    yield from markdown(closed(gains))
    yield JUDGED
    yield from markdown(judged(rows))
    yield "\n## Time and failures\n"
    yield from markdown(times(rows))
    yield LAST


def gains_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Gain over the naive learner of the same base, and the gap that there is, draw by draw."""
    learned = rows[(rows["kind"] == LEARN) & rows["accuracy"].notna()].copy()
    if learned.empty:
        return learned.assign(gain=[], gap=[], base=[])
    parts = learned["contestant"].str.rpartition(", ")
    learned["method"], learned["base"] = parts[0].where(parts[0] != "", parts[2]), parts[2]
    key = ["cell", "mirrored", "repetition", "base"]
    for name in (NAIVE, FULL):
        values = learned[learned["method"] == name].set_index(key)["accuracy"].rename(name)
        learned = learned.join(values, on=key)
    # Contestants of others are measured against the first base, unless their names say which they have.
    return learned.assign(gain=learned["accuracy"] - learned[NAIVE], gap=learned[FULL] - learned[NAIVE])


def by_direction(gains: pd.DataFrame) -> pd.DataFrame:
    """Mean gain, its standard error and the mean gap of each table, contestant and direction."""
    groups = gains[~gains["method"].isin([NAIVE, FULL])].groupby(["cell", "contestant", "mirrored"])
    table = groups.agg(
        gain=("gain", "mean"), gap=("gap", "mean"), error=("gain", "sem"), draws=("gain", "size")
    )
    return table.reset_index()


def losses(gains: pd.DataFrame) -> list[str]:
    """Lines about contestants that are clearly below the naive one."""
    if gains.empty:
        return []
    table = by_direction(gains)
    worse = table[(table["gain"] < -LOSS) & (table["gain"] < -ERRORS * table["error"])].sort_values("gain")
    return [
        f"- {row['contestant']} on {row['cell']}{' (mirrored)' if row['mirrored'] else ''}: "
        f"{100 * row['gain']:+.1f} points (standard error {100 * row['error']:.1f}, {row['draws']} draws)"
        for row in worse.to_dict("records")
    ]


def closed(gains: pd.DataFrame) -> pd.DataFrame:
    """Share of the gap closed in the worse direction, one column for each table."""
    if gains.empty:
        return pd.DataFrame()
    table = by_direction(gains)
    table["share"] = np.where(table["gap"] >= SMALLEST_GAP, table["gain"] / table["gap"], np.nan)
    # The direction in which less is gained; where no share can be told, the smaller gain still counts.
    table["order"] = table["share"].fillna(np.inf)
    worst = table.sort_values(["order", "gain"]).groupby(["cell", "contestant"], sort=False).first()
    text = pd.Series([_gain(row) for row in worst.to_dict("records")], index=worst.index)
    return text.unstack("cell").fillna("failed").reset_index()


def _gain(row: dict[Any, Any]) -> str:
    share = "-" if np.isnan(row["share"]) else f"{row['share']:.2f}"
    return f"{share} ({100 * row['gain']:+.1f} ± {100 * row['error']:.1f})"


def judged(rows: pd.DataFrame) -> pd.DataFrame:
    """Coverage and width of every evaluator on every table, both directions together."""
    found = rows[rows["kind"] == EVALUATE].copy()
    found["width"] = found["ci_upper"] - found["ci_lower"]
    inside = (found["ci_lower"] <= found["truth"]) & (found["truth"] <= found["ci_upper"])
    found["covered"] = inside.astype(float).where(found["truth"].notna() & found["width"].notna())
    table = found.groupby(["cell", "contestant"], sort=False).agg(
        covered=("covered", "mean"),
        draws=("covered", "count"),
        width=("width", "mean"),
        there=("width", "count"),
        runs=("width", "size"),
    )
    text = pd.Series([_interval(row) for row in table.to_dict("records")], index=table.index)
    return text.unstack("contestant").reset_index()


def _interval(row: dict[Any, Any]) -> str:
    if not row["there"]:
        return "no interval"
    covered = f"{row['covered']:.2f} of {row['draws']}, " if row["draws"] else ""
    missing = row["runs"] - row["there"]
    return f"{covered}width {row['width']:.3f}" + (f", none in {missing}" if missing else "")


def times(rows: pd.DataFrame) -> pd.DataFrame:
    """Median processor seconds of each contestant, and how often it failed."""
    grouped = rows.groupby(["kind", "contestant"], sort=False)
    table = grouped.agg(
        seconds=("seconds", "median"), runs=("repetition", "size"), failed=("failure", "count")
    )
    return table.reset_index().round({"seconds": 2})


def markdown(frame: pd.DataFrame) -> list[str]:
    """A table as Markdown."""
    if frame.empty:
        return ["No results."]
    lines: list[list[Any]] = [list(frame.columns), ["---"] * frame.shape[1], *frame.to_numpy().tolist()]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]
