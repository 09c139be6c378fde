"""SL801: leniency kept apart from skill: whether lenient decision-makers also choose better."""

import numpy as np
from scipy.special import ndtri
from scipy.stats import t as t_distribution

from selective_labels.diagnostics.balance import case_indices
from selective_labels.diagnostics.context import Context
from selective_labels.diagnostics.results import OK, WARNING, Check, Finding, need
from selective_labels.hypotheses.cells import holm, sums_by

FEWEST_ROWS = 30
FEWEST_DECISION_MAKERS = 5
SMALLEST_RATE = 0.02


def biserial(codes: np.ndarray, decision: np.ndarray, index: np.ndarray, n_codes: int) -> np.ndarray:
    """Correlation of an index with the normal variable that a decision cuts at a threshold, by code.

    (E[g | D=1] - E[g | D=0]) λ (1 - λ) / (φ(Φ⁻¹(λ)) sd(g))

    Unlike a plain correlation it does not depend on the threshold: decision-makers who sort cases equally
    well have the same value at any leniency λ.

    Returns
    -------
    (n_codes,) array, NaN where decisions or the index do not vary

    Examples
    --------
    >>> index = np.array([0.0, 1.0, 2.0, 3.0])
    >>> biserial(np.zeros(4, dtype=int), np.array([0, 0, 1, 1]), index, 1).round(2)
    array([1.12])
    """
    columns = np.column_stack([np.ones(len(index)), decision, index, index**2, decision * index])
    rows, accepted, total, squares, both = sums_by(codes, columns, n_codes).T
    result = np.full(n_codes, np.nan)
    usable = (rows > 1) & (accepted > 0) & (accepted < rows)
    rate = accepted[usable] / rows[usable]
    mean = total[usable] / rows[usable]
    spread = np.sqrt(np.maximum(squares[usable] / rows[usable] - mean**2, 0.0))
    covariance = both[usable] / rows[usable] - rate * mean
    density = np.exp(-0.5 * ndtri(rate) ** 2) / np.sqrt(2.0 * np.pi)
    result[usable] = np.divide(
        covariance, density * spread, out=np.full(len(rate), np.nan), where=spread > 1e-9
    )
    return result


def slope_test(y: np.ndarray, x: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Slope of y on x by weighted least squares, and its p-value with robust errors and J - 2 freedom.

    Examples
    --------
    >>> slope, p_value = slope_test(np.array([0.0, 1.1, 1.9, 3.0]), np.arange(4.0), np.ones(4))
    >>> round(slope, 2), p_value < 0.01
    (0.98, True)
    """
    x = x - np.average(x, weights=weight)
    y = y - np.average(y, weights=weight)
    scale = np.sum(weight * x**2)
    slope = float(np.sum(weight * x * y) / scale)
    residual = y - slope * x
    leverage = weight * (1.0 / weight.sum() + x**2 / scale)
    error = np.sqrt(np.sum((weight * x * residual / (1.0 - np.minimum(leverage, 0.99))) ** 2)) / scale
    statistic = slope / max(error, np.finfo(float).tiny)
    return slope, float(2.0 * t_distribution.sf(abs(statistic), len(y) - 2))


def _find(context: Context) -> Finding:
    need(context.n_classes > 1, "one class only was seen.")
    context.need_rejected()
    indices = case_indices(context)
    labels = [column for column, name in enumerate(indices.names) if name != "predicted decision"]
    need(labels, "features do not predict the label.")
    rows_of = context.compared
    codes, decision = context.decision_maker[rows_of], context.data.decision[rows_of]
    rows = np.bincount(codes, minlength=context.n_decision_makers)
    rate = np.bincount(codes, context.adjusted_outcomes[:, 0], context.n_decision_makers) / np.maximum(
        rows, 1
    )
    tests = []
    for column in labels:
        sorting = biserial(codes, decision, indices.values[:, column], context.n_decision_makers)
        kept = (rows >= FEWEST_ROWS) & np.isfinite(sorting)
        kept &= (rate > SMALLEST_RATE) & (rate < 1.0 - SMALLEST_RATE)
        need(
            kept.sum() >= FEWEST_DECISION_MAKERS,
            f"fewer than {FEWEST_DECISION_MAKERS} decision-makers have {FEWEST_ROWS} cases, some of each "
            "decision.",
        )
        average = np.average(sorting[kept], weights=rows[kept])
        slope, p_value = slope_test(np.sign(average) * sorting[kept], rate[kept], rows[kept].astype(float))
        tests.append((slope, p_value, abs(average)))
    adjusted = holm(np.array([p_value for _, p_value, _ in tests]))
    worst = int(adjusted.argmin())
    slope, _, average = tests[worst]
    p_value = float(adjusted[worst])
    how = f"decisions and predicted label have a correlation of {average:.2f}"
    if p_value <= context.level:
        kind = "Lenient" if slope > 0 else "Strict"
        return Finding(
            WARNING,
            f"{kind} decision-makers also sort cases better by what features tell ({how}, which changes by "
            f"{abs(slope):.2f} per unit of leniency).",
            slope,
            p_value,
            "Do not read differences along leniency as effects of leniency alone: contraction and "
            "extrapolation mix them with skill.",
        )
    return Finding(
        OK,
        f"Lenient and strict decision-makers sort cases equally well by what features tell ({how}).",
        slope,
        p_value,
    )


CHECK = Check("SL801", "leniency apart from skill", "skill", _find)
