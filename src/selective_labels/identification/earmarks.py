"""Scores of what is known of several classes together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Earmarks:
    """Slack that is known to be within an event, or ceilings on single classes, row by row.

    Attributes
    ----------
    events : tuple of tuples of int
        Codes of the classes of each event, small events first.
    values, plug_in : (n_samples, n_events) arrays
        Scores of the slack of each event, and what a model that has not seen the row says.
    ceiling, ceiling_plug_in : (n_samples, n_classes) arrays or None
        Scores of upper bounds of each class, and what the model says; None: there are none.
    """

    events: tuple[tuple[int, ...], ...]
    values: np.ndarray
    plug_in: np.ndarray
    ceiling: np.ndarray | None = None
    ceiling_plug_in: np.ndarray | None = None

    @classmethod
    def joined(cls, parts: "Sequence[Earmarks]", places: np.ndarray) -> "Earmarks":
        """Those of chunks of rows one after the other, the rows put in order."""

        def put(several: list[np.ndarray]) -> np.ndarray:
            return np.concatenate(several)[places]

        values, plug_in = put([each.values for each in parts]), put([each.plug_in for each in parts])
        ceilings = [each.ceiling for each in parts if each.ceiling is not None]
        models = [each.ceiling_plug_in for each in parts if each.ceiling_plug_in is not None]
        if not ceilings:
            return cls(parts[0].events, values, plug_in)
        return cls(parts[0].events, values, plug_in, put(ceilings), put(models))

    def empty(self, n_samples: int) -> "Earmarks":
        """The same for as many rows, all zero."""
        shape = (n_samples, len(self.events))
        if self.ceiling is None:
            return Earmarks(self.events, np.zeros(shape), np.zeros(shape))
        wide = (n_samples, self.ceiling.shape[1])
        return Earmarks(self.events, np.zeros(shape), np.zeros(shape), np.zeros(wide), np.zeros(wide))

    def add(self, rows: np.ndarray, part: "Earmarks", weight: float = 1.0) -> None:
        """Add those of some rows."""
        self.values[rows] += weight * part.values
        self.plug_in[rows] += weight * part.plug_in
        for total, here in (
            (self.ceiling, part.ceiling),
            (self.ceiling_plug_in, part.ceiling_plug_in),
        ):
            if total is not None and here is not None:
                total[rows] += weight * here
