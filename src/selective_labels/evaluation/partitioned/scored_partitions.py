"""Scoring of a partitioned table: survey the table, fit the models to a sample, and prepare one pass."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from selective_labels._errors import InputError
from selective_labels.assumptions.instrument import Nucem
from selective_labels.data.partitioned import PartitionedLabels, PartitionReader
from selective_labels.data.row_hash import INNER, hash_folds
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.cautions import cautions_of
from selective_labels.diagnostics.diagnose import nucem_warning
from selective_labels.evaluation.partitioned.cell_sample import CellSample, SampleSummary
from selective_labels.evaluation.partitioned.partition_pass import (
    CellTable,
    FittedRepeat,
    KeptScores,
    Keys,
    PartitionPass,
    PassSums,
    fold_scorers,
    label_ranges,
    require_summable,
)
from selective_labels.evaluation.prediction_check import Checked, PredictionCheck
from selective_labels.evaluation.scored_rows import (
    NO_RANGE,
    Assumed,
    check_instrument,
    chosen_assumptions,
    describe_assignment,
    leniency_spread,
    with_classes_of,
)
from selective_labels.inference.standard_errors import choose_clusters
from selective_labels.nuisance.bands import (
    INNER_FOLDS,
    MANY_DECISION_MAKERS,
    N_BANDS,
    Arms,
    cut_evenly,
    shrink,
    shrunken_means,
    surplus_of,
)
from selective_labels.nuisance.cross_fit import CrossFit, FittingSettings
from selective_labels.nuisance.folds import Fold
from selective_labels.nuisance.learning_curve import Drawn, draw_rows
from selective_labels.nuisance.scores import selector_bands


@dataclass(frozen=True, eq=False)
class LeniencyTask:
    """Sums weights and excess acceptance by fold, inner fold and decision-maker; sent to other processes.

    Attributes
    ----------
    reader : PartitionReader
        Reads the roles only.
    accepted : (n_strata,) array
        Acceptance rate in each stratum.
    """

    reader: PartitionReader
    accepted: np.ndarray
    n_folds: int
    seed: int

    def __call__(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the sums over some rows, (2, n_folds, inner folds, n_decision_makers)."""
        frame, keys = self.reader.roles.rows(frame)
        data = self.reader.read(frame)
        n_makers = len(self.reader.decision_makers)
        own = hash_folds(keys, self.n_folds, self.seed) * INNER_FOLDS + inner_folds_of(keys, self.seed)
        place = own * n_makers + data.decision_maker_codes
        surplus = data.decision - self.accepted[data.cells]
        size = self.n_folds * INNER_FOLDS * n_makers
        sums = [np.bincount(place, each, size) for each in (data.weights, data.weights * surplus)]
        return np.reshape(sums, (2, self.n_folds, INNER_FOLDS, n_makers))


def inner_folds_of(keys: np.ndarray, seed: int) -> np.ndarray:
    """Return the inner fold of each row, (n_samples,) int array."""
    return hash_folds(keys, INNER_FOLDS, seed, INNER)


def table_arms(
    lazy: PartitionedLabels,
    data: SelectiveLabels,
    hashes: np.ndarray,
    folds: Sequence[Fold],
    n_bands: int | None,
    seed: int,
) -> list[Arms] | None:
    """Leniency bands for each fold; None if every decision-maker is an arm, or all rows fit the models.

    A row in the fitting sample gets the band of its decision-maker outside its inner fold, as in memory: a
    row's own decision must not select its band. Without strata, leniency is adjusted for the decisions
    expected from the features of a decision-maker's cases, as far as the sample shows that cases differ.

    Parameters
    ----------
    data : SelectiveLabels
        The rows to which models are fitted.
    hashes : (n_samples,) array
        Keys of these rows.
    folds : sequence of Fold
        Training and held-out rows, by hash with this seed.
    """
    if len(data) == len(lazy) or (n_bands is None and data.n_decision_makers <= MANY_DECISION_MAKERS):
        return None
    n_bands = N_BANDS if n_bands is None else n_bands
    survey = lazy.survey()
    accepted = survey.accepted()
    reader = replace(lazy.reader, features=(), assignment=())
    task = LeniencyTask(reader, accepted, len(folds), seed)
    totals = lazy.over_rows(reader.columns, task, sum_of, "counting decisions")
    share = float(accepted @ survey.table().sum(axis=1) / survey.weight)
    variance = share * (1.0 - share)
    inner = inner_folds_of(hashes, seed)
    found = []
    for number, (train, _) in enumerate(folds):
        sums = np.delete(totals, number, axis=1).sum(axis=1)
        mix = _case_mix(data, train)
        codes = data.decision_maker_codes[train]
        rows = np.empty(len(train), dtype=int)
        for part in range(INNER_FOLDS):
            here = inner[train] == part
            others = np.delete(sums, part, axis=1).sum(axis=1)
            rows[here] = _bands(others, mix, variance, n_bands)[codes[here]]
        found.append(Arms(rows, _bands(sums.sum(axis=1), mix, variance, n_bands), n_bands))
    return found


def sum_of(several: Sequence[np.ndarray]) -> np.ndarray:
    """Add the sums of several parts of a table."""
    return np.sum(several, axis=0)


def _bands(sums: np.ndarray, mix: np.ndarray, variance: float, n_bands: int) -> np.ndarray:
    """Return the band of every decision-maker, from their weight and excess acceptance."""
    mass, surplus = sums
    number = np.maximum(mass, np.finfo(float).tiny)
    return cut_evenly(shrink(surplus / number, mass, variance / number) - mix, mass, n_bands)


def _case_mix(data: SelectiveLabels, train: np.ndarray) -> np.ndarray:
    """Expected decisions given the features, as the deviation of each decision-maker from the mean."""
    if data.strata is not None:
        return np.zeros(data.n_decision_makers)
    weight = None if data.sample_weight is None else data.sample_weight[train]
    decision = data.decision[train]
    surplus = surplus_of(decision, data.features[train], None, data.categorical, weight)
    means = shrunken_means(
        decision - surplus, data.decision_maker_codes[train], data.n_decision_makers, weight
    )
    return means - np.average(decision - surplus, weights=weight)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Models, sample and settings, ready for a pass.

    Attributes
    ----------
    frame : pandas.DataFrame
        The rows to which models are fitted.
    data : SelectiveLabels
        The same rows, coded by the classes and ids of the whole table.
    passing : PartitionPass
        Without keys.
    fit : CrossFit or None
        Models of the first repetition, fitted to `data`; None if stored scores are read.
    doubts : dict of tuple of str
        By assumption, why results on the predictions are doubtful.
    """

    lazy: PartitionedLabels
    frame: pd.DataFrame
    data: SelectiveLabels
    passing: PartitionPass
    sample_summary: SampleSummary
    fit: CrossFit | None = None
    seed: int = 0
    doubts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def doubtful(self, subjects: Sequence[tuple[str, Checked]]) -> "Prepared":
        """Add the doubts about predictions on `data`; raise an error if they depend on who decides."""
        data, compared = self.data, [each for each in self.passing.assumptions if each.needs_decision_makers]
        if not compared or data.n_decision_makers < 2 or not self.passing.n_repeats:
            return self
        check = PredictionCheck(data, self.fit, self.seed)
        found = [check.doubts(subject, name) for name, subject in subjects]
        doubts = tuple(dict.fromkeys(doubt for each in found for doubt in each))
        return replace(self, doubts=dict.fromkeys((each.name for each in compared), doubts))

    def with_keys(self, keys: Keys) -> PartitionPass:
        """Return the plain function of some rows, with the cells that a request needs."""
        return replace(self.passing, keys=keys)

    def columns(self, others: Sequence[str]) -> list[str]:
        """Return the columns that this function reads."""
        return list(dict.fromkeys([*self.passing.reader.columns, *others]))

    def run(self, keys: Keys, others: Sequence[str]) -> PassSums:
        """Pass over all partitions; `keys` also reads the columns `others`."""
        passing, columns = self.with_keys(keys), self.columns(others)
        found: PassSums = self.lazy.over_rows(columns, passing, PassSums.added, "scoring partitions")
        if passing.kept is not None and passing.repeats:
            sample_summary = {
                "assignment": self.sample_summary.assignment,
                "refused": dict(self.sample_summary.refused),
                "cautions": dict(self.sample_summary.cautions),
            }
            passing.kept.finish(sample_summary | {"n_fitted": self.sample_summary.n_fitted})
        return found

    def samples(
        self,
        sums: PassSums,
        ties: Mapping[str, tuple[int, ...]],
        stated: Mapping[str, tuple[int, np.ndarray]] | None = None,
    ) -> dict[str, CellSample]:
        """Make scored cells from the sums of a pass, by the name of a table of cells.

        `ties` gives, by table of cells, the keys that are bins of a score; `stated` those of known shares.
        """
        objects = {each.name: each for each in self.passing.assumptions}
        known = self.sample_summary.cautions
        cautions = {name: (*known.get(name, ()), *self.doubts.get(name, ())) for name in objects}
        sample_summary = replace(self.sample_summary, cautions=cautions)
        return {
            name: CellSample(
                repeats,
                sample_summary,
                objects,
                ties.get(name, ()),
                self.passing.cluster,
                sums.clusters.get(name, []),
                stated or {},
            )
            for name, repeats in sums.cells.items()
        }


@dataclass(frozen=True, eq=False)
class _Models:
    """Models fitted to a sample of the rows.

    Attributes
    ----------
    n_ranked : int
        Number of rows of the sample: the first ones in the order of drawing.
    fit : CrossFit
        Fit of the first repetition.
    """

    n_ranked: int
    fit: CrossFit
    repeats: tuple[FittedRepeat, ...]


@dataclass(eq=False)
class ScoredPartitions:
    """A partitioned table with models that are fitted once, to a sample of its rows."""

    table: PartitionedLabels
    fitting: FittingSettings
    _seeds: list[int] = field(init=False)
    _models: dict[tuple[Any, ...], _Models] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.table = self.table.with_jobs(self.fitting.n_jobs)
        self._seeds = self.fitting.repeated_seeds

    def prepare(
        self,
        classifiers: Sequence[Any],
        assumption: Assumed,
        cluster: str | None,
        others: Sequence[str] = (),
        label_range: Any = NO_RANGE,
    ) -> Prepared:
        """Survey the table, draw the sample, and fit the models unless they are already fitted.

        Parameters
        ----------
        classifiers : sequence
            Classifiers to evaluate; the classes of fitted ones are added to those of the table.
        assumption, cluster, label_range
            As for :func:`selective_labels.evaluation.scored_rows.score_sample`.
        others : sequence of str
            Additional columns of the sample.
        """
        lazy, fitting, seeds = self.table, self.fitting, self._seeds
        if not isinstance(fitting.cv, int | np.integer):
            raise InputError(
                "cv: on data in partitions, folds are made by hash; give a number of folds.", "cv"
            )
        survey = lazy.survey()
        drawn = draw_rows(lazy, seeds[0], others, KeptScores.fitted_before(lazy))
        reader, data = _read(drawn, classifiers)
        chosen = chosen_assumptions(assumption, len(reader.decision_makers) > 1)
        require_summable(chosen, data.classes)
        label_ranges(chosen, label_range, data)  # raises input errors before anything is fitted
        if len(data.classes) < 2:
            raise InputError.about(
                "y", f"shows only one class ({data.classes.tolist()[0]!r}); two or more are needed."
            )
        check_instrument(chosen, data)
        summary = SampleSummary(data.classes, len(reader.decision_makers), 0, survey.n_rows)
        summary = replace(summary, leniency=leniency_spread(*survey.caseloads()))
        units = choose_clusters(cluster, data)
        passing = PartitionPass(reader, (), tuple(chosen), _no_keys, units, label_range=label_range)
        if survey.n_labeled == survey.n_rows:
            return Prepared(lazy, drawn.frame, data, passing, summary)
        kept = KeptScores.of(lazy, data.classes, chosen, fitting, label_range)
        passing = replace(passing, kept=kept, n_repeats=len(seeds))
        if kept is not None and (known := kept.sample_summary) is not None:
            return Prepared(lazy, drawn.frame, data, passing, replace(summary, **known), seed=seeds[0])
        models: dict[bool, _Models] = {}
        for in_halves in sorted({each.needs_halves for each in chosen}):
            models[in_halves], drawn = self._fitted(drawn, classifiers, in_halves)
        fits = {in_halves: each.fit for in_halves, each in models.items()}
        reader, data = _read(drawn, classifiers)
        assignment, refused = "", {}
        if any(each.needs_decision_makers for each in chosen):
            assignment = describe_assignment(next(iter(fits.values())))
        if Nucem() in chosen and fits[True].in_halves:
            refusal = nucem_warning(data, fits[True], random_state=seeds[0])
            if refusal is not None:
                warnings.warn(refusal, stacklevel=3)
                refused[Nucem().name] = str(refusal)
        cautions: dict[str, tuple[str, ...]] = {}
        for in_halves, fit in fits.items():
            some = [each for each in chosen if each.needs_halves == in_halves]
            cautions |= cautions_of(data, fit, some, seed=seeds[0])
        by_kind = zip(*(each.repeats for each in models.values()), strict=True)
        repeats = tuple(dict(zip(models, each, strict=True)) for each in by_kind)
        summary = replace(summary, assignment=assignment, refused=refused, cautions=cautions)
        summary = replace(summary, n_fitted=len(drawn.frame))
        passing = replace(passing, reader=reader, repeats=repeats)
        return Prepared(lazy, drawn.frame, data, passing, summary, next(iter(fits.values())), seeds[0])

    def _fitted(self, drawn: Drawn, classifiers: Sequence[Any], in_halves: bool) -> tuple[_Models, Drawn]:
        """Return the models, and the rows to which they are fitted."""
        _, data = _read(drawn, classifiers)
        key = (*data.classes.tolist(), in_halves)
        known = self._models.get(key) or self._models.get((*data.classes.tolist(), not in_halves))
        if known is None:
            drawn = drawn.by_curve(self.fitting)
        else:
            drawn = replace(drawn, ranked=drawn.ranked.iloc[: known.n_ranked])
        if key in self._models:
            return self._models[key], drawn
        _, data = _read(drawn, classifiers)
        hashes, table = self.table.roles.keys(drawn.frame), self.table.survey().table()
        first, repeats = None, []
        for seed in self._seeds:
            fit = _fitted(self.table, data, hashes, in_halves, self.fitting, seed)
            first = first or fit
            shares = tuple(_shares(table, fold.lookup, fit.n_arms) for fold in fit.folds)
            scorers = fold_scorers(fit, data)
            repeats.append(FittedRepeat(fit.without_rows(), scorers, shares, int(self.fitting.cv), seed))
        assert first is not None
        self._models[key] = _Models(len(drawn.ranked), first, tuple(repeats))
        return self._models[key], drawn


def _read(drawn: Drawn, classifiers: Sequence[Any]) -> tuple[PartitionReader, SelectiveLabels]:
    """Return a reader and the drawn rows, both coded by the classes and ids of the whole table."""
    alone, reader = drawn.data(), drawn.lazy.reader
    data = with_classes_of(reader.coded(alone), list(classifiers))
    return replace(reader, classes=data.classes, coding=alone.coding), data


def _fitted(
    lazy: PartitionedLabels,
    data: SelectiveLabels,
    hashes: np.ndarray,
    in_halves: bool,
    fitting: FittingSettings,
    seed: int,
) -> CrossFit:
    folds = hash_folds(hashes, int(fitting.cv), seed)
    pairs = [
        (np.flatnonzero(folds != each), np.flatnonzero(folds == each)) for each in range(int(fitting.cv))
    ]
    if any(not len(test) for _, test in pairs):
        raise InputError(f"fit_rows: a sample of {len(data)} rows leaves a fold without rows.", "fit_rows")
    n_bands = selector_bands(data)
    arms = table_arms(lazy, data, hashes, pairs, n_bands, seed)
    return replace(fitting, cv=pairs).cross_fit(
        data, seed=seed, in_halves=in_halves, n_bands=n_bands, arms=arms
    )


def _shares(table: np.ndarray, lookup: np.ndarray, n_arms: int) -> np.ndarray:
    """Return the shares of arms in every stratum, by the weight of all rows."""
    mass = np.stack([np.bincount(lookup, row, n_arms) for row in table])
    total = mass.sum(axis=1, keepdims=True)
    return np.divide(mass, total, out=np.full_like(mass, 1.0 / n_arms), where=total > 0.0)


def _no_keys(frame: pd.DataFrame, data: SelectiveLabels) -> dict[str, CellTable]:
    return {}
