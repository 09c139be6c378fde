"""Class probabilities from models of the labeled rows alone, of the families of the nuisance models."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from selective_labels.data.roles import HOLE
from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.nuisance.assignment import SHARES
from selective_labels.nuisance.cross_fit import CrossFit, FittingSettings, cross_fit, new_propensity


@dataclass(frozen=True)
class DirectFit:
    """P(Y=k | x, D=1) from models of the labeled rows only, one for each fold.

    Attributes
    ----------
    models : CrossFit
        Models of the labels with a single decision-maker for all labeled rows, or the given probabilities.
    fitted : bool
        Whether models were fitted.
    """

    models: CrossFit
    fitted: bool

    def probabilities(self, X: np.ndarray, n_classes: int) -> np.ndarray:
        """Mean over the folds' models, (n_samples, n_classes)."""
        total = np.zeros((len(X), n_classes))
        for number, fold in enumerate(self.models.folds):
            for rows in self.models.chunks(np.arange(len(X)), n_classes + 1):
                chances = new_propensity(self.models, number, X[rows])
                total[rows] += np.einsum("nz,znk->nk", chances, fold.joint(X[rows])[:, :, 1:])
        return total / np.maximum(total.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def fit_direct(data: SelectiveLabels, joint: CrossFit, fitting: FittingSettings) -> DirectFit:
    """Fit the family of the joint model to the labeled rows, without decision-makers.

    The joint model also has to fit decisions, and its estimate for labeled cases, P(Y=k, D=1 | x) /
    P(D=1 | x), performed worse than this plain fit on real loans. The folds are those of the joint model.

    Parameters
    ----------
    data : SelectiveLabels
    joint : CrossFit
        Joint model of the same rows.
    fitting : FittingSettings
    """
    if joint.report.chosen == "injected":
        return DirectFit(joint.without_rows(), fitted=False)
    own = joint.held_out[data.y != HOLE]
    folds = [(np.flatnonzero(own != each), np.flatnonzero(own == each)) for each in np.unique(own)]
    named = fitting.nuisance is None or isinstance(fitting.nuisance, str)
    chosen = joint.report.chosen if named else fitting.nuisance
    return fit_labeled(data, chosen, folds, fitting.seed, n_jobs=fitting.n_jobs)


def fit_labeled(
    data: SelectiveLabels, nuisance: Any, cv: Any, seed: int | None, *, n_jobs: int | None = None
) -> DirectFit:
    """Cross-fit models of the label on the labeled rows. Given probabilities are taken as they are.

    Parameters
    ----------
    data : SelectiveLabels
    nuisance : as for :class:`selective_labels.UCLClassifier`
    cv : folds of the labeled rows, or their number
    seed : int
    n_jobs : int, optional
    """
    if callable(nuisance) and not hasattr(nuisance, "fit"):
        given = FittingSettings(nuisance, cv=cv, seed=seed).cross_fit(data, seed=seed)
        return DirectFit(given.without_rows(), fitted=False)
    labeled = np.flatnonzero(data.y != HOLE)
    alone = replace(
        data.bare().take(labeled),
        decision_maker=np.zeros(len(labeled), dtype=int),
        decision_maker_codes=np.zeros(len(labeled), dtype=int),
        decision_makers=np.zeros(1, dtype=int),
        strata=None,
        assignment=None,
        numeric=False,
    )
    models = cross_fit(alone, nuisance, cv=cv, propensity=SHARES, n_jobs=n_jobs, random_state=seed)
    return DirectFit(models.without_rows(), fitted=True)
