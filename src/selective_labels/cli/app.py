"""The commands and their options: each reads its options, calls the library and shows the result."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from selective_labels._errors import InputError
from selective_labels.cli.console import guarded, say, working
from selective_labels.cli.decider_commands import decider_commands
from selective_labels.cli.main import advise
from selective_labels.cli.options import (
    DEFAULT_ASSUMPTION,
    MODEL,
    Assume,
    Assumption,
    Cluster,
    ConfigurableCommand,
    CostOptions,
    CutOptions,
    Data,
    Estimator,
    Every,
    FileOptions,
    FittingOptions,
    Format,
    Mode,
    MoneyOptions,
    Names,
    NumberOptions,
    OutputOptions,
    PageOptions,
    PosLabel,
    SeveralAssumptions,
    SubjectOptions,
    TableOptions,
    with_all,
    with_groups,
)

ROLES = "--label failed --decision released --decision-maker officer"


# Exit status of `check` where the data refute the instrument.
CONTRADICTED = 3


# The mildest verdict on the instrument at which `check` fails.
FailOn = StrEnum("FailOn", ("DOUBTFUL", "REFUTED", "NEVER"))
FAILING: dict[FailOn, tuple[str, ...]] = {
    FailOn.DOUBTFUL: ("doubtful", "refuted"),
    FailOn.REFUTED: ("refuted",),
    FailOn.NEVER: (),
}


# Parameter that a sensitivity curve varies.
Over = StrEnum("Over", ("ODDS", "GAMMA", "RATIO", "SHARE", "KAPPA", "RHO", "PREVALENCE", "SKILL_RANGE"))
# Who must accept a case: the score, both human and score, or either.
Rule = StrEnum("Rule", ("SCORE", "BOTH", "EITHER"))
Level = Annotated[float, typer.Option(help="Level of confidence intervals.", rich_help_panel=MODEL)]
Units = Annotated[
    Cluster | None, typer.Option(help="Unit of clustering for standard errors.", rich_help_panel=MODEL)
]


@dataclass(frozen=True)
class CurveOptions(CostOptions):
    """Parameter, metric and threshold of a sensitivity curve."""

    over: Annotated[
        Over,
        typer.Option(
            help="odds: refused cases have x times the odds of the event; ratio, share: x times as often, or "
            "the share x; gamma: every class at most x times more or less frequent; kappa, rho: distance "
            "from NUCEM; prevalence: the share x of all cases; skill_range: how much strict and lenient "
            "decision-makers may differ in sorting cases, under the tilt.",
            rich_help_panel=MODEL,
        ),
    ] = Over.ODDS
    values: Annotated[
        str | None, typer.Option(help="Values, separated by commas, such as 0.5,1,2.", rich_help_panel=MODEL)
    ] = None
    against: Annotated[
        float | None,
        typer.Option(
            help="Value of the metric: shows where the conclusion (above or below it) changes.",
            rich_help_panel=MODEL,
        ),
    ] = None
    compare_to: Annotated[
        str | None,
        typer.Option(
            help="Column of predictions, or class: the curve shows the difference from it.", metavar="COLUMN"
        ),
    ] = None
    metric: Annotated[
        str | None,
        typer.Option(
            help="accuracy, tpr, share ... Default: accuracy; with costs, cost.",
            metavar="NAME",
            rich_help_panel=MODEL,
        ),
    ] = None
    pos_label: PosLabel = None
    confidence_level: Level = 0.95
    cluster: Units = None


@dataclass(frozen=True)
class PolicyOptions(MoneyOptions):
    """Policies to evaluate and their costs."""

    rates: Annotated[
        str | None, typer.Option(help="Shares accepted, such as 0.3,0.5,0.7.", rich_help_panel=MODEL)
    ] = None
    rule: Annotated[
        Rule,
        typer.Option(help="Who accepts: the score, human and score both, or either.", rich_help_panel=MODEL),
    ] = Rule.SCORE
    pos_label: PosLabel = None
    confidence_level: Level = 0.95
    cluster: Units = None
    simultaneous: Annotated[
        bool,
        typer.Option(
            "--simultaneous", help="Intervals that hold at all shares at once.", rich_help_panel=MODEL
        ),
    ] = False


@dataclass(frozen=True)
class DriftOptions:
    """Metric and periods of a drift analysis."""

    period: Annotated[str, typer.Option(help="Column of dates or periods.", metavar="COLUMN")]
    every: Annotated[
        Every | None,
        typer.Option(help="Group dates by month, quarter or year. Default: use the values as they are."),
    ] = None
    metric: Annotated[
        str, typer.Option(help="accuracy, tpr, share ...", metavar="NAME", rich_help_panel=MODEL)
    ] = "accuracy"
    pos_label: PosLabel = None
    assumption: Annotated[Assumption, typer.Option(help="Assumption.", rich_help_panel=MODEL)] = (
        DEFAULT_ASSUMPTION
    )
    confidence_level: Level = 0.95


@dataclass(frozen=True)
class PlanOptions:
    """Possible designs, and the width or power that is wanted."""

    against: Annotated[
        str | None,
        typer.Option(help="Column, class or human: plan the comparison with it.", metavar="COLUMN"),
    ] = None
    metric: Annotated[
        str | None,
        typer.Option(
            help="accuracy, tpr, share ..., or of accepted cases failures, cost ... Default: accuracy; of "
            "scores with --cost, cost.",
            metavar="NAME",
            rich_help_panel=MODEL,
        ),
    ] = None
    pos_label: PosLabel = None
    cases: Annotated[float, typer.Option(help="Multiple of the number of cases.", min=1.0)] = 2.0
    decision_makers: Annotated[
        float, typer.Option(help="Multiple of the number of decision-makers.", min=1.0)
    ] = 2.0
    leniency: Annotated[
        float | None, typer.Option(help="Acceptance rate of a more lenient decision-maker.", min=0.0, max=1.0)
    ] = None
    lottery: Annotated[
        int | None, typer.Option(help="Number of refused cases to accept at random.", min=1)
    ] = None
    width: Annotated[float | None, typer.Option(help="Desired width of the interval.", min=0.0)] = None
    power: Annotated[float, typer.Option(help="Desired probability of a verdict.", min=0.0, max=1.0)] = 0.8
    confidence_level: Level = 0.95


def sensitivity(
    context: typer.Context,
    data: Data,
    subject: SubjectOptions,
    curve: CurveOptions,
    table: TableOptions,
    file: FileOptions,
    fitting: FittingOptions,
    output: OutputOptions,
) -> None:
    """How wrong may an assumption be? Shows one metric as it weakens, and where the conclusion changes."""
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show
    from selective_labels.cli.run_evaluation import draw_sensitivity

    subject.require_one(at_least=0 if curve.metric == "share" else 1)
    source = Source(context, data, file, table, output)
    show(draw_sensitivity(source, subject, curve, fitting), output.format, output.verbose)


def policy(
    context: typer.Context,
    data: Data,
    subject: SubjectOptions,
    policy_measures: PolicyOptions,
    table: TableOptions,
    file: FileOptions,
    fitting: FittingOptions,
    output: OutputOptions,
    assumption: Annotated[
        Assumption, typer.Option(help="Assumption.", rich_help_panel=MODEL)
    ] = DEFAULT_ASSUMPTION,
    assume: Assume = None,
) -> None:
    """What if we accepted more, or others? Bounds failures and costs at every acceptance rate."""
    from selective_labels.assumptions.parse import Assumed
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show
    from selective_labels.cli.run_evaluation import draw_policies

    subject.require_one()
    source = Source(context, data, file, table, output)
    assumed = Assumed.read(assume, () if assume else [assumption.value])
    show(draw_policies(source, subject, policy_measures, fitting, assumed), output.format, output.verbose)


def plan(
    context: typer.Context,
    data: Data,
    subject: SubjectOptions,
    wanted: PlanOptions,
    table: TableOptions,
    file: FileOptions,
    cut: CutOptions,
    fitting: FittingOptions,
    output: OutputOptions,
) -> None:
    """What would settle it? Predicts the interval with more cases, more decision-makers, or a lottery."""
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show
    from selective_labels.cli.run_evaluation import make_plan

    subject.require_one(at_least=1 if wanted.against is not None else 0)
    source = Source(context, data, file, table, output)
    show(make_plan(source, subject, (wanted, cut), fitting), output.format, output.verbose)


def drift(
    context: typer.Context,
    data: Data,
    subject: SubjectOptions,
    options: DriftOptions,
    table: TableOptions,
    file: FileOptions,
    fitting: FittingOptions,
    output: OutputOptions,
) -> None:
    """What has changed over time? Shows acceptance, labels and sharp bounds by period."""
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show
    from selective_labels.cli.run_evaluation import follow

    subject.require_one()
    source = Source(context, data, file, table, output)
    show(follow(source, subject, options, fitting), output.format, output.verbose)


COMMANDS: tuple[tuple[Any, str], ...] = (
    (sensitivity, f"selective-labels sensitivity cases.csv {ROLES} --predictions guess --against 0.6"),
    (policy, f"selective-labels policy cases.csv {ROLES} --predictions score --cost '[[0,1],[5,0]]'"),
    (drift, f"selective-labels drift cases.csv {ROLES} --predictions guess --period day --every quarter"),
    (plan, f"selective-labels plan cases.csv {ROLES} --predictions guess --width 0.1"),
    *decider_commands(ROLES),
)


app = typer.Typer(
    name="selective-labels",
    help="Learn and evaluate classifiers when labels exist only where a decision was yes.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Start with: selective-labels demo",
)


def command(example: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command with option groups, --config, one-line errors and an example."""

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
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
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
    """Tour on made-up loans whose truth is known, with a report page."""
    from selective_labels import demo
    from selective_labels.io.files import require_writable

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
    fail_on: Annotated[
        FailOn,
        typer.Option(
            help="Exit with status 3 where the instrument is refuted, where it is doubtful or refuted, or "
            "never.",
        ),
    ] = FailOn.REFUTED,
) -> None:
    """Can this data answer the question? Runs checks, and says which assumptions may be used.

    The exit status is 3 where the data refute that who decided can be used (see --fail-on), else 0.
    """
    from selective_labels.assumptions.parse import Assumed
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import check_view, show
    from selective_labels.cli.verdicts import instrument_verdict
    from selective_labels.diagnostics.diagnose import diagnose

    assumed = Assumed.read(assume)
    loaded = Source(context, data, file, table, output).load()
    prepared = loaded.prepared
    together = assumed.listed(prepared.data.classes)
    with working():
        diagnosis = diagnose(prepared.data, assumptions=together, **fitting.keywords)
    view = check_view(loaded, diagnosis)
    show(view, output.format, output.verbose)
    if instrument_verdict(view.document["verdict"])["verdict"] in FAILING[fail_on]:
        raise typer.Exit(CONTRADICTED)


@command(f"selective-labels fit cases.csv {ROLES} --model model.skops")
def fit(
    context: typer.Context,
    data: Data,
    model: Annotated[Path, typer.Option(help="File for the model.", metavar="FILE")],
    table: TableOptions,
    file: FileOptions,
    fitting: FittingOptions,
    output: OutputOptions,
    costs: CostOptions,
    mode: Annotated[
        Mode,
        typer.Option(
            help="partial: only the instrument; point: also NUCEM; auto: the labeled rows, unless the "
            "instrument or a direction says more.",
            rich_help_panel=MODEL,
        ),
    ] = Mode.PARTIAL,
    estimator: Annotated[
        Estimator, typer.Option(help="Learner.", rich_help_panel=MODEL)
    ] = Estimator.BOOSTING,
    refused_have: Annotated[
        str | None,
        typer.Option(
            help="With --mode auto: the class that refused cases have more often than accepted ones with the "
            'same features, or "don\'t know".',
            rich_help_panel=MODEL,
            metavar="CLASS",
        ),
    ] = None,
    assume: Assume = None,
    card: Annotated[
        Path | None, typer.Option(help="Also write a model card (Markdown).", metavar="FILE")
    ] = None,
) -> None:
    """Train a classifier for all cases, robust to what the data cannot tell, and save it."""
    from selective_labels.assumptions.parse import Assumed
    from selective_labels.cli.direction import with_direction
    from selective_labels.cli.inputs import Source, costs_of, read_costs
    from selective_labels.cli.output import fit_view, show
    from selective_labels.estimators.ucl import UCLClassifier
    from selective_labels.io.files import require_writable, write_whole
    from selective_labels.io.model_file import describe, save_model
    from selective_labels.nuisance.cross_fit import FittingSettings
    from selective_labels.report.model_card import model_card

    require_writable(model)
    if card is not None:
        require_writable(card)
    assumed = Assumed.read(assume)
    assumed.require_learnable(mode.value)
    given = read_costs(costs)
    settings = FittingSettings.read(**fitting.keywords)
    source = Source(context, data, file, table, output)
    loaded = source.load(fitting=settings)
    prepared = loaded.prepared
    learner = None if estimator == Estimator.BOOSTING else estimator.value
    matrix = costs_of(given, loaded, None)
    together = assumed.together(prepared.data.classes)
    if mode == Mode.AUTO:
        loaded, together = with_direction(source, loaded, refused_have)
    elif refused_have is not None:
        raise InputError("--refused-have goes with --mode auto; other modes take --assume.", "assumption")
    classifier = UCLClassifier(mode.value, learner, cost=matrix, assumption=together, **fitting.keywords)
    with working():
        classifier.fit(prepared.data)
    options = {"mode": mode.value, "estimator": estimator.value, **fitting.keywords}
    if assume:
        options["assume"] = list(assume)
    if matrix is not None:
        options["cost"] = matrix.tolist()
    roles = prepared.roles.to_dict()
    schema = describe(prepared.X, prepared.kinds, classifier.classes_, prepared.recognised_by, roles, options)
    save_model(classifier, model, schema=schema)
    if card is not None:
        write_whole(card, model_card(classifier, prepared.data, title=f"Model card: {model.name}"))
    show(fit_view(loaded, classifier, model), output.format, output.verbose)


@command("selective-labels predict --model model.skops new.csv --out predictions.csv --keep case_id")
def predict(
    context: typer.Context,
    files: Annotated[
        list[str],
        typer.Argument(
            help="The table, as for the other commands. A model file may come before it instead of --model.",
            metavar="DATA",
        ),
    ],
    file: FileOptions,
    out: Annotated[
        str,
        typer.Option(
            help="CSV (.csv, .csv.gz) to write; - for standard output; a folder if DATA is in partitions; "
            "a new table if it is in a database."
        ),
    ],
    model: Annotated[Path | None, typer.Option(help="Model file written by fit.", metavar="FILE")] = None,
    keep: Annotated[
        Names, typer.Option(help="Column to copy to the output, such as an id. Repeatable.")
    ] = None,
    format: Annotated[Format, typer.Option(help="Format of the summary.")] = Format.TABLE,
) -> None:
    """Predict every row of a table: class, bounds of class probabilities, and whether it is decided."""
    from selective_labels._errors import TableError
    from selective_labels.cli.inputs import open_source
    from selective_labels.cli.output import predict_view, show
    from selective_labels.cli.run_predict import (
        STANDARD_OUTPUT,
        Predicted,
        prediction_table,
        write_partitions,
        write_predictions,
        write_relation,
    )
    from selective_labels.io.engine_tables import names_relation, relation_at
    from selective_labels.io.files import require_writable
    from selective_labels.io.model_file import load_model
    from selective_labels.io.read import without_password
    from selective_labels.io.table_roles import partitions_of

    model, data = _model_and_table(model, files)
    if names_relation(data):
        if not keep:
            raise TableError("--keep is missing: name the column that identifies a case first.")
        relation, saved = relation_at(data, keep[0], writable=True), load_model(model)
        with working():
            found = write_relation(relation, saved, out, keep)
        used = {*saved.schema.names, *keep}
        ignored = [column for column in relation.columns if column not in used]
        show(predict_view(without_password(data), model, out, found, ignored), format)
        return
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
    # Ids and categories are read as text, so that they keep their spelling.
    categories = [name for name, kind in saved.schema.kinds.items() if kind == "category"]
    frame = open_source(data, file).read([*kept, *categories])
    X = saved.schema.read(frame)
    predictions = prediction_table(saved, X, frame, kept)
    write_predictions(predictions, out)
    if out != STANDARD_OUTPUT:
        ignored = [column for column in frame.columns if column not in used]
        found = Predicted.of(predictions, saved.schema.unseen_categories(X))
        show(predict_view(data, model, out, found, ignored), format)


def _model_and_table(model: Path | None, files: list[str]) -> tuple[Path, str]:
    """The model of --model, or the first of two arguments, and the table."""
    if model is None and len(files) == 2:
        return Path(files[0]), files[1]
    if model is None:
        raise InputError("Give the model: selective-labels predict --model FILE DATA.", "model")
    if len(files) != 1:
        raise InputError(f"Give one table beside --model, not {len(files)}.", "data")
    return model, files[0]


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
        list[SeveralAssumptions] | None,
        typer.Option(help="Assumption. Default: instrument. Repeatable.", rich_help_panel=MODEL),
    ] = None,
    assume: Assume = None,
    by: Annotated[str | None, typer.Option(help="Column of subgroups.", metavar="COLUMN")] = None,
) -> None:
    """How good is a model on all cases? Gives sharp bounds, confidence intervals and their assumption."""
    from selective_labels.assumptions.parse import Assumed
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show
    from selective_labels.cli.run_evaluation import judge

    subject.require_one()
    request = with_all(assumption) or ([] if assume else [DEFAULT_ASSUMPTION.value])
    assumed = Assumed.read(assume, request)
    source = Source(context, data, file, table, output)
    show(judge(source, subject, (numbers, cut), fitting, assumed, by), output.format, output.verbose)


@command(f"selective-labels ladder cases.csv {ROLES} --predictions guess --assume informed:yes")
def ladder(
    context: typer.Context,
    data: Data,
    subject: SubjectOptions,
    table: TableOptions,
    file: FileOptions,
    cut: CutOptions,
    numbers: NumberOptions,
    fitting: FittingOptions,
    output: OutputOptions,
    assume: Assume = None,
    assumption: Annotated[
        list[SeveralAssumptions] | None,
        typer.Option(help="Assumption shown at the end, by itself. Repeatable.", rich_help_panel=MODEL),
    ] = None,
) -> None:
    """What does each assumption buy? Shows one metric under increasingly strong assumptions."""
    from selective_labels.assumptions.parse import Assumed
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show
    from selective_labels.cli.run_evaluation import climb

    subject.require_one()
    assumed = Assumed.read(assume, with_all(assumption))
    source = Source(context, data, file, table, output)
    show(climb(source, subject, (numbers, cut), fitting, assumed), output.format, output.verbose)


@command(f"selective-labels compare cases.csv {ROLES} --a new_model --b old_model")
def compare(
    context: typer.Context,
    data: Data,
    a: Annotated[
        str,
        typer.Option("--a", help="Column of predictions, model file, or a class predicted for every case."),
    ],
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
        typer.Option(help="Assumption. Default: instrument.", rich_help_panel=MODEL),
    ] = None,
    assume: Assume = None,
) -> None:
    """Which of two is better on all cases? Bounds the difference, with a verdict or "undecided"."""
    from selective_labels.assumptions.parse import Assumed
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show
    from selective_labels.cli.run_evaluation import MetricDifference, set_against

    if assumption is not None and assume:
        raise InputError(
            "compare takes one assumption: --assume comes with the instrument, so leave --assumption out.",
            "assumption",
        )
    assumed = Assumed.read(assume, () if assume else [(assumption or DEFAULT_ASSUMPTION).value])
    source = Source(context, data, file, table, output)
    contest = MetricDifference(a, b, with_human)
    show(set_against(source, contest, (numbers, cut), fitting, assumed), output.format, output.verbose)


@command(f"selective-labels report cases.csv {ROLES} --predictions score --by region --out report.html")
def report(
    context: typer.Context,
    data: Data,
    out: Annotated[
        Path,
        typer.Option(
            help="Report to write: .html, .md, or .pdf (needs Chromium, Chrome or Edge).", metavar="FILE"
        ),
    ],
    subject: SubjectOptions,
    table: TableOptions,
    file: FileOptions,
    fitting: FittingOptions,
    output: OutputOptions,
    shown: PageOptions,
) -> None:
    """Write one page: what the data can tell, how good the model is, and who is affected."""
    from selective_labels.assumptions.parse import Assumed
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show
    from selective_labels.cli.run_report import Page, write_report
    from selective_labels.io.read import without_password

    subject.require_one(at_least=0)
    arguments = [without_password(each) for each in context.meta["arguments"]]
    typed = shlex.join(["selective-labels", "report", *arguments])
    advise(f"Nothing was written to {out}; the same command goes on with the unfinished sections.")
    page = Page(out, typed, shown, Assumed.read(shown.assume))
    show(
        write_report(Source(context, data, file, table, output), subject, fitting, page),
        output.format,
        output.verbose,
    )


for _function, _example in COMMANDS:
    command(_example)(_function)
