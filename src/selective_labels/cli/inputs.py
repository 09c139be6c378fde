"""Inputs of a command: tables, roles, costs and metrics, and predictions from columns and models."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import typer

from selective_labels._display import digits
from selective_labels._errors import InputError, TableError, several, shown
from selective_labels._vocabulary import ACCEPT, INSPECT, Vocabulary
from selective_labels.cli.console import speak
from selective_labels.cli.options import (
    CostOptions,
    CutOptions,
    FileOptions,
    OutputOptions,
    TableOptions,
    save_config,
)
from selective_labels.data.features import CATEGORY, read_numbers
from selective_labels.data.named_costs import NAMED_COSTS, cost_matrix
from selective_labels.data.partition_sources import ParquetSource
from selective_labels.data.partitioned import SAMPLE_ROWS, PartitionedLabels, reweighted
from selective_labels.data.relations import RelationSource
from selective_labels.data.selective_labels import class_code
from selective_labels.evaluation.metrics import NAMES, called_here, named_metrics
from selective_labels.evaluation.policy import (
    COST,
    FAILURE_RATE,
    FAILURES,
    MEASURES_OF,
    OF_COST,
    PLAIN,
    TEAM_WORDS,
    TEAMS,
    UNDECIDED,
    WORDS,
    Policy,
    acting_as_now,
    read_policy_measures,
    team_words,
)
from selective_labels.evaluation.predictions import HUMAN, read_predictions
from selective_labels.inference.confidence_intervals import check_interval
from selective_labels.io.engine_tables import names_relation, relation_at
from selective_labels.io.files import require_writable
from selective_labels.io.model_file import SavedModel, load_model
from selective_labels.io.prepare import (
    FeatureRules,
    PreparedTable,
    classes_of,
    numbers_of,
    predictions_of,
    prepare_table,
)
from selective_labels.io.read import OpenTable, open_table, without_password
from selective_labels.io.table_roles import (
    OPTIONS,
    Roles,
    as_labels,
    find_roles,
    guessed_meaning,
    hole_words,
    meaning_question,
    meaning_said,
    partitions_of,
    shown_rows,
)
from selective_labels.nuisance.cross_fit import FittingSettings
from selective_labels.nuisance.learning_curve import draw_rows

MODEL_SUFFIX = ".skops"
KNOWN_COSTS = [name for names in NAMED_COSTS.values() for name in names]
# Options that accept "human", the decisions taken.
OTHERS = ("--b", "--against", "--compare-to")


# Roles whose columns hold names; the others hold numbers.
NAMING_ROLES = ("label", "decision_maker", "strata", "groups")


def open_source(source: str, file: FileOptions) -> OpenTable:
    """Open the table of a command."""
    how = {"separator": file.separator, "encoding": file.encoding, "sheet": file.sheet, "sql": file.sql}
    return open_table(source, missing=file.missing or (), **how)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Loaded:
    """A table as read and as prepared; of a table in partitions, some of its rows.

    Attributes
    ----------
    lazy : PartitionedLabels or None
        The whole table, if it is in partitions.
    sampled : bool
        Whether the rows in memory are all that the command works on.
    notes : tuple of str
        Sentences on what was taken for granted.
    """

    name: str
    frame: pd.DataFrame
    prepared: PreparedTable
    lazy: PartitionedLabels | None = None
    sampled: bool = False
    notes: tuple[str, ...] = ()

    @property
    def data(self) -> Any:
        """Data for numbers about the whole table."""
        return self.prepared.data if self.lazy is None else self.lazy

    @property
    def classes(self) -> np.ndarray:
        """Sorted classes of the whole table."""
        return self.prepared.data.classes if self.lazy is None else self.lazy.classes


@dataclass(frozen=True)
class Source:
    """The table of a command and all options about it."""

    context: typer.Context
    name: str
    file: FileOptions
    table: TableOptions
    output: OutputOptions

    def load(
        self,
        models: Sequence[SavedModel] = (),
        not_features: Sequence[str | None] = (),
        *,
        lazily: bool = False,
        fitting: FittingSettings | None = None,
    ) -> Loaded:
        """Read the table, find its roles and choose its features; confirm guessed roles with the user.

        Of a table in partitions, a sample or the rows that a model is fitted to are loaded into memory. If
        the command works on all rows `lazily`, only a few rows are loaded, to find roles and features.

        Parameters
        ----------
        models : sequence of SavedModel
            Saved models whose features are used as features here.
        not_features : sequence of str
            Columns that are not features, such as predictions. Whether they exist is checked elsewhere.
        fitting : FittingSettings, optional
            Settings of the model that the rows are loaded for.
        """
        save_to = self.output.save_config
        if save_to is not None:
            require_writable(save_to)
        kinds = {name: kind for model in models for name, kind in model.schema.kinds.items()}
        parts: ParquetSource | RelationSource | None
        case_id, groups = self.table.case_id, self.table.groups
        if names_relation(self.name):
            parts = relation_at(self.name, groups or case_id)
        else:
            parts = partitions_of(self.name)
        if case_id is not None and parts is None:
            raise TableError("--case-id is for tables in partitions and in databases.")
        not_features = [*not_features, case_id]
        if self.table.keep_scores is not None and (parts is None or not lazily):
            raise TableError("--keep-scores is for commands that score all rows of a table in partitions.")
        if parts is None:
            opened = open_source(self.name, self.file)
            frame, roles = self._frame_and_roles(opened, self._texts(kinds))
            folds = self.context.params.get("folds") or 0
            if folds > len(frame):
                many = "1 case" if len(frame) == 1 else f"{len(frame):,} cases"
                raise TableError(f"The table has {many}, fewer than --folds {folds:,}; give fewer folds.")
        else:
            frame = shown_rows(parts)
            roles = _roles(frame, self.table)
        frame, trimmed = (frame, ()) if parts is not None else _trimmed(frame, roles.label)
        frame, known = self._ask_about_holes(frame, roles.label)
        frame = self._fill_scores(frame, not_features, parts is not None)
        for model in models:
            model.schema.read(frame)  # raise if a column is missing
        rules = replace(self._rules(frame, kinds, not_features), classes=known)
        vocabulary, notes = self._vocabulary(frame, roles)
        speak(vocabulary)
        pending = None if self.table.pending is None else self.table.pending.value
        how: dict[str, Any] = {"vocabulary": vocabulary, "pending": pending}
        prepared = prepare_table(frame, roles, rules, share_labels=self.table.share_labels, **how)
        lazy = None
        if parts is None:
            frame = _with_classes(frame, opened, prepared.data.classes, not_features)
        else:
            lazy = self._lazy(parts, prepared)
            if not lazily:
                rules = replace(rules, features=[*prepared.kinds], also=[*prepared.kinds])
                frame, prepared = _sampled(lazy, roles, rules, parts.columns, fitting)
        if save_to is not None:
            stated = {"decision_means": vocabulary.means}
            save_config(self.context, save_to, roles.to_dict() | stated)
        return Loaded(
            without_password(self.name),
            frame,
            prepared,
            lazy,
            sampled=lazy is not None and not lazily,
            notes=(*trimmed, *notes),
        )

    def _vocabulary(self, frame: pd.DataFrame, roles: Roles) -> tuple[Vocabulary, tuple[str, ...]]:
        """The words of the domain with what a yes means, and a sentence where the default is used."""
        means = self.table.decision_means
        words = Vocabulary.parse(self.table.words or ())
        if means is not None or words.means is not None:
            return words.meaning(None if means is None else means.value), ()
        guess = guessed_meaning(roles, frame)
        if self.table.yes or not somebody_answers():
            return words.meaning(), (meaning_said(roles, guess),)
        if typer.confirm(meaning_question(roles, guess), default=True, err=True):
            return words.meaning(guess), ()
        return words.meaning(ACCEPT if guess == INSPECT else INSPECT), ()

    def _lazy(self, parts: ParquetSource | RelationSource, prepared: PreparedTable) -> PartitionedLabels:
        if self.table.share_labels:
            raise TableError("--share-labels needs rows in memory; give one table that is not in partitions.")
        if prepared.readings:
            raise TableError(
                f"{self.name} is read in parts, as it is written, and this is not: {prepared.readings[0]} "
                "Write the column so that it needs no reading."
            )
        if self.table.pending is not None:
            raise TableError("--pending needs rows in memory; give one table that is not in partitions.")
        kept = self.table.keep_scores
        lazy = as_labels(
            parts, prepared.roles, list(prepared.kinds), self.table.fit_rows, kept, self.table.case_id
        )
        return replace(lazy, vocabulary=prepared.data.vocabulary)

    def _frame_and_roles(self, opened: OpenTable, texts: list[str]) -> tuple[pd.DataFrame, Roles]:
        """The table and its roles; ids and labels are read as text, so that they keep their spelling."""
        given = [name for role in NAMING_ROLES if (name := getattr(self.table, role)) is not None]
        frame = opened.read(texts, given)
        roles = _roles(frame, self.table)
        found = [name for role in NAMING_ROLES if (name := roles.to_dict()[role]) is not None]
        return frame if set(found) <= set(given) else opened.read(texts, found), roles

    def _fill_scores(
        self, frame: pd.DataFrame, columns: Sequence[str | None], in_parts: bool
    ) -> pd.DataFrame:
        """Give cases without a score the one of --missing-score."""
        given = self.table.missing_score
        if given is None:
            return frame
        value = _score_for_blanks(given)
        if in_parts:
            raise TableError("--missing-score needs rows in memory; fill the column of the partitions.")
        names = [each for each in columns if each is not None and each in frame.columns]
        blank = [each for each in names if frame[each].isna().any()]
        return frame.assign(**{each: _filled(frame[each], value) for each in blank})

    def _ask_about_holes(self, frame: pd.DataFrame, label: str) -> tuple[pd.DataFrame, list[str]]:
        """Ask on a terminal whether words such as "unknown" mean a missing label.

        Without a terminal, such words raise an error later.
        """
        known = list(self.table.classes or ())
        if not somebody_answers():
            return frame, known
        for word in hole_words(frame[label], classes=known):
            rows = frame[label] == word
            question = (
                f"The label {shown(label)} is {shown(word)} in {rows.sum():,} rows: is nothing known there?"
            )
            if typer.confirm(question, default=True, err=True):
                frame = frame.assign(**{label: frame[label].mask(rows)})
            else:
                known.append(word)
        return frame, known

    def _texts(self, kinds: dict[str, str]) -> list[str]:
        """Columns that are read as text."""
        request = [part.strip() for given in self.table.category or () for part in given.split(",")]
        return [*request, *(name for name, kind in kinds.items() if kind == CATEGORY)]

    def _rules(
        self, frame: pd.DataFrame, kinds: dict[str, str], not_features: Sequence[str | None]
    ) -> FeatureRules:
        return FeatureRules(
            features=self.table.features or (),
            exclude=self.table.exclude or (),
            include=self.table.include or (),
            category=self.table.category or (),
            number=self.table.number or (),
            allow_leak=self.table.allow_leak or (),
            also=list(kinds),
            not_features=[
                column for column in not_features if column in frame.columns and column is not None
            ],
            kinds=kinds,
            accepted=self.table.accepted or (),
        )


def _trimmed(frame: pd.DataFrame, label: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The table without blanks around the labels, which would make other classes, and a sentence on them.

    Examples
    --------
    >>> frame, said = _trimmed(pd.DataFrame({"found": [" yes", "no", None]}), "found")
    >>> frame["found"].tolist()[:2], said
    (['yes', 'no'], ("Read: blanks around the labels in 'found' are left out: ' yes' is 'yes'.",))
    """
    texts = frame[label].map(lambda each: isinstance(each, str) and each != each.strip()).astype(bool)
    if not texts.any():
        return frame, ()
    first = frame.loc[texts, label].iloc[0]
    labels = frame[label].mask(texts, frame[label].astype(str).str.strip())
    said = f"Read: blanks around the labels in {shown(label)} are left out: {first!r} is {first.strip()!r}."
    return frame.assign(**{label: labels}), (said,)


def _score_for_blanks(given: str) -> float:
    """The score of --missing-score; infinite for "lowest" and "highest".

    Examples
    --------
    >>> _score_for_blanks("0.5"), _score_for_blanks("highest")
    (0.5, inf)
    """
    ends = {"lowest": -np.inf, "highest": np.inf}
    try:
        value = ends[given] if given in ends else float(given)
    except ValueError:
        value = np.nan
    if np.isnan(value):
        raise TableError(f"--missing-score {shown(given)} is no number, and not lowest or highest.")
    return value


def _filled(column: pd.Series, value: float) -> pd.Series:
    """A column of scores with one score, the lowest or the highest, for all cases that have none.

    Examples
    --------
    >>> _filled(pd.Series([0.2, None, 0.7]), np.inf).tolist()
    [0.2, 0.7, 0.7]
    """
    scores = read_numbers(column.dropna()).numbers
    if not len(scores) or scores.isna().any():
        raise TableError(f"--missing-score is for scores; column {shown(column.name)} holds other values.")
    if np.isinf(value):
        value = scores.max() if value > 0.0 else scores.min()
    return scores.reindex(column.index).fillna(value)


def _sampled(
    lazy: PartitionedLabels,
    roles: Roles,
    rules: FeatureRules,
    columns: Sequence[str],
    fitting: FittingSettings | None,
) -> tuple[pd.DataFrame, PreparedTable]:
    """Load a sample of a table in partitions, or the rows that a model is fitted to, with their weights."""
    if fitting is None:
        frame, factors = lazy.sample_frame(lazy.fit_rows or SAMPLE_ROWS, others=columns), None
    else:
        drawn = draw_rows(lazy, 0, columns).by_curve(fitting)
        frame, factors = drawn.frame, drawn.factors
    prepared = prepare_table(frame, roles, rules, vocabulary=lazy.vocabulary)
    lazy.require_all_classes(prepared.data)
    return frame, replace(prepared, data=reweighted(prepared.data, factors))


def _with_classes(
    frame: pd.DataFrame, opened: OpenTable, classes: np.ndarray, columns: Sequence[str | None]
) -> pd.DataFrame:
    """Read numeric columns of predictions as text where they then match the classes: "07" is not 7."""
    if not all(isinstance(each, str) for each in classes.tolist()):
        return frame
    numbers = [
        each
        for each in columns
        if each is not None and each in frame.columns and pd.api.types.is_numeric_dtype(frame[each])
    ]
    text = opened.read(numbers) if numbers else frame
    return frame.assign(**{each: text[each] for each in numbers if text[each].isin(classes).all()})


def contestant(
    given: str, option: str, frame: pd.DataFrame, classes: np.ndarray, loaded: dict[str, SavedModel]
) -> Any:
    """Interpret --a or --b: "human", a column of predictions, a model file, or a constant class."""
    if is_word(given, option):
        return HUMAN
    if given in frame.columns:
        return predictions_of(frame, given, option)
    if given in loaded:
        return loaded[given]
    found = [each for each in classes.tolist() if str(each) == given]
    if found:
        return found[0]
    raise TableError(
        f"{option} {shown(given)} is neither a column, nor a model file (.skops), nor a class "
        f"({several([str(each) for each in classes])})" + (", nor human." if option in OTHERS else ".")
    )


def is_word(given: str | None, option: str) -> bool:
    """Whether the option says "human", the decisions taken; the word wins over a column of that name."""
    return given == HUMAN and option in OTHERS


def models_among(names: Sequence[str]) -> dict[str, SavedModel]:
    """Load the names that end like a model file."""
    return {name: load_model(name) for name in names if name.endswith(MODEL_SUFFIX)}


def somebody_answers() -> bool:
    """Whether there is a terminal, so that a question can be answered."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _roles(frame: pd.DataFrame, options: TableOptions) -> Roles:
    given = {role: getattr(options, role) for role in OPTIONS}
    roles, guessed = find_roles(frame, given)
    if guessed and not options.yes:
        words = [f"{OPTIONS[role]} {shown(roles.to_dict()[role])}" for role in guessed]
        if not somebody_answers():
            raise TableError(
                f"Roles are guessed: give {' '.join(words)} if that is right, or --yes to accept."
            )
        for role, reason in guessed.items():
            typer.echo(f"{OPTIONS[role]} {shown(roles.to_dict()[role])}, which {reason}", err=True)
        if not typer.confirm("Are these the roles?", default=True, err=True):
            raise TableError("Roles were not accepted: give --label, --decision and --decision-maker.")
    return roles


POLICY_METRICS = (*PLAIN, *OF_COST)
# Metrics of policies only, and metrics of scores rather than classes.
OF_POLICIES = tuple(name for name in POLICY_METRICS if name != COST)
OF_SCORES = ("auc", "log_loss", "brier", "calibration")
# Metrics for which neither higher nor lower values are better.
NEUTRAL = ("share", "acceptance", "calibration")
EXAMPLE = "'[[0,1],[5,0]]'"


def read_cost(text: str | None) -> np.ndarray | None:
    """Parse the matrix of --cost.

    Examples
    --------
    >>> read_cost("[[0, 1], [5, 0]]").tolist()
    [[0.0, 1.0], [5.0, 0.0]]
    >>> read_cost("[[0, 1], [5]]")
    Traceback (most recent call last):
    ...
    selective_labels._errors.TableError: --cost '[[0, 1], [5]]' is not a matrix of numbers in JSON, ...
    """
    if text is None:
        return None
    try:
        matrix = np.asarray(json.loads(text), dtype=float)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or matrix.shape[0] < 2 or matrix.shape[1] < 2 or not np.isfinite(matrix).all():
        raise TableError(
            f"--cost {shown(text)} is not a matrix of numbers in JSON, C[true, predicted] over the sorted "
            f"classes, such as {EXAMPLE}."
        )
    return matrix


Costs = np.ndarray | dict[str, float] | None


def read_costs(options: CostOptions) -> Costs:
    """Costs as given: a matrix, or amounts by name, but not both.

    Examples
    --------
    >>> read_costs(CostOptions(cost_inspect=400, cost_missed=3000))
    {'inspect': 400, 'missed': 3000}
    """
    named, matrix = options.by_name, read_cost(options.cost)
    if named and matrix is not None:
        raise TableError(f"Give --cost or --cost-{next(iter(named)).replace('_', '-')}, not both.", "cost")
    if getattr(options, "cases_per_year", None) is not None and not named and matrix is None:
        raise TableError("--cases-per-year needs costs: --cost, or --cost-inspect and --cost-missed.", "cost")
    return named or matrix


def costs_of(cost: Costs, loaded: Loaded, event: Any) -> np.ndarray | None:
    """Costs as a matrix over the classes of the table."""
    classes, means = loaded.classes, loaded.prepared.data.decision_means
    try:
        found = cost_matrix(cost, classes, class_code(event, classes), means)
    except InputError as error:
        text = str(error)
        for name in KNOWN_COSTS:
            text = text.replace(repr(name), f"--cost-{name.replace('_', '-')}")
        text = text.replace("cost names ", "").replace("cost gives no ", "No ").replace("cost: ", "")
        raise TableError(text.replace("decision_means=", "--decision-means "), "cost") from None
    require_cost_of(found, classes)
    return None if found is None else np.asarray(found, dtype=float)


def require_cost_of(cost: np.ndarray | None, classes: np.ndarray) -> None:
    """Raise if the cost matrix does not match the number of classes."""
    if cost is not None and cost.shape != (len(classes),) * 2:
        words = several([str(each) for each in classes])
        rows, columns = cost.shape
        raise TableError(
            f"--cost has {rows} rows and {columns} columns, and the label has {len(classes)} classes "
            f"({words}): give one row and one column for each, in this order."
        )


def require_level(confidence_level: float) -> None:
    """Raise if the confidence level is invalid, before the table is read."""
    try:
        check_interval("parameter", confidence_level)
    except InputError:
        raise TableError(
            f"--confidence-level {confidence_level:g} must lie between 0.5 and 1, both excluded."
        ) from None


def require_metrics(names: Sequence[str], cost: Costs, known: Sequence[str] = NAMES) -> None:
    """Raise if a metric does not exist or needs a cost matrix that was not given."""
    for name in names:
        if name not in known:
            names = ", ".join(map(repr, known))
            raise TableError(f"--metric {shown(name)} is not one of {names}.{called_here(name)}")
        if name in OF_COST and cost is None:
            raise TableError(f"--metric {name} needs --cost, such as {EXAMPLE}, or costs by name.")
    repeated = sorted({name for name in names if list(names).count(name) > 1})
    if repeated:
        raise TableError(f"--metric {repeated[0]} is given twice.")


@dataclass(frozen=True)
class Stakes:
    """Metrics, costs and cut-offs of one command.

    Attributes
    ----------
    by_policy : bool
        Whether a score accepts cases, so that the metrics are those of policies, or predicts classes.
    by_default : bool
        Whether the metrics are the defaults of the command.
    """

    metrics: tuple[str, ...]
    cost: Any
    cut: CutOptions
    by_policy: bool
    by_default: bool = False
    means: str = ACCEPT

    @classmethod
    def read(cls, metrics: Sequence[str] | None, cut: CutOptions, human: bool = False) -> "Stakes":
        """Read and check the options.

        If `human` is true, the decisions taken are evaluated too, so that scores are evaluated as policies.
        """
        cost = read_costs(cut)
        require_cut(cut)
        known = tuple(dict.fromkeys((*NAMES, *POLICY_METRICS)))
        require_metrics(metrics or (), cost, known)
        given = tuple(metrics or ())
        request = bool({*given} & {*OF_POLICIES}) if given else cut.acceptance is not None
        by_policy = human or request
        if not given:
            given = (FAILURES, FAILURE_RATE) if by_policy else ("accuracy",)
            given += () if cost is None else (COST,)
        found = cls(given, cost, cut, by_policy, not metrics)
        found._require_one_kind()
        return found

    def for_scores(self) -> "Stakes":
        """If only costs are given, evaluate scores as policies that accept as many cases as the human did."""
        if self.by_policy or not self.by_default or self.cost is None or self.cut.threshold is not None:
            return self
        return replace(self, metrics=(FAILURES, FAILURE_RATE, COST), by_policy=True)

    def priced(self, loaded: Loaded, event: Any) -> "Stakes":
        """Costs as a matrix of the table's classes, and default metrics by what a yes means."""
        means = loaded.prepared.data.decision_means
        names = MEASURES_OF[means]
        usual = {FAILURES: names.main, FAILURE_RATE: names.rate} if self.by_default else {}
        metrics = tuple(usual.get(name, name) for name in self.metrics)
        return replace(self, metrics=metrics, cost=costs_of(self.cost, loaded, event), means=means)

    def _require_one_kind(self) -> None:
        others = [name for name in self.metrics if name not in POLICY_METRICS]
        if self.by_policy and others:
            raise TableError(
                f"--metric {others[0]} is about predicted classes, and cases are accepted here: use one of "
                f"{', '.join(POLICY_METRICS)}."
            )
        if not self.by_policy and self.cut.acceptance is not None:
            raise TableError(
                f"--acceptance goes with metrics of accepted cases ({', '.join(OF_POLICIES)}); for "
                f"{self.metrics[0]} give --threshold."
            )
        of_scores = [name for name in self.metrics if name in OF_SCORES]
        if of_scores and self.cut.threshold is not None:
            raise TableError(f"--metric {of_scores[0]} is about the score itself: leave --threshold out.")

    def require_classes(self, classes: np.ndarray) -> None:
        """Raise if the classes of the label do not allow the options."""
        require_cost_of(self.cost, classes)
        if self.cut.threshold is not None and not self.by_policy and len(classes) != 2:
            raise TableError(
                f"--threshold makes two classes of a score, and the label has {len(classes)}; give predicted "
                "classes, or a metric of accepted cases such as --metric failures."
            )

    def directions(self, classes: np.ndarray) -> dict[str, str]:
        """Whether "higher" or "lower" is better, by metric; metrics without a direction are left out."""
        found = {}
        for name in self.metrics:
            if name in NEUTRAL:
                continue
            what: Any = (
                read_policy_measures([name], classes, len(classes) - 1, self.cost, self.means)[0]
                if self.by_policy
                else named_metrics(name, classes, None, self.cost)[0]
            )
            found[name] = "higher" if what.greater_is_better else "lower"
        return found

    def sentences(self, classes: np.ndarray) -> list[str]:
        """Explain the metrics and which direction is better."""
        meanings = [f"{name}: {WORDS[name]}." for name in self.metrics] if self.by_policy else []
        if self.by_policy and self.cut.threshold is None and self.cut.acceptance is None:
            meanings.append(as_now_sentence(self.means))
        ways = [f"{name}: {way} is better" for name, way in self.directions(classes).items()]
        return [*meanings, *([f"Direction: {'; '.join(ways)}."] if ways else [])]


def as_now_sentence(means: str) -> str:
    """How scores are cut without a threshold."""
    first = "highest" if means == INSPECT else "lowest"
    return f"No cut-off was given: as many cases are accepted as the human accepted, {first} scores first."


def one_measure(policy_measures: Stakes) -> Stakes:
    """Keep one metric for a comparison: the first, or cost if it is given and no metric was chosen."""
    by_cost = policy_measures.by_default and policy_measures.cost is not None
    return replace(policy_measures, metrics=(COST,) if by_cost else policy_measures.metrics[:1])


def require_cut(cut: CutOptions) -> None:
    """Raise if a cut-off is invalid."""
    if cut.threshold is not None and cut.acceptance is not None:
        raise TableError("Give --threshold or --acceptance, not both.")
    if cut.threshold is not None and not np.isfinite(cut.threshold):
        raise TableError(f"--threshold {cut.threshold} must be a finite number.")
    if cut.acceptance is not None and not 0.0 <= cut.acceptance <= 1.0:
        raise TableError(f"--acceptance {cut.acceptance:g} must lie between 0 and 1: a share of the cases.")


def described(name: str, stakes: Stakes, team: str | None = None) -> str:
    """Describe predictions and how they are cut.

    Examples
    --------
    >>> described("score", Stakes.read(None, CutOptions(acceptance=0.6)), "both")
    'score with acceptance 0.6, and human: both'
    >>> described("score", replace(Stakes.read(None, CutOptions(threshold=20), human=True), means="inspect"))
    'score of 20 or more'
    """
    words, cut = name, stakes.cut
    if cut.threshold is not None:
        at = digits(cut.threshold)
        if not stakes.by_policy:
            words += f" cut at {at}"
        else:
            words += f" of {at} or more" if stakes.means == INSPECT else f" below {at}"
    if cut.acceptance is not None:
        words += f" with acceptance {cut.acceptance:g}"
    if stakes.by_policy and cut.threshold is None and cut.acceptance is None:
        words += ", as many accepted as today"
    return words if team is None else f"{words}, and human: {team}"


def team_sentence(team: str | None, means: str = ACCEPT) -> list[str]:
    """Explain how the human and the score decide together."""
    if team is None:
        return []
    words = f"the human decides where {shown(team)} says so, and the score elsewhere"
    if team in TEAM_WORDS:
        words = team_words(team, means)
    return [f"With the human ({team}): {words}."]


HALF = 0.5


@dataclass(frozen=True, eq=False)
class Judging:
    """A table, and how predictions on it become classes or decisions.

    Attributes
    ----------
    pos_label : class or None
        The class of the failure.
    team : str or None
        How the human takes part: "both", "either", "undecided", or a column that marks the cases left to the
        human.
    as_now : bool
        Whether scores without a threshold give as many a yes as people did, where a metric needs classes.
    """

    loaded: Loaded
    policy_measures: Stakes
    pos_label: Any
    team: str | None = None
    as_now: bool = False

    @property
    def classes(self) -> np.ndarray:
        """Sorted classes of the label."""
        return self.loaded.classes

    @property
    def failure(self) -> int:
        """Code of the failure."""
        return class_code(self.pos_label, self.classes)

    def of_column(self, column: str, option: str, *, with_team: bool = False) -> Any:
        """A column of predictions, in the form that the metrics need."""
        values = predictions_of(self.loaded.frame, column, option)
        if self.policy_measures.by_policy:
            classes = classes_of(values, self.classes)
            risk = (
                numbers_of(values, column, option)
                if classes is None
                else classes == self.classes[self.failure]
            )
            return self._policy(risk.astype(float), with_team)
        if set(self.policy_measures.metrics) <= {*OF_SCORES}:
            return self._scores(values, column, option)
        classes = classes_of(values, self.classes)
        if self.policy_measures.cut.threshold is not None and classes is None:
            return self._cut(numbers_of(values, column, option))
        if classes is None and self.as_now and len(self.classes) == 2:
            risk = numbers_of(values, column, option).astype(float)
            if self.policy_measures.cost is not None or risk.min() < 0.0 or risk.max() > 1.0:
                return acting_as_now(risk, self.loaded.prepared.data, self.failure)[0]
        if classes is None:
            raise TableError(self._hint(values, column, option))
        return classes

    def of_parts(self, given: Any, *, with_team: bool = False) -> Any:
        """A model or the name of a column, for a table in partitions."""
        if not self.policy_measures.by_policy:
            return given
        cut, team = self.policy_measures.cut, self.team if with_team else None
        if team is not None and team not in TEAMS[:2]:
            raise TableError(
                f"--with-human {shown(team)} needs rows in memory; on a table in partitions give "
                f"{' or '.join(TEAMS[:2])}."
            )
        return Policy(given, acceptance=cut.acceptance, threshold=cut.threshold, with_human=team)

    def of_model(self, saved: SavedModel, *, with_team: bool = False) -> Any:
        """A model, in the form that the metrics need."""
        if self.policy_measures.by_policy:
            return self._policy(saved, with_team)
        if self.policy_measures.cut.threshold is None:
            return saved
        subject = read_predictions(saved, self.loaded.prepared.data, "model")
        if not subject.has_scores:
            raise TableError("--threshold needs scores, and this model has none; leave it out.")
        scores, threshold = subject.score(self.failure), self.policy_measures.cut.threshold
        if not scores.min() < threshold <= scores.max():
            # A threshold meant for another column of scores would give every case the same class.
            raise TableError(
                f"--threshold {threshold:g} gives every case one class: scores of this model are "
                f"{digits(scores.min(), 3)} to {digits(scores.max(), 3)}. To cut a column only, let the "
                "model predict first (selective-labels predict) and give its predictions as a column, too."
            )
        return self._cut(scores)

    def of_class(self, label: Any, *, with_team: bool = False) -> Any:
        """A constant class; if it is evaluated by cost, a policy that accepts all cases or none."""
        if not self.policy_measures.by_policy:
            return label
        if self.loaded.lazy is not None:
            raise TableError("One class for everybody is no policy on a table in partitions; give a column.")
        risk = np.full(len(self.loaded.frame), float(label == self.classes[self.failure]))
        if self.policy_measures.cost is None:
            return self._policy(risk, with_team)
        return Policy(risk, threshold=HALF, with_human=self._with_human(risk) if with_team else None)

    def _policy(self, score: Any, with_team: bool) -> Policy:
        cut = self.policy_measures.cut
        team = self._with_human(score) if with_team else None
        return Policy(score, acceptance=cut.acceptance, threshold=cut.threshold, with_human=team)

    def _with_human(self, score: Any) -> Any:
        if self.team is None or self.team in TEAMS[:2]:
            return self.team
        if self.team == UNDECIDED:
            if not isinstance(score, SavedModel):
                raise TableError("--with-human undecided needs a model file as --a: no column says where.")
            features = score.schema.read(self.loaded.prepared.X)
            return ~np.asarray(score.model.decided(features), dtype=bool)
        values = predictions_of(self.loaded.frame, self.team, "--with-human")
        deferred = numbers_of(values, self.team, "--with-human").astype(float)
        if not ((deferred >= 0.0) & (deferred <= 1.0)).all():
            raise TableError(f"--with-human {shown(self.team)} must hold 0 and 1, or shares between them.")
        return deferred

    def _cut(self, scores: np.ndarray) -> np.ndarray:
        failure, other = self.classes[self.failure], self.classes[1 - self.failure]
        return np.where(scores >= self.policy_measures.cut.threshold, failure, other)

    def _scores(self, values: np.ndarray, column: str, option: str) -> np.ndarray:
        """Scores of the failure; with two classes, probabilities of both unless AUC is the only metric."""
        scores = numbers_of(values, column, option).astype(float)
        if set(self.policy_measures.metrics) == {"auc"} or len(self.classes) != 2:
            return scores
        if not ((scores >= 0.0) & (scores <= 1.0)).all():
            name = next(name for name in self.policy_measures.metrics if name != "auc")
            raise TableError(f"{option} {shown(column)}: {name} needs probabilities between 0 and 1.")
        both = np.column_stack([1.0 - scores, scores])
        return both if self.failure == 1 else both[:, ::-1]

    def _hint(self, values: np.ndarray, column: str, option: str) -> str:
        name = next(name for name in self.policy_measures.metrics if name not in OF_SCORES)
        words = several([str(each) for each in self.classes])
        strange = [
            str(each) for each in pd.unique(pd.Series(values)) if str(each) not in map(str, self.classes)
        ]
        if pd.api.types.is_numeric_dtype(values) or read_numbers(pd.Series(values)).numbers.notna().all():
            failure = shown(self.classes[self.failure])
            return (
                f"{option} {shown(column)} holds scores ({several(strange, 2)}), and {name} needs classes "
                f"({words}): give --threshold NUMBER, from which on a score means {failure}, or ask for "
                "--metric auc, or for --metric failures with --acceptance SHARE."
            )
        return f"{option} {shown(column)} holds {several(strange, 3)}, and the classes are {words}."


def holds_scores(loaded: Loaded, columns: Sequence[str | None]) -> bool:
    """Whether one of the names is a column of numbers that are not classes."""
    classes = loaded.prepared.data.classes
    for column in columns:
        if column is None or column not in loaded.frame.columns:
            continue
        values = loaded.frame[column].dropna()
        if classes_of(values.to_numpy(), classes) is None and read_numbers(values).numbers.notna().all():
            return True
    return False


def compared_rule(
    judging: Judging, given: str, option: str, models: dict[str, SavedModel], *, with_team: bool = False
) -> Any:
    """Interpret --a or --b as in :func:`contestant`, and return the form that the metrics need."""
    if is_word(given, option):
        return HUMAN
    if judging.loaded.lazy is not None and (given in judging.loaded.frame.columns or given in models):
        return judging.of_parts(models.get(given, given), with_team=with_team)
    if given in judging.loaded.frame.columns:
        return judging.of_column(given, option, with_team=with_team)
    if given in models:
        return judging.of_model(models[given], with_team=with_team)
    found = contestant(given, option, judging.loaded.frame, judging.classes, models)
    return judging.of_class(found, with_team=with_team)


def training_share(saved: SavedModel, prepared: PreparedTable) -> float:
    """Share of a model's training rows that are in the table."""
    features = saved.schema.read(prepared.X)
    return saved.schema.share_of_training_rows(features, prepared.recognised_by)
