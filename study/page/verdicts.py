"""A verdict on every published figure, by one rule."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from study.page.claims import CLOSE
from study.page.estimates import Estimate, over_cells
from study.page.numbers import (
    CONTROL,
    DRAW,
    clearly,
    constant_share,
    fallback_share,
    gaps_closed,
    of,
    paired,
)
from study.page.published import beside, gains_beside
from study.page.side_by_side import PublishedFigure
from study.page.tables import pm, share_of
from study.published.splits import MEAN
from study.published.synthetic import ARTEFACT_STEPS

REPRODUCES, OTHERWISE, DOES_NOT = "reproduces", "reproduces, for another reason", "does not"
# What is found again is at least this share of what was published ...
ENOUGH = 0.5
# ... and is the instrument's if it is clear, against the control, in at least this share of the pairs.
MOST = 0.5


@dataclass(frozen=True)
class Verdict:
    """What a published figure shows, whether it is found again, and why.

    Attributes
    ----------
    published, ours : float
        The effect: the gain of partial learning over the selected sample (median over cells), or what the
        highest level of noise takes from the accuracy. Ours is by the published protocol.
    near, n_ours, n_published : int
        Means within .02, repeated, and published.
    control : str
        What has the effect without the instrument, or has not in the mirrored design.
    clear, pairs : int
        Honest protocol: pairs (cell and classifier) in which partial learning is clearly above the
        no-instrument control in the worse direction.
    fallback, constant : str
        Shares of fits that fell back to the labeled rows, and of constant rules.
    """

    published: float
    ours: float
    near: int
    n_ours: int
    n_published: int
    control: str
    clear: int
    pairs: int
    fallback: str
    constant: str

    @property
    def words(self) -> str:
        """The verdict.

        Found again: ours is at least half of the published effect. Its reason is the paper's if partial
        learning is clearly above the control in at least half of the honest pairs.

        Examples
        --------
        >>> shared = {"near": 4, "n_ours": 4, "n_published": 4, "control": "", "fallback": "", "constant": ""}
        >>> Verdict(0.04, 0.03, clear=3, pairs=4, **shared).words
        'reproduces'
        >>> Verdict(0.04, 0.03, clear=0, pairs=4, **shared).words
        'reproduces, for another reason'
        >>> Verdict(0.04, 0.01, clear=3, pairs=4, **shared).words
        'does not'
        """
        if not self.ours >= ENOUGH * self.published:
            return DOES_NOT
        return REPRODUCES if self.clear >= MOST * self.pairs and self.pairs else OTHERWISE


def verdict(figure: PublishedFigure, rows: pd.DataFrame, published: pd.DataFrame) -> Verdict | None:
    """Judge a figure; None where none of its means was repeated."""
    here, theirs = figure.cells(rows), figure.cells(published)
    both = beside(here, theirs, figure.experiment)
    if both.empty:
        return None
    effect = gains_beside(both) if figure.selection else _falls(both)
    clear, pairs = _honest_pairs(figure, rows)
    released = of(here, protocol="published", mirrored=False)
    released = released[
        released["setting"].str.endswith(MEAN) & released["method"].isin(("partial", "point"))
    ]
    honest = of(here, protocol="honest")
    return Verdict(
        published=float(effect["published"].median()),
        ours=float(effect["ours"].median()),
        near=int((both["difference"].abs() <= CLOSE).sum()),
        n_ours=len(both),
        n_published=len(theirs),
        control=_control(figure, rows),
        clear=clear,
        pairs=pairs,
        fallback=share_of(fallback_share, of(honest, method="point")),
        constant=(
            f"released {share_of(constant_share, released)}; "
            f"honest partial {share_of(constant_share, of(honest, method='partial'))}"
        ),
    )


def _falls(both: pd.DataFrame) -> pd.DataFrame:
    """What the highest level of noise takes from the accuracy, for each cell and method."""
    wide = both.pivot_table(index=["cell", "method"], columns="setting", values=["published", "mean"])
    levels = sorted(set(both["setting"]))
    first, last = levels[0], levels[-1]
    falls = {
        name: wide[column, first] - wide[column, last]
        for column, name in (("published", "published"), ("mean", "ours"))
    }
    return pd.DataFrame(falls).dropna()


def _honest_pairs(figure: PublishedFigure, rows: pd.DataFrame) -> tuple[int, int]:
    """Pairs in which partial learning is clearly above the control in the worse direction, and all pairs.

    The noise study has no control of its own: its cells are those of the synthetic experiment.
    """
    experiment = figure.experiment if figure.selection else "synthetic"
    honest = of(rows, experiment=experiment, protocol="honest")
    honest = honest[honest["cell"].str.startswith(f"{figure.selection}-" if figure.selection else "")]
    if not figure.selection:
        honest = honest[honest["cell"].isin(set(figure.cells(rows)["cell"]))]
    gaps = gaps_closed(honest)
    gaps = of(gaps, method="partial").dropna(subset="worse_beyond")
    if gaps.empty:
        return 0, 0
    return int(clearly(gaps, "worse_beyond")[0].sum()), len(gaps)


def _control(figure: PublishedFigure, rows: pd.DataFrame) -> str:
    if figure.experiment == "fico":
        released = of(figure.cells(rows), protocol="published", mirrored=True)
        released = released[released["setting"].str.endswith(MEAN)]
        gain = paired(released, "partial", "selected", [*DRAW, "classifier"]).groupby(level=DRAW).mean()
        return f"mirrored: gain {_text(over_cells(gain))}" if len(gain) else "mirrored: not run"
    if figure.experiment == "synthetic":
        artefact = of(rows, experiment="artefact", protocol="published", setting=f"steps={ARTEFACT_STEPS[0]}")
        artefact = artefact[artefact["cell"].str.startswith(figure.selection)]
        added = over_cells(paired(artefact, "partial", CONTROL))
        return f"same network without instrument: partial adds {_text(added)}"
    lines = of(figure.cells(rows), protocol="published")
    lines = lines[lines["setting"].str.endswith(MEAN)]
    constant, full = (of(lines, method=name)["accuracy"].mean() for name in ("constant", "full"))
    last = lines[lines["method"].isin(("partial", "point"))]
    last = last[last["setting"] == max(last["setting"], default="")]
    noisy = ", ".join(f"{name} {each['accuracy'].mean():.3f}" for name, each in last.groupby("method"))
    return (
        f"means of splits at the highest noise: {noisy}; commonest class {constant:.3f}, full {full:.3f}"
        if len(last)
        else "–"
    )


def _text(value: Estimate) -> str:
    return pm(value.mean, value.error, sign="+") if np.isfinite(value.mean) else "not run"


def verdict_row(figure: PublishedFigure, found: Verdict) -> dict[str, str]:
    """One line of the table of verdicts."""
    return {
        "published": f"{figure.name}: {figure.shows}",
        "verdict": f"**{found.words}**",
        "means within .02": f"{found.near} of {found.n_ours} repeated ({found.n_published} published)",
        "effect, published and ours": f"{found.published:+.3f}, {found.ours:+.3f}",
        "control": found.control,
        "honest: clearly above no-instrument": f"{found.clear} of {found.pairs}",
        "fallback": found.fallback,
        "constant": found.constant,
    }
