"""From a frame and its roles to what the library takes: features of known kinds, label, decisions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.data import SelectiveLabels
from selective_labels.data.panels import sharing_suggested
from selective_labels.features.kinds import CATEGORY, NUMBER, kind_by_content, looks_like_dates
from selective_labels.support.errors import InputError
from selective_labels.support.words import several, shown
from selective_labels.tables.conversion import as_kind
from selective_labels.tables.decisions import read_decision
from selective_labels.tables.errors import TableError
from selective_labels.tables.features import LeftOut, chosen_columns, refuse_leaks, without_ids
from selective_labels.tables.holes import hole_words, refuse_hole_words
from selective_labels.tables.outputs import model_outputs
from selective_labels.tables.readings import reading_of
from selective_labels.tables.roles import Roles, require_column

# More different labels than this are no classes.
MAX_CLASSES = 100
# The library's keyword of a role, where it is not its name.
KEYWORDS = {"label": "y", "weight": "sample_weight"}


@dataclass(frozen=True)
class FeatureRules:
    """How features are chosen; see the options of the command line.

    Attributes
    ----------
    features, exclude, include, category, number, allow_leak : sequences of str
    also : sequence of str
        Columns that are features whatever else is said, such as those of a model.
    not_features : sequence of str
        Columns that are not, such as predictions.
    kinds : dict of str
        Kinds that are known already, by column.
    accepted : sequence of str
        Values of the decision that reveal the label; see :func:`read_decision`.
    classes : sequence of str
        Values of the label that read like a hole and are classes.
    """

    features: Sequence[str] = ()
    exclude: Sequence[str] = ()
    include: Sequence[str] = ()
    category: Sequence[str] = ()
    number: Sequence[str] = ()
    allow_leak: Sequence[str] = ()
    also: Sequence[str] = ()
    not_features: Sequence[str] = ()
    kinds: dict[str, str] = field(default_factory=dict)
    accepted: Sequence[str] = ()
    classes: Sequence[str] = ()


ALL_FEATURES = FeatureRules()


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A table with its roles taken apart.

    Attributes
    ----------
    X : pandas.DataFrame
        Features: numbers as float, dates as datetime64, categories as text.
    kinds : dict of str
        By feature.
    data : SelectiveLabels
        The same rows, checked: what the library takes.
    columns : dict of pandas.Series
        Columns of the roles, by the library's keyword; "y" is the label.
    roles : Roles
    left_out : tuple of LeftOut
    readings : tuple of str
        What was read otherwise than it is written, one sentence each.
    """

    X: pd.DataFrame
    kinds: dict[str, str]
    data: SelectiveLabels
    columns: dict[str, pd.Series]
    roles: Roles
    left_out: tuple[LeftOut, ...]
    readings: tuple[str, ...] = ()

    @property
    def y(self) -> pd.Series:
        """The label, with holes."""
        return self.columns["y"]

    @property
    def sharing_suggested(self) -> bool:
        """Whether labels look as if they belonged to the groups."""
        return sharing_suggested(self.data)

    @property
    def recognised_by(self) -> list[pd.Series]:
        """Columns besides the features that make a row recognisable."""
        return [self.y, self.columns["decision_maker"]]


def prepare_table(
    frame: pd.DataFrame, roles: Roles, rules: FeatureRules = ALL_FEATURES, *, share_labels: bool = False
) -> PreparedTable:
    """Choose and convert features, check the roles, refuse leaks.

    `share_labels` is that of :meth:`selective_labels.SelectiveLabels.from_arrays`.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [30, 41, 25], "officer": ["a", "b", "a"], "failed": ["no", None, "yes"]})
    >>> table = prepare_table(frame, Roles(label="failed", decision_maker="officer"))
    >>> table.kinds, table.data.y
    ({'age': 'number'}, array([ 0, -1,  1]))
    """
    for column in rules.allow_leak:
        require_column(frame, column, "--allow-leak")
    columns, said = _role_columns(frame, roles, rules)
    names, named = _feature_names(frame, roles, rules)
    kinds = feature_kinds(frame, names, rules, roles.strata)
    asked = {*named, *rules.also}
    X = pd.DataFrame({name: as_kind(frame[name], kinds[name]) for name in names})
    kept, left_out = without_ids(X, kinds, keep=asked)
    suspects = [name for name in kept if name not in asked]
    outputs = model_outputs(X[suspects], kinds, columns["y"], columns.get("decision"))
    kept = _without(kept, outputs)
    X = X[kept]
    if share_labels and roles.groups is None:
        raise TableError("--share-labels needs --groups: which rows are one case.", "groups")
    given = columns | {"kinds": [kinds[name] for name in kept], "share_labels": share_labels}
    data = _checked(X, given, roles)
    seen = (
        "whether the label is seen (is it the --decision?)"
        if roles.decision is None
        else f"the decision {shown(roles.decision)}"
    )
    refuse_leaks(X, data.y, data.row_decision, (f"the label {shown(roles.label)}", seen), rules.allow_leak)
    meant = _meant_as_they_are(list(frame.columns), roles, rules)
    found = (reading_of(frame[name], kinds[name], name in meant) for name in kept)
    readings = tuple(each for each in (said, *found) if each)
    kinds = {name: kinds[name] for name in kept}
    return PreparedTable(X, kinds, data, columns, roles, (*left_out, *outputs), readings)


def feature_kinds(
    frame: pd.DataFrame, names: Sequence[str], rules: FeatureRules, strata: str | None = None
) -> dict[str, str]:
    """Kind of every feature: known, or asked for, or found; strata are names, so categories."""
    every = list(frame.columns)
    asked = {} if strata is None else {strata: CATEGORY}
    for given, kind in ((rules.category, CATEGORY), (rules.number, NUMBER)):
        chosen = chosen_columns(every, given)[0] if given else []
        asked |= dict.fromkeys(chosen, kind)
    both = set(chosen_columns(every, rules.category)[0]) if rules.category and rules.number else set()
    for name in sorted(both & set(chosen_columns(every, rules.number)[0] if both else ())):
        raise TableError(f"Column {shown(name)} is given both as --category and as --number.")
    return {name: rules.kinds.get(name) or asked.get(name) or kind_by_content(frame[name]) for name in names}


def _meant_as_they_are(every: list[str], roles: Roles, rules: FeatureRules) -> set[str]:
    """Columns of which someone, or a model, has said that they are categories."""
    asked = chosen_columns(every, rules.category)[0] if rules.category else []
    return {*asked, *rules.kinds, *([] if roles.strata is None else [roles.strata])}


def _feature_names(frame: pd.DataFrame, roles: Roles, rules: FeatureRules) -> tuple[list[str], set[str]]:
    # Who decides, and what came of it, is no feature; the stratum of a case is known before.
    taken = {column for column, role in roles.columns.items() if role != "strata"} | {*rules.not_features}
    every = list(frame.columns)
    included = set(chosen_columns(every, rules.include, taken=taken)[0]) if rules.include else set()
    if rules.also and not rules.features:
        return list(dict.fromkeys([*rules.also, *(name for name in every if name in included)])), included
    names, named = chosen_columns(every, rules.features, rules.exclude, taken)
    chosen = {*names, *included, *rules.also}
    return [name for name in every if name in chosen], named | included


def _without(names: list[str], left_out: Sequence[LeftOut]) -> list[str]:
    dropped = [each.name for each in left_out]
    kept = [name for name in names if name not in dropped]
    if not kept:
        words = several(dropped)
        raise TableError(f"No feature is left: {words} look like a model's output; --include one.")
    return kept


def _role_columns(frame: pd.DataFrame, roles: Roles, rules: FeatureRules) -> tuple[dict[str, pd.Series], str]:
    """Columns of the roles by the library's keyword, and what is to be said of the decision."""
    columns = {KEYWORDS.get(role, role): frame[column] for column, role in roles.columns.items()}
    said = ""
    if roles.decision is not None:
        columns["decision"], said = read_decision(frame[roles.decision], columns["y"], rules.accepted)
    elif rules.accepted:
        raise TableError("--accepted needs --decision: the column whose values it speaks of.")
    decision = columns.get("decision")
    refuse_hole_words(columns["y"], hole_words(columns["y"], decision, rules.classes))
    if decision is not None:
        _refuse_accepted_holes(columns["y"], decision)
    columns["y"] = label_values(columns["y"], decision)
    return columns, said


def _refuse_accepted_holes(label: pd.Series, decision: pd.Series) -> None:
    wrong = (label.isna() & (decision == 1)).to_numpy()
    if wrong.any():
        raise TableError(
            f"The label {shown(label.name)} has holes where decision is 1 in {wrong.sum():,} rows (the first "
            f"is row {wrong.argmax() + 1:,}): give the label, drop these rows, or leave --decision out; then "
            "a case counts as accepted if its label is seen."
        )


def label_values(column: pd.Series, decision: pd.Series | None = None) -> pd.Series:
    """Labels as classes: whole numbers stay whole beside holes; dates and measurements are refused.

    Only labels that were seen are looked at.

    Examples
    --------
    >>> label_values(pd.Series([1.0, None])).tolist()
    [1, <NA>]
    >>> label_values(pd.Series(["2024-01-31", None], name="when"))
    Traceback (most recent call last):
    ...
    selective_labels.tables.errors.TableError: The label 'when' holds dates; a label is a class, say 0 and 1.
    """
    values = (column if decision is None else column[(decision == 1).to_numpy()]).dropna()
    name = f"The label {shown(column.name)}"
    if looks_like_dates(values):
        raise TableError(f"{name} holds dates; a label is a class, say 0 and 1.")
    if values.nunique() > MAX_CLASSES:
        raise TableError(
            f"{name} holds {values.nunique():,} different values; a label is a class, say 0 and 1."
        )
    if _decimals(values):
        raise TableError(f"{name} holds decimal numbers; a label is a class, say 0 and 1.")
    if not pd.api.types.is_float_dtype(column):
        return column
    # Larger numbers are whole only because floats have no decimals there.
    return column.astype("Int64") if _whole(column) and (column.dropna().abs() <= 2**53).all() else column


def _decimals(values: pd.Series) -> bool:
    """Whether all are numbers and some not whole, also where they stay text because of how they are written.

    Whole numbers that are kept as objects are too long for any float.

    Examples
    --------
    >>> [_decimals(pd.Series(values)) for values in (["1.5", "2"], ["1.5", "b"], [10**400])]
    [True, False, False]
    """
    if pd.api.types.is_bool_dtype(values):
        return False
    cells = [each for each in values.unique() if not isinstance(each, int)]
    numbers = pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce").astype(float)
    return bool(numbers.notna().all()) and not _whole(numbers)


def _whole(column: pd.Series) -> bool:
    """Whether nothing is lost by reading the column as whole numbers."""
    values = column.dropna()
    return bool((np.isfinite(values) & (values == values.round())).all())


def _checked(X: pd.DataFrame, given: dict[str, Any], roles: Roles) -> SelectiveLabels:
    """Let the library check the roles, and say which columns its messages are about."""
    try:
        return SelectiveLabels.from_arrays(X, **given)
    except InputError as error:
        for role, column in roles.to_dict().items():
            if column is not None and error.argument == KEYWORDS.get(role, role):
                words = role.replace("_", "-")
                raise TableError(error.said_of(f"The {words} {shown(column)}"), error.argument) from None
        raise TableError(str(error), error.argument) from None
