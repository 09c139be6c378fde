"""The page that people read: a verdict and a chart for every published figure, and the reasons."""

from collections.abc import Iterable, Iterator

import pandas as pd

from study.honest.methods import NEURAL
from study.page import prose, tables
from study.page.claims import reasons_table
from study.page.commands import missing_commands, missing_means
from study.page.document import Block, Code, Heading, Paragraph, Picture, Points, Table
from study.page.numbers import constant_share, fallback_share, of
from study.page.sections import Study
from study.page.side_by_side import FIGURES, PublishedFigure, draw_side_by_side, side_by_side
from study.page.tables import share_of
from study.page.verdicts import verdict, verdict_row


def front_page(study: Study, links: list[str]) -> Iterator[Block]:
    """The whole page; `links` are the pages of tables."""
    yield Heading(prose.TITLE, 1)
    yield Paragraph(prose.INTRODUCTION)
    found = {figure: verdict(figure, study.rows, study.published) for figure in FIGURES}
    judged = {figure: verdict_row(figure, each) for figure, each in found.items() if each is not None}
    if judged:
        yield Heading("Verdicts")
        yield Table(pd.DataFrame(judged.values()), prose.VERDICT_RULE)
        yield Paragraph(f"{prose.MISSES} {prose.CHARTS}")
        yield from _charts(study, judged)
    elif study.published.empty:
        yield Paragraph("The published means were not given when this page was made.")
    yield from _reasons(study)
    yield from _provenance(study)
    yield Heading("Everything else")
    yield Points(tuple(f"[{link}]({link})" for link in links))


def _charts(study: Study, figures: Iterable[PublishedFigure]) -> Iterator[Block]:
    for figure in figures:
        marks = side_by_side(figure, study.rows, study.published)
        path = draw_side_by_side(figure, marks, study.picture(figure.key))
        caption = prose.CHART_FICO if figure.experiment == "fico" else prose.CHART
        yield Heading(f"{figure.name}: {figure.shows}")
        yield Picture(path, f"{figure.name}: {caption}")


def _reasons(study: Study) -> Iterator[Block]:
    reasons = reasons_table(study.rows, study.published)
    if not reasons.empty:
        yield Heading("Where the effects come from")
        yield Table(reasons, prose.REASONS_TABLE)
    neural = of(study.honest("synthetic"), part=NEURAL)
    if not neural.empty:
        yield Paragraph(_neural_words(neural))


def _neural_words(rows: pd.DataFrame) -> str:
    """Means of the neural learner, which is run once: enough to see that it works."""
    means = rows.groupby("method")["expected_accuracy"].mean()
    said = ", ".join(f"{name} {value:.3f}" for name, value in means.items())
    designs = len(rows.drop_duplicates(["cell", "mirrored"]))
    constant = share_of(constant_share, of(rows, method="partial"))
    fallback = share_of(fallback_share, of(rows, method="point"))
    return (
        f"The neural learner, one draw of {designs} honest cells and directions: {said}. "
        f"Constant: {constant} partial rules; fallback: {fallback} point fits. "
        "No ranking follows."
    )


def _provenance(study: Study) -> Iterator[Block]:
    yield Heading("Which rows, from which commit")
    yield Table(tables.commits(study.rows, study.times), prose.COMMITS_TABLE)
    if study.published.empty:
        return
    missing = missing_means(study.rows, study.published)
    if missing.empty:
        yield Paragraph(f"All {len(study.published)} published means have a mean of ours beside them.")
        return
    counted = missing.groupby(["experiment", "part"], sort=False)["cell"].agg(["size", "nunique"])
    texts = [
        f"{row['experiment']} {row['part']} {row['size']} in {row['nunique']} cells"
        for row in counted.reset_index().to_dict("records")
    ]
    yield Paragraph(
        f"Of {len(study.published)} published means, {len(missing)} have none of ours beside them yet "
        f"({'; '.join(texts)}). These commands make them:"
    )
    yield Code(missing_commands(missing))
