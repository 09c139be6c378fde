"""The page of the attacks: shares of the four outcomes."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from scipy.stats import binom

from selective_labels.io.files import whole_file
from study.attacks.answers import CAUTIONED, MISSED, REFUSED, STATED
from study.attacks.cells import CELLS, INSIDE, LEAST_SHARES, RIGHT, Cell

KEYS = ["nuisance", "cell", "question"]
COVERS, SHARE = "covers", "sum of shares"
# Nominal coverage is .95; a row holds if it covers as often as this, or misses in silence at most so often.
LEAST, MOST_MISSED, MOST_CAUTIONED = 0.93, 0.05, 0.05
# Failures that as few draws as these have at least so often, if the promise is kept, prove nothing.
CHANCE = 0.05
# Shares on the page, beside those of numbers that are right.
OUTCOMES = (REFUSED, CAUTIONED, STATED, MISSED)
COLUMNS = ("what is done", "question", "draws", "covers", "refused", "cautioned", "stated", "missed", "holds")
HEAD = """# Coverage under misuse

What happens when users make mistakes? `python -m study attacks --seed {seed}` makes common mistakes
on purpose, on tables whose truth is known, and counts what becomes of the nominal 95 % interval,
the verdict or the promise.

- *covers*: the share of the numbers given whose interval contains the truth, with or without a
  caution.
- *refused*: the share of draws in which an error message takes the place of the number.
- *cautioned*: the share of draws in which the number is called doubtful.
- *stated*: the truth is outside, and the result names the assumption that is false here: a
  direction, which no table can refute with certainty.
- *missed*: the truth is outside, and nothing says so.
- *holds*: yes if *covers* is at least {least} or *missed* at most {missed}. It is unclear if
  neither is true, but so few draws would have as many failures with probability {chance} or more
  even where the promise is kept.

For "{inside}" (bounds at level .9) and "{right}", *covers* is the mean share of rows, which should
be at least {inside_least} and {right_least}. In a control nothing is wrong, so a caution or a
refusal is a false alarm: the row holds if it covers and at most {cautioned:.0%} of the draws have
one. The standard error of a share of .95 is .01 with 400 draws and .05 with 20.

"""


def counted(results: pd.DataFrame) -> pd.DataFrame:
    """One row for each nuisance, cell and question: draws, and how many had each outcome."""
    frame = results.assign(nuisance=results["part"])
    given = frame["outcome"] != REFUSED
    return (
        pd.DataFrame(
            {
                **{name: frame[name] for name in KEYS},
                "draws": 1,
                "given": given.astype(int),
                SHARE: frame["upper"].where(frame["question"].isin(LEAST_SHARES)),
                COVERS: (given & (frame["covers"].astype(str) == "True")).astype(int),
                **{each: (frame["outcome"] == each).astype(int) for each in OUTCOMES},
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


def may_hold(row: pd.Series, cell: Cell) -> bool:
    """Whether so few draws may have as many failures by chance, in a cell that does what must hold of it."""
    if row["question"] in LEAST_SHARES:
        return holds(row, cell)
    failures = [(row[MISSED], row["draws"], MOST_MISSED)]
    if cell.control:
        uncovered = row["given"] - row[COVERS]
        alarms = row[REFUSED] + row[CAUTIONED]
        failures = [(uncovered, row["given"], 1.0 - LEAST), (alarms, row["draws"], MOST_CAUTIONED)]
    return all(binom.sf(count - 1, draws, most) >= CHANCE for count, draws, most in failures)


def write_page(results: pd.DataFrame, folder: Path, seed: int) -> Path:
    """Write the page of all draws; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "coverage-attacks.md"
    with whole_file(path) as draft:
        draft.write_text("\n".join(_lines(counted(results), seed)))
    return path


def _lines(table: pd.DataFrame, seed: int) -> Iterator[str]:
    yield HEAD.format(
        seed=seed,
        least=LEAST,
        missed=MOST_MISSED,
        cautioned=MOST_CAUTIONED,
        chance=CHANCE,
        inside=INSIDE,
        right=RIGHT,
        inside_least=LEAST_SHARES[INSIDE],
        right_least=LEAST_SHARES[RIGHT],
    )
    for title, control in (("Misuse and hard designs", False), ("Controls", True)):
        for nuisance in table["nuisance"].unique():
            part = table[table["nuisance"] == nuisance]
            yield from _section(f"{title}, {nuisance} models", part, control)


def _section(title: str, table: pd.DataFrame, control: bool) -> Iterator[str]:
    yield from (f"## {title}", "")
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"| {' | '.join('---' for _ in COLUMNS)} |"
    for name, cell in CELLS.items():
        if cell.control == control:
            for _, row in table[table["cell"] == name].iterrows():
                yield f"| {cell.words} | {row['question']} | {_counts(row, cell)} |"
    yield ""


def _counts(row: pd.Series, cell: Cell) -> str:
    found = row[SHARE] if row["question"] in LEAST_SHARES else row[COVERS]
    covers = f"{found / row['given']:.2f}" if row["given"] else "–"
    shares = " | ".join(f"{row[each] / row['draws']:.2f}" for each in OUTCOMES)
    verdict = "yes" if holds(row, cell) else "unclear" if may_hold(row, cell) else "**no**"
    return f"{row['draws']} | {covers} | {shares} | {verdict}"
