"""From a table in partitions to cells that are scored: a survey, a sample that fits the models, one pass."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.assumptions import Assumption, Nucem
from selective_labels.cells.cell_sample import CellSample, Told
from selective_labels.data import SelectiveLabels
from selective_labels.data.lazy import PartitionedLabels
from selective_labels.data.partition_reader import PartitionReader
from selective_labels.diagnostics import doubt
from selective_labels.inference.clusters import choose_clusters
from selective_labels.inference.leniency import leniency_spread
from selective_labels.inference.sample import (
    NO_RANGE,
    check_instrument,
    chosen_assumptions,
    said_of_assignment,
    with_classes_of,
)
from selective_labels.nuisance.cross_fit import CrossFit
from selective_labels.nuisance.scores import selector_bands
from selective_labels.nuisance.settings import FittingSettings
from selective_labels.partitions.hashing import hash_folds
from selective_labels.passes.judges import fold_judges
from selective_labels.passes.kept_scores import KeptScores
from selective_labels.passes.learning_curve import Drawn, draw_rows
from selective_labels.passes.partition_pass import (
    CellTable,
    FittedRepeat,
    Keys,
    PartitionPass,
    PassSums,
    label_ranges,
    require_summable,
)
from selective_labels.passes.table_arms import table_arms
from selective_labels.support.errors import InputError


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that is known before the pass.

    Attributes
    ----------
    lazy : PartitionedLabels
    frame : pandas.DataFrame
        The rows that models are fitted to.
    data : SelectiveLabels
        The same, coded by what the whole table holds.
    passing : PartitionPass
        Without keys.
    told : Told
    """

    lazy: PartitionedLabels
    frame: pd.DataFrame
    data: SelectiveLabels
    passing: PartitionPass
    told: Told

    def with_keys(self, keys: Keys) -> PartitionPass:
        """The plain function of some rows, by the cells that a question asks for."""
        return replace(self.passing, keys=keys)

    def columns(self, others: Sequence[str]) -> list[str]:
        """What that function reads."""
        return list(dict.fromkeys([*self.passing.reader.columns, *others]))

    def run(self, keys: Keys, others: Sequence[str]) -> PassSums:
        """Pass over all partitions; `keys` reads the columns `others` besides."""
        passing, columns = self.with_keys(keys), self.columns(others)
        found: PassSums = self.lazy.over_rows(columns, passing, PassSums.added, "scoring partitions")
        if passing.kept is not None and passing.repeats:
            told = {"assignment": self.told.assignment, "refused": dict(self.told.refused)}
            passing.kept.finish(told | {"n_fitted": self.told.n_fitted})
        return found

    def samples(
        self,
        sums: PassSums,
        ties: Mapping[str, tuple[int, ...]],
        stated: Mapping[str, tuple[int, np.ndarray]] | None = None,
    ) -> dict[str, CellSample]:
        """Make scored cells of what a pass left, by the name of a table of cells.

        `ties` says, by table of cells, which keys are bins of a score; `stated` which are groups of a share.
        """
        objects = {each.name: each for each in self.passing.assumptions}
        return {
            name: CellSample(
                repeats,
                self.told,
                objects,
                ties.get(name, ()),
                self.passing.cluster,
                sums.clusters.get(name, []),
                stated or {},
            )
            for name, repeats in sums.cells.items()
        }


def prepare(
    lazy: PartitionedLabels,
    classifiers: Sequence[Any],
    assumption: str | Assumption | Sequence[str | Assumption],
    cluster: str | None,
    fitting: FittingSettings,
    others: Sequence[str] = (),
    label_range: Any = NO_RANGE,
) -> Prepared:
    """Count the table, draw the sample, and fit the models to it.

    Parameters
    ----------
    lazy : PartitionedLabels
    classifiers : sequence
        What will be evaluated: classes that a fitted one knows count as classes.
    assumption, cluster, fitting, label_range
        As for :func:`selective_labels.inference.sample.score_sample`.
    others : sequence of str
        Columns that the sample has besides.
    """
    if not isinstance(fitting.cv, int | np.integer):
        raise InputError("cv: on data in partitions, folds are made by hash; give a number of folds.", "cv")
    survey = lazy.survey()
    seeds = fitting.repeated_seeds
    drawn = draw_rows(lazy, seeds[0], others, KeptScores.fitted_before(lazy))
    reader, data = _read(drawn, classifiers)
    chosen = chosen_assumptions(assumption, len(reader.decision_makers) > 1)
    require_summable(chosen, data.classes)
    label_ranges(chosen, label_range, data)  # refused before anything is fitted
    if len(data.classes) < 2:
        raise InputError.about(
            "y", f"shows only one class ({data.classes.tolist()[0]!r}); two or more are needed."
        )
    check_instrument(chosen, data)
    told = Told(data.classes, len(reader.decision_makers), 0, survey.n_rows)
    told = replace(told, leniency=leniency_spread(*survey.caseloads()))
    units = choose_clusters(cluster, data)
    passing = PartitionPass(reader, (), tuple(chosen), _no_keys, units, label_range=label_range)
    if survey.n_labeled == survey.n_rows:
        return Prepared(lazy, drawn.frame, data, passing, told)
    kept = KeptScores.of(lazy, data.classes, chosen, fitting, label_range)
    passing = replace(passing, kept=kept, n_repeats=len(seeds))
    if kept is not None and (known := kept.told) is not None:
        return Prepared(lazy, drawn.frame, data, passing, replace(told, **known))
    drawn = drawn.by_curve(fitting)
    reader, data = _read(drawn, classifiers)
    passing, frame = replace(passing, reader=reader), drawn.frame
    hashes = lazy.roles.keys(frame)
    table = survey.table()
    repeats: list[FittedRepeat] = []
    refused: dict[str, str] = {}
    assignment = ""
    for seed in seeds:
        fit = _fitted(lazy, data, hashes, chosen, fitting, seed)
        if not repeats:
            if any(each.needs_decision_makers for each in chosen):
                assignment = said_of_assignment(fit)
            refusal = doubt(data, fit, random_state=seed) if Nucem() in chosen and fit.in_halves else None
            if refusal is not None:
                warnings.warn(refusal, stacklevel=3)
                refused[Nucem().name] = str(refusal)
        shares = tuple(_shares(table, fold.lookup, fit.n_arms) for fold in fit.folds)
        judges = fold_judges(fit, data)
        repeats.append(FittedRepeat(fit.without_rows(), judges, shares, int(fitting.cv), seed))
    told = replace(told, assignment=assignment, refused=refused, n_fitted=len(frame))
    return Prepared(lazy, frame, data, replace(passing, repeats=tuple(repeats)), told)


def _read(drawn: Drawn, classifiers: Sequence[Any]) -> tuple[PartitionReader, SelectiveLabels]:
    """Rows that were drawn, coded by what the whole table holds, and who reads others alike."""
    alone, reader = drawn.data(), drawn.lazy.reader
    data = with_classes_of(reader.coded(alone), list(classifiers))
    return replace(reader, classes=data.classes, coding=alone.coding), data


def _fitted(
    lazy: PartitionedLabels,
    data: SelectiveLabels,
    hashes: np.ndarray,
    chosen: Sequence[Assumption],
    fitting: FittingSettings,
    seed: int,
) -> CrossFit:
    folds = hash_folds(hashes, int(fitting.cv), seed)
    pairs = [
        (np.flatnonzero(folds != each), np.flatnonzero(folds == each)) for each in range(int(fitting.cv))
    ]
    if any(not len(test) for _, test in pairs):
        raise InputError(f"fit_rows: a sample of {len(data)} rows leaves a fold without rows.", "fit_rows")
    in_halves, n_bands = any(each.needs_halves for each in chosen), selector_bands(data)
    arms = table_arms(lazy, data, hashes, pairs, n_bands, seed)
    return replace(fitting, cv=pairs).cross_fit(
        data, seed=seed, in_halves=in_halves, n_bands=n_bands, arms=arms
    )


def _shares(table: np.ndarray, lookup: np.ndarray, n_arms: int) -> np.ndarray:
    """Shares of arms in every stratum, by the weight of all rows."""
    mass = np.stack([np.bincount(lookup, row, n_arms) for row in table])
    total = mass.sum(axis=1, keepdims=True)
    return np.divide(mass, total, out=np.full_like(mass, 1.0 / n_arms), where=total > 0.0)


def _no_keys(frame: pd.DataFrame, data: SelectiveLabels) -> dict[str, CellTable]:
    return {}
