"""The central data class: a selectively labeled table whose column roles are named and checked once."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from html import escape
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.utils import _safe_indexing

from selective_labels._errors import InputError, several
from selective_labels._validation import ColumnRoles, as_seed, split_keywords
from selective_labels._vocabulary import ACCEPT, INSPECT, Vocabulary
from selective_labels.data.coding import (
    TableCoding,
    column_names,
    dense,
    features_or_none,
    names_of,
    refuse_repeated_names,
    split_roles,
    warn_of_leaks,
)
from selective_labels.data.features import NUMBER
from selective_labels.data.panels import Panels, sharing_suggested, with_shared_labels
from selective_labels.data.pending import WORST_CASE, check_pending, read_maturity
from selective_labels.data.roles import (
    HOLE,
    ROLES,
    mean_one,
    read_assignment,
    read_cells,
    read_decision_makers,
    read_label_column,
    read_weights,
    refuse_another_order,
)

if TYPE_CHECKING:
    from selective_labels.data.partitioned import PartitionedLabels


def compacted(data: "SelectiveLabels") -> "SelectiveLabels":
    """Drop decision-makers, classes, strata, groups and categories without rows."""
    seen = data.labeled
    if not seen.any():
        raise InputError.about(
            "y", "has no label at all: every label is missing, so there is nothing to learn from."
        )
    makers, maker_codes = np.unique(data.decision_maker_codes, return_inverse=True)
    classes = np.unique(data.y[seen])
    place = np.full(len(data.classes), HOLE)
    place[classes] = np.arange(len(classes))
    features, coding = data.features, data.coding
    if coding is not None:
        coding, features = coding.of_rows(features)
    strata, stratum_labels = data.strata, data.stratum_labels
    if strata is not None and stratum_labels is not None:
        present, strata = np.unique(strata, return_inverse=True)
        stratum_labels = stratum_labels[present]
    panels, people = (None, None) if data.panels is None else data.panels.among(makers)
    own = data.own_decision_maker_codes
    return replace(
        data,
        panels=panels,
        own_decision_maker_codes=None if own is None or people is None else np.searchsorted(people, own),
        features=features,
        coding=coding,
        categorical=data.categorical if coding is None else coding.categorical,
        y=_moved(data.y, place),
        early_label=_moved(data.early_label, place),
        classes=data.classes[classes],
        decision_maker_codes=maker_codes,
        decision_makers=data.decision_makers[makers],
        groups=None if data.groups is None else np.unique(data.groups, return_inverse=True)[1],
        sample_weight=None if data.given_weight is None else mean_one(data.given_weight),
        strata=strata,
        stratum_labels=stratum_labels,
        assignment=_among(data.assignment, makers),
        assignment_function=_function_among(data.assignment_function, makers, data.n_decision_makers),
        complete=True,
    )


def _among(assignment: np.ndarray | None, makers: np.ndarray) -> np.ndarray | None:
    """Assignment probabilities, conditional on the assignment being to one of these decision-makers."""
    return assignment if assignment is None else _kept(assignment, makers)


def _kept(assignment: np.ndarray, makers: np.ndarray) -> np.ndarray:
    if len(makers) == assignment.shape[1]:
        return assignment
    left = assignment[:, makers]
    total = left.sum(axis=1, keepdims=True)
    return np.divide(left, total, out=np.full_like(left, 1.0 / len(makers)), where=total > 0.0)


def _function_among(
    function: Callable[[Any], np.ndarray] | None, makers: np.ndarray, n_makers: int
) -> Callable[[Any], np.ndarray] | None:
    if function is None or len(makers) == n_makers:
        return function
    return lambda X: _kept(np.asarray(function(X), dtype=float), makers)


def _moved(codes: Any, place: np.ndarray) -> Any:
    """Codes of labels in another list of classes; holes stay holes, and so do classes that are not in it."""
    return None if codes is None else np.where(codes == HOLE, HOLE, place[codes])


# With more classes, only their number is shown.
MOST_CLASSES = 8
SHARED = "within groups: seen on one row, seen on all; decision-makers are the panels that saw a case"
SUGGESTED = (
    "several decision-makers saw the same group, and labels within groups agree; if the label belongs to the "
    "group, share_labels=True lets every row count it"
)
LEFT = "style='text-align:left'"
Words = Vocabulary | str | Mapping[str, str] | None


def as_text(data: "SelectiveLabels") -> str:
    """Summarize the data in a few lines of text."""
    lines = [f"{what}: {words}" for what, words in _facts(data)]
    return "\n  ".join([f"SelectiveLabels({_size(data)})", *lines])


def as_html(data: "SelectiveLabels") -> str:
    """Summarize the data in an HTML table."""
    rows = "".join(
        f"<tr><th {LEFT}>{escape(what)}</th><td {LEFT}>{escape(words)}</td></tr>"
        for what, words in _facts(data)
    )
    return f"<div><strong>SelectiveLabels, {_size(data)}</strong><table>{rows}</table></div>"


def _size(data: "SelectiveLabels") -> str:
    if data.panels is None or data.groups is None:
        return f"{len(data):,} cases"
    return f"{len(data):,} rows of {len(set(data.groups.tolist())):,} cases"


def _facts(data: "SelectiveLabels") -> list[tuple[str, str]]:
    n_labeled = int(data.labeled.sum())
    facts = [
        ("label" + _called(data, "label"), _classes(data)),
        ("labels seen", f"{n_labeled:,} ({n_labeled / max(len(data), 1):.0%})" + _ignored(data)),
        ("decision" + _called(data, "decision"), _decision(data)),
        ("decision-maker" + _called(data, "decision_maker"), _decision_makers(data)),
    ]
    if data.pending is not None:
        facts.append(("pending", _pending(data)))
    for role, codes in (("groups", data.groups), ("strata", data.strata)):
        if codes is not None:
            facts.append((role + _called(data, role), f"{len(set(codes.tolist())):,}"))
    if data.panels is not None:
        facts.append(("labels shared", SHARED))
    elif sharing_suggested(data):
        facts.append(("note", SUGGESTED))
    if data.sample_weight is not None:
        facts.append(("weights" + _called(data, "sample_weight"), "given"))
    if data.assignment is not None:
        known = "a function of the features" if data.assignment_function is not None else "given"
        facts.append(("probabilities of decision-makers", known))
    return [*facts, ("features", _features(data))]


def _called(data: "SelectiveLabels", role: str) -> str:
    return f" {data.names[role]!r}" if role in data.names else ""


def _classes(data: "SelectiveLabels") -> str:
    classes = data.classes.tolist()
    if len(classes) > MOST_CLASSES:
        return f"{len(classes)} classes"
    return "classes " + ", ".join(map(repr, classes)) + ", coded from 0"


def _ignored(data: "SelectiveLabels") -> str:
    n_ignored = data.n_ignored_labels
    return f"; {n_ignored:,} more were given where the decision is 0, and not read" if n_ignored else ""


def _pending(data: "SelectiveLabels") -> str:
    n_pending, n_early = int(data.is_pending.sum()), int(np.sum(data.is_pending & (data.early != HOLE)))
    early = f"; {n_early:,} of them have a label before it was due, which is not used" if n_early else ""
    return f"{n_pending:,} outcomes where the decision is 1, {data.pending}{early}"


def _decision(data: "SelectiveLabels") -> str:
    given = "given" if data.decision_given else "not given: the holes say what was seen"
    return f"{given}; a yes means {INSPECT}" if data.decision_means == INSPECT else given


def _decision_makers(data: "SelectiveLabels") -> str:
    if data.panels is not None and data.decision_makers_given:
        return f"{len(data.panels.people):,}, in {data.n_decision_makers:,} panels"
    return f"{data.n_decision_makers:,}" if data.decision_makers_given else "not given"


def _features(data: "SelectiveLabels") -> str:
    kinds = Counter(data.kinds)
    words = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in kinds.items()]
    counts = ", ".join(words).replace("categorys", "categories") or "none"
    names = column_names(data.X)
    return counts if names is None else f"{counts} ({several([str(n) for n in names])})"


class FromPartitions:
    """Constructors of the lazy form of :class:`selective_labels.SelectiveLabels`."""

    @classmethod
    def from_parquet(
        cls,
        path: Any,
        label: str,
        *,
        decision_maker: str,
        features: Sequence[str] | None = None,
        share_labels: bool = False,
        pending: str | None = None,
        case_id: str | None = None,
        fit_rows: int | None = None,
        n_jobs: int | None = None,
        keep_scores: Any = None,
        decision_means: str | None = None,
        vocabulary: Words = None,
        **roles: Unpack[ColumnRoles],
    ) -> "PartitionedLabels":
        """Name the roles of the columns of Parquet files, which are read in parts.

        Parameters
        ----------
        path : str, Path, or list of these
            A file, a folder, or a glob such as "loans/*.parquet". All files have one schema.
        label, decision_maker, features
            As in :meth:`SelectiveLabels.from_frame`.
        share_labels : bool
            Not supported, because the rows of one case may be in several parts.
        pending : str, optional
            Not supported: outcomes may be pending in tables in memory only.
        case_id : str, optional
            Column whose hash determines the fold, sample or half of a row. Default: groups, or the row number
            without groups.
        fit_rows : int, optional
            Number of rows that models are fitted to, sampled by hash. Default: doubled while the held-out
            loss falls by more than its standard error. Bounds and intervals use all rows.
        n_jobs : int, optional
            Number of processes that read partitions, if no Dask client is active. Default: all cores.
        keep_scores : str or Path, optional
            Folder where `evaluate`, `compare` and `threshold_curve` cache the scores of all rows as Parquet.
            With the same settings, another metric, subgroup or cut-off then needs no new fit.
        decision_means, vocabulary
            As in :meth:`SelectiveLabels.from_arrays`.
        **roles
            Names of columns: `decision`, `sample_weight`, `groups`, `strata` as in
            :meth:`SelectiveLabels.from_frame`; `assignment`, a list of columns of known assignment
            probabilities, in the order of the sorted decision-maker ids.

        Returns
        -------
        PartitionedLabels
            Accepted by `evaluate`, `compare`, `threshold_curve`, `diagnose` and `fit`.

        Examples
        --------
        >>> import tempfile
        >>> import pandas as pd
        >>> from selective_labels import SelectiveLabels
        >>> folder = tempfile.TemporaryDirectory()
        >>> frame = pd.DataFrame({"age": [30, 41, 25], "judge": ["a", "b", "a"]})
        >>> frame["failed"] = ["no", None, "yes"]
        >>> frame.to_parquet(f"{folder.name}/cases.parquet")
        >>> data = SelectiveLabels.from_parquet(folder.name, label="failed", decision_maker="judge")
        >>> len(data), data.classes.tolist(), data.features
        (3, ['no', 'yes'], ('age',))
        >>> folder.cleanup()
        """
        from selective_labels.data.partition_sources import DaskSource, ParquetSource
        from selective_labels.data.partition_survey import RoleColumns
        from selective_labels.data.partitioned import PartitionedLabels
        from selective_labels.data.relations import RelationSource

        if pending is not None:
            raise InputError(
                f"pending={pending!r} needs rows in memory, and this table is read a part at a time; read it "
                "whole and use from_frame.",
                "pending",
            )
        if share_labels:
            raise InputError(
                "share_labels=True needs all rows of a case in memory, and this table is read a part at a "
                "time; make one row of each case, with its panel as decision_maker, or read the table whole "
                "and use from_frame.",
                "share_labels",
            )
        (named,) = split_keywords("from_parquet", roles, ColumnRoles)
        assignment = named.pop("assignment", None)
        columns = RoleColumns(label, decision_maker, case_id=case_id, **named)
        source = path if isinstance(path, DaskSource | RelationSource) else ParquetSource.find(path)
        lazy = PartitionedLabels.of(source, columns, features, assignment, fit_rows, n_jobs, keep_scores)
        return replace(lazy, vocabulary=Vocabulary.read(vocabulary).meaning(decision_means))

    @classmethod
    def from_dask(cls, frame: Any, label: str, **named: Any) -> "PartitionedLabels":
        """Name the roles of the columns of a Dask frame, whose partitions are computed one at a time.

        An active client does the work; otherwise Dask's default scheduler does. Partitions must be the same
        each time they are computed. Keywords are those of :meth:`from_parquet`; `n_jobs` has no effect.
        """
        from selective_labels.data.partition_sources import DaskSource

        return cls.from_parquet(DaskSource(frame), label, **named)

    @classmethod
    def from_relation(
        cls, relation: Any, label: str, *, sql: str | None = None, **named: Any
    ) -> "PartitionedLabels":
        """Name the roles of the columns of a table that stays in its engine.

        The engine counts the roles (one group-by) and draws the sample (one filter). All rows are then
        streamed as Arrow batches, in any order; on Spark, the workers score them and only sums come back.

        Parameters
        ----------
        relation : DuckDB relation, Ibis table, PySpark frame, or any lazy frame of narwhals that streams
            Or a connection of DuckDB or Ibis, or a Spark session, with `sql`.
        sql : str, optional
            Query, or name of a table. Each look repeats the query, so it must give the same rows each time.
        **named
            Keywords of :meth:`from_parquet` except `keep_scores`. `case_id` (or `groups`) is required,
            because rows of a relation have no numbers.

        Returns
        -------
        PartitionedLabels

        Examples
        --------
        >>> import polars as pl
        >>> from selective_labels import SelectiveLabels
        >>> loans = pl.LazyFrame({"loan": [1, 2, 3], "age": [30, 41, 25], "judge": ["a", "b", "a"]})
        >>> loans = loans.with_columns(failed=pl.Series(["no", None, "yes"]))
        >>> data = SelectiveLabels.from_relation(
        ...     loans, label="failed", decision_maker="judge", case_id="loan"
        ... )
        >>> len(data), data.classes.tolist(), data.features
        (3, ['no', 'yes'], ('age',))
        """
        from selective_labels.data.relations import RelationSource

        key = named.get("groups") or named.get("case_id")
        return cls.from_parquet(RelationSource.of(relation, sql, key), label, **named)


@dataclass(frozen=True, repr=False, eq=False)
class SelectiveLabels(FromPartitions):
    """Features, labels, decisions and decision-makers: the input of all functions of the package.

    Labels are missing where the case was declined. Create an object with :meth:`from_frame` or
    :meth:`from_arrays`, or with :meth:`from_parquet` if the table is larger than memory.

    Attributes
    ----------
    X : frame, array or None
        Features, as given.
    features : (n_samples, n_features) float array
        Numeric features: categories as codes, dates as days, missing values as NaN; then the weekday, month
        and hour of dates, as codes.
    y : (n_samples,) int array
        Codes 0..K-1 into `classes`; -1 where the label is unobserved.
    decision : (n_samples,) int array
        1 where the label is observed or its outcome is pending.
    decision_maker : (n_samples,) array
        Ids as given.
    decision_maker_codes : (n_samples,) int array
        Codes into `decision_makers`.
    classes, decision_makers : arrays
        Sorted values.
    sample_weight : (n_samples,) float array or None
        Weights, scaled to mean one.
    groups, strata : (n_samples,) int arrays or None
        Codes of repeated cases, and of the cells within which assignment is random.
    assignment : (n_samples, n_decision_makers) array or None
        Known assignment probabilities of decision-makers.
    assignment_function : callable or None
        Function that computes `assignment` for other rows, from the features as given.
    stratum_labels : array or None
        The strata as given, sorted.
    categorical : tuple of int
        Columns of `features` that hold category codes. Models encode them during fitting.
    coding : TableCoding or None
        Kinds and codes of the columns; None if `X` is an array.
    names : mapping of str
        The user's column names by role ("label", "decision_maker", ...).
    ignored : (n_samples,) bool array
        Labels given where the decision is 0. They are not used.
    decision_given, decision_makers_given : bool
        Whether decisions and decision-makers were given. Otherwise decisions follow from missing labels, and
        there is no instrument.
    numeric : bool
        Whether decision-maker ids are values of a number, in which models are smooth.
    panels : Panels or None
        Panels of decision-makers, given ``share_labels=True``. `y` and `decision` are then those of the case
        (the group), and `decision_makers` are the panels that saw cases.
    own_decision, own_decision_maker_codes : (n_samples,) int arrays or None
        With panels: the row's own decision and decision-maker.
    pending : "at-random", "worst-case" or None
        What is assumed of outcomes that are not known yet although the decision is 1; None if there are none.
    due : (n_samples,) array or None
        When outcomes are due, as a number; see :class:`selective_labels.data.pending.Maturity`.
    early_label : (n_samples,) int array or None
        Codes of labels that were there before they were due, -1 elsewhere.
    label_weights : (n_samples, n_classes) array or None
        With outcomes pending at random, once models are fitted: what takes the place of 1{D=1, Y=k}; see
        :mod:`selective_labels.nuisance.maturity`.
    vocabulary : Vocabulary
        Words of the domain, in which results and reports speak. They include what a yes means.
    """

    X: Any
    features: np.ndarray
    y: np.ndarray
    decision: np.ndarray
    decision_maker: np.ndarray
    decision_maker_codes: np.ndarray
    classes: np.ndarray
    decision_makers: np.ndarray
    ignored: np.ndarray
    sample_weight: np.ndarray | None = None
    groups: np.ndarray | None = None
    strata: np.ndarray | None = None
    assignment: np.ndarray | None = None
    assignment_function: Callable[[Any], np.ndarray] | None = None
    stratum_labels: np.ndarray | None = None
    categorical: tuple[int, ...] = ()
    coding: TableCoding | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    decision_given: bool = False
    decision_makers_given: bool = True
    numeric: bool = False
    panels: Panels | None = None
    own_decision: np.ndarray | None = None
    own_decision_maker_codes: np.ndarray | None = None
    pending: str | None = None
    due: np.ndarray | None = None
    early_label: np.ndarray | None = None
    label_weights: np.ndarray | None = None
    vocabulary: Vocabulary = field(default_factory=lambda: Vocabulary().meaning())
    # Original weights: a subset of the rows is renormalized exactly as if it had been given alone.
    given_weight: np.ndarray | None = None
    # False for a subset of another table's rows, whose codes may have gaps; see `compact`.
    complete: bool = True

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    @property
    def n_decision_makers(self) -> int:
        """Number of distinct decision-makers."""
        return len(self.decision_makers)

    @property
    def n_ignored_labels(self) -> int:
        """Number of labels given where the decision is 0. They are not used."""
        return int(self.ignored.sum())

    @property
    def labeled(self) -> np.ndarray:
        """Rows whose label is observed, (n_samples,) bool."""
        return self.y != HOLE

    @property
    def is_pending(self) -> np.ndarray:
        """Rows whose decision is 1 and whose outcome is not known yet, (n_samples,) bool."""
        return (self.decision == 1) & ~self.labeled

    @property
    def has_pending(self) -> bool:
        """Whether some outcome is pending."""
        return self.pending is not None and bool(self.is_pending.any())

    @property
    def worst_case(self) -> bool:
        """Whether some outcome is pending, and nothing is assumed of it."""
        return self.pending == WORST_CASE and self.has_pending

    @property
    def label_indicators(self) -> np.ndarray:
        """1{D=1, Y=k}, (n_samples, n_classes), or `label_weights` in its place."""
        if self.label_weights is not None:
            return self.label_weights
        return (self.y[:, None] == np.arange(len(self.classes))).astype(float)

    @property
    def early(self) -> np.ndarray:
        """`early_label` as an array; None becomes -1."""
        return np.full(len(self), HOLE) if self.early_label is None else self.early_label

    @property
    def roles_given(self) -> tuple[str, ...]:
        """Roles that the user gave, other than features and label."""
        implied = {"decision": self.decision_given, "decision_maker": self.decision_makers_given}
        return tuple(role for role in ROLES if implied.get(role, getattr(self, role) is not None))

    @property
    def decision_means(self) -> str:
        """What a yes means: "accept" (the event is a harm) or "inspect" (the event is looked for)."""
        return self.vocabulary.means or ACCEPT

    @property
    def row_decision(self) -> np.ndarray:
        """Decision of each row, even if labels are shared within cases."""
        return self.decision if self.own_decision is None else self.own_decision

    @property
    def weights(self) -> np.ndarray:
        """Sample weights, or ones if none were given."""
        return np.ones(len(self)) if self.sample_weight is None else self.sample_weight

    @property
    def cells(self) -> np.ndarray:
        """Stratum of each row, or zeros without strata."""
        return np.zeros(len(self), dtype=int) if self.strata is None else self.strata

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kind of every feature: "number", "category" or "date"."""
        if self.coding is not None:
            return self.coding.kinds
        return tuple("category" if n in self.categorical else NUMBER for n in range(self.features.shape[1]))

    @property
    def columns_given(self) -> np.ndarray:
        """Features without the calendar parts of dates, which repeat what the dates say."""
        n_parts = 0 if self.coding is None else len(self.coding.calendar)
        return self.features[:, : self.features.shape[1] - n_parts]

    @property
    def feature_names(self) -> list[str]:
        """Name of every feature: the column's, "weekday of opened" for a part of a date, or x0, x1, ..."""
        if self.coding is None:
            return [f"x{number}" for number in range(self.features.shape[1])]
        return self.coding.names(self.coding.columns)

    def coded_like(self, classes: np.ndarray, decision_makers: np.ndarray) -> "SelectiveLabels":
        """Recode the rows with the classes and decision-makers of another table.

        Decision-makers that are not in that table get the code -1. Classes that are not in it raise an error.

        Examples
        --------
        >>> data = SelectiveLabels.from_arrays([[1], [2]], ["yes", None], decision_maker=["b", "z"])
        >>> coded = data.coded_like(np.array(["no", "yes"]), np.array(["a", "b"]))
        >>> coded.y, coded.decision_maker_codes
        (array([ 1, -1]), array([ 1, -1]))
        """
        unknown = np.setdiff1d(self.classes, classes)
        if len(unknown):
            raise InputError.about("y", f"holds the class {unknown[0]!r}, which was not among those of fit.")
        position = {maker: code for code, maker in enumerate(decision_makers.tolist())}
        new_maker = np.array([position.get(maker, -1) for maker in self.decision_makers.tolist()])
        return replace(
            self.with_classes(classes),
            decision_maker_codes=new_maker[self.decision_maker_codes],
            decision_makers=decision_makers,
        )

    def with_classes(self, classes: np.ndarray) -> "SelectiveLabels":
        """Recode the labels with sorted classes, a superset of the current ones."""
        place = np.searchsorted(classes, self.classes)
        return replace(
            self, classes=classes, y=_moved(self.y, place), early_label=_moved(self.early_label, place)
        )

    def take(self, rows: np.ndarray) -> "SelectiveLabels":
        """Keep some rows, and all classes and decision-makers.

        Examples
        --------
        >>> data = SelectiveLabels.from_arrays(np.eye(2), [0, 1], decision_maker=["a", "b"])
        >>> data.take(np.array([1])).y, len(data.take(np.array([1])).decision_makers)
        (array([1]), 2)
        """
        X = None if self.X is None else _safe_indexing(self.X, rows)
        return replace(self, X=X, complete=False, **{name: a[rows] for name, a in self._columns.items()})

    def compact(self) -> "SelectiveLabels":
        """Recode with the values that occur in these rows, as if they alone had been given.

        Decision-makers, classes, strata, groups and categories without rows are dropped. Known assignment
        probabilities of the remaining decision-makers are divided by their sum.

        Examples
        --------
        >>> data = SelectiveLabels.from_arrays(np.eye(2), [0, 1], decision_maker=["a", "b"])
        >>> data.take(np.array([1])).compact().decision_makers
        array(['b'], dtype=object)
        """
        return self if self.complete else compacted(self)

    def split(
        self, test_size: float | int = 0.5, random_state: Any = None
    ) -> tuple["SelectiveLabels", "SelectiveLabels"]:
        """Split the rows at random into two parts. Groups of repeated cases stay together.

        Parameters
        ----------
        test_size : float or int
            Share or number of the rows (or groups, if given) in the second part.
        random_state : int, RandomState or None

        Returns
        -------
        train, test : SelectiveLabels
            Each part is coded as if its rows alone had been given.

        Examples
        --------
        >>> data = SelectiveLabels.from_arrays(np.eye(4), [0, 1, 0, 1], decision_maker=["a", "b"] * 2,
        ...                                    groups=[1, 1, 2, 2])
        >>> train, test = data.split(random_state=0)
        >>> len(train), len(test), len(set(train.groups))
        (2, 2, 1)
        """
        kind = ShuffleSplit if self.groups is None else GroupShuffleSplit
        splitter = kind(1, test_size=test_size, random_state=as_seed(random_state))
        try:
            train, test = next(splitter.split(self.y, groups=self.groups))
        except ValueError as error:
            raise InputError(f"test_size={test_size!r}: {error}", "test_size") from None
        return self.take(np.sort(train)).compact(), self.take(np.sort(test)).compact()

    def bare(self) -> "SelectiveLabels":
        """Keep what models and their checks need: arrays, and the coding with names and dates.

        The object is small to send and to store.
        """
        return replace(self, X=None, assignment_function=None, names={}, given_weight=None)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        label: str,
        *,
        decision_maker: str | None = None,
        decision: str | None = None,
        features: Sequence[str] | None = None,
        sample_weight: str | None = None,
        groups: str | None = None,
        strata: str | None = None,
        assignment: Any = None,
        share_labels: bool = False,
        pending: str | None = None,
        matured: str | None = None,
        decision_means: str | None = None,
        vocabulary: Words = None,
    ) -> "SelectiveLabels":
        """Name the roles of a table's columns.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table
        label : str
            Column name.
        decision_maker : str, optional
            Column name. Without it there is no instrument, unless advice was shown by lot
            (:func:`selective_labels.advice`).
        decision : str, optional
            Column of 0 and 1. Without it, missing labels mark the cases that were declined.
        features : list of str, optional
            Default: all columns without another role.
        sample_weight, groups, strata : str, optional
            Column names.
        assignment : list of str, array or callable, optional
            Known assignment probabilities, in the order of the sorted decision-maker ids: columns, an array
            of shape (n_samples, n_decision_makers), or a callable of the features.
        matured : str, optional
            Column name.
        share_labels, pending, decision_means, vocabulary
            See :meth:`from_arrays`, also for `matured`.

        Returns
        -------
        SelectiveLabels

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": [30, 41, 25], "judge": ["a", "b", "a"],
        ...                       "released": [1, 0, 1], "failed": ["no", None, "yes"]})
        >>> data = SelectiveLabels.from_frame(
        ...     frame, label="failed", decision="released", decision_maker="judge")
        >>> data.y, data.classes, list(data.X.columns)
        (array([ 0, -1,  1]), array(['no', 'yes'], dtype=object), ['age'])
        """
        refuse_repeated_names(frame)
        named = {
            "label": label,
            "decision_maker": decision_maker,
            "decision": decision,
            "sample_weight": sample_weight,
            "groups": groups,
            "strata": strata,
            "matured": matured,
        }
        chosen = split_roles(frame, named, features, assignment)
        values = chosen.values | {
            "assignment": chosen.assignment,
            "share_labels": share_labels,
            "pending": pending,
            "decision_means": decision_means,
            "vocabulary": vocabulary,
        }
        data = cls.from_arrays(chosen.features, values.pop("label"), **values)
        warn_of_leaks(chosen.features, data.y, data.row_decision)
        return replace(data, names={role: column for role, column in named.items() if column is not None})

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        decision_maker: Any = None,
        decision: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        strata: Any = None,
        assignment: Any = None,
        categorical: tuple[int, ...] = (),
        kinds: Sequence[str] | None = None,
        share_labels: bool = False,
        pending: str | None = None,
        matured: Any = None,
        decision_means: str | None = None,
        vocabulary: Words = None,
    ) -> "SelectiveLabels":
        """Build the data from arrays of equal length.

        Parameters
        ----------
        X : (n_samples, n_features) array or frame, or None
            None if there are no features.
        y : (n_samples,) labels of any type, missing as -1, NaN, None or NA
            With `decision`, -1 may be a class.
        decision_maker : (n_samples,) ids of any type, optional
            Without it there is no instrument.
        decision : (n_samples,) of 0 and 1, optional
        sample_weight : (n_samples,) non-negative numbers, optional
            A weight of two means that a row occurs twice. Only ratios matter.
        groups, strata : (n_samples,) of any type, optional
        assignment : (n_samples, n_decision_makers) array or callable of X, optional
            Known assignment probabilities, with decision-makers in sorted order.
        categorical : tuple of int
            Columns of a numeric `X` that hold category codes.
        kinds : sequence of "number", "category" or "date", optional
            Kinds of the columns of a table, if already known.
        share_labels : bool
            Whether the label belongs to the case, whose rows share a value of `groups`. A label observed in
            one row then counts for all rows of the case. The panel (everyone who saw it) is the instrument.
        pending : "at-random" or "worst-case", optional
            Allows holes where the decision is 1: outcomes that are not known yet. "at-random": whether an
            outcome has matured is independent of the label, given the features and the decision-maker (keep
            the date of the decision among the features). "worst-case" assumes nothing. A hole may be -1 if
            the column has no other missing label.
        matured : (n_samples,) dates, numbers, or 0 and 1, optional
            With `pending`: when the outcome is due, or whether it has matured. An outcome has matured if it
            was due before the earliest date at which one is pending. Under "at-random" the date decides, not
            the fact that a label is there: labels before their date are not used.
        decision_means : "accept" or "inspect", optional
            What a yes means. "accept": the case goes through, and the event is a harm; a yes predicts that it
            does not happen, and policies accept the lowest scores. "inspect": somebody looks closer, and the
            event is what is looked for; a yes predicts that it happens, and policies inspect the highest
            scores. Default: as in the vocabulary, else "accept".
        vocabulary : Vocabulary, name of a preset, or mapping, optional
            Words of the domain, in which results and reports speak: "lending", "bail", "hiring", "medical",
            "inspection", "audit", "insurance", "moderation", or a :class:`selective_labels.Vocabulary`; a
            mapping may name a ``preset`` and change some of its words. Default: neutral words.

        Returns
        -------
        SelectiveLabels

        Examples
        --------
        >>> data = SelectiveLabels.from_arrays([[1], [2], [3]], [1, -1, 0], decision_maker=["b", "a", "b"])
        >>> data.y, data.decision, data.decision_makers
        (array([ 1, -1,  0]), array([1, 0, 1]), array(['a', 'b'], dtype=object))
        """
        given = {
            "label": y,
            "decision_maker": decision_maker,
            "decision": decision,
            "sample_weight": sample_weight,
            "groups": groups,
            "strata": strata,
            "matured": matured,
        }
        for role, column in given.items():
            refuse_another_order(column, "y" if role == "label" else role, X)
        X = dense(X) if issparse(X) else X
        features, coding = features_or_none(X, y, kinds)
        n_samples = len(features)
        check_pending(pending, decision=decision, matured=matured, share_labels=share_labels)
        labels = read_label_column(y, decision, n_samples, pending=pending is not None)
        accepted, maturity = labels.seen if labels.accepted is None else labels.accepted, None
        if pending is not None:
            labels, maturity = read_maturity(labels, accepted, pending, matured)
        given_makers = np.zeros(n_samples, dtype=int) if decision_maker is None else decision_maker
        ids, makers = read_decision_makers(given_makers, n_samples)
        strata_coded = read_cells(strata, "strata", n_samples)
        groups_coded = read_cells(groups, "groups", n_samples)
        weight = read_weights(sample_weight, n_samples)
        data = cls(
            X=X,
            features=features,
            y=labels.codes,
            decision=accepted.astype(int),
            decision_maker=ids,
            decision_maker_codes=makers.codes,
            classes=labels.classes,
            decision_makers=makers.values,
            ignored=labels.ignored,
            sample_weight=None if weight is None else mean_one(weight),
            given_weight=weight,
            groups=None if groups_coded is None else groups_coded.codes,
            strata=None if strata_coded is None else strata_coded.codes,
            assignment=read_assignment(assignment, X, n_samples, len(makers.values)),
            assignment_function=assignment if callable(assignment) else None,
            stratum_labels=None if strata_coded is None else strata_coded.values,
            categorical=categorical if coding is None else coding.categorical,
            coding=coding,
            names=names_of(given),
            decision_given=decision is not None,
            decision_makers_given=decision_maker is not None,
            pending=pending,
            due=None if maturity is None else maturity.due,
            early_label=None if maturity is None else maturity.early,
            vocabulary=Vocabulary.read(vocabulary).meaning(decision_means),
        )
        return with_shared_labels(data, groups_coded) if share_labels else data

    @property
    def _columns(self) -> dict[str, np.ndarray]:
        """Fields with one entry for each row, except X."""
        whole = ("classes", "decision_makers", "stratum_labels")
        arrays = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in whole}
        return {
            name: array for name, array in arrays.items() if isinstance(array, np.ndarray) and name != "X"
        }


def class_code(label: Any, classes: np.ndarray, argument: str = "pos_label") -> int:
    """Code of a class among the sorted classes; that of None is the last.

    Examples
    --------
    >>> classes = np.array(["no", "yes"])
    >>> class_code("no", classes), class_code(None, classes)
    (0, 1)
    >>> class_code("maybe", classes)
    Traceback (most recent call last):
    ...
    selective_labels._errors.InputError: pos_label='maybe' is not among the labels 'no', 'yes'.
    """
    if label is None:
        return len(classes) - 1
    position = np.flatnonzero(classes == label)
    if not len(position):
        words = several([str(each) for each in classes.tolist()])
        raise InputError(f"{argument}={label!r} is not among the labels {words}.", argument)
    return int(position[0])


def require_two_classes(classes: np.ndarray) -> None:
    """Refuse labels of one class: nothing can be right or wrong about them."""
    if len(classes) < 2:
        raise InputError.about(
            "y", f"shows only one class ({classes.tolist()[0]!r}); two or more are needed."
        )
