"""The direct fit: a model of the labeled rows alone, as people do who have no instrument."""

from dataclasses import dataclass, replace

import numpy as np

from selective_labels.data import HOLE, SelectiveLabels
from selective_labels.nuisance.assignment import SHARES
from selective_labels.nuisance.cross_fit import CrossFit, cross_fit
from selective_labels.nuisance.propensity import new_propensity
from selective_labels.nuisance.settings import FittingSettings


@dataclass(frozen=True)
class DirectFit:
    """P(Y=k | x, D=1), by models of the labeled rows alone, one for each fold.

    Attributes
    ----------
    models : CrossFit
        Of the labels of one decision-maker, who saw all labeled rows; where probabilities were given, these.
    fitted : bool
        Whether there was something to fit.
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

    The joint model spends its terms on decisions as much as on labels, and its answer for the labeled cases,
    P(Y=k, D=1 | x) / P(D=1 | x), was below this plain fit on real loans. Folds are those of the joint model.

    Parameters
    ----------
    data : SelectiveLabels
    joint : CrossFit
        Of the same rows.
    fitting : FittingSettings
    """
    if joint.report.chosen == "injected":
        return DirectFit(joint.without_rows(), fitted=False)
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
    own = joint.held_out[labeled]
    folds = [(np.flatnonzero(own != each), np.flatnonzero(own == each)) for each in np.unique(own)]
    named = fitting.nuisance is None or isinstance(fitting.nuisance, str)
    models = cross_fit(
        alone,
        joint.report.chosen if named else fitting.nuisance,
        cv=folds,
        propensity=SHARES,
        n_jobs=fitting.n_jobs,
        random_state=fitting.seed,
    )
    return DirectFit(models.without_rows(), fitted=True)
