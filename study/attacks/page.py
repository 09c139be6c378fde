"""The page of the attacks: shares of the four outcomes before and after, from the counts of each run."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from selective_labels.io.files import whole_file
from study.attacks.answers import CAUTIONED, MISSED, REFUSED
from study.attacks.cells import CELLS, INSIDE, LEAST_SHARES, RIGHT, Cell

COUNTS = "attacks.csv"
KEYS = ["run", "nuisance", "cell", "question"]
COVERS, SHARE = "covers", "sum of shares"
# Nominal coverage is .95; a row holds if it covers as often as this, or misses in silence at most so often.
LEAST, MOST_MISSED, MOST_CAUTIONED = 0.93, 0.05, 0.05
COLUMNS = ("draws", "covers", "refused", "cautioned", "missed", "holds")
NOTHING = " | ".join("" for _ in COLUMNS)
HEAD = """# Attacks

`python -m study attacks` does on purpose what users do by mistake, on tables whose truth is known, and
counts what became of the 95 % interval, the verdict or the promise. *Covers*: the share of the numbers
given whose truth lies in the interval, whatever is said beside it. *Refused*: the share of draws with a
sentence in place of a number. *Cautioned*: with a number that is called doubtful. *Missed*: the truth is
outside, and nothing says so. A row holds if *covers* is at least {least} or *missed* at most {missed}.
Under "controls" nothing is wrong: a caution or a refusal there is a false alarm, and a row holds if it
covers and at most {cautioned:.0%} of the draws have one. The standard error of .95 is .015 with 200
draws, .03 with 50. Rows are numbered as in the table of issue 29, 15 is new. For "{inside}" (bounds at level
.9) and "{right}", *covers* is the mean share of rows, which is to be {inside_least} and {right_least}.

"""


def counted(results: pd.DataFrame, run: str) -> pd.DataFrame:
    """One row for each nuisance, cell and question: draws, and how many had each outcome."""
    frame = results.assign(run=run, nuisance=results["part"])
    given = frame["outcome"] != REFUSED
    return (
        pd.DataFrame(
            {
                **{name: frame[name] for name in KEYS},
                "draws": 1,
                "given": given.astype(int),
                SHARE: frame["upper"].where(frame["question"].isin(LEAST_SHARES)),
                COVERS: (given & (frame["covers"].astype(str) == "True")).astype(int),
                **{each: (frame["outcome"] == each).astype(int) for each in (REFUSED, CAUTIONED, MISSED)},
            }
        )
        .groupby(KEYS, sort=False)
        .sum()
        .reset_index()
    )


def holds(row: pd.Series, cell: Cell) -> bool:
    """Whether a cell does what must hold of it."""
    if row["question"] in LEAST_SHARES:
        return bool(row[SHARE] >= LEAST_SHARES[row["question"]] * row["given"])
    covers = row["given"] > 0 and row[COVERS] >= LEAST * row["given"]
    if cell.control:
        return bool(covers and row[REFUSED] + row[CAUTIONED] <= MOST_CAUTIONED * row["draws"])
    return bool(covers or row[MISSED] <= MOST_MISSED * row["draws"])


def write_page(results: pd.DataFrame, run: str, folder: Path) -> list[Path]:
    """Write the counts, this run's in place of earlier ones of the same name, and the page of all runs."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / COUNTS
    table = counted(results, run)
    if path.exists():
        kept = pd.read_csv(path)
        ours = set(zip(table["run"], table["nuisance"], table["cell"], strict=True))
        same = [each in ours for each in zip(kept["run"], kept["nuisance"], kept["cell"], strict=True)]
        table = pd.concat([kept[~pd.Series(same, index=kept.index, dtype=bool)], table], ignore_index=True)
    with whole_file(path) as draft:
        table.to_csv(draft, index=False)
    page = folder / "attacks.md"
    with whole_file(page) as draft:
        draft.write_text("\n".join(_lines(table)) + "\n")
    return [path, page]


def _lines(table: pd.DataFrame) -> Iterator[str]:
    yield HEAD.format(
        least=LEAST,
        missed=MOST_MISSED,
        cautioned=MOST_CAUTIONED,
        inside=INSIDE,
        right=RIGHT,
        inside_least=LEAST_SHARES[INSIDE],
        right_least=LEAST_SHARES[RIGHT],
    )
    for title, control in (("What breaks", False), ("Controls", True)):
        for nuisance in table["nuisance"].unique():
            part = table[table["nuisance"] == nuisance]
            yield from _section(f"{title}, {nuisance} models", part, control)


def _section(title: str, table: pd.DataFrame, control: bool) -> Iterator[str]:
    runs = [run for run in ("before", *table["run"].unique()) if (table["run"] == run).any()]
    runs = list(dict.fromkeys(runs))
    yield from (f"## {title}", "")
    names = [f"{run}: {name}" if name == COLUMNS[0] else name for run in runs for name in COLUMNS]
    yield f"| row | what is done | question | {' | '.join(names)} |"
    yield "| --- | --- | --- |" + " --- |" * len(names)
    for name, cell in CELLS.items():
        if cell.control != control:
            continue
        mine = table[table["cell"] == name]
        for question in mine["question"].unique():
            rows = mine[mine["question"] == question].set_index("run", drop=False)
            counts = [_counts(rows.loc[run], cell) if run in rows.index else NOTHING for run in runs]
            yield f"| {cell.row} | {cell.words} | {question} | {' | '.join(counts)} |"
    yield ""


def _counts(row: pd.Series, cell: Cell) -> str:
    found = row[SHARE] if row["question"] in LEAST_SHARES else row[COVERS]
    covers = f"{found / row['given']:.2f}" if row["given"] else "–"
    shares = " | ".join(f"{row[each] / row['draws']:.2f}" for each in (REFUSED, CAUTIONED, MISSED))
    return f"{row['draws']} | {covers} | {shares} | {'yes' if holds(row, cell) else '**no**'}"
