"""What scores rows that models were not fitted to, fold by fold."""

from dataclasses import dataclass, replace

import numpy as np

from selective_labels.data import SelectiveLabels
from selective_labels.nuisance.cross_fit import CrossFit, FoldModel
from selective_labels.nuisance.propensity import arm_propensity
from selective_labels.nuisance.score_formulas import OVERLAP, LabelRange, Pools, Rows, required_lead
from selective_labels.nuisance.scores import fold_pools, leniency_order, n_independent, probe_of
from selective_labels.nuisance.selectors import Probe
from selective_labels.support.weighting import effective_number


@dataclass(frozen=True, eq=False)
class FoldJudge:
    """What scores rows of one fold: models that have not seen it, and what was found beside the models.

    Attributes
    ----------
    fold : FoldModel
    pools : Pools or None
    n_units, n_fitted : float, int
        See :class:`selective_labels.nuisance.score_formulas.Rows`.
    probe : Probe
        Rows of the fold, to compare arms on.
    leniency : (n_arms,) array or None
        Numbers that order the arms by leniency, where the best arm needs a lead.
    """

    fold: FoldModel
    pools: Pools | None
    n_units: float
    n_fitted: int
    probe: Probe
    leniency: np.ndarray | None = None

    def rows(self, data: SelectiveLabels, here: np.ndarray, shares: np.ndarray) -> Rows:
        """Some rows with all that scores need; `shares` are their probabilities of arms."""
        pair = [model.joint(data.features[here]) for model in self.fold.models]
        arm = self.fold.lookup[data.decision_maker_codes[here]]
        return Rows(
            first=pair[0],
            second=pair[-1],
            arm=arm,
            y=data.y[here],
            propensity=shares,
            lead=0.0,
            n_units=self.n_units,
            n_fitted=self.n_fitted,
            pools=self.pools,
            probe=lambda: self.probe,
            classes=data.classes,
        )

    def within(self, rows: Rows, known: LabelRange) -> Rows:
        """The same rows where class probabilities are known to lie in a range: no arms are pooled there."""
        lead: np.ndarray | float = 0.0
        if self.leniency is not None:
            lead = required_lead(rows.propensity, self.leniency, self.n_fitted, OVERLAP)
        return replace(rows, label_range=known, pools=None, lead=lead)


def fold_judges(fit: CrossFit, data: SelectiveLabels) -> tuple[FoldJudge, ...]:
    """What scores other rows of each fold, from the rows that the models were fitted to."""
    given = fit.report.chosen == "injected"
    n_fitted = round(effective_number(data.weights))
    n_units = np.inf if given else n_independent(data, n_fitted)
    found = []
    for number, fold in enumerate(fit.folds):
        rows = np.flatnonzero(fit.held_out == number)
        probe = probe_of(fold, data, rows, arm_propensity(fit, number, data))()
        pools, leniency = None, None
        if not given:
            pools = fold_pools(fit, fold, data, fit.held_out != number)
            leniency = leniency_order(fit, fold, data.features[rows], data.weights[rows])
        found.append(FoldJudge(fold, pools, n_units, n_fitted, probe, leniency))
    return tuple(found)


def held_out_propensity(
    fit: CrossFit, X: np.ndarray, cells: np.ndarray, own: np.ndarray, shares: np.ndarray
) -> np.ndarray:
    """Probabilities of arms by the model that has not seen each row's fold, or shares if there is no model.

    Parameters
    ----------
    fit : CrossFit
    X : (n_samples, n_features) array
    cells : (n_samples,) int array
        Strata.
    own : (n_samples,) int array
        Fold of each row.
    shares : (n_cells, n_arms) array
        Of all rows of the table.
    """
    models = fit.assignment.models
    if not models:
        return shares[cells]
    chances = np.empty((len(X), fit.n_arms))
    for number in np.unique(own):
        here = np.flatnonzero(own == number)
        chances[here] = models[number].at(X[here], cells[here], shares)
    return chances
