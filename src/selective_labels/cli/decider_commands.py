"""Commands about people who decide: advice, deciders and disparity."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from selective_labels.cli.options import (
    DEFAULT_ASSUMPTION,
    MODEL,
    Assume,
    Assumption,
    Cluster,
    CostOptions,
    Data,
    FileOptions,
    FittingOptions,
    High,
    OutputOptions,
    PosLabel,
    TableOptions,
)

Score = Annotated[
    str | None, typer.Option(help="Column of a score; high values predict the event.", metavar="COLUMN")
]
Groups = Annotated[str, typer.Option(help="Column of subgroups.", metavar="COLUMN")]


@dataclass(frozen=True)
class InferenceOptions:
    """The event, the assumption and the intervals."""

    pos_label: PosLabel = None
    assumption: Annotated[Assumption, typer.Option(help="Assumption.", rich_help_panel=MODEL)] = (
        DEFAULT_ASSUMPTION
    )
    assume: Assume = None
    confidence_level: Annotated[
        float, typer.Option(help="Level of confidence intervals.", rich_help_panel=MODEL)
    ] = 0.95
    cluster: Annotated[
        Cluster | None, typer.Option(help="Unit of clustering for standard errors.", rich_help_panel=MODEL)
    ] = None


@dataclass(frozen=True)
class AdviceOptions(CostOptions):
    """What a high advice means, subgroups and costs."""

    high: Annotated[
        High | None, typer.Option(help="Meaning of high values, if the advice has more than two values.")
    ] = None
    by: Annotated[str | None, typer.Option(help="Column of subgroups.", metavar="COLUMN")] = None


def advice(
    context: typer.Context,
    data: Data,
    advice: Annotated[str, typer.Option(help="Column of the advice: 1 is a yes.", metavar="COLUMN")],
    shown: Annotated[
        str, typer.Option(help="Column that is 1 where people saw the advice.", metavar="COLUMN")
    ],
    options: AdviceOptions,
    inference: InferenceOptions,
    table: TableOptions,
    file: FileOptions,
    fitting: FittingOptions,
    output: OutputOptions,
) -> None:
    """Did showing the score help? Compares people with it, people without it, and the score alone."""
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show
    from selective_labels.cli.run_deciders import weigh_advice

    source = Source(context, data, file, table, output)
    show(weigh_advice(source, (advice, shown), options, inference, fitting), output.format)


def deciders(
    context: typer.Context,
    data: Data,
    inference: InferenceOptions,
    table: TableOptions,
    file: FileOptions,
    fitting: FittingOptions,
    output: OutputOptions,
    score: Score = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Numbers in random order instead of names.")
    ] = False,
) -> None:
    """Who decides well? Compares decision-makers on comparable cases, with intervals and ranks."""
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show
    from selective_labels.cli.run_deciders import compare_deciders

    source = Source(context, data, file, table, output)
    show(compare_deciders(source, score, anonymous, inference, fitting), output.format)


def disparity(
    context: typer.Context,
    data: Data,
    by: Groups,
    inference: InferenceOptions,
    table: TableOptions,
    file: FileOptions,
    fitting: FittingOptions,
    output: OutputOptions,
    score: Score = None,
    reference: Annotated[
        str | None, typer.Option(help="Subgroup with which others are compared. Default: the largest.")
    ] = None,
) -> None:
    """Are groups treated alike, given the outcome? Gives sharp bounds on the gaps, and other measures."""
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show
    from selective_labels.cli.run_deciders import compare_groups

    source = Source(context, data, file, table, output)
    show(compare_groups(source, (by, reference), score, inference, fitting), output.format)


def decider_commands(roles: str) -> tuple[tuple[Any, str], ...]:
    """The commands, each with an example that names these roles."""
    start = "selective-labels"
    return (
        (advice, f"{start} advice cases.csv {roles} --advice recommendation --shown shown"),
        (deciders, f"{start} deciders cases.csv {roles} --score score --anonymous"),
        (disparity, f"{start} disparity cases.csv {roles} --by region --score score"),
    )
