"""How honest bounds of single rows are: `python -m tests.statistical.row_study --out rows.csv`.

Each line of the table is one draw of one design; draws that are there already are left out, so that a run
that was stopped goes on. `--summary` prints the means of each design.
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import selective_labels as sl
from selective_labels.identification.bounds import Bounds
from selective_labels.identification.costs import decided, possible_classes, worst_case_costs
from tests.statistical.row_designs import DESIGNS, N_TEST, Drawn

FIRST_SEED = 2_900
LEVEL = 0.9
KEYS = ["design", "n", "learner", "nuisance", "seed"]


def share_inside(probabilities: np.ndarray, bounds: Bounds) -> float:
    """Share of rows and classes whose probability lies within its bounds."""
    return float(((probabilities >= bounds.lower - 1e-9) & (probabilities <= bounds.upper + 1e-9)).mean())


def measured(drawn: Drawn, model: sl.UCLClassifier) -> dict[str, float]:
    """What the model says of new rows, against the truth."""
    truth = drawn.truth
    # Versions before the rule of rows know neither strata nor levels; the study also measures these.
    new = hasattr(model, "worst_case_regret_upper_")
    where: dict[str, Any] = {"strata": truth.strata} if new and truth.strata is not None else {}
    cost = drawn.settings.get("cost")
    population = Bounds(truth.lower, truth.lower + (1.0 - truth.lower.sum(axis=1, keepdims=True)))
    start = time.process_time()
    plain = model.predict_bounds(truth.X, **where)
    seconds = time.process_time() - start
    wide = model.predict_bounds(truth.X, confidence_level=LEVEL, **where) if new else plain
    if new and where:
        made = sl.SelectiveLabels.from_arrays(
            truth.X, np.zeros(len(truth.X)), decision_maker=None, strata=truth.strata
        )
        chosen = np.searchsorted(model.classes_, model.predict(made))
    else:
        chosen = np.searchsorted(model.classes_, model.predict(truth.X))
    rows = np.arange(len(chosen))
    known = model.decided(truth.X, **where)
    best = truth.probabilities.argmax(axis=1) if cost is None else (truth.probabilities @ cost).argmin(axis=1)
    named = possible_classes(wide, cost).argmax(axis=1)
    regret = float(worst_case_costs(population, cost)[rows, chosen].mean())
    return {
        "inside": share_inside(truth.probabilities, wide),
        "inside_plain": share_inside(truth.probabilities, plain),
        "width": float(wide.width.mean() / population.width.mean()),
        "width_plain": float(plain.width.mean() / population.width.mean()),
        "decided": float(known.mean()),
        "decided_population": float(decided(population, cost).mean()),
        "n_right": float((named == best)[known].sum()),
        "n_decided": float(known.sum()),
        "regret": model.worst_case_regret_,
        "regret_upper": getattr(model, "worst_case_regret_upper_", model.worst_case_regret_),
        "regret_true": regret,
        "seconds_predict": seconds,
    }


def draw(design: str, n: int, learner: str, nuisance: str, seed: int) -> dict[str, Any]:
    """One line of the table."""
    drawn = DESIGNS[design](n, seed)
    estimator = None if learner == "boosting" else learner
    model = sl.UCLClassifier(
        estimator=estimator,
        nuisance=None if nuisance == "default" else nuisance,
        n_jobs=1,
        random_state=seed,
        **drawn.settings,
    )
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(drawn.X, drawn.y, **drawn.roles)
        seconds = time.process_time() - start
        found = measured(drawn, model)
    key = dict(zip(KEYS, (design, n, learner, nuisance, seed), strict=True))
    return key | found | {"seconds_fit": seconds, "nuisance_chosen": model.nuisance_report_.chosen}


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Means over draws of every design."""
    table = table.assign(covers=table["regret_true"] <= table["regret_upper"] + 1e-12)
    by = table.groupby(KEYS[:-1], sort=False)
    found = by[[
        "inside", "inside_plain", "width", "width_plain", "decided", "decided_population",
        "regret", "regret_upper", "regret_true", "covers", "seconds_fit", "seconds_predict",
    ]].mean()  # fmt: skip
    found.insert(0, "draws", by.size())
    found.insert(7, "right", by["n_right"].sum() / by["n_decided"].sum())
    return found


HEAD = """# Coverage of single rows

Do the bounds of single cases contain the true class probabilities? `python -m
tests.statistical.row_study --nuisance default` draws designs whose truth is known, fits
`UCLClassifier` with its default models, and looks at {n_test:,} new rows. In designs on the *edge*,
the truth is an end of the identified set.

- *inside*: the share of rows and classes whose true probability lies in the bounds of
  `predict_bounds`, at level .9 and then *without a level*.
- *width*: the width of these bounds divided by that of the population's, at level .9 and then
  *without a level*.
- *decided*: the share of rows that `decided` names, at level .9; *population*: the share with one
  possible best class within the population's bounds.
- *right*: the share of decided rows whose class is the best one.
- *regret*: the worst-case regret of the learned rule; *estimate* and *limit*: `worst_case_regret_`
  and `worst_case_regret_upper_`; *holds*: the share of draws in which the regret is below the
  limit.

All rows of a draw share the sampling error of the mean bound. The share inside therefore varies
between draws: the level holds on average over draws and rows.

"""
COLUMNS = (
    *("design", "rows", "learner", "draws", "inside", "without level", "width", "without level"),
    *("decided", "population", "right", "regret", "estimate", "limit", "holds"),
)
SHOWN = [
    "inside", "inside_plain", "width", "width_plain", "decided", "decided_population", "right",
    "regret_true", "regret", "regret_upper", "covers",
]  # fmt: skip


def page(table: pd.DataFrame) -> str:
    """The page of the documentation."""
    lines = []
    for (design, n, learner, _), row in summary(table).sort_index(level="n", sort_remaining=False).iterrows():
        numbers = " | ".join(f"{row[name]:.1f}" if row[name] > 10 else f"{row[name]:.3f}" for name in SHOWN)
        lines.append(f"| {design} | {n:,} | {learner} | {int(row['draws'])} | {numbers} |")
    head = ["| " + " | ".join(each) + " |" for each in (COLUMNS, ["---"] * len(COLUMNS))]
    return HEAD.format(n_test=N_TEST) + "\n".join(head + lines) + "\n"


def main() -> None:
    """Run what is missing, or print the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--reps", type=int, default=10)
    parser.add_argument("--sizes", type=int, nargs="+", default=[3_000, 10_000])
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS))
    parser.add_argument("--learners", nargs="+", default=["plug-in"])
    parser.add_argument("--nuisance", nargs="+", default=["logistic"])
    parser.add_argument("--first", type=int, default=FIRST_SEED)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--page", type=Path, help="write the page of the documentation")
    given = parser.parse_args()
    there = pd.read_csv(given.out) if given.out.exists() else pd.DataFrame(columns=KEYS)
    if given.page is not None:
        given.page.write_text(page(there))
        return
    if given.summary:
        with pd.option_context("display.width", 250, "display.max_columns", 30):
            print(summary(there).round(3))
        return
    done = set(there[KEYS].itertuples(index=False, name=None))
    for seed in range(given.first, given.first + given.reps):
        for nuisance in given.nuisance:
            for learner in given.learners:
                for n in given.sizes:
                    for design in given.designs:
                        key = (design, n, learner, nuisance, seed)
                        if key in done:
                            continue
                        line = pd.DataFrame([draw(*key)])
                        line.to_csv(given.out, mode="a", header=not given.out.exists(), index=False)


if __name__ == "__main__":
    main()
