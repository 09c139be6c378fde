"""The study's tables, as finished text."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from study.page.figures import METHODS
from study.page.numbers import (
    OURS,
    by_selection,
    clearly,
    paired,
    share_closed,
    summary,
)
from study.table import TASK_COLUMNS
from study.tasks import TUNING

# A change of accuracy that people would notice.
NOTICED = 0.005


def pm(mean: float, error: float, digits: int = 3, sign: str = "-") -> str:
    """A mean and its standard error; sign "+": differences, whose sign is always shown.

    Examples
    --------
    >>> pm(0.5, 0.0123), pm(0.5, float("nan")), pm(float("nan"), 0.1), pm(0.5, 0.0123, sign="+")
    ('0.500 ± 0.012', '0.500', '–', '+0.500 ± 0.012')
    """
    if np.isnan(mean):
        return "–"
    text = f"{mean:{sign}.{digits}f}"
    return text if np.isnan(error) else f"{text} ± {error:.{digits}f}"


NOT_KEPT = "not kept"


def share_of(share: Callable[[pd.DataFrame], float], rows: pd.DataFrame) -> str:
    """A share in words, and of how many rows that keep it.

    Examples
    --------
    >>> def mean(rows):
    ...     return rows["constant"].mean()
    >>> share_of(mean, pd.DataFrame({"constant": [1.0, 0.0, 0.0, float("nan")]}))
    '33% of 3'
    >>> share_of(mean, pd.DataFrame({"constant": [float("nan")]}))
    'not kept'
    """
    kept = int(rows["constant"].notna().sum())
    return f"{share(rows):.0%} of {kept}" if kept else NOT_KEPT


def counts(rows: pd.DataFrame, times: pd.DataFrame) -> pd.DataFrame:
    """How many repetitions there are of each part, fewest and most over its cells, and what they took."""
    index = ["protocol", "experiment", "part"]
    tasks = rows.drop_duplicates([*index, "cell", "mirrored", "repetition"])
    each = tasks.groupby([*index, "cell", "mirrored"]).size().rename("count").reset_index()
    out = each.groupby(index)["count"].agg(["size", "min", "max"]).reset_index()
    out.columns = [*index, "cells and directions", "fewest repetitions", "most repetitions"]
    repetitions = times[times["repetition"] != TUNING].groupby(index)["unconverged"]
    took = pd.DataFrame(
        {
            "processor minutes": times.groupby(index)["processor_seconds"].sum() / 60,
            # Unknown as soon as one task did not count.
            "fits that did not converge": repetitions.agg(lambda counts: counts.sum(skipna=False)),
        }
    )
    out = out.merge(took.reset_index(), on=index, how="left")
    for name in took:
        out[name] = ["–" if each != each else f"{each:.0f}" for each in out[name].astype(float)]
    return out


def commits(rows: pd.DataFrame, times: pd.DataFrame) -> pd.DataFrame:
    """Which commit made the tasks of each experiment; a plus: with changes that were not committed."""
    names = [*TASK_COLUMNS]
    tasks = rows.drop_duplicates(names)[names].merge(times[[*names, "commit"]], on=names, how="left")
    tasks["commit"] = tasks["commit"].fillna("").replace("", NOT_KEPT)
    lines = []
    for (protocol, experiment), here in tasks.groupby(["protocol", "experiment"]):
        counted = here.groupby(["part", "commit"], sort=False).size().reset_index(name="count")
        texts = [f"{each['part']} {each['count']} by {each['commit']}" for each in counted.to_dict("records")]
        lines.append({"protocol": protocol, "experiment": experiment, "tasks": "; ".join(texts)})
    return pd.DataFrame(lines)


def published_table(both: pd.DataFrame) -> pd.DataFrame:
    """Published means beside ours."""
    varied = {} if both["setting"].nunique() == 1 else {"setting": both["setting"]}
    return pd.DataFrame(
        {
            "cell": both["cell"],
            "classifier": both["classifier"],
            "method": both["method"],
            **varied,
            "published": [f"{value:.3f}" for value in both["published"]],
            "ours": [pm(*pair) for pair in zip(both["mean"], both["error"], strict=True)],
            "ours, mean of splits": [f"{value:.3f}" for value in both["mean_of_splits"]],
            "repetitions": both["count"],
            "difference": [
                pm(*pair, sign="+") for pair in zip(both["difference"], both["difference_error"], strict=True)
            ],
        }
    )


def means_table(rows: pd.DataFrame, index: list[str], columns: str) -> pd.DataFrame:
    """Mean accuracies with standard errors, one column for each value of `columns`."""
    each = _with_direction(summary(rows, [*index, columns]))
    index = ["direction" if name == "mirrored" else name for name in index]
    each["text"] = [pm(*pair) for pair in zip(each["mean"], each["error"], strict=True)]
    wide = each.pivot(index=index, columns=columns, values="text").fillna("–")
    order = sorted(wide.columns, key=lambda name: METHODS.index(name) if name in METHODS else len(METHODS))
    return wide[order].reset_index().rename_axis(columns=None)


def gaps_table(gaps: pd.DataFrame) -> pd.DataFrame:
    """Gap, gain over the selected sample and share of the gap closed, in both directions."""

    def text(name: str, digits: int = 2) -> list[str]:
        errors = gaps[f"{name.removesuffix('_mirrored')}_error{'_mirrored' * name.endswith('_mirrored')}"]
        return [pm(*pair, digits) for pair in zip(gaps[name], errors, strict=True)]

    return pd.DataFrame(
        {
            "cell": gaps["cell"],
            "classifier": gaps["classifier"],
            "method": gaps["method"],
            "gap as designed": text("gap", 3),
            "gap mirrored": text("gap_mirrored", 3),
            "gain as designed": text("gain", 3),
            "gain mirrored": text("gain_mirrored", 3),
            "closed as designed": text("closed"),
            "closed mirrored": text("closed_mirrored"),
            "closed, the worse": text("worse_closed"),
            "the instrument's own part, the worse": text("worse_own"),
            "repetitions": np.minimum(gaps["repetitions"], gaps["repetitions_mirrored"]),
        }
    )


def gains_summary(gaps: pd.DataFrame) -> pd.DataFrame:
    """Medians over cells and classifiers, and how many are clear, for each model of selection."""
    lines = []
    for kind, here in by_selection(gaps.dropna(subset="worse_gain")):
        for method in (name for name in METHODS if name in set(here["method"])):
            ours = here[here["method"] == method]
            better, worse = clearly(ours, "worse_gain")
            noticed = worse & (ours["worse_gain"] < -NOTICED)
            above, below = clearly(ours, "worse_beyond")
            lines.append(
                {
                    "selection": kind or "–",
                    "method": method,
                    "pairs": len(ours),
                    **{
                        title: f"{ours[name].median():+.3f}"
                        for title, name in (
                            ("gap", "gap"),
                            ("gap mirrored", "gap_mirrored"),
                            ("gain", "gain"),
                            ("gain mirrored", "gain_mirrored"),
                            ("gain, the worse", "worse_gain"),
                        )
                    },
                    "share closed, the worse": pm(share_closed(ours), float("nan"), 2, "+"),
                    "clearly better": better.sum(),
                    "clearly worse": worse.sum(),
                    f"by {NOTICED} or more": noticed.sum(),
                    "above no-instrument": above.sum() if method in OURS else "–",
                    "below it": below.sum() if method in OURS else "–",
                }
            )
    return pd.DataFrame(lines)


def worst_case_table(each: pd.DataFrame) -> pd.DataFrame:
    """Excess worst-case risks, of :func:`worst_cases`."""
    less = [pm(*pair, digits=4, sign="+") for pair in zip(each["less"], each["margin"], strict=True)]
    methods = [name for name in METHODS if name in each]
    texts = each[methods].map("{:.4f}".format).assign(**{"partial - no-instrument": less})
    return _with_direction(texts.reset_index())


def gains_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Partial minus selected, paired by repetition, as designed and mirrored (published FICO protocol)."""
    names = ["cell", "classifier", "mirrored"]
    gain = paired(rows, "partial", "selected", [*names, "repetition"]).groupby(level=names)
    each = gain.agg(["mean", "sem"]).reset_index()
    each["text"] = [pm(*pair, sign="+") for pair in zip(each["mean"], each["sem"], strict=True)]
    table = (
        _with_direction(each)
        .pivot(index=["cell", "classifier"], columns="direction", values="text")
        .fillna("–")
    )
    return table.reset_index().rename_axis(columns=None)


def _with_direction(frame: pd.DataFrame) -> pd.DataFrame:
    """The direction of selection in words."""
    if "mirrored" not in frame:
        return frame
    direction = np.where(frame["mirrored"].astype(bool), "mirrored", "as designed")
    return frame.assign(mirrored=direction).rename(columns={"mirrored": "direction"})
