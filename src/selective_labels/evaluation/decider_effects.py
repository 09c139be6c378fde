"""What decision-makers do against what their cases lead one to expect: rates, failures, and skill."""

from dataclasses import dataclass

import numpy as np

from selective_labels.data.selective_labels import SelectiveLabels
from selective_labels.diagnostics.context import case_model
from selective_labels.diagnostics.hypothesis_tests import centred
from selective_labels.identification.bounds import Array
from selective_labels.inference.empirical_bayes import common_slope
from selective_labels.nuisance.cross_fit import CrossFit

# The variance of a decision-maker with few cases counts this many cases of the average one.
PRIOR_CASES = 10.0


@dataclass(frozen=True, eq=False)
class DeciderEffects:
    """Observed minus expected, by decision-maker; all arrays of shape (n_decision_makers,) unless stated.

    r_z = mean_z (D - m_D(x)),   f_z = mean_z (D 1{Y = event} - m_F(x)),   s_z = f_z - β r_z

    with m the cross-fitted means of comparable cases over decision-makers. β is the slope of f on r across
    decision-makers, net of sampling error: the failures that each further yes brings. s_z is what leniency
    does not explain.

    Attributes
    ----------
    cases, effective : arrays
        Number of cases, and their effective number (Kish).
    rate, expected_rate : arrays
    yes : array
        Number of yes's.
    failures, expected_failures : arrays
        Share of the event among yes's, and the share that their cases lead one to expect; NaN without a yes.
    failures_error : array
        Standard error of the difference of these two; NaN without a yes.
    leniency, excess : arrays
        r and s.
    covariance : (n_decision_makers, 2, 2) array
        Sampling covariance of r and f.
    slope : float
        β.
    slope_known : bool
        False if decision-makers differ too little in leniency: β is then the share of the event among yes's.
    overall : pair of float
        Means of D and of D 1{Y = event} over all cases.
    """

    cases: np.ndarray
    effective: Array
    rate: Array
    expected_rate: Array
    yes: np.ndarray
    failures: Array
    expected_failures: Array
    failures_error: Array
    leniency: Array
    excess: Array
    covariance: Array
    slope: float
    slope_known: bool
    overall: tuple[float, float]

    @property
    def leniency_error(self) -> Array:
        """Standard error of r."""
        return np.sqrt(self.covariance[:, 0, 0])

    @property
    def excess_error(self) -> Array:
        """Standard error of s, with β as given."""
        return self.error_of(-self.slope)

    def error_of(self, slope: float | Array) -> Array:
        """Standard error of f + slope · r."""
        cov = self.covariance
        variance = cov[:, 1, 1] + 2.0 * slope * cov[:, 0, 1] + slope**2 * cov[:, 0, 0]
        return np.sqrt(np.maximum(variance, 0.0))

    @property
    def adjusted(self) -> tuple[Array, Array]:
        """Rate of a yes, and failures per case, as if each had decided the average case."""
        rate, failures = self.overall
        return np.clip(rate + self.leniency, 0.0, 1.0), failures + self.excess + self.slope * self.leniency


def decider_effects(data: SelectiveLabels, fit: CrossFit, event: int) -> DeciderEffects:
    """Compare decision-makers with what the models of comparable cases expect."""
    rows, number, code = np.arange(len(data)), data.n_decision_makers, data.decision_maker_codes
    model = case_model(fit, data.features, rows, rows)
    decision, failed = data.row_decision.astype(float), (data.y == event).astype(float)
    expected = np.column_stack([model.decision, model.decision * model.label[:, event]])
    residual = np.column_stack([decision, failed]) - expected
    weights = data.weights
    if data.strata is not None:
        residual = centred(residual, data.cells)
    residual = residual - np.average(residual, axis=0, weights=weights)
    total = np.bincount(code, weights, number)

    def mean(values: Array, inside: Array = weights) -> Array:
        size = np.bincount(code, inside, number)
        return np.divide(
            np.bincount(code, inside * values, number), size, out=np.full(number, np.nan), where=size > 0
        )

    effects = np.column_stack([mean(column) for column in residual.T])
    covariance = _covariance(residual - effects[code], weights, code, number, data.groups)
    slope = common_slope(effects[:, 0], effects[:, 1], covariance)
    overall = float(np.average(decision, weights=weights)), float(np.average(failed, weights=weights))
    beta = overall[1] / max(overall[0], np.finfo(float).tiny) if slope is None else slope
    among = weights * decision
    chance = model.label[:, event]
    miss = mean((failed - chance) ** 2, among)
    effective_yes = np.bincount(code, among, number) ** 2 / np.maximum(
        np.bincount(code, among**2, number), np.finfo(float).tiny
    )
    pooled = np.average((failed - chance) ** 2, weights=among)
    spread = (np.nan_to_num(miss) * effective_yes + PRIOR_CASES * pooled) / (effective_yes + PRIOR_CASES)
    return DeciderEffects(
        cases=np.bincount(code, minlength=number),
        effective=total**2 / np.bincount(code, weights**2, number),
        rate=mean(decision),
        expected_rate=mean(model.decision),
        yes=np.bincount(code, decision, number).astype(int),
        failures=mean(failed, among),
        expected_failures=mean(chance, among),
        failures_error=np.sqrt(
            np.divide(spread, effective_yes, out=np.full(number, np.nan), where=effective_yes > 0.0)
        ),
        leniency=effects[:, 0],
        excess=effects[:, 1] - beta * effects[:, 0],
        covariance=covariance,
        slope=float(beta),
        slope_known=slope is not None,
        overall=overall,
    )


def _covariance(
    residual: Array, weights: Array, code: np.ndarray, number: int, groups: np.ndarray | None
) -> Array:
    """Sampling covariance of weighted means by decision-maker, (n_decision_makers, 2, 2).

    V_z = (Σ_{c in z} S_c S_c' + k v N_z) / ((N_z + k - 1) / N_z W_z²),   S_c = Σ_{i in c} w_i e_i

    over the cases or groups c of z, with N_z of them, v the pooled covariance of an S_c, and k prior cases.
    """
    sums, owner = residual * weights[:, None], code
    if groups is not None:
        _, unit = np.unique(np.stack([code, groups]), axis=1, return_inverse=True)
        unit = unit.ravel()
        sums = np.column_stack([np.bincount(unit, column) for column in sums.T])
        owner = np.empty(len(sums), dtype=int)
        owner[unit] = code
    products = np.stack([sums[:, 0] ** 2, sums[:, 0] * sums[:, 1], sums[:, 1] ** 2], axis=1)
    units = np.bincount(owner, minlength=number).astype(float)
    several = np.maximum(units - 1.0, 0.0)
    pooled = products.sum(axis=0) / max(several.sum(), 1.0)
    within = np.stack([np.bincount(owner, column, number) for column in products.T], axis=1)
    per_unit = (within + PRIOR_CASES * pooled) / (several + PRIOR_CASES)[:, None]
    size = np.bincount(code, weights, number)
    found = per_unit * (units / np.maximum(size, np.finfo(float).tiny) ** 2)[:, None]
    return np.asarray(found[:, [0, 1, 1, 2]].reshape(number, 2, 2))
