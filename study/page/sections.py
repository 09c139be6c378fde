"""The tables of the study, page by page, from whatever results there are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from study.page import prose, tables
from study.page.claims import CLOSE, claims_table
from study.page.commands import commands
from study.page.confirmation import confirmation
from study.page.document import (
    Block,
    Code,
    Heading,
    Paragraph,
    Picture,
    Points,
    Table,
)
from study.page.estimates import over_cells
from study.page.figures import draw_cells, draw_gaps, draw_rates
from study.page.numbers import (
    CONTROL,
    by_selection,
    gaps_closed,
    measured,
    of,
    paired,
    room,
    worst_cases,
)
from study.page.published import beside, published_with
from study.page.trends import learner_rates, noise_sentences, rate_sentences
from study.published.splits import BEST, MEAN


@dataclass(frozen=True)
class Study:
    """Results, what they took, their seed and size, published means, and the folder of the page."""

    rows: pd.DataFrame
    times: pd.DataFrame
    run: Mapping[str, Any]
    published: pd.DataFrame
    out: Path

    def honest(self, experiment: str) -> pd.DataFrame:
        """Rows of the honest protocol."""
        return of(self.rows, experiment=experiment, protocol="honest")

    def as_published(self, experiment: str) -> pd.DataFrame:
        """Rows of the published protocol."""
        return of(self.rows, experiment=experiment, protocol="published")

    def picture(self, name: str) -> Path:
        """Where a figure goes."""
        return self.out / f"study-{name}.png"


def table_pages(study: Study) -> Iterator[tuple[str, list[Block]]]:
    """Name and blocks of every page of tables; those without results are left out."""
    pages: dict[str, tuple[str, Iterator[Block]]] = {
        "claims": ("Every claim, with its control", claims_section(study)),
        "published": ("The published numbers, again", replication(study)),
        "artefacts": ("Where the published gains come from", artefacts(study)),
        "synthetic": ("The synthetic experiment, honestly", comparison(study, "synthetic", 3)),
        "fico": ("The FICO experiment, honestly", comparison(study, "fico", 3)),
        "strong": ("Where the instrument is strong", comparison(study, "strong", 2)),
        "tilt": ("Tilt mode on fresh draws", confirmation(study.honest("tilt"), study.out)),
        "rates": ("How fast the excess risk falls", rates(study)),
        "noise": ("Noise in the nuisances", sensitivity(study)),
        "method": ("How it was done", method(study)),
    }
    for name, (title, section) in pages.items():
        blocks = list(section)
        if blocks:
            yield name, [Heading(title, 1), *blocks]


def claims_section(study: Study) -> Iterator[Block]:
    """What holds and what does not, each beside its control, and what the names mean."""
    table = claims_table(study.rows, study.published)
    yield Paragraph(prose.CONTROLS)
    if not table.empty:
        yield Table(table, prose.CLAIMS_TABLE)
    yield Heading("Methods and designs")
    yield Points(prose.METHODS)
    yield Table(pd.DataFrame(prose.DESIGNS, columns=prose.DESIGN_COLUMNS), prose.DESIGNS_TABLE)


def replication(study: Study) -> Iterator[Block]:
    """The published numbers beside ours by the same protocol."""
    if of(study.rows, protocol="published").empty:
        return
    if study.published.empty:
        yield Paragraph("The published means were not given when this page was made.")
        return
    for experiment in ("synthetic", "fico", "sensitivity"):
        both = beside(study.rows, study.published, experiment)
        if both.empty:
            continue
        yield Heading(f"{experiment}, published protocol")
        yield Paragraph(_distances(both, int((study.published["experiment"] == experiment).sum())))
        yield from _misses(both)
        yield Table(tables.published_table(both), prose.PUBLISHED_TABLE)
        yield from _without_chance(both)
    rows = of(study.as_published("synthetic"), setting=BEST)
    if not rows.empty:
        theirs = published_with(study.published, "synthetic", "network")
        path = draw_cells(rows, theirs, "network", 3, study.picture("published-synthetic"))
        yield Picture(path, prose.PUBLISHED_PICTURE)


def _distances(both: pd.DataFrame, n_published: int) -> str:
    best, mean = both["difference"].abs(), (both["mean_of_splits"] - both["published"]).abs()
    return (
        f"Of {n_published} published means, {len(both)} were repeated; {int((best <= CLOSE).sum())} of these "
        f"are within {CLOSE}. The largest difference is {best.max():.3f}, the median {best.median():.3f}. "
        f"With the mean of the six splits in place of the best, {int((mean <= CLOSE).sum())} would be, with "
        f"a median of {mean.median():.3f}."
        + (f" {prose.NEARER_TO_MEANS}" if mean.median() < best.median() else "")
    )


def _misses(both: pd.DataFrame) -> Iterator[Block]:
    far = both[both["difference"].abs() > CLOSE]
    if far.empty:
        return
    named = [
        f"{row['cell']}, {row['method']} ({row['classifier']}, {row['setting']}): "
        f"{tables.pm(row['difference'], row['difference_error'], sign='+')}"
        for row in far.to_dict("records")
    ]
    yield Points(tuple(named))
    yield Paragraph(prose.MISSES)


def _without_chance(both: pd.DataFrame) -> Iterator[Block]:
    """Set means that every repetition repeats beside the stored ones: these differ by no chance of ours."""
    same = both[(both["method"] == "full") & (both["std"] == 0) & (both["published_std"] == 0)]
    same = same.drop_duplicates("classifier")
    if same.empty:
        return
    yield Paragraph(prose.FICO_STORED)
    yield Points(
        tuple(
            f"{row['classifier']}: {row['mean']:.3f}, stored {row['published']:.3f}"
            for row in same.to_dict("records")
        )
    )


def artefacts(study: Study) -> Iterator[Block]:
    """Where the published gains come from."""
    rows = study.as_published("artefact")
    fico = of(study.as_published("fico"), setting=MEAN)
    splits = study.as_published("synthetic")
    if rows.empty and fico.empty and splits.empty:
        return
    if not rows.empty:
        yield from _steps(rows)
    both = splits[splits["setting"].isin((BEST, MEAN))]
    if not both.empty:
        yield Table(tables.means_table(both, ["cell", "method"], "setting"), prose.SPLITS_TABLE)
    if not fico.empty:
        yield Table(tables.gains_table(fico), prose.FICO_TABLE)


def _steps(rows: pd.DataFrame) -> Iterator[Block]:
    yield Table(tables.means_table(rows, ["cell", "mirrored", "method"], "setting"), prose.STEPS_TABLE)
    sentences = []
    for setting in dict.fromkeys(rows["setting"]):
        gain = paired(of(rows, setting=setting), "partial", CONTROL)
        added = over_cells(gain)
        sentences.append(
            f"With {setting.replace('=', ' ')}, knowing the decision-maker adds "
            f"{tables.pm(added.mean, added.error, sign='+')} to the accuracy of the same network "
            f"(mean over {len(gain)} paired runs)."
        )
    yield Points(tuple(sentences))
    yield Paragraph(prose.STEPS)


def comparison(study: Study, experiment: str, columns: int) -> Iterator[Block]:
    """An honest experiment: boxes, means, and the gap closed in the worse direction."""
    rows = study.honest(experiment)
    if rows.empty:
        return
    if experiment == "fico":
        yield Paragraph(prose.FICO_LIMITS)
    gaps = gaps_closed(rows)
    yield from _room(rows)
    if gaps["worse_gain"].notna().any():
        yield Table(tables.gains_summary(gaps), prose.SUMMARY_TABLE)
    for classifier in dict.fromkeys(rows["classifier"]):
        theirs = published_with(study.published, experiment, classifier)
        caption = f"{experiment}, {classifier}: accuracy of every repetition."
        path = study.picture(f"{experiment}-{classifier}")
        yield Picture(
            draw_cells(rows, theirs, classifier, columns, path, apart=True),
            caption if theirs.empty else f"{caption} {prose.CROSSES}",
        )
    if gaps["worse_gain"].notna().any():
        yield Picture(
            draw_gaps(gaps, study.picture(f"{experiment}-gaps")), f"{experiment}: {prose.GAPS_PICTURE}"
        )
    yield Table(tables.means_table(rows, ["cell", "mirrored", "classifier"], "method"), prose.MEANS_TABLE)
    yield Table(tables.gaps_table(gaps), prose.GAPS_TABLE)
    worst = worst_cases(rows)
    if not worst.empty:
        yield Table(tables.worst_case_table(worst), prose.WORST_CASE_TABLE)


def _room(rows: pd.DataFrame) -> Iterator[Block]:
    """How much of the gap there is to close by bounds, and by better learning, where the law is known."""
    share = room(rows)
    if share.empty:
        return
    kinds = [
        f"{kind} {'mirrored' if mirrored else 'as designed'} {here['share'].median():.2f}".strip()
        for kind, pair in by_selection(share.rename("share").reset_index())
        for mirrored, here in pair.groupby("mirrored")
    ]
    selected = of(rows, method="selected").assign(value=measured)
    short = (selected["selected_accuracy"] - selected["value"]).groupby(
        [selected[name] for name in ("cell", "mirrored", "classifier")]
    )
    yield Paragraph(
        f"With perfect knowledge of the bounds, the rule at which partial learning aims closes "
        f"{share.median():.2f} of the gap between the selected-sample limit and the Bayes rule (median over "
        f"{len(share)} designs, from {share.min():.2f} to {share.max():.2f}): so much room there is, "
        f"{'; '.join(kinds)}. The fitted selected-sample learners lie {short.mean().median():.3f} below "
        "their own limit (median): so much of a gain may be better learning rather than less bias."
    )


def rates(study: Study) -> Iterator[Block]:
    """Excess risk against the number of cases."""
    rows = study.honest("rate")
    if rows.empty:
        return
    yield Picture(draw_rates(rows, study.picture("rate")), prose.RATE_PICTURE)
    yield Points(tuple(rate_sentences(rows)))
    others = study.honest("learner-rate")
    if not others.empty:
        yield Table(learner_rates(others), prose.LEARNER_RATES)


def sensitivity(study: Study) -> Iterator[Block]:
    """Noise in the nuisances."""
    rows = study.honest("sensitivity")
    if rows.empty:
        return
    yield Paragraph(prose.SENSITIVITY)
    for part, words in prose.WHERE_NOISE_GOES.items():
        here = of(rows, part=part)
        if not here.empty:
            yield Points(tuple(noise_sentences(here)))
            table = tables.means_table(here, ["cell", "mirrored", "method"], "setting")
            yield Table(table, f"{words}: mean accuracy with standard error, linear learner.")


def method(study: Study) -> Iterator[Block]:
    """What was done, for whoever wants to object."""
    yield Points(prose.METHOD)
    yield Table(tables.counts(study.rows, study.times), prose.COUNTS_TABLE)
    yield Table(tables.commits(study.rows, study.times), prose.COMMITS_TABLE)
    yield Paragraph(prose.COMMANDS)
    yield Code(commands(study.rows, study.run))
