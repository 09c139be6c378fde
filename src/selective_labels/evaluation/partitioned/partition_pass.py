"""One pass over a partitioned table: rows are scored by models that have not seen their fold, and summed.

:class:`PartitionPass` is a plain function that maps a frame of rows to sums of cells. It also works with
other engines than Dask: map it over a table and add the results with :meth:`PassSums.added`.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._errors import InputError
from selective_labels._validation import effective_sample_size
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.combination import Combination
from selective_labels.assumptions.instrument import EventTilt, NearNucem
from selective_labels.data.partitioned import PartitionedLabels, PartitionReader
from selective_labels.data.roles import HOLE
from selective_labels.data.row_hash import hash_folds
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.evaluation.partitioned.cells import CellMoments, ClusterSums, RowMean, as_share
from selective_labels.evaluation.scored_rows import NO_RANGE, read_label_range
from selective_labels.identification.bounds import Event
from selective_labels.identification.event_bounds import LaminarScores
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.standard_errors import DECISION_MAKER
from selective_labels.nuisance.cross_fit import CrossFit, FittingSettings, FoldModel, arm_propensity
from selective_labels.nuisance.score_formulas import (
    OVERLAP,
    HeldOutPredictions,
    LabelRange,
    Pools,
    Rows,
    Scores,
    required_lead,
)
from selective_labels.nuisance.scores import fold_pools, leniency_order, n_independent, overlap_of, probe_of


@dataclass(frozen=True, eq=False)
class FoldScorer:
    """Scores rows of one fold with models that have not seen it.

    Attributes
    ----------
    n_units, n_fitted : float, int
        See :class:`selective_labels.nuisance.score_formulas.Rows`.
    probe : HeldOutPredictions
        Rows of the fold on which arms are compared.
    leniency : (n_arms,) array or None
        Values that order the arms by leniency, for the lead that the best arm needs.
    overlap : float
        Probability below which an arm is left out.
    """

    fold: FoldModel
    pools: Pools | None
    n_units: float
    n_fitted: int
    probe: HeldOutPredictions
    leniency: np.ndarray | None = None
    overlap: float = OVERLAP

    def rows(self, data: SelectiveLabels, here: np.ndarray, shares: np.ndarray) -> Rows:
        """Return rows with all inputs of their scores; `shares` holds their probabilities of arms."""
        pair = [model.joint(data.features[here]) for model in self.fold.models]
        arm = self.fold.lookup[data.decision_maker_codes[here]]
        return Rows(
            first=pair[0],
            second=pair[-1],
            arm=arm,
            y=data.y[here],
            propensity=shares,
            lead=0.0,
            n_units=self.n_units,
            n_fitted=self.n_fitted,
            pools=self.pools,
            probe=lambda: self.probe,
            classes=data.classes,
        )

    def within(self, rows: Rows, known: LabelRange) -> Rows:
        """Return the rows with a known range of class probabilities; arms are then not pooled."""
        lead: np.ndarray | float = 0.0
        if self.leniency is not None:
            lead = required_lead(rows.propensity, self.leniency, self.n_fitted, self.overlap)
        return replace(rows, label_range=known, pools=None, lead=lead)


def fold_scorers(fit: CrossFit, data: SelectiveLabels) -> tuple[FoldScorer, ...]:
    """Make a scorer for each fold, from the rows to which the models were fitted."""
    given = fit.report.chosen == "injected"
    n_fitted = round(effective_sample_size(data.weights))
    n_units = np.inf if given else n_independent(data, n_fitted)
    found: list[FoldScorer] = []
    formed = [None] * len(fit.folds) if given else fold_pools(fit, data)
    for number, (fold, pools) in enumerate(zip(fit.folds, formed, strict=True)):
        rows = np.flatnonzero(fit.held_out == number)
        probe = probe_of(fold, data, rows, arm_propensity(fit, number, data))()
        leniency = None
        if not given:
            leniency = leniency_order(fit, fold, data.features[rows], data.weights[rows])
        found.append(FoldScorer(fold, pools, n_units, n_fitted, probe, leniency, overlap_of(fit)))
    return tuple(found)


def held_out_propensity(
    fit: CrossFit, X: np.ndarray, cells: np.ndarray, own: np.ndarray, shares: np.ndarray
) -> np.ndarray:
    """Probabilities of arms by the model that has not seen a row's fold; without a model, the shares.

    Parameters
    ----------
    X : (n_samples, n_features) array
    cells : (n_samples,) int array
        Strata.
    own : (n_samples,) int array
        Fold of each row.
    shares : (n_cells, n_arms) array
        Shares of arms in the whole table.
    """
    models = fit.assignment.models
    if not models:
        return shares[cells]
    chances = np.empty((len(X), fit.n_arms))
    for number in np.unique(own):
        here = np.flatnonzero(own == number)
        chances[here] = models[number].at(X[here], cells[here], shares)
    return chances


ABOUT = "about.json"
TOLD = ("clipped", "bounded", "lost")


@dataclass(frozen=True)
class KeptScores:
    """A folder of stored scores, with one file per block of rows and repetition; sent to other processes.

    Attributes
    ----------
    made_from : str
        Fingerprint of the table and of the scoring settings.
    """

    folder: str
    made_from: str

    @classmethod
    def of(
        cls,
        lazy: PartitionedLabels,
        classes: np.ndarray,
        assumptions: Sequence[Assumption],
        fitting: FittingSettings,
        label_range: Any,
    ) -> "KeptScores | None":
        """Return the folder in which scores of a table are stored; None if they are not."""
        if lazy.keep_scores is None:
            return None
        stated = [each.label_range for each in assumptions if isinstance(each, Combination)]
        ends = [*label_range, *(end for each in stated if each for end in (each.lowest, each.highest))]
        if any(callable(end) for end in ends):
            raise InputError("keep_scores: a range of labels must be numbers, not functions.", "keep_scores")
        if fitting.seed is None or not (fitting.nuisance is None or isinstance(fitting.nuisance, str)):
            raise InputError(
                "keep_scores: scores can be found again only with a random_state, and a nuisance by name.",
                "keep_scores",
            )
        facts = {
            "source": lazy.source.fingerprint(),
            "roles": asdict(lazy.roles),
            "columns": lazy.columns,
            "fit_rows": lazy.fit_rows,
            "classes": [str(each) for each in classes.tolist()],
            "assumptions": [each.name for each in assumptions],
            "label_range": str(label_range),
            "how": [str(fitting.nuisance), fitting.cv, fitting.n_repeats, fitting.seed, fitting.propensity],
        }
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        kept = cls(str(lazy.keep_scores), digest)
        about = kept._about()
        if about is not None and about["made_from"] != digest:
            raise InputError(
                f"keep_scores: {kept.folder} holds scores of another table, or made otherwise; give another "
                "folder.",
                "keep_scores",
            )
        Path(kept.folder).mkdir(parents=True, exist_ok=True)
        return kept

    @staticmethod
    def fitted_before(lazy: PartitionedLabels) -> int | None:
        """Return the number of rows used to fit the models of the stored scores; None without scores."""
        if lazy.keep_scores is None:
            return None
        about = KeptScores(str(lazy.keep_scores), "")._about()
        return None if about is None else int(about["told"]["n_fitted"])

    @property
    def sample_summary(self) -> dict[str, Any] | None:
        """Description of the models, once all rows are scored; None before."""
        about = self._about()
        return None if about is None else about["told"]

    def finish(self, sample_summary: Mapping[str, Any]) -> None:
        """Record that all rows are scored."""
        self._write(
            Path(self.folder, ABOUT), json.dumps({"made_from": self.made_from, "told": dict(sample_summary)})
        )

    def write(self, frame: pd.DataFrame, repeat: int, scores: Mapping[str, Scores]) -> None:
        """Store the scores of some rows atomically."""
        columns: dict[str, np.ndarray] = {}
        for name, each in scores.items():
            columns |= {f"{name}:value:{k}": column for k, column in enumerate(each.values.T)}
            columns |= {f"{name}:model:{k}": column for k, column in enumerate(each.plug_in.T)}
            if each.laminar_scores is not None:
                for place, event in enumerate(each.laminar_scores.events):
                    columns[_slack_column(name, "value", event)] = each.laminar_scores.values[:, place]
                    columns[_slack_column(name, "model", event)] = each.laminar_scores.plug_in[:, place]
            sample_summary = each.clipped, each.by_bounds, each.sharpness_lost
            columns |= {f"{name}:{what}": column for what, column in zip(TOLD, sample_summary, strict=True)}
        path = self._path(frame, repeat)
        draft = self._draft()
        pd.DataFrame(columns, index=frame.index).to_parquet(draft)
        os.replace(draft, path)

    def read(
        self, frame: pd.DataFrame, repeat: int, names: Sequence[str], n_classes: int
    ) -> dict[str, Scores]:
        """Read the stored scores of the same rows."""
        path = self._path(frame, repeat)
        try:
            table = pd.read_parquet(path)
        except FileNotFoundError:
            table = None
        if table is None or not table.index.equals(frame.index):
            raise InputError(
                f"keep_scores: {path} is missing or of other rows; remove the folder to score again.",
                "keep_scores",
            )
        found = {}
        for name in names:
            values, model = (
                table[[f"{name}:{what}:{k}" for k in range(n_classes)]].to_numpy()
                for what in ("value", "model")
            )
            clipped, bounded, lost = (table[f"{name}:{what}"].to_numpy() for what in TOLD)
            found[name] = Scores(values, model, clipped, bounded, lost, _laminar_scores(table, name))
        return found

    def _path(self, frame: pd.DataFrame, repeat: int) -> Path:
        return Path(self.folder, f"repeat-{repeat}-rows-{int(frame.index[0]):013}.parquet")

    def _about(self) -> dict[str, Any] | None:
        path = Path(self.folder, ABOUT)
        return json.loads(path.read_text()) if path.exists() else None

    def _write(self, path: Path, text: str) -> None:
        draft = self._draft()
        Path(draft).write_text(text)
        os.replace(draft, path)

    def _draft(self) -> str:
        handle, name = tempfile.mkstemp(prefix=".draft-", dir=self.folder)
        os.close(handle)
        return name


def _slack_column(name: str, what: str, event: Event) -> str:
    """Column name of the slack of an event."""
    return f"{name}:slack {what}:{'+'.join(map(str, event))}"


def _laminar_scores(table: pd.DataFrame, name: str) -> LaminarScores | None:
    start = f"{name}:slack value:"
    codes = [column.removeprefix(start) for column in table.columns if column.startswith(start)]
    if not codes:
        return None
    events = tuple(tuple(int(each) for each in text.split("+")) for text in codes)
    values, models = (
        table[[_slack_column(name, what, each) for each in events]] for what in ("value", "model")
    )
    return LaminarScores(events, values.to_numpy(), models.to_numpy())


@dataclass(frozen=True, eq=False)
class CellTable:
    """How rows are grouped and summed.

    Attributes
    ----------
    key : (n_samples, n_keys) int array
        Rows with equal keys form a cell.
    mean : RowMean or None
        Mean to sum instead of the scores.
    clustered : bool
        Whether sums by cluster are needed; not if cells are only counted.
    """

    key: np.ndarray
    mean: RowMean | None = None
    clustered: bool = True

    def summed(self, evidence: Evidence) -> Evidence:
        """Return the scores to sum."""
        return evidence if self.mean is None else as_share(self.mean.row_ends(evidence))


# Maps rows, as a frame and as data, to tables of cells by name.
Keys = Callable[[pd.DataFrame, SelectiveLabels], dict[str, CellTable]]


@dataclass(frozen=True, eq=False)
class FittedRepeat:
    """Models of one repetition of cross-fitting, and the scorers of its folds.

    Attributes
    ----------
    scorers : tuple of FoldScorer
        One for each fold of the models.
    shares : tuple of (n_strata, n_arms) arrays
        Shares of arms in the whole table, for the arms of each fold.
    n_folds : int
        Number of folds by hash; injected probabilities have one model for all.
    seed : int
        Seed of the hash.
    """

    fit: CrossFit
    scorers: tuple[FoldScorer, ...]
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
        """Score rows by the models that have not seen their fold.

        `ranges` holds, by assumption, the known range of the class probabilities of each row.
        """
        folds = hash_folds(keys, self.n_folds, self.seed)
        own = np.zeros(len(data), dtype=int) if len(self.scorers) == 1 else folds
        parts: dict[str, list[Scores]] = {each.name: [] for each in assumptions}
        order = []
        for number, judge in enumerate(self.scorers):
            for here in self.fit.chunks(np.flatnonzero(own == number), len(data.classes) + 1):
                shares = self._propensity(number, data, here, folds)
                rows = judge.rows(data, here, shares)
                order.append(here)
                for each in assumptions:
                    known = ranges.get(each.name)
                    some = rows if known is None else judge.within(rows, known.take(here))
                    least = judge.overlap if each.needs_decision_makers else OVERLAP
                    parts[each.name].append(each.score(some, least))
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
    """Sums over the rows of a partition, or of the whole table.

    Attributes
    ----------
    cells : dict of list of dict of CellMoments
        By table of cells, one dict for each repetition, by assumption.
    clusters : dict of list of dict of ClusterSums
        Likewise; empty without clusters.
    """

    cells: dict[str, list[dict[str, CellMoments]]]
    clusters: dict[str, list[dict[str, ClusterSums]]]

    @staticmethod
    def added(several: "Sequence[PassSums]") -> "PassSums":
        """Add the sums of several parts of a table."""
        return PassSums(
            _added([each.cells for each in several], CellMoments.added),
            _added([each.clusters for each in several], ClusterSums.added),
        )


@dataclass(frozen=True, eq=False)
class PartitionPass:
    """Plain function from a frame of rows to sums; sent to other processes.

    Attributes
    ----------
    repeats : tuple of dict of FittedRepeat
        For each repetition, the models of whole training parts (False) and of halves (True). Empty if every
        label is observed (labels are then the scores), or if stored scores are read.
    cluster : "groups", "decision_maker" or None
    kept : KeptScores or None
        Where scores are stored; without models, they are read from there.
    label_range : pair
        Known range of the class probabilities; see :func:`selective_labels.evaluate`.
    """

    reader: PartitionReader
    repeats: tuple[dict[bool, FittedRepeat], ...]
    assumptions: tuple[Assumption, ...]
    keys: Keys
    cluster: str | None = None
    kept: KeptScores | None = None
    n_repeats: int = 0
    label_range: Any = NO_RANGE

    def __call__(self, frame: pd.DataFrame) -> PassSums | None:
        """Score and sum some rows."""
        frame, hashes = self.reader.roles.rows(frame)
        if not len(frame):
            return None
        data = self.reader.read(frame)
        tables = self.keys(frame, data)
        cells: dict[str, list[dict[str, CellMoments]]] = {name: [] for name in tables}
        clusters: dict[str, list[dict[str, ClusterSums]]] = {name: [] for name in tables}
        units = self._units(data, hashes)
        for scored in self._scored(frame, data, hashes):
            for name, table in tables.items():
                here: dict[str, CellMoments] = {}
                by_unit: dict[str, ClusterSums] = {}
                for each, (evidence, sample_summary) in scored.items():
                    summed = table.summed(evidence)
                    here[each] = CellMoments.of_rows(
                        table.key, summed, data.decision, data.weights, sample_summary
                    )
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
            known = Evidence.from_labels(data.y, len(data.classes)), np.zeros((len(data), 4))
            return [{each.name: known for each in self.assumptions}]
        found = []
        for number in range(self.n_repeats):
            scores, here = self._scores(number, frame, data, hashes), {}
            for each in self.assumptions:
                evidence = Evidence.from_scores(scores[each.name], each.identifies_value)
                here[each.name] = evidence, summary_of(scores[each.name], evidence)
            found.append(here)
        return found

    def _scores(
        self, number: int, frame: pd.DataFrame, data: SelectiveLabels, hashes: np.ndarray
    ) -> dict[str, Scores]:
        if not self.repeats:
            assert self.kept is not None
            names = [each.name for each in self.assumptions]
            return self.kept.read(frame, number, names, len(data.classes))
        ranges = label_ranges(self.assumptions, self.label_range, data)
        scores: dict[str, Scores] = {}
        for in_halves, models in self.repeats[number].items():
            some = [each for each in self.assumptions if each.needs_halves == in_halves]
            scores |= models.scores(data, hashes, some, ranges)
        if self.kept is not None:
            self.kept.write(frame, number, scores)
        return scores

    def _units(self, data: SelectiveLabels, hashes: np.ndarray) -> np.ndarray | None:
        if self.cluster is None:
            return None
        return data.decision_maker_codes if self.cluster == DECISION_MAKER else hashes


def summary_of(scores: Scores, evidence: Evidence) -> np.ndarray:
    """Clipped, by bounds, sharpness lost, and an empty set of every row, (n_samples, 4)."""
    columns = scores.clipped, scores.by_bounds, scores.sharpness_lost, evidence.empty
    return np.column_stack(columns).astype(float)


def require_summable(assumptions: Sequence[Assumption], classes: np.ndarray) -> None:
    """Raise an error for assumptions that sums cannot handle.

    These are the event tilt, and ceilings on classes (crossing floors, near NUCEM), whose use depends on the
    model of each row.
    """
    for each in assumptions:
        if isinstance(each, Combination):
            each.check(classes)
        ceilings = isinstance(each, Combination) and each.has_ceilings(classes)
        if ceilings or isinstance(each, EventTilt | NearNucem):
            raise InputError(
                f"assumption {each.name!r} is not available on data in partitions; take rows into memory "
                "with data.sample(n).",
                "assumption",
            )


def label_ranges(
    assumptions: Sequence[Assumption], label_range: Any, data: SelectiveLabels
) -> dict[str, LabelRange]:
    """Return the known range of the class probabilities of each row, by assumption."""
    found = {}
    for each in assumptions:
        stated = each.label_range if isinstance(each, Combination) else None
        given = label_range if stated is None else (stated.lowest, stated.highest)
        known = read_label_range(given, data)
        if known is not None:
            found[each.name] = known
    return found


def _joined(parts: Sequence[Scores], places: np.ndarray) -> Scores:
    """Concatenate the scores of chunks, in the order of the rows."""
    laminar_scores = [each.laminar_scores for each in parts if each.laminar_scores is not None]
    whole = Scores(
        np.concatenate([each.values for each in parts])[places],
        np.concatenate([each.plug_in for each in parts])[places],
        np.concatenate([each.clipped for each in parts])[places],
        np.concatenate([each.by_bounds for each in parts])[places],
        np.concatenate([each.sharpness_lost for each in parts])[places],
    )
    return (
        replace(whole, laminar_scores=LaminarScores.joined(laminar_scores, places))
        if laminar_scores
        else whole
    )


def _added(several: Sequence[dict[str, list[dict[str, Any]]]], add: Callable[[Sequence[Any]], Any]) -> Any:
    first = several[0]
    return {
        table: [
            {name: add([each[table][repeat][name] for each in several]) for name in found}
            for repeat, found in enumerate(repeats)
        ]
        for table, repeats in first.items()
    }
