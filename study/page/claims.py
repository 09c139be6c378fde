"""Claims of the paper and of this study, each with its measurement and its control."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from study.page.estimates import Estimate, over_cells
from study.page.numbers import (
    CONTROL,
    DRAW,
    by_selection,
    clearly,
    constant_share,
    fallback_share,
    gaps_closed,
    of,
    paired,
    share_closed,
    worst_cases,
)
from study.page.published import beside, gains_beside, published_with
from study.page.tables import pm, share_of
from study.published.splits import BEST, MEAN
from study.published.synthetic import ARTEFACT_STEPS, SELECTED_SLOWLY

# A published mean counts as reproduced within this distance.
CLOSE = 0.02
TITLES = {"synthetic": "the synthetic experiment", "fico": "FICO", "strong": "the strong designs"}
COLUMNS = ["claim", "measured", "control", "fallback", "constant", "what follows"]
# A method that has no fallback.
NO_FALLBACK = "none"
# A claim about fits of which more than this share are the labeled rows alone tests hardly anything.
MOSTLY, FELL_BACK = 0.5, "; it tests little, as most of these fits fell back to the labeled rows"
Claim = tuple[str, str, str, str, str, str]


def claims_table(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """One row for each claim that the results can speak to.

    Besides the control, each has the share of fits of the method that fell back to the labeled rows, and the
    share of its rules that are constant.
    """
    claims = [
        *_reproduced(rows, published),
        *_above_the_limit(rows, published),
        *_best_split(rows),
        *_stopped_early(rows),
        *_mirrored(rows),
        *(claim for experiment in TITLES for claim in _gaps(rows, experiment)),
        *(claim for experiment in ("synthetic", "strong") for claim in _worst_case(rows, experiment)),
    ]
    return pd.DataFrame(claims, columns=COLUMNS)


def reasons_table(rows: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """The claims that explain the published figures, and those of the strong designs."""
    claims = [
        *_above_the_limit(rows, published),
        *_best_split(rows),
        *_stopped_early(rows),
        *_gaps(rows, "strong"),
        *_worst_case(rows, "strong"),
    ]
    return pd.DataFrame(claims, columns=COLUMNS)


def _reproduced(rows: pd.DataFrame, published: pd.DataFrame) -> Iterator[Claim]:
    for experiment in ("synthetic", "fico"):
        both = beside(rows, published, experiment)
        if both.empty:
            continue
        near = int((both["difference"].abs() <= CLOSE).sum())
        n_published = int((published["experiment"] == experiment).sum())
        gains = gains_beside(both)
        yield (
            f"The released choices give the published means ({experiment})",
            f"{near} of {len(both)} means within {CLOSE} ({n_published} are published); median distance "
            f"{both['difference'].abs().median():.3f}",
            f"partial - selected: published {gains['published'].median():+.3f}, ours "
            f"{gains['ours'].median():+.3f} (medians of {len(gains)})"
            if len(gains)
            else "–",
            NO_FALLBACK,
            share_of(constant_share, of(rows, experiment=experiment, protocol="published", setting=BEST)),
            "reproduces" if near == len(both) else "reproduces in part; published.md has the misses",
        )


def _above_the_limit(rows: pd.DataFrame, published: pd.DataFrame) -> Iterator[Claim]:
    """Published accuracies beside what their rules give with perfect knowledge."""
    limits = of(rows, experiment="synthetic", protocol="published").drop_duplicates("cell").set_index("cell")
    theirs = published_with(published, "synthetic", "network")
    if theirs.empty or limits.empty:
        return
    wide = theirs.pivot_table(index="cell", columns="method", values="published")
    partial = (wide["partial"] - limits["minimax_accuracy"]).dropna()
    full = (wide["full"] - limits["bayes_accuracy"]).dropna()
    released = of(rows, experiment="synthetic", protocol="published", method="partial", setting=BEST)
    yield (
        "Published accuracies are within reach of the rules that are learned (synthetic)",
        f"partial - minimax limit: {partial.min():+.3f} to {partial.max():+.3f} ({len(partial)} cells)",
        f"full - Bayes: {full.min():+.3f} to {full.max():+.3f}, what choosing splits adds",
        NO_FALLBACK,
        f"ours {share_of(constant_share, released)}",
        "partial learning is published above what perfect bounds give: something else lifts it"
        if partial.min() > full.max()
        else "the limits do not speak against it",
    )


def _best_split(rows: pd.DataFrame) -> Iterator[Claim]:
    rows = of(rows, experiment="synthetic", protocol="published")
    best, mean = (paired(of(rows, setting=name), "partial", "selected") for name in (BEST, MEAN))
    if best.empty:
        return
    added = over_cells(best - mean)
    yield (
        "Partial learning gains over the selected sample (released choices, synthetic)",
        f"partial - selected {_text(over_cells(best))}, best of six splits",
        f"{_text(over_cells(mean))}, mean of six splits",
        NO_FALLBACK,
        share_of(constant_share, of(rows, setting=MEAN, method="partial")),
        _reading(
            added,
            "part of it is the choice among six splits, each with a network of its own",
            "choosing splits lowers it",
        ),
    )


def _stopped_early(rows: pd.DataFrame) -> Iterator[Claim]:
    rows = of(rows, experiment="artefact", protocol="published")
    few, many = (of(rows, setting=f"steps={steps}") for steps in ARTEFACT_STEPS)
    gain = over_cells(paired(few, "partial", "selected"))
    if not gain.is_known:
        return
    instrument = over_cells(paired(few, "partial", CONTROL))
    left = over_cells(paired(many, "partial", "selected"))
    same_rate = over_cells(paired(few, "partial", SELECTED_SLOWLY))
    few_steps, many_steps = ARTEFACT_STEPS
    constant, constant_later = (share_of(constant_share, of(each, method="partial")) for each in (few, many))
    yield (
        f"Partial learning gains by its instrument (released network, {few_steps} steps, both directions)",
        f"partial - selected {_text(gain)}",
        f"partial - no-instrument {_text(instrument)}",
        NO_FALLBACK,
        constant,
        _part_of(gain, instrument, "the instrument's"),
    )
    if same_rate.is_known:
        yield (
            f"That gain is there at equal learning rates ({few_steps} steps, both directions)",
            f"partial - selected at partial's rate {_text(same_rate)}",
            f"at the released rates {_text(gain)}",
            NO_FALLBACK,
            constant,
            _part_of(gain, same_rate, "left"),
        )
    yield (
        f"That gain is there once the network is trained ({many_steps:,} steps, both directions)",
        f"partial - selected {_text(left)}",
        f"at {few_steps} steps {_text(gain)}",
        NO_FALLBACK,
        constant_later,
        _part_of(gain, left, "left"),
    )


def _mirrored(rows: pd.DataFrame) -> Iterator[Claim]:
    rows = of(rows, experiment="fico", protocol="published", setting=MEAN)
    # Classifiers of one repetition share its data: they count as one.
    gain = paired(rows, "partial", "selected", [*DRAW, "classifier"]).groupby(level=DRAW).mean()
    directions = np.asarray(gain.index.get_level_values("mirrored"), dtype=bool)
    designed, mirrored = over_cells(gain[~directions]), over_cells(gain[directions])
    if not (designed.is_known and mirrored.is_known):
        return
    if designed.low > 0 and mirrored.low > 0:
        follows = "it gains in both directions"
    elif designed.low > 0 > mirrored.high:
        follows = "luck of direction"
    else:
        follows = "undecided"
    yield (
        "Partial learning gains on FICO (released weights)",
        f"partial - selected {_text(designed)}",
        f"mirrored {_text(mirrored)}",
        NO_FALLBACK,
        share_of(constant_share, of(rows, method="partial")),
        follows,
    )


def _gaps(rows: pd.DataFrame, experiment: str) -> Iterator[Claim]:
    rows = of(rows, experiment=experiment, protocol="honest")
    gaps = gaps_closed(rows).dropna(subset="worse_gain")
    for kind, here in by_selection(gaps):
        for method in ("partial", "point"):
            ours, control = here[here["method"] == method], here[here["method"] == CONTROL]
            if len(ours):
                fits = of(rows[rows["cell"].isin(set(ours["cell"]))], method=method)
                where = TITLES[experiment] + (f", {kind}" if kind else "")
                yield (
                    f"{method.capitalize()} learning gains in {where}",
                    f"median gain {_medians(ours)}",
                    f"no-instrument {_medians(control)}",
                    share_of(fallback_share, fits),
                    share_of(constant_share, fits),
                    _worse_direction(ours) + (FELL_BACK if fallback_share(fits) > MOSTLY else ""),
                )


def _worse_direction(ours: pd.DataFrame) -> str:
    if np.isnan(share_closed(ours)):
        gap = ours[["gap", "gap_mirrored"]].stack().median()
        return f"this design cannot tell: full - selected is {gap:+.3f} (median)"
    better, worse = clearly(ours, "worse_gain")
    above, below = clearly(ours, "worse_beyond")
    return (
        f"in the worse direction clearly better in {better.sum()} and worse in {worse.sum()} of {len(ours)}, "
        f"above no-instrument in {above.sum()} and below in {below.sum()}"
    )


def _worst_case(rows: pd.DataFrame, experiment: str) -> Iterator[Claim]:
    here = of(rows, experiment=experiment, protocol="honest")
    each = worst_cases(here).dropna(subset="margin")
    if each.empty:
        return
    below, above = (each["less"] < -each["margin"]).sum(), (each["less"] > each["margin"]).sum()
    means, fits = each.mean(), of(here, method="partial")
    yield (
        f"Partial learning lowers the worst-case risk, its aim, in {TITLES[experiment]}",
        f"excess worst-case risk {means['partial']:.4f} (mean of {len(each)} designs and classifiers)",
        f"no-instrument {means[CONTROL]:.4f}, selected {means['selected']:.4f}",
        share_of(fallback_share, fits),
        share_of(constant_share, fits),
        f"clearly below no-instrument in {below} of {len(each)}, above in {above}",
    )


def _medians(gaps: pd.DataFrame) -> str:
    gains = f"{gaps['gain'].median():+.3f} as designed, {gaps['gain_mirrored'].median():+.3f} mirrored"
    share = share_closed(gaps)
    return gains if np.isnan(share) else f"{gains}; {share:+.2f} of the gap in the worse"


def _part_of(gain: Estimate, part: Estimate, whose: str) -> str:
    """What follows for a part of a gain: it is there, or so small that most of the gain is something else."""
    if not gain.low > 0:
        return "there is no clear gain to explain"
    if part.low > 0:
        return f"{part.mean / gain.mean:.0%} of the gain is {whose}"
    if part.high < gain.mean / 2:
        return f"at most {max(part.high, 0.0) / gain.mean:.0%} of the gain is {whose}"
    return "undecided"


def _reading(value: Estimate, above: str, below: str) -> str:
    if value.low > 0:
        return above
    return below if value.high < 0 else "undecided"


def _text(value: Estimate) -> str:
    return pm(value.mean, value.error, sign="+")
