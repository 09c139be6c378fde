"""The main job on an embedded table whose truth is known: look, learn, compare with the limits, show it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from selective_labels import datasets
from selective_labels.assessment import TableDescription, assess
from selective_labels.assumptions import known
from selective_labels.diagnostics import diagnose
from selective_labels.estimators.baselines import IPWClassifier, SelectedSampleClassifier
from selective_labels.estimators.learners import UCLClassifier
from selective_labels.report import render
from selective_labels.saving.atomic import write_whole

N_APPLICATIONS = 8000
N_TEST = 20_000
N_OFFICERS = 12
FEATURES = ("income", "debt_ratio", "years_employed", "open_accounts")
CENTRES = np.array([52.0, 38.0, 12.0, 8.0])
SCALES = np.array([11.0, 9.0, 3.0, 2.0])


@dataclass(frozen=True, eq=False)
class Loans:
    """A made-up lender's table, and the generator's sample behind it.

    Attributes
    ----------
    table : pandas.DataFrame
        Features, region, officer, approved, defaulted ("yes", "no", or a hole where nobody approved).
    sample : SelectiveSample
        With `oracle` and `y_true`, which no lender has.
    """

    table: pd.DataFrame
    sample: datasets.SelectiveSample


def make_loans(n_samples: int | None = None, random_state: int = 1) -> Loans:
    """Draw applications for a loan that one of twelve officers decides.

    Officers see something that the table does not hold, and approve those who will repay: the labeled
    cases look safer than all cases are.

    Examples
    --------
    >>> table = make_loans(200).table
    >>> table["defaulted"].isna().equals(table["approved"] == 0)
    True
    """
    sample = datasets.make_decision_makers(
        n_samples or N_APPLICATIONS,
        n_classes=2,
        n_decision_makers=N_OFFICERS,
        mirrored=True,
        random_state=random_state,
    )
    table = in_units(sample.X)
    table["region"] = np.where(sample.X[:, 3] > 0, "north", "south")
    table["officer"] = [f"officer {code + 1:02d}" for code in sample.decision_maker]
    table["approved"] = sample.decision
    # The last word serves the code -1: no label was seen.
    table["defaulted"] = np.array(["no", "yes", None], dtype=object)[sample.y]
    return Loans(table, sample)


def in_units(X: np.ndarray) -> pd.DataFrame:
    """The generator's standard normal features in units that people know."""
    return pd.DataFrame((CENTRES + SCALES * X).round(2), columns=list(FEATURES))


def run(out: Path, console: Console | None = None, *, random_state: int = 1) -> None:
    """Run the demonstration and write its report page.

    Parameters
    ----------
    out : Path
        The page; written whole or not at all.
    console : rich Console, optional
    random_state : int
    """
    console = Console() if console is None else console
    loans = make_loans(random_state=random_state)
    table = loans.table
    console.print(
        f"[bold]{len(table):,} applications, {N_OFFICERS} officers, two outcomes.[/] Whether a loan defaults "
        f"is seen for the {table['approved'].mean():.0%} that an officer approved. What officers saw and the "
        "table does not hold moves both their decision and the outcome. The data are made up, so that the "
        "truth is known.\n"
    )
    show_officers(table, console)
    show_verdict(table, console)
    show_learners(loans, console)
    write_page(table, out, console)


def show_officers(table: pd.DataFrame, console: Console) -> None:
    """Leniency of each officer: without differences there is no instrument."""
    rows = Table(title="How lenient are they? (share of applications approved)", title_justify="left")
    for heading in ("officer", "cases", "leniency", "± 2 s.e.", ""):
        rows.add_column(heading, justify="left" if heading in ("officer", "") else "right")
    for officer, decisions in table.groupby("officer")["approved"]:
        leniency = decisions.mean()
        error = 2 * np.sqrt(leniency * (1 - leniency) / len(decisions))
        bar = "█" * round(40 * leniency)
        rows.add_row(str(officer), str(len(decisions)), f"{leniency:.3f}", f"{error:.3f}", bar)
    console.print(rows)


def show_verdict(table: pd.DataFrame, console: Console) -> None:
    """What may be assumed of these data."""
    diagnosis = diagnose(
        table[list(FEATURES)], table["defaulted"], decision_maker=table["officer"], random_state=0
    )
    console.print("\n[bold]What the checks say of each assumption[/] (all checks are on the page)")
    for assumption in known():
        if assumption.questions:
            console.print(f"  {assumption.name}: {diagnosis.allows(assumption)}")


def show_learners(loans: Loans, console: Console) -> None:
    """Accuracy on everybody, which only a generator can know, beside what each method could reach."""
    test_X = datasets.make_decision_makers(N_TEST, n_classes=2, random_state=2).X
    truth = loans.sample.oracle.probabilities(test_X)
    rows = Table(title="\nHow good on everybody? (the truth, known because the data are made up)")
    rows.title_justify = "left"
    for heading in ("method", "accuracy", "assumes"):
        rows.add_column(heading, justify="right" if heading == "accuracy" else "left")
    for name, classifier, assumption in (
        ("labeled cases only", SelectedSampleClassifier("linear"), "labels are missing at random given X"),
        ("inverse propensity", IPWClassifier("linear"), "labels are missing at random given X"),
        ("UCL, partial", UCLClassifier("partial", "plug-in", random_state=0), "valid instrument"),
        ("UCL, point", UCLClassifier("point", "plug-in", random_state=0), "valid instrument and NUCEM"),
    ):
        features = loans.table[list(FEATURES)]
        classifier.fit(features, loans.sample.y, decision_maker=loans.sample.decision_maker)
        predicted = classifier.predict(in_units(test_X))
        rows.add_row(name, f"{truth[np.arange(len(truth)), predicted].mean():.4f}", assumption)
    rows.add_section()
    oracle = loans.sample.oracle
    rows.add_row("limit: labeled cases only", f"{oracle.selected_accuracy:.4f}", "infinitely many cases")
    rows.add_row("limit: partial (minimax rule)", f"{oracle.minimax_accuracy:.4f}", "infinitely many cases")
    rows.add_row("limit: Bayes rule", f"{oracle.bayes_accuracy:.4f}", "infinitely many cases")
    console.print(rows)


def write_page(table: pd.DataFrame, out: Path, console: Console) -> None:
    """The report page, as `selective-labels report` would write it for this table."""
    document = assess(
        table[list(FEATURES)],
        table["defaulted"],
        decision_maker=table["officer"],
        decision=table["approved"],
        by=table[["region"]],
        nuisance="logistic",
        random_state=0,
        description=TableDescription(
            source="the embedded loan applications (made up)",
            title="Who will default? A demonstration",
            roles={"label": "defaulted", "decision": "approved", "decision_maker": "officer"},
            features=tuple((name, "number") for name in FEATURES),
            command="selective-labels demo",
        ),
    )
    write_whole(out, render(document))
    console.print(f"\nThe report page: [bold]{out.resolve()}[/] (open it in a browser)")
