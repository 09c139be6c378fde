"""Rows of the training data with what models that have not seen them say, part by part."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.nuisance.cross_fit import CHUNK_NUMBERS, CrossFit
from selective_labels.nuisance.propensity import arm_propensity


@dataclass(frozen=True, eq=False)
class HeldOutPart:
    """Some rows of one fold.

    Attributes
    ----------
    fold : int
    rows : (n,) int array
    arm : (n,) int array
        Of the row's decision-maker, by the fold's own arms.
    labeled : (n_arms, n, n_classes) array
        P(Y=k, D=1 | x, z).
    propensity : (n, n_arms) array
    """

    fold: int
    rows: np.ndarray
    arm: np.ndarray
    labeled: np.ndarray
    propensity: np.ndarray

    @property
    def own(self) -> np.ndarray:
        """P(Y=k, D=1 | x, z) under the row's own decision-maker, (n, n_classes)."""
        return self.labeled[self.arm, np.arange(len(self.arm))]

    @property
    def mean(self) -> np.ndarray:
        """P(Y=k, D=1 | x) over decision-makers, (n, n_classes)."""
        return np.einsum("nz,znk->nk", self.propensity, self.labeled)


class HeldOutRows:
    """All training rows, in parts; predicted once if they fit in memory together, else each time.

    Parameters
    ----------
    fit : CrossFit
    data : SelectiveLabels
        The rows that `fit` was made from.
    """

    def __init__(self, fit: CrossFit, data: SelectiveLabels) -> None:
        self.fit = fit
        self.data = data
        small = len(data) * fit.n_arms * len(data.classes) <= CHUNK_NUMBERS
        self._kept = list(self._parts()) if small else None

    def __iter__(self) -> Iterator[HeldOutPart]:
        return self._parts() if self._kept is None else iter(self._kept)

    def _parts(self) -> Iterator[HeldOutPart]:
        fit, data = self.fit, self.data
        for number, fold in enumerate(fit.folds):
            propensity = arm_propensity(fit, number, data)
            for rows in fit.chunks(np.flatnonzero(fit.held_out == number), len(data.classes) + 1):
                labeled = np.ascontiguousarray(fold.joint(data.features[rows])[:, :, 1:])
                arm = fold.lookup[data.decision_maker_codes[rows]]
                yield HeldOutPart(number, rows, arm, labeled, propensity(rows))
