"""Learning curve that chooses how many rows of a partitioned table the models are fitted to.

    L(n) - L(2n) > s.e.,   L(n) the log-loss of decision and label of models fitted to n rows

n doubles while this holds. Both losses are computed on the same held-out rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from selective_labels.data.partitioned import Draw, PartitionedLabels, balancing_weights, reweighted
from selective_labels.data.row_hash import hash_folds
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.nuisance.cross_fit import FittingSettings, held_out_losses
from selective_labels.nuisance.scores import selector_bands

# First and largest number of rows of the curve. For wide tables MOST_NUMBERS limits rows times features.
FEWEST, MOST = 25_000, 400_000
MOST_NUMBERS = 40_000_000
# Largest number of held-out rows to compare losses on, and number of folds, one of which is held out.
TESTED, N_FOLDS = 40_000, 5


@dataclass(frozen=True, eq=False)
class Drawn:
    """Sample of rows that models may be fitted to.

    Attributes
    ----------
    ranked : pandas.DataFrame
        The rows in the order of the draw, so that the first rows are a smaller sample.
    wanted : int or None
        Requested number of rows; None if the learning curve decides.
    """

    lazy: PartitionedLabels
    draw: Draw
    ranked: pd.DataFrame
    wanted: int | None

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The rows in the order of the table."""
        return self.lazy.roles.in_order(self.ranked)

    @cached_property
    def factors(self) -> np.ndarray | None:
        """Factors for the weights of the rows of `frame`, because rare classes were oversampled."""
        return balancing_weights(self.draw, self.frame, self.lazy.survey())

    def data(self) -> SelectiveLabels:
        """The rows as a table in memory; raises an error if a class of the whole table is missing."""
        found = reweighted(self.lazy.in_memory(self.frame), self.factors)
        self.lazy.require_all_classes(found)
        return found

    def by_curve(self, fitting: FittingSettings) -> "Drawn":
        """Keep the number of rows that the learning curve chooses, unless a number was requested."""
        injected = callable(fitting.nuisance) and not hasattr(fitting.nuisance, "fit")
        if self.wanted is not None or injected or len(self.ranked) <= FEWEST:
            return self
        return replace(self, ranked=self.ranked.iloc[: _rows_by_curve(self, fitting)])


def draw_rows(
    lazy: PartitionedLabels, seed: int, others: Sequence[str] = (), n_rows: int | None = None
) -> Drawn:
    """Draw rows to fit models to: `n_rows`, `fit_rows`, or the largest number of the learning curve.

    Parameters
    ----------
    seed : int
        Seed of the hash.
    others : sequence of str
        Additional columns of the sample.
    n_rows : int, optional
        Number of rows, if known.
    """
    wanted = lazy.fit_rows if n_rows is None else n_rows
    most = wanted or max(FEWEST, min(MOST, MOST_NUMBERS // max(1, len(lazy.features))))
    most = min(most, len(lazy))
    draw = Draw.of(lazy.roles, seed, most, len(lazy)).with_rare_classes(lazy.survey())
    return Drawn(lazy, draw, lazy.drawn(draw, most, others), wanted)


def rows_to_learn_from(lazy: PartitionedLabels, fitting: FittingSettings) -> SelectiveLabels:
    """Draw the rows that a learner is fitted to."""
    return draw_rows(lazy, 0).by_curve(fitting).data()


def settled(losses: Iterator[tuple[int, np.ndarray]], weight: np.ndarray) -> int:
    """Smallest number of rows at which doubling lowers the loss by no more than one standard error.

    Parameters
    ----------
    losses : iterator of (number of rows, (n_tested,) losses)
        In increasing order of rows; consumed only while the loss falls.
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
    """Number of rows, from the first of the ranking, that models are fitted to."""
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
