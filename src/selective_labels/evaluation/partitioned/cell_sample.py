"""A scored sample of which only sums over cells are known, as returned by a pass over a partitioned table."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from selective_labels._errors import UndefinedError
from selective_labels._validation import effective_sample_size
from selective_labels.assumptions.base import Assumption
from selective_labels.assumptions.combination import Combination
from selective_labels.assumptions.parse import named
from selective_labels.evaluation.partitioned.cells import CellEvidence, CellMoments, ClusterSums
from selective_labels.evaluation.scored_rows import Observed, impossible_in
from selective_labels.identification.bounds import Array
from selective_labels.identification.prevalence import Share
from selective_labels.inference.bound_estimators import FindEnds, Functional, RankSeparation, Ratio
from selective_labels.inference.confidence_intervals import Basis
from selective_labels.inference.evidence import Ends, Evidence, NoiseOf
from selective_labels.inference.known_prevalence import ContradictedError
from selective_labels.inference.standard_errors import (
    FEWEST,
    ROUNDING,
    BoundStandardErrors,
    kish_numbers,
    number_of_carriers,
    summed_up,
)


@dataclass(frozen=True)
class SampleSummary:
    """Description of a partitioned table for results."""

    classes: np.ndarray
    n_decision_makers: int
    n_fitted: int
    n_rows: int
    assignment: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    leniency: tuple[float, float] = (0.0, 0.0)
    cautions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@runtime_checkable
class Coarse(Protocol):
    """A functional that can be in error if scores are binned."""

    def reach(self, weights: Array) -> float:
        """Return the largest possible error."""


@dataclass(frozen=True, eq=False)
class CellPopulation:
    """Cells as a table with one row per cell."""

    classes: np.ndarray
    X: pd.DataFrame

    def __len__(self) -> int:
        return len(self.X)


@dataclass(frozen=True, eq=False)
class CellSample:
    """Cells with sums of scores under every requested assumption; the counterpart of `ScoredSample`.

    Attributes
    ----------
    repeats : list of dict of CellMoments
        By assumption, one dict for each repetition of cross-fitting; all have the same keys.
    objects : dict of Assumption
        By name.
    ties : (n_keys,) tuple of int
        Keys that are bins of a score: even bins lie between two values, odd bins hold one value.
    clusters : list of dict of ClusterSums
        As `repeats`, if there are clusters.
    stated : dict of pairs
        By column with a known share: the position of its key, and the group of each code.
    """

    repeats: list[dict[str, CellMoments]]
    sample_summary: SampleSummary
    objects: dict[str, Assumption] = field(default_factory=dict)
    ties: tuple[int, ...] = ()
    cluster: str | None = None
    clusters: list[dict[str, ClusterSums]] = field(default_factory=list)
    stated: Mapping[str, tuple[int, np.ndarray]] = field(default_factory=dict)

    @property
    def population(self) -> "CellPopulation":
        """The cells with the columns that known shares need."""
        columns = {name: values[self.cells.key[:, place]] for name, (place, values) in self.stated.items()}
        return CellPopulation(self.sample_summary.classes, pd.DataFrame(columns, index=range(self.size)))

    @cached_property
    def cells(self) -> CellMoments:
        """Cells of the first repetition and assumption; keys and counts are the same in all."""
        return next(iter(self.repeats[0].values()))

    @property
    def size(self) -> int:
        """Number of cells, which is the length of masks."""
        return len(self.cells)

    @property
    def weights(self) -> Array:
        """Weight of each cell."""
        return self.cells.weights

    @property
    def assumptions(self) -> list[str]:
        """Names of the scored assumptions."""
        return list(self.repeats[0])

    @property
    def classes(self) -> np.ndarray:
        """Sorted classes."""
        return self.sample_summary.classes

    def has_scores(self, assumption: str) -> bool:
        """Whether all classes have scores."""
        return assumption in self.repeats[0]

    def observed(self, assumption: str) -> Observed:
        """Return the outcomes and evidence that `plan` needs; the last key must be the outcome."""
        about = self.sample_summary
        evidence, weights = self.evidence[0][assumption], self.repeats[0][assumption].first
        return Observed(self.cells.key[:, -1], evidence, weights, about.leniency, about.n_decision_makers)

    def worth_of_labels(self, assumption: str, coefficients: Array) -> None:
        """Return None: the cases are not available."""
        return

    def assumed(self, assumption: str) -> Assumption:
        """Return the assumption with this name."""
        return self.objects.get(assumption) or named(assumption)

    def require_possible(self, assumption: str) -> None:
        """Raise an error if the data contradict the assumption."""
        if assumption in self.impossible:
            raise ContradictedError(self.impossible[assumption], "assumption")

    @cached_property
    def impossible(self) -> dict[str, str]:
        """By assumption, the contradiction in every repetition, with the message of the first."""
        return impossible_in(self.evidence)

    @cached_property
    def evidence(self) -> list[dict[str, Evidence]]:
        """Evidence of the cells, in the layout of `repeats`."""
        found = []
        for number, repeat in enumerate(self.repeats):
            here: dict[str, Evidence] = {}
            for name, cells in repeat.items():
                sums = None
                if self.cluster is not None:
                    sums = self.clusters[number][name].among(cells)
                shares = tuple(replace(each, times=cells.rows) for each in self.known_shares(name))
                here[name] = CellEvidence.of(cells, sums).with_shares(shares, cells.first)
            found.append(here)
        return found

    def known_shares(self, assumption: str) -> tuple[Share, ...]:
        """Return the known population shares under an assumption."""
        assumed = self.assumed(assumption)
        return assumed.shares(self.population) if isinstance(assumed, Combination) else ()

    def summary_of(self, assumption: str) -> dict[str, Any]:
        """Return the description of the sample, which does not depend on the cells of a result."""
        found = [each[assumption] for each in self.repeats]
        clipped, bounded, lost, _ = np.mean(
            [each.sample_summary.sum(axis=0) / each.weights.sum() for each in found], axis=0
        )
        return {
            "n_decision_makers": self.sample_summary.n_decision_makers,
            "clipped_share": float(clipped),
            "bounded_share": float(bounded),
            "sharpness_lost": float(lost),
            "refusal": self.sample_summary.refused.get(assumption),
            "assignment": self.sample_summary.assignment
            if self.assumed(assumption).needs_decision_makers
            else "",
            "n_fitted": self.sample_summary.n_fitted,
            "cautions": self.sample_summary.cautions.get(assumption, ()),
        }

    @property
    def cautions(self) -> Mapping[str, tuple[str, ...]]:
        """Why results are doubtful, by assumption."""
        return self.sample_summary.cautions

    def empty_share(self, assumption: str) -> float:
        """Return the share of rows in which the model's identified set is empty."""
        cells = self.repeats[0][assumption]
        return float(cells.sample_summary[:, 3].sum() / cells.weights.sum())

    def repeated(self, assumption: str) -> list[tuple[Evidence, Array, NoiseOf]]:
        """Return evidence, weights, and a covariance function of influences for each repetition."""
        return [
            (evidence[assumption], repeat[assumption].first, evidence[assumption].covariance)
            for evidence, repeat in zip(self.evidence, self.repeats, strict=True)
        ]

    def ends(self, functional: Functional, assumption: str, rows: np.ndarray) -> list[Ends]:
        """Estimate bounds on a functional among some cells, one pair for each repetition."""
        found = self.ends_by(functional.ends, assumption, rows)
        reach = self.coarse(functional, assumption, rows)
        return [_moved(pair, reach) for pair in found] if reach else found

    def ends_by(self, find: FindEnds, assumption: str, rows: np.ndarray) -> list[Ends]:
        """Estimate bounds by any function of evidence and weights."""
        self.require_possible(assumption)
        if not self.cells.weights[rows].any():
            raise UndefinedError("no case has a positive weight.", "sample_weight")
        return [
            find(evidence[assumption], repeat[assumption].first * rows[:, None])
            for evidence, repeat in zip(self.evidence, self.repeats, strict=True)
        ]

    def basis(
        self, functional: Functional, assumption: str, rows: np.ndarray, limits: tuple[float, float]
    ) -> Basis:
        """Return the basis of an interval for a functional among some cells."""
        spread = self.spread(self.ends(functional, assumption, rows), rows, assumption)
        reach = self.coarse(functional, assumption, rows)
        return Basis(replace(spread, coarse=reach) if reach else spread, limits)

    @staticmethod
    def cluster_sums(evidence: Mapping[str, Evidence], assumption: str) -> ClusterSums:
        """Return the sums by cluster of one repetition."""
        found = evidence[assumption]
        assert isinstance(found, CellEvidence)
        assert found.sums is not None
        return found.sums

    def coarse(self, functional: Functional, assumption: str, rows: np.ndarray) -> float:
        """Return the largest error of a functional due to binned scores."""
        if isinstance(functional, RankSeparation):
            return self.rank_error(assumption, rows, functional)
        if isinstance(functional, Ratio) or not isinstance(functional, Coarse):
            return 0.0
        return functional.reach(self.cells.weights * rows)

    def rank_error(self, assumption: str, rows: np.ndarray, functional: RankSeparation) -> float:
        """Largest error of an AUC due to binned ranks, whatever the class probabilities are.

        ½ P(same bin | event, no event) <= ½ Σ_b m_b² η_b (1 - η_b) / (η (1 - η))

        summed over the compared scores. Bins with a single value are ties anyway, and add nothing. η_b is the
        value between the bounds with the largest η_b (1 - η_b), and η the one with the smallest η (1 - η).
        """
        cells = self.repeats[0][assumption].take(rows)
        total = cells.weights.sum()
        ends = [each[:, functional.event] for each in (cells.lower, cells.upper)]
        shares = [float(end.sum() / total) for end in ends]
        least = min(max(each * (1.0 - each), np.finfo(float).tiny) for each in shares)
        found = 0.0
        for place in self.ties:
            bins = cells.key[:, place]
            codes, code = np.unique(bins, return_inverse=True)
            mass = np.bincount(code, cells.weights)
            low, high = (np.bincount(code, end) / np.maximum(mass, np.finfo(float).tiny) for end in ends)
            chance = np.clip(0.5, np.minimum(low, high), np.maximum(low, high))
            between = codes % 2 == 0
            found += 0.5 * float(np.sum(((mass / total) ** 2 * chance * (1.0 - chance))[between])) / least
        return found

    def spread(self, ends: list[Ends], rows: np.ndarray, name: str) -> BoundStandardErrors:
        """Add standard errors to bounds under an assumption, and return the median over repetitions."""
        if self.cluster is not None:
            return self._clustered(ends, rows, name)
        n_rows, n_units = self.n_cases(rows), self.n_units(rows)
        if n_rows < FEWEST:
            return _without_errors(ends, n_rows, False, n_units)
        matrices, numbers, compared = [], [], []
        for pair, repeat in zip(ends, self.repeats, strict=True):
            forms = [end.influence for end in pair]
            squares = repeat[name].covariance(forms)
            matrices.append(n_rows / (n_rows - 1) * squares)
            numbers.append(
                [
                    _carriers(squares[place, place], repeat[name].fourth_powers(form), n_units)
                    for place, form in enumerate(forms)
                ]
            )
            compared.append(kish_numbers(pair, partial(_kish_number, repeat[name]), clustered=False))
        return summed_up(ends, matrices, numbers, n_rows, False, n_units, compared)

    def _clustered(self, ends: list[Ends], rows: np.ndarray, name: str) -> BoundStandardErrors:
        among = [self.cluster_sums(each, name).within(rows) for each in self.evidence]
        mass = self._mass_of_clusters(rows, name)
        n_units = float(mass.sum() ** 2 / np.sum(mass**2))
        if len(mass) < FEWEST:
            return _without_errors(ends, len(mass), True, n_units)
        matrices, numbers, compared = [], [], []
        for pair, clusters in zip(ends, among, strict=True):
            sums = clusters.sums([end.influence for end in pair])
            matrices.append(len(mass) / (len(mass) - 1) * sums @ sums.T)
            numbers.append([_carriers(np.sum(each**2), np.sum(each**4), n_units) for each in sums])
            compared.append(kish_numbers(pair, partial(_kish_number_of_clusters, clusters), clustered=True))
        return summed_up(ends, matrices, numbers, len(mass), True, n_units, compared)

    def n_units(self, rows: np.ndarray) -> float:
        """Return the effective number of rows, or of clusters, in some cells (Kish)."""
        if self.cluster is not None:
            mass = self._mass_of_clusters(rows, self.assumptions[0])
            return float(mass.sum() ** 2 / np.sum(mass**2))
        return float(self.cells.weights[rows].sum() ** 2 / self.cells.square_weights[rows].sum())

    def _mass_of_clusters(self, rows: np.ndarray, name: str) -> Array:
        """Weight of every cluster in some cells: the scores of a row sum to one."""
        among = self.cluster_sums(self.evidence[0], name).within(rows)
        return among.sums([np.ones_like(self.repeats[0][name].first)])[0]

    def count_units(self, rows: np.ndarray) -> int:
        """Return the number of independent units in some cells."""
        if self.cluster is None:
            return self.n_cases(rows)
        (name, *_) = self.assumptions
        return self.cluster_sums(self.evidence[0], name).within(rows).n_clusters

    def n_cases(self, rows: np.ndarray) -> int:
        """Return the number of rows in some cells."""
        return int(self.cells.rows[rows].sum())

    def n_labeled(self, rows: np.ndarray) -> int:
        """Return the number of labeled rows in some cells."""
        return int(self.cells.labeled[rows].sum())


def _moved(pair: Ends, reach: float) -> Ends:
    """Widen the bounds by the error due to binned scores."""
    low, high = pair
    return replace(low, value=low.value - reach), replace(high, value=high.value + reach)


def _kish_number(cells: CellMoments, mass: Array) -> float:
    """Effective number of rows, if every row is a unit: sums and sums of squares are those of the cells."""
    square = float(cells.covariance([mass])[0, 0])
    return float(np.vdot(cells.first, mass)) ** 2 / max(square, np.finfo(float).tiny)


def _kish_number_of_clusters(clusters: ClusterSums, mass: Array) -> float:
    """Effective number of clusters."""
    return effective_sample_size(clusters.sums([mass])[0])


def _carriers(second: float, fourth: float, n_units: float) -> float:
    """Effective number of units, from the sums of squares and of fourth powers of their influence."""
    if not (fourth > 0.0 and np.sqrt(n_units * second) > ROUNDING):  # nothing varies
        return max(n_units, FEWEST)
    return number_of_carriers(second**2 / fourth, n_units)


def _without_errors(ends: list[Ends], n_units: int, clustered: bool, number: float) -> BoundStandardErrors:
    low, high = np.median([[end.value for end in pair] for pair in ends], axis=0).tolist()
    nothing = float("nan"), float("nan")
    return BoundStandardErrors(low, high, nothing, 1.0, n_units, clustered, number)
