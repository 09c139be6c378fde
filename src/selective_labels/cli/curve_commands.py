"""Commands about one number along a line, and about what would settle it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from selective_labels.cli.options import (
    DEFAULT_ASSUMPTION,
    MODEL,
    Assume,
    Assumption,
    Cluster,
    Cost,
    CutOptions,
    Data,
    Every,
    FileOptions,
    FittingOptions,
    OutputOptions,
    PosLabel,
    SubjectOptions,
    TableOptions,
)

ROLES = "--label failed --decision released --decision-maker officer"


class Over(StrEnum):
    """What a sensitivity curve runs over."""

    ODDS = "odds"
    GAMMA = "gamma"
    RATIO = "ratio"
    SHARE = "share"
    KAPPA = "kappa"
    RHO = "rho"
    PREVALENCE = "prevalence"


class Rule(StrEnum):
    """Who accepts: the score, both human and score, or either."""

    SCORE = "score"
    BOTH = "both"
    EITHER = "either"


Level = Annotated[float, typer.Option(help="Of intervals.", rich_help_panel=MODEL)]
Units = Annotated[
    Cluster | None, typer.Option(help="What standard errors take as units.", rich_help_panel=MODEL)
]


@dataclass(frozen=True)
class CurveOptions:
    """Which curve, and what is to be concluded from it."""

    over: Annotated[
        Over,
        typer.Option(
            help="odds: the refused have x times the odds of the event; ratio, share: x times as often, or "
            "the share x; gamma: every class at most x times more or less frequent; kappa, rho: away from "
            "NUCEM; prevalence: of all cases, the share x.",
            rich_help_panel=MODEL,
        ),
    ] = Over.ODDS
    values: Annotated[
        str | None, typer.Option(help="Numbers with commas between, such as 0.5,1,2.", rich_help_panel=MODEL)
    ] = None
    against: Annotated[
        float | None,
        typer.Option(
            help="A value of the metric: where does 'above' or 'below' flip?", rich_help_panel=MODEL
        ),
    ] = None
    compare_to: Annotated[
        str | None,
        typer.Option(
            help="Column of predictions or class: the curve is of the difference.", metavar="COLUMN"
        ),
    ] = None
    metric: Annotated[
        str, typer.Option(help="accuracy, tpr, share ...", metavar="NAME", rich_help_panel=MODEL)
    ] = "accuracy"
    pos_label: PosLabel = None
    confidence_level: Level = 0.95
    cluster: Units = None


@dataclass(frozen=True)
class PolicyOptions:
    """Which policies, and what they cost."""

    rates: Annotated[
        str | None, typer.Option(help="Shares accepted, such as 0.3,0.5,0.7.", rich_help_panel=MODEL)
    ] = None
    rule: Annotated[
        Rule,
        typer.Option(help="Accepted by the score, by human and score, by either.", rich_help_panel=MODEL),
    ] = Rule.SCORE
    cost: Cost = None
    pos_label: PosLabel = None
    confidence_level: Level = 0.95
    cluster: Units = None


@dataclass(frozen=True)
class DriftOptions:
    """What is followed, and over which periods."""

    period: Annotated[str, typer.Option(help="Column of dates, or of periods.", metavar="COLUMN")]
    every: Annotated[
        Every | None, typer.Option(help="Cut dates into months, quarters or years; without: as they are.")
    ] = None
    metric: Annotated[
        str, typer.Option(help="accuracy, tpr, share ...", metavar="NAME", rich_help_panel=MODEL)
    ] = "accuracy"
    pos_label: PosLabel = None
    assumption: Annotated[Assumption, typer.Option(help="What to assume.", rich_help_panel=MODEL)] = (
        DEFAULT_ASSUMPTION
    )
    confidence_level: Level = 0.95


@dataclass(frozen=True)
class PlanOptions:
    """What could be done, and what is wanted."""

    against: Annotated[
        str | None,
        typer.Option(help="Column, class or human: plan for the comparison with it.", metavar="COLUMN"),
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
    cases: Annotated[float, typer.Option(help="How many times as many cases.", min=1.0)] = 2.0
    decision_makers: Annotated[float, typer.Option(help="How many times as many people.", min=1.0)] = 2.0
    leniency: Annotated[
        float | None, typer.Option(help="Acceptance rate of a more lenient one.", min=0.0, max=1.0)
    ] = None
    lottery: Annotated[int | None, typer.Option(help="Refused cases to accept at random.", min=1)] = None
    width: Annotated[float | None, typer.Option(help="Wanted width of the interval.", min=0.0)] = None
    power: Annotated[float, typer.Option(help="Wanted probability of a verdict.", min=0.0, max=1.0)] = 0.8
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
    """How wrong may an assumption be? One number along one knob, and where the conclusion flips."""
    from selective_labels.cli.along import draw_sensitivity
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show

    subject.require_one(at_least=0 if curve.metric == "share" else 1)
    source = Source(context, data, file, table, output)
    show(draw_sensitivity(source, subject, curve, fitting), output.format)


def policy(
    context: typer.Context,
    data: Data,
    subject: SubjectOptions,
    stakes: PolicyOptions,
    table: TableOptions,
    file: FileOptions,
    fitting: FittingOptions,
    output: OutputOptions,
    assumption: Annotated[
        Assumption, typer.Option(help="What to assume.", rich_help_panel=MODEL)
    ] = DEFAULT_ASSUMPTION,
    assume: Assume = None,
) -> None:
    """What if we accepted more, or others? Failures and costs at every share accepted, beside the human."""
    from selective_labels.assumptions.written import Assumed
    from selective_labels.cli.along import draw_policies
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show

    subject.require_one()
    source = Source(context, data, file, table, output)
    assumed = Assumed.read(assume, () if assume else [assumption.value])
    show(draw_policies(source, subject, stakes, fitting, assumed), output.format)


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
    """What would settle it? The width of the interval with more cases, other people, or a lottery."""
    from selective_labels.cli.along import make_plan
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show

    subject.require_one(at_least=1 if wanted.against is not None else 0)
    source = Source(context, data, file, table, output)
    show(make_plan(source, subject, (wanted, cut), fitting), output.format)


def drift(
    context: typer.Context,
    data: Data,
    subject: SubjectOptions,
    followed: DriftOptions,
    table: TableOptions,
    file: FileOptions,
    fitting: FittingOptions,
    output: OutputOptions,
) -> None:
    """What has changed over time? Acceptance, labels and sharp bounds, period by period."""
    from selective_labels.cli.along import follow
    from selective_labels.cli.inputs import Source
    from selective_labels.cli.output import show

    subject.require_one()
    source = Source(context, data, file, table, output)
    show(follow(source, subject, followed, fitting), output.format)


COMMANDS: tuple[tuple[Any, str], ...] = (
    (sensitivity, f"selective-labels sensitivity cases.csv {ROLES} --predictions guess --against 0.6"),
    (policy, f"selective-labels policy cases.csv {ROLES} --predictions score --cost '[[0,1],[5,0]]'"),
    (drift, f"selective-labels drift cases.csv {ROLES} --predictions guess --period day --every quarter"),
    (plan, f"selective-labels plan cases.csv {ROLES} --predictions guess --width 0.1"),
)
