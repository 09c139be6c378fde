"""Coverage of every cell with its binomial limit, as a page."""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binom

from study.coverage.designs import DESIGNS
from study.coverage.replication import truths
from study.coverage.run import draws

LEVEL = 0.95
# Probability that any cell of the study falls below its limit although all intervals are right.
FALSE_ALARM = 1e-6
COLUMNS = ["call", "metric", "assumption", "lower", "upper"]
HEAD = """# Coverage

Does a nominal 95 % interval contain the true value in 95 % of the samples? `python -m study
coverage` draws samples from designs whose truth is known, makes the calls that users make, and
counts.

In designs "on the edge", the truth is an end of the identified set. Coverage is hardest there:
inside a wide interval any method covers. Each design is tried only with assumptions that hold in
it.

- *Limit*: if every interval were right, some cell would fall below its limit with probability 1e-6.
- *No interval*: the share of draws in which the library gives no interval.
- *Cautioned*: the share of draws in which the result has a caution. All assumptions hold, so every
  caution is a false alarm.

The standard error of a coverage of .95 is {error:.3f} with 500 draws. Bounds of single rows have [a
page of their own](coverage-rows.md).

"""


def coverage_table(out: Path) -> pd.DataFrame:
    """One row for each design, call, metric and assumption."""
    parts = [_design_table(out, name) for name in DESIGNS if draws(out, name)]
    table = pd.concat(parts, ignore_index=True)
    share = FALSE_ALARM / len(table)
    table["limit"] = binom.ppf(share, table["draws"].clip(lower=1), LEVEL) / table["draws"].clip(lower=1)
    table["below"] = table["coverage"] < table["limit"]
    return table


def _design_table(out: Path, name: str) -> pd.DataFrame:
    kept_draws = draws(out, name)
    rows = [row for each in kept_draws for row in each["intervals"]]
    drawn = pd.DataFrame(rows, columns=COLUMNS)
    values = truths(name)
    drawn["truth"] = [
        values[call, metric] for call, metric in zip(drawn["call"], drawn["metric"], strict=True)
    ]
    drawn["given"] = drawn[["lower", "upper"]].notna().all(axis=1)
    # A value is itself known up to the error of many cases.
    drawn["covered"] = (drawn["lower"] <= drawn["truth"]) & (drawn["truth"] <= drawn["upper"])
    drawn["width"] = drawn["upper"] - drawn["lower"]
    cells = drawn.groupby(["call", "metric", "assumption"], sort=False)
    kept = drawn[drawn["given"]].groupby(["call", "metric", "assumption"], sort=False)
    table = pd.DataFrame(
        {
            "draws": kept.size().reindex(cells.size().index, fill_value=0),
            "coverage": kept["covered"].mean(),
            "width": kept["width"].mean(),
            "no_interval": 1.0 - cells["given"].mean(),
        }
    ).reset_index()
    table.insert(0, "design", name)
    table["cautioned"] = np.mean([bool(each["cautions"]) for each in kept_draws])
    return table


def write_page(out: Path, docs: Path) -> pd.DataFrame:
    """Write ``coverage.md``: a summary of designs, then every cell that is off, then all cells."""
    table = coverage_table(out)
    lines = [
        HEAD.format(error=np.sqrt(LEVEL * (1 - LEVEL) / 500)),
        "| design | draws | cells | least | mean | below | cautioned |",
    ]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    for name, part in table.groupby("design", sort=False):
        least = part.sort_values("coverage").to_dict("records")[0]
        where = f"{least['coverage']:.3f} ({least['call']} {least['metric']}, {least['assumption']})"
        lines.append(
            f"| {name} | {part['draws'].max()} | {len(part)} | {where} | {part['coverage'].mean():.3f} | "
            f"{int(part['below'].sum())} | {part['cautioned'].max():.3f} |"
        )
    lines += [
        "",
        "## Every cell",
        "",
        "| design | call | metric | assumption | coverage | limit | width | no interval |",
    ]
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- |")
    lines += [
        f"| {each.design} | {each.call} | {each.metric} | {each.assumption} | {each.coverage:.3f}"
        f"{' **below**' if each.below else ''} | {each.limit:.3f} | {each.width:.3f} | "
        f"{each.no_interval:.2f} |"
        for each in table.itertuples()
    ]
    docs.mkdir(parents=True, exist_ok=True)
    (docs / "coverage.md").write_text("\n".join(lines) + "\n")
    return table
