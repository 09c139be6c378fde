"""The page of the benchmarks, under ``docs/``: tables, and a picture of growth."""

from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.growth import BY_CLASSES, BY_DECISION_MAKERS, BY_ROWS, WORKS, Cost, exponent
from benchmarks.pass_rate import Rate
from benchmarks.ratios import Ratio

DOCS = Path(__file__).parents[1] / "docs"
AXES = (("rows", BY_ROWS, 0), ("decision-makers", BY_DECISION_MAKERS, 1), ("classes", BY_CLASSES, 2))
HEAD = """# Benchmarks

`make bench` writes this page. Costs are in processor seconds. Ratios are medians of three rounds in which
both sides take turns, so a busy or slow machine affects both; smaller is better.

- *Five bare fits*: scikit-learn fits the chosen model five times to four fifths of the rows, with columns
  prepared in advance.
- *A plain Algorithm 1*: the paper's algorithm as stated (`benchmarks/plain.py`).

`make bench-check` measures the ratios again, and fails if one has become 1.5 times worse.

## Ratios

| what | ratio | promised | seconds | over | |
| --- | --- | --- | --- | --- | --- |
"""


def write_page(ratios: list[Ratio], costs: list[Cost], rate: Rate) -> None:
    """Write ``docs/benchmarks.md`` and ``docs/benchmarks.svg``."""
    lines = [
        HEAD + "\n".join(map(_row, ratios)),
        "",
        "## Growth",
        "",
        "![Growth of cost](benchmarks.svg)",
        "",
    ]
    lines += ["Exponents b of cost ∝ size^b, by least squares on logarithms (20 features):", ""]
    lines += ["| | " + " | ".join(f"{name}" for name, _, _ in AXES) + " |", "| --- | --- | --- | --- |"]
    for work in WORKS:
        slopes = [f"{exponent(costs, work, sizes, axis):.2f}" for _, sizes, axis in AXES]
        lines.append(f"| `{work}` | " + " | ".join(slopes) + " |")
    lines += ["", "| work | rows | decision-makers | classes | processor | passed | peak of memory |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    lines += [
        f"| `{each.work}` | {each.n_samples:,} | {each.n_decision_makers:,} | {each.n_classes} | "
        f"{each.processor:.1f} s | {each.passed:.1f} s | {each.gibibytes:.2f} GiB |"
        for each in costs
    ]
    lines += ["", "## Tables in partitions", "", _rate_text(rate)]
    (DOCS / "benchmarks.md").write_text("\n".join(lines) + "\n")
    _draw(costs).savefig(DOCS / "benchmarks.svg", metadata={"Date": None})


def _row(ratio: Ratio) -> str:
    promised = "" if ratio.limit is None else f"{ratio.limit:g}"
    return (
        f"| {ratio.name} | {ratio.value:.3f} | {promised} | {ratio.seconds:.2f} | {ratio.over:.2f} | "
        f"{ratio.remark} |"
    )


def _rate_text(rate: Rate) -> str:
    return (
        f"One pass scores {rate.rows_per_second:,.0f} rows per second and core (two classes, 20 features, "
        f"{rate.n_decision_makers:,} decision-makers, accuracy, rates and AUC): 10⁹ rows take "
        f"{rate.minutes(1e9, 32):.1f} minutes on 32 cores, and the models what they take on the sample."
    )


def _draw(costs: list[Cost]) -> Figure:
    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    panels = figure.subplots(1, len(AXES), sharey=True)
    for panel, (name, sizes, axis) in zip(panels, AXES, strict=True):
        for work in WORKS:
            there = sorted(
                (each.size[axis], each.processor)
                for each in costs
                if each.work == work and each.size in sizes
            )
            panel.plot(*zip(*there, strict=True), marker="o", label=work)
        panel.set(xscale="log", yscale="log", xlabel=name)
    panels[0].set_ylabel("processor seconds")
    panels[-1].legend(fontsize="small")
    return figure
