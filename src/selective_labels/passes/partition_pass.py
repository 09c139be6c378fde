"""One pass over the partitions of a table: rows scored by models that have not seen their fold, and summed.

The pass is a plain function of some rows (:class:`PartitionPass`): a frame in, sums of cells out. Who has
another engine than Dask maps it over a table and adds what comes back with :meth:`PassSums.added`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.assumptions import Assumption, Combination, EventTilt
from selective_labels.cells.cells import Cells, ClusterSums
from selective_labels.cells.row_means import RowMean, as_share
from selective_labels.data import HOLE, SelectiveLabels
from selective_labels.data.partition_reader import PartitionReader
from selective_labels.identification.earmarks import Earmarks
from selective_labels.inference.clusters import DECISION_MAKER
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.sample import NO_RANGE, read_label_range
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.score_formulas import OVERLAP, LabelRange, Scores
from selective_labels.partitions.hashing import hash_folds
from selective_labels.passes.judges import FoldJudge, held_out_propensity
from selective_labels.passes.kept_scores import KeptScores
from selective_labels.support.errors import InputError


@dataclass(frozen=True, eq=False)
class CellTable:
    """How some rows are summed.

    Attributes
    ----------
    key : (n_samples, n_keys) int array
        What the rows of a cell have in common.
    mean : RowMean or None
        What each row adds by itself, if it is not scores that are summed.
    clustered : bool
        Whether sums of clusters are needed: not where cells are counted only.
    """

    key: np.ndarray
    mean: RowMean | None = None
    clustered: bool = True

    def summed(self, evidence: Evidence) -> Evidence:
        """The scores that are summed."""
        return evidence if self.mean is None else as_share(self.mean.row_ends(evidence))


# From rows as a frame, and as data, to tables of cells by their names.
Keys = Callable[[pd.DataFrame, SelectiveLabels], dict[str, CellTable]]


@dataclass(frozen=True, eq=False)
class FittedRepeat:
    """Models of one repetition of cross-fitting, and what scores rows beside them.

    Attributes
    ----------
    fit : CrossFit
    judges : tuple of FoldJudge
        One for each fold of the models.
    shares : tuple of (n_strata, n_arms) arrays
        Of all rows of the table, for the arms of each fold.
    n_folds : int
        By hash; injected probabilities have one model for all.
    seed : int
        Of the hash.
    """

    fit: CrossFit
    judges: tuple[FoldJudge, ...]
    shares: tuple[np.ndarray, ...]
    n_folds: int
    seed: int

    def scores(
        self,
        data: SelectiveLabels,
        keys: np.ndarray,
        assumptions: Sequence[Assumption],
        ranges: Mapping[str, LabelRange],
    ) -> dict[str, Scores]:
        """Scores of some rows, each by the models that have not seen its fold.

        `ranges` has, by assumption, what is known of the class probabilities of each row.
        """
        folds = hash_folds(keys, self.n_folds, self.seed)
        own = np.zeros(len(data), dtype=int) if len(self.judges) == 1 else folds
        parts: dict[str, list[Scores]] = {each.name: [] for each in assumptions}
        order = []
        for number, judge in enumerate(self.judges):
            for here in self.fit.chunks(np.flatnonzero(own == number), len(data.classes) + 1):
                shares = self._propensity(number, data, here, folds)
                rows = judge.rows(data, here, shares)
                order.append(here)
                for each in assumptions:
                    known = ranges.get(each.name)
                    some = rows if known is None else judge.within(rows, known.take(here))
                    parts[each.name].append(each.score(some, OVERLAP))
        places = np.argsort(np.concatenate(order), kind="stable")
        return {name: _joined(found, places) for name, found in parts.items()}

    def _propensity(
        self, number: int, data: SelectiveLabels, here: np.ndarray, folds: np.ndarray
    ) -> np.ndarray:
        if data.assignment is not None:
            return data.assignment[here] @ (
                self.fit.folds[number].lookup[:, None] == np.arange(self.fit.n_arms)
            )
        cells = data.cells[here]
        return held_out_propensity(self.fit, data.features[here], cells, folds[here], self.shares[number])


@dataclass(frozen=True, eq=False)
class PassSums:
    """What a pass leaves of some rows, and of all.

    Attributes
    ----------
    cells : dict of list of dict of Cells
        By table of cells, one dict for each repetition, by assumption.
    clusters : the same of ClusterSums; empty without clusters
    """

    cells: dict[str, list[dict[str, Cells]]]
    clusters: dict[str, list[dict[str, ClusterSums]]]

    @staticmethod
    def added(several: "Sequence[PassSums]") -> "PassSums":
        """Add what parts left."""
        return PassSums(
            _added([each.cells for each in several], Cells.added),
            _added([each.clusters for each in several], ClusterSums.added),
        )


@dataclass(frozen=True, eq=False)
class PartitionPass:
    """The plain function of some rows: a frame in, sums out; sent to other processes.

    Attributes
    ----------
    reader : PartitionReader
    repeats : tuple of FittedRepeat
        Empty if every label is seen (labels are scores then), or if scores were kept.
    assumptions : tuple of Assumption
    keys : callable
    cluster : "groups", "decision_maker" or None
    kept : KeptScores or None
        Where scores are kept; if there are no models, where they are read from.
    n_repeats : int
    label_range : pair
        What is known of the class probabilities of everybody; see :func:`selective_labels.evaluate`.
    """

    reader: PartitionReader
    repeats: tuple[FittedRepeat, ...]
    assumptions: tuple[Assumption, ...]
    keys: Keys
    cluster: str | None = None
    kept: KeptScores | None = None
    n_repeats: int = 0
    label_range: Any = NO_RANGE

    def __call__(self, frame: pd.DataFrame) -> PassSums | None:
        """Score and sum."""
        frame, hashes = self.reader.roles.rows(frame)
        if not len(frame):
            return None
        data = self.reader.read(frame)
        tables = self.keys(frame, data)
        cells: dict[str, list[dict[str, Cells]]] = {name: [] for name in tables}
        clusters: dict[str, list[dict[str, ClusterSums]]] = {name: [] for name in tables}
        units = self._units(data, hashes)
        for scored in self._scored(frame, data, hashes):
            for name, table in tables.items():
                here: dict[str, Cells] = {}
                by_unit: dict[str, ClusterSums] = {}
                for each, (evidence, told) in scored.items():
                    summed = table.summed(evidence)
                    here[each] = Cells.of_rows(table.key, summed, data.decision, data.weights, told)
                    if units is not None and table.clustered:
                        by_unit[each] = ClusterSums.of_rows(units, table.key, summed, data.weights)
                cells[name].append(here)
                clusters[name].append(by_unit)
        return PassSums(cells, clusters if units is not None else {})

    def _scored(
        self, frame: pd.DataFrame, data: SelectiveLabels, hashes: np.ndarray
    ) -> list[dict[str, tuple[Evidence, np.ndarray]]]:
        if not self.n_repeats:
            assert (data.y != HOLE).all()
            known = Evidence.from_labels(data.y, len(data.classes)), np.zeros((len(data), 3))
            return [{each.name: known for each in self.assumptions}]
        found = []
        for number in range(self.n_repeats):
            scores = self._scores(number, frame, data, hashes)
            found.append(
                {
                    each.name: (
                        Evidence.from_scores(scores[each.name], each.identifies_value),
                        told_of(scores[each.name]),
                    )
                    for each in self.assumptions
                }
            )
        return found

    def _scores(
        self, number: int, frame: pd.DataFrame, data: SelectiveLabels, hashes: np.ndarray
    ) -> dict[str, Scores]:
        if not self.repeats:
            assert self.kept is not None
            names = [each.name for each in self.assumptions]
            return self.kept.read(frame, number, names, len(data.classes))
        ranges = label_ranges(self.assumptions, self.label_range, data)
        scores = self.repeats[number].scores(data, hashes, self.assumptions, ranges)
        if self.kept is not None:
            self.kept.write(frame, number, scores)
        return scores

    def _units(self, data: SelectiveLabels, hashes: np.ndarray) -> np.ndarray | None:
        if self.cluster is None:
            return None
        return data.decision_maker_codes if self.cluster == DECISION_MAKER else hashes.view(np.int64)


def told_of(scores: Scores) -> np.ndarray:
    """What scores tell of rows: clipped, by bounds, sharpness lost, (n_samples, 3)."""
    return np.column_stack([scores.clipped, scores.by_bounds, scores.sharpness_lost]).astype(float)


def require_summable(assumptions: Sequence[Assumption], classes: np.ndarray) -> None:
    """Refuse what cells cannot tell: the tilt, and ceilings that a row's own model says when to fill."""
    for each in assumptions:
        if isinstance(each, Combination):
            each.check(classes)
        if each == EventTilt() or (isinstance(each, Combination) and each.has_ceilings(classes)):
            raise InputError(
                f"assumption {each.name!r} is not available on data in partitions; take rows into memory "
                "with data.sample(n).",
                "assumption",
            )


def label_ranges(
    assumptions: Sequence[Assumption], label_range: Any, data: SelectiveLabels
) -> dict[str, LabelRange]:
    """What is known of the class probabilities of each row, by assumption."""
    found = {}
    for each in assumptions:
        stated = each.label_range if isinstance(each, Combination) else None
        given = label_range if stated is None else (stated.lowest, stated.highest)
        known = read_label_range(given, data)
        if known is not None:
            found[each.name] = known
    return found


def _joined(parts: Sequence[Scores], places: np.ndarray) -> Scores:
    """Scores of chunks as those of all rows, in the order of the rows."""
    earmarks = [each.earmarks for each in parts if each.earmarks is not None]
    whole = Scores(
        np.concatenate([each.values for each in parts])[places],
        np.concatenate([each.plug_in for each in parts])[places],
        np.concatenate([each.clipped for each in parts])[places],
        np.concatenate([each.by_bounds for each in parts])[places],
        np.concatenate([each.sharpness_lost for each in parts])[places],
    )
    return replace(whole, earmarks=Earmarks.joined(earmarks, places)) if earmarks else whole


def _added(several: Sequence[dict[str, list[dict[str, Any]]]], add: Callable[[Sequence[Any]], Any]) -> Any:
    first = several[0]
    return {
        table: [
            {name: add([each[table][repeat][name] for each in several]) for name in found}
            for repeat, found in enumerate(repeats)
        ]
        for table, repeats in first.items()
    }
