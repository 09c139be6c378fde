"""From the options of a command to a table with its roles, models, and predictions."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import typer

from selective_labels.cli.config import save_config
from selective_labels.cli.options import FileOptions, OutputOptions, TableOptions
from selective_labels.data.drawing import reweighted
from selective_labels.data.lazy import SAMPLE_ROWS, PartitionedLabels
from selective_labels.features.kinds import CATEGORY
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.partitions.sources import ParquetSource
from selective_labels.passes.learning_curve import draw_rows
from selective_labels.saving import SavedModel, load_model
from selective_labels.saving.atomic import require_writable
from selective_labels.support.words import several, shown
from selective_labels.tables import (
    FeatureRules,
    PreparedTable,
    TableError,
    find_roles,
    prepare_table,
)
from selective_labels.tables.databases import without_password
from selective_labels.tables.holes import hole_words
from selective_labels.tables.partitioned import as_labels, partitions_of, shown_rows
from selective_labels.tables.predicted import predictions_of
from selective_labels.tables.read import OpenTable, open_table
from selective_labels.tables.roles import OPTIONS, Roles

HUMAN = "human"
MODEL_SUFFIX = ".skops"
# What may be human: the other of two.
OTHERS = ("--b", "--against")


# Roles whose columns name somebody or something; the others hold numbers.
NAMING_ROLES = ("label", "decision_maker", "strata", "groups")


def open_source(source: str, file: FileOptions) -> OpenTable:
    """Take the content of the table of a command."""
    how = {"separator": file.separator, "encoding": file.encoding, "sheet": file.sheet, "sql": file.sql}
    return open_table(source, missing=file.missing or (), **how)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Loaded:
    """A table as read, and with its roles taken apart; of one in partitions, some rows of it.

    Attributes
    ----------
    name : str
    frame : pandas.DataFrame
    prepared : PreparedTable
    lazy : PartitionedLabels or None
        The whole table, if it is read in parts.
    sampled : bool
        Whether the rows in memory are all that the command works on.
    """

    name: str
    frame: pd.DataFrame
    prepared: PreparedTable
    lazy: PartitionedLabels | None = None
    sampled: bool = False

    @property
    def data(self) -> Any:
        """What numbers about the whole table are computed from."""
        return self.prepared.data if self.lazy is None else self.lazy

    @property
    def classes(self) -> np.ndarray:
        """Sorted classes of the whole table."""
        return self.prepared.data.classes if self.lazy is None else self.lazy.classes


@dataclass(frozen=True)
class Source:
    """Everything that a command was told about its table."""

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
        """Read the table, find its roles (asking if they are guessed), choose its features.

        Of a table in partitions, the rows in memory are a sample, or those that a model is fitted to; a few
        rows, to find roles and features by, if the command works on all of them `lazily`.

        Parameters
        ----------
        models : sequence of SavedModel
            Whose features are features here too.
        not_features : sequence of str
            Columns such as predictions; those that do not exist are for someone else to refuse.
        lazily : bool
        fitting : FittingSettings, optional
            Of the model that the rows are for.
        """
        save_to = self.output.save_config
        if save_to is not None:
            require_writable(save_to)
        kinds = {name: kind for model in models for name, kind in model.schema.kinds.items()}
        parts = partitions_of(self.name)
        if self.table.keep_scores is not None and (parts is None or not lazily):
            raise TableError("--keep-scores is for commands that score all rows of a table in partitions.")
        if parts is None:
            opened = open_source(self.name, self.file)
            frame, roles = self._frame_and_roles(opened, self._texts(kinds))
            folds = self.context.params.get("folds") or 0
            if folds > len(frame):
                raise TableError(f"--folds {folds:,} are more than the {len(frame):,} cases; give fewer.")
        else:
            frame = shown_rows(parts)
            roles = _roles(frame, self.table)
        frame, known = self._ask_about_holes(frame, roles.label)
        for model in models:
            model.schema.read(frame)  # says which column is missing
        rules = replace(self._rules(frame, kinds, not_features), classes=known)
        prepared = prepare_table(frame, roles, rules, share_labels=self.table.share_labels)
        lazy = None
        if parts is None:
            frame = _with_classes(frame, opened, prepared.data.classes, not_features)
        else:
            lazy = self._lazy(parts, prepared)
            if not lazily:
                rules = replace(rules, features=[*prepared.kinds], also=[*prepared.kinds])
                frame, prepared = _sampled(lazy, roles, rules, parts.columns, fitting)
        if save_to is not None:
            save_config(self.context, save_to, roles.to_dict())
        return Loaded(
            without_password(self.name), frame, prepared, lazy, sampled=lazy is not None and not lazily
        )

    def _lazy(self, parts: ParquetSource, prepared: PreparedTable) -> PartitionedLabels:
        if self.table.share_labels:
            raise TableError("--share-labels needs rows in memory; give one table that is not in partitions.")
        if prepared.readings:
            raise TableError(
                f"{self.name} is read in parts, as it is written, and this is not: {prepared.readings[0]} "
                "Write the column so that it needs no reading."
            )
        kept = self.table.keep_scores
        return as_labels(parts, prepared.roles, list(prepared.kinds), self.table.fit_rows, kept)

    def _frame_and_roles(self, opened: OpenTable, texts: list[str]) -> tuple[pd.DataFrame, Roles]:
        """The table with its roles, whose ids and labels are as they are written."""
        given = [name for role in NAMING_ROLES if (name := getattr(self.table, role)) is not None]
        frame = opened.read(texts, given)
        roles = _roles(frame, self.table)
        found = [name for role in NAMING_ROLES if (name := roles.to_dict()[role]) is not None]
        return frame if set(found) <= set(given) else opened.read(texts, found), roles

    def _ask_about_holes(self, frame: pd.DataFrame, label: str) -> tuple[pd.DataFrame, list[str]]:
        """On a terminal, ask what words such as "unknown" mean; elsewhere they are refused, with remedies."""
        known = list(self.table.classes or ())
        if not _somebody_answers():
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
        """Columns that are read as they are written."""
        asked = [part.strip() for given in self.table.category or () for part in given.split(",")]
        return [*asked, *(name for name, kind in kinds.items() if kind == CATEGORY)]

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


def _sampled(
    lazy: PartitionedLabels,
    roles: Roles,
    rules: FeatureRules,
    columns: Sequence[str],
    fitting: FittingSettings | None,
) -> tuple[pd.DataFrame, PreparedTable]:
    """Rows of a table in partitions: a sample, or those that a model is fitted to, with their weights."""
    if fitting is None:
        frame, factors = lazy.sample_frame(lazy.fit_rows or SAMPLE_ROWS, others=columns), None
    else:
        drawn = draw_rows(lazy, 0, columns).by_curve(fitting)
        frame, factors = drawn.frame, drawn.factors
    prepared = prepare_table(frame, roles, rules)
    lazy.require_all_classes(prepared.data)
    return frame, replace(prepared, data=reweighted(prepared.data, factors))


def _with_classes(
    frame: pd.DataFrame, opened: OpenTable, classes: np.ndarray, columns: Sequence[str | None]
) -> pd.DataFrame:
    """Columns of predictions as text where that is how they name the classes: "07" is not 7."""
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
    """What --a or --b means: a column of predictions, a model file, "human", or a class for everybody."""
    if given in frame.columns:
        return predictions_of(frame, given, option)
    if given in loaded:
        return loaded[given]
    if given == HUMAN and option in OTHERS:
        return HUMAN
    found = [each for each in classes.tolist() if str(each) == given]
    if found:
        return found[0]
    raise TableError(
        f"{option} {shown(given)} is neither a column, nor a model file (.skops), nor a class "
        f"({several([str(each) for each in classes])})" + (", nor human." if option in OTHERS else ".")
    )


def models_among(names: Sequence[str]) -> dict[str, SavedModel]:
    """Load those of several names that are model files, by how they end."""
    return {name: load_model(name) for name in names if name.endswith(MODEL_SUFFIX)}


def _somebody_answers() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _roles(frame: pd.DataFrame, options: TableOptions) -> Roles:
    given = {role: getattr(options, role) for role in OPTIONS}
    roles, guessed = find_roles(frame, given)
    if guessed and not options.yes:
        words = [f"{OPTIONS[role]} {shown(roles.to_dict()[role])}" for role in guessed]
        if not _somebody_answers():
            raise TableError(
                f"Roles are guessed: give {' '.join(words)} if that is right, or --yes to accept."
            )
        for role, reason in guessed.items():
            typer.echo(f"{OPTIONS[role]} {shown(roles.to_dict()[role])}, which {reason}", err=True)
        if not typer.confirm("Are these the roles?", default=True, err=True):
            raise TableError("Roles were not accepted: give --label, --decision and --decision-maker.")
    return roles
