"""Differences between methods and gaps closed, from the rows of results."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from study.page.estimates import margin

# A gap must stand out by so many standard errors to be divided by.
DIVISIBLE = 3.0
CONTROL = "no-instrument"
OURS = (CONTROL, "partial", "point", "tilt")
# What a learner ends in where its instrument is too weak: `UCLClassifier.mode_`.
FALLBACK = "labeled-only"
# Methods of one draw are compared with each other.
DRAW = ["cell", "mirrored", "repetition"]
DESIGN = ["cell", "mirrored", "classifier"]
MEASURES = ("gap", "gain", "beyond", "closed", "own")


def of(rows: pd.DataFrame, **values: object) -> pd.DataFrame:
    """Rows with these values."""
    for name, value in values.items():
        rows = rows[rows[name] == value]
    return rows


def measured(rows: pd.DataFrame) -> pd.Series:
    """Accuracy without the noise of test labels where the law is known, else test accuracy."""
    return rows["expected_accuracy"].fillna(rows["accuracy"])


def summary(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean, standard error and number of repetitions of the accuracy, for each group."""
    values = rows.assign(value=measured(rows)).groupby(by, sort=False)["value"]
    return values.agg(mean="mean", std="std", count="count", error="sem").reset_index()


def paired(
    rows: pd.DataFrame,
    one: str,
    other: str,
    by: list[str] = DRAW,
    column: str = "accuracy",
    among: str = "method",
) -> pd.Series:
    """What one method (or setting) has more than another, for each draw that has both; indexed by `by`."""
    wide = rows.pivot_table(index=by, columns=among, values=column)
    wide = wide.reindex(columns=[one, other]).dropna()
    return wide[one] - wide[other]


def fallback_share(rows: pd.DataFrame) -> float:
    """Share of fits that fell back to the labeled rows; not a number where it was not kept.

    Examples
    --------
    >>> rows = pd.DataFrame({"mode": ["labeled-only", "point", ""], "constant": [0.0, 1.0, np.nan]})
    >>> fallback_share(rows), constant_share(rows)
    (0.5, 0.5)
    """
    kept = rows[rows["constant"].notna()]
    return float((kept["mode"] == FALLBACK).mean())


def constant_share(rows: pd.DataFrame) -> float:
    """Share of rules that are constant; not a number where it was not kept."""
    return float(rows["constant"].mean())


def by_size(rows: pd.DataFrame, method: str, column: str) -> pd.DataFrame:
    """Mean and standard error of a method's column at each number of cases of the rate study."""
    here = of(rows, method=method)
    sizes = here["setting"].str.removeprefix("n=").astype(int)
    return here[column].groupby(sizes).agg(["mean", "sem"]).dropna(subset="mean")


def gaps_closed(rows: pd.DataFrame) -> pd.DataFrame:
    """Share of the gap closed, (method - selected) / (full - selected), in the worse of two directions.

    Besides the `gap` itself, full - selected, the `gain`, method - selected, and what goes `beyond` the
    no-instrument control, method - no-instrument; `own` is its share of the gap. The latter two are of our
    learners only: others differ from the control by more than the instrument. Repetitions are paired. The
    standard error of a ratio is by linearisation.

    Parameters
    ----------
    rows : DataFrame
        Of one experiment.

    Returns
    -------
    DataFrame
        cell, classifier, method, repetitions, and for both directions and the worse one these measures and
        their errors; shares are not a number where there is no clear gap to close.
    """
    rows = rows.assign(value=measured(rows))
    wide = rows.pivot_table(index=DRAW, columns=["classifier", "method"], values="value")
    pairs: list[Any] = list(wide.columns)
    out = []
    for (cell, mirrored), group in wide.groupby(level=["cell", "mirrored"]):
        for classifier, method in pairs:
            columns = [(classifier, name) for name in (method, "selected", "full", CONTROL)]
            if method in ("selected", "full") or not set(columns) <= set(pairs):
                continue
            values, selected, full, control = group[columns].dropna().to_numpy().T
            gap, gain = full - selected, values - selected
            beyond = values - (control if method in OURS else np.nan)
            means = (*mean_and_error(gap), *mean_and_error(gain), *mean_and_error(beyond))
            shares = (*ratio(gain, gap), *ratio(beyond, gap))
            out.append((cell, classifier, method, mirrored, len(values), *means, *shares))
    named = [name for measure in MEASURES for name in (measure, f"{measure}_error")]
    return _worse(
        pd.DataFrame(out, columns=["cell", "classifier", "method", "mirrored", "repetitions", *named])
    )


def worst_cases(rows: pd.DataFrame) -> pd.DataFrame:
    """Excess worst-case risk, max_k l_k - l_t, of each design: what partial learning makes small.

    Parameters
    ----------
    rows : DataFrame
        Of one experiment whose law is known.

    Returns
    -------
    DataFrame
        Indexed by cell, direction and classifier: the mean of each method, and partial less no-instrument
        (`less`) with its margin.
    """
    column = "excess_worst_case_risk"
    rows = rows.dropna(subset=column)
    means = rows.pivot_table(index=DESIGN, columns="method", values=column)
    less = paired(rows, "partial", CONTROL, [*DESIGN, "repetition"], column).groupby(level=DESIGN)
    margins = margin(less.sem().to_numpy(), less.size().to_numpy() - 1)
    return means.join(pd.DataFrame({"less": less.mean(), "margin": margins}))


def room(rows: pd.DataFrame) -> pd.Series:
    """Share of the gap between selected-sample limit and Bayes rule that the minimax rule closes.

    For each cell and direction whose law is known.
    """
    designs = rows.dropna(subset="minimax_accuracy").drop_duplicates(["cell", "mirrored"])
    designs = designs.set_index(["cell", "mirrored"])
    selected = designs["selected_accuracy"]
    return (designs["minimax_accuracy"] - selected) / (designs["bayes_accuracy"] - selected)


def clearly(gaps: pd.DataFrame, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows in which a measure is clearly above nothing, and in which it is clearly below."""
    repetitions = gaps[["repetitions", "repetitions_mirrored"]].min(axis=1).to_numpy()
    values = gaps[measure].to_numpy()
    margins = margin(gaps[f"{measure}_error"].to_numpy(), repetitions - 1)
    return values > margins, values < -margins


def share_closed(gaps: pd.DataFrame) -> float:
    """Median share of the gap closed in the worse direction, if at least half of the gaps are clear."""
    shares = gaps["worse_closed"]
    return float(shares.median()) if 2 * shares.notna().sum() >= len(shares) else float("nan")


def by_selection(gaps: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Name and rows of each model of selection: point learning, for one, is claimed for NUCEM only."""
    kinds = gaps["cell"].str.extract("^(nucem|uc)-", expand=False).fillna("")
    for kind, here in gaps.groupby(kinds):
        yield str(kind).upper(), here


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Mean and its standard error; not numbers where there is one value only."""
    if len(values) < 2:
        return float("nan"), float("nan")
    return float(values.mean()), float(values.std(ddof=1)) / np.sqrt(len(values))


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> tuple[float, float]:
    """Ratio of means and its standard error; not numbers where the denominator is not clearly positive."""
    gap, error = mean_and_error(denominator)
    if not gap >= DIVISIBLE * error:
        return float("nan"), float("nan")
    share = float(numerator.mean()) / gap
    return share, mean_and_error(numerator - share * denominator)[1] / gap


def _worse(gaps: pd.DataFrame) -> pd.DataFrame:
    """One row for each pair of mirrored designs."""
    keys = ["cell", "classifier", "method"]
    plain = gaps[~gaps["mirrored"].astype(bool)].drop(columns="mirrored")
    mirrored = gaps[gaps["mirrored"].astype(bool)].drop(columns="mirrored")
    pairs = plain.merge(mirrored, on=keys, suffixes=("", "_mirrored"))
    for measure in MEASURES:
        first = pairs[measure].to_numpy() <= pairs[f"{measure}_mirrored"].to_numpy()
        both = pairs[[measure, f"{measure}_mirrored"]].notna().all(axis=1)
        for name in (measure, f"{measure}_error"):
            worse = np.where(first, pairs[name], pairs[f"{name}_mirrored"])
            pairs[f"worse_{name}"] = np.where(both, worse, np.nan)
    return pairs
