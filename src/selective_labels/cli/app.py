"""The commands: each reads its options, calls the library, shows the result."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from selective_labels.cli.config import ConfigurableCommand
from selective_labels.cli.console import guarded, say, working
from selective_labels.cli.curve_commands import COMMANDS
from selective_labels.cli.grouped import with_groups
from selective_labels.cli.interrupts import advise
from selective_labels.cli.options import (
    DEFAULT_ASSUMPTION,
    MODEL,
    Assume,
    Assumption,
    Cost,
    CutOptions,
    Data,
    Estimator,
    FileOptions,
    FittingOptions,
    Format,
    Mode,
    ModelFile,
    Names,
    NumberOptions,
    OutputOptions,
    PageOptions,
    SubjectOptions,
    TableOptions,
)
from selective_labels.support.errors import InputError

app = typer.Typer(
    name="selective-labels",
    help="Learn and evaluate classifiers when labels exist only where someone decided in favour.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Start with: selective-labels demo",
)
ROLES = "--label failed --decision released --decision-maker officer"


def command(example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command: groups of options, --config, errors in one sentence, an example."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        app.command(cls=ConfigurableCommand, epilog=f"Example: {example}")(guarded(with_groups(function)))
        return function

    return register


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("selective-labels"))
        raise typer.Exit


@app.callback()
def top(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Say which version this is.", callback=_show_version, is_eager=True),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options that stand before the command."""
    context.obj = {"debug": debug}


@command("selective-labels demo --out demo.html")
def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="The report page.")] = Path("selective-labels-demo.html"),
) -> None:
    """Do the main job on an embedded data set whose truth is known, and write a report page."""
    from selective_labels import demo
    from selective_labels.saving.atomic import require_writable

    require_writable(out)
    with working():
        demo.run(out)


@command(f"selective-labels check cases.csv {ROLES}")
def check(
    context: typer.Context,
    data: Data,
    table: TableOptions,
    file: FileOptions,
    fitting: FittingOptions,
    output: OutputOptions,
    assume: Assume = None,
) -> None:
    """Say whether this data can answer the question: checks, and which assumptions may be used."""
    from selective_labels.assumptions.written import Assumed
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show
    from selective_labels.cli.views import check_view
    from selective_labels.diagnostics import diagnose

    assumed = Assumed.read(assume)
    loaded = Source(context, data, file, table, output).load()
    prepared = loaded.prepared
    together = assumed.listed(prepared.data.classes)
    with working():
        diagnosis = diagnose(prepared.data, assumptions=together, **fitting.keywords)
    show(check_view(loaded, diagnosis), output.format)


@command(f"selective-labels fit cases.csv {ROLES} --model model.skops")
def fit(
    context: typer.Context,
    data: Data,
    model: Annotated[Path, typer.Option(help="File to save the model in.", metavar="FILE")],
    table: TableOptions,
    file: FileOptions,
    fitting: FittingOptions,
    output: OutputOptions,
    mode: Annotated[
        Mode, typer.Option(help="partial: the instrument alone; point: NUCEM besides.", rich_help_panel=MODEL)
    ] = Mode.PARTIAL,
    estimator: Annotated[
        Estimator, typer.Option(help="Learner of the rule.", rich_help_panel=MODEL)
    ] = Estimator.BOOSTING,
    assume: Assume = None,
    cost: Cost = None,
    card: Annotated[
        Path | None, typer.Option(help="Also write a model card (Markdown).", metavar="FILE")
    ] = None,
) -> None:
    """Train a classifier for everybody, robust to what the data cannot tell, and save it."""
    from selective_labels.assumptions.written import Assumed
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show
    from selective_labels.cli.stakes import read_cost, require_cost_of
    from selective_labels.cli.views import fit_view
    from selective_labels.estimators.learners import UCLClassifier
    from selective_labels.nuisance.settings import FittingSettings
    from selective_labels.report import model_card
    from selective_labels.saving import save_model
    from selective_labels.saving.atomic import require_writable, write_whole
    from selective_labels.saving.schema import describe

    require_writable(model)
    if card is not None:
        require_writable(card)
    assumed = Assumed.read(assume)
    assumed.require_learnable(mode.value)
    costs = read_cost(cost)
    settings = FittingSettings.read(**fitting.keywords)
    loaded = Source(context, data, file, table, output).load(fitting=settings)
    prepared = loaded.prepared
    learner = None if estimator == Estimator.BOOSTING else estimator.value
    require_cost_of(costs, prepared.data.classes)
    together = assumed.together(prepared.data.classes)
    classifier = UCLClassifier(mode.value, learner, cost=costs, assumption=together, **fitting.keywords)
    with working():
        classifier.fit(prepared.data)
    options = {"mode": mode.value, "estimator": estimator.value, **fitting.keywords}
    if assume:
        options["assume"] = list(assume)
    if costs is not None:
        options["cost"] = costs.tolist()
    roles = prepared.roles.to_dict()
    schema = describe(prepared.X, prepared.kinds, classifier.classes_, prepared.recognised_by, roles, options)
    save_model(classifier, model, schema=schema)
    if card is not None:
        write_whole(card, model_card(classifier, prepared.data, title=f"Model card: {model.name}"))
    show(fit_view(loaded, classifier, model), output.format)


@command("selective-labels predict model.skops new.csv --out predictions.csv --keep case_id")
def predict(
    context: typer.Context,
    model: ModelFile,
    data: Data,
    file: FileOptions,
    out: Annotated[
        str,
        typer.Option(
            help="CSV (.csv, .csv.gz) to write; - for standard output; a folder if DATA is in partitions."
        ),
    ],
    keep: Annotated[Names, typer.Option(help="A column to carry over, such as an id. Repeatable.")] = None,
    format: Annotated[Format, typer.Option(help="Of the summary.")] = Format.TABLE,
) -> None:
    """Predict every row of a table: class, bounds of class probabilities, whether the data decide."""
    from selective_labels.cli.inputs import open_source
    from selective_labels.cli.output import show
    from selective_labels.cli.partition_predictions import write_partitions
    from selective_labels.cli.predictions import (
        STANDARD_OUTPUT,
        Predicted,
        prediction_table,
        write_predictions,
    )
    from selective_labels.cli.views import predict_view
    from selective_labels.saving import load_model
    from selective_labels.saving.atomic import require_writable
    from selective_labels.tables.partitioned import partitions_of

    parts = partitions_of(data)
    if parts is None and out != STANDARD_OUTPUT:
        require_writable(out)
    saved, kept = load_model(model), keep or []
    used = {*saved.schema.names, *kept}
    if parts is not None:
        with working():
            found, n_there = write_partitions(parts, saved, model, Path(out), kept)
        if n_there:
            say("Resumed", f"{n_there} of {len(parts.paths)} files were there already.")
        ignored = [column for column in parts.columns if column not in used]
        show(predict_view(data, model, out, found, ignored), format)
        return
    # Ids stay as they are written, and so do categories.
    categories = [name for name, kind in saved.schema.kinds.items() if kind == "category"]
    frame = open_source(data, file).read([*kept, *categories])
    X = saved.schema.read(frame)
    predictions = prediction_table(saved, X, frame, kept)
    write_predictions(predictions, out)
    if out != STANDARD_OUTPUT:
        ignored = [column for column in frame.columns if column not in used]
        found = Predicted.of(predictions, saved.schema.unseen_categories(X))
        show(predict_view(data, model, out, found, ignored), format)


@command(f"selective-labels evaluate cases.csv {ROLES} --predictions score --metric accuracy --metric tpr")
def evaluate(
    context: typer.Context,
    data: Data,
    subject: SubjectOptions,
    table: TableOptions,
    file: FileOptions,
    cut: CutOptions,
    numbers: NumberOptions,
    fitting: FittingOptions,
    output: OutputOptions,
    assumption: Annotated[
        list[Assumption] | None,
        typer.Option(help="What to assume. Default: instrument. Repeatable.", rich_help_panel=MODEL),
    ] = None,
    assume: Assume = None,
    by: Annotated[str | None, typer.Option(help="Column of subgroups.", metavar="COLUMN")] = None,
) -> None:
    """How good is a model on everybody? Sharp bounds with confidence intervals, and what they assume."""
    from selective_labels.assumptions.written import Assumed
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.judging import judge
    from selective_labels.cli.output import show

    subject.require_one()
    asked = assumption or ([] if assume else [DEFAULT_ASSUMPTION])
    assumed = Assumed.read(assume, [each.value for each in asked])
    source = Source(context, data, file, table, output)
    show(judge(source, subject, (numbers, cut), fitting, assumed, by), output.format)


@command(f"selective-labels ladder cases.csv {ROLES} --predictions guess --assume informed:yes")
def ladder(
    context: typer.Context,
    data: Data,
    subject: SubjectOptions,
    table: TableOptions,
    file: FileOptions,
    numbers: NumberOptions,
    fitting: FittingOptions,
    output: OutputOptions,
    assume: Assume = None,
    assumption: Annotated[
        list[Assumption] | None,
        typer.Option(help="A last rung, which stands for itself. Repeatable.", rich_help_panel=MODEL),
    ] = None,
) -> None:
    """What does each assumption buy? One number from assuming nothing to all that you believe."""
    from selective_labels.assumptions.written import Assumed
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.judging import climb
    from selective_labels.cli.output import show

    subject.require_one()
    assumed = Assumed.read(assume, [each.value for each in assumption or ()])
    source = Source(context, data, file, table, output)
    show(climb(source, subject, numbers, fitting, assumed), output.format)


@command(f"selective-labels compare cases.csv {ROLES} --a new_model --b old_model")
def compare(
    context: typer.Context,
    data: Data,
    a: Annotated[str, typer.Option("--a", help="Column of predictions, model file, or class for everybody.")],
    b: Annotated[str, typer.Option("--b", help="The same, or human: the decisions taken.")],
    table: TableOptions,
    file: FileOptions,
    cut: CutOptions,
    numbers: NumberOptions,
    fitting: FittingOptions,
    output: OutputOptions,
    with_human: Annotated[
        str | None,
        typer.Option(
            help="Let --a decide together with the human: accept if both do, if either does, leave undecided "
            "cases to the human, or those that a column marks.",
            metavar="both|either|undecided|COLUMN",
            rich_help_panel=MODEL,
        ),
    ] = None,
    assumption: Annotated[
        Assumption | None,
        typer.Option(help="What to assume. Default: instrument.", rich_help_panel=MODEL),
    ] = None,
    assume: Assume = None,
) -> None:
    """Which of two is better on everybody? Bounds of the difference, and a verdict or "undecided"."""
    from selective_labels.assumptions.written import Assumed
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.judging import Contest, set_against
    from selective_labels.cli.output import show

    if assumption is not None and assume:
        raise InputError(
            "compare takes one assumption: --assume comes with the instrument, so leave --assumption out.",
            "assumption",
        )
    assumed = Assumed.read(assume, () if assume else [(assumption or DEFAULT_ASSUMPTION).value])
    source = Source(context, data, file, table, output)
    contest = Contest(a, b, with_human)
    show(set_against(source, contest, (numbers, cut), fitting, assumed), output.format)


@command(f"selective-labels report cases.csv {ROLES} --predictions score --by region --out report.html")
def report(
    context: typer.Context,
    data: Data,
    out: Annotated[
        Path,
        typer.Option(help="The page to write; .md for Markdown, .pdf if a browser is found.", metavar="FILE"),
    ],
    subject: SubjectOptions,
    table: TableOptions,
    file: FileOptions,
    fitting: FittingOptions,
    output: OutputOptions,
    shown: PageOptions,
) -> None:
    """One page that explains itself: what the data can tell, how good the model is, who is affected."""
    from selective_labels.assumptions.written import Assumed
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show
    from selective_labels.cli.reporting import Page, write_report
    from selective_labels.tables.databases import without_password

    subject.require_one(at_least=0)
    arguments = [without_password(each) for each in context.meta["arguments"]]
    typed = shlex.join(["selective-labels", "report", *arguments])
    advise(f"Nothing was written to {out}; the same command goes on with the unfinished sections.")
    page = Page(out, typed, shown, Assumed.read(shown.assume))
    show(write_report(Source(context, data, file, table, output), subject, fitting, page), output.format)


for _function, _example in COMMANDS:
    command(_example)(_function)
