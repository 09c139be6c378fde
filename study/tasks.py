"""One independent piece of the study: a repetition of one part of one cell, in one direction of selection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

# Where the study's random numbers begin.
ENTROPY = 20250713
# The number of the draw on which settings are chosen; repetitions count from zero.
TUNING = -1


@dataclass(frozen=True)
class Task:
    """One repetition of one part of one cell of an experiment.

    Attributes
    ----------
    experiment, protocol : str
    cell : str
        A design of the experiment, such as ``uc-y0.3-d0.5``.
    mirrored : bool
        Whether selection favours the other classes.
    part : str
        Methods or classifiers that run together.
    repetition : int
    """

    experiment: str
    protocol: str
    cell: str
    mirrored: bool
    part: str
    repetition: int

    def seeds(self, entropy: int | Sequence[int], n_seeds: int) -> list[np.random.SeedSequence]:
        """Seeds of this repetition, from the names of the cell alone, so that it can be rerun by itself.

        Direction and part have no share in them: mirrored designs differ in the decisions only, and all
        parts see the same data.

        Examples
        --------
        >>> task = Task("rate", "honest", "additive", False, "all", 0)
        >>> mirror = Task("rate", "honest", "additive", True, "all", 0)
        >>> again = Task("rate", "honest", "additive", False, "all", 1)
        >>> first, same, other = (each.seeds(1, 1)[0].generate_state(1) for each in (task, mirror, again))
        >>> bool(first == same), bool(first == other)
        (True, False)
        """
        names = (self.experiment, self.protocol, self.cell)
        key = (*(crc32(name.encode()) for name in names), self.repetition - TUNING)
        return np.random.SeedSequence(entropy, spawn_key=key).spawn(n_seeds)


@dataclass(frozen=True)
class Setup:
    """What all tasks of a run share.

    Attributes
    ----------
    entropy : int
    n_samples : int, optional
        Cases in each data set; None: as many as the experiment has.
    data : Path, optional
        The HELOC table, for the FICO experiment.
    choices : mapping
        Settings chosen on a draw of their own: (cell, mirrored, part) to names and values.
    """

    entropy: int = ENTROPY
    n_samples: int | None = None
    data: Path | None = None
    choices: Mapping[tuple[str, bool, str], Mapping[str, Any]] = field(default_factory=dict)

    def chosen(self, task: Task) -> Mapping[str, Any]:
        """Settings for a task."""
        return self.choices[task.cell, task.mirrored, task.part]


def whole_number(seed: np.random.SeedSequence) -> int:
    """A seed for scikit-learn and PyTorch."""
    return int(seed.generate_state(1)[0] >> 1)
