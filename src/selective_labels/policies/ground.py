"""What policies are laid out on: rows that are scored, or cells of rows that are alike."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from selective_labels.inference.sample import ScoredSample
from selective_labels.policies.courses import Course
from selective_labels.policies.policy import Policy, read_course


class Cases(Protocol):
    """What was decided, and what came of it."""

    @property
    def classes(self) -> np.ndarray:
        """Sorted."""

    @property
    def row_decision(self) -> np.ndarray:
        """1 where the case was accepted, (n_samples,)."""

    @property
    def y(self) -> np.ndarray:
        """Codes of labels, -1 where none was seen, (n_samples,)."""

    def __len__(self) -> int: ...


@dataclass(frozen=True, eq=False)
class RowGround:
    """Rows in memory.

    Attributes
    ----------
    sample : ScoredSample
    failure : int
        Code of the class that is a failure.
    names : tuple of str
        What messages call the scores of one policy, or of two.
    """

    sample: ScoredSample
    failure: int
    names: tuple[str, ...] = ("score",)

    @property
    def cases(self) -> Cases:
        """The rows."""
        return self.sample.data

    def course(self, policy: Policy, place: int = 0) -> Course:
        """Lay out the policy that was given in this place."""
        return read_course(policy, self.sample.data, self.failure, self.names[place])
