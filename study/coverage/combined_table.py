"""Coverage of combinations of assumptions, with the truth inside and at either end, as a page."""

from pathlib import Path

import numpy as np
import pandas as pd

from study.coverage.combinations import LAWS, N_SAMPLES, population_ends
from study.coverage.run import draws

COLUMNS = ["combination", "metric", "lower", "upper", "ci_lower", "ci_upper"]
# No cell should fall below it.
LEAST = 0.92
PLACES = ("inside", "at the lower end", "at the upper end")
HEAD = """# Coverage of combinations of assumptions

Does a nominal 95 % interval contain the truth when assumptions are combined? `python -m study
combinations` draws samples of {n:,} cases in which refused cases have the last class more often
(`make_decision_makers(mirrored=True)`, logistic models), and counts.

Each interval is checked against three values: the value of the law itself (*inside*), and the lower
and the upper end of the set that the combination identifies. The bounds are sharp, so another law
has this end as its value and produces the same data. These ends are where coverage is hardest.

- *all alike*: all decision-makers have the same probabilities.
- *at a tie*: the stated prevalence is one at which two multipliers are equally good. It differs
  from the prevalence of the law, so there is no value inside.
- *width*: the mean width of the estimated bounds; *over population*: the same, divided by the width
  in the population; *interval*: the mean width of the intervals.
- *no value*: the share of draws in which the data were said to contradict the assumptions.

`Refused` states a ratio of .8 to 4 or an odds ratio of 1.5 to 5; `Prevalence` states the share of
the law. The standard error of a coverage of .95 is {error:.3f} with {draws} draws.

"""


def combined_table(out: Path) -> pd.DataFrame:
    """One row for each law, combination, metric and place of the truth."""
    return pd.concat([_law_table(out, law) for law in LAWS if draws(out, law)], ignore_index=True)


def _law_table(out: Path, law: str) -> pd.DataFrame:
    kept = draws(out, law)
    table = pd.DataFrame([row for each in kept for row in each["intervals"]], columns=COLUMNS)
    ends, rows = population_ends(law), []
    for (combination, metric), (low, high, truth) in ends.items():
        part = table[(table["combination"] == combination) & (table["metric"] == metric)]
        given = part.dropna()
        for place, value in zip(PLACES, (truth, low, high), strict=True):
            if np.isnan(value):
                continue
            covered = (given["ci_lower"] <= value) & (value <= given["ci_upper"])
            rows.append(
                {
                    "law": law,
                    "combination": combination,
                    "metric": metric,
                    "truth": place,
                    "draws": len(given),
                    "coverage": covered.mean(),
                    "width": (given["upper"] - given["lower"]).mean(),
                    "population": high - low,
                    "interval": (given["ci_upper"] - given["ci_lower"]).mean(),
                    "no_value": 1.0 - len(given) / len(part),
                }
            )
    return pd.DataFrame(rows)


def write_combined_page(out: Path, docs: Path) -> pd.DataFrame:
    """Write ``coverage-combinations.md``."""
    table = combined_table(out)
    number = int(table["draws"].max())
    least = table.sort_values("coverage").to_dict("records")[0]
    lines = [
        HEAD.format(n=N_SAMPLES, error=np.sqrt(0.95 * 0.05 / number), draws=f"{number:,}"),
        f"{len(table)} cells: mean {table['coverage'].mean():.3f}, least {least['coverage']:.3f} "
        f"({least['law']}, {least['combination']}, {least['metric']}, {least['truth']}), "
        f"{int((table['coverage'] < LEAST).sum())} below {LEAST}.",
        "",
        "| law | combination | metric | inside | lower end | upper end | width | over population | "
        "interval | no value |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (law, combination, metric), part in table.groupby(["law", "combination", "metric"], sort=False):
        shown = part.set_index("truth")["coverage"]
        cells = " | ".join(f"{shown[place]:.3f}" if place in shown.index else "–" for place in PLACES)
        first = part.to_dict("records")[0]
        ratio = first["width"] / first["population"]
        lines.append(
            f"| {law} | {combination} | {metric} | {cells} | {first['width']:.3f} | "
            f"{ratio:.2f} | {first['interval']:.3f} | {first['no_value']:.3f} |"
        )
    docs.mkdir(parents=True, exist_ok=True)
    (docs / "coverage-combinations.md").write_text("\n".join(lines) + "\n")
    return table
