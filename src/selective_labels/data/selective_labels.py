"""A selectively labeled table: its roles named and checked once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.utils import _safe_indexing

from selective_labels.data import columns, display, naming
from selective_labels.data.compacting import compacted
from selective_labels.data.from_partitions import FromPartitions
from selective_labels.data.panels import Panels, with_shared_labels
from selective_labels.data.roles import HOLE, ROLES
from selective_labels.features.coding import TableCoding, features_or_none, refuse_repeated_names
from selective_labels.features.kinds import NUMBER
from selective_labels.support.errors import InputError
from selective_labels.support.seeding import as_seed


@dataclass(frozen=True, repr=False, eq=False)
class SelectiveLabels(FromPartitions):
    """Features, labels with holes, decisions, decision-makers: what every entry of the package takes.

    Make one with :meth:`from_frame` or :meth:`from_arrays`; one larger than memory with :meth:`from_parquet`.

    Attributes
    ----------
    X : frame, array or None
        Features, as given.
    features : (n_samples, n_features) float array
        The same as numbers: categories are codes, dates are days, what is missing is NaN.
    y : (n_samples,) int array
        Codes 0..K-1 into `classes`; -1 where no label was seen.
    decision : (n_samples,) int array
        1 where the label was seen.
    decision_maker : (n_samples,) array
        Ids as given.
    decision_maker_codes : (n_samples,) int array
        Codes into `decision_makers`.
    classes, decision_makers : arrays
        Sorted.
    sample_weight : (n_samples,) float array or None
        Of mean one, whatever was given.
    groups, strata : (n_samples,) int arrays or None
        Codes of repeated cases, and of the cells within which assignment is random.
    assignment : (n_samples, n_decision_makers) array or None
        Known probabilities of decision-makers.
    assignment_function : callable or None
        What gives them for other rows, from features as given.
    stratum_labels : array or None
        The strata as given, sorted.
    categorical : tuple of int
        Columns of `features` that hold codes of categories; models encode them as they are fitted.
    coding : TableCoding or None
        What the columns of a table hold, and the codes; None if `X` is an array.
    names : mapping of str
        What the user calls the columns of roles, by role ("label", "decision_maker", ...).
    ignored : (n_samples,) bool array
        Labels that were given where the decision is 0, and not read.
    decision_given, decision_makers_given : bool
        Whether decisions, and who took them, are known; else holes say what was seen, and nobody decided.
    numeric : bool
        Whether decision-makers are values of a number, among which models are smooth.
    panels : Panels or None
        Given with ``share_labels=True``: then `y` and `decision` are those of the case (the group), and
        `decision_makers` the panels that saw cases, of which this has the members.
    own_decision, own_decision_maker_codes : (n_samples,) int arrays or None
        With panels: the row's own decision, and who took it.
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
    # Weights as given: those of a part of the rows are normalised anew, to the last bit as if given alone.
    given_weight: np.ndarray | None = None
    # False for rows of another table, whose codes may have gaps: see `compact`.
    complete: bool = True

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        return display.as_text(self)

    def _repr_html_(self) -> str:
        return display.as_html(self)

    @property
    def n_decision_makers(self) -> int:
        """Number of different decision-makers."""
        return len(self.decision_makers)

    @property
    def n_ignored_labels(self) -> int:
        """Labels that were given where the decision is 0, and not read."""
        return int(self.ignored.sum())

    @property
    def roles_given(self) -> tuple[str, ...]:
        """Roles that the user gave, besides features and label."""
        implied = {"decision": self.decision_given, "decision_maker": self.decision_makers_given}
        return tuple(role for role in ROLES if implied.get(role, getattr(self, role) is not None))

    @property
    def row_decision(self) -> np.ndarray:
        """Decision of each row, also where labels are shared within cases."""
        return self.decision if self.own_decision is None else self.own_decision

    @property
    def weights(self) -> np.ndarray:
        """Sample weights, ones if none were given."""
        return np.ones(len(self)) if self.sample_weight is None else self.sample_weight

    @property
    def cells(self) -> np.ndarray:
        """Stratum of each row, zeros without strata."""
        return np.zeros(len(self), dtype=int) if self.strata is None else self.strata

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kind of every feature: "number", "category" or "date"."""
        if self.coding is not None:
            return self.coding.kinds
        return tuple("category" if n in self.categorical else NUMBER for n in range(self.features.shape[1]))

    def coded_like(self, classes: np.ndarray, decision_makers: np.ndarray) -> "SelectiveLabels":
        """Code the same rows by the classes and decision-makers of another table.

        A decision-maker who is not in that table gets the code -1; a class that is not is an error.

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
        """Code the labels by sorted classes, of which those seen are a part."""
        place = np.searchsorted(classes, self.classes)
        return replace(self, classes=classes, y=np.where(self.y == HOLE, HOLE, place[self.y]))

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
        """Code by what occurs in these rows, as if they alone had been given.

        Decision-makers, classes, strata, groups and categories without a row are forgotten. Known
        probabilities of the decision-makers that are left are divided by their sum.

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
        """Two parts at random, groups of repeated cases kept together.

        Parameters
        ----------
        test_size : float or int
            Share or number of the rows (with groups: of the groups) in the second part.
        random_state : int, RandomState or None

        Returns
        -------
        train, test : SelectiveLabels
            Each as if its rows alone had been given.

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
        """Return the same rows as arrays alone: what models need, small to send and to remember."""
        return replace(self, X=None, assignment_function=None, coding=None, names={}, given_weight=None)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        label: str,
        *,
        decision_maker: str,
        decision: str | None = None,
        features: Sequence[str] | None = None,
        sample_weight: str | None = None,
        groups: str | None = None,
        strata: str | None = None,
        assignment: Any = None,
        share_labels: bool = False,
    ) -> "SelectiveLabels":
        """Name the roles of a table's columns.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table
        label, decision_maker : str
            Column names.
        decision : str, optional
            Column of 0 and 1; without it, the holes of the label say what was seen.
        features : list of str, optional
            Default: all columns without another role.
        sample_weight, groups, strata : str, optional
            Column names.
        assignment : list of str, array or callable, optional
            Known probabilities of decision-makers, in the order of the sorted ids: columns that hold them,
            an array of shape (rows, decision-makers), or a callable of the features.
        share_labels : bool
            See :meth:`from_arrays`.

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
        }
        chosen = naming.take_apart(frame, named, features, assignment)
        values = chosen.values | {"assignment": chosen.assignment, "share_labels": share_labels}
        data = cls.from_arrays(chosen.features, values.pop("label"), **values)
        naming.warn_of_leaks(chosen.features, data.y, data.row_decision)
        return replace(data, names={role: column for role, column in named.items() if column is not None})

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        decision_maker: Any,
        decision: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        strata: Any = None,
        assignment: Any = None,
        categorical: tuple[int, ...] = (),
        kinds: Sequence[str] | None = None,
        share_labels: bool = False,
    ) -> "SelectiveLabels":
        """Take the roles from arrays of equal length.

        Parameters
        ----------
        X : (n_samples, n_features) array or frame, or None
            None if nothing is known of the cases.
        y : (n_samples,) labels of any type, with holes (-1, NaN, None, NA)
            With `decision`, -1 may be a class.
        decision_maker : (n_samples,) ids of any type, or None
            None if it is not known who decided: then there is no instrument.
        decision : (n_samples,) of 0 and 1, optional
        sample_weight : (n_samples,) non-negative numbers, optional
            A weight of two is a row that occurs twice; only ratios count.
        groups, strata : (n_samples,) of any type, optional
        assignment : (n_samples, n_decision_makers) array or callable of X, optional
            Known probabilities, decision-makers in sorted order.
        categorical : tuple of int
            Columns of a numeric `X` that hold codes of categories.
        kinds : sequence of "number", "category" or "date", optional
            What the columns of a table hold, if that is known already.
        share_labels : bool
            A statement that the label belongs to the case, of which `groups` are the rows: one that any row
            shows counts for all of them, and the panel (all who saw the case) is the instrument.

        Returns
        -------
        SelectiveLabels

        Examples
        --------
        >>> data = SelectiveLabels.from_arrays([[1], [2], [3]], [1, -1, 0], decision_maker=["b", "a", "b"])
        >>> data.y, data.decision, data.decision_makers
        (array([ 1, -1,  0]), array([1, 0, 1]), array(['a', 'b'], dtype=object))
        """
        features, coding = features_or_none(X, y, kinds)
        n_samples = len(features)
        labels = columns.read_label_column(y, decision, n_samples)
        given_makers = np.zeros(n_samples, dtype=int) if decision_maker is None else decision_maker
        ids, makers = columns.read_decision_makers(given_makers, n_samples)
        strata_coded = columns.read_cells(strata, "strata", n_samples)
        groups_coded = columns.read_cells(groups, "groups", n_samples)
        weight = columns.read_weights(sample_weight, n_samples)
        given = {
            "label": y,
            "decision_maker": decision_maker,
            "decision": decision,
            "sample_weight": sample_weight,
            "groups": groups,
            "strata": strata,
        }
        data = cls(
            X=X,
            features=features,
            y=labels.codes,
            decision=labels.seen.astype(int),
            decision_maker=ids,
            decision_maker_codes=makers.codes,
            classes=labels.classes,
            decision_makers=makers.values,
            ignored=labels.ignored,
            sample_weight=None if weight is None else columns.mean_one(weight),
            given_weight=weight,
            groups=None if groups_coded is None else groups_coded.codes,
            strata=None if strata_coded is None else strata_coded.codes,
            assignment=columns.read_assignment(assignment, X, n_samples, len(makers.values)),
            assignment_function=assignment if callable(assignment) else None,
            stratum_labels=None if strata_coded is None else strata_coded.values,
            categorical=categorical if coding is None else coding.categorical,
            coding=coding,
            names=naming.names_of(given),
            decision_given=decision is not None,
            decision_makers_given=decision_maker is not None,
        )
        return with_shared_labels(data, groups_coded) if share_labels else data

    @property
    def _columns(self) -> dict[str, np.ndarray]:
        """Fields with one entry for each row, but X."""
        whole = ("classes", "decision_makers", "stratum_labels")
        arrays = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in whole}
        return {
            name: array for name, array in arrays.items() if isinstance(array, np.ndarray) and name != "X"
        }
