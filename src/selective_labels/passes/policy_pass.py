"""Policies on a table in partitions: cells lie between values of the score, and know what was decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.cells.cell_sample import CellSample
from selective_labels.data import SelectiveLabels, class_code
from selective_labels.data.lazy import PartitionedLabels
from selective_labels.identification.bounds import Array
from selective_labels.measures.asked import Asked
from selective_labels.passes.cell_keys import Judged, Within, binned, edges_of_scores, outcomes
from selective_labels.passes.partition_pass import CellTable
from selective_labels.passes.question import prepared_for
from selective_labels.policies.courses import Course
from selective_labels.policies.direction import warn_if_reversed
from selective_labels.policies.policy import (
    TEAMS,
    UNDECIDED,
    Policy,
    deferred_by,
    modes,
    risk_of,
)
from selective_labels.support.errors import InputError

COURSES, DECIDERS = "courses", "deciders"


@dataclass(frozen=True, eq=False)
class PolicyKeys:
    """From rows to bins of risks, to who is deferred, and to what came of the case; sent to other processes.

    Attributes
    ----------
    judged : tuple of Judged
        The scores of one policy, or of two.
    deferring : tuple of (classifier or None)
        Of each policy that leaves undecided cases to the human, whose doubt it is.
    within : Within
    failure : int
    edges : tuple of arrays
        Values that bins of each risk lie between.
    """

    judged: tuple[Judged, ...]
    deferring: tuple[Any, ...]
    within: Within
    failure: int
    edges: tuple[np.ndarray, ...]

    @property
    def columns(self) -> list[str]:
        """Columns that are read."""
        return [*(name for each in self.judged for name in each.columns), *self.within.columns]

    def __call__(self, frame: pd.DataFrame, data: SelectiveLabels) -> dict[str, CellTable]:
        """Keys of every row: groups, bins, who is deferred, and the outcome last."""
        risks = [risk_of(each.subject(frame, data), self.failure) for each in self.judged]
        bins = [binned(risk, edges) for risk, edges in zip(risks, self.edges, strict=True)]
        deferred = [
            np.zeros(len(data), dtype=int) if each is None else deferred_by(each, data).astype(int)
            for each in self.deferring
        ]
        outcome = outcomes(data)
        return {
            COURSES: CellTable(np.column_stack([*self.within(frame), *bins, *deferred, outcome])),
            DECIDERS: CellTable(np.column_stack([data.decision_maker_codes, outcome]), clustered=False),
        }


@dataclass(frozen=True, eq=False)
class CellCases:
    """Cells as cases: all rows of one were decided alike, and have the same label, if any."""

    classes: np.ndarray
    row_decision: np.ndarray
    y: np.ndarray

    @classmethod
    def of(cls, classes: np.ndarray, outcome: np.ndarray) -> "CellCases":
        """From codes: 0 is refused, k + 1 accepted with label k."""
        return cls(classes, (outcome > 0).astype(int), outcome - 1)

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class CellGround:
    """Cells that policies are laid out on.

    Attributes
    ----------
    sample : CellSample
    failure : int
        Code of the class that is a failure.
    keys : PolicyKeys
    deciders : CellSample
        Cells by decision-maker and outcome.
    decision_makers : array
        Their sorted ids.
    """

    sample: CellSample
    failure: int
    keys: PolicyKeys
    deciders: CellSample
    decision_makers: np.ndarray

    @property
    def cases(self) -> CellCases:
        """The cells."""
        return CellCases.of(self.sample.told.classes, self.sample.cells.key[:, -1])

    def course(self, policy: Policy, place: int = 0) -> Course:
        """Lay out the policy that was given in this place."""
        first = self.keys.within.size
        bins = self.sample.cells.key[:, first + place]
        deferred = self.sample.cells.key[:, first + len(self.keys.judged) + place].astype(float)
        below, above = modes(policy, len(bins), deferred)
        risk = values_of_bins(bins, self.keys.edges[place])
        return Course(below, above, risk, policy.acceptance, policy.threshold, between=bins % 2 == 0)


def values_of_bins(bins: np.ndarray, edges: np.ndarray) -> Array:
    """A value for each bin: the edge that it holds, or for bins between two the last number below the next.

    So that at a cut-off that is an edge, a bin lies on the side on which its rows do.

    Examples
    --------
    >>> values_of_bins(np.array([0, 1, 2, 3, 4]), np.array([1.0, 2.0])).round(2)
    array([ 1.,  1.,  2.,  2., inf])
    """
    upper = np.append(edges, np.inf)[bins // 2]
    return np.where((bins % 2 == 0) & np.isfinite(upper), np.nextafter(upper, -np.inf), upper)


def ground_in_passing(
    asked: Asked, lazy: PartitionedLabels, policies: Mapping[str, Policy], thresholds: Sequence[float] = ()
) -> CellGround:
    """Pass once over a table in partitions, and lay policies out on its cells.

    `policies` are one or two by what messages call them; `thresholds` are cut-offs besides theirs.
    """
    chosen = list(policies.values())
    for policy in chosen:
        if policy.with_human is not None and not isinstance(policy.with_human, str):
            raise InputError.about(
                "with_human",
                f"is an array; on data in partitions give {', '.join(map(repr, TEAMS))}, or take rows into "
                "memory with data.sample(n).",
            )
    judged, within, prepared = prepared_for(
        asked, lazy, {name: each.score for name, each in policies.items()}
    )
    failure = class_code(asked.pos_label, prepared.data.classes)
    risks = [risk_of(each.subject(prepared.frame, prepared.data), failure) for each in judged]
    for policy, risk in zip(chosen, risks, strict=True):
        if any(policy is each for each in asked.given):
            warn_if_reversed(risk, prepared.data, failure)
    cuts = [each.threshold for each in chosen if each.threshold is not None]
    edges = tuple(np.union1d(each, [*cuts, *thresholds]) for each in edges_of_scores(risks))
    deferring = tuple(
        each.score if isinstance(each.with_human, str) and each.with_human == UNDECIDED else None
        for each in chosen
    )
    for classifier in deferring:  # said before the pass, by the rows at hand
        if classifier is not None:
            deferred_by(classifier, prepared.data)
    keys = PolicyKeys(judged, deferring, within, failure, edges)
    samples = prepared.samples(prepared.run(keys, keys.columns), {}, within.places)
    makers = prepared.data.decision_makers
    return CellGround(samples[COURSES], failure, keys, samples[DECIDERS], makers)
