"""Means, errors and gaps closed, from the rows of results."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.experiments.engine import CHOICE_COLUMNS, RUN_FILE, TIME_COLUMNS
from selective_labels.experiments.table import COUNT, TASK_COLUMNS, read_rows
from selective_labels.experiments.tasks import ENTROPY

CELL = ["experiment", "protocol", "cell", "mirrored"]
KEY = [*TASK_COLUMNS, "method", "classifier", "setting"]
# So many standard errors from nothing are clear; a gap must stand out by more to be divided by.
CLEAR, DIVISIBLE = 2.0, 3.0
CONTROL = "no-instrument"
OURS = (CONTROL, "partial", "point")
# Methods of one draw are compared with each other.
DRAW = ["cell", "mirrored", "repetition"]
USUAL_RUN = {"seed": ENTROPY, "samples": None}
MEASURES = ("gain", "closed", "own")


def read_results(paths: Iterable[Path]) -> pd.DataFrame:
    """Read results from folders and CSV files; each task is taken once."""
    rows = read_tables(paths, KEY)
    if rows.empty:
        raise ValueError(f"There are no results in {', '.join(map(str, paths))}.")
    return rows


def read_times(paths: Iterable[Path]) -> pd.DataFrame:
    """Read how long tasks took, as far as it was kept."""
    return read_tables(paths, TASK_COLUMNS, TIME_COLUMNS)


def read_settings(paths: Iterable[Path]) -> pd.DataFrame:
    """Read which settings were chosen on separate draws, as far as they were kept."""
    return read_tables(paths, (*TASK_COLUMNS, CHOICE_COLUMNS[0]), CHOICE_COLUMNS[1:])


def read_run(paths: Iterable[Path]) -> Mapping[str, Any]:
    """Read seed and size of the runs, which must be one; the study's own where nothing is said."""
    files = [file for path in paths if path.is_dir() for file in sorted(path.glob(f"*{RUN_FILE}"))]
    runs = {file: json.loads(file.read_text()) for file in files}
    for file, run in runs.items():
        if run != runs[files[0]]:
            raise ValueError(
                f"{files[0].parent} and {file.parent} hold runs of different --seed or --samples; "
                "make a page of each."
            )
    return runs[files[0]] if files else USUAL_RUN


def read_tables(paths: Iterable[Path], key: Iterable[str], others: Iterable[str] = ()) -> pd.DataFrame:
    """Read every CSV file that has these columns, in folders or named; rows of one key are taken once."""
    columns = [*key, *others, COUNT]
    frames = [pd.DataFrame(columns=columns)]
    for path in paths:
        for file in sorted(path.glob("*.csv")) if path.is_dir() else [path]:
            if set(columns) <= set(pd.read_csv(file, nrows=0).columns):
                frames.append(read_rows(file))
    rows = pd.concat(frames[1:] or frames, ignore_index=True)
    return rows.drop_duplicates([*key]).sort_values([*key], ignore_index=True)


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


def paired(rows: pd.DataFrame, method: str, other: str, by: list[str] = DRAW) -> pd.Series:
    """Test accuracy of a method less that of another, for each draw that has both; indexed by `by`."""
    wide = rows.pivot_table(index=by, columns="method", values="accuracy")
    wide = wide.reindex(columns=[method, other]).dropna()
    return wide[method] - wide[other]


def mean_and_error(values: pd.Series | np.ndarray) -> tuple[float, float]:
    """Mean and its standard error; the error of fewer than two values is not a number.

    Examples
    --------
    >>> mean_and_error(np.array([1.0, 3.0]))
    (2.0, 1.0)
    """
    numbers = pd.Series(np.asarray(values, dtype=float))
    return float(numbers.mean()), float(numbers.std() / np.sqrt(len(numbers)))


def gaps_closed(rows: pd.DataFrame) -> pd.DataFrame:
    """Share of the gap closed, (method - selected) / (full - selected), in the worse of two directions.

    Besides the `gain`, method - selected, which needs no gap. Repetitions are paired. The standard error is
    that of the ratio, by linearisation. Rules without a learner ("plug-in") are set beside the linear
    baselines. `own` is the part that the instrument adds to our learners, with the no-instrument control in
    place of the selected sample: (method - no-instrument) / (full - selected).

    Parameters
    ----------
    rows : DataFrame
        Of one experiment.

    Returns
    -------
    DataFrame
        cell, classifier, method, repetitions, and for both directions and the worse one the gain, the share
        closed, the instrument's own part and their errors; shares are not a number where there is no clear
        gap to close.
    """
    rows = rows.assign(value=measured(rows))
    wide = rows.pivot_table(index=DRAW, columns=["classifier", "method"], values="value")
    pairs: list[Any] = list(wide.columns)
    out = []
    for (cell, mirrored), group in wide.groupby(level=["cell", "mirrored"]):
        for classifier, method in pairs:
            base = "linear" if classifier == "plug-in" else classifier
            columns = [(classifier, method), (base, "selected"), (base, "full"), (classifier, CONTROL)]
            if method in ("selected", "full") or not set(columns) <= set(pairs):
                continue
            values, selected, full, control = group[columns].dropna().to_numpy().T
            gain, gap = values - selected, full - selected
            # Other learners differ from the control by more than the instrument.
            own = values - (control if method in OURS else np.nan)
            measures = (*mean_and_error(gain), *_ratio(gain, gap), *_ratio(own, gap))
            out.append((cell, classifier, method, mirrored, len(values), *measures))
    named = [name for measure in MEASURES for name in (measure, f"{measure}_error")]
    return _worse(
        pd.DataFrame(out, columns=["cell", "classifier", "method", "mirrored", "repetitions", *named])
    )


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> tuple[float, float]:
    gap, error = mean_and_error(denominator)
    if not gap >= DIVISIBLE * error:
        return float("nan"), float("nan")
    ratio = float(numerator.mean()) / gap
    return ratio, mean_and_error(numerator - ratio * denominator)[1] / gap


def clearly(gaps: pd.DataFrame, measure: str) -> tuple[int, int]:
    """In how many rows a measure is clearly above nothing, and below."""
    values, errors = gaps[measure], CLEAR * gaps[f"{measure}_error"]
    return int((values > errors).sum()), int((values < -errors).sum())


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
