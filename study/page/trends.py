"""How fast excess risks fall as cases are added, and accuracies as noise is."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from study.page.estimates import over_cells
from study.page.numbers import by_size, of, paired
from study.page.tables import pm

RISK, WORST_CASE = "excess_risk", "excess_worst_case_risk"
# What each method should drive to zero.
FALLING = (("point", RISK), ("partial", WORST_CASE))


def rate_sentences(rows: pd.DataFrame) -> Iterator[str]:
    """Say the powers of n by which excess risks fall, and what training on labeled cases is left with."""
    for method, column in FALLING:
        risks = by_size(rows, method, column)
        if len(risks) > 2 and (risks["mean"] > 0).all():
            slope, error = log_slope(risks)
            yield f"{method}: {_words(column)} falls like n to the power {pm(slope, error, 2)}."
    selected = by_size(rows, "selected", RISK)
    if len(selected) > 1:
        ends = [
            f"{pm(*selected.loc[size, ['mean', 'sem']])} at n={size:,}" for size in selected.index[[0, -1]]
        ]
        yield f"selected: {_words(RISK)} is {' and '.join(ends)}."
    theirs, ours = (by_size(rows, method, WORST_CASE)["mean"] for method in ("selected", "partial"))
    behind = theirs.index[theirs < ours.reindex(theirs.index)]
    if len(behind):
        sizes = ", ".join(f"{size:,}" for size in behind)
        yield f"At n={sizes}, selected has a smaller {_words(WORST_CASE)} than partial."


def learner_rates(rows: pd.DataFrame) -> pd.DataFrame:
    """Powers of n for every number of classes and learner: excess risk of point, worst case of partial.

    Examples
    --------
    >>> sizes = [(size, noise) for size in (100, 200, 400) for noise in (-0.001, 0.001)]
    >>> rows = pd.DataFrame(
    ...     {
    ...         "cell": f"k2-n{size}",
    ...         "classifier": "linear",
    ...         "method": method,
    ...         "setting": f"n={size}",
    ...         "excess_risk": 10 / size + noise,
    ...         "excess_worst_case_risk": 1 / size + noise / 10,
    ...     }
    ...     for size, noise in sizes
    ...     for method in ("point", "partial")
    ... )
    >>> learner_rates(rows).iloc[0, 1:3].tolist()
    ['linear', '-1.00 ± 0.03']
    """
    out = []
    classes = rows["cell"].str.partition("-")[0].str.removeprefix("k").astype(int)
    for (n_classes, learner), here in rows[rows["method"] != "selected"].groupby([classes, "classifier"]):
        found: dict[str, object] = {"classes": n_classes, "learner": learner}
        for method, column in FALLING:
            risks = by_size(here, method, column)
            falls = len(risks) > 2 and (risks["mean"] > 0).all() and risks["sem"].notna().all()
            name = f"{method}: {_words(column)}"
            slope, error = log_slope(risks) if falls else (np.nan, np.nan)
            found[name] = pm(slope, error, 2)
            left, noise = risks.iloc[-1][["mean", "sem"]]
            found[f"{name} at n={risks.index[-1]:,}"] = pm(left, noise, 4)
        out.append(found)
    return pd.DataFrame(out)


def log_slope(risks: pd.DataFrame) -> tuple[float, float]:
    """Slope of log mean against log size by least squares, and its standard error from those of the means.

    Examples
    --------
    >>> log_slope(pd.DataFrame({"mean": [0.1, 0.05, 0.025], "sem": 0.0}, index=[100, 200, 400]))
    (-1.0, 0.0)
    """
    x, mean = np.log(risks.index.to_numpy(dtype=float)), risks["mean"].to_numpy()
    pull = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    error = np.sqrt(np.sum((pull * risks["sem"].to_numpy() / mean) ** 2))
    return round(float(pull @ np.log(mean)), 10), float(error)


def noise_sentences(rows: pd.DataFrame) -> Iterator[str]:
    """Say what the highest level of noise does to each method's accuracy."""
    settings = list(dict.fromkeys(rows["setting"]))
    for method in dict.fromkeys(rows["method"]):
        change = paired(
            of(rows, method=method), settings[-1], settings[0], column="expected_accuracy", among="setting"
        )
        effect = over_cells(change)
        yield (
            f"{method}: {settings[-1].replace('=', ' ')} changes accuracy by "
            f"{pm(effect.mean, effect.error, sign='+')} (mean over all cells and both directions)."
        )


def _words(column: str) -> str:
    return column.replace("_", " ").replace("worst case", "worst-case")
