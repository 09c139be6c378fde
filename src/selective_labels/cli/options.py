"""Option groups that commands share, and configuration files."""

import functools
import inspect
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from selective_labels._errors import InputError
from selective_labels._validation import read_file
from selective_labels._vocabulary import AT_RANDOM, WORST_CASE
from selective_labels.assumptions.parse import names

ROLE, FEATURE, FILE, MODEL = "Roles of columns", "Features", "Reading the table", "Models and numbers"


# What a yes means.
Means = StrEnum("Means", ("ACCEPT", "INSPECT"))
# Output format of results.
Format = StrEnum("Format", ("TABLE", "JSON", "CSV"))
# Models of decision and label; "auto" selects one on held-out cases.
Nuisance = StrEnum("Nuisance", ("AUTO", "LOGISTIC", "QUADRATIC", "INDEX", "BOOSTING"))
# Learners of the final rule.
Estimator = StrEnum(
    "Estimator", {"BOOSTING": "boosting", "LINEAR": "linear", "PLUG_IN": "plug-in", "NEURAL": "neural"}
)
# Assumption of the classifier: the instrument alone, with NUCEM, or as far as something is known.
Mode = StrEnum("Mode", ("PARTIAL", "POINT", "AUTO"))
# Independent units of the standard errors.
Cluster = StrEnum("Cluster", ("GROUPS", "DECISION_MAKER", "NONE"))
# What is assumed of outcomes that are not known yet.
Pending = StrEnum("Pending", {"AT_RANDOM": AT_RANDOM, "WORST_CASE": WORST_CASE})
# Target that a confidence interval covers.
Interval = StrEnum("Interval", ("PARAMETER", "SET"))
# Source of the assignment probabilities.
Propensity = StrEnum("Propensity", ("AUTO", "SHARES", "MODEL"))
ALL = "all"


def assumption_choices(*besides: str) -> type[StrEnum]:
    """Choices of --assumption: all named assumptions, and other words.

    Examples
    --------
    >>> [each.value for each in assumption_choices("all")]
    ['none', 'instrument', 'nucem', 'unconfounded', 'all']
    """
    members = {name.upper(): name for name in (*names(), *besides)}
    return StrEnum("Assumption", members)  # type: ignore[return-value]


if TYPE_CHECKING:

    class Assumption(StrEnum):
        """Assumption about cases whose label is not observed."""

    class SeveralAssumptions(StrEnum):
        """The same, or "all" of them."""
else:
    Assumption = assumption_choices()
    SeveralAssumptions = assumption_choices(ALL)
DEFAULT_ASSUMPTION = Assumption("instrument")


def with_all(chosen: Sequence[StrEnum] | None) -> list[str]:
    """Names of the chosen assumptions, with all of them in place of "all".

    Examples
    --------
    >>> with_all([SeveralAssumptions("all"), SeveralAssumptions("none")])
    ['none', 'instrument', 'nucem', 'unconfounded']
    """
    found = [each for one in chosen or () for each in (names() if one == ALL else [one.value])]
    return list(dict.fromkeys(found))


def _option(words: str, panel: str | None = None, spelled: tuple[str, ...] = (), **settings: Any) -> Any:
    return typer.Option(*spelled, help=words, rich_help_panel=panel, show_default=False, **settings)


Data = Annotated[
    str,
    typer.Argument(
        help="CSV, CSV.gz, Parquet, Excel, SQLite or DuckDB; an address of SQLAlchemy; a folder with one "
        "table; - for stdin.",
        metavar="DATA",
    ),
]
Names = list[str] | None
PosLabel = Annotated[
    str | None,
    _option(
        "The event: class of tpr, fpr, ppv, share and auc. Default: the last class.",
        MODEL,
        spelled=("--pos-label", "--event"),
        metavar="CLASS",
    ),
]
Assume = Annotated[
    Names,
    _option(
        "What you know besides the instrument, such as informed:yes, refused:yes=..3 or "
        "prevalence:yes=0.1..0.2. Repeatable; all of them are combined.",
        MODEL,
        metavar="KIND:CLASS",
    ),
]

Cost = Annotated[
    str | None,
    _option(
        "Cost matrix as JSON: one row per true class, one column per predicted class, both sorted, "
        "such as '[[0,1],[5,0]]'.",
        MODEL,
        metavar="JSON",
    ),
]


@dataclass(frozen=True)
class FileOptions:
    """How to read a table."""

    separator: Annotated[str | None, _option("Separator of CSV: ';', tab ... Default: comma.", FILE)] = None
    encoding: Annotated[str, _option("Encoding of CSV, such as latin-1. Default: utf-8.", FILE)] = "utf-8"
    missing: Annotated[Names, _option("Text that means missing. Repeatable.", FILE, metavar="TEXT")] = None
    sheet: Annotated[str | None, _option("Sheet of an Excel file.", FILE, metavar="NAME")] = None
    sql: Annotated[str | None, _option("Query for a database.", FILE, metavar="QUERY")] = None


@dataclass(frozen=True)
class TableOptions:
    """Roles of columns, and the choice of features."""

    label: Annotated[
        str | None, _option("Outcome column (missing where the decision was no).", ROLE, metavar="COLUMN")
    ] = None
    decision: Annotated[
        str | None,
        _option(
            "Decision column: 1, yes, approved ... reveal the label; 0, no ... do not.",
            ROLE,
            metavar="COLUMN",
        ),
    ] = None
    accepted: Annotated[
        Names,
        _option("Value of the decision that reveals the label. Repeatable.", ROLE, metavar="VALUE"),
    ] = None
    classes: Annotated[
        Names,
        _option(
            "Value of the label that looks missing (unknown, ?) but is a class. Repeatable.",
            ROLE,
            spelled=("--class",),
            metavar="VALUE",
        ),
    ] = None
    decision_maker: Annotated[
        str | None, _option("Column of the decision-maker.", ROLE, metavar="COLUMN")
    ] = None
    decision_means: Annotated[
        Means | None,
        _option(
            "Meaning of a yes. accept: the case goes through, and the event is a harm. inspect: somebody "
            "looks closer, and looks for the event. Default: as in --words, else accept.",
            ROLE,
        ),
    ] = None
    words: Annotated[
        Names,
        _option(
            "Words of the domain: lending, bail, hiring, medical, inspection, audit, insurance, moderation, "
            "or single ones such as case=claim, decision_maker=adjuster, yes=investigate. Repeatable.",
            ROLE,
            spelled=("--words", "--vocabulary"),
            metavar="WORDS",
        ),
    ] = None
    strata: Annotated[
        str | None, _option("Cells within which cases are assigned at random.", ROLE, metavar="COLUMN")
    ] = None
    groups: Annotated[str | None, _option("Repeated cases, kept together.", ROLE, metavar="COLUMN")] = None
    case_id: Annotated[
        str | None,
        _option(
            "For a table in partitions: column that identifies a case, so that row order does not matter.",
            ROLE,
            metavar="COLUMN",
        ),
    ] = None
    fit_rows: Annotated[
        int | None,
        _option(
            "For a table in partitions: number of rows to fit. Default: chosen by a learning curve.",
            ROLE,
            min=1,
            metavar="ROWS",
        ),
    ] = None
    keep_scores: Annotated[
        Path | None,
        _option("Folder that keeps scores, so that another metric needs no new models.", ROLE, metavar="DIR"),
    ] = None
    share_labels: Annotated[
        bool,
        _option(
            "The label belongs to the group: a label on one of its rows holds for all of them.",
            ROLE,
            spelled=("--share-labels",),
        ),
    ] = False
    missing_score: Annotated[
        str | None,
        _option(
            "Score for cases without one: a number, lowest or highest.",
            ROLE,
            metavar="NUMBER|lowest|highest",
        ),
    ] = None
    weight: Annotated[str | None, _option("Weight of each case.", ROLE, metavar="COLUMN")] = None
    pending: Annotated[
        Pending | None,
        _option(
            "Outcomes that are not known yet although the decision is yes. at-random: given features and "
            "decision-maker, whether an outcome has matured is independent of the label. worst-case: no "
            "assumption.",
            ROLE,
        ),
    ] = None
    matured: Annotated[
        str | None,
        _option(
            "With --pending: column with the date when the outcome is due, or 1 if it has matured.",
            ROLE,
            metavar="COLUMN",
        ),
    ] = None
    yes: Annotated[bool, _option("Accept guessed roles without asking.", ROLE, spelled=("--yes",))] = False
    features: Annotated[
        Names,
        _option(
            "Columns to use: names or patterns such as 'x_*'. Default: all others. Repeatable.",
            FEATURE,
            metavar="PATTERN",
        ),
    ] = None
    exclude: Annotated[
        Names, _option("Columns to leave out: names or patterns. Repeatable.", FEATURE, metavar="PATTERN")
    ] = None
    include: Annotated[
        Names,
        _option(
            "Columns to keep that would be left out, such as ids or another model's score. Repeatable.",
            FEATURE,
            metavar="PATTERN",
        ),
    ] = None
    category: Annotated[
        Names, _option("Numeric columns to treat as categories. Repeatable.", FEATURE, metavar="PATTERN")
    ] = None
    number: Annotated[
        Names,
        _option(
            "Columns of codes with leading zeros to treat as numbers. Repeatable.", FEATURE, metavar="PATTERN"
        ),
    ] = None
    allow_leak: Annotated[
        Names,
        _option(
            "Feature to keep although it nearly determines the label or the decision. Repeatable.",
            FEATURE,
            metavar="COLUMN",
        ),
    ] = None


@dataclass(frozen=True)
class FittingOptions:
    """How to fit the nuisance models."""

    nuisance: Annotated[
        Nuisance | None, _option("Nuisance model of decision and label; auto compares the others.", MODEL)
    ] = None
    folds: Annotated[int, _option("Number of cross-fitting folds. Default: 5.", MODEL, min=2)] = 5
    seed: Annotated[int, _option("Random seed. Default: 0.", MODEL, min=0)] = 0
    jobs: Annotated[int | None, _option("Number of parallel processes; -1: one per core.", MODEL)] = None

    @property
    def keywords(self) -> dict[str, Any]:
        """Keyword arguments for the library; without --nuisance, the function uses its default."""
        if self.jobs == 0:
            raise InputError(
                "--jobs 0 would do nothing: give 1 or more, or -1 for one on each core.", "n_jobs"
            )
        chosen = (
            {}
            if self.nuisance is None
            else {"nuisance": None if self.nuisance == "auto" else self.nuisance.value}
        )
        return {"cv": self.folds, "n_jobs": self.jobs, "random_state": self.seed, **chosen}


@dataclass(frozen=True)
class NumberOptions:
    """Metrics to compute, and their confidence intervals."""

    metric: Annotated[
        Names,
        _option(
            "accuracy, tpr, fpr, auc, cost ..., or of accepted cases failures, failure_rate, profit ... "
            "Default: accuracy. Repeatable.",
            MODEL,
            metavar="NAME",
        ),
    ] = None
    pos_label: PosLabel = None
    confidence_level: Annotated[float, _option("Level of confidence intervals. Default: 0.95.", MODEL)] = 0.95
    interval: Annotated[
        Interval,
        _option("What intervals cover: the value (parameter) or the whole identified set (set).", MODEL),
    ] = Interval.PARAMETER
    cluster: Annotated[
        Cluster | None,
        _option("Unit of clustering for standard errors. Default: groups if given, else rows (none).", MODEL),
    ] = None
    propensity: Annotated[
        Propensity,
        _option(
            "Assignment probabilities: shares within strata (shares), a model of the features (model), or "
            "the one that predicts better (auto).",
            MODEL,
        ),
    ] = Propensity.AUTO
    repeats: Annotated[int, _option("Number of repetitions of cross-fitting. Default: 1.", MODEL, min=1)] = 1

    @property
    def keywords(self) -> dict[str, Any]:
        """Keyword arguments for `evaluate` and `compare`, other than metric and pos_label."""
        return {
            "confidence_level": self.confidence_level,
            "interval": self.interval.value,
            "cluster": None if self.cluster is None else self.cluster.value,
            "propensity": self.propensity.value,
            "n_repeats": self.repeats,
        }


Money = float | None


@dataclass(frozen=True)
class CostOptions:
    """What mistakes cost: a matrix, or amounts by name."""

    cost: Cost = None
    cost_inspect: Annotated[
        Money, _option("If a yes inspects: cost of each inspected case.", MODEL, metavar="AMOUNT")
    ] = None
    cost_missed: Annotated[
        Money,
        _option("If a yes inspects: cost of each event that is not inspected.", MODEL, metavar="AMOUNT"),
    ] = None
    cost_default: Annotated[
        Money, _option("If a yes accepts: cost of each accepted event.", MODEL, metavar="AMOUNT")
    ] = None
    cost_declined_good: Annotated[
        Money,
        _option("If a yes accepts: cost of each refused case without the event.", MODEL, metavar="AMOUNT"),
    ] = None

    @property
    def by_name(self) -> dict[str, float]:
        """Costs that are given by name."""
        named = {
            "inspect": self.cost_inspect,
            "missed": self.cost_missed,
            "default": self.cost_default,
            "declined_good": self.cost_declined_good,
        }
        return {name: amount for name, amount in named.items() if amount is not None}


@dataclass(frozen=True)
class MoneyOptions(CostOptions):
    """Costs, and the number of cases in a year."""

    cases_per_year: Annotated[
        float | None,
        _option("With costs: number of cases per year, to express a change in money per year.", MODEL),
    ] = None


@dataclass(frozen=True)
class CutOptions(MoneyOptions):
    """Cut-off of a score, and the costs."""

    threshold: Annotated[
        float | None,
        _option("Scores from here on mean the event; those below are accepted, or not inspected.", MODEL),
    ] = None
    acceptance: Annotated[
        float | None,
        _option("Share of cases to accept (lowest scores first), or to inspect (highest first).", MODEL),
    ] = None


@dataclass(frozen=True)
class SubjectOptions:
    """Predictions or model to evaluate."""

    predictions: Annotated[
        str | None,
        _option("Column of predictions, or human for the decisions taken.", metavar="COLUMN"),
    ] = None
    model: Annotated[Path | None, _option("Model file to evaluate.", metavar="FILE")] = None

    @property
    def described(self) -> dict[str, str]:
        """Kind and name of the predictions or model, for results."""
        kind, name = ("column", self.predictions) if self.model is None else ("model", self.model)
        return {"kind": kind, "name": str(name)}

    def require_one(self, at_least: int = 1) -> None:
        """Raise unless one of the two is given, or at most one if `at_least` is 0."""
        given = (self.predictions is not None) + (self.model is not None)
        if not at_least <= given <= 1:
            raise InputError("Give --predictions COLUMN or --model FILE, one of the two.", "predictions")


# Length of the periods that dates are grouped into.
Every = StrEnum("Every", ("MONTH", "QUARTER", "YEAR"))
# What a high value of the advice means.
High = StrEnum("High", ("YES", "NO"))
# How decision-makers are shown.
Named = StrEnum("Named", ("NAMES", "ANONYMOUS"))


@dataclass(frozen=True)
class PageOptions(MoneyOptions):
    """Content of a report page."""

    by: Annotated[Names, _option("Column of subgroups. Repeatable.", metavar="COLUMN")] = None
    metric: Annotated[Names, _option("Metrics to show. Repeatable.", MODEL)] = None
    pos_label: PosLabel = None
    threshold: Annotated[
        float | None, _option("Scores from here on mean the event; those below are accepted.", MODEL)
    ] = None
    title: Annotated[str, _option("Title of the report.")] = "What the data can tell"
    assume: Assume = None
    period: Annotated[
        str | None,
        _option("Column of dates or periods: adds a section on changes over time.", metavar="COLUMN"),
    ] = None
    every: Annotated[Every | None, _option("Group dates by month, quarter or year.")] = None
    advice: Annotated[
        str | None,
        _option("Column of an advice: adds a section on whether showing it helped.", metavar="COLUMN"),
    ] = None
    shown: Annotated[
        str | None, _option("Column that is 1 where people saw the advice.", metavar="COLUMN")
    ] = None
    high: Annotated[
        High | None, _option("Meaning of high values, if the advice has more than two values.")
    ] = None
    deciders: Annotated[
        Named | None, _option("Adds a section on decision-makers, with their names or anonymous.")
    ] = None
    disparity: Annotated[
        str | None,
        _option("Column of groups: adds a section on whether they are treated alike.", metavar="COLUMN"),
    ] = None


@dataclass(frozen=True)
class OutputOptions:
    """Output format, and the configuration file."""

    format: Annotated[Format, _option("table, json or csv. Default: table.")] = Format.TABLE
    verbose: Annotated[bool, _option("Show all details below the answer.", spelled=("--verbose",))] = False
    config: Annotated[
        Path | None, _option("Read options from a TOML file; the command line wins.", metavar="FILE")
    ] = None
    save_config: Annotated[
        Path | None, _option("Write the options of this run to a TOML file.", metavar="FILE")
    ] = None


def with_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter that is an option group (a dataclass) by its fields, so that typer sees them.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Size:
    ...     width: int = 1
    >>> def paint(colour: str, size: Size) -> None:
    ...     print(colour, size.width)
    >>> inspect.signature(with_groups(paint)).parameters.keys()
    odict_keys(['colour', 'width'])
    >>> with_groups(paint)(colour="red", width=3)
    red 3
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {
        name: hint for name, hint in hints.items() if name != "return" and is_dataclass(hint)
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            parameters += _fields(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=parameter.KEYWORD_ONLY))

    @functools.wraps(function)
    def expanded(**values: Any) -> None:
        made = {
            name: group(**{each.name: values.pop(each.name) for each in fields(group)})
            for name, group in groups.items()
        }
        function(**values, **made)

    # typer reads the annotations in addition to the signature.
    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {each.name: each.annotation for each in parameters}
    return expanded


def _fields(group: Any) -> list[inspect.Parameter]:
    # The constructor marks a required field in the way that typer knows; the field itself does not.
    hints = get_type_hints(group, include_extras=True)
    return [
        each.replace(kind=each.KEYWORD_ONLY, annotation=hints[each.name])
        for each in inspect.signature(group).parameters.values()
    ]


# These options do not describe the job itself.
NEVER_SAVED = ("config", "save_config", "help", "verbose")


class ConfigurableCommand(TyperCommand):
    """A command whose --config file supplies options that the command line does not give."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the file, then those of the command line."""
        ctx.meta["arguments"] = list(args)
        try:
            args = [*_from_file(self, args), *args]
        except InputError as error:
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(1) from None
        return super().parse_args(ctx, args)


def save_config(context: typer.Context, path: Path, roles: dict[str, str | None]) -> None:
    """Write the options that differ from their defaults and the roles found to a TOML file.

    Parameters
    ----------
    roles : dict
        Columns by role. Guessed roles are saved too, so that they need no confirmation next time.
    """
    import tomli_w

    from selective_labels.io.files import write_whole

    values = context.params | roles
    saved = {}
    for parameter in context.command.params:
        spellings, value = _spellings(parameter), values.get(str(parameter.name))
        unsaid = value in (None, [], (), False) or value == parameter.default
        if spellings and parameter.name not in NEVER_SAVED and not unsaid:
            saved[spellings[0]] = _plain(value)
    write_whole(path, f"# selective-labels {context.info_name}\n{tomli_w.dumps(saved)}")


def _spellings(parameter: Any) -> list[str]:
    """Long options of a parameter without their dashes, the preferred one first."""
    return [option.removeprefix("--") for option in parameter.opts if option.startswith("--")]


def _from_file(command: Any, args: list[str]) -> list[str]:
    """Options of the --config file that the command line does not give itself."""
    path = _config_path(args)
    if path is None:
        return []
    # Map each spelling to its parameter, because two spellings are the same option.
    known = {key: each.name for each in command.params for key in _spellings(each)}
    typed = (arg.split("=")[0].removeprefix("--") for arg in args if arg.startswith("--"))
    given = {known[key] for key in typed if key in known}
    read: dict[str, str] = {}
    extra: list[str] = []
    for key, value in _read_toml(path).items():
        name = known.get(key)
        if name is None or name in NEVER_SAVED:
            raise InputError(f"{path}: {key!r} is not an option of {command.name}.", "config")
        if name in read:
            raise InputError(f"{path}: {read[name]!r} and {key!r} are the same option; give one.", "config")
        read[name] = key
        if name not in given:
            extra += _arguments(key, value, path)
    return extra


def _config_path(args: list[str]) -> Path | None:
    for place, arg in enumerate(args):
        if arg.startswith("--config="):
            return Path(arg.removeprefix("--config="))
        if arg == "--config" and place + 1 < len(args):
            return Path(args[place + 1])
    return None


def _read_toml(path: Path) -> dict[str, Any]:
    content = read_file("config", path)
    try:
        return tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}.", "config") from None


def _arguments(key: str, value: Any, path: Path) -> list[str]:
    """One setting of the file as command-line arguments."""
    if isinstance(value, bool):
        return [f"--{key}"] if value else []
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str | int | float) for each in values):
        raise InputError(
            f"{path}: {key!r} must be text, a number, true or false, or a list of these.", "config"
        )
    return [f"--{key}={each}" for each in values]


def _plain(value: Any) -> Any:
    """Convert a value to a type that TOML supports."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value
