"""Preparation of a table for the library: choice and conversion of features, checks, and label coding."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from selective_labels._errors import InputError, TableError, several, shown
from selective_labels._vocabulary import Vocabulary
from selective_labels.data.features import (
    CATEGORY,
    DATE,
    NUMBER,
    YEAR_LAST,
    has_leading_zero,
    kind_by_content,
    leaking_columns,
    looks_like_code,
    looks_like_dates,
    read_dates,
    read_numbers,
    without_zone,
)
from selective_labels.data.panels import sharing_suggested
from selective_labels.data.roles import HOLE
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.io.table_roles import (
    Roles,
    hole_words,
    read_decision,
    refuse_hole_words,
    require_column,
)


def as_kind(column: pd.Series, kind: str) -> pd.Series:
    """Convert a column to numbers (float), dates (datetime64) or text. Missing values stay missing.

    Examples
    --------
    >>> as_kind(pd.Series([1, 2]), "category").tolist(), as_kind(pd.Series([True, None]), "number").tolist()
    (['1', '2'], [1.0, nan])
    >>> as_kind(pd.Series(["31", "old"], name="age"), "number")
    Traceback (most recent call last):
    ...
    selective_labels._errors.TableError: Column 'age' must hold numbers; row 2 holds 'old'.
    """
    if kind == NUMBER:
        return _as_numbers(column)
    return _as_text(column) if kind == CATEGORY else _as_date_column(column)


def _as_numbers(column: pd.Series) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(column):
        raise TableError(f"Column {shown(column.name)} must hold numbers; it holds dates.")
    numbers = read_numbers(column.astype(object).dropna()).numbers.reindex(column.index)
    _refuse(column, column.notna() & numbers.isna(), "numbers")
    return numbers


def _as_date_column(column: pd.Series) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(column):
        return without_zone(column)
    text = column.dropna().astype(str)
    dates = read_dates(text) if len(text) else pd.Series(dtype="datetime64[ns]")
    if dates is None:
        _refuse(column, column.notna() & ~column.index.isin(text[text.map(_is_date)].index), "dates")
        raise TableError(f"Column {shown(column.name)} must hold dates, written like 2024-12-31.")
    return dates.reindex(column.index)


def _refuse(column: pd.Series, wrong: pd.Series, what: str) -> None:
    if wrong.any():
        first = int(wrong.to_numpy().argmax())
        value = shown(column.iloc[first])
        raise TableError(f"Column {shown(column.name)} must hold {what}; row {first + 1:,} holds {value}.")


def _as_text(column: pd.Series) -> pd.Series:
    """Convert to text. Whole numbers have no decimal point, even if the column has missing values."""
    if pd.api.types.is_float_dtype(column):
        finite = column.dropna()
        if np.isfinite(finite).all() and (finite == finite.round()).all():
            column = column.astype("Int64")
    return column.astype(object).map(str, na_action="ignore").where(column.notna(), None).astype(object)


def _is_date(value: str) -> bool:
    return read_dates(pd.Series([value])) is not None


# With fewer rows, all values of a legitimate feature may differ.
MIN_ROWS_OF_ID = 50
DISTINCT_SHARE_OF_ID = 0.9


@dataclass(frozen=True)
class LeftOut:
    """A column that is not used, and the reason."""

    name: str
    reason: str


def chosen_columns(
    columns: Sequence[str],
    features: Iterable[str] = (),
    exclude: Iterable[str] = (),
    taken: Iterable[str] = (),
) -> tuple[list[str], set[str]]:
    """Columns that match names or patterns, and those that are given by their exact name.

    Parameters
    ----------
    features, exclude : iterables of str
        Names or shell patterns such as "x_*", possibly separated by commas. Without `features`, all columns.
    taken : iterable of str
        Columns with another role. Patterns skip them. Naming one raises an error.

    Examples
    --------
    >>> chosen_columns(["x_1", "x_2", "age", "y"], features=["x_*,age"], exclude=["x_2"], taken=["y"])
    (['x_1', 'age'], {'age'})
    """
    taken = set(taken)
    wanted, named = _matched(columns, features, "--features")
    for column in named & taken:
        raise TableError(f"--features names {shown(column)}, which has another role already.")
    unwanted, _ = _matched(columns, exclude, "--exclude")
    pool = set(columns) if not list(features) else wanted
    chosen = [column for column in columns if column in pool - unwanted - taken]
    if not chosen:
        raise TableError("No feature is left: give --features, or fewer --exclude.")
    return chosen, named


def without_ids(
    frame: pd.DataFrame, kinds: dict[str, str], keep: Iterable[str] = ()
) -> tuple[list[str], list[LeftOut]]:
    """Separate features that look like ids from the others.

    Text with more than 90 % distinct values and whole numbers that are all distinct look like ids. With fewer
    than 50 rows, no column does.

    Examples
    --------
    >>> frame = pd.DataFrame({"case": range(60), "age": [30.5, 41.0] * 30})
    >>> names, left_out = without_ids(frame, {"case": "number", "age": "number"})
    >>> names, left_out[0].name
    (['age'], 'case')
    """
    keep = set(keep)
    left_out = [
        LeftOut(name, "looks like an id: (nearly) every value is different" + _date_hint(frame[name]))
        for name, kind in kinds.items()
        if name not in keep and _looks_like_id(frame[name], kind)
    ]
    dropped = {each.name for each in left_out}
    names = [name for name in kinds if name not in dropped]
    if not names:
        raise TableError(
            f"No feature is left: {several(sorted(dropped))} look like ids; name one in --features."
        )
    return names, left_out


def _date_hint(column: pd.Series) -> str:
    """Hint for dates in which the order of day and month is ambiguous.

    Examples
    --------
    >>> _date_hint(pd.Series(["31.12.2024 16:08", None])), _date_hint(pd.Series(["V100"]))
    ('; if these are dates, write them as 2024-12-31', '')
    """
    first = str(next(iter(column.dropna()), ""))
    written = re.match(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b", first)
    return "; if these are dates, write them as 2024-12-31" if written else ""


def refuse_leaks(
    features: pd.DataFrame,
    label: np.ndarray,
    decision: np.ndarray,
    names: tuple[str, str],
    allowed: Iterable[str] = (),
) -> None:
    """Raise :class:`TableError` if a feature alone (nearly) reveals the observed label or the decision.

    Parameters
    ----------
    features : pandas.DataFrame
    label, decision : (n_samples,) int arrays
        Codes. The decision is 1 where the label is observed.
    names : pair of str
        Names of label and decision in messages.
    allowed : iterable of str
        Features that are not checked.
    """
    allowed = set(allowed)
    suspects = features[[column for column in features.columns if column not in allowed]]
    seen = (decision == 1) & (label != HOLE)
    everywhere = np.ones_like(seen)
    for target, where, what in ((label, seen, names[0]), (decision, everywhere, names[1])):
        leaks = leaking_columns(suspects[where], target[where])
        if leaks:
            one = len(leaks) == 1
            columns = (
                f"Column {shown(leaks[0])} (nearly) gives"
                if one
                else f"Columns {several(leaks)} each (nearly) give"
            )
            raise TableError(
                f"{columns} away {what}; leave out what is not known before the decision "
                f"(--exclude, or name the --features), or keep it with --allow-leak {shown(leaks[0])}."
            )


def _matched(columns: Sequence[str], patterns: Iterable[str], option: str) -> tuple[set[str], set[str]]:
    """Columns matched by names or patterns, and those matched by name."""
    known = set(columns)
    matched: set[str] = set()
    named: set[str] = set()
    for given in patterns:
        # A name may contain a comma.
        parts = [given] if given in known else [part.strip() for part in given.split(",") if part.strip()]
        if not parts:
            raise TableError(f"{option} is empty: give a name or a pattern.")
        for part in parts:
            found = {part} if part in known else {column for column in columns if fnmatchcase(column, part)}
            if not found:
                require_column(pd.DataFrame(columns=list(columns)), part, option)
            matched |= found
            named |= found & {part}
    return matched, named


def _looks_like_id(column: pd.Series, kind: str) -> bool:
    values = column.dropna()
    if len(column) < MIN_ROWS_OF_ID or not len(values):
        return False
    if kind == CATEGORY:
        return bool(values.nunique() > DISTINCT_SHARE_OF_ID * len(values))
    if kind != NUMBER or len(values) < MIN_ROWS_OF_ID:
        return False
    numbers = values.to_numpy(dtype=float)
    return bool(np.isfinite(numbers).all() and (numbers == np.round(numbers)).all() and values.is_unique)


OUTPUT_NAMES = re.compile(
    r"(.*[_ .\-])?(scores?|prob|probs|proba|probability|pred|preds|predicted|predictions?|y_?hat|y_?pred|"
    r"guess|logits?|risk_?scores?|pd)([_ .\-](\d+|v\d+|old|new|a|b|model|prob\w*|score|class|label|default|"
    r"decile|band|grade))*"
)
# Scores that are measured or bought before the decision, and are legitimate features.
KNOWN_SCORES = re.compile(r"(?i).*(credit|fico|bureau|vantage|beacon|schufa|apgar|test|exam|glasgow|gpa)")
# A column of shares with at least this AUC for labels or decisions is probably a model's output.
SUSPICIOUS = 0.9
FEWEST_VALUES = 20
MAX_ROWS = 20_000


def model_outputs(
    X: pd.DataFrame, kinds: dict[str, str], label: pd.Series, decision: pd.Series | None
) -> list[LeftOut]:
    """Features named like a model's output, or with values in [0, 1] that rank cases as one would.

    Parameters
    ----------
    X : pandas.DataFrame
        Converted features.
    kinds : dict of str
        Kinds by feature.
    label, decision : pandas.Series
        The decision is coded as 0 and 1, or None.

    Examples
    --------
    >>> X = pd.DataFrame({"age": [31.0, 40.0], "old_score": [0.2, 0.7], "credit_score": [700.0, 600.0]})
    >>> found = model_outputs(X, dict.fromkeys(X, "number"), pd.Series([0, 1]), None)
    >>> [(each.name, each.reason) for each in found]
    [('old_score', "is named like a model's output; --include 'old_score' makes it a feature")]
    """
    found = {name: "is named like a model's output" for name in map(str, X) if _is_named_so(name)}
    seen = (label.notna() if decision is None else decision == 1).to_numpy()
    drawn = np.random.default_rng(0).permutation(len(X))[:MAX_ROWS]
    labels = pd.factorize(label.where(pd.Series(seen, index=label.index)))[0]
    targets = (
        (labels[drawn], seen[drawn], "labels that are seen"),
        (seen.astype(int)[drawn], np.ones(len(drawn), dtype=bool), "decisions"),
    )
    for name in map(str, X):
        if name in found or kinds[name] != NUMBER or not _is_share(X[name]):
            continue
        values = X[name].to_numpy()[drawn]
        for target, rows, what in targets:
            area = _best_area(values[rows], target[rows])
            if area >= SUSPICIOUS:
                found[name] = f"holds shares that order the {what} as a model's output would (AUC {area:.2f})"
                break
    return [
        LeftOut(name, f"{reason}; --include {name!r} makes it a feature") for name, reason in found.items()
    ]


def _is_named_so(name: str) -> bool:
    tidy = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip()).lower()
    return OUTPUT_NAMES.fullmatch(tidy) is not None and KNOWN_SCORES.match(tidy) is None


def _is_share(column: pd.Series) -> bool:
    values = column.dropna()
    inside = len(values) > 0 and bool(values.between(0.0, 1.0).all())
    return inside and values.nunique() >= FEWEST_VALUES


def _best_area(values: np.ndarray, target: np.ndarray) -> float:
    """Largest AUC over classes and over both directions of the ranking."""
    present = ~np.isnan(values)
    ranks, target = rankdata(values[present]), target[present]
    areas = [0.5]
    for each in np.unique(target):
        n_of, n_rest = int((target == each).sum()), int((target != each).sum())
        if min(n_of, n_rest) >= FEWEST_VALUES:
            area = (ranks[target == each].sum() - n_of * (n_of + 1) / 2) / (n_of * n_rest)
            areas.append(max(area, 1.0 - area))
    return float(max(areas))


def predictions_of(frame: pd.DataFrame, column: str, option: str = "--predictions") -> np.ndarray:
    """Column of predictions. Raise :class:`TableError` if a row has none."""
    require_column(frame, column, option)
    missing = frame[column].isna()
    if missing.any():
        raise TableError(
            f"{option}: column {shown(column)} has no prediction in {missing.sum():,} rows (the first is row "
            f"{missing.to_numpy().argmax() + 1:,}); give every case one, or a score with --missing-score "
            "(highest: the riskiest)."
        )
    return frame[column].to_numpy()


def classes_of(values: np.ndarray, classes: np.ndarray) -> np.ndarray | None:
    """Convert predictions to classes if every one is the name of a class, else return None.

    Examples
    --------
    >>> classes_of(np.array([1.0, 0.0]), np.array([0, 1])), classes_of(np.array([0.4]), np.array([0, 1]))
    (array([1, 0]), None)
    """
    names = {str(each): place for place, each in enumerate(classes.tolist())}
    codes, unique = pd.factorize(pd.Series(values))
    places = [names.get(_name(each), -1) for each in unique.tolist()]
    return None if -1 in places else classes[np.asarray(places, dtype=int)[codes]]


def _name(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def numbers_of(values: np.ndarray, column: str, option: str) -> np.ndarray:
    """Scores as numbers. Text such as "72 %" is parsed."""
    numbers = read_numbers(pd.Series(values, dtype=object, name=column)).numbers
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        first = shown(values[int(wrong.to_numpy().argmax())])
        raise TableError(f"{option} {shown(column)} must hold scores, that is numbers; it holds {first}.")
    return numbers.to_numpy()


def pos_label_of(name: str | None, classes: np.ndarray) -> Any:
    """Class named by --pos-label."""
    if name is None:
        return None
    for each in classes.tolist():
        if str(each) == name:
            return each
    raise TableError(
        f"--pos-label {shown(name)} is not a class; there are {several([str(c) for c in classes])}."
    )


def subgroups_of(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame | None:
    """Subgroup columns, or None."""
    for column in columns:
        require_column(frame, column, "--by")
    return frame[list(columns)] if columns else None


# With a smaller share of other values, a column was probably meant to be numeric.
MOSTLY = 0.5
# With more distinct values, text is rarely meant as a category.
MANY_VALUES = 100


def reading_of(column: pd.Series, kind: str, chosen: bool = False) -> str:
    """Sentence on how the text of a feature was interpreted. Empty if it was read as written.

    Parameters
    ----------
    column : Series
    chosen : bool
        Whether the user chose this kind. Then many distinct values are expected.

    Examples
    --------
    >>> reading_of(pd.Series(["$5,750", "80"], name="amount"), "number")
    "'amount' holds numbers with the currency sign $ and separators of thousands: '$5,750' is read as 5750."
    >>> reading_of(pd.Series(["02139"], name="zip"), "category")
    "'zip' holds codes with leading zeros, such as '02139', so categories; --number 'zip' makes them numbers."
    >>> reading_of(pd.Series(["120", "?", "95"], name="bp"), "category")
    "'bp' holds numbers, but 1 of 3 values, such as '?', are none, so that it is a category; --missing '?' if
    that means missing."
    >>> reading_of(pd.Series([f"{high}/80" for high in range(80, 220)], name="bp"), "category")
    "'bp' is a category of 140 different values, such as '80/80': --exclude 'bp' if they mean nothing for new
    cases, --groups 'bp' if they name what several rows are about, or split them into columns of their own."
    >>> reading_of(pd.Series(["02139"], name="zip"), "number")
    "'zip' loses leading zeros as a number: '02139' is read as 2139; --category 'zip' keeps them."
    """
    values = column.dropna()
    if not len(values) or not values.map(lambda value: isinstance(value, str)).all():
        return ""
    name = shown(column.name)
    if kind == CATEGORY:
        return _of_category(values, name, "" if chosen else _of_many(values, name))
    return _of_numbers(values, name) if kind == NUMBER else ""


def _of_many(values: pd.Series, name: str) -> str:
    count = values.nunique()
    if count <= MANY_VALUES:
        return ""
    return (
        f"{name} is a category of {count:,} different values, such as {shown(values.iloc[0])}: --exclude "
        f"{name} if they mean nothing for new cases, --groups {name} if they name what several rows are "
        "about, or split them into columns of their own."
    )


def _of_category(values: pd.Series, name: str, many: str) -> str:
    if looks_like_code(values):
        first = values[has_leading_zero(values.str.strip())].iloc[0]
        return (
            f"{name} holds codes with leading zeros, such as {shown(first)}, so categories; --number {name} "
            f"makes them numbers. {many}"
        ).rstrip()
    if values.str.strip().str.fullmatch(YEAR_LAST.pattern).all():
        return (
            f"{name} looks like {DATE}s, but nothing tells day from month ({shown(values.iloc[0])}), so that "
            "it is a category; write 2024-12-31."
        )
    numbers = read_numbers(values).numbers
    others = values[numbers.isna()]
    if len(others) and len(others) < MOSTLY * len(values):
        word = others.mode().iloc[0]
        return (
            f"{name} holds numbers, but {len(others):,} of {len(values):,} values, such as {shown(word)}, "
            f"are none, so that it is a category; --missing {shown(word)} if that means missing."
        )
    return many


def _of_numbers(values: pd.Series, name: str) -> str:
    numbers, marks = read_numbers(values)
    if marks:
        written = pd.to_numeric(values, errors="coerce").isna()
        first = values[written].iloc[0] if written.any() else values.iloc[0]
        words = marks[0] if len(marks) == 1 else f"{', '.join(marks[:-1])} and {marks[-1]}"
        read = numbers[written].iloc[0] if written.any() else numbers.iloc[0]
        return f"{name} holds numbers with {words}: {shown(first)} is read as {read:.12g}."
    padded = values[has_leading_zero(values.str.strip())]
    if len(padded):
        return (
            f"{name} loses leading zeros as a number: {shown(padded.iloc[0])} is read as "
            f"{float(padded.iloc[0]):.12g}; --category {name} keeps them."
        )
    return ""


# With more distinct values, a label does not hold classes.
MAX_CLASSES = 100
# Keywords of the library that differ from the names of roles.
KEYWORDS = {"label": "y", "weight": "sample_weight"}


@dataclass(frozen=True)
class FeatureRules:
    """Rules for the choice of features; see the command-line options.

    Attributes
    ----------
    also : sequence of str
        Columns that are always features, such as those of a model.
    not_features : sequence of str
        Columns that are never features, such as predictions.
    kinds : dict of str
        Known kinds, by column.
    accepted : sequence of str
        Values of the decision for which the label is observed; see :func:`read_decision`.
    classes : sequence of str
        Label values that read like a missing value but are classes.
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
    """A table split into features and roles.

    Attributes
    ----------
    X : pandas.DataFrame
        Features: numbers as float, dates as datetime64, categories as text.
    kinds : dict of str
        Kinds by feature.
    data : SelectiveLabels
        The same rows as validated input for the library.
    columns : dict of pandas.Series
        Role columns by the library's keyword. "y" is the label.
    readings : tuple of str
        Sentences on values that were interpreted differently from how they are written.
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
        """Label column (missing where the case was declined)."""
        return self.columns["y"]

    @property
    def sharing_suggested(self) -> bool:
        """Whether labels seem to belong to the groups."""
        return sharing_suggested(self.data)

    @property
    def recognised_by(self) -> list[pd.Series]:
        """Columns that, together with the features, identify a row."""
        return [self.y, self.columns["decision_maker"]]


def prepare_table(
    frame: pd.DataFrame,
    roles: Roles,
    rules: FeatureRules = ALL_FEATURES,
    *,
    share_labels: bool = False,
    pending: str | None = None,
    vocabulary: Vocabulary | None = None,
) -> PreparedTable:
    """Choose and convert features, check the roles, and raise :class:`TableError` for leaks.

    `share_labels`, `pending` and `vocabulary` are those of
    :meth:`selective_labels.SelectiveLabels.from_arrays`.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [30, 41, 25], "officer": ["a", "b", "a"], "failed": ["no", None, "yes"]})
    >>> table = prepare_table(frame, Roles(label="failed", decision_maker="officer"))
    >>> table.kinds, table.data.y
    ({'age': 'number'}, array([ 0, -1,  1]))
    """
    for column in rules.allow_leak:
        require_column(frame, column, "--allow-leak")
    columns, said = _role_columns(frame, roles, rules, pending)
    names, named = _feature_names(frame, roles, rules)
    kinds = feature_kinds(frame, names, rules, roles.strata)
    request = {*named, *rules.also}
    X = pd.DataFrame({name: as_kind(frame[name], kinds[name]) for name in names})
    kept, left_out = without_ids(X, kinds, keep=request)
    suspects = [name for name in kept if name not in request]
    outputs = model_outputs(X[suspects], kinds, columns["y"], columns.get("decision"))
    kept = _without(kept, outputs)
    X = X[kept]
    if share_labels and roles.groups is None:
        raise TableError("--share-labels needs --groups: which rows are one case.", "groups")
    given = columns | {"kinds": [kinds[name] for name in kept], "share_labels": share_labels}
    given["pending"] = pending
    given["vocabulary"] = vocabulary
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
    """Kind of every feature: known, requested, or inferred. Strata are names, hence categories."""
    every = list(frame.columns)
    request = {} if strata is None else {strata: CATEGORY}
    for given, kind in ((rules.category, CATEGORY), (rules.number, NUMBER)):
        chosen = chosen_columns(every, given)[0] if given else []
        request |= dict.fromkeys(chosen, kind)
    both = set(chosen_columns(every, rules.category)[0]) if rules.category and rules.number else set()
    for name in sorted(both & set(chosen_columns(every, rules.number)[0] if both else ())):
        raise TableError(f"Column {shown(name)} is given both as --category and as --number.")
    return {
        name: rules.kinds.get(name) or request.get(name) or kind_by_content(frame[name]) for name in names
    }


def _meant_as_they_are(every: list[str], roles: Roles, rules: FeatureRules) -> set[str]:
    """Columns that the user or a model declared to be categories."""
    request = chosen_columns(every, rules.category)[0] if rules.category else []
    return {*request, *rules.kinds, *([] if roles.strata is None else [roles.strata])}


def _feature_names(frame: pd.DataFrame, roles: Roles, rules: FeatureRules) -> tuple[list[str], set[str]]:
    # The decision-maker and the outcome are no features. The stratum is known before the decision.
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


def _role_columns(
    frame: pd.DataFrame, roles: Roles, rules: FeatureRules, pending: str | None
) -> tuple[dict[str, pd.Series], str]:
    """Role columns by the library's keyword, and a sentence on how the decision was interpreted."""
    columns = {KEYWORDS.get(role, role): frame[column] for column, role in roles.columns.items()}
    said = ""
    if roles.decision is not None:
        columns["decision"], said = read_decision(frame[roles.decision], columns["y"], rules.accepted)
    elif rules.accepted:
        raise TableError("--accepted needs --decision: the column whose values it speaks of.")
    decision = columns.get("decision")
    refuse_hole_words(columns["y"], hole_words(columns["y"], decision, rules.classes))
    if decision is not None and pending is None:
        _refuse_accepted_holes(columns["y"], decision)
    columns["y"] = label_values(columns["y"], decision)
    if roles.matured is not None:
        columns["matured"] = _due_dates(columns["matured"])
    return columns, said


def _due_dates(column: pd.Series) -> pd.Series:
    """Dates, or 0 and 1, of a column that says when outcomes mature."""
    numbers = read_numbers(column.astype(object).dropna()).numbers.reindex(column.index)
    return numbers if numbers.notna().sum() == column.notna().sum() else _as_date_column(column)


def _refuse_accepted_holes(label: pd.Series, decision: pd.Series) -> None:
    wrong = (label.isna() & (decision == 1)).to_numpy()
    if wrong.any():
        raise TableError(
            f"The label {shown(label.name)} is missing where decision is 1 in {wrong.sum():,} rows (the "
            f"first is row {wrong.argmax() + 1:,}): if these outcomes are not known yet, give --pending "
            "at-random or --pending worst-case (pending= in Python); if the labels were lost, drop the rows."
        )


def label_values(column: pd.Series, decision: pd.Series | None = None) -> pd.Series:
    """Labels as classes. Whole numbers stay integers beside missing values; dates and decimals raise errors.

    Only observed labels are checked.

    Examples
    --------
    >>> label_values(pd.Series([1.0, None])).tolist()
    [1, <NA>]
    >>> label_values(pd.Series(["2024-01-31", None], name="when"))
    Traceback (most recent call last):
    ...
    selective_labels._errors.TableError: The label 'when' holds dates; a label is a class, say 0 and 1.
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
    # Larger floats are always whole, because their precision has no decimals.
    return column.astype("Int64") if _whole(column) and (column.dropna().abs() <= 2**53).all() else column


def _decimals(values: pd.Series) -> bool:
    """Whether all values are numbers and some are not whole, including numbers stored as text.

    Whole numbers stored as Python objects are skipped, because they may be too long for a float.

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
    """Whether conversion to integers loses nothing."""
    values = column.dropna()
    return bool((np.isfinite(values) & (values == values.round())).all())


def _checked(X: pd.DataFrame, given: dict[str, Any], roles: Roles) -> SelectiveLabels:
    """Build the validated data, and name the user's columns in error messages."""
    try:
        return SelectiveLabels.from_arrays(X, **given)
    except InputError as error:
        for role, column in roles.to_dict().items():
            if column is not None and error.argument == KEYWORDS.get(role, role):
                words = role.replace("_", "-")
                raise TableError(error.said_of(f"The {words} {shown(column)}"), error.argument) from None
        raise TableError(str(error), error.argument) from None
