"""How many rows of a table in partitions models are fitted to: as many as still teach them something.

    L(n) - L(2n) > s.e.,   L(n) the held-out log-loss of decision and label with n rows

n doubles while this holds; both losses are of the same rows, which no model has seen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.data.partition_sources import hash_folds
from selective_labels.data.partitioned import Draw, PartitionedLabels, balancing_weights, reweighted
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.nuisance.cross_fit import held_out_losses
from selective_labels.nuisance.scores import selector_bands
from selective_labels.nuisance.settings import FittingSettings

# The curve starts with so many rows and ends with so many, or with what memory holds of wide tables.
FEWEST, MOST = 25_000, 400_000
MOST_NUMBERS = 40_000_000
# Rows held out that losses are compared on, and the share of rows that is held out, as in cross-fitting.
TESTED, N_FOLDS = 40_000, 5


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows that models may be fitted to.

    Attributes
    ----------
    lazy : PartitionedLabels
    draw : Draw
    ranked : pandas.DataFrame
        In the order in which they were drawn: the first of them are a smaller sample.
    wanted : int or None
        How many were asked for; None: the learning curve decides.
    """

    lazy: PartitionedLabels
    draw: Draw
    ranked: pd.DataFrame
    wanted: int | None

    @cached_property
    def frame(self) -> pd.DataFrame:
        """In the order of the table."""
        return self.ranked.sort_index()

    @cached_property
    def factors(self) -> np.ndarray | None:
        """What weights of the rows of `frame` are multiplied by: rare classes were drawn more often."""
        return balancing_weights(self.draw, self.frame, self.lazy.survey())

    def data(self) -> SelectiveLabels:
        """The rows as a table of their own; refused if a class of the whole table is not among them."""
        found = reweighted(self.lazy.in_memory(self.frame), self.factors)
        self.lazy.require_all_classes(found)
        return found

    def by_curve(self, fitting: FittingSettings) -> "Drawn":
        """As many of the rows as the models learn from, unless a number was asked for."""
        injected = callable(fitting.nuisance) and not hasattr(fitting.nuisance, "fit")
        if self.wanted is not None or injected or len(self.ranked) <= FEWEST:
            return self
        return replace(self, ranked=self.ranked.iloc[: _rows_by_curve(self, fitting)])


def draw_rows(
    lazy: PartitionedLabels, seed: int, others: Sequence[str] = (), n_rows: int | None = None
) -> Drawn:
    """Draw the rows that models may be fitted to: `n_rows`, or `fit_rows`, or the most of a learning curve.

    Parameters
    ----------
    lazy : PartitionedLabels
    seed : int
        Of the hash.
    others : sequence of str
        Columns that the sample has besides.
    n_rows : int, optional
        If it is known.
    """
    wanted = lazy.fit_rows if n_rows is None else n_rows
    most = wanted or max(FEWEST, min(MOST, MOST_NUMBERS // max(1, len(lazy.features))))
    most = min(most, len(lazy))
    draw = Draw.of(lazy.roles, seed, most, len(lazy)).with_rare_classes(lazy.survey())
    return Drawn(lazy, draw, lazy.drawn(draw, most, others), wanted)


def rows_to_learn_from(lazy: PartitionedLabels, fitting: FittingSettings) -> SelectiveLabels:
    """The rows that a learner is fitted to."""
    return draw_rows(lazy, 0).by_curve(fitting).data()


def settled(losses: Iterator[tuple[int, np.ndarray]], weight: np.ndarray) -> int:
    """The number of rows from which on twice as many no longer lower the loss by more than its error.

    Parameters
    ----------
    losses : iterator of (number of rows, (n_tested,) losses)
        In growing numbers; asked for only as long as the loss falls.
    weight : (n_tested,) array

    Examples
    --------
    >>> noise = np.tile([-0.1, 0.1], 50)
    >>> settled(iter([(10, 1.0 + noise), (20, 0.5 - noise), (40, 0.49 + noise), (80, 0.0)]), np.ones(100))
    20
    """
    share = weight / weight.sum()
    n_rows, before = next(losses)
    for more, after in losses:
        fall = before - after
        mean = float(share @ fall)
        if mean <= float(np.sqrt(np.sum((share * (fall - mean)) ** 2))):
            break
        n_rows, before = more, after
    return n_rows


def _rows_by_curve(drawn: Drawn, fitting: FittingSettings) -> int:
    """How many of the rows, in the order of their ranks, models are to be fitted to."""
    lazy, frame, seed = drawn.lazy, drawn.ranked, drawn.draw.seed
    weights = balancing_weights(drawn.draw, frame, lazy.survey())
    data = reweighted(lazy.in_memory(frame), weights).compact()
    folds = hash_folds(lazy.roles.keys(frame), N_FOLDS, seed)
    tested = np.flatnonzero(folds == 0)[:TESTED]
    training = np.flatnonzero(folds > 0)
    how: dict[str, Any] = {
        "n_bands": selector_bands(data),
        "n_jobs": fitting.n_jobs,
        "random_state": seed,
    }

    def losses() -> Iterator[tuple[int, np.ndarray]]:
        n_rows = FEWEST
        while True:
            n_rows = min(n_rows, len(frame))
            fold = training[training < n_rows], tested
            yield n_rows, held_out_losses(data, fold, fitting.nuisance, **how)
            if n_rows == len(frame):
                return
            n_rows *= 2

    return settled(losses(), data.weights[tested])
