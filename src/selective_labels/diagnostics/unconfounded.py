"""SL901: whether labels of like cases depend on how lenient the decision-maker was."""

import numpy as np
from scipy.stats import chi2

from selective_labels.diagnostics.conditional_strength import need_strength
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.effective_f import USABLE
from selective_labels.diagnostics.overidentification import first_stage
from selective_labels.diagnostics.results import VIOLATED, WARNING, Check, Finding, need, status_of_test


def added_variable_test(residual: np.ndarray, variable: np.ndarray, basis: np.ndarray) -> tuple[float, float]:
    """Robust χ² test that a variable adds nothing to regressions of several residuals on a basis.

    Parameters
    ----------
    residual : (n, q) array
    variable : (n,) array
    basis : (n, b) array

    Returns
    -------
    statistic, p_value : float

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> variable, noise = generator.standard_normal((2, 400))
    >>> ones = np.ones((400, 1))
    >>> added_variable_test(noise[:, None] + variable[:, None], variable, ones)[1] < 1e-6
    True
    """
    own = variable - basis @ np.linalg.lstsq(basis, variable, rcond=None)[0]
    left = residual - basis @ np.linalg.lstsq(basis, residual, rcond=None)[0]
    parts = own[:, None] * left
    total = parts.sum(axis=0)
    centred = parts - total / len(parts)
    statistic = float(total @ np.linalg.lstsq(centred.T @ centred, total, rcond=None)[0])
    return statistic, float(chi2.sf(statistic, residual.shape[1]))


def _find(context: Context) -> Finding:
    need(context.n_classes > 1, "one class only was seen.")
    need_strength(context, "to see whether labels depend on who decided")
    model = context.row_model
    labeled = np.flatnonzero(context.model_data.decision)
    n_free = context.n_classes - 1
    decided = model.labeled[labeled].sum(axis=1)
    expected = model.labeled[labeled, :n_free] / np.maximum(decided, np.finfo(float).tiny)[:, None]
    seen = context.model_data.y[labeled, None] == np.arange(n_free)
    basis = np.column_stack([np.ones(len(labeled)), decided, expected])
    statistic, p_value = added_variable_test(seen - expected, model.deviation[labeled], basis)
    status = status_of_test(p_value, context.level)
    if status == VIOLATED:
        return Finding(
            status,
            f"Among like cases, labels depend on how lenient the decision-maker was (χ² = {statistic:.1f}): "
            "decisions know more about the label than the features do.",
            statistic,
            p_value,
            "Do not assume that decisions are unconfounded; use bounds.",
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
        )
    return Finding(
        status,
        f"Among like cases, labels are not found to depend on who decided ({figures}).",
        statistic,
        p_value,
    )


CHECK = Check("SL901", "labels given features", "unconfounded", _find)
