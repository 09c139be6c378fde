"""The demonstration: evaluate, learn, compare and plan on simulated loans whose true outcomes are known."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from selective_labels._parallel import one_thread
from selective_labels.assumptions.instrument import Instrument
from selective_labels.assumptions.refused import Informed, Prevalence
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.datasets.loans import FEATURES, N_OFFICERS, Loans, make_loans
from selective_labels.estimators.reject_inference import ParcellingClassifier
from selective_labels.estimators.selected_sample import SelectedSampleClassifier
from selective_labels.estimators.ucl import UCLClassifier
from selective_labels.evaluation.functions import compare, evaluate, ladder
from selective_labels.evaluation.ladder import Ladder
from selective_labels.evaluation.plan import Plan, plan
from selective_labels.evaluation.results import Comparison, Evaluation, Evaluations
from selective_labels.io.files import write_whole
from selective_labels.report.assess import assess
from selective_labels.report.document import TableDescription
from selective_labels.report.render import render

# To compare two rules to within three points takes this many applications; models are trained on the first.
N_APPLICATIONS, N_TRAIN, N_PAGE = 45_000, 12_000, 6_000
# Default rate of all applicants according to a credit bureau; the simulated rate is 42 %.
KNOWN_SHARE = (0.41, 0.43)
# Factor by which parcelling assumes that refused applicants default more often.
PARCELLED = 2.0
FITTING: dict[str, Any] = {"nuisance": "logistic", "random_state": 0, "n_jobs": 1}


@dataclass(frozen=True, eq=False)
class Story:
    """Results of the demonstration, with the true values.

    Attributes
    ----------
    labeled_share, labeled_right : float
        Default rate among approved loans, and accuracy of the scorecard on them.
    share, right : Evaluation
        The same for all applications.
    climbed : Ladder
        Accuracy of the scorecard under more and more assumptions about what officers know.
    better, true_gain : Comparison, float
        The robust rule against the scorecard, given what officers know: estimated and true difference.
    open, settled_by : Comparison, Plan
        The robust rule against parcelling, and a plan for data that would decide between them.
    """

    labeled_share: float
    labeled_right: float
    share: Evaluation
    right: Evaluation
    true_share: float
    true_right: float
    climbed: Ladder
    better: Comparison
    true_gain: float
    open: Comparison
    settled_by: Plan


def tell(loans: Loans, n_train: int = N_TRAIN) -> Story:
    """Train on the first applications, evaluate on the others, and compare with the truth."""
    data = data_of(loans.table)
    rows = np.arange(len(data))
    train, test = data.take(rows[:n_train]), data.take(rows[n_train:])
    chance = loans.chance[n_train:]
    scorecard = SelectedSampleClassifier("linear").fit(train)
    parcelled = ParcellingClassifier("linear", factor=PARCELLED).fit(train)
    robust = UCLClassifier("partial", "linear", **FITTING).fit(train)

    def truly_right(rule: Any) -> float:
        return float(np.where(rule.predict(test.X) == "yes", chance, 1.0 - chance).mean())

    seen = test.decision == 1
    found = evaluate(scorecard, test, metric=["share", "accuracy"], **FITTING)
    assert isinstance(found, Evaluations)  # two metrics return a list of results
    share, right = found
    known = [Prevalence("yes", KNOWN_SHARE), Informed("yes")]
    undecided = compare(robust, parcelled, test, **FITTING)
    return Story(
        labeled_share=float(np.mean(test.y[seen] == 1)),
        labeled_right=float(np.mean(scorecard.predict(test.X)[seen] == test.classes[test.y[seen]])),
        share=share,
        right=right,
        true_share=float(chance.mean()),
        true_right=truly_right(scorecard),
        climbed=ladder(scorecard, test, assumptions=known, **FITTING),
        better=compare(robust, scorecard, test, assumption=Instrument() & Informed("yes"), **FITTING),
        true_gain=truly_right(robust) - truly_right(scorecard),
        open=undecided,
        settled_by=plan(undecided),
    )


def data_of(table: pd.DataFrame) -> SelectiveLabels:
    """The table with its roles."""
    return SelectiveLabels.from_frame(
        table, label="defaulted", decision="approved", decision_maker="officer", features=list(FEATURES)
    )


def run(out: Path, console: Console | None = None, *, random_state: int = 1) -> None:
    """Run the demonstration and write its report page.

    Parameters
    ----------
    out : Path
        File of the page; written completely or not at all.
    console : rich Console, optional
    """
    console = Console() if console is None else console
    loans = make_loans(N_APPLICATIONS, random_state=random_state)
    approved = loans.table["approved"].mean()
    console.print(
        f"[bold]{len(loans.table):,} applications for a short-term loan, {N_OFFICERS} officers.[/] Whether a "
        f"loan defaults is seen for the {approved:.0%} that an officer approved. Officers call the employer "
        "and learn of trouble that the table does not hold. The data are made up, so the truth is known.\n"
    )
    # With other work on the same cores, threads would wait for each other.
    with one_thread():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            story = tell(loans, min(N_TRAIN, len(loans.table) // 2))
        show_answers(story, console)
        show_ladder(story, console)
        for said in dict.fromkeys(str(each.message) for each in caught):
            console.print(f"Note: {said}\n")
        show_rules(story, console)
        write_page(loans.table.tail(N_PAGE), out, console)


def show_answers(story: Story, console: Console) -> None:
    """Compare the values among approved loans, the bounds for all applicants, and the truth."""
    rows = _table("1. What the approved loans say is wrong", "approved only", "everybody (95 %)", "truth")
    for name, seen, found, truth in (
        ("defaulted", story.labeled_share, story.share, story.true_share),
        ("scorecard is right", story.labeled_right, story.right, story.true_right),
    ):
        rows.add_row(name, f"{seen:.1%}", _interval(found), f"{truth:.1%}")
    console.print(rows)
    console.print(
        "The scorecard is learned from approved loans. The figures for everybody assume only that officers "
        "get their cases by lot, and that who decides changes no outcome.\n"
    )


def show_ladder(story: Story, console: Console) -> None:
    """Show how assumptions about what officers know narrow the bounds."""
    rows = _table("2. What officers know narrows it: how often is the scorecard right?", "possible", "95 %")
    for step in story.climbed:
        found = step.evaluation
        rows.add_row(step.title, f"{found.lower:.1%} to {found.upper:.1%}", _interval(found))
    console.print(rows)
    low, high = KNOWN_SHARE
    console.print(
        f"prevalence: a bureau says that {low:.0%} to {high:.0%} of all who apply default. informed: refused "
        "applicants are no better risks than approved ones with the same features. The truth: "
        f"{story.true_right:.1%}.\n"
    )


def show_rules(story: Story, console: Console) -> None:
    """Show one comparison that the data decide given what officers know, and one that stays undecided."""
    console.print(
        "[bold]3. A rule learned from bounds[/] (UCLClassifier) against the scorecard, given what officers "
        f"know (informed): right more often by {_points(story.better)}: {_verdict(story.better)}. The truth: "
        f"{100 * story.true_gain:+.1f} points.\n"
    )
    console.print(
        f"[bold]4. Against parcelling[/] (the refused default {PARCELLED:g} times as often, by a guess): "
        f"{_points(story.open)}: {_verdict(story.open)}. What would settle it (plan):"
    )
    rows = _table("", "interval would be")
    for way in story.settled_by.rows:
        rows.add_row(way["way"], f"{100 * way['interval']:.1f} points wide")
    console.print(rows)
    for answer in story.settled_by.answers:
        console.print(answer)


def _verdict(found: Comparison) -> str:
    return {"a": "the new rule is better", "b": "the other is better"}.get(found.verdict, found.verdict)


def write_page(table: pd.DataFrame, out: Path, console: Console) -> None:
    """Write the report page, as `selective-labels report` would for this table."""
    data = data_of(table)
    document = assess(
        data,
        by=table[["region"]],
        nuisance="logistic",
        random_state=0,
        n_jobs=1,
        assumptions=[Prevalence("yes", KNOWN_SHARE), Informed("yes")],
        description=TableDescription(
            source="made-up loan applications",
            title="Who will default? A demonstration",
            command="selective-labels demo",
        ),
    )
    write_whole(out, render(document))
    console.print(
        f"\nThe report page, of {len(table):,} of these applications: [bold]{out.resolve()}[/] (open it in a "
        "browser)"
    )


def _table(title: str, *headings: str) -> Table:
    rows = Table(title=title, title_justify="left")
    rows.add_column("")
    for heading in headings:
        rows.add_column(heading, justify="right")
    return rows


def _interval(found: Evaluation) -> str:
    return f"{found.ci_lower:.1%} to {found.ci_upper:.1%}"


def _points(found: Comparison) -> str:
    return f"{100 * found.ci_lower:+.1f} to {100 * found.ci_upper:+.1f} points"
