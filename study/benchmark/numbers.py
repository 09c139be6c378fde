"""Gains, shares of the gap closed, coverage, widths and times, from the rows of the benchmark."""

from typing import Any

import numpy as np
import pandas as pd

from study.benchmark.contestants import DIRECT, FULL, NAIVE, SMOOTHED
from study.benchmark.experiment import EVALUATE, LEARN
from study.page.numbers import mean_and_error, ratio

# A gap between the naive learner and the one that sees all labels below this cannot be told from noise.
SMALLEST_GAP = 0.005
# What one of ours says where it is the classifier of the labeled rows: it is not smoothed then.
LABELED_ONLY = "labeled-only"
DRAW = ["cell", "mirrored", "repetition"]
SUMMARY = (
    "cell",
    "contestant",
    "mirrored",
    "draws",
    "accuracy",
    "over_naive",
    "over_naive_error",
    "gain",
    "gain_error",
    "gap",
    "gap_error",
    "closed",
    "closed_error",
)


def gains_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Every learner's accuracy on every draw beside those of the naive learner and of the oracle.

    `gain` and `gap` are over the naive one of the same learner, which is smoothed if the contestant is;
    `over_naive` is over the plain one, which is what people do.
    """
    learned = rows[(rows["kind"] == LEARN) & rows["accuracy"].notna()].copy()
    parts = learned["contestant"].str.rpartition(", ")
    # Contestants that do not name a base are measured against the plain linear one.
    learned["method"] = parts[0].where(parts[1] != "", parts[2])
    learned["named"] = parts[2].where(parts[1] != "", "linear")
    learned["plain"] = learned["named"].str.removeprefix(SMOOTHED).replace(DIRECT, "linear")
    direct = learned["plain"].replace("linear", DIRECT)
    learned["base"] = learned["named"].where(learned["mode"] != LABELED_ONLY, direct)
    references = learned.set_index([*DRAW, "named"])
    for name, method, base in (
        ("naive", NAIVE, "base"),
        ("full", FULL, "base"),
        ("people", NAIVE, "plain"),
    ):
        values = references.loc[references["method"] == method, "accuracy"].rename(name)
        learned = learned.join(values, on=[*DRAW, base])
    return learned.assign(
        gain=learned["accuracy"] - learned["naive"],
        gap=learned["full"] - learned["naive"],
        over_naive=learned["accuracy"] - learned["people"],
    )


def by_direction(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over draws for each table, contestant and direction, with standard errors.

    Examples
    --------
    >>> values = {"selected, linear": 0.7, "full, linear": 0.8, "mine, linear": 0.75}
    >>> rows = pd.DataFrame([{"contestant": who, "accuracy": found} for who, found in values.items()])
    >>> rows = rows.assign(cell="one", mirrored=False, kind="learn", mode="").merge(
    ...     pd.DataFrame({"repetition": range(3)}), how="cross"
    ... )
    >>> by_direction(rows).set_index("contestant")["closed"].round(2).to_dict()
    {'full, linear': 1.0, 'mine, linear': 0.5, 'selected, linear': 0.0}
    """
    out = []
    for key, group in gains_of(rows).groupby(["cell", "contestant", "mirrored"]):
        gain, gap, over = (group[name].to_numpy() for name in ("gain", "gap", "over_naive"))
        share = ratio(gain, gap) if gap.mean() >= SMALLEST_GAP else (np.nan, np.nan)
        means = [number for each in (over, gain, gap) for number in (each.mean(), mean_and_error(each)[1])]
        out.append((*key, len(gain), float(group["accuracy"].mean()), *means, *share))
    return pd.DataFrame(out, columns=list(SUMMARY))


def worse(table: pd.DataFrame) -> pd.DataFrame:
    """The direction of each table and contestant in which a smaller share, else less, is gained."""
    order = table.assign(order=table["closed"].fillna(np.inf)).sort_values(["order", "gain"])
    return order.groupby(["cell", "contestant"], sort=False).first().drop(columns="order").reset_index()


def judged(rows: pd.DataFrame) -> pd.DataFrame:
    """Coverage in the worse direction and mean width of every evaluator on every table."""
    found = rows[rows["kind"] == EVALUATE].copy()
    found["width"] = found["ci_upper"] - found["ci_lower"]
    inside = (found["ci_lower"] <= found["truth"]) & (found["truth"] <= found["ci_upper"])
    found["covered"] = inside.astype(float).where(found["truth"].notna() & found["width"].notna())
    out = []
    for (cell, contestant), group in found.groupby(["cell", "contestant"], sort=False):
        out.append({"cell": cell, "contestant": contestant, **_interval(group)})
    return pd.DataFrame(out)


def _interval(group: pd.DataFrame) -> dict[str, Any]:
    """Of one evaluator on one table."""
    covered = group.groupby("mirrored")["covered"].agg(["mean", "sum", "count"])
    covered = covered[covered["count"] > 0]
    least = covered.sort_values("mean").to_dict("records")[:1] or [{"sum": np.nan, "count": 0}]
    return {
        "covered": float(least[0]["sum"]),
        "of": int(least[0]["count"]),
        "width": float(group["width"].mean()),
        "intervals": int(group["width"].count()),
        "runs": len(group),
        "seconds": float(group["seconds"].median()) if "seconds" in group else np.nan,
    }


def times(rows: pd.DataFrame) -> pd.DataFrame:
    """Median processor seconds of each contestant, and how often it failed."""
    grouped = rows.groupby(["kind", "contestant"], sort=False)
    table = grouped.agg(
        seconds=("seconds", "median"), runs=("repetition", "size"), failed=("failure", "count")
    )
    return table.reset_index().round({"seconds": 2})
