"""Rows drawn from a table in partitions: by hash, those of rare classes more often, with their weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.data import columns
from selective_labels.data.columns import mean_one
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.data.survey import RoleColumns, Survey
from selective_labels.partitions.hashing import SAMPLE, uniform

# A class with fewer rows than this in a sample (in a small one, than this share of it) is drawn more often.
FEWEST_OF_CLASS, LEAST_SHARE = 1_000, 0.05
# Hashes draw a number of rows up to chance: so many standard deviations more are drawn, the surplus dropped.
SURPLUS = 4.0


@dataclass(frozen=True)
class Draw:
    """Rows whose rank, a hash divided by how often their class is wanted, is small; sent to other processes.

    Attributes
    ----------
    roles : RoleColumns
    seed : int
    share : float
        Ranks below it are drawn.
    often : dict of float
        By class: how many times as often as others its rows are drawn.
    """

    roles: RoleColumns
    seed: int
    share: float = 1.0
    often: Mapping[Any, float] = field(default_factory=dict)

    @classmethod
    def of(cls, roles: RoleColumns, seed: int, n_rows: int, n_all: int) -> "Draw":
        """About so many rows of all, a few more."""
        share = min((n_rows + SURPLUS * np.sqrt(n_rows)) / n_all, 1.0) if n_rows < n_all else 1.0
        return cls(roles, seed, float(share))

    def with_rare_classes(self, survey: Survey) -> "Draw":
        """Rows of rare classes more often. Groups stay together, so with groups all rows are alike."""
        if self.share >= 1.0 or self.roles.groups is not None:
            return self
        least = min(FEWEST_OF_CLASS, LEAST_SHARE * self.share * survey.n_rows)
        expected = {label: rows * self.share for label, rows in survey.class_rows.items()}
        return replace(self, often={label: least / each for label, each in expected.items() if each < least})

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Keep those that are drawn."""
        frame, _ = self.roles.rows(frame)
        return frame if self.share >= 1.0 else frame[self.ranks(frame) < self.share]

    def ranks(self, frame: pd.DataFrame) -> np.ndarray:
        """Rank of each row in the order in which rows are drawn."""
        drawn = uniform(self.roles.keys(frame), SAMPLE, self.seed)
        if not self.often:
            return drawn
        codes, classes = pd.factorize(outcomes_of(self.roles, frame))  # -1 where no label was seen
        times = np.array([*(self.often.get(each, 1.0) for each in classes.tolist()), 1.0])
        return drawn / times[codes]


def outcomes_of(roles: RoleColumns, frame: pd.DataFrame) -> np.ndarray:
    """Class of each row as it was read, None where no label was seen."""
    labels, seen, _ = columns.seen_labels(frame[roles.label], roles.values(frame)["decision"], len(frame))
    found = np.full(len(frame), None, dtype=object)
    found[seen] = columns.label_values(labels[seen])
    return found


def balancing_weights(draw: Draw, frame: pd.DataFrame, survey: Survey) -> np.ndarray | None:
    """What undoes that classes were drawn unequally: the table's weight of an outcome over the sample's.

    None if all rows had the same chance. One factor for each outcome of a large table: what a single row
    adds to its own is nothing that a model could learn.
    """
    if not draw.often:
        return None
    outcome = pd.Series(outcomes_of(draw.roles, frame))
    given = columns.read_weights(draw.roles.values(frame)["sample_weight"], len(frame))
    weight = pd.Series(np.ones(len(frame)) if given is None else given)
    whole = dict(survey.class_weight)
    unseen = outcome.isna()
    factors = np.ones(len(frame))
    for label, mass in whole.items():
        here = (outcome == label).to_numpy()
        factors[here] = mass / max(weight[here].sum(), np.finfo(float).tiny)
    factors[unseen] = (survey.weight - sum(whole.values())) / max(weight[unseen].sum(), np.finfo(float).tiny)
    return mean_one(factors)


def reweighted(data: SelectiveLabels, factors: np.ndarray | None) -> SelectiveLabels:
    """The same rows with their weights times factors."""
    if factors is None:
        return data
    weight = factors if data.given_weight is None else factors * data.given_weight
    return replace(data, given_weight=weight, sample_weight=mean_one(weight))


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Rows of several parts."""
    return pd.concat(frames)
