"""The main job on data whose truth is known: look at the instrument, learn, compare with the limits."""

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import selective_labels as sl

N_SAMPLES = 8000
N_TEST = 20000
console = Console()


def main() -> None:
    train = sl.datasets.make_decision_makers(N_SAMPLES, random_state=1)
    test_X = sl.datasets.make_decision_makers(N_TEST, random_state=2).X
    truth = train.oracle.probabilities(test_X)
    console.print(
        f"[bold]{N_SAMPLES:,} cases, 8 decision-makers, 3 classes.[/] A label is seen for "
        f"{np.mean(train.decision):.0%} of them: those that someone decided in favour of. What the "
        "decision-makers saw and we did not moves both their decision and the label.\n"
    )
    show_instrument(train)
    diagnosis = sl.diagnose(train.X, train.y, decision_maker=train.decision_maker, random_state=0)
    console.print("\n[bold]May be assumed here[/] (all checks: print(sl.diagnose(...)))")
    for assumption in ("instrument", "nucem", "unconfounded"):
        permission = diagnosis.allows(assumption)
        console.print(f"  {assumption}: {'yes' if permission else 'no'}. {permission.reason}")
    show_learners(train, test_X, truth)


def show_instrument(train: sl.datasets.SelectiveSample) -> None:
    """Leniency of each decision-maker: without differences there is no instrument."""
    table = Table(title="How lenient are they? (share of cases decided in favour)", title_justify="left")
    for heading in ("decision-maker", "cases", "leniency", "± 2 s.e.", ""):
        table.add_column(heading, justify="left" if heading == "" else "right")
    for maker in np.unique(train.decision_maker):
        decisions = train.decision[train.decision_maker == maker]
        leniency = decisions.mean()
        error = 2 * np.sqrt(leniency * (1 - leniency) / len(decisions))
        bar = "█" * round(40 * leniency)
        table.add_row(str(maker), str(len(decisions)), f"{leniency:.3f}", f"{error:.3f}", bar)
    console.print(table)


def show_learners(train: sl.datasets.SelectiveSample, test_X: np.ndarray, truth: np.ndarray) -> None:
    """Accuracy on everybody, which only a generator can know, beside what each method could reach."""
    methods = {
        "labeled cases only": (sl.SelectedSampleClassifier("linear"), "labels are missing at random given X"),
        "inverse propensity": (sl.IPWClassifier("linear"), "labels are missing at random given X"),
        "UCL, partial": (sl.UCLClassifier("partial", "plug-in", random_state=0), "valid instrument"),
        "UCL, point": (sl.UCLClassifier("point", "plug-in", random_state=0), "valid instrument and NUCEM"),
    }
    table = Table(title="\nHow good on everybody?", title_justify="left")
    for heading in ("method", "accuracy", "assumes"):
        table.add_column(heading, justify="right" if heading == "accuracy" else "left")
    fitted = {}
    for name in track(methods, description="fitting", console=console, transient=True):
        classifier, assumption = methods[name]
        fitted[name] = classifier.fit(train.X, train.y, decision_maker=train.decision_maker)
        predicted = fitted[name].predict(test_X)
        table.add_row(name, f"{truth[np.arange(len(truth)), predicted].mean():.4f}", assumption)
    table.add_section()
    oracle = train.oracle
    table.add_row("limit: labeled cases only", f"{oracle.selected_accuracy:.4f}", "infinitely many cases")
    table.add_row("limit: partial (minimax rule)", f"{oracle.minimax_accuracy:.4f}", "infinitely many cases")
    table.add_row("limit: Bayes rule", f"{oracle.bayes_accuracy:.4f}", "infinitely many cases")
    console.print(table)
    show_what_is_known(fitted["UCL, partial"], test_X, truth)


def show_what_is_known(classifier: sl.UCLClassifier, test_X: np.ndarray, truth: np.ndarray) -> None:
    """What the data say without NUCEM, and whether it is true."""
    bounds = classifier.predict_bounds(test_X)
    predicted = classifier.predict(test_X)
    rows = np.arange(len(test_X))
    lower, upper = bounds.lower[rows, predicted].mean(), bounds.upper[rows, predicted].mean()
    console.print(
        f"\nWithout NUCEM, the accuracy of the partial rule is somewhere in [{lower:.3f}, {upper:.3f}] "
        f"(estimated); it is {truth[rows, predicted].mean():.3f}.\n"
        f"For {classifier.decided(test_X).mean():.0%} of the cases the best class is decided, whatever the "
        "unseen labels are; for the rest the data cannot tell, and the rule hedges.\n"
        f"Nuisance model: {classifier.nuisance_report_.chosen} ({classifier.nuisance_report_.settings}), "
        "by held-out log-loss."
    )


if __name__ == "__main__":
    main()
