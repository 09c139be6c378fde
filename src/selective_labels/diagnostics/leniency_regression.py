"""SL203: leniency of the decision-maker with other cases, regressed on the features of this one."""

import numpy as np
from scipy.stats import f as f_distribution

from selective_labels.diagnostics.conditional_strength import directions
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import ASSIGNMENT_LOOKS, OK, Check, Finding, need, status_of_test
from selective_labels.hypotheses.cells import centred, sums_by


def leave_out_means(units_total: np.ndarray, size: np.ndarray, codes: np.ndarray, n_codes: int) -> np.ndarray:
    """Mean of each unit's code over all other units, (n_units,); NaN where there is no other.

    Examples
    --------
    >>> leave_out_means(np.array([1.0, 0.0, 1.0]), np.ones(3), np.array([0, 0, 0]), 1)
    array([0.5, 1. , 0.5])
    """
    total, rows = sums_by(codes, np.column_stack([units_total, size]), n_codes).T
    others = rows[codes] - size
    left = total[codes] - units_total
    return np.divide(left, others, out=np.full(len(codes), np.nan), where=others > 0)


def joint_f(y: np.ndarray, X: np.ndarray, lost: int) -> tuple[float, float]:
    """F statistic and p-value of all columns of X in a regression of y; `lost` further parameters.

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    >>> [round(value, 3) for value in joint_f(np.array([0.0, 1.0, -1.0, 0.0]), X, 1)]
    [2.0, 0.293]
    """
    coefficients, _, rank, _ = np.linalg.lstsq(X, y, rcond=None)
    fitted = X @ coefficients
    free = len(y) - rank - lost
    residual = np.sum((y - fitted) ** 2)
    if free <= 0 or residual <= 0.0 or rank == 0:
        return 0.0, 1.0
    statistic = float(np.sum(fitted**2) / rank / (residual / free))
    return statistic, float(f_distribution.sf(statistic, rank, free))


def _find(context: Context) -> Finding:
    need(context.has_features, "there is no feature that varies.")
    rows, units = context.compared, context.units
    # Decisions net of what features predict: else a case's own decision speaks of its own features.
    surplus = centred(context.data.decision[rows] - context.case_model.decision, context.cell[rows])
    leniency = leave_out_means(
        units.total(surplus[:, None])[:, 0], units.size, units.decision_maker, context.n_decision_makers
    )
    along = directions(context.data.features[rows], context.data.categorical)[:, 1:]
    features = units.total(along) / units.size[:, None]
    known = ~np.isnan(leniency)
    n_cells = len(np.unique(units.cell))
    need(known.sum() > n_cells + features.shape[1] + 1, "too few decision-makers have more than one case.")
    cell = units.cell[known]
    response, regressors = centred(leniency[known], cell), centred(features[known], cell)
    need(np.var(response) > 0.0, "all decision-makers are equally lenient.")
    statistic, p_value = joint_f(response, regressors, n_cells)
    status = status_of_test(p_value, context.level, ASSIGNMENT_LOOKS)
    if status != OK:
        return Finding(
            status,
            f"Some kinds of cases go to more lenient decision-makers {context.place} (F = {statistic:.1f}).",
            statistic,
            p_value,
            "Give finer strata, or rely on the instrument given the features only.",
        )
    return Finding(
        status,
        f"The features of a case do not tell how lenient its decision-maker is {context.place} "
        f"(F = {statistic:.1f}).",
        statistic,
        p_value,
    )


CHECK = Check("SL203", "leave-one-out leniency on features", "assignment", _find)
