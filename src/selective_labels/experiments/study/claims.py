"""Claims of the paper and of this study, each with its measurement and its control."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from selective_labels.experiments.published.splits import BEST, MEAN
from selective_labels.experiments.study.numbers import (
    CLEAR,
    CONTROL,
    DRAW,
    clearly,
    gaps_closed,
    mean_and_error,
    of,
    paired,
)
from selective_labels.experiments.study.published import beside
from selective_labels.experiments.study.tables import pm

# A published mean counts as reproduced within this distance.
CLOSE = 0.02
TITLES = {"synthetic": "the synthetic experiment", "fico": "FICO", "strong": "the strong designs"}


def claims_table(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """One row for each claim that the results can speak to."""
    claims = [
        *_reproduced(rows, published),
        *_best_split(rows),
        *_stopped_early(rows),
        *_mirrored(rows),
        *_gaps(rows),
    ]
    return pd.DataFrame(claims, columns=["claim", "measured", "control", "what follows"])


def _reproduced(rows: pd.DataFrame, published: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    for experiment in ("synthetic", "fico"):
        both = beside(rows, published, experiment)
        if both.empty:
            continue
        near = int((both["difference"].abs() <= CLOSE).sum())
        yield (
            f"The released choices give the published means ({experiment})",
            f"{near} of {len(both)} means within {CLOSE}",
            f"median distance {both['difference'].abs().median():.3f}",
            "reproduces" if near == len(both) else "reproduces in part; the misses are listed below",
        )


def _best_split(rows: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    rows = of(rows, experiment="synthetic", protocol="published")
    best, mean = (paired(of(rows, setting=name), "partial", "selected") for name in (BEST, MEAN))
    if best.empty:
        return
    yield (
        "Partial learning gains over the selected sample (released choices, synthetic)",
        f"partial - selected {_text(best)}, best of six splits",
        f"{_text(mean)}, mean of six splits",
        _reading(best - mean, "part of it is the choice of splits", "choosing splits adds nothing"),
    )


def _stopped_early(rows: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    rows = of(rows, experiment="artefact", protocol="published", mirrored=False)
    few, many = (of(rows, setting=f"steps={steps}") for steps in (200, 5000))
    gain, trained = (paired(each, "partial", "selected") for each in (few, many))
    by_instrument = paired(few, "partial", CONTROL)
    if gain.empty:
        return
    yield (
        "Partial learning gains over the selected sample by its instrument (released network, 200 steps)",
        f"partial - selected {_text(gain)}",
        f"partial - no-instrument {_text(by_instrument)}",
        _reading(by_instrument, "part of the gain is the instrument's", "the gain is not the instrument's"),
    )
    yield (
        "That gain is there once the network is trained (5,000 steps)",
        f"partial - selected {_text(trained)}",
        f"at 200 steps {_text(gain)}",
        _reading(trained, "some of it stays", "it came from stopping early"),
    )


def _mirrored(rows: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    rows = of(rows, experiment="fico", protocol="published", setting=MEAN)
    # Classifiers of one repetition share its data: they count as one.
    gain = paired(rows, "partial", "selected", [*DRAW, "classifier"]).groupby(level=DRAW).mean()
    directions = np.asarray(gain.index.get_level_values("mirrored"), dtype=bool)
    if not directions.any() or directions.all():
        return
    yield (
        "Partial learning gains on FICO (released weights)",
        f"partial - selected {_text(gain[~directions])}",
        f"mirrored {_text(gain[directions])}",
        _reading(gain[directions], "it gains in both directions", "luck of direction"),
    )


def _gaps(rows: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    for experiment, title in TITLES.items():
        here = of(rows, experiment=experiment, protocol="honest")
        if here.empty:
            continue
        gaps = gaps_closed(here).dropna(subset="worse_gain")
        control = gaps.loc[gaps["method"] == CONTROL, "worse_gain"].median()
        for method in ("partial", "point"):
            ours = gaps[gaps["method"] == method]
            if ours.empty:
                continue
            better, worse = clearly(ours, "worse_gain")
            measured = f"median {ours['worse_gain'].median():+.3f} in the worse direction"
            against = f"no-instrument {control:+.3f}"
            follows = f"clearly better in {better} of {len(ours)} pairs, clearly worse in {worse}"
            closed = ours.dropna(subset="worse_closed")
            if len(closed):
                own = clearly(closed, "worse_own")[0]
                measured += f"; {closed['worse_closed'].median():+.2f} of the gap where it is clear"
                against += f"; beyond it {closed['worse_own'].median():+.2f} of the gap"
                follows += f"; by the instrument in {own} of {len(closed)} with a clear gap"
            claim = f"{method.capitalize()} learning gains in {title}, in both directions"
            yield claim, measured, against, follows


def _text(values: pd.Series) -> str:
    return pm(*mean_and_error(values), sign="+")


def _reading(values: pd.Series, holds: str, fails: str) -> str:
    if len(values) < 2:
        return "one repetition: nothing follows yet"
    mean, error = mean_and_error(values)
    return holds if mean > CLEAR * error else fails
