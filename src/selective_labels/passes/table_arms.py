"""Bands of decision-makers by what they did in all rows of a table, not only in those that fit the models.

    leniency_z = Σ w (d - p_s) / Σ w,   over the rows of z off the fold, p_s the share accepted in stratum s

One aggregation has it for every fold, as totals minus the fold's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from selective_labels.data import SelectiveLabels
from selective_labels.data.lazy import PartitionedLabels
from selective_labels.data.partition_reader import PartitionReader
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
from selective_labels.nuisance.folds import Fold
from selective_labels.partitions.hashing import INNER, hash_folds, uniform


@dataclass(frozen=True, eq=False)
class LeniencyTask:
    """Weight and surplus of decisions by fold, inner fold and decision-maker; sent to other processes.

    Attributes
    ----------
    reader : PartitionReader
        Of roles alone.
    accepted : (n_strata,) array
        Share accepted in each stratum.
    n_folds, seed : int
    """

    reader: PartitionReader
    accepted: np.ndarray
    n_folds: int
    seed: int

    def __call__(self, frame: pd.DataFrame) -> np.ndarray:
        """Sums of some rows, (2, n_folds, inner folds, n_decision_makers)."""
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
    """Inner fold of each row, (n_samples,) int array."""
    return (uniform(keys, INNER, seed) * INNER_FOLDS).astype(int)


def table_arms(
    lazy: PartitionedLabels,
    data: SelectiveLabels,
    hashes: np.ndarray,
    folds: Sequence[Fold],
    n_bands: int | None,
    seed: int,
) -> list[Arms] | None:
    """Bands for the models of every fold; None if every decision-maker is an arm, or all rows fit the models.

    A row that models are fitted to has the band that its decision-maker has off its inner fold, as in memory:
    its own decision must not choose it. Without strata, what the cases of a decision-maker would lead one to
    expect is taken off, as far as the sample tells that they differ at all.

    Parameters
    ----------
    lazy : PartitionedLabels
    data : SelectiveLabels
        The rows that models are fitted to.
    hashes : (n_samples,) array
        Their keys.
    folds : sequence of Fold
        Training rows and rows held out, by hash with this seed.
    n_bands : int or None
    seed : int
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
    """Add what parts left."""
    return np.sum(several, axis=0)


def _bands(sums: np.ndarray, mix: np.ndarray, variance: float, n_bands: int) -> np.ndarray:
    """Band of every decision-maker, from its weight and surplus."""
    mass, surplus = sums
    number = np.maximum(mass, np.finfo(float).tiny)
    return cut_evenly(shrink(surplus / number, mass, variance / number) - mix, mass, n_bands)


def _case_mix(data: SelectiveLabels, train: np.ndarray) -> np.ndarray:
    """What features would lead one to expect of each decision-maker's decisions, against the mean."""
    if data.strata is not None:
        return np.zeros(data.n_decision_makers)
    weight = None if data.sample_weight is None else data.sample_weight[train]
    decision = data.decision[train]
    surplus = surplus_of(decision, data.features[train], None, data.categorical, weight)
    means = shrunken_means(
        decision - surplus, data.decision_maker_codes[train], data.n_decision_makers, weight
    )
    return means - np.average(decision - surplus, weights=weight)
