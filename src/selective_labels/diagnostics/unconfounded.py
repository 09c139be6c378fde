"""SL901: whether labels of like cases depend on how lenient the decision-maker was."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.effective_f import USABLE
from selective_labels.diagnostics.overidentification import first_stage
from selective_labels.diagnostics.results import VIOLATED, WARNING, Check, Finding, need, status_of_test
from selective_labels.hypotheses.cells import sums_by
from selective_labels.hypotheses.detectable import detectable_noncentrality


@dataclass(frozen=True)
class AddedVariable:
    """A variable added to regressions of several residuals.

    Attributes
    ----------
    statistic, p_value : float
        Of the robust χ² test that it adds nothing.
    error : float
        Standard error of its coefficient, the largest over residuals; infinite if it does not vary.
    """

    statistic: float
    p_value: float
    error: float


def added_variable_test(
    residual: np.ndarray, variable: np.ndarray, basis: np.ndarray, unit: np.ndarray | None = None
) -> AddedVariable:
    """Robust χ² test that a variable adds nothing to regressions of several residuals on a basis.

    T = s' (Σ_u s_u s_u')⁻¹ s,   s_u = Σ_{i in u} v_i r_i,   s = Σ_u s_u,

    v and r the variable and the residuals, net of the basis.

    Parameters
    ----------
    residual : (n, q) array
    variable : (n,) array
    basis : (n, b) array
    unit : (n,) int array, optional
        Rows of one unit are not independent of each other.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> variable, noise = generator.standard_normal((2, 400))
    >>> ones = np.ones((400, 1))
    >>> added_variable_test(noise[:, None] + variable[:, None], variable, ones).p_value < 1e-6
    True
    """
    own = variable - basis @ np.linalg.lstsq(basis, variable, rcond=None)[0]
    left = residual - basis @ np.linalg.lstsq(basis, residual, rcond=None)[0]
    parts = own[:, None] * left
    if unit is not None:
        parts = sums_by(unit, parts, int(unit.max()) + 1)
    total = parts.sum(axis=0)
    centred = parts - total / len(parts)
    matrix = centred.T @ centred
    statistic = float(total @ np.linalg.lstsq(matrix, total, rcond=None)[0])
    square = float(own @ own)
    error = float(np.sqrt(np.diag(matrix).max())) / square if square > 0.0 else float("inf")
    return AddedVariable(statistic, float(chi2.sf(statistic, residual.shape[1])), error)


def _find(context: Context) -> Finding:
    need(context.n_classes > 1, "one class only was seen.")
    # Where decision-makers hardly differ the test keeps its level, and its power says how little it saw.
    model, data = context.row_model, context.model_data
    labeled = np.flatnonzero(data.decision)
    n_free = context.n_classes - 1
    decided = model.labeled[labeled].sum(axis=1)
    expected = model.labeled[labeled, :n_free] / np.maximum(decided, np.finfo(float).tiny)[:, None]
    seen = data.y[labeled, None] == np.arange(n_free)
    basis = np.column_stack([np.ones(len(labeled)), decided, expected])
    unit = None if data.groups is None else np.unique(data.groups[labeled], return_inverse=True)[1]
    test = added_variable_test(seen - expected, model.deviation[labeled], basis, unit)
    statistic, p_value = test.statistic, test.p_value
    change = 10.0 * np.sqrt(detectable_noncentrality(context.level, n_free)) * test.error
    need(np.isfinite(change), "decision-makers are equally lenient with labeled cases.")
    detects = f"shares of labels of like cases that change by {change:.1f} points with ten points of leniency"
    status = status_of_test(p_value, context.level)
    if status == VIOLATED:
        return Finding(
            status,
            f"Among like cases, labels depend on how lenient the decision-maker was (χ² = {statistic:.1f}): "
            "decisions know more about the label than the features do.",
            statistic,
            p_value,
            "Do not assume that decisions are unconfounded; use bounds.",
            detects,
        )
    proxy = first_stage(context)
    figures = f"χ² = {statistic:.1f}; first-stage F = {proxy:.1f}"
    if proxy < USABLE:
        return Finding(
            WARNING,
            f"Among like cases, no dependence of labels on who decided was found ({figures}), but average "
            "leniencies differ too little for that to mean much.",
            statistic,
            p_value,
            "Do not take this as evidence that decisions are unconfounded.",
            detects,
        )
    return Finding(
        status,
        f"Among like cases, labels are not found to depend on who decided ({figures}).",
        statistic,
        p_value,
        detects=detects,
    )


CHECK = Check("SL901", "labels given features", "unconfounded", _find)
