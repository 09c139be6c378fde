"""Fits of candidates on the training rows of folds, and their losses on the rows held out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.models.constant import ConstantJoint
from selective_labels.models.families import Candidate
from selective_labels.models.indices import IndexLogistic, fit_index_path
from selective_labels.models.logistic import ROUGH, TOLERANCE, PooledLogistic, fit_path
from selective_labels.models.smooth import SmoothJoint
from selective_labels.nuisance.bands import Arms
from selective_labels.nuisance.folds import Fold, halves
from selective_labels.nuisance.selection import JointModel, calibration_error, log_losses


class Problem(NamedTuple):
    """Rows to fit to: row numbers, the category with pooled effects, the outcome, and how many of each."""

    rows: np.ndarray
    given: np.ndarray
    outcome: np.ndarray
    n_given: int
    n_outcomes: int


@dataclass(frozen=True)
class Fitter:
    """Everything a fit of one candidate on one fold needs; sent to workers as one object."""

    # What is modelled, in words for people.
    subject: ClassVar[str] = "decision and label"
    # Settings of a family go from tight to loose; so many in a row that lose more than the best end it.
    patience: ClassVar[int] = 2

    data: SelectiveLabels
    outcome: np.ndarray
    folds: list[Fold]
    arms: list[Arms]

    def fit(self, candidate: Candidate, fold: int, within: np.ndarray | slice = slice(None)) -> Any:
        """Fit on the training rows of a fold (`within` picks among them)."""
        return next(self.fits([candidate], fold, within))

    def fits(
        self,
        options: Sequence[Candidate],
        fold: int,
        within: np.ndarray | slice = slice(None),
        *,
        roughly: bool = False,
    ) -> Iterator[Any]:
        """Fit candidates of one family, one after the other, to the same rows, which are prepared once.

        `roughly`: only to compare them, not to use them.
        """
        rows, given, outcome, n_given, n_outcomes = self.problem(fold, within)
        outcomes = np.unique(outcome)
        if len(outcomes) == 1:
            yield from [ConstantJoint(n_given, n_outcomes, outcomes[0])] * len(options)
            return
        models = [self.model(option, n_given, n_outcomes) for option in options]
        weight = None if self.data.sample_weight is None else self.data.sample_weight[rows]
        known = self.data.features[rows], given, outcome, weight
        tolerance = ROUGH if roughly else TOLERANCE
        if isinstance(models[0], PooledLogistic):
            yield from fit_path(models, *known, tolerance=tolerance)
        elif isinstance(models[0], IndexLogistic):
            yield from fit_index_path(models, *known, tolerance=tolerance)
        else:
            yield from (model.fit(*known) for model in models)

    def model(self, candidate: Candidate, n_given: int, n_outcomes: int) -> Any:
        """Make an unfitted model; one of a numeric instrument is smooth in it."""
        if not self.data.numeric:
            return candidate.factory(n_given, n_outcomes)
        inner = candidate.factory(1, n_outcomes)
        return SmoothJoint(inner, self.data.decision_makers, self.data.categorical)

    def problem(self, fold: int, within: np.ndarray | slice) -> Problem:
        """Give the outcome of every training row (that `within` picks), by its arm."""
        rows, arms = self.folds[fold][0][within], self.arms[fold]
        n_outcomes = len(self.data.classes) + 1
        return Problem(rows, arms.rows[within], self.outcome[rows], arms.n_arms, n_outcomes)

    def halves(self, fold: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Two disjoint halves of the training rows of a fold."""
        rows = self.folds[fold][0]
        groups = None if self.data.groups is None else self.data.groups[rows]
        return halves(self.outcome[rows], groups, seed)

    def fit_halves(
        self, candidate: Candidate, fold: int, pair: tuple[np.ndarray, np.ndarray]
    ) -> tuple[Any, Any]:
        """Fit on two disjoint halves of the training rows of a fold."""
        return self.fit(candidate, fold, pair[0]), self.fit(candidate, fold, pair[1])

    def weight(self, rows: np.ndarray) -> np.ndarray:
        """Weights of some rows."""
        return np.ones(len(rows)) if self.data.sample_weight is None else self.data.sample_weight[rows]

    def own(self, model: JointModel, fold: int, rows: np.ndarray) -> np.ndarray:
        """Predictions of some rows under their own arms, by a model of a fold."""
        arms = self.arms[fold].lookup[self.data.decision_maker_codes[rows]]
        return model.own(self.data.features[rows], arms)

    def losses(self, model: JointModel, fold: int, rows: np.ndarray) -> np.ndarray:
        """Log-losses of some rows, by a model of a fold."""
        return log_losses(self.own(model, fold, rows), self.outcome[rows])

    def judge(self, models: Sequence[tuple[JointModel, ...]], most: int) -> tuple[float, float]:
        """Log-loss and calibration error of models of all folds, on `most` rows held out or fewer."""
        rows = [spaced(test, most // len(self.folds)) for _, test in self.folds]
        own = [
            np.mean([self.own(model, fold, rows[fold]) for model in pair], axis=0)
            for fold, pair in enumerate(models)
        ]
        chosen = np.concatenate(rows)
        predictions, outcome = np.concatenate(own), self.outcome[chosen]
        loss, _ = self.difference(log_losses(predictions, outcome), chosen)
        return loss, calibration_error(predictions, outcome)

    def difference(self, values: np.ndarray, rows: np.ndarray) -> tuple[float, float]:
        """Weighted mean of a difference in some rows, and its standard error; groups of rows go together."""
        weight = self.weight(rows)
        weight = weight / max(float(weight.sum()), np.finfo(float).tiny)
        mean = float(weight @ values)
        parts: np.ndarray = weight * (values - mean)
        if self.data.groups is not None:
            parts = np.bincount(self.data.groups[rows], parts)
        return mean, float(np.sqrt(np.sum(parts**2)))


def spaced(rows: np.ndarray, most: int) -> np.ndarray:
    """All rows, or so many of them at equal distances.

    Examples
    --------
    >>> spaced(np.arange(10), 4)
    array([0, 3, 6, 9])
    """
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(int)]
