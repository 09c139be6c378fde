"""Rows in memory as cells between the thresholds of a score, so that a curve reads the rows once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selective_labels.assumptions.base import Assumption
from selective_labels.evaluation.partitioned.cell_sample import CellSample, SampleSummary
from selective_labels.evaluation.partitioned.cells import MOST_PARTS, CellMoments, ClusterSums, distinct
from selective_labels.evaluation.scored_rows import ScoredSample
from selective_labels.identification.bounds import Array
from selective_labels.identification.prevalence import Share
from selective_labels.inference.evidence import Evidence
from selective_labels.inference.standard_errors import cluster_codes


@dataclass(frozen=True, eq=False, kw_only=True)
class RowCells(CellSample):
    """Cells of rows in memory; results describe the sample as the rows do.

    Attributes
    ----------
    source : ScoredSample
    row : (n_cells,) int array
        One row of each cell.
    """

    source: ScoredSample
    row: np.ndarray

    @property
    def impossible(self) -> dict[str, str]:
        """By assumption, the contradiction that the rows show."""
        return self.source.impossible

    def assumed(self, assumption: str) -> Assumption:
        """Return the assumption with this name."""
        return self.source.assumed(assumption)

    def known_shares(self, assumption: str) -> tuple[Share, ...]:
        """Return the known shares; all rows of a cell belong to the same of them."""
        shares = self.source.repeats[0][assumption].shares
        return tuple(replace(each, rows=each.rows[self.row]) for each in shares)

    def summary_of(self, assumption: str) -> dict[str, Any]:
        """Return the description of the sample."""
        return self.source.summary_of(assumption)


def cells_between(sample: ScoredSample, scores: Array, thresholds: Array) -> RowCells | None:
    """Sum scored rows between ascending thresholds of a score; the last key counts those that it reaches.

    Any rule that treats the rows between two thresholds alike has the same bounds, standard errors and
    intervals on the cells, up to rounding, at a cost that does not depend on the number of rows.

    Returns
    -------
    RowCells, or None where sums do not suffice: the event tilt, upper bounds on single classes, and more
    classes than sums of fourth powers are kept for
    """
    if not sample.clipped or not all(
        name in repeat and _summable(repeat[name]) for repeat in sample.repeats for name in sample.assumptions
    ):
        return None
    key = np.column_stack([*_groups(sample), np.searchsorted(thresholds, scores, "right")])
    unique, code = distinct(key)
    row = np.empty(len(unique), dtype=int)
    row[code] = np.arange(len(code))
    labeled, weights = sample.data.labeled.astype(float), sample.weights
    unused = np.zeros((len(code), 3))  # what results say of the sample is known from the rows
    units = cluster_codes(sample.cluster, sample.data)
    repeats, clusters = [], []
    for repeat in sample.repeats:
        scored = {name: repeat[name] for name in sample.assumptions}
        repeats.append(
            {name: CellMoments.of_rows(key, each, labeled, weights, unused) for name, each in scored.items()}
        )
        if units is not None:
            clusters.append(
                {name: ClusterSums.of_rows(units, key, each, weights) for name, each in scored.items()}
            )
    summary = SampleSummary(sample.classes, sample.data.n_decision_makers, 0, len(sample.data))
    return RowCells(repeats, summary, cluster=sample.cluster, clusters=clusters, source=sample, row=row)


def _summable(evidence: Evidence) -> bool:
    laminar = evidence.laminar_scores
    n_parts = evidence.lower.shape[1] + evidence.event_slack.shape[1] + 1
    return n_parts <= MOST_PARTS and (laminar is None or laminar.ceiling is None)


def _groups(sample: ScoredSample) -> Sequence[np.ndarray]:
    """Return one key for each known share: whether it concerns a row."""
    first = [sample.repeats[0][name] for name in sample.assumptions]
    return [share.rows.astype(int) for each in first for share in each.shares if not share.rows.all()]
